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

import pytest

if __name__ == "__main__":
    import sys

    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from detected_series import CASES

from matrix_benchmarking.analyze.detect import change_points, judge_watched, p_values, watch

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
