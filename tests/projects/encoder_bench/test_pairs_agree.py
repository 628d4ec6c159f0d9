"""Is B worse than A? Whoever is asked says the same of the recorded releases and of the sample: numbers, words, ids."""

from __future__ import annotations

import dataclasses
import html
import json
from pathlib import Path
from typing import Any

import pytest

from matrix_benchmarking import filters, store
from matrix_benchmarking.analyze.study import Given, Study
from matrix_benchmarking.analyze.verdict.pairs import Build, compare_builds
from matrix_benchmarking.analyze.verdict.sides import Question, RunBlocks
from matrix_benchmarking.analyze.verdict.switch import switch
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
    by_labels = compare_builds(old, new, workload, dataclasses.replace(question, ignored=["image"]))
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
