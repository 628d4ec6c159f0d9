"""How small a step may be and the newest versions of a series would still have shown it: pure mathematics.

What was not seen says something only beside what would have been.
"""

from __future__ import annotations

import numpy as np

from matrix_benchmarking.analyze.detect.changes import Minimum, levels_of
from matrix_benchmarking.analyze.detect.evidence import FEWEST_DEGREES, Floats, ratio_of
from matrix_benchmarking.analyze.detect.levels import Integers
from matrix_benchmarking.analyze.detect.logarithms import LESS_ON_LOGARITHMS
from matrix_benchmarking.analyze.detect.series import TimeSeries
from matrix_benchmarking.analyze.detect.splits import FEWEST_BLOCKS, Evidence

VERSIONS = 5
"""A step is asked for that began so many versions ago; longer ago where fewer blocks stand behind these."""
LARGEST = 7.0
"""The logarithm of a step that is beyond reason: a thousandfold."""
FOUR_OF_FIVE = 0.8416
"""So many standard errors more a step has to have, to be seen in four of five cases (quantile of a normal .8)."""


def smallest_steps(series: TimeSeries, begin: int, newest: Evidence, minimum: Minimum) -> tuple[Floats, Integers]:
    """The smallest step that would have been an alarm by now in four of five cases, and the number of versions since.

    That is the shift with which the newest versions would reach the detector's threshold, given how they and those
    before them spread; on the logarithmic scale, too, where values have one.

    Args:
        series: one, or several beside each other.
        begin: of the level on which it ends.
        newest: all splits of that level up to its last point.
        minimum: the smallest effect that counts.

    Returns:
        Of each series, in the unit of its points, NaN where the noise isn't known or no step within reason is enough;
        and 0 versions where only one block speaks for each new level that there could be.
    """
    split, points = newest.split, series.points[begin:].reshape(series.beside, -1)
    chosen, versions = asked_about(series, begin, newest)
    weighed = newest.weighed
    needed = weighed.score[chosen] - newest.excess[chosen]
    degrees = np.maximum(weighed.degrees[chosen], FEWEST_DEGREES)
    error, tail, old = weighed.error[chosen], split.tail[chosen], np.abs(levels_of(points))
    steps = (ratio_of(needed, degrees) * tail + FOUR_OF_FIVE) * error
    with np.errstate(divide="ignore", invalid="ignore"):
        reach = (ratio_of(needed - LESS_ON_LOGARITHMS, degrees) * tail + FOUR_OF_FIVE) * error / old
    has_logarithms = (points.min(axis=1) > 0.0) | (points.max(axis=1) < 0.0)
    factors = np.where(reach < LARGEST, np.expm1(np.minimum(reach, LARGEST)), np.nan)
    steps = np.where(has_logarithms, np.maximum(steps, old * factors), steps)
    steps = np.maximum(steps, np.maximum(minimum.relative * old, minimum.absolute))
    return np.where(error > 0.0, steps, np.nan), versions


def asked_about(series: TimeSeries, begin: int, newest: Evidence) -> tuple[Integers, Integers]:
    """Of each series with which of the splits a step is asked for, and the number of versions: see `smallest_steps`."""
    after = newest.split.after
    first = begin + newest.last + 1 - after.astype(np.int64)
    told = (after > 1.0) & (series.blocks_from(first, begin + newest.last) >= FEWEST_BLOCKS)
    lags, enough = (one.reshape(series.beside, -1) for one in (after, told))
    near = enough & (lags <= VERSIONS)
    most = near.shape[1] - 1 - near[:, ::-1].argmax(axis=1)
    place = np.where(near.any(axis=1), most, enough.argmax(axis=1))
    chosen = place + lags.shape[1] * np.arange(series.beside)
    return chosen, np.where(told[chosen], after[chosen], 0).astype(np.int64)
