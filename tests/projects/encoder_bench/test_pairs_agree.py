"""Is B worse than A? Whoever is asked says the same of the recorded releases and of the sample: numbers, words, ids."""

from __future__ import annotations

import dataclasses
import html
import json
from pathlib import Path
from typing import Any

import pytest

import matrix_benchmarking as mb
from matrix_benchmarking import filters, store
from matrix_benchmarking.analyze.study import Given, Study
from matrix_benchmarking.analyze.verdict.pairs import Build, compare_builds, switch
from matrix_benchmarking.analyze.verdict.sides import Question, RunBlocks
from matrix_benchmarking.analyze.wording import analyses
from matrix_benchmarking.cli import main
from matrix_benchmarking.history import SQLiteLocation, open_history, read
from matrix_benchmarking.history.transfer import read_import
from matrix_benchmarking.plotting.catalogue import catalogue_of
from matrix_benchmarking.plotting.static_html import StaticHTML
from matrix_benchmarking.workload import load

OLD, NEW = "1.2.9", "1.3.4"
SLOWER = {"throughput", "1B_cost", "avg_latency", "p95_latency"}


@pytest.fixture
def recorded(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A history with the recorded releases and the alarms of an analysis, which is reported in ``history``."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "releases.db"
    with open_history(SQLiteLocation(path), writable=True) as history:
        read_import(history, repository / "data/samples/encoder_history/history.jsonl.gz")
    given = ["--workload=encoder_bench", f"--history=sqlite:///{path}"]
    assert main(["analyze_lts", *given, "--report-dest=history"]) == 1
    return path


def said_by(directory: str) -> list[dict[str, Any]]:
    """What the JSON report says of each series, without what every comparison of the same runs may differ in."""
    document = json.loads(Path(directory, "regression.json").read_text(encoding="utf-8"))
    found: list[dict[str, Any]] = document["series"]
    return found


def causes_of(directory: str) -> list[tuple[str, str, list[str]]]:
    """Id, first bad version and alarms of each cause in the JSON report."""
    document = json.loads(Path(directory, "regression.json").read_text(encoding="utf-8"))
    return [(one["id"], one["first_bad"], sorted(one["alarms"])) for one in document["causes"]]


def test_compare_the_baseline_and_the_page_say_the_same_of_the_releases(recorded: Path) -> None:
    given = ["--workload=encoder_bench", f"--history=sqlite:///{recorded}"]
    assert main(["compare", OLD, NEW, *given, "--report-dest=compared"]) == 1
    assert main(["analyze_lts", *given, f"--baseline={OLD}", "--report-dest=baseline"]) == 1
    compared = said_by("compared")
    assert compared == said_by("baseline")
    assert causes_of("compared") == causes_of("baseline") == causes_of("history")
    worse = [one for one in compared if one["verdict"] == "worse"]
    assert {(one["kpi"]["name"], one["labels"]["batch_size"]) for one in worse} == {(name, 8) for name in SLOWER}
    assert {one["verdict"] for one in compared if one not in worse} == {"no difference shown"}

    workload, place = load("encoder_bench"), SQLiteLocation(recorded)
    with open_history(place, writable=False) as history:
        events = list(history.alarm_events(workload.name))
    ids = {alarm["id"] for one in worse for alarm in one["alarms"]}
    assert ids == {event.alarm for event in events}
    assert len(ids) == 4
    options = Given(events=lambda: events)
    catalogue = catalogue_of(Study(read.read_matrix(workload, place), workload, given=options))
    shown = catalogue.page("report: Compare").do_plot(
        *catalogue.arguments({"setting": "version", "old": OLD, "new": NEW})
    )
    page = html.unescape(StaticHTML().render(shown))
    assert f"4 of 10 series of 5 KPIs are worse: {NEW} against {OLD}." in page
    for one in worse:
        assert one["sentence"] in page
        assert f"Alarm {one['alarms'][0]['id']}." in page


def test_the_page_names_the_last_good_release_that_the_history_names(recorded: Path) -> None:
    workload = load("encoder_bench")
    catalogue = catalogue_of(Study(read.read_matrix(workload, SQLiteLocation(recorded)), workload))
    assert catalogue.study.analysis is not None
    (good,) = {one.last_good_version for one in catalogue.study.analysis.failing}
    assert catalogue.page("report: Compare").summary().startswith(f"version {NEW} against {good}: ")


def test_two_images_of_the_sample_are_the_same_question_for_both(sample: Path) -> None:
    workload = load("encoder_bench")
    matrix = store.parse_tree(workload, sample).filtered(filters.parse("hw_type=cpu-1"))
    images = "onnx-fp32", "onnx-int8"
    question = Question("the sample", RunBlocks(lambda: matrix.entries))
    old, new = (Build(name, [one for one in matrix if one.settings["image"] == name]) for name in images)
    ignoring = dataclasses.replace(question, ignored=["image"])
    by_labels, _ = compare_builds(old, new, workload.ignoring(["image"]), ignoring)
    found = switch(matrix, workload, "image", *images, question)
    assert found is not None
    assert analyses.headline(by_labels).split(":")[0] == analyses.headline(found.analysis).split(":")[0]

    def numbers(analysis: Any) -> list[Any]:
        return sorted(
            repr((one.kpi.name, one.outcome.value, one.effect, one.p_value, one.q_value, one.stands_on))
            for one in analysis.verdicts
            if one.effect is not None
        )

    assert numbers(by_labels) == numbers(found.analysis)
    assert {one.stands_on for one in by_labels.verdicts} == {"in 3 common rounds"}


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("image=onnx-fp32", "image=onnx-int8", "image onnx-int8 against onnx-fp32"),
        ("image=onnx-fp32,vus=1", "image=onnx-int8,vus=1", "image onnx-int8 against onnx-fp32"),
    ],
)
def test_two_selections_are_compared_by_command_library_and_page_alike(
    sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    kpis = ["--kpi-filter=throughput"]
    given = ["--workload=encoder_bench", f"--results-dirname={sample}", "--filters=hw_type=cpu-1,vus=1:8"]
    assert main(["compare", old, new, *given, "--report-dest=compared"]) == 1
    assert main(["compare", new, old, *given, "--report-dest=back"]) == 1
    assert main(["compare", old, new, *given, *kpis, "--report-dest=throughput"]) == 0
    compared, back = said_by("compared"), said_by("back")
    turned = {"worse": "better", "better": "worse"}
    assert {(one["id"], turned.get(one["verdict"], one["verdict"])) for one in back} == {
        (one["id"], one["verdict"]) for one in compared
    }
    assert {one["kpi"]["name"] for one in said_by("throughput") if one["verdict"] != "not analysed"} == {"throughput"}
    runs = mb.open(sample, workload="encoder_bench").where(hw_type="cpu-1", vus=[1, 8])
    analysis = runs.compare(old, new).analysis
    assert analysis.question == said
    judged = [one for one in compared if one["verdict"] != "not analysed"]
    assert {one.id: (one.outcome.value, one.q_value) for one in analysis.verdicts} == {
        one["id"]: (one["verdict"], one["q_value"]) for one in judged
    }
    catalogue = catalogue_of(runs.study)
    shown = catalogue.page("report: Compare").do_plot(*catalogue.arguments({"old": old, "new": new}))
    page = html.unescape(StaticHTML().render(shown))
    assert f"{said}." in page
    sentences = {one["id"]: one["sentence"] for one in compared}
    assert all(sentences[one.id] in page for one in analysis.failing[:5])


@pytest.mark.parametrize(
    ("sides", "sentence"),
    [
        (("batch_size=8", NEW), "'batch_size=8' selects runs: give two selections, or two versions"),
        (("batch_size=8", "batch_size=9"), "no test has batch_size=9: known: 1, 8"),
        (("batch_size=8", "batch_size = 8"), "Both sides are batch_size=8: choose two that differ"),
        (("batch_size=8", "vus=8"), "is on both sides: choose two selections that have no run in common"),
        (("batch_size=8,version=1.3.4", "batch_size=1,version=1.3.3"), None),
        (("batch_size=8", "batch_size=1", "--ignored-keys=vus"), None),
        (("batch_size=8", "batch_size=1", "--ignored-keys=vsu"), "no run has a label or setting to ignore 'vsu'"),
    ],
)
def test_what_selections_cannot_be_compared_is_said_in_a_sentence(
    recorded: Path, capsys: pytest.CaptureFixture[str], sides: tuple[str, ...], sentence: str | None
) -> None:
    capsys.readouterr()
    status = main(["compare", *sides, "--workload=encoder_bench", f"--history=sqlite:///{recorded}", "--exit-zero"])
    assert status == (0 if sentence is None else 2)
    assert (sentence or "") in capsys.readouterr().err


def test_selections_are_of_the_newest_version_and_that_is_said(
    recorded: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["--workload=encoder_bench", f"--history=sqlite:///{recorded}", "--exit-zero"]
    assert main(["compare", "batch_size=1", "batch_size=8", *given]) == 0
    assert f"170 runs left out: not of version {NEW}, the newest" in capsys.readouterr().out
    assert main(["compare", f"version={OLD}", f"version={NEW}", *given]) == 0
    as_selections = capsys.readouterr().out
    assert main(["compare", OLD, NEW, *given]) == 0
    assert capsys.readouterr().out == as_selections


def test_selections_that_share_a_setting_borrow_noise_and_match_alarms_as_a_filter_does(
    recorded: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["--workload=encoder_bench", f"--history=sqlite:///{recorded}"]
    alarms = [
        one["alarms"][0]["id"] for one in said_by("history") if one["kpi"]["name"] == "throughput" and one["alarms"]
    ]
    assert main(["alarms", "ack", *alarms, "--reason=meant", given[1]]) == 0
    for old, new, options in (
        (OLD, NEW, ["--kpi-filter=throughput"]),
        (OLD, NEW, []),
        (NEW, OLD, []),
        ("1.3.3", NEW, []),
    ):
        capsys.readouterr()
        status = main(["compare", old, new, *given, *options, "--filters=batch_size=8"])
        assert status == (new == NEW and not options and old == OLD)
        filtered = capsys.readouterr()
        sides = f"version={old},batch_size=8", f"batch_size=8,version={new}"
        assert main(["compare", *sides, *given, *options]) == status
        assert capsys.readouterr() == filtered
