"""micro_bench's readers against files that the tools wrote: values by hand, in seconds, bytes and 1/s."""

from __future__ import annotations

import datetime as dt
import json
import math
import re
import shutil
import statistics
from pathlib import Path
from typing import Any

import pytest

import matrix_benchmarking as mb
from matrix_benchmarking import store
from matrix_benchmarking.analyze.check import findings
from matrix_benchmarking.analyze.rank import rank
from matrix_benchmarking.cli import main
from matrix_benchmarking.matrix import Entry, Matrix
from matrix_benchmarking.moments import time_us
from matrix_benchmarking.workload import load

WORKLOAD = "projects.micro_bench.visualizations"


@pytest.fixture(autouse=True)
def own_caches(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("caches")))


@pytest.fixture
def samples(repository: Path) -> Path:
    return repository / "data" / "samples" / "micro_bench"


def parse(tree: Path) -> Matrix:
    return store.parse_tree(load(WORKLOAD), tree)


def select(matrix: Matrix, **settings: Any) -> list[Entry]:
    return [entry for entry in matrix if all(entry.settings.get(name) == value for name, value in settings.items())]


def values(entries: list[Entry], kpi: str) -> list[float]:
    return [entry.kpis[kpi] for entry in entries if kpi in entry.kpis]


def written(tmp_path: Path, name: str, content: Any) -> Path:
    (tmp_path / name).write_text(content if isinstance(content, str) else json.dumps(content))
    return tmp_path


def test_every_sample_has_one_reader_and_nothing_wrong(samples: Path) -> None:
    matrix = parse(samples)
    assert matrix.unfinished == []
    assert [entry.problems for entry in matrix if entry.problems] == []
    assert {entry.settings["tool"] for entry in matrix} == {
        "JMH", "criterion", "fio", "go", "google-benchmark", "hyperfine", "pytest-benchmark"
    }  # fmt: skip
    assert len({entry.test_uuid for entry in matrix}) == len(matrix)


def test_runs_with_other_parameters_are_never_compared(samples: Path) -> None:
    workload = load(WORKLOAD)
    groups = rank(parse(samples), workload).groups
    names = ("size", "value", "direction", "mode")
    compared = [[one.point.settings for one in group.standings] for group in groups if "command" not in group.tried[0]]
    assert all(len({tuple(each.get(name) for name in names) for each in group}) == 1 for group in compared)
    (commands,) = (group for group in groups if "command" in group.tried[0])
    assert len(commands.standings) == 2


def test_benchmarks_with_one_point_each_are_told_together_whatever_their_kpi(samples: Path) -> None:
    best = rank(parse(samples), load(WORKLOAD))
    assert [{group.kpi.name for group in groups} for groups in best.alone_by_kpi] == [{"time"}, {"rate"}]
    assert [group.settings["benchmark"] for group in best.compared] == ["sort"]


def test_hyperfine_keeps_each_run_of_a_command(samples: Path) -> None:
    runs = select(parse(samples / "hyperfine"), benchmark="sort", size=1000)
    assert [run.repeat for run in runs] == list(range(10))
    assert values(runs, "time")[:2] == [0.08500961600000001, 0.081840678]
    assert statistics.fmean(values(runs, "time")) == pytest.approx(0.0810979994)
    assert runs[0].kpis["cpu_time"] == pytest.approx(0.0480046 + 0.032771)
    assert runs[0].settings["command"] == "python3 -S -c 'sorted(range(1000))'"


def test_go_repeats_are_lines_of_one_name_and_nanoseconds(samples: Path) -> None:
    matrix = parse(samples / "go")
    runs = [run for run in select(matrix, benchmark="Sort/size=100", size=100) if run.location.name == "go.txt"]
    assert values(runs, "time") == pytest.approx([922.3e-9, 801.7e-9, 805.8e-9, 841.1e-9, 804.4e-9])
    assert (runs[0].kpis["bandwidth"], runs[0].kpis["allocated"], runs[0].kpis["allocations"]) == (867.43e6, 896, 1)
    assert (runs[0].settings["procs"], runs[0].settings["package"]) == (2, "example.org/sorting")
    assert vars(runs[0].results)["items/op"] == 100
    events = [run for run in select(matrix, benchmark="Sort/size=100", size=100) if run.location.name == "go.json"]
    assert values(events, "time") == pytest.approx([1315e-9, 1068e-9])


def test_google_benchmark_aggregates_are_no_repeats(samples: Path, tmp_path: Path) -> None:
    matrix = parse(samples / "google-benchmark")
    runs = select(matrix, benchmark="BM_Sort/size:100", size=100)
    measured = [run for run in runs if "aggregate" not in run.settings]
    assert [run.repeat for run in measured] == [0, 1, 2]
    assert measured[0].kpis["time"] == pytest.approx(0.41252631388098049e-6)
    assert measured[0].kpis["cpu_time"] == pytest.approx(0.40743488516975046e-6)
    assert measured[0].kpis["rate"] == pytest.approx(2.4543799178692514e8)
    assert [run.settings["aggregate"] for run in runs if run not in measured] == ["mean"]
    failed = select(matrix, benchmark="BM_Fails")
    assert {(run.results.error, run.exit_code) for run in failed} == {("no such device", 1)}
    assert values(failed, "time") == []


def test_criterion_divides_a_sample_by_its_iterations_and_passes_the_base_over(samples: Path) -> None:
    runs = select(parse(samples / "criterion"), value=100)
    assert len(runs) == 20
    assert runs[0].kpis["time"] == pytest.approx(1893105 / 3990 * 1e-9)
    assert runs[0].kpis["rate"] == pytest.approx(100 / (1893105 / 3990 * 1e-9))
    # criterion's own estimate of the mean
    assert statistics.fmean(values(runs, "time")) == pytest.approx(477.59809038744197e-9)


def test_a_sample_of_criterion_that_is_no_number_or_took_no_time_leaves_the_others(
    samples: Path, tmp_path: Path
) -> None:
    shutil.copytree(samples / "criterion" / "sort" / "unstable" / "100" / "new", directory := tmp_path / "new")
    content = json.loads((directory / "sample.json").read_text())
    content["times"][:4] = math.nan, None, 0.0, 10**400
    written(directory, "sample.json", content)
    runs = list(parse(tmp_path))
    assert [run.kpis.get("time") for run in runs[:4]] == [None, None, 0.0, None]
    assert ["rate" in run.kpis for run in runs] == [False] * 4 + [True] * 16


@pytest.mark.parametrize("date", ["NaN", "Infinity", "null", str(10**30)])
def test_results_of_asv_and_fio_at_no_time_are_read_without_it(samples: Path, tmp_path: Path, date: str) -> None:
    results = '"result_columns": ["result", "samples"], "results": {"time_a": [[1.0], [[1.0, NaN, null]]]}'
    written(tmp_path, "asv.json", f'{{"commit_hash": "c", "env_name": "e", "date": {date}, {results}}}')
    text = (samples / "fio" / "fio.json").read_text()
    written(tmp_path, "fio.json", re.sub(r'"timestamp" : \d+', f'"timestamp" : {date}', text))
    matrix = parse(tmp_path)
    assert matrix.unfinished == []
    assert [run.kpis.get("time") for run in select(matrix, tool="asv")] == [1.0, None, None]
    assert len(select(matrix, tool="fio")) == 3


def test_jmh_units_are_those_of_each_score(samples: Path) -> None:
    matrix = parse(samples / "jmh")
    average = select(matrix, mode="avgt", size=100)
    assert values(average, "time")[0] == pytest.approx(1.4723239860583017e-6)
    assert statistics.fmean(values(average, "time")) == pytest.approx(1.0783297682470399e-6)
    throughput = select(matrix, mode="thrpt", size=100)
    assert [run.repeat for run in throughput] == list(range(6))
    assert throughput[0].kpis["rate"] == pytest.approx(0.8068405548605123e6)
    assert values(throughput, "time") == []
    [sampled] = select(matrix, mode="sample")
    assert sampled.kpis["time"] == pytest.approx(376.4343331299573e-6)
    assert sampled.kpis["p99"] == pytest.approx(512.06656e-6, rel=0.01)
    assert throughput[0].kpis["allocated"] == pytest.approx(416.0673, rel=1e-4)


def test_pytest_benchmark_rounds_are_repeats_and_many_are_batched(samples: Path) -> None:
    matrix = parse(samples / "pytest-benchmark")
    content = json.loads((samples / "pytest-benchmark" / "pytest.json").read_text())
    stats = {each["name"]: each["stats"] for each in content["benchmarks"]}
    runs = select(matrix, benchmark="test_sort.py::test_sort[100]", size=100)
    assert values(runs, "time") == stats["test_sort[100]"]["data"]
    batched = select(matrix, benchmark="test_sort.py::test_join")
    data = stats["test_join"]["data"]
    assert (len(batched), {run.results.batch for run in batched}) == (100, {3})
    assert batched[99].kpis["time"] == pytest.approx(statistics.fmean(data[297:]))
    assert statistics.fmean(values(batched, "time")) == pytest.approx(stats["test_join"]["mean"])


def test_fio_directions_are_runs_and_latencies_nanoseconds(samples: Path, tmp_path: Path) -> None:
    matrix = parse(samples / "fio")
    [write] = select(matrix, benchmark="seqwrite (write)")
    assert write.kpis["time"] == pytest.approx(5071.781307e-9)
    assert write.kpis["p99"] == pytest.approx(6688e-9)
    assert (write.kpis["rate"], write.kpis["bandwidth"]) == (190999.000999, 12517310529)
    assert write.settings["bs"] == "64k"
    assert "directory" not in write.settings
    assert {run.settings["benchmark"] for run in matrix} == {"randrw (read)", "randrw (write)", "seqwrite (write)"}
    text = (samples / "fio" / "fio.json").read_text()
    assert len(parse(written(tmp_path, "warned.json", f"fio: this platform is slow\n{text}"))) == len(matrix)
    said = f"{text}\nrandread: (groupid=0, jobs=1): err= 0\n  read: IOPS=8 {{\n"  # --output-format=json,normal
    assert len(read := parse(written(tmp_path, "warned.json", said))) == len(matrix)
    assert read.unfinished == []


def test_a_second_output_in_a_file_of_fio_is_a_problem(samples: Path, tmp_path: Path) -> None:
    matrix = parse(written(tmp_path, "fio.json", (samples / "fio" / "fio.json").read_text() * 2))
    assert len(matrix) == 3
    [file] = matrix.unfinished
    assert file.problems[0].reason.startswith("holds the output of several calls of fio, of which the first is read")


def test_files_of_before_are_read_too(tmp_path: Path) -> None:
    older = {"name": "BM_x/8/threads:2", "iterations": 5, "real_time": 10, "cpu_time": 9, "time_unit": "ms"}
    [run] = parse(written(tmp_path, "gb.json", {"benchmarks": [older]}))
    assert run.settings == {"tool": "google-benchmark", "benchmark": "BM_x/8/threads:2", "arguments": 8, "threads": 2}
    assert (run.kpis["time"], run.kpis["cpu_time"]) == pytest.approx((0.01, 0.009))
    (tmp_path / "gb.json").unlink()
    stats = {"rounds": 9710, "mean": 2.6e-07, "iterations": 431}
    bench = {"name": "test_x[0]", "fullname": "t.py::test_x[0]", "params": None, "param": "0", "stats": stats}
    document = {"benchmarks": [bench], "datetime": "2015-08-15T00:01:51.557705", "commit_info": {"id": "5b78"}}
    [run] = parse(written(tmp_path, "0001.json", document))
    assert run.settings == {
        "tool": "pytest-benchmark", "benchmark": "t.py::test_x[0]", "version": "5b78", "parameter": "0"
    }  # fmt: skip
    assert (run.kpis["time"], run.span_us) == (2.6e-07, (None, None))


def test_a_command_that_fails_is_a_failed_run(tmp_path: Path) -> None:
    result = {"command": "x", "mean": 1.0, "stddev": 0, "times": [1.0, 2.0, 3.0], "exit_codes": [0, 3, None]}
    runs = parse(written(tmp_path, "x.json", {"results": [result]})).entries
    assert [(run.exit_code, run.failed) for run in runs] == [(0, False), (3, True), (1, True)]


def test_a_number_that_json_has_not_is_one_unknown_value(tmp_path: Path) -> None:
    row = {"iterations": 100, "real_time": 10.0, "cpu_time": math.nan, "time_unit": "ns", "rate": math.inf}
    rows = [
        {"name": name, "run_name": name, **row, **more} for name, more in (("a", {}), ("b", {"real_time": math.nan}))
    ]
    runs = parse(written(tmp_path, "gb.json", json.dumps({"benchmarks": rows}))).entries
    assert [(run.kpis.get("time"), run.kpis.get("cpu_time")) for run in runs] == [
        (pytest.approx(1e-8), None),
        (None, None),
    ]


SHORT = {"results": [{"command": "x", "mean": 1.0, "stddev": 0, "times": [1.0, 2.0]}]}


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.json", json.dumps(SHORT)[:-2], "is not valid JSON"),
        ("a.json", json.dumps(SHORT).replace('"mean"', '"men"').replace("[1.0, 2.0]", "[]"), "parse_once stopped"),
        ("j.json", '[{"jmhVersion": "1", "primaryMetric": {}}]', "parse_once stopped"),
        ("f.json", 'note: {\n{"fio version": "3", "jobs": []}', "is not valid JSON"),
    ],
)
def test_what_is_damaged_is_a_problem_of_that_file_alone(
    samples: Path, tmp_path: Path, name: str, content: str, reason: str
) -> None:
    (tmp_path / "good.txt").write_text((samples / "go" / "go.txt").read_text())
    matrix = parse(written(tmp_path, name, content))
    assert len(matrix) == 15
    [wrong] = matrix.unfinished
    assert wrong.problems[0].reason.startswith(reason)


GO = "goos: linux\npkg: example.org/a\nBenchmarkA-2  9  10.5 ns/op\n"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (f"{GO}PASS\nok  example.org/a 1s\n", ""),
        ("BenchmarkA-2  9  10.5 ns/op\n", ""),
        (GO, "is cut off: neither PASS nor FAIL ends it"),
        (f"{GO}BenchmarkB-2  9  10", "is cut off: neither PASS nor FAIL ends it"),
        (f"{GO}PASS\npkg: example.org/b\n", "is cut off: neither PASS nor FAIL ends it"),
        (f"{GO}BenchmarkB-2  --- FAIL: BenchmarkB-2\n  b.go:1: x\nFAIL\n", "says --- FAIL: BenchmarkB-2: what"),
        (f"{GO}PASS\nFAIL\texample.org/b [build failed]\n", "says FAIL example.org/b [build failed]: what"),
    ],
)
def test_output_of_go_that_is_cut_off_or_failed_is_a_problem(tmp_path: Path, content: str, reason: str) -> None:
    matrix = parse(written(tmp_path, "go.txt", content))
    assert values(list(matrix.entries), "time") == [pytest.approx(10.5e-9)]
    said = [problem.reason for entry in matrix.unfinished for problem in entry.problems]
    assert len(said) == bool(reason)
    assert all(each.startswith(reason) for each in said)


def test_a_line_that_a_program_printed_like_one_of_go_is_passed_over(tmp_path: Path) -> None:
    lines = [
        "BenchmarkA-8 100 10 ns/op",
        "BenchmarkA 3 retries left",
        "BenchmarkB-8 9 +Inf ns/op 5 B/op done it",
        "PASS",
    ]
    matrix = parse(written(tmp_path, "go.txt", "goos: linux\n" + "\n".join(lines)))
    assert matrix.unfinished == []
    assert [(run.settings["benchmark"], run.kpis.get("time"), run.kpis.get("allocated")) for run in matrix] == [
        ("A", 1e-8, None), ("B", None, 5.0)
    ]  # fmt: skip


def test_samples_of_jmh_that_are_no_numbers_are_a_problem(samples: Path, tmp_path: Path) -> None:
    content = json.loads((samples / "jmh" / "jmh.json").read_text())
    content[2]["primaryMetric"]["rawData"][1][:2] = "NaN", "+INF"
    matrix = parse(written(tmp_path, "jmh.json", content))
    [odd] = matrix.unfinished
    assert "2 of 6 samples of org.example.Sorting.sort (avgt, size=100) are 'NaN'" in odd.problems[0].reason
    assert len(values(select(matrix, mode="avgt", size=100), "time")) == 4


def test_numbers_that_are_none_are_unknown_and_huge_ones_stay(tmp_path: Path) -> None:
    rows = [
        {"name": f"BM_{at}", "run_type": "iteration", "real_time": real, "time_unit": "s"}
        for at, real in enumerate((None, True, "3", 10**400, 1e300))
    ]
    rows[0]["cpu_time"] = math.nan
    nowhere = {"date": "0001-01-01T00:00:00+01:00"}  # which is year 0 in UTC
    matrix = parse(written(tmp_path, "gb.json", {"context": nowhere, "benchmarks": rows}))
    assert [entry.kpis.get("time") for entry in matrix] == [None, None, None, None, 1e300]
    assert matrix.notes == ["gb.json: has NaN for a number (once), read as unknown"]
    assert not any(hasattr(entry.results, "start") and entry.results.start for entry in matrix)


def test_other_tools_files_are_left_out(samples: Path, tmp_path: Path) -> None:
    (tmp_path / "ours.txt").write_text((samples / "go" / "go.txt").read_text())
    written(tmp_path, "vllm.json", {"backend": "vllm", "request_throughput": 3.5, "median_ttft_ms": 12})
    written(tmp_path, "sarif.json", {"version": "2.1.0", "results": [], "command": "x"})
    matrix = parse(tmp_path)
    assert len(matrix) == 15
    assert matrix.notes == [
        "ours.txt: has items/op, of which no KPI is made, so that nothing compares it",
        "sarif.json, vllm.json: left out, no reader recognises it",
    ]


def test_a_download_fetches_files_and_the_parse_expands_them(samples: Path, tmp_path: Path) -> None:
    for mode in ("important", "all"):
        fetched = tmp_path / mode
        assert (
            main(
                [
                    "download",
                    f"--url={samples}",
                    f"--results-dirname={fetched}",
                    f"--workload={WORKLOAD}",
                    f"--mode={mode}",
                ]
            )
            == 0
        )
        here, there = ([(run.name, run.test_uuid, run.kpis) for run in parse(tree)] for tree in (fetched, samples))
        assert here == there


def test_values_that_cannot_be_are_said_and_take_no_part(tmp_path: Path) -> None:
    result = {"command": "a", "mean": 1.0, "stddev": 0.1, "user": 0.5, "system": 0.1, "times": [1.0, -1.0, 0.0]}
    matrix = parse(written(tmp_path, "h.json", {"results": [result]}))
    assert [list(run.implausible) for run in matrix] == [[], ["time is -1, and it can't be below 0"], []]
    assert [list(run.warnings) for run in matrix] == [[], [], ["a time of 0 was not measured"]]
    assert len(rank(matrix, load(WORKLOAD)).groups[0].best.runs) == 2


def test_what_a_tool_does_not_say_is_unknown_and_no_zero(samples: Path, tmp_path: Path) -> None:
    hyperfine = json.loads((samples / "hyperfine" / "sort.json").read_text())
    del hyperfine["results"][0]["user"]
    fio = json.loads((samples / "fio" / "fio.json").read_text())
    for name in ("bw", "bw_bytes"):
        fio["jobs"][0]["write"].pop(name, None)
    for name, content in (("sort.json", hyperfine), ("fio.json", fio)):
        written(tmp_path, name, content)
    matrix = parse(tmp_path)
    assert values(select(matrix, tool="hyperfine", size=1000), "cpu_time") == []
    assert len(values(select(matrix, tool="hyperfine", size=100000), "cpu_time")) == 10
    assert [len(values([run], "bandwidth")) for run in select(matrix, tool="fio")] == [0, 1, 1]


def test_what_was_skipped_is_no_run_and_what_failed_without_a_result_is_a_failed_one(
    samples: Path, tmp_path: Path
) -> None:
    google = {"context": {}, "benchmarks": [
        {"name": "BM_A", "run_type": "iteration", "iterations": 9, "real_time": 3.0, "time_unit": "ns"},
        {"name": "BM_B", "run_type": "iteration", "real_time": 0.0, "time_unit": "ns", "skipped": True,
         "skip_message": "no AVX"},
    ]}  # fmt: skip
    fio = json.loads((samples / "fio" / "fio.json").read_text())
    fio["jobs"][0] |= {"error": 5, "read": {"total_ios": 0}, "write": {"total_ios": 0}, "trim": {"total_ios": 0}}
    for name, content in (("google.json", google), ("fio.json", fio)):
        written(tmp_path, name, content)
    matrix = parse(tmp_path)
    assert [run.settings["benchmark"] for run in select(matrix, tool="google-benchmark")] == ["BM_A"]
    assert [run.settings["benchmark"] for run in matrix if run.failed] == ["seqwrite"]


def test_of_a_file_that_is_cut_off_what_could_be_read_takes_part(
    samples: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    whole = (samples / "go" / "go.json").read_bytes()
    (tmp_path / "go.json").write_bytes(whole[: len(whole) * 6 // 10])
    main(["check", "--workload=micro_bench", f"--results-dirname={tmp_path}"])
    said = " ".join(capsys.readouterr().out.split())
    assert "1 file can't be read whole, or isn't clear; what could be read takes part: is cut off" in said
    assert "can't be placed" not in said


def test_aggregates_that_the_name_alone_tells_are_no_benchmarks(tmp_path: Path) -> None:
    def row(name: str, time: float) -> dict[str, Any]:
        return {"name": name, "iterations": 5, "real_time": time, "cpu_time": time, "time_unit": "us"}

    kinds = {"mean": 10.0, "median": 10.0, "stddev": 0.5, "cv": 0.05}
    rows = [row("BM_x", 9.5), row("BM_x", 10.5), *(row(f"BM_x_{kind}", value) for kind, value in kinds.items())]
    runs = parse(written(tmp_path, "gb.json", {"benchmarks": [*rows, row("BM_harmonic_mean", 3.0)]}))
    assert [(run.settings["benchmark"], run.repeat) for run in runs] == [
        ("BM_x", 0), ("BM_x", 1), ("BM_harmonic_mean", 0)
    ]  # fmt: skip


@pytest.mark.parametrize(("package", "is_noted"), [("example.org/a", True), ("example.org/b", False)])
def test_outputs_of_go_that_were_appended_to_one_file_are_noted(tmp_path: Path, package: str, is_noted: bool) -> None:
    one = f"{GO}PASS\nok  example.org/a 1s\n"  # those of several packages, each once, are one output
    matrix = parse(written(tmp_path, "go.txt", one + one.replace("example.org/a", package)))
    assert len(matrix) == 2
    assert (
        matrix.notes
        == ["go.txt: has several outputs of one package, which count as one campaign: keep those of two builds apart"]
        * is_noted
    )


def test_a_line_of_go_that_a_print_tears_is_one_and_metrics_take_no_kpis_name(tmp_path: Path) -> None:
    lines = [
        "goos: linux", "BenchmarkA-8 \t1000\t1000 ns/op\t12 time\t7 rate\t5 items/op",
        "BenchmarkB-8    \t2026/11/01 10:00:00 connecting", "2026/11/01 10:00:01 still", " 1000\t 1010 ns/op\t3 B/op",
        "BenchmarkC-8 \t1000\t1020 ns/op", "PASS",
    ]  # fmt: skip
    runs = parse(written(tmp_path, "go.txt", "\n".join(lines)))
    assert values(list(runs), "time") == pytest.approx([1000e-9, 1010e-9, 1020e-9])
    first, second, _ = runs
    assert {name: vars(first.results)[name] for name in ("metric_time", "metric_rate", "items/op")} == {
        "metric_time": 12, "metric_rate": 7, "items/op": 5
    }  # fmt: skip
    assert "rate" not in first.kpis
    assert second.kpis["allocated"] == 3


def test_clones_of_a_fio_job_are_one_run_and_a_device_is_a_setting(samples: Path, tmp_path: Path) -> None:
    content = json.loads((samples / "fio" / "fio.json").read_text())
    job = next(one for one in content["jobs"] if one["jobname"] == "seqwrite")
    options = {**job["job options"], "numjobs": "2", "filename": "/dev/nvme0n1"}
    slow = {**job["write"], "total_ios": 3 * job["write"]["total_ios"], "lat_ns": {"mean": 2e6}, "iops": 7.0}
    clones = [{**job, "job options": options}, {**job, "job options": options, "write": slow}]
    (run,) = parse(written(tmp_path, "fio.json", {**content, "jobs": clones}))
    assert (run.repeat, run.settings["filename"], "p99" in run.kpis) == (0, "/dev/nvme0n1", False)
    assert run.kpis["rate"] == pytest.approx(job["write"]["iops"] + 7.0)
    assert run.kpis["bandwidth"] == pytest.approx(2 * job["write"]["bw_bytes"])
    assert run.kpis["time"] == pytest.approx((job["write"]["lat_ns"]["mean"] * 1e-9 + 3 * 2e-3) / 4)
    options |= {"group_reporting": "1", "filename": "/tmp/x"}
    (tmp_path / "fio.json").unlink()
    (run,) = parse(written(tmp_path, "grouped.json", {**content, "jobs": [{**job, "job options": options}]}))
    assert not {"job", "filename"} & run.settings.keys()


def test_the_machine_of_pytest_benchmark_is_its_processor_where_that_is_told(samples: Path, tmp_path: Path) -> None:
    def machine(**info: Any) -> object:
        stats = {"rounds": 5, "mean": 2.6e-07}
        content = {"benchmarks": [{"fullname": "t.py::test_x", "stats": stats}], "machine_info": info}
        (run,) = parse(written(tmp_path, "0001.json", content))
        return run.settings.get("machine")

    assert machine(node="fv-az1", cpu={"brand_raw": "AMD EPYC", "count": 4}) == "AMD EPYC, 4 cores"
    assert machine(node="fv-az1", cpu={"brand": "AMD", "count": 4}) == "AMD, 4 cores"
    assert machine(node="fv-az1", cpu="unknown") == machine(node="fv-az1") == "fv-az1"
    assert machine() is None


def test_files_that_are_repeats_of_each_other_and_differ_are_said(tmp_path: Path) -> None:
    def said(**times: list[float]) -> list[str]:
        tree = tmp_path / "_".join(times).replace("/", "_")
        for name, values in times.items():
            rows = [{"name": "BM_x", "iterations": 5, "real_time": time, "time_unit": "us"} for time in values]
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            written(tree, f"{name}.json", {"benchmarks": rows})
        matrix = parse(tree)
        return [one.sentence for one in findings(matrix, load(WORKLOAD)) if one.kind == "files-differ"]

    (sentence,) = said(gcc=[1.0, 1.1], clang=[3.0, 3.1])
    assert sentence.startswith(
        "At 1 of 1 point with runs out of several files, which are taken for repeats, time is up"
    )
    assert "to 2.9 times as high in one as in another (gcc.json, clang.json): are they of two builds" in sentence
    assert said(first=[1.0, 1.1], second=[1.1, 1.2]) == []
    assert said(noisy=[1.0, 3.5], other=[3.0, 3.1]) == said(one=[1.0]) == []
    (sentence,) = said(**{"x/ssd/r0": [1.0], "x/ssd/r1": [1.1], "x/nvme/r0": [3.0], "x/nvme/r1": [3.1]})
    assert "(ssd/, nvme/)" in sentence
    assert "--settings-from='{}/{version}' or a settings.yaml" in sentence
    assert said(run1=[1.0], run2=[1.7]) == []  # counted, and one run each
    (sentence,) = said(**{"1.9/x": [1.0], "1.10/x": [1.1]})
    assert "up to 1.1 times as high in one as in another (1.9/, 1.10/)" in sentence
    assert said(**{"1.9/x": [1.0], "1.10/x": [1.04]}) == said(**{"day1/x": [1.0], "day2/x": [1.1]}) == []
    assert said(**{"2026.11.29/x": [1.0], "2026.11.30/x": [1.1]}) == []
    for one, other in (
        ("28.11.2026", "29.11.2026"),
        ("qps-0.5", "qps-1.5"),
        ("h_10.0.0.1", "h_10.0.0.2"),
        ("a_v3", "a_v4"),
    ):
        assert said(**{f"{one}/x": [1.0], f"{other}/x": [1.1]}) == []
    assert said(**{"app-1.2.3/x": [1.0], "app-1.2.4/x": [1.1]}) != []


def test_two_files_of_one_session_are_asked_about(tmp_path: Path) -> None:
    def said(*times: str) -> list[str]:
        for number, time in enumerate(times):
            stats = {"rounds": 5, "mean": 1.0 + number} | ({} if number else {"data": [1.01, 1.02]})
            benchmarks = [{"fullname": "t.py::test_x", "stats": stats}]
            written(tmp_path, f"{number}.json", {"benchmarks": benchmarks, "datetime": time})
        return [one.sentence for one in findings(parse(tmp_path), load(WORKLOAD)) if one.kind == "copies"]

    second = "2026-11-29T09:14:37"
    (sentence,) = said(*[f"{second}.123456+00:00"] * 2)
    assert sentence == (
        "3 runs have the settings and the time of some in another file, to the microsecond: is one session there twice?"
    )
    assert said(f"{second}.123456+00:00", f"{second}.123457+00:00") == said(*[f"{second}+00:00"] * 2) == []


def test_directories_whose_repeats_a_person_counted_through_are_repeats(tmp_path: Path) -> None:
    for directory, repeat, time in (("cold", 0, 1.0), ("warm", 1, 3.0)):
        (tmp_path / directory).mkdir()
        stats = {"rounds": 5, "mean": time}
        written(tmp_path, f"{directory}/x.json", {"benchmarks": [{"fullname": "t.py::test_x", "stats": stats}]})
        (tmp_path / directory / "settings.yaml").write_text(f"repeat: {repeat}\n")
    matrix = parse(tmp_path)
    assert [run.repeat for run in matrix] == [0, 1]
    assert not [one for one in findings(matrix, load(WORKLOAD)) if one.kind == "files-differ"]


def test_what_google_benchmark_warns_of_is_a_doubt(tmp_path: Path) -> None:
    rows = [{"name": "BM_x", "iterations": 5, "real_time": 1.0, "time_unit": "us"}]
    context = {"library_build_type": "debug", "cpu_scaling_enabled": True}
    (run,) = parse(written(tmp_path, "gb.json", {"benchmarks": rows, "context": context}))
    assert [said.partition(":")[0] for said in run.warnings] == [
        "the benchmark library was built for debugging", "the processor scaled its clock meanwhile"
    ]  # fmt: skip
    (tmp_path / "gb.json").unlink()
    released = {"library_build_type": "release", "cpu_scaling_enabled": False}
    (run,) = parse(written(tmp_path, "gb2.json", {"benchmarks": rows, "context": released}))
    assert not run.warnings


@pytest.mark.parametrize(
    ("date", "start"),
    [
        ("2026-11-23T09:25:45+01:00", dt.datetime(2026, 11, 23, 8, 25, 45, tzinfo=dt.UTC)),
        ("2016-08-02 17:44:46", None),  # releases before 1.5.3: of which zone isn't said
        ("yesterday", None),
        (7, None),
    ],
)
def test_google_benchmark_says_when_it_ran(date: object, start: dt.datetime | None, tmp_path: Path) -> None:
    rows = [{"name": "BM_x", "iterations": 5, "real_time": 1.0, "time_unit": "us"}]
    (run,) = parse(written(tmp_path, "gb.json", {"benchmarks": rows, "context": {"date": date}}))
    assert run.span_us[0] == time_us(start)


def test_a_pattern_that_a_file_overrules_is_said_once_a_file(tmp_path: Path) -> None:
    for name in ("1.0", "1.1"):
        (tmp_path / name).mkdir()
        lines = [f"Benchmark{each}-8 100 {at}00 ns/op\n" for each in "AB" for at in (10, 11)]
        (tmp_path / name / "bench.txt").write_text("".join(lines))
    runs = mb.open(tmp_path, workload="micro_bench", settings_from="{benchmark}/{file}")
    assert {run.settings["benchmark"] for run in runs.study.runs} == {"A", "B"}
    (note,) = [each for each in runs.study.read.notes if "--settings-from" in each]
    assert note.endswith(": 'benchmark' is what the file says, and not what --settings-from does")
    assert note.startswith("1.0/bench.txt, 1.1/bench.txt: ")


def test_a_measurement_of_one_moment_and_a_line_that_is_cut_off_are_said(tmp_path: Path) -> None:
    rows = [{"name": f"BM_{n}", "iterations": n, "real_time": 20.0, "time_unit": "ns"} for n in (1, 1000)]
    written(tmp_path, "a.json", {"benchmarks": rows})
    doubtful, sure = parse(tmp_path)
    assert list(doubtful.warnings) == ["20 ns were measured in all, which is mostly the clock's own time"]
    assert not sure.warnings
    (tmp_path / "b.txt").write_text("BenchmarkA-4   \t 1000\t 1052 ns/op\nBenchmarkB-4   \t 100\t 10")
    assert any("is cut off" in str(problem) for run in parse(tmp_path).unfinished for problem in run.problems)
