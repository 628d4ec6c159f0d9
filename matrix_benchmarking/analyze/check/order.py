"""Findings on the order of versions, or of runs: an analysis of what changed needs one."""

from __future__ import annotations

from collections.abc import Iterator

from ...errors import MatbenchError
from ..select.order import Order
from .finding import NONE, Answer, Finding

HISTORY = frozenset({Answer.HISTORY})


def findings(order: Order) -> Iterator[Finding]:
    """What is to be said of *order*; that there is none changes what is said of a history."""
    try:
        notes, left_out = order.notes, order.leaves_out
    except MatbenchError as error:
        text = str(error)
        yield Finding("order-unknown", f"{text[:1].upper()}{text[1:]}.", HISTORY)
        return
    for note in notes:
        yield Finding("order", f"{note[:1].upper()}{note[1:]}.", HISTORY if left_out else NONE)
