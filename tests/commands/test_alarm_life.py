"""The life of an alarm from the command line: raised by an analysis, acknowledged, over, worse, fixed, remembered."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from matrix_benchmarking.cli import main

Capture = pytest.CaptureFixture[str]
Release = Callable[..., int]

WORKLOAD = """
from matrix_benchmarking import kpi
from matrix_benchmarking.store import BaseStore, read_json
from matrix_benchmarking.workload import RegressionKeys, Workload


def parse(results, test_dir):
    results.duration = read_json(test_dir / "duration.json")


@kpi.LowerBetter
@kpi.KPIMetadata(help="How long it takes", unit="ms")
def duration(lts):
    return lts.results.duration


store = BaseStore(parse_once=parse, important_files=["duration.json"], models_kpis=kpi.collect([duration]))
workload = Workload(name="releases", store=store, regression=RegressionKeys(comparison_keys=["version"]))
"""
NOISE = (0.0, 0.3, -0.2, 0.1, -0.3, 0.2, -0.1)
TODAY = "2999-12-31"


@pytest.fixture
def release(directory: Path, capsys: Capture) -> Release:
    """Measures 1.NUMBER at LEVEL, three times, and gives the exit status of its analysis."""
    (directory / "releases.py").write_text(WORKLOAD, encoding="utf-8")
    count = 0

    def analyse(number: int, level: float, *options: str) -> int:
        nonlocal count
        for repeat in range(3):
            path = directory / f"releases_{number}" / f"run_{repeat}"
            path.mkdir(parents=True)
            (path / "settings.yaml").write_text(json.dumps({"version": f"1.{number}", "image": "fp32"}))
            (path / "duration.json").write_text(str(level + NOISE[count % len(NOISE)]))
            (path / "exit_code").write_text("0")
            count += 1
        tree = f"--results-dirname=releases_{number}"
        assert main(["upload_lts", "--workload=releases.py", tree]) == 0
        status = main(["analyze_lts", "--workload=releases.py", "--history=sqlite:///matbench.db", *options])
        capsys.readouterr()
        return status

    return analyse


def statuses(capsys: Capture) -> dict[str, str]:
    """The status of each alarm by its first bad version."""
    capsys.readouterr()
    assert main(["alarms", "--all", "--format=json"]) == 0
    return {each["first_bad"]: each["status"] for each in json.loads(capsys.readouterr().out)}


def the_id(capsys: Capture, first_bad: str) -> str:
    capsys.readouterr()
    assert main(["alarms", "--all", "--format=json"]) == 0
    (found,) = (each["id"] for each in json.loads(capsys.readouterr().out) if each["first_bad"] == first_bad)
    return str(found)


def test_an_acknowledged_alarm_fails_no_build_until_it_gets_worse_and_a_fix_closes_it(
    release: Release, capsys: Capture
) -> None:
    assert [release(number, 100.0) for number in range(12)] == [0] * 12
    assert statuses(capsys) == {}
    assert release(12, 110.0) == 1
    assert statuses(capsys) == {"1.12": "open"}
    assert release(13, 110.0) == 1  # it stays where it is
    assert statuses(capsys) == {"1.12": "open"}
    assert main(["alarms", "ack", the_id(capsys, "1.12"), "--reason=known"]) == 0
    assert [release(number, 110.0) for number in (14, 15, 16)] == [0] * 3
    assert release(17, 125.0) == 1
    assert statuses(capsys) == {"1.12": "acknowledged", "1.17": "open"}
    assert [release(number, 100.0) for number in (18, 19)] == [0] * 2
    assert statuses(capsys) == {"1.12": "fixed", "1.17": "fixed"}
    assert main(["alarms", "ack", the_id(capsys, "1.17"), "--reason=late"]) == 2
    assert "is fixed by 1.18 on " in capsys.readouterr().err


def test_an_acknowledgement_up_to_a_version_is_over_with_the_next_one(release: Release, capsys: Capture) -> None:
    assert [release(number, 100.0) for number in range(12)] == [0] * 12
    assert release(12, 110.0) == 1
    assert main(["alarms", "ack", the_id(capsys, "1.12"), "--reason=known", "--until=1.13"]) == 0
    assert release(13, 110.0) == 0
    assert release(14, 110.0) == 1
    assert main(["alarms", "ack", the_id(capsys, "1.12"), "--reason=still", f"--until={TODAY}"]) == 0
    assert release(15, 110.0) == 0


def test_what_is_resolved_stays_so_and_what_is_reopened_fails_again(release: Release, capsys: Capture) -> None:
    assert [release(number, 100.0) for number in range(12)] == [0] * 12
    assert release(12, 110.0) == 1
    assert main(["alarms", "resolve", the_id(capsys, "1.12"), "--reason=this is the level that we want"]) == 0
    assert release(13, 110.0) == 0
    assert main(["alarms", "reopen", the_id(capsys, "1.12")]) == 0
    assert release(14, 110.0) == 1
    assert statuses(capsys) == {"1.12": "open"}


def test_an_analysis_that_is_not_to_record_keeps_nothing(release: Release, capsys: Capture) -> None:
    assert [release(number, 100.0, "--record=no") for number in range(12)] == [0] * 12
    assert release(12, 110.0, "--record=no") == 1
    assert statuses(capsys) == {}
