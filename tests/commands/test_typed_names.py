"""A name that a person typed and that matches nothing is an error with what is meant; one of the file is a warning."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from builders import rate_workload, write_test

import matrix_benchmarking as mb
from matrix_benchmarking.cli import main
from matrix_benchmarking.errors import did_you_mean, sentence

Capture = pytest.CaptureFixture[str]
WORKLOAD = rate_workload("named", "version")
HISTORY = "--history=sqlite:///kept.db"


def write_runs(tree: str, versions: int = 3, **settings: object) -> None:
    for number in range(versions):
        for repeat in range(2):
            known = {"version": f"1.{number}", "hw_type": "cpu-1", **settings, "repeat": repeat}
            test = Path(tree, f"{tree}_{number}_{repeat}")
            write_test(test, known, files={"rate.json": json.dumps(100.0 + repeat + number / 10)})


@pytest.fixture(autouse=True)
def runs(directory: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(directory / "state"))
    (directory / "named.py").write_text(WORKLOAD, encoding="utf-8")
    write_runs("runs")
    assert main(["upload_lts", "--workload=named.py", "--results-dirname=runs", HISTORY]) == 0
    capsys.readouterr()


def refused(capsys: Capture, *words: str) -> str:
    assert main([words[0], "--workload=named.py", *words[1:]]) == 2
    return capsys.readouterr().err


TREE = "--results-dirname=runs"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["analyze_lts", HISTORY, "--kpi-filter=rate,raet"], "--kpi-filter: no KPI 'raet': did you mean 'rate'?"),
        (["compare", "1.0", "1.1", HISTORY, "--kpi-filter=raet"], "--kpi-filter: no KPI 'raet': did you mean 'rate'?"),
        (["analyze_lts", HISTORY, "--filters=hw_type=cpu-1:cpu-9"], "no test has hw_type=cpu-9: did you mean 'cpu-1'?"),
        (["parse", TREE, "--filters=hw_type=cpu-1:cpu-9"], "no test has hw_type=cpu-9: did you mean 'cpu-1'?"),
        (["parse", TREE, "--filters=repeat=0:7"], "no test has repeat=7"),
        (["visualize", TREE, "--generate", "--filters=version=1.1:1.9"], "no test has version=1.9"),
        (["upload_lts", TREE, HISTORY, "--filters=version=1.1:1.9"], "no test has version=1.9"),
        (["compare", "1.0", "1.1", HISTORY, "--filters=hw_type=cpu-1:cpu-9"], "no test has hw_type=cpu-9"),
        (["download_lts", HISTORY, "--lts-results-dirname=d", "--filters=version=1.1:1.9"], "has version=1.9"),
        (["compare", "1.0", "1.1", HISTORY, "--ignored-keys=hw_typ"], "to ignore 'hw_typ': did you mean 'hw_type'?"),
        (["analyze_lts", HISTORY, "--ignored-keys=hw_typ"], "to ignore 'hw_typ': did you mean 'hw_type'?"),
        (["check", TREE, "--ignored-keys=hw_type,runner"], "no run has a label or setting to ignore 'runner'"),
        (["analyze_lts", HISTORY, "--baseline=1.7"], "no run of version '1.7': did you mean '1."),
        (["parse", TREE, "--price=cpu-2=1.5"], "--price: no run is on hardware 'cpu-2': did you mean 'cpu-1'?"),
        (["parse", TREE, "--price=cpu=1.5"], "--price: no run is on hardware 'cpu': did you mean 'cpu-1'?"),
        (["parse", TREE, "--headline=raet"], "--headline: no KPI 'raet': did you mean 'rate'?"),
        (["parse", TREE, "--workload-option=warm=3"], "workload 'named' has no option 'warm': it has none"),
    ],
)
def test_a_typed_name_of_nothing_is_exit_status_2(words: list[str], said: str, capsys: Capture) -> None:
    assert said in refused(capsys, *words)


@pytest.mark.parametrize("price", ["cpu-1=1", "aws/cpu-1=1", "CPU-1=1"])
def test_a_price_of_hardware_that_runs_name_is_fine(price: str) -> None:
    assert main(["parse", "--workload=named.py", TREE, f"--price={price}"]) == 0


def test_runs_of_hosts_of_other_names_each_time_are_one_series_without_them(capsys: Capture) -> None:
    for number in range(14):
        known = {"version": f"1.{number}", "runner": f"fv-az{number}"}
        write_test(Path("hosted", str(number)), known, files={"rate.json": str(100.0 + number % 3 - 20 * (number > 9))})
    words = ["--workload=named.py", "--results-dirname=hosted"]
    assert main(["analyze_lts", *words]) == 0 and main(["check", *words]) == 1
    assert "leave it out with --ignored-keys=runner" in capsys.readouterr().out
    assert main(["analyze_lts", *words, "--ignored-keys=runner"]) == 1
    assert "1 of 1 series of 1 KPI is worse: 1.13 against its history" in capsys.readouterr().out
    assert main(["check", *words, "--ignored-keys=runner"]) == 0
    runs = mb.open("hosted", workload="named.py", ignoring=["runner"])
    assert "1 of 1 series of 1 KPI is worse: 1.13 against its history" in str(runs.history("rate"))
    with pytest.raises(mb.MatbenchError, match=re.escape("no run has a label or setting to ignore 'runer'")):
        mb.open("hosted", workload="named.py", ignoring=["runer"])


def test_a_filter_may_name_what_only_the_history_has(capsys: Capture) -> None:
    write_runs("more", 1, version="1.9")
    words = ["--workload=named.py", "--results-dirname=more", HISTORY]
    assert main(["analyze_lts", *words, "--filters=version=1.9:1.1:1.0"]) == 0


@pytest.mark.parametrize(
    ("section", "words", "said"),
    [
        ("analyze_lts: {kpi_filter: 'rate,raet'}", ["analyze_lts", HISTORY], "no KPI 'raet': did you mean 'rate'?"),
        ("parse: {filters: 'hw_type=cpu-1:cpu-9'}", ["parse", TREE], "warning: no test has hw_type=cpu-9"),
        ("analyze_lts: {ignored_keys: hw_typ}", ["analyze_lts", HISTORY], "did you mean 'hw_type'?"),
        ("compare: {ignored_keys: hw_typ}", ["compare", "1.0", "1.1", HISTORY], "did you mean 'hw_type'?"),
        ("minimum_effects: {raet: 0.1}", ["analyze_lts", HISTORY], "has no KPI 'raet': did you mean 'rate'?"),
        ("prices: {cpu-2: 1.5}", ["parse", TREE], ""),
    ],
)
def test_a_name_of_nothing_in_the_configuration_is_said_and_no_error(
    section: str, words: list[str], said: str, capsys: Capture
) -> None:
    Path("config.yaml").write_text(f"matbench:\n  {section}\n", encoding="utf-8")
    assert main([words[0], "--workload=named.py", *words[1:]]) == 0
    printed = capsys.readouterr()
    assert said in printed.out + printed.err


def test_a_comparison_key_of_nothing_is_an_error(capsys: Capture) -> None:
    Path("named.py").write_text(rate_workload("named", "versions"), encoding="utf-8")
    for words in (["analyze_lts", HISTORY], ["analyze_lts", TREE], ["compare", "runs", "results"]):
        said = refused(capsys, *words)
        assert "'named' has a comparison key that is neither a label of its model nor a setting of any of" in said
        assert "'versions': did you mean 'version'?" in said


def test_sides_that_differ_in_another_label_are_said_once_with_what_to_do(capsys: Capture) -> None:
    write_runs("bm", platform="bm")
    write_runs("oc", platform="oc")
    assert main(["compare", "bm", "oc", "--workload=named.py"]) == 2
    said = capsys.readouterr()
    sentence = "they differ in platform (bm | oc); leave it out with --ignored-keys=platform"
    assert said.out.count(sentence) == said.err.count(sentence) == 1
    assert main(["compare", "bm", "oc", "--workload=named.py", "--ignored-keys=platform"]) == 0


def test_a_baseline_on_another_platform_says_how_to_compare_it_all_the_same(capsys: Capture) -> None:
    write_runs("bm", 1, platform="bm", version="1.0")
    write_runs("oc", 1, platform="oc", version="1.1")
    history = "--history=sqlite:///other.db"
    for tree in ("bm", "oc"):
        assert main(["upload_lts", "--workload=named.py", f"--results-dirname={tree}", history]) == 0
    said = refused(capsys, "analyze_lts", history, "--baseline=1.0")
    assert "they differ in platform (bm | oc); 'matbench compare 1.0 1.1 --ignored-keys=platform' compares them" in said


def test_known_names_are_listed_by_their_numbers() -> None:
    known = ("cpu-10", "16", "1", "cpu-9", "4", "1.10.0", "1.9.0", "b")
    assert did_you_mean("zzz", known) == "known: 1, 1.9.0, 1.10.0, 4, 16, b, cpu-9, cpu-10"
    assert [sentence(text) for text in ("did you mean 'a'?", "known: a", "It is.")] == [
        "did you mean 'a'?",
        "known: a.",
        "It is.",
    ]


@pytest.mark.parametrize("command", [["check"], ["analyze_lts"], ["compare", "1.0", "1.1"]])
def test_where_neither_a_directory_nor_a_history_is_named_both_ways_are_said(
    command: list[str], capsys: Capture
) -> None:
    said = refused(capsys, *command)
    sides = "neither '1.0' nor '1.1' is a directory, and " if "1.0" in command else ""
    assert said.startswith(f"matbench: {sides}no results directory given: use --results-dirname DIR")
    assert "and there is no history 'matbench.db' yet: 'matbench upload_lts' makes it" in said
    assert "results" not in refused(capsys, *command, "--history=sqlite:///matbench.db")
