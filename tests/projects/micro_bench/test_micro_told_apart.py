"""What was measured of different things is never pooled as repeats: a benchmark's twins, interpreters, processors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from matrix_benchmarking import store
from matrix_benchmarking.analyze.rank import rank
from matrix_benchmarking.cli import main
from matrix_benchmarking.matrix import Entry
from matrix_benchmarking.workload import load

WORKLOAD = "projects.micro_bench.visualizations"
GO = "goos: linux\ncpu: {cpu}\n{lines}\nPASS\n"


@pytest.fixture(autouse=True)
def own_caches(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("caches")))


def parsed(tree: Path, **contents: Any) -> list[Entry]:
    """The runs of files of these names, in their order."""
    tree.mkdir(exist_ok=True)
    for name, content in contents.items():
        (tree / f"{name}.json").write_text(content if isinstance(content, str) else json.dumps(content))
    return list(store.parse_tree(load(WORKLOAD), tree))


def told(runs: list[Entry], *names: str) -> list[tuple[Any, ...]]:
    return [tuple(run.settings.get(name) for name in names) for run in runs]


def of_pytest(python: str, **commit: Any) -> dict[str, Any]:
    one = {"fullname": "t.py::t", "stats": {"rounds": 1, "mean": 1e-3}}
    return {"machine_info": {"python_version": python}, "commit_info": commit, "benchmarks": [one]}


def test_pythons_and_a_tree_with_changes_are_told_apart(tmp_path: Path) -> None:
    files = {"a": of_pytest("3.9.2", id="c1"), "b": of_pytest("3.13.1", id="c1"), "c": of_pytest("3.13.2", id="c1")}
    runs = parsed(tmp_path, **files, d=of_pytest("3.13.2", id="c1", dirty=True))
    found = [("3.13", "c1"), ("3.13", "c1"), ("3.13", "c1-dirty"), ("3.9", "c1")]
    assert sorted(told(runs, "python", "version")) == found


def test_jdks_are_told_apart_by_their_first_number(tmp_path: Path) -> None:
    def of(version: str) -> list[dict[str, Any]]:
        metric = {"scoreUnit": "us/op", "score": 1.0, "rawData": [[1.0]]}
        return [
            {"jmhVersion": "1.37", "jdkVersion": version, "benchmark": "x", "mode": "avgt", "primaryMetric": metric}
        ]

    assert told(parsed(tmp_path, a=of("1.8.0_292"), b=of("21.0.2")), "jdk") == [("8",), ("21",)]


def test_the_same_command_twice_in_a_file_is_told_apart_by_its_place(tmp_path: Path) -> None:
    of = {"command": "./app", "stddev": 0.1, "user": 1.0, "system": 0.1}
    results = [{**of, "times": [1.0, 1.1]}, {**of, "times": [3.0]}, {**of, "command": "./other", "times": [2.0]}]
    assert told(parsed(tmp_path, a={"results": results}), "command", "place") == [
        *[("./app", 1)] * 2,
        ("./app", 2),
        ("./other", None),
    ]


@pytest.mark.parametrize("labels", [("crc32", "sha256"), (None, None)])
def test_one_name_that_was_registered_twice_is_two_benchmarks(labels: tuple[str | None, ...], tmp_path: Path) -> None:
    rows = [
        {"name": "BM", "run_type": "iteration", "family_index": family, "real_time": 10, "label": label}
        for family, label in enumerate(labels)
        for _ in range(2)
    ]
    runs = parsed(tmp_path, a={"benchmarks": rows})
    first, second = labels if labels[0] else (0, 1)
    assert told(runs, "label") == [(first,), (first,), (second,), (second,)]
    assert [run.repeat for run in runs] == [0, 1, 0, 1]
    assert told(parsed(tmp_path / "one", a={"benchmarks": rows[:2]}), "label") == [(None,), (None,)]


@pytest.mark.parametrize(
    ("names", "found"),
    [
        (("Sort/n-1000", "Sort/n-200", "HTTP"), [("Sort/n-1000", 1), ("Sort/n-200", 1), ("HTTP", 1)]),
        (("AES-128", "AES-256", "HTTP"), [("AES-128", 1), ("AES-256", 1), ("HTTP", 1)]),
        (("Sort-8", "AES-128-8"), [("Sort", 8), ("AES-128", 8)]),
        (("Sort", "Sort-2", "Sort-4"), [("Sort", 1), ("Sort", 2), ("Sort", 4)]),
    ],
)
def test_the_end_of_a_name_of_go_is_gomaxprocs_where_all_names_have_one(
    names: tuple[str, ...], found: list[tuple[str, int]], tmp_path: Path
) -> None:
    lines = "\n".join(f"Benchmark{name} \t 100 \t 5 ns/op" for name in names)
    assert sorted(told(parsed(tmp_path, a=GO.format(cpu="x", lines=lines)), "benchmark", "procs")) == sorted(found)


def test_go_on_another_processor_is_no_regression(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for tree, cpu, time in (("old", "EPYC", 10), ("new", "Xeon", 15)):
        lines = "\n".join(f"BenchmarkSort-8 \t 100 \t {time}.{digit} ns/op" for digit in range(8))
        assert {run.settings["machine"] for run in parsed(tmp_path / tree, a=GO.format(cpu=cpu, lines=lines))} == {cpu}
    assert main(["compare", f"--workload={WORKLOAD}", str(tmp_path / "old"), str(tmp_path / "new")]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "they differ in machine (EPYC | Xeon); leave it out with --ignored-keys=machine" in said


def test_a_python_is_a_configuration_that_is_ranked(tmp_path: Path) -> None:
    parsed(tmp_path, a=of_pytest("3.9.2"), b=of_pytest("3.13.1"))
    workload = load(WORKLOAD)
    (group,) = rank(store.parse_tree(workload, tmp_path), workload).compared
    assert sorted(standing.point.settings["python"] for standing in group.standings) == ["3.13", "3.9"]
