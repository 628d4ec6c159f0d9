"""How small a step may be and the newest versions of a series would still have shown it: pure mathematics.

What was not seen says something only beside what would have been.
"""

from __future__ import annotations

import math

import numpy as np

from matrix_benchmarking.analyze.detect import scan
from matrix_benchmarking.analyze.detect.changes import level
from matrix_benchmarking.analyze.detect.effects import checked
from matrix_benchmarking.analyze.detect.evidence import ratio_of
from matrix_benchmarking.analyze.detect.levels import Integers, counts_up_to, estimate
from matrix_benchmarking.analyze.detect.splits import (
    FEWEST_BLOCKS,
    LAGS,
    LESS_ON_LOGARITHMS,
    weigh,
)
from matrix_benchmarking.analyze.detect.watched import Watched

VERSIONS = 5
"""A step is asked for that began so many versions ago; longer ago where fewer blocks stand behind these."""
FOUR_OF_FIVE = 0.8416
"""So many standard errors more a step has to have, to be seen in four of five cases (quantile of a normal .8)."""


def smallest_step(
    watched: Watched, minimum_effect: float = 0.0, minimum_effect_absolute: float = 0.0
) -> tuple[float, int] | None:
    """The smallest step that would have been an alarm by now in four of five cases, in the values' unit, and the number
    of versions since it. None where no step would have been one, or the noise isn't known.

    That is the shift with which the newest versions would reach the detector's threshold, given how they and those
    before them spread; on the logarithmic scale, too, where values have one.
    """
    series, walk = watched.series, watched.walk
    points = series.points[walk.begin :]
    lag = _lag(watched)
    if lag is None:
        return None
    last = len(points) - 1
    levels = estimate(points, counts_up_to(last, scan.least_history(walk.prior)))
    found = weigh(series, walk.begin, levels, (np.array([last]), np.array([lag])), walk.prior)
    error, degrees = float(found.weighed.error[0]), float(found.weighed.degrees[0])
    if error == 0.0:
        return None
    needed, tail = float(found.weighed.score[0] - found.excess[0]), float(found.split.tail[0])
    step = (ratio_of(needed, degrees) * tail + FOUR_OF_FIVE) * error
    old = abs(level(points))
    if float(points.min()) > 0.0 or float(points.max()) < 0.0:
        reach = (ratio_of(needed - LESS_ON_LOGARITHMS, degrees) * tail + FOUR_OF_FIVE) * error / old
        step = max(step, old * math.expm1(min(reach, 700.0)))
    minimum = checked(minimum_effect, minimum_effect_absolute / watched.scale)
    return max(step, minimum.relative * old, minimum.absolute) * watched.scale, lag


def is_one_block(watched: Watched) -> bool:
    """Whether the versions on the newest level would be enough for a verdict, if they were not one block."""
    begin, prior = watched.walk.begin, watched.walk.prior
    return len(watched.series.points) - begin >= scan.least_history(prior) + FEWEST_BLOCKS and not len(_lags(watched))


def _lag(watched: Watched) -> int | None:
    """How many versions ago the step began: the most up to :data:`VERSIONS`, else the fewest."""
    lags = _lags(watched)
    return int(max(lags[lags <= VERSIONS], default=lags[0])) if len(lags) else None


def _lags(watched: Watched) -> Integers:
    """The lags with an old level before them and blocks enough behind them."""
    series, walk = watched.series, watched.walk
    last = len(series.points) - 1
    lags = LAGS[(LAGS > 1) & (last + 1 - walk.begin - scan.least_history(walk.prior) >= LAGS)]
    return lags[series.blocks_from(last + 1 - lags, last) >= FEWEST_BLOCKS] if len(lags) else lags
