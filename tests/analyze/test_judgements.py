"""Judgements of recorded series, to nine digits: a change of any formula, constant or comparison shows.

Where that was meant, ``python tests/analyze/test_judgements.py`` records them anew; look at the differences.
"""

from __future__ import annotations

import dataclasses
import enum
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

if __name__ == "__main__":
    import sys

    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from detected_series import CASES

from matrix_benchmarking.analyze.detect import change_points, changes_of, judge, judge_watched, p_values, watch
from matrix_benchmarking.analyze.detect.changes import Step, level
from matrix_benchmarking.analyze.detect.evidence import Floats
from matrix_benchmarking.analyze.detect.judge import _change, _without_drifts
from matrix_benchmarking.analyze.detect.scan import NewLevel

RECORDED = Path(__file__).parent / "judgements.json"
NEWEST = 10


def found(name: str) -> list[list[Any]]:
    """The alarms of a series, its change points and p-values, and how each second of its newest versions was judged."""
    values, blocks, options = CASES[name]
    whole = watch(values, blocks=blocks)
    alarms = [number for alarm in whole.walk.alarms for number in dataclasses.astuple(alarm)]
    minimum = {key: value for key, value in options.items() if key.startswith("minimum")}
    points = change_points(values, blocks=blocks, **minimum)
    stops = [stop for stop in range(len(values) - NEWEST, len(values) + 1, 2) if stop > 2]
    judged = (judge_watched(whole.until(stop), **options) for stop in stops)
    then = p_values(whole, minimum.get("minimum_effect", 0.0), minimum.get("minimum_effect_absolute", 0.0))
    return [alarms, points, then, *([*flat(dataclasses.astuple(one))] for one in judged)]


def flat(numbers: tuple[Any, ...]) -> Iterator[Any]:
    for one in numbers:
        if isinstance(one, tuple):
            yield from flat(one)
        else:
            yield one.value if isinstance(one, enum.Enum) else one


@pytest.mark.parametrize("name", CASES)
def test_series_are_judged_as_they_were(name: str) -> None:
    for now, before in zip(found(name), json.loads(RECORDED.read_text())[name], strict=True):
        assert now == pytest.approx(before, rel=1e-9, abs=1e-12, nan_ok=True)


@pytest.mark.parametrize("name", ["three steps", "an absolute minimum", "steps that add up", "a relapse", "quiet"])
def test_changes_are_those_that_are_judged(name: str) -> None:
    values, blocks, options = CASES[name]
    whole = watch(values, blocks=blocks)
    limits: dict[str, Any] = {"minimum_effect": 0.01, **options}
    assert changes_of(whole, **limits) == judge_watched(whole, **limits).changes


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
            Step(first, first + 2, (first - 5, first), alarm, level(points[first - 5 : first])) for first in firsts
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
    step = Step(5, 6, (0, 5), NewLevel(5, 6, 0.0, 0.0, 0.0), 10.0)
    change = _change(points, np.arange(9), 2.0, [step], 0, True)
    assert (change.worse, change.old_level, change.first, change.seen, change.last_before) == (True, 20.0, 5, 6, 4)
    assert _change(points, np.arange(9), 2.0, [step], 0, False).worse is False
    assert _change(points, np.arange(9), 2.0, [step], 0, None).worse is None


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
