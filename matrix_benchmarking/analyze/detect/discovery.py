"""How many of the alarms of one analysis are false: q-values over many series."""

from __future__ import annotations

import math
from collections.abc import Sequence

RATE = 0.05


def q_values(p_values: Sequence[float | None]) -> list[float | None]:
    """The smallest false discovery rate at which each of the series is still among the discoveries.

    Benjamini and Hochberg 1995 (J. R. Statist. Soc. B 57(1), 289–300), which holds for independent series and for those
    that rise and fall together. A series without a p-value (None, NaN) has no q-value and doesn't count.
    """
    known = sorted(
        (value, place) for place, value in enumerate(p_values) if value is not None and not math.isnan(value)
    )
    result: list[float | None] = [None] * len(p_values)
    smallest = math.inf
    for rank in range(len(known), 0, -1):
        value, place = known[rank - 1]
        smallest = min(smallest, value * len(known) / rank)
        result[place] = smallest
    return result


def discoveries(p_values: Sequence[float | None], rate: float = RATE) -> list[bool]:
    """Which of the series changed, such that on average at most *rate* of those that are named didn't."""
    return [value is not None and value <= rate for value in q_values(p_values)]
