"""The ranking of a large matrix is that of a straightforward computation, and quick enough for each click."""

from __future__ import annotations

import dataclasses
import itertools
import random
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import SimpleNamespace

import pytest
from counted import calls_of
from hypothesis import given
from hypothesis import strategies as st

from matrix_benchmarking.analyze import intervals
from matrix_benchmarking.analyze.points import by_point, key, keys, ranks, varying
from matrix_benchmarking.analyze.rank import rank
from matrix_benchmarking.analyze.study import Study
from matrix_benchmarking.columns import Columns
from matrix_benchmarking.matrix import NOT_SET, Entry, Matrix, typed
from matrix_benchmarking.matrix import order as order_of
from matrix_benchmarking.rows import ParsedTests, Rows
from matrix_benchmarking.workload import Workload

HARDWARE, IMAGES, TASKS = ("a", "b", "c"), ("fp32", "int8"), ("small", "large")


def sorting_key(settings: Mapping[str, object], names: Iterable[str]) -> list[object]:
    """Puts settings in order of their values."""
    return [order_of(settings.get(name, NOT_SET)) for name in names]


def synthetic(points: int, seed: int = 0, repeats: int = 3) -> list[Entry]:
    """Entries of *points* different settings, some of which lack a setting, shuffled."""
    rng = random.Random(seed)
    made = []
    for point in range(points):
        coordinates: dict[str, object] = {
            "task": TASKS[point % 2],
            "hw_type": HARDWARE[point // 2 % 3],
            "image": IMAGES[point // 6 % 2],
            "batch_size": 2 ** (point // 12 % 7),
            "vus": rng.choice([point, float(point), str(point)]),
            "version": "1.0.0",
        }
        if point % 5 == 0:
            del coordinates["image"]
        cost = round(rng.lognormvariate(0, 1), 1) + 0.1  # ties
        for repeat in range(repeats if point % 7 else 1):
            value = cost * rng.choice([0.95, 1.0, 1.05])
            made.append(
                Entry(coordinates, repeat, Path(f"/r/{point}_{repeat}"), f"{point}_{repeat}", 0, kpis={"cost": value})
            )
    rng.shuffle(made)
    return made


@pytest.mark.parametrize("seed", range(3))
def test_the_ranking_is_that_of_a_straightforward_computation(workload: Workload, seed: int) -> None:
    made = synthetic(150, seed)
    names = list(dict.fromkeys(name for entry in made for name in entry.settings))
    by_settings: dict[object, list[Entry]] = {}
    for entry in made:
        by_settings.setdefault(key(entry.settings, names), []).append(entry)
    found = rank(Matrix(made), workload)
    assert {group.settings["task"] for group in found.groups} == set(TASKS)
    for group in found.groups:
        members = [runs for runs in by_settings.values() if runs[0].settings["task"] == group.settings["task"]]
        summaries = [intervals.summarise([run.kpis["cost"] for run in runs]) for runs in members]
        order = sorted(["hw_type", *group.tuning_names])
        expected = sorted(
            zip(summaries, members, strict=True),
            key=lambda item: (item[0].mean, sorting_key(item[1][0].settings, order)),
        )
        assert [one.point.settings for one in group.standings] == [runs[0].settings for _, runs in expected]
        for standing, (summary, runs) in zip(group.standings, expected, strict=True):
            assert (len(standing.point.runs), standing.point.value) == (summary.runs, summary.mean)
            assert {id(run) for run in standing.point.runs} == {id(run) for run in runs}
            interval = standing.point.interval
            assert interval.low < summary.mean < interval.high
            assert standing.difference == pytest.approx(summary.mean / expected[0][0].mean - 1)
        best = {}
        for standing in group.standings:
            best.setdefault(standing.point.settings["hw_type"], standing)
        assert group.variants == list(best.values())


values = st.sampled_from([0, 0.0, -0.0, 1, 1.0, True, False, "1", "", None, "b", 2**60, 2**60 + 1, 2])
many = st.lists(st.dictionaries(st.sampled_from("abc"), values), max_size=12)


@given(many)
def test_keys_and_ranks_of_many_are_those_of_one_by_one(everything: list[dict[str, object]]) -> None:
    names = ["c", "a", "missing", "b"]
    slow, fast = [key(one, names) for one in everything], keys(everything, names)
    assert [slow.index(one) for one in slow] == [fast.index(one) for one in fast]
    orders, places = [sorting_key(one, names) for one in everything], ranks(everything, names)
    for (one, its_place), (other, other_place) in itertools.product(zip(orders, places, strict=True), repeat=2):
        assert (one < other, one == other) == (its_place < other_place, its_place == other_place)


@given(many)
def test_what_varies_and_the_points_are_those_of_one_by_one(everything: list[dict[str, object]]) -> None:
    names = list(dict.fromkeys(name for one in everything for name in one))
    assert varying(everything) == [
        name for name in names if len({typed(one.get(name, NOT_SET)) for one in everything}) > 1
    ]
    made = [Entry(one, -index, Path(f"/r/{index}"), f"{index}", 0) for index, one in enumerate(everything)]
    points: dict[object, list[Entry]] = {}
    for entry in made:
        points.setdefault(key(entry.settings, names), []).append(entry)
    expected = sorted(points.values(), key=lambda point: sorting_key(point[0].settings, names))
    assert [[run.name for run in point] for point in by_point(made)] == [
        [run.name for run in sorted(point, key=lambda run: run.repeat)] for point in expected
    ]


def test_ranking_takes_steps_in_proportion_to_the_entries(workload: Workload) -> None:
    quick = dataclasses.replace(workload, gates=())

    def calls(count: int) -> int:
        made = Matrix(synthetic(count))
        return calls_of(lambda: rank(made, quick))

    calls(10)  # what is imported late
    assert calls(1600) < 5 * calls(400)


def test_of_a_parsed_tree_the_ranking_makes_an_entry_a_point_and_the_findings_those_that_they_name(
    workload: Workload,
) -> None:
    given, root = synthetic(300), Path("/r")
    columns = Columns.of(given, [(None, False)] * len(given), root)
    table = ParsedTests(columns, root, lambda place: SimpleNamespace(), lambda entry: SimpleNamespace())
    study = Study.of(Matrix(Rows(table)), workload)
    assert [group.standings[0].point.value for group in study.best.groups] == [
        group.standings[0].point.value for group in rank(Matrix(given), workload).groups
    ]
    made = {place for place, entry in enumerate(table._entries) if entry is not None}
    assert len(made) <= len(by_point(given)) < len(given) / 2
    named = {name for one in study.findings for name in one.runs}
    later = {entry.name for place, entry in enumerate(table._entries) if entry is not None and place not in made}
    assert later <= named
