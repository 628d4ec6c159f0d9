"""Benchmark files: what is wrong is said with its line; settings given on the command line, and in braces."""

from __future__ import annotations

import functools
import json
from pathlib import Path

import jsonschema
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from matrix_benchmarking.benchmark import file, schema
from matrix_benchmarking.errors import ConfigError
from projects.encoder_bench.load import Load

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
        ("expe: {}", "DIR/benchmark.yaml:1: expe: expected 1 or more entries, not an empty mapping"),
        ("expe:\n  a: {vus: 1}\nlaod: {}", "DIR/benchmark.yaml:3: laod is not a known key: did you mean 'load'?"),
        ("expe:\n  a: {vus: [[1]]}", "DIR/benchmark.yaml:2: expe.a.vus"),
        ("expe:\n  a:\n    vus: {search: {strat: 1}}", "DIR/benchmark.yaml:3: expe.a.vus.search.strat is not a known"),
        ("expe:\n  a:\n    vus: {search: {start: 9, max: 8}}", "expected a start of at most max (8)"),
        ("expe:\n  a:\n    repeat: 0", "DIR/benchmark.yaml:3: expe.a.repeat: expected a number of at least 1"),
        ("expe: {a: {vus: 1}}\nmax_duration: soon", "a duration such as 90s, 30m or 2h"),
        ("expe: {a: {vus: 1}}\nmax_usd: -1", "DIR/benchmark.yaml:2: max_usd: expected a number above 0"),
        ("expe: {a: {vus: 1}}\nrun: true", "DIR/benchmark.yaml:2: run is not for the file"),
        ("expe: {a: {vus: 1}}\ntarget: {}", "exactly one of url, process, hf_endpoint and existing_hf_endpoint"),
        (
            "expe: {a: {vus: 1}}\ntarget: {url: http://x, process: {command: [a]}}",
            "exactly one of url, process, hf_endpoint and existing_hf_endpoint",
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


SCHEMA = functools.cache(file.json_schema)


@pytest.mark.parametrize("path", EXAMPLES, ids=[path.name for path in EXAMPLES])
def test_the_examples_are_valid_by_model_and_by_schema(path):
    own = file.read(path).driver
    jsonschema.validate(yaml.safe_load(path.read_text()), SCHEMA(own))


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


COMMON = {"version": "1.0.0", "users": 4, "rate": 0.5, "cached": True, "note": None, "sizes": [1, 2]}


def _file(**common):
    content = {"common_settings": common, "expe": {"night": {"size": [1, 2]}}, "script_tpl": "echo"}
    return file.BenchmarkFile.model_validate(content)


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("version", "1.10", "1.10"),
        ("version", "", ""),
        ("users", "16", 16),
        ("rate", "2", 2.0),
        ("cached", "False", False),
        ("note", "7", "7"),
        ("sizes", "8", 8),
    ],
)
def test_a_given_value_has_the_type_of_the_one_in_the_file(name, text, value) -> None:
    changed = file.with_settings(_file(**COMMON), [(name, text)]).common_settings
    assert changed == {**COMMON, name: value}
    assert type(changed[name]) is type(value)


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("versionx", "1", "no setting 'versionx': did you mean 'version'?"),
        ("users", "many", "users=many: the benchmark file has a whole number there"),
        ("rate", "fast", "rate=fast: the benchmark file has a number there"),
        ("cached", "1", "cached=1: the benchmark file has true or false there"),
    ],
)
def test_what_cannot_be_given_is_a_sentence(name, text, sentence) -> None:
    with pytest.raises(ConfigError) as caught:
        file.with_settings(_file(**COMMON), [(name, text)])
    assert sentence in str(caught.value)


def test_a_setting_that_an_experiment_has_of_its_own_is_replaced_too_by_several_values_if_so_many_are_given() -> None:
    changed = file.with_settings(_file(size=3), [("size", "4"), ("size", "8")])
    assert changed.common_settings["size"] == [4, 8]
    assert changed.expe["night"].settings == {"size": [4, 8]}
    assert file.with_settings(_file(), [("size", "4")]).expe["night"].settings == {"size": 4}


def test_a_workload_file_is_looked_for_beside_the_benchmark_file_then_from_here(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine").mkdir()
    Path("mine/benchmark.yaml").write_text("workload: workload.py\nexpe: {a: {x: 1}}\nscript_tpl: echo\n")
    assert file.read(Path("mine/benchmark.yaml")).workload == "workload.py"
    Path("mine/workload.py").touch()
    assert file.read(Path("mine/benchmark.yaml")).workload == "mine/workload.py"


def test_a_text_that_is_one_setting_keeps_its_type():
    assert schema.fill("{vus}", {"vus": 8}) == 8
    assert schema.fill("{vus}", {"vus": "8"}) == "8"


def test_a_setting_inside_a_text_is_written_as_in_yaml():
    assert schema.fill("--fast={fast} --size {size}", {"fast": True, "size": None}) == "--fast=true --size null"


def test_words_of_a_command_are_always_text():
    assert schema.fill(["serve", "--port", "{port}"], {"port": 80}) == ["serve", "--port", "80"]


def test_a_setting_is_never_filled_in_twice():
    assert schema.fill("{a}", {"a": "{b}", "b": 1}) == "{b}"
    assert schema.fill("-{a}-", {"a": "{b}", "b": 1}) == "-{b}-"


def test_double_braces_are_braces():
    assert schema.fill('{{"vus": {vus}}}', {"vus": 3}) == '{"vus": 3}'


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("{vsu}", "names a setting 'vsu' that the point doesn't have: did you mean 'vus'"),
        ("awk '{print $1}'", "write {{ and }} for braces"),
        ("a } b", "has a single '}'"),
        ("a { b", "has a single '{'"),
    ],
)
def test_a_wrong_template_is_a_sentence(text, sentence):
    with pytest.raises(ConfigError, match=r"point doesn't have|single") as caught:
        schema.fill(text, {"vus": 1})
    assert sentence in str(caught.value)


def test_names_that_are_kept_are_left_for_later():
    filled = schema.fill(["--port", "{port}", "{vus}"], {"vus": 2}, keep=("port",))
    assert filled == ["--port", "{port}", "2"]


def test_a_model_gets_numbers_from_settings_and_refuses_text_in_their_place():
    load = Load(inputs="texts.txt", duration_s="{seconds}", task="embedding", model="m")
    assert schema.fill_model(load, {"seconds": 2.5, "vus": 4}, "load").vus == 4
    with pytest.raises(ConfigError, match=r"load\.vus: expected .* not the text 'four'"):
        schema.fill_model(load, {"seconds": 2.5, "vus": "four"}, "load")


@given(st.text())
def test_any_text_with_its_braces_doubled_comes_back(text):
    assert schema.fill(text.replace("{", "{{").replace("}", "}}"), {}) == text
