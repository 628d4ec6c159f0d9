"""Judgements of recorded series, to nine digits: a change of any formula, constant or comparison shows.

Where that was meant, ``python tests/analyze/test_judgements.py`` records them anew; look at the differences.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np
import pytest

if __name__ == "__main__":
    import sys

    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from detected_series import CASES

from matrix_benchmarking.analyze.detect import (
    Judgement,
    Kind,
    Minimum,
    change_points,
    changes_of,
    judge,
    judge_watched,
    p_values,
    watch,
)
from matrix_benchmarking.analyze.detect.changes import Estimate, Move, level
from matrix_benchmarking.analyze.detect.evidence import Floats
from matrix_benchmarking.analyze.detect.judge import _changes, _without_drifts
from matrix_benchmarking.analyze.detect.scan import NewLevel

RECORDED = Path(__file__).parent / "judgements.json"
NEWEST = 10


def found(name: str) -> list[list[Any]]:
    """The alarms of a series, its change points and p-values, and how each second of its newest versions was judged."""
    values, blocks, options = CASES[name]
    whole = watch(values, blocks=blocks)
    alarms = [number for alarm in whole.walk.alarms for number in msgspec.structs.astuple(alarm)]
    minimum = options.get("minimum", Minimum(0.0))
    points = change_points(values, blocks=blocks, minimum=minimum)
    stops = [stop for stop in range(len(values) - NEWEST, len(values) + 1, 2) if stop > 2]
    judged = (judge_watched(whole.until(stop), **options) for stop in stops)
    then = p_values(whole, minimum)
    return [alarms, points, then, *(list(flat(one)) for one in judged)]


def flat(judged: Judgement) -> Iterator[Any]:
    yield judged.kind.value
    yield from (*bounds(judged.effect), *bounds(judged.difference), judged.old_level, judged.new_level)
    yield from (judged.first_bad, judged.last_good, judged.p_value)
    yield from (judged.runs_before, judged.runs_after, judged.reruns)
    for one in judged.changes:
        yield from (one.first, one.seen, one.last_before, one.old_level, one.new_level, one.is_worse)
    yield from of_suspicion(judged.suspicion)
    yield from (None,) if judged.would_show is None else judged.would_show
    yield judged.is_one_block


def of_suspicion(seen: Judgement | None) -> Iterator[Any]:
    if seen is None:
        yield None
        return
    yield from (seen.first_bad, seen.last_good, seen.old_level, seen.new_level)
    yield from (*bounds(seen.effect), *bounds(seen.difference), seen.runs_before, seen.runs_after)
    yield {Kind.REGRESSION: True, Kind.IMPROVEMENT: False, Kind.CHANGE: None}[seen.kind]


def bounds(estimate: Estimate | None) -> tuple[float | None, ...]:
    return (None,) if estimate is None else msgspec.structs.astuple(estimate)


@pytest.mark.parametrize("name", CASES)
def test_series_are_judged_as_they_were(name: str) -> None:
    for now, before in zip(found(name), json.loads(RECORDED.read_text())[name], strict=True):
        assert now == pytest.approx(before, rel=1e-9, abs=1e-12, nan_ok=True)


@pytest.mark.parametrize("name", ["three steps", "an absolute minimum", "steps that add up", "a relapse", "quiet"])
def test_changes_are_those_that_are_judged(name: str) -> None:
    values, blocks, options = CASES[name]
    whole = watch(values, blocks=blocks)
    assert changes_of(whole, **options) == judge_watched(whole, **options).changes


def test_what_is_small_in_its_unit_counts_as_what_is_large() -> None:
    values = 1e-9 * np.array(CASES["a step up"][0])
    assert change_points(values) == [45]
    assert judge(values).first_bad == 45
    assert judge_watched(watch(values)).first_bad == 45
    assert [change.first for change in changes_of(watch(values))] == [45]


def test_a_step_goes_on_a_drift_by_the_points_up_to_where_it_was_seen() -> None:
    def kept(points: Floats, *firsts: int) -> list[int]:
        alarm = NewLevel(0, 0, 0.0, 0.0, 0.0)
        found = [
            Move(first, first + 2, (first - 5, first), alarm, level(points[first - 5 : first])) for first in firsts
        ]
        return [step.first for step in _without_drifts(points, found)]

    line = np.arange(40.0)
    assert kept(line, 10, 13) == [10]  # six points
    assert kept(line, 10, 12) == [10, 12]
    assert kept(-line, 10, 13) == [10]
    bent = np.concatenate([line[:16], [60.0], line[:20]])
    assert kept(bent, 10, 13) == [10]
    turned = np.concatenate([line[:20], line[20:0:-1]])
    assert kept(turned, 10, 13, 28, 31, 34) == [10, 13, 28]  # seen at 30: over, as no line fits what came since
    assert kept(turned, 10, 13, 26, 29, 32) == [10, 26]  # fifteen points since: too early to say


def test_a_change_stays_what_it_was_called_when_it_was_seen() -> None:
    points = np.array([10.0] * 5 + [11.0, 11.0, -50.0, 11.0])
    step = Move(5, 6, (0, 5), NewLevel(5, 6, 0.0, 0.0, 0.0), 10.0)
    watched = SimpleNamespace(series=SimpleNamespace(points=points), index=np.arange(9), scale=2.0)
    (change,) = _changes(watched, [step], True)
    assert (change.is_worse, change.old_level, change.first, change.seen, change.last_before) == (True, 20.0, 5, 6, 4)
    assert [_changes(watched, [step], lower)[0].is_worse for lower in (False, None)] == [False, None]


def recorded() -> str:
    """One line a judgement."""
    lines = []
    for name in CASES:
        rows = ",\n  ".join(json.dumps([float(f"{one:.11g}") if isinstance(one, float) else one for one in row])
                            for row in found(name))  # fmt: skip
        lines.append(f"{json.dumps(name)}: [\n  {rows}\n]")
    return "{\n" + ",\n".join(lines) + "\n}\n"


if __name__ == "__main__":
    RECORDED.write_text(recorded())
