"""``analyze_lts`` and ``compare`` on small trees: verdicts, exit statuses, reports, alarms, and input that is wrong."""

from __future__ import annotations

import json
import os
import sqlite3
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest
import yaml

import matrix_benchmarking as mb
from matrix_benchmarking.cli import main

Capture = pytest.CaptureFixture[str]
WORKLOAD = """
from matrix_benchmarking import kpi
from matrix_benchmarking.store import BaseStore, read_json
from matrix_benchmarking.workload import RegressionKeys, Workload


def parse(results, test_dir):
    results.values = read_json(test_dir / "values.json")


@kpi.HigherBetter
@kpi.KPIMetadata(help="Answers per second", unit="1/s")
def rate(lts):
    return lts.results.values["rate"]


@kpi.LowerBetter
@kpi.KPIMetadata(help="Time of an answer", unit="ms")
def latency(lts):
    return lts.results.values["latency"]


store = BaseStore(parse_once=parse, important_files=["values.json", ".uuid"], models_kpis=kpi.collect([rate, latency]))
workload = Workload(name="versions", store=store, regression=RegressionKeys(comparison_keys=["version"]))
"""
HISTORY = "--history=sqlite:///kept.db"
ANALYZE = ["analyze_lts", "--workload=versions.py", HISTORY]


@pytest.fixture(autouse=True)
def workload(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (directory / "versions.py").write_text(WORKLOAD, encoding="utf-8")
    monkeypatch.setenv("XDG_STATE_HOME", str(directory / "state"))
    monkeypatch.setenv("MATBENCH_AUTHOR", "ada")


def write_runs(
    tree: str, versions: int, slow_from: int | None = None, *, first: int = 0, repeats: int = 1, campaign: str = ""
) -> None:
    """Runs of two images at versions 1.0.0, 1.1.0 …; from one on, image a is a tenth slower.

    All of a *campaign* are in as many rounds as there are repeats; without one nothing is recorded.
    """
    random = np.random.default_rng(7).normal(0.0, 0.01, (versions, repeats, 2, 2))
    for number in range(first, versions):
        for repeat in range(repeats):
            for place, image in enumerate("ab"):
                slower = 1.1 if image == "a" and slow_from is not None and number >= slow_from else 1.0
                noise = 1.0 + random[number, repeat, place]
                values = {"rate": 100.0 / slower * noise[0], "latency": 10.0 * slower * noise[1]}
                path = Path(tree, f"{number}_{repeat}_{image}")
                write_run(path, f"1.{number}.0", image, values, number, repeat)
                if campaign:
                    block = {"version": 1, "campaign": campaign, "round": repeat + 1}
                    (path / "block.json").write_text(json.dumps(block), encoding="utf-8")


def write_run(path: Path, version: object, image: str, values: object, day: int, repeat: int = 0) -> None:
    path.mkdir(parents=True)
    settings = {"version": version, "image": image, "repeat": repeat}
    (path / "settings.yaml").write_text(json.dumps(settings), encoding="utf-8")
    (path / "values.json").write_text(json.dumps(values), encoding="utf-8")
    at = f"2026-01-{1 + day % 28:02}T{day // 28:02}:00:00+00:00"
    (path / "test_start_end.json").write_text(json.dumps({"start": at, "end": at}), encoding="utf-8")
    (path / "exit_code").write_text("0", encoding="utf-8")


def keep(tree: str) -> None:
    assert main(["upload_lts", "--workload=versions.py", f"--results-dirname={tree}", HISTORY]) == 0


@pytest.fixture
def slower(capsys: Capture) -> None:
    """A history of 30 versions, of which image a got slower at 1.25.0."""
    write_runs("runs", 30, 25)
    keep("runs")
    capsys.readouterr()


def test_a_regression_is_named_and_the_exit_status_is_1(slower: None, capsys: Capture) -> None:
    assert main(ANALYZE) == 1
    said = capsys.readouterr()
    assert said.out.startswith("2 of 4 series of 2 KPIs are worse: 1.29.0 against its history.")
    assert said.err.strip() == "matbench: 2 of 4 series of 2 KPIs are worse: 1.29.0 against its history."
    assert "1.25.0" in said.out
    assert "1.24.0" in said.out


def test_exit_zero_reports_only(slower: None, capsys: Capture) -> None:
    assert main([*ANALYZE, "--exit-zero"]) == 0
    assert "2 of 4 series" in capsys.readouterr().out


def test_a_quiet_history_is_fine(capsys: Capture) -> None:
    write_runs("runs", 30)
    keep("runs")
    assert main(ANALYZE) == 0
    assert "Nothing is worse in 4 series of 2 KPIs" in capsys.readouterr().out


def test_every_report_is_written_and_says_the_same(slower: None) -> None:
    assert main([*ANALYZE, "--report-dest=out", "--summary-yaml-dest=sum/summary.yaml"]) == 1
    names = {path.name for path in Path("out").iterdir()}
    assert names >= {"index.html", "regression.md", "regression.json", "regression.xml", "gl-code-quality.json"}
    whole = json.loads(Path("out/regression.json").read_text(encoding="utf-8"))
    assert whole["failed"] is True
    suites = ET.parse("out/regression.xml").getroot()
    assert len(list(suites.iter("failure"))) == 2
    assert len(json.loads(Path("out/gl-code-quality.json").read_text(encoding="utf-8"))) == 2
    summary = yaml.safe_load(Path("sum/summary.yaml").read_text(encoding="utf-8"))
    assert summary["significant_performance_decrease"] == summary["failures"] == 2
    assert "1.25.0" in Path("out/regression.md").read_text(encoding="utf-8")
    assert "1.25.0" in Path("out/index.html").read_text(encoding="utf-8")


def test_results_beside_a_history_are_the_newest_build(capsys: Capture) -> None:
    write_runs("old", 24)
    keep("old")
    write_runs("new", 30, 24, first=24)
    assert main([*ANALYZE, "--results-dirname=new"]) == 1
    assert "1.29.0 against its history" in capsys.readouterr().out
    assert main(ANALYZE) == 0  # the results were looked at, and not kept


def test_a_repair_that_was_tried_and_not_kept_closes_no_alarm(slower: None, capsys: Capture) -> None:
    assert main(ANALYZE) == 1
    write_runs("tried", 31, first=30, repeats=5)
    assert main([*ANALYZE, "--results-dirname=tried"]) == 0
    assert main(ANALYZE) == 1
    capsys.readouterr()
    assert main(["alarms", "--format=json", HISTORY]) == 0
    reasons = {alarm["reason"] for alarm in json.loads(capsys.readouterr().out)}
    assert reasons == {"it was fixed by 1.30.0, and is not any more"}


def test_an_alarm_whose_runs_were_not_kept_is_named(capsys: Capture) -> None:
    write_runs("runs", 30)
    keep("runs")
    write_runs("tried", 32, 30, first=30, repeats=5)
    assert main([*ANALYZE, "--results-dirname=tried"]) == 1
    capsys.readouterr()
    assert main(ANALYZE) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "2 alarms of the history are open, and not to be seen in these runs" in said
    assert "(there is no run of 1.30.0)" in said
    assert main([*ANALYZE, "--since=2026-01-02"]) == 0
    assert "not to be seen" not in capsys.readouterr().out


def test_series_that_the_newest_version_has_no_value_of_are_counted(capsys: Capture) -> None:
    write_runs("runs", 30)
    write_run(Path("runs/newest"), "1.30.0", "a", {"rate": None, "latency": 10.0}, 30)
    keep("runs")
    capsys.readouterr()
    assert main(ANALYZE) == 0
    said = capsys.readouterr().out
    assert "Nothing is worse in 4 series of 2 KPIs: 1.30.0 against its history." in said
    assert "3 without a value at 1.30.0 (rate of a and others): judged up to 1.29.0." in said


def test_payloads_are_a_history_too_alone_and_beside_results(slower: None, capsys: Capture) -> None:
    assert main(["download_lts", "--workload=versions.py", "--lts-results-dirname=lts", HISTORY]) == 0
    assert main(["analyze_lts", "--workload=versions.py", "--lts-results-dirname=lts"]) == 1
    write_runs("newer", 34, 25, first=30)
    capsys.readouterr()
    both = ["--lts-results-dirname=lts", "--results-dirname=newer"]
    assert main(["analyze_lts", "--workload=versions.py", *both]) == 1
    assert "1.33.0 against its history" in capsys.readouterr().out


def test_an_acknowledged_alarm_lets_the_analysis_pass_until_it_is_opened_again(slower: None, capsys: Capture) -> None:
    assert main(ANALYZE) == 1
    capsys.readouterr()
    assert main(["alarms", "--format=json", HISTORY]) == 0
    ids = [alarm["id"] for alarm in json.loads(capsys.readouterr().out)]
    assert len(ids) == 2
    assert main(["alarms", "ack", *ids, "--reason=a dearer library", HISTORY]) == 0
    assert main(ANALYZE) == 0
    said = capsys.readouterr().out
    assert "2 alarms acknowledged" in said
    assert main(["alarms", "reopen", ids[0], HISTORY]) == 0
    assert main(ANALYZE) == 1


def test_a_fix_closes_the_alarm_by_itself(slower: None, capsys: Capture) -> None:
    assert main(ANALYZE) == 1
    write_runs("repaired", 45, first=30)
    keep("repaired")
    capsys.readouterr()
    assert main(ANALYZE) == 0
    capsys.readouterr()
    assert main(["alarms", "--all", "--format=json", HISTORY]) == 0
    alarms = json.loads(capsys.readouterr().out)
    assert {alarm["status"] for alarm in alarms} == {"fixed"}


def test_an_analysis_of_a_part_raises_no_alarms(slower: None, capsys: Capture) -> None:
    for part in ("--since=2026-01-10", "--filters=image=a", "--record=no"):
        main([*ANALYZE, part])
    capsys.readouterr()
    assert main(["alarms", "--format=json", HISTORY]) == 0
    assert json.loads(capsys.readouterr().out) == []


def test_a_history_that_cannot_be_written_is_analysed_all_the_same(slower: None, capsys: Capture) -> None:
    assert main(ANALYZE) == 1
    directory = Path("kept.db").absolute().parent
    os.chmod("kept.db", 0o444)
    os.chmod(directory, 0o555)
    try:
        assert main(ANALYZE) == 1
    finally:
        os.chmod(directory, 0o755)


def test_a_build_of_which_every_run_failed_is_no_pass(capsys: Capture) -> None:
    write_runs("runs", 6, repeats=5)
    keep("runs")
    write_runs("newest", 7, first=6, repeats=5)
    for exit_code in Path("newest").rglob("exit_code"):
        exit_code.write_text("1")
    capsys.readouterr()
    assert main([*ANALYZE, "--results-dirname=newest"]) == 1
    captured = capsys.readouterr()
    assert "Note: version 1.6.0: no good run, so it was not judged" in captured.out
    assert captured.err.endswith("matbench: version 1.6.0 has no good run: it was not judged\n")
    assert main([*ANALYZE, "--results-dirname=newest", "--exit-zero"]) == 0


@pytest.mark.parametrize("version", ["1.6.0", "0.9.0"])
def test_in_a_tree_a_newest_version_without_a_value_is_no_pass(version: str, capsys: Capture) -> None:
    """An old one may never have worked."""
    write_runs("runs", 6, repeats=5)
    write_run(Path("runs/none"), version, "a", {"rate": None, "latency": None}, 6)
    arguments = ["--workload=versions.py", "--results-dirname=runs"]
    assert main(["analyze_lts", *arguments, "--record=no"]) == (1 if version == "1.6.0" else 0)
    captured = capsys.readouterr()
    assert f"Note: version {version}: no good run, so it was not judged" in captured.out
    assert captured.err == (
        f"matbench: version {version} has no good run: it was not judged\n" if version == "1.6.0" else ""
    )
    runs = mb.open("runs", workload="versions.py")
    assert runs.study.analysis is not None
    assert runs.history().analysis.failed is runs.study.analysis.failed is (version == "1.6.0")
    assert main(["visualize", *arguments, "--generate=report: KPI history"]) == 0
    said = f"1.5.0 against its history. version {version} has no good run: it was not judged.\n"
    assert (said in capsys.readouterr().out) is (version == "1.6.0")
    assert main(["parse", *arguments]) == 0
    assert f"No good run of version {version}: nothing is said of it." in capsys.readouterr().out
    assert main(["compare", "1.5.0", version, *arguments]) == 2
    assert f"no run of version {version} can be compared: they failed, or have no KPI" in capsys.readouterr().err


def test_a_baseline_is_compared_with_the_newest_version(capsys: Capture) -> None:
    write_runs("runs", 6, 4, repeats=5, campaign="one night")
    keep("runs")
    capsys.readouterr()
    assert main([*ANALYZE, "--baseline=1.3.0"]) == 1
    assert "2 of 4 series of 2 KPIs are worse: 1.5.0 against 1.3.0." in capsys.readouterr().out
    assert main([*ANALYZE, "--baseline=1.4.0"]) == 0
    assert main([*ANALYZE, "--baseline=9.9.9"]) == 2
    assert "no run of version '9.9.9'" in capsys.readouterr().err


def test_two_trees_are_compared_without_a_history(capsys: Capture) -> None:
    write_runs("before", 1, repeats=5, campaign="one night")
    write_runs("after", 2, 0, first=1, repeats=5, campaign="one night")
    assert main(["compare", "before", "after", "--workload=versions.py", "--report-dest=out"]) == 1
    said = capsys.readouterr().out
    assert "2 of 4 series of 2 KPIs are worse: after against before." in said
    assert "matbench alarms" not in said  # nothing keeps an alarm that could be acknowledged
    assert "If it is meant" not in Path("out/regression.xml").read_text(encoding="utf-8")
    page = Path("out/index.html").read_text(encoding="utf-8")
    assert "worse at after than at before: " in page.split("<details")[0]
    assert "<td>open</td>" not in page
    assert main(["compare", "after", "before", "--workload=versions.py"]) == 0
    assert main(["compare", "before", "after", "--workload=versions.py", "--exit-zero"]) == 0


def test_files_are_no_sides_of_a_comparison(capsys: Capture) -> None:
    for name in ("a.json", "b.json"):
        Path(name).write_text("{}")
    assert main(["compare", "a.json", "b.json", "--workload=versions.py"]) == 2
    assert "'a.json' is a file; give the results directory that it is in" in capsys.readouterr().err


def test_commits_can_be_given_by_their_beginnings_where_that_is_one_alone(capsys: Capture) -> None:
    commits = [f"{digits}{'0123456789abcdef' * 2}"[:40] for digits in ("a1a1a1a1", "a1a1a1a2", "b3b3b3b3")]
    for number, commit in enumerate(commits):
        for repeat in range(3):
            write_run(Path(f"runs/{commit}/{repeat}"), commit, "a", {"rate": 100.0 + repeat, "latency": 1.0}, number)
    arguments = ["--workload=versions.py", "--results-dirname=runs"]
    assert main(["compare", "a1a1a1a1", "b3b3b3b", *arguments]) == 0
    assert f"{commits[2][:10]} against {commits[0][:10]}" in capsys.readouterr().out
    assert main(["compare", "a1a1a1a", "b3b3b3b", *arguments]) == 2
    assert "'a1a1a1a' is no directory, and no version of these runs" in capsys.readouterr().err


def test_trees_that_were_measured_one_after_the_other_can_not_be_told_apart(capsys: Capture) -> None:
    write_runs("before", 1, repeats=5, campaign="one night")
    write_runs("after", 2, 0, first=1, repeats=5, campaign="another")
    assert main(["compare", "before", "after", "--workload=versions.py", "--report-dest=out"]) == 0
    said = capsys.readouterr().out
    assert "Whether 4 series of 2 KPIs are worse can't be told: after against before." in said
    assert "measure both in turn, in one benchmark file with 'repeat: 3': matbench benchmark FILE --run" in said
    suite = ET.parse("out/regression.xml").getroot()
    assert (suite.get("failures"), suite.get("skipped")) == ("0", "4")
    assert "❔" in Path("out/regression.md").read_text(encoding="utf-8")
    assert "4 series of which it can&#x27;t be told" in Path("out/index.html").read_text(encoding="utf-8")


def test_runs_of_one_campaign_that_fail_more_often_fail_a_build_where_suspicion_is_enough(capsys: Capture) -> None:
    write_runs("before", 1, repeats=5, campaign="one night")
    write_runs("after", 2, 0, first=1, repeats=5, campaign="another")
    for number, path in enumerate(sorted(Path("after").rglob("exit_code"))):
        path.write_text(str(int(number % 5 > 2)))
    said = "Runs of after may fail more often: 4 of 10, and 0 of 10 of before; a campaign alone may have had an outage."
    arguments = ["compare", "before", "after", "--workload=versions.py"]
    assert main(arguments) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert said in printed and "Note: 4 failed runs of after left out" in printed
    assert main([*arguments, "--fail-on=suspected"]) == 1


def test_two_versions_of_a_history_are_compared(capsys: Capture) -> None:
    write_runs("runs", 6, 4, repeats=5, campaign="one night")
    keep("runs")
    capsys.readouterr()
    assert main(["compare", "1.3.0", "1.4.0", "--workload=versions.py", HISTORY]) == 1
    assert "1.4.0 against 1.3.0" in capsys.readouterr().out
    assert main(["compare", "1.3.0", "1.4.0", "--workload=versions.py", "--results-dirname=runs"]) == 1


def test_settings_that_may_differ_are_named(capsys: Capture) -> None:
    for number in range(5):
        for tree, image, rate in (("x", "a", 100.0), ("y", "b", 80.0)):
            values = {"rate": rate + number, "latency": 10 + 0.1 * number}
            write_run(Path(tree, str(number)), "1.0.0", image, values, number, number)
    assert main(["compare", "x", "y", "--workload=versions.py"]) == 2
    assert "they differ in image (a | b); leave it out with --ignored-keys=image" in capsys.readouterr().err
    assert main(["compare", "x", "y", "--workload=versions.py", "--ignored-keys=image"]) == 1


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["runs", "runs"], "the same directory"),
        (["runs", "nowhere"], "'nowhere' is no directory, and the other one is"),
        (["1.0.0", "7.0.0"], "'7.0.0' is no directory, and no version of these runs"),
        (["1.0.0", "1.0.0"], "both are version 1.0.0"),
    ],
)
def test_a_comparison_of_nothing_is_a_sentence(arguments: list[str], sentence: str, capsys: Capture) -> None:
    write_runs("runs", 3)
    assert main(["compare", *arguments, "--workload=versions.py", "--results-dirname=runs"]) == 2
    assert sentence in capsys.readouterr().err


def test_without_a_history_there_is_a_sentence(capsys: Capture) -> None:
    assert main(ANALYZE) == 2
    assert "there is no history 'kept.db' yet" in capsys.readouterr().err


def test_an_empty_history_is_a_sentence(capsys: Capture) -> None:
    assert main(["upload_lts", "--workload=tiny.py", "--results-dirname=results", HISTORY]) == 0
    assert main(ANALYZE) == 2
    assert "there is no run of workload 'versions'" in capsys.readouterr().err


def test_one_version_only_is_not_enough_history(capsys: Capture) -> None:
    write_runs("runs", 1, repeats=3)
    keep("runs")
    assert main(ANALYZE) == 0
    said = capsys.readouterr().out
    assert "Whether 4 series of 2 KPIs are worse can't be told" in said
    assert "all runs have the same version" in said


def test_an_unknown_kpi_in_the_filter_of_the_environment_is_a_sentence_and_the_rest_is_analysed(
    slower: None, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MATBENCH_KPI_FILTER", "rtae,latency")
    assert main(ANALYZE) == 1
    assert "no KPI 'rtae': did you mean 'rate'?" in capsys.readouterr().out
    assert main([*ANALYZE, "--kpi-filter=rtae,latency"]) == 2
    assert "no KPI 'rtae': did you mean 'rate'?" in capsys.readouterr().err


@pytest.mark.parametrize("value", [",", "", " , "])
def test_a_filter_of_kpis_without_a_name_is_no_filter_and_is_said(value: str, slower: None, capsys: Capture) -> None:
    assert main([*ANALYZE, f"--kpi-filter={value}"]) == 2
    assert f"'--kpi-filter': {value!r} holds no name; leave the option out for all" in capsys.readouterr().err


def test_a_filter_that_selects_nothing_is_a_sentence(slower: None, capsys: Capture) -> None:
    assert main([*ANALYZE, "--filters=image=zebra"]) == 2
    assert main([*ANALYZE, "--since=2030-01-01"]) == 2
    assert "before the time asked for" in capsys.readouterr().err


def test_the_history_of_a_newer_matbench_is_refused(slower: None, capsys: Capture) -> None:
    with sqlite3.connect("kept.db") as connection:
        connection.execute("PRAGMA user_version = 99")
    assert main(ANALYZE) == 2
    assert "written by a newer matbench" in capsys.readouterr().err


def test_values_that_are_no_numbers_are_left_out_and_named(slower: None, capsys: Capture) -> None:
    write_run(Path("odd"), "1.30.0", "a", {"rate": None, "latency": 11.0}, 40)
    keep("odd")
    main([*ANALYZE, "--kpi-filter=rate"])
    said = capsys.readouterr().out
    assert "Not analysed: rate is unknown" in said


def test_minimum_effects_of_the_configuration_count(slower: None, capsys: Capture) -> None:
    block = {"minimum_effects": {"rate": 0.5, "latency": {"absolute": 5.0}, "zebra": 1.0}}
    Path("config.yaml").write_text(yaml.safe_dump({"matbench": block}), encoding="utf-8")
    assert main(ANALYZE) == 0
    assert "has no KPI 'zebra'" in capsys.readouterr().err


def test_the_schema_is_printed(capsys: Capture) -> None:
    assert main(["analyze_lts", "--json-schema"]) == 0
    assert json.loads(capsys.readouterr().out)["type"] == "object"


def configure(**analyses: object) -> None:
    lts = {"opensearch": {"export": {"enabled": True}, "regression_analyses": analyses}}
    block = {"lts": lts, "history": "sqlite:///kept.db", "analyze_lts": {"report_dest": "out"}}
    Path("config.yaml").write_text(yaml.safe_dump({"matbench": block}), encoding="utf-8")


@pytest.mark.parametrize("fails", [True, False])
def test_unattended_a_regression_fails_the_test_if_that_is_wanted(fails: bool, capsys: Capture) -> None:
    write_runs("old", 24)
    keep("old")
    write_runs("new", 30, 24, first=24)
    configure(enabled=True, fail_test_on_regression=fails)
    capsys.readouterr()
    assert main(["parse", "--workload=versions.py", "--results-dirname=new", "--output-matrix=-"]) == int(fails)
    said = capsys.readouterr()
    assert "2 of 4 series of 2 KPIs are worse: 1.29.0 against its history." in said.err
    assert len(json.loads(said.out)) == 12
    assert Path("out/index.html").is_file()


def test_unattended_nothing_is_analysed_unless_that_is_wanted(capsys: Capture) -> None:
    write_runs("runs", 30, 24)
    configure(enabled=False, fail_test_on_regression=True)
    assert main(["parse", "--workload=versions.py", "--results-dirname=runs"]) == 0
    assert not Path("out").exists()
