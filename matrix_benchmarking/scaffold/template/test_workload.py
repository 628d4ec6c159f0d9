"""The workload on its sample: it is parsed, its KPIs are right, its payloads are valid, its history can be judged."""

import json
import shutil
from pathlib import Path

import pytest

from matrix_benchmarking.cli import main
from matrix_benchmarking.store import parse_tree
from matrix_benchmarking.workload import load

HERE = Path(__file__).resolve().parent
WORKLOAD, SAMPLE = str(HERE / "workload.py"), HERE / "sample"


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """A copy of the sample: caches are written beside what is read."""
    return Path(shutil.copytree(SAMPLE, tmp_path / "results"))


def test_every_run_of_the_sample_is_read_and_has_every_kpi(results: Path) -> None:
    workload = load(WORKLOAD)
    for entry in (matrix := parse_tree(workload, results)):
        assert (entry.problems, entry.missing_files, set(entry.kpis)) == ((), (), set(workload.kpis))
    assert len(matrix) == 6
    assert not matrix.unfinished


def test_the_kpis_are_those_of_one_round(results: Path) -> None:
    printed = {"block_bytes": 1000, "blocks": 4, "seconds": [0.5, 0.1, 0.2]}
    round_s = 0.2  # the median
    (measured,) = results.glob("sha256/*/repeat_0/000__script/stdout.log")
    measured.write_text(json.dumps(printed))
    (entry,) = parse_tree(load(WORKLOAD), measured.parent.parent)
    assert entry.kpis["throughput"] == pytest.approx(4 * 1000 / round_s)
    assert entry.kpis["block_time"] == pytest.approx(round_s / 4)


def test_the_payloads_are_valid_and_one_version_is_no_regression(results: Path, tmp_path: Path) -> None:
    reading = [f"--workload={WORKLOAD}", f"--results-dirname={results}"]
    assert main(["parse", *reading, f"--output-lts={tmp_path / 'lts.json'}"]) == 0
    assert len(json.loads((tmp_path / "lts.json").read_text())) == 6
    assert main(["analyze_lts", *reading]) == 0
