"""Benchmark files: what is wrong is said with its line, and the schema for editors agrees."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
import yaml

from matrix_benchmarking.benchmark import file
from matrix_benchmarking.errors import ConfigError

EXAMPLES = sorted(Path("examples").glob("*.yaml"))


def _problem(tmp_path, text):
    path = tmp_path / "benchmark.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        file.read(path)
    return str(caught.value).replace(str(tmp_path), "DIR")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "DIR/benchmark.yaml:1: expe: is missing"),
        ("expe: {}", "DIR/benchmark.yaml:1: expe: "),
        ("expe:\n  a: {vus: 1}\nlaod: {}", "DIR/benchmark.yaml:3: laod is not a known key: did you mean 'load'?"),
        ("expe:\n  a: {vus: [[1]]}", "DIR/benchmark.yaml:2: expe.a.vus"),
        ("expe:\n  a:\n    vus: {search: {strat: 1}}", "DIR/benchmark.yaml:3: expe.a.vus.search.strat is not a known"),
        ("expe:\n  a:\n    vus: {search: {start: 9, max: 8}}", "expected a start of at most max (8)"),
        ("expe:\n  a:\n    repeat: 0", "DIR/benchmark.yaml:3: expe.a.repeat: expected a number of at least 1"),
        ("expe: {a: {vus: 1}}\nmax_duration: soon", "a duration such as 90s, 30m or 2h"),
        ("expe: {a: {vus: 1}}\nmax_usd: -1", "DIR/benchmark.yaml:2: max_usd: expected a number above 0"),
        ("expe: {a: {vus: 1}}\nrun: true", "DIR/benchmark.yaml:2: run is not for the file"),
        ("expe: {a: {vus: 1}}\ntarget: {}", "exactly one of url, process and hf_endpoint"),
        (
            "expe: {a: {vus: 1}}\ntarget: {url: http://x, process: {command: [a]}}",
            "exactly one of url, process and hf_endpoint",
        ),
        ("expe: {a: {vus: 1}}\ntarget:\n  process: {comand: [a]}", "did you mean 'command'?"),
        ("expe: {a: {vus: 1}}\nload: {inputs: t, duration_s: soon}", "a setting in braces, such as {batch_size}"),
        ("expe: {a: {vus: 1}}\nload: {inputs: t, duration_s: 0.5}", "a number of at least 1"),
        ("expe: {a: {vus: 1}}\nload: {inputs: t, warm_up_s: 0.5}", "load.warm_up_s"),
        ("expe: [", "broken YAML"),
        ("- 1", "expected a mapping"),
        ("expe: {a: {vus: 1}}\nexpe: {b: {vus: 1}}", "'expe' is here twice"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path, text, sentence):
    assert sentence in _problem(tmp_path, text)


def test_all_problems_are_named_at_once(tmp_path):
    problems = _problem(tmp_path, "expe: {a: {repeat: x}}\nmax_usd: 0\nstop_on_error: perhaps").splitlines()
    assert len(problems) == 3


@pytest.mark.parametrize("path", EXAMPLES, ids=[path.name for path in EXAMPLES])
def test_the_examples_are_valid_by_model_and_by_schema(path):
    file.read(path)
    jsonschema.validate(yaml.safe_load(path.read_text()), file.json_schema())


def test_the_schema_for_editors_is_the_one_of_the_models():
    kept = json.loads(Path("data/benchmark_file.schema.json").read_text())
    assert kept == file.json_schema(), (
        "write it again: matbench benchmark --file-schema > data/benchmark_file.schema.json"
    )


def test_the_schema_refuses_what_the_model_refuses():
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"expe": {"a": {"vus": 1}}, "laod": {}}, file.json_schema())


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("1.5m", 90), ("2h", 7200), (30, 30), ("30", 30), (0.5, 0.5)]
)
def test_a_duration_is_seconds(text, seconds):
    assert file.seconds(text) == seconds


@pytest.mark.parametrize("text", ["", "soon", "-1s", "0", "1d", "nan", "inf"])
def test_a_wrong_duration_is_refused(text):
    with pytest.raises(ConfigError, match="not a duration"):
        file.seconds(text)
