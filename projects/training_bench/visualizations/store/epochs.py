"""Epochs against the system log: the load within each, and its curve. Pure mathematics on lists.

As the benchmark behind the public layout does it: an epoch's load is the mean of the samples from its start to its end,
and an epoch is not used where the log begins after its start or ends before its end.
"""

from __future__ import annotations

import bisect
import math
import types
from collections.abc import Sequence

from .system_log import Samples

WINDOW = 5
"""How many samples the moving mean of a curve takes."""
CURVE_POINTS = 101
"""To how many points a curve is brought: one for each percent of an epoch."""

Epoch = types.SimpleNamespace


def counted(epochs: Sequence[Epoch], warm_up: int) -> Sequence[Epoch]:
    """The epochs after the first *warm_up*."""
    return epochs[warm_up:]


def within(epoch: Epoch, time: Sequence[float], values: Samples) -> list[float] | None:
    """The known samples from the start of *epoch* to its end; None where some are missing at either end.

    *values* may be shorter than *time*: then the log of this device ended earlier.
    """
    known = time[: len(values)]
    if not known or known[0] > epoch.start or known[-1] < epoch.end:
        return None
    first, behind = bisect.bisect_left(known, epoch.start), bisect.bisect_right(known, epoch.end)
    return [value for value in values[first:behind] if value is not None]


def loads(epochs: Sequence[Epoch], time: Sequence[float], values: Samples) -> list[float]:
    """The mean load of each epoch that can be used and has a sample."""
    inside = (within(epoch, time, values) for epoch in epochs)
    return [math.fsum(samples) / len(samples) for samples in inside if samples]


def curve(samples: Sequence[float]) -> list[float] | None:
    """The load over an epoch's progress: the moving mean over WINDOW samples, at CURVE_POINTS places.

    Its first and last value stand for 0 and 100 %, those between are interpolated linearly. None for fewer samples than
    the window has.
    """
    import numpy

    if len(samples) < WINDOW:
        return None
    means = numpy.convolve(samples, numpy.full(WINDOW, 1 / WINDOW), mode="valid")
    places = numpy.linspace(0, 1, CURVE_POINTS)
    return [float(value) for value in numpy.interp(places, numpy.linspace(0, 1, len(means)), means)]


def mean(values: Sequence[float]) -> float | None:
    """The mean; None of nothing."""
    return math.fsum(values) / len(values) if values else None


def deviation(values: Sequence[float]) -> float | None:
    """The standard deviation (n − 1); None of fewer than two."""
    if len(values) < 2:
        return None
    middle = math.fsum(values) / len(values)
    return math.sqrt(math.fsum((value - middle) ** 2 for value in values) / (len(values) - 1))
