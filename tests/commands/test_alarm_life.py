"""The life of an alarm from the command line: raised by an analysis, acknowledged, over, worse, fixed, remembered."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Iterable
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
LAST_DAY = "2999-12-31"


@pytest.fixture
def release(directory: Path, capsys: Capture) -> Release:
    """Measures the next versions, 1.NUMBER, at LEVEL, three times a day; gives the exit status of their analysis."""
    (directory / "releases.py").write_text(WORKLOAD, encoding="utf-8")
    count = 0

    def analyse(numbers: Iterable[int], level: float, *options: str) -> int:
        nonlocal count
        tree = directory / f"releases_{count}"
        for number in numbers:
            for repeat in range(3):
                path = tree / f"run_{number}_{repeat}"
                path.mkdir(parents=True)
                (path / "settings.yaml").write_text(json.dumps({"version": f"1.{number}", "image": "fp32"}))
                (path / "duration.json").write_text(str(level + NOISE[count % len(NOISE)]))
                at = f"2026-01-{1 + number:02}T00:0{repeat}:00+00:00"
                (path / "test_start_end.json").write_text(json.dumps({"start": at, "end": at}))
                (path / "exit_code").write_text("0")
                count += 1
        assert not tree.exists() or main(["upload_lts", "--workload=releases.py", f"--results-dirname={tree}"]) == 0
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


def one_line(text: str) -> str:
    return " ".join(text.split())


def test_an_acknowledged_alarm_fails_no_build_until_it_gets_worse_and_a_fix_closes_it(
    release: Release, capsys: Capture, tmp_path: Path
) -> None:
    assert release(range(12), 100.0) == 0
    assert statuses(capsys) == {}
    assert release([12], 110.0) == 0  # one block alone makes a suspicion
    assert statuses(capsys) == {}
    assert release([], 110.0, "--fail-on=suspected", f"--report-dest={tmp_path / 'report'}") == 1
    assert json.loads((tmp_path / "report" / "regression.json").read_text())["failed"]
    assert statuses(capsys) == {}
    assert release([13], 110.0) == 1  # the next version confirms it
    assert statuses(capsys) == {"1.12": "open"}
    assert main(["alarms", "ack", the_id(capsys, "1.12"), "--reason=known"]) == 0
    assert release([14], 110.0) == release(range(15, 20), 110.0) == 0
    assert release([20], 125.0) == 0
    assert release([21], 125.0) == 1
    assert statuses(capsys) == {"1.12": "acknowledged", "1.20": "open"}
    assert release(range(22, 28), 125.0) == 1
    assert release(range(28, 31), 100.0) == 0
    assert statuses(capsys) == {"1.12": "fixed", "1.20": "fixed"}
    assert main(["alarms", "ack", the_id(capsys, "1.20"), "--reason=late"]) == 2
    assert "is fixed by 1.28 on " in capsys.readouterr().err


def test_an_acknowledgement_up_to_a_version_is_over_with_the_next_one(release: Release, capsys: Capture) -> None:
    assert release(range(12), 100.0) == 0
    assert release([12, 13], 110.0) == 1
    assert main(["alarms", "ack", the_id(capsys, "1.12"), "--reason=known", "--until=1.14"]) == 0
    assert release([14], 110.0) == 0
    assert main(["alarms"]) == 0
    assert "is over" not in one_line(capsys.readouterr().out)
    assert release([15], 110.0) == 1
    assert main(["alarms", "--format=json"]) == 0
    assert [each["is_over"] for each in json.loads(capsys.readouterr().out)] == [True]
    assert main(["alarms", "ack", the_id(capsys, "1.12"), "--reason=still", f"--until={LAST_DAY}"]) == 0
    assert release([16], 110.0) == 0


def test_an_acknowledgement_holds_up_to_a_version_that_there_is_or_that_may_come(
    release: Release, capsys: Capture
) -> None:
    assert release(range(12), 100.0) == 0
    assert release([12, 13], 110.0) == 1
    ack = ["alarms", "ack", the_id(capsys, "1.12"), "--reason=known"]
    for until, sentence in {
        "1.9": "--until is the version 1.9, and 1.13 is later: the acknowledgement would be over",
        "next": "no run has the version 'next': known: 1.0, 1.1, ",
        "3f2a9bc": "no run has the version '3f2a9bc'",
        "yesterday": "which is in the past",
    }.items():
        capsys.readouterr()
        assert main([*ack, f"--until={until}"]) == 2
        assert sentence in capsys.readouterr().err
    assert statuses(capsys) == {"1.12": "open"}
    assert main([*ack, "--until=1.13"]) == 0
    assert " until 1.13: known\n" in (said := capsys.readouterr().out)
    assert "yet" not in said
    assert main([*ack, "--until=1.14"]) == 0
    assert capsys.readouterr().out.endswith(" until 1.14: known\nNo run has the version 1.14 yet.\n")
    assert main([*ack, "--until=2 weeks"]) == 0
    day = dt.datetime.now(dt.UTC).date() + dt.timedelta(14)
    assert f" until {day}: known\n" in capsys.readouterr().out


def test_what_is_resolved_stays_so_and_what_is_reopened_fails_again(release: Release, capsys: Capture) -> None:
    assert release(range(12), 100.0) == 0
    assert release([12, 13], 110.0) == 1
    assert main(["alarms", "resolve", the_id(capsys, "1.12"), "--reason=this is the level that we want"]) == 0
    assert release([14], 110.0) == 0
    assert main(["alarms", "reopen", the_id(capsys, "1.12")]) == 0
    assert release([15], 110.0) == 1
    assert statuses(capsys) == {"1.12": "open"}


def test_who_opens_an_alarm_again_is_heard_against_that_repair_and_not_against_a_later_one(
    release: Release, capsys: Capture
) -> None:
    assert release(range(12), 100.0) == 0
    assert release([12, 13, 14], 110.0) == 1
    assert release([15, 16], 100.0) == 0
    assert statuses(capsys) == {"1.12": "fixed"}
    assert main(["alarms", "reopen", the_id(capsys, "1.12"), "--reason=it was another machine"]) == 0
    assert release([17], 100.0) == 1
    assert release(range(18, 24), 90.0) == 0
    assert statuses(capsys) == {"1.12": "fixed"}


STEADY = """

@kpi.HigherBetter
@kpi.KPIMetadata(help="Share that was answered", unit="")
def answered(lts):
    return 1.0


store ="""
JUDGED = WORKLOAD.replace("collect([duration])", "collect([duration, answered])").replace("\n\nstore =", STEADY, 1)


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        ("@kpi.LowerBetter\n", "@kpi.NeitherBetter\n", "neither direction of duration is better any more"),
        ("@kpi.LowerBetter\n", "@kpi.LowerBetter\n@kpi.IgnoredForRegression\n", "duration is left out of analyses"),
    ],
)
def test_an_alarm_of_a_kpi_that_is_no_longer_judged_is_closed_until_it_is_judged_again(
    release: Release, directory: Path, capsys: Capture, before: str, after: str, reason: str
) -> None:
    workload = directory / "releases.py"
    workload.write_text(JUDGED, encoding="utf-8")
    assert release(range(12), 100.0) == 0
    assert release([12, 13], 110.0) == 1
    assert statuses(capsys) == {"1.12": "open"}
    workload.write_text(JUDGED.replace(before, after, 1), encoding="utf-8")
    alarm = the_id(capsys, "1.12")
    assert main(["analyze_lts", "--workload=releases.py", "--history=sqlite:///matbench.db"]) == 0
    assert f"1 alarm is over, since its KPI is not judged any more: {alarm}" in one_line(capsys.readouterr().out)
    assert main(["alarms"]) == 0
    assert "no alarm is open; 1 resolved or fixed" in capsys.readouterr().out
    assert main(["alarms", "--all", "--format=json"]) == 0
    (closed,) = json.loads(capsys.readouterr().out)
    assert (closed["status"], closed["author"]) == ("resolved", "matbench")
    assert closed["reason"].startswith(reason)
    workload.write_text(JUDGED, encoding="utf-8")
    assert main(["analyze_lts", "--workload=releases.py", "--history=sqlite:///matbench.db"]) == 1
    assert statuses(capsys) == {"1.12": "open"}


def test_what_a_person_said_of_an_alarm_stays_when_its_kpi_is_no_longer_judged(
    release: Release, directory: Path, capsys: Capture
) -> None:
    workload = directory / "releases.py"
    workload.write_text(JUDGED, encoding="utf-8")
    assert release(range(12), 100.0) == 0
    assert release([12, 13], 110.0) == 1
    assert main(["alarms", "ack", the_id(capsys, "1.12"), "--reason=known"]) == 0
    workload.write_text(JUDGED.replace("@kpi.LowerBetter", "@kpi.NeitherBetter", 1), encoding="utf-8")
    assert main(["analyze_lts", "--workload=releases.py", "--history=sqlite:///matbench.db"]) == 0
    assert statuses(capsys) == {"1.12": "acknowledged"}


def test_an_analysis_that_is_not_to_record_keeps_nothing(release: Release, capsys: Capture) -> None:
    assert release(range(12), 100.0, "--record=no") == 0
    assert release([12, 13], 110.0, "--record=no") == 1
    assert statuses(capsys) == {}


def test_the_pages_know_what_was_acknowledged_and_which_changes_count(release: Release, capsys: Capture) -> None:
    assert release([*range(13)], 100.0) == 0
    assert release([13, 14], 110.0) == 1
    assert main(["alarms", "ack", the_id(capsys, "1.13"), "--reason=a new allocator"]) == 0
    visualize = ["visualize", "--workload=releases.py", "--history=sqlite:///matbench.db"]
    names = ("--generate=Regression analysis", "--generate=report: KPI history")
    assert main([*visualize, *names]) == 0
    page = Path("report/regression-analysis.html").read_text(encoding="utf-8")
    assert "1 of 1 series of 1 KPI is worse, and dealt with" in page
    assert "a new allocator" in page
    assert "worse since 1.13, acknowledged" in Path("report/kpi-history.html").read_text(encoding="utf-8")
    Path("config.yaml").write_text("matbench:\n  minimum_effects:\n    duration: 0.5\n", encoding="utf-8")
    assert main([*visualize, *names]) == 0
    assert "counts from 50 % of the old level" in Path("report/regression-analysis.html").read_text(encoding="utf-8")
