"""The recorded history of a real server, of which one configuration got slower: exactly that one is named."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest

from matrix_benchmarking.analyze.verdict.analyse import analyse_runs
from matrix_benchmarking.analyze.verdict.model import Analysis, Outcome
from matrix_benchmarking.analyze.verdict.pairs import Build, compare_builds
from matrix_benchmarking.analyze.verdict.sides import Question, RunBlocks
from matrix_benchmarking.history import SQLiteLocation, open_history, read
from matrix_benchmarking.history.transfer import read_import
from matrix_benchmarking.matrix import Matrix
from matrix_benchmarking.workload import Workload, load

NOW = dt.datetime(2026, 12, 1, tzinfo=dt.UTC)
SLOWER = {"throughput", "1B_cost", "avg_latency", "p95_latency"}


@pytest.fixture(scope="module")
def workload() -> Workload:
    return load("encoder_bench")


@pytest.fixture(scope="module")
def releases(repository: Path, workload: Workload, tmp_path_factory: pytest.TempPathFactory) -> Matrix:
    place = SQLiteLocation(tmp_path_factory.mktemp("releases") / "releases.db")
    exported = repository / "data/samples/encoder_history/history.jsonl.gz"
    with open_history(place, writable=True) as history:
        read_import(history, exported)
    return read.read_matrix(workload, place)


def named(analysis: Analysis) -> set[tuple[str, str, int]]:
    """KPI, image and batch size of what got worse."""
    return {
        (one.kpi.name, one.labels["image"], one.labels["batch_size"]) for one in analysis.having(Outcome.REGRESSION)
    }


def test_exactly_the_slower_configuration_is_named_since_its_first_bad_release(
    releases: Matrix, workload: Workload
) -> None:
    analysis = analyse_runs(releases, workload, data="releases", now=NOW)
    assert named(analysis) == {(kpi, "onnx-int8", 8) for kpi in SLOWER}
    assert {one.outcome for one in analysis.verdicts if not one.fails} == {Outcome.NO_CHANGE}
    for verdict in analysis.failing:
        assert (verdict.last_good_version, verdict.first_bad_version) == ("1.3.0", "1.3.1")
    throughput = next(one for one in analysis.failing if one.kpi.name == "throughput")
    assert throughput.effect is not None
    # An eighth more work in the model's call, of which the rest of the server is no part: a ninth less at most.
    assert throughput.effect.low < -0.1 < throughput.effect.high


def test_two_releases_tell_it_by_the_rounds_that_they_share(releases: Matrix, workload: Workload) -> None:
    def build(version: str) -> Build:
        return Build(version, [entry for entry in releases if entry.settings["version"] == version])

    question = Question("two releases", RunBlocks(lambda: releases.entries), now=NOW)
    worse = compare_builds(build("1.2.9"), build("1.3.4"), workload, question)[0]
    assert named(worse) == {(kpi, "onnx-int8", 8) for kpi in SLOWER}
    assert {one.stands_on for one in worse.verdicts} == {"in 5 common rounds"}
    same = compare_builds(build("1.2.11"), build("1.3.0"), workload, question)[0]
    assert named(same) == set()
