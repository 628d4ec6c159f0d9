"""A year of a database's nightly runs as a history: which changes are found, and that they stay where they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from examples import nightly_database
from matrix_benchmarking.analyze.verdict.analyse import analyse_runs
from matrix_benchmarking.analyze.verdict.model import Analysis
from matrix_benchmarking.matrix import Entry
from matrix_benchmarking.store import parse_tree
from matrix_benchmarking.workload import load


@pytest.fixture(scope="module")
def nights(foreign_samples: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Entry]:
    tree = tmp_path_factory.mktemp("nightly")
    assert nightly_database.import_runs(foreign_samples / "tigerbeetle.json", tree) == 365
    return list(parse_tree(load("examples/nightly_database.py"), tree, jobs=1))


def changes(analysis: Analysis, kpi: str) -> list[tuple[int, bool]]:
    """Where each new level starts, and whether it is worse."""
    verdict = next(one for one in analysis.verdicts if one.kpi.name == kpi)
    return [(change.first, change.is_worse) for change in verdict.changes]


def test_the_changes_of_a_year_are_found_and_the_slowest_quarter_is_among_them(nights: list[Entry]) -> None:
    workload = load("examples/nightly_database.py")
    analysis = analyse_runs(nights, workload, data="nights")
    found = changes(analysis, "load_accepted")
    assert any(abs(first - 15) <= 1 and worse for first, worse in found)
    assert any(abs(first - 71) <= 1 and not worse for first, worse in found)
    verdict = next(one for one in analysis.verdicts if one.kpi.name == "load_accepted")
    assert len(verdict.points) == 365
    names = [point.entries[0].name for point in verdict.points]
    assert names == sorted(names)  # by their time, which the file's order isn't


def test_what_was_found_in_the_first_200_nights_stays(nights: list[Entry]) -> None:
    workload = load("examples/nightly_database.py")
    by_time = sorted(nights, key=lambda one: one.name)
    early = analyse_runs(by_time[:200], workload, data="nights")
    late = analyse_runs(by_time, workload, data="nights")
    for kpi in ("load_accepted", "duration", "transfer_p90"):
        first = changes(early, kpi)
        assert [place for place, _ in changes(late, kpi)][: len(first)] == [place for place, _ in first]
