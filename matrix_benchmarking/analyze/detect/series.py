"""Values as they come out of a history, made a series of numbers without gaps."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from matrix_benchmarking.analyze.detect.evidence import Floats, Prior
from matrix_benchmarking.analyze.detect.levels import Integers
from matrix_benchmarking.analyze.detect.splits import Series

Values = Sequence["float | Sequence[float | None] | None"]

# Half of the spread is taken to be between versions and half between repeats: repeats of one version share a machine
# and a build. Where versions don't seem to differ more than their repeats do, less of it.
_SHARED = 0.5
_SHARED_AT_LEAST = 0.25
_LEAST_DEGREES = 8.0
_ENOUGH_FOR_A_MEAN = 5
_MOST_DEGREES = 20.0


def prepare(values: Values) -> tuple[Series, Integers, float]:
    """A series, the index of each of its points in *values*, and the factor that its points are to be multiplied with.

    A version with repeats becomes the middle of them (the mean of two). Versions without a finite value are left out.
    """
    if all(value is None or isinstance(value, float | int) for value in values):
        return _alone(np.array(values, dtype=np.float64))
    repeats = [finite(value) for value in values]
    index = np.array([place for place, runs in enumerate(repeats) if runs], dtype=np.int64)
    kept = [runs for runs in repeats if runs]
    scale = power_of_two(max((abs(run) for runs in kept for run in runs), default=1.0))
    scaled = [[run / scale for run in runs] for runs in kept]
    points = np.array([_middle(runs) for runs in scaled], dtype=np.float64)
    counts = np.array([len(runs) for runs in scaled], dtype=np.float64)
    return Series(points, counts, precision(counts), _prior(scaled), bool((counts > 1.0).any())), index, scale


def _alone(values: Floats) -> tuple[Series, Integers, float]:
    """As `prepare`, faster, for versions of one run each; gaps are NaN."""
    index = np.flatnonzero(np.isfinite(values))
    points = values[index]
    scale = power_of_two(float(np.abs(points).max())) if len(points) else 1.0
    ones = np.ones(len(points))
    return Series(points / scale, ones, ones, Prior(), False), index, scale


def finite(value: float | Sequence[float | None] | None) -> list[float]:
    """The runs that have a value."""
    runs = value if isinstance(value, Sequence | np.ndarray) else [value]
    return [float(run) for run in runs if run is not None and math.isfinite(run)]


def power_of_two(largest: float) -> float:
    """What to divide by, so that squares neither overflow nor vanish; without rounding."""
    return math.ldexp(1.0, math.frexp(largest)[1] - 1) if largest > 0.0 else 1.0


def _middle(runs: list[float]) -> float:
    """The median; of five runs and more the mean of the middle ones, which are at least three."""
    ordered, half = sorted(runs), len(runs) // 2
    if len(runs) >= _ENOUGH_FOR_A_MEAN:
        left_out = len(runs) // 4
        middle = ordered[left_out : len(runs) - left_out]
        return ordered[half] + math.fsum(run - ordered[half] for run in middle) / len(middle)
    return ordered[half] if len(runs) % 2 else ordered[half - 1] + (ordered[half] - ordered[half - 1]) / 2.0


def precision(counts: Floats) -> Floats:
    """Variance of each point, relative to that of the least known one up to there: more repeats never cost an alarm."""
    variance = _SHARED + (1.0 - _SHARED) / counts
    return np.asarray(variance / np.maximum.accumulate(variance))


def _prior(repeats: list[list[float]]) -> Prior:
    """What the repeats of the first versions say of the noise; nothing where there are none."""
    first = [runs for runs in repeats[:5] if len(runs) > 1]
    degrees = sum(len(runs) - 1 for runs in first)
    if degrees < _LEAST_DEGREES or len(first) < len(repeats[:5]):
        return Prior()
    squares = sum(float(np.var(runs)) * len(runs) for runs in first)
    # The middle of few runs, with some spread between versions too.
    usual = float(np.median([len(runs) for runs in first]))
    variance = squares / degrees * (1.0 / usual + _SHARED_AT_LEAST)
    between = float(np.var([_middle(runs) for runs in first], ddof=1)) if len(first) > 1 else 0.0
    if between > variance:  # versions differ by more than their repeats do
        return Prior(_LEAST_DEGREES, math.sqrt(between), 0.0)
    return Prior(min(float(degrees), _MOST_DEGREES), math.sqrt(variance), 0.0)
