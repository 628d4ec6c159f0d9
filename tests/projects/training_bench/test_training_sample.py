"""The committed sample: a real training of four strategies at two I/O speeds; every command by the workload's name."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from pathlib import Path

import pytest
import yaml

from matrix_benchmarking import lts, store
from matrix_benchmarking.analyze.rank import rank
from matrix_benchmarking.analyze.verdict.model import Outcome
from matrix_benchmarking.analyze.verdict.sides import Question, RunBlocks
from matrix_benchmarking.benchmark import expand, file, run_directory
from matrix_benchmarking.cli import main
from matrix_benchmarking.workload import load
from projects.training_bench.visualizations.plotting import cases, verdicts

Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def runs(repository: Path) -> Path:
    return repository / "data" / "samples" / "training_bench"


@pytest.fixture(scope="module")
def workload():
    return load("training_bench")


@pytest.fixture(scope="module")
def matrix(workload, runs):
    return store.parse_tree(workload, runs)


def test_the_sample_covers_the_matrix_that_its_benchmark_file_says(matrix, repository):
    content = file.read(repository / "examples" / "training_cpu.yaml")
    wanted = {point.key for point in expand.expand(content, {}).points}
    assert {run_directory.point_key(entry.settings, entry.repeat) for entry in matrix} == wanted
    assert len(matrix) == len(wanted) == 24


def test_nothing_in_the_sample_failed_and_its_payloads_are_strict(matrix, workload, tmp_path):
    assert (matrix.unfinished, matrix.notes) == ([], [])
    assert [entry.name for entry in matrix if entry.problems or entry.failed or entry.missing_files] == []
    with open(tmp_path / "lts.json", "wb") as stream:
        lts.write_payloads(workload, matrix, stream, pretty=False)
    assert len(json.loads((tmp_path / "lts.json").read_text())) == len(matrix)


def test_every_epoch_of_the_sample_is_covered_by_its_log_and_the_network_learned(matrix):
    for entry in matrix:
        results = entry.lts.results
        assert results.counted_epochs == results.cpu_epochs == 3
        assert "numpy" in entry.lts.metadata.environment["versions"]
        assert entry.environment.command.startswith("matbench benchmark examples/training_cpu.yaml ")
        losses = re.findall(r"loss ([\d.]+)", (entry.location / "000__script" / "stdout.log").read_text())
        assert float(losses[-1]) < float(losses[0]) / 5


def test_the_limit_of_the_reader_was_kept(matrix):
    for entry in matrix:
        if entry.settings["io_speed"] == 50:
            assert entry.kpis["read_rate"] <= 51e6
        assert entry.lts.results.page_cache == "dropped"
        assert entry.missing_kpis["gpu_load"] == "GPU load was not measured"


def test_what_is_best_depends_on_the_storage_and_the_reasons_are_found(matrix, workload):
    best = {group.settings["io_speed"]: group.best.settings["strategy"] for group in rank(matrix, workload).groups}
    assert best["unlimited"] == "ring-buffer"
    assert best[50] in ("blosc2", "ring-buffer")
    question = Question("a test", RunBlocks(lambda: matrix.entries))
    found = verdicts.conclusions(cases.cases_of(matrix, ["strategy"]), workload, question)
    limit = {(case.label, case.settings["io_speed"]): concluded.limit.value for case, concluded in found}
    assert limit["plain", 50] == limit["float16", 50] == "I/O"
    assert limit["ring-buffer", "unlimited"] == "compute (CPU)"
    assert limit["blosc2", "unlimited"] == "CPU decoding"


def test_slow_storage_makes_smaller_files_worth_more(matrix, workload):
    found = verdicts.speed_ups(
        matrix,
        workload,
        "plain",
        workload.kpis["epoch_duration"],
        Question("a test", RunBlocks(lambda: matrix.entries)),
    )
    ratios = {(one.strategy, one.settings["io_speed"]): one for one in found}
    for strategy in ("blosc2", "float16", "ring-buffer"):
        assert ratios[strategy, 50].outcome is Outcome.IMPROVEMENT
        assert ratios[strategy, 50].ratio > max(1.4, ratios[strategy, "unlimited"].ratio)


def test_the_sample_is_small_and_names_no_machine(runs):
    paths = [path for path in runs.rglob("*") if path.is_file() and not path.name.startswith(".matbench")]
    assert sum(os.path.getsize(path) for path in paths) < 3_000_000
    for path in paths:
        if path.suffix in (".json", ".log", ".md"):
            assert not re.search(rb"/(root|home|work|tmp|Users)/", path.read_bytes()), path


@pytest.fixture
def copied(tmp_path: Path, runs: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The sample beside the working directory, which is empty, and a second version of it that is half as fast."""
    for name in [name for name in os.environ if name.startswith("MATBENCH_") and "TEST" not in name]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    ignored = shutil.ignore_patterns(".matbench_*")
    shutil.copytree(runs, tmp_path / "runs", ignore=ignored)
    shutil.copytree(runs, tmp_path / "slower", ignore=ignored)
    for path in (tmp_path / "slower").rglob("settings.yaml"):
        settings = yaml.safe_load(path.read_text())
        path.write_text(yaml.safe_dump(settings | {"version": "1.1.0"}))
        (path.parent / ".uuid").unlink()
        _stretch(path.parent / "timings.feather")
    return tmp_path


def _stretch(path: Path) -> None:
    """Make all epochs take twice as long."""
    import pyarrow
    from pyarrow import feather

    rows = feather.read_table(path).to_pylist()
    for row in rows:
        row["time"] *= 2
    feather.write_feather(pyarrow.Table.from_pylist(rows), str(path))


def test_parse_prints_the_best_strategy_at_each_speed(copied, capsys: Capture):
    assert main(["parse", "--workload=training_bench", "--results-dirname=runs"]) == 0
    out = capsys.readouterr().out
    assert "For io_speed unlimited: Lowest epoch_duration: " in out
    assert "ring-buffer" in out


def test_the_reports_are_written_by_the_names_in_the_plots_file(copied, repository, capsys: Capture):
    shutil.copytree(repository / "data", copied / "data", ignore=shutil.ignore_patterns("samples"))
    line = ["visualize", "--workload=training_bench", "--results-dirname=runs", "--generate", "--report-dest=report"]
    assert main([*line, "--plots-file=data/plots.yaml"]) == 0
    page = (copied / "report" / "data-loading.html").read_text()
    for words in ("Speed-up against plain", "Limited by I/O: plain at 50 MB/s", "No GPU was measured in use"):
        assert words in page
    assert (copied / "report" / "kpi-overview.html").exists()


def test_a_slower_version_is_found_in_the_history(copied, capsys: Capture):
    where = ["--workload=training_bench", "--history=sqlite:///h.db"]
    for tree in ("runs", "slower"):
        assert main(["upload_lts", *where, f"--results-dirname={tree}"]) == 0
    assert main(["analyze_lts", *where, "--results-dirname=slower", "--baseline=1.0.0"]) == 1
    out = capsys.readouterr().out
    assert "epoch_duration" in out
    assert "plain" in out


def test_two_builds_are_compared_without_a_history(copied, capsys: Capture):
    assert main(["compare", "runs", "slower", "--workload=training_bench"]) == 1
    assert "epoch_duration" in capsys.readouterr().out


def test_what_a_missing_package_left_out_is_read_once_it_is_there(workload, runs, tmp_path, monkeypatch) -> None:
    run = runs / "float16" / "io_50" / "repeat_0"
    shutil.copytree(run, tmp_path / "run", ignore=shutil.ignore_patterns(".matbench*"))
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "pyarrow", None)
        (entry,) = store.parse_tree(workload, tmp_path)
        assert [problem.reason for problem in entry.problems] == [
            "a table in Feather needs pyarrow: pip install 'matrix-benchmarking[parquet]'"
        ]
    (entry,) = store.parse_tree(workload, tmp_path)
    assert entry.problems == ()
    assert entry.kpis["epoch_duration"] > 0
