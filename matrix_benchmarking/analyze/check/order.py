"""Findings on the order of versions, or of runs: an analysis of what changed needs one."""

from __future__ import annotations

from collections.abc import Iterator

from ...errors import MatbenchError
from ...filters import Filters
from ...matrix import Matrix
from ...workload import Workload
from ..select.labelled import labelled, may_have_versions
from ..select.order import Order
from ..select.order_sources import Explicit
from .finding import NONE, Answer, Finding

HISTORY = frozenset({Answer.HISTORY})


def order_of(whole: Matrix, workload: Workload, explicit: Explicit | None, filters: Filters) -> Order | None:
    """The order of all runs that there are, for findings on those that *filters* leave.

    None for results at hand that have surely no two versions: nobody asks what changed in them.
    """
    if all(entry.kept_in is None for entry in whole) and not may_have_versions(whole, workload):
        return None
    return Order(labelled(whole, workload, by_settings=True), workload, explicit).chosen_by(filters)


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
