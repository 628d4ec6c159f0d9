"""Settings by a pattern of the path: what matches, what doesn't, and what goes before it."""

from pathlib import Path

import pytest

import matrix_benchmarking as mb
from matrix_benchmarking.errors import ConfigError
from matrix_benchmarking.settings import settings_from, steps

ROOT = Path("/somewhere/results")


@pytest.mark.parametrize(
    ("pattern", "path", "found"),
    [
        ("results/{hw}/{engine}-{version}", "h100/vllm-0.9/a.json", {"hw": "h100", "engine": "vllm", "version": "0.9"}),
        (
            "results/{hw}/{engine}-{version}",
            "h100/vllm-0.9.1/b/a.json",
            {"hw": "h100", "engine": "vllm", "version": "0.9.1"},
        ),
        ("{hw}_{count}", "run/l4_2.json", {"hw": "l4", "count": 2}),
        ("{}-{rate}qps", "vllm-10.5qps.json", {"rate": 10.5}),
        ("./{image}/batch-{batch_size}", "onnx/batch-32/a", {"image": "onnx", "batch_size": 32}),
        ("{engine}-{batch}.json", "run/onnx-8.json", {"engine": "onnx", "batch": 8}),
        ("{engine}-{batch}.json", "run/onnx-8.csv.json", {"engine": "onnx", "batch": "8.csv"}),
        ("elsewhere/{hw}", "h100/a.json", None),
        ("{a}/{b}/{c}/{d}", "h100/a.json", None),
    ],
)
def test_a_path_says_what_its_pattern_names(pattern: str, path: str, found: object) -> None:
    assert settings_from(pattern, ROOT, ROOT / path, is_file=path.endswith(".json")) == found


@pytest.mark.parametrize(
    ("pattern", "said"),
    [("results", "names no setting"), ("{a}-{a}", "a twice"), ("{a}-{b c}", "braces"), ("{9}", "braces")],
)
def test_a_pattern_that_names_nothing_is_an_error(pattern: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        steps(pattern)


def test_a_settings_file_goes_before_the_path_and_what_does_not_match_is_said(tmp_path: Path) -> None:
    for name, lines in (("cpu-1/a", "image: own\n"), ("cpu-2/b", "hw: mine\n"), ("c", "image: x\n")):
        directory = tmp_path / name
        directory.mkdir(parents=True)
        (directory / "settings.yaml").write_text(lines)
        (directory / "exit_code").write_text("0\n")
    (tmp_path / "workload.py").write_text(
        "from matrix_benchmarking.workload import BaseStore, Workload\n"
        "workload = Workload(name='w', store=BaseStore(parse_once=lambda results, test_dir: None))\n"
    )
    for pattern in ("{hw}/{image}", "{machine}/{letter}", "{hw}/{image}"):  # the cache of one pattern serves no other
        runs = mb.open(tmp_path, workload=str(tmp_path / "workload.py"), settings_from=pattern)
        found = {entry.name: entry.settings for entry in runs.study.runs}
        if pattern == "{hw}/{image}":
            assert found["cpu-1/a"] == {"hw": "cpu-1", "image": "own"}
            assert found["cpu-2/b"] == {"hw": "mine", "image": "b"}
        else:
            assert found["cpu-1/a"] == {"machine": "cpu-1", "letter": "a", "image": "own"}
    with pytest.raises(ConfigError, match="names no setting"):
        mb.open(tmp_path, workload=str(tmp_path / "workload.py"), settings_from="results")


def test_a_path_may_say_which_repeat_it_is(tmp_path: Path) -> None:
    for name in ("a/run_0", "a/run_1"):
        directory = tmp_path / name
        directory.mkdir(parents=True)
        (directory / "settings.yaml").write_text("image: x\n")
        (directory / "exit_code").write_text("0\n")
    (tmp_path / "workload.py").write_text(
        "from matrix_benchmarking.workload import BaseStore, Workload\n"
        "workload = Workload(name='w', store=BaseStore(parse_once=lambda results, test_dir: None))\n"
    )
    runs = mb.open(tmp_path, workload=str(tmp_path / "workload.py"), settings_from="{letter}/run_{repeat}")
    assert [(entry.settings, entry.repeat) for entry in runs.study.runs] == [
        ({"letter": "a", "image": "x"}, 0), ({"letter": "a", "image": "x"}, 1)
    ]  # fmt: skip
