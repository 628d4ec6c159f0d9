"""Files that tools write now and then: other programs, machines and units, versions, sizes, what wasn't measured."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from matrix_benchmarking import store
from matrix_benchmarking.matrix import Matrix
from matrix_benchmarking.workload import load


@pytest.fixture(autouse=True)
def own_caches(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("caches")))


def parsed(tmp_path: Path, **files: Any) -> Matrix:
    for name, content in files.items():
        (tmp_path / name).write_text(content if isinstance(content, str) else json.dumps(content))
    return store.parse_tree(load("projects.micro_bench.visualizations"), tmp_path)


def settings(matrix: Matrix, name: str) -> list[object]:
    return [entry.settings.get(name) for entry in matrix]


def hyperfine(name: str, *values: str) -> dict[str, Any]:
    of = {"stddev": 0.1, "mean": 1.0, "times": [1.0], "exit_codes": [0]}
    return {"results": [{"command": f"app {value}", **of, "parameters": {name: value}} for value in values]}


@pytest.mark.parametrize(
    ("name", "given", "kept"),
    [
        ("version", ("1.1", "1.9", "1.10"), ["1.1", "1.9", "1.10"]),
        ("py", ("3.9", "3.10", "3.11"), [3.9, "3.10", 3.11]),  # numbers stay what they were before there was a 3.10
        ("delay", ("1.00", "1.25", "1.50"), [1.0, 1.25, 1.5]),
        ("size", ("8", "16"), [8, 16]),
        ("commit", ("1234e56", "77"), ["1234e56", 77]),
    ],
)
def test_a_parameter_that_would_lose_a_digit_stays_text(
    name: str, given: tuple[str, ...], kept: list[object], tmp_path: Path
) -> None:
    assert settings(parsed(tmp_path, results=hyperfine(name, *given)), name) == kept


def jmh(unit: str, **others: Any) -> dict[str, Any]:
    metric = {"score": 7200.0, "scoreUnit": unit, "rawData": [[7200.0]]}
    of = {"jmhVersion": "1.37", "benchmark": "b", "mode": "thrpt", "warmupIterations": 1}
    return {**of, "primaryMetric": metric, **others}


def test_jmh_s_hours_are_read_and_its_arguments_are_settings(tmp_path: Path) -> None:
    results = [
        jmh("ops/hr"),
        jmh("ops/s", jvmArgs=["-XX:+UseParallelGC", "-Djava.io.tmpdir=/builds/1"]),
        jmh("ops/s", jvmArgs=[]),
    ]
    matrix = parsed(tmp_path, results=results)
    assert [entry.kpis["rate"] for entry in matrix] == [2.0, 7200.0, 7200.0]
    assert settings(matrix, "jvm_args") == [None, "-XX:+UseParallelGC", None]


def test_what_google_benchmark_was_told_of_the_context_is_a_setting(tmp_path: Path) -> None:
    row = {"name": "BM", "run_name": "BM", "run_type": "iteration", "real_time": 1.0, "time_unit": "ns"}
    context = {"date": "2026-01-01T00:00:00+00:00", "host_name": "vm", "executable": "./b", "num_cpus": 2}
    files = {
        name: {"context": {**context, "compiler": name, "version": "1.10"}, "benchmarks": [row]}
        for name in ("clang", "gcc")
    }
    matrix = parsed(tmp_path, **files)
    assert settings(matrix, "compiler") == ["clang", "gcc"]
    assert settings(matrix, "version") == ["1.10", "1.10"]


def test_pytest_benchmark_s_machine_and_python_tell_runs_apart(tmp_path: Path) -> None:
    def document(**machine: Any) -> dict[str, Any]:
        of = {"fullname": "t.py::test", "stats": {"mean": 1.0, "rounds": 5}, "params": {"version": "1.10", "size": 8}}
        info = {"cpu": {"brand": "unknown"}, "python_version": "3.11.2", **machine}
        return {"machine_info": info, "commit_info": {}, "datetime": "2026-01-01T00:00:00", "benchmarks": [of]}

    matrix = parsed(tmp_path, a=document(node="ada"), b=document(node="bob", python_implementation="PyPy"))
    assert settings(matrix, "machine") == ["ada", "bob"]
    assert settings(matrix, "python") == ["3.11", "PyPy 3.11"]
    assert settings(matrix, "version") == ["1.10", "1.10"]
    assert settings(matrix, "size") == [8, 8]


def go(*lines: str) -> str:
    return "\n".join(["goos: linux", "pkg: m", *lines, "PASS", ""])


def test_go_s_processors_are_told_from_sizes_and_what_a_benchmark_prints(tmp_path: Path) -> None:
    def names(*lines: str) -> list[tuple[object, object]]:
        matrix = parsed(tmp_path, results=go(*lines))
        return [(entry.settings["benchmark"], entry.settings["procs"]) for entry in matrix]

    row = "\t 10\t 100 ns/op"
    assert names(*(f"BenchmarkSum/size-{size}{row}" for size in (10, 100))) == [("Sum/size-10", 1), ("Sum/size-100", 1)]
    assert names(*(f"BenchmarkSum-{procs}{row}" for procs in (2, 4))) == [("Sum", 2), ("Sum", 4)]
    assert names(*(f"BenchmarkSum/{one}-{procs}{row}" for one in "ab" for procs in (2, 4))) == [
        ("Sum/a", 2), ("Sum/a", 4), ("Sum/b", 2), ("Sum/b", 4)
    ]  # fmt: skip
    assert names(*(f"BenchmarkA/x-{procs}{row}" for procs in (2, 4))) == [("A/x", 2), ("A/x", 4)]
    assert names(*(f"Benchmark{one}{row}" for one in ("A-4", "A-8", "B-8"))) == [("A", 4), ("A", 8), ("B", 8)]
    assert names(*(f"Benchmark{one}/n-{size}{row}" for one in "AB" for size in (10, 100)))[3] == ("B/n-100", 1)
    assert names("BenchmarkPrint-2 \thello", f"{row}", f"BenchmarkSum-2{row}") == [("Print", 2), ("Sum", 2)]


def test_numbers_of_which_no_kpi_is_made_are_said(tmp_path: Path) -> None:
    measured = go("BenchmarkServe-8 962 998875 ns/op 20.996 p99-ms 1313 req/s 16 B/op 1 allocs/op")
    own = {"name": "BM", "run_name": "BM", "run_type": "iteration", "iterations": 3, "real_time": 1, "cpu_time": 1}
    counted = {**own, "time_unit": "ms", "threads": 1, "family_index": 0, "repetitions": 1, "p99": 7.0, "label": "x"}
    matrix = parsed(tmp_path, gb={"context": {}, "benchmarks": [counted]}, served=measured)
    last = "of which no KPI is made, so that nothing compares it"
    assert sorted(matrix.notes) == [f"gb: has p99, {last}", f"served: has p99-ms, req/s, {last}"]


def fio(*jobs: dict[str, Any]) -> dict[str, Any]:
    return {"fio version": "fio-3.33", "timestamp": 1_700_000_000, "jobs": list(jobs)}


def test_fio_s_latency_that_was_not_measured_is_unknown_and_a_group_is_read(tmp_path: Path) -> None:
    done = {"total_ios": 9, "iops": 5.0, "bw_bytes": 1, "clat_ns": {}, "lat_ns": {"mean": 0.0}}
    mixed = {**done, "lat_ns": {"mean": 2.0}}
    jobs = [{"jobname": "a", "read": done}, {"job options": {}}, {"jobname": "b", "mixed": mixed}]
    matrix = parsed(tmp_path, results=fio(*jobs))
    assert [(entry.settings["benchmark"], entry.kpis.get("time"), entry.kpis["rate"]) for entry in matrix] == [
        ("a (read)", None, 5.0), ("b (mixed)", 2e-9, 5.0)
    ]  # fmt: skip


def session(**params: object) -> dict[str, Any]:
    name = "t.py::test[f]"
    benchmark = {"fullname": name, "param": "f", "params": params, "stats": {"mean": 1.0, "rounds": 9}}
    return {"machine_info": {}, "benchmarks": [benchmark]}


def test_an_object_that_is_a_parameter_is_the_same_in_each_process(tmp_path: Path) -> None:
    of = "UNSERIALIZABLE[<function f at 0x7f9c3ea50d60>]", "UNSERIALIZABLE[<function f at 0x7f00c3ea5a2b>]"
    matrix = parsed(
        tmp_path, **{f"{name}.json": session(impl=value, n=3) for name, value in zip("ab", of, strict=True)}
    )
    assert [(*map(entry.settings.get, ("impl", "n")), entry.repeat) for entry in matrix] == [
        ("<function f>", 3, 0),
        ("<function f>", 3, 0),
    ]


@pytest.mark.parametrize(
    ("lines", "benchmarks", "procs"),
    [
        (["Hash/size-64", "Hash/size-512"], ["Hash/size-64", "Hash/size-512"], {1}),  # of which nobody knows
        (["Hash/n=64-2", "Hash/n=64-6"], ["Hash/n=64", "Hash/n=64"], {2, 6}),
        (["Hash/64-2", "Hash/64-6"], ["Hash/64", "Hash/64"], {2, 6}),
        (["Hash/size-64", "New"], ["Hash/size-64", "New"], {1}),
        (["Hash/size-64-8", "New-8"], ["Hash/size-64", "New"], {8}),
        (["Hash/md5-2", "New-2", "Hash/md5-6", "New-6"], ["Hash/md5", "New", "Hash/md5", "New"], {2, 6}),
    ],
)
def test_what_ends_names_of_go_is_gomaxprocs_only_where_it_can_be_nothing_else(
    tmp_path: Path, lines: list[str], benchmarks: list[str], procs: set[int]
) -> None:
    text = "".join(f"Benchmark{name} \t 100 \t 5 ns/op\n" for name in lines)
    matrix = parsed(tmp_path, **{"go.txt": f"goos: linux\n{text}PASS\n"})
    assert (settings(matrix, "benchmark"), {*settings(matrix, "procs")}) == (benchmarks, procs)


def test_a_sample_that_is_no_number_is_unknown_and_the_rest_is_read(tmp_path: Path) -> None:
    content = hyperfine("n", "1", "2")
    content["results"][0] |= {"times": [1.0, None, "2"], "exit_codes": [0, 0, 0], "memory_usage_byte": [1, 2, 3]}
    matrix = parsed(tmp_path, **{"h.json": content})
    assert [entry.kpis.get("time") for entry in matrix] == [1.0, None, None, 1.0]
    assert "memory_usage_byte" in " ".join(matrix.notes)


def test_a_mark_of_the_encoding_is_no_part_of_a_document(tmp_path: Path) -> None:
    assert len(parsed(tmp_path, **{"h.json": "\ufeff" + json.dumps(hyperfine("n", "1"))})) == 1


def test_percentiles_of_fio_are_those_that_were_asked_for(tmp_path: Path) -> None:
    read = {
        "total_ios": 5,
        "lat_ns": {"mean": 1e3, "percentile": {"99.000000": 3e3}},
        "clat_ns": {"mean": 9e2},
        "iops": 1,
    }
    content = {"fio version": "fio-3.33", "jobs": [{"jobname": "j", "error": 0, "read": read}]}
    [entry] = parsed(tmp_path, **{"f.json": content})
    assert (entry.kpis["time"], entry.kpis["p99"]) == (pytest.approx(1e-6), pytest.approx(3e-6))
