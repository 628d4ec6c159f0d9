"""The workload on its sample: it is parsed, its KPIs are right, its payloads are valid, its history can be judged."""

import contextlib
import io
import json
import math
import shutil
import tempfile
import unittest
from pathlib import Path

from matrix_benchmarking.cli import main
from matrix_benchmarking.store import parse_tree
from matrix_benchmarking.workload import load

HERE = Path(__file__).resolve().parent
WORKLOAD, SAMPLE = str(HERE / "workload.py"), HERE / "sample"


class TestWorkload(unittest.TestCase):
    """Each test has a copy of the sample: caches are written beside what is read."""

    def setUp(self) -> None:
        self.directory = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.results = Path(shutil.copytree(SAMPLE, self.directory / "results"))

    def test_every_run_of_the_sample_is_read_and_has_every_kpi(self) -> None:
        workload = load(WORKLOAD)
        for entry in (matrix := parse_tree(workload, self.results)):
            assert (entry.problems, entry.missing_files, set(entry.kpis)) == ((), (), set(workload.kpis))
        assert len(matrix) == 6
        assert not matrix.unfinished

    def test_the_kpis_are_those_of_one_round(self) -> None:
        printed = {"block_bytes": 1000, "blocks": 4, "seconds": [0.5, 0.1, 0.2]}
        round_s = 0.2  # the median
        (measured,) = self.results.glob("sha256/*/repeat_0/000__script/stdout.log")
        measured.write_text(json.dumps(printed))
        (entry,) = parse_tree(load(WORKLOAD), measured.parent.parent)
        assert math.isclose(entry.kpis["throughput"], 4 * 1000 / round_s / 1e6)
        assert math.isclose(entry.kpis["block_time"], round_s / 4 * 1e6)

    def test_the_payloads_are_valid_and_one_version_is_no_regression(self) -> None:
        reading = [f"--workload={WORKLOAD}", f"--results-dirname={self.results}"]
        payloads = self.directory / "lts.json"
        with contextlib.redirect_stdout(io.StringIO()):
            assert main(["parse", *reading, f"--output-lts={payloads}"]) == 0
            assert main(["analyze_lts", *reading]) == 0
        assert len(json.loads(payloads.read_text())) == 6


if __name__ == "__main__":
    unittest.main()
