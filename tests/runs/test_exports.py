"""Runs opened from an export in Parquet, here and in S3, answer as those of the history it came from."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from download_support.bucket import emptied

import matrix_benchmarking as mb
from matrix_benchmarking.cli import main
from matrix_benchmarking.errors import MatbenchError
from matrix_benchmarking.history import SQLiteLocation, open_history

RELEASES = Path("data/samples/encoder_history/history.jsonl.gz")
Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def releases(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A history with versions of which some are worse, and an alarm that somebody has dealt with."""
    path = tmp_path_factory.mktemp("releases") / "releases.db"
    there = f"--history=sqlite:///{path}"
    assert main(["history", "import", str(repository / RELEASES), there]) == 0
    assert main(["analyze_lts", there, "--workload=encoder_bench", f"--report-dest={path.parent / 'report'}"]) == 1
    with open_history(SQLiteLocation(path), writable=False) as kept:
        alarm = kept.alarm_events()[0].alarm
    assert main(["alarms", "ack", alarm, "--reason=known", there]) == 0
    return path


@pytest.fixture
def s3(s3_endpoint: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A client of a server with one empty bucket."""
    return emptied(s3_endpoint, monkeypatch, "perf")


def answers(place: str) -> list[str]:
    """What runs at *place* say, without where they, and the objects about them, are."""
    runs = mb.open(place, workload="encoder_bench")
    said = [runs.best(), runs.check(), runs.compare("1.2.9", "1.3.4"), runs.history()]
    verdicts = runs.history().analysis.verdicts
    texts = [*map(str, said), repr(verdicts), runs.to_dataframe().to_csv()]
    return [re.sub(" at 0x[0-9a-f]+", "", each.replace(place, "PLACE")) for each in texts]


def test_a_file_and_a_directory_answer_as_the_history(releases: Path, tmp_path: Path) -> None:
    there = f"sqlite:///{releases}"
    path = tmp_path / "runs.parquet"
    assert main(["history", "export", str(path), f"--history={there}"]) == 0
    expected = answers(there)
    assert "acknowledged" in expected[3]
    assert answers(str(path)) == expected
    assert answers(str(tmp_path)) == expected


def test_an_export_in_s3_answers_as_the_history(releases: Path, s3: Any, capsys: Capture) -> None:
    there = f"sqlite:///{releases}"
    assert main(["history", "export", "s3://perf/nightly/runs.parquet", f"--history={there}"]) == 0
    assert "exported to s3://perf/nightly/runs.parquet" in capsys.readouterr().err
    expected = answers(there)
    assert answers("s3://perf/nightly/runs.parquet") == expected
    assert answers("s3://perf/nightly") == expected
    assert main(["history", "--history=s3://perf/nightly"]) == 0
    s3.put_object(Bucket="perf", Key="foreign.parquet", Body=b"no table")
    for address, sentence in {
        "s3://perf/foreign.parquet": "is no Parquet file, or damaged",
        "s3://perf/none.parquet": "there is no such bucket or prefix",
        "s3://perf/none": "there is no export in Parquet in s3://perf/none",
        "s3://perf": "should be s3://bucket/name",
    }.items():
        with pytest.raises(MatbenchError, match=sentence):
            mb.open(address, workload="encoder_bench")


def test_an_export_that_fails_leaves_the_object_as_it_was(releases: Path, s3: Any, capsys: Capture) -> None:
    s3.put_object(Bucket="perf", Key="runs.parquet", Body=b"before")
    assert main(["history", "export", "s3://perf/runs.parquet", "--history=sqlite:///missing.db"]) == 2
    assert s3.get_object(Bucket="perf", Key="runs.parquet")["Body"].read() == b"before"
    assert main(["history", "export", "s3://nobody/runs.parquet", f"--history=sqlite:///{releases}"]) == 2
    assert "cannot write s3://nobody/runs.parquet: there is no such bucket" in capsys.readouterr().err


def test_a_place_that_cannot_be_an_export_is_a_sentence(releases: Path, tmp_path: Path, capsys: Capture) -> None:
    there = f"--history=sqlite:///{releases}"
    assert main(["history", "export", str(tmp_path / "runs.table"), "--format=parquet", there]) == 2
    assert "should end in .parquet, by which it is found again" in capsys.readouterr().err
    (tmp_path / "x.parquet").write_bytes(b"PAR1, but not really")
    with pytest.raises(MatbenchError, match=r"x\.parquet' is no Parquet file, or damaged"):
        mb.open(tmp_path / "x.parquet", workload="encoder_bench")
    assert main(["history", "import", str(tmp_path / "x.parquet"), there]) == 2
    assert "is no Parquet file, or damaged" in capsys.readouterr().err
