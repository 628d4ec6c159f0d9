"""How much versions of a series differ anyway: repeats of one version share a machine's mood, and can't tell it.

Pure mathematics on the points of one series.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import statistics
from collections.abc import Sequence

from ..detect import Judgement, Kind
from ..detect.pair import SIGNIFICANT

FEWEST_STEPS = 6
"""From so many steps on, what versions differ by can be told from them."""
_MAD = 1.4826


def chance_between(levels: Sequence[float], old: int, new: int) -> float | None:
    """The chance that two versions differ as those at *old* and *new* do, going by the steps from each to the next.

    By the median step, so that a change among them doesn't count; as Student's t. None for fewer than seven versions,
    and where they don't differ at all.
    """
    from scipy import special

    is_ratio = all(level > 0.0 for level in levels)
    values = [math.log(level) for level in levels] if is_ratio else list(levels)
    steps = [after - before for before, after in itertools.pairwise(values)]
    if len(steps) < FEWEST_STEPS:
        return None
    deviation = _MAD * statistics.median(abs(step) for step in steps)
    if deviation == 0.0:
        return None
    return 2.0 * float(special.stdtr(len(steps), -abs(values[new] - values[old]) / deviation))


def tempered(judgement: Judgement, chance: float | None) -> Judgement:
    """*judgement* by the repeats of two versions, of which a difference that versions show anyway is no change."""
    if chance is None or judgement.p_value is None or chance <= judgement.p_value:
        return judgement
    is_change = judgement.kind in (Kind.REGRESSION, Kind.IMPROVEMENT) and chance <= SIGNIFICANT
    kind = judgement.kind if is_change or judgement.kind is Kind.NOT_ENOUGH_HISTORY else Kind.NO_CHANGE
    return dataclasses.replace(judgement, kind=kind, p_value=chance, reruns=None)
