"""What is odd about runs before anyone trusts an answer: names, values, copies, what is missing.

Gets a matrix and its workload, gives :class:`Finding` values; each says which answers it may change.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...errors import MatbenchError
from ...filters import Filters
from ...matrix import Matrix
from ...workload import Workload
from ..select.labelled import labelled, may_have_versions
from ..select.order import Order
from ..select.order_sources import Explicit
from .finding import MOST_RUNS, NONE, AnswerKind, Finding, about, counted, line
from .names import label_findings, name_findings
from .runs import run_findings
from .settings import setting_findings, value_findings

__all__ = ["MOST_RUNS", "AnswerKind", "Finding", "about", "counted", "findings", "line", "order_of"]

_HISTORY = frozenset({AnswerKind.HISTORY})


def findings(
    matrix: Matrix, workload: Workload, prices: Mapping[str, float] | None = None, in_order: Order | None = None
) -> list[Finding]:
    """What is odd about the runs of *matrix*, as far as it can be told without reading their payloads.

    Args:
        prices: those of the configuration, by ``vendor/hw_type`` or ``hw_type``.
        in_order: the order of the versions, where what changed is asked for.
    """
    found = [
        *setting_findings(matrix),
        *run_findings(matrix, workload),
        *value_findings(matrix, workload),
        *label_findings(matrix, workload),
        *name_findings(matrix, workload, prices or {}),
        *(() if in_order is None else order_findings(in_order)),
    ]
    return sorted(found, key=lambda one: (not one.changes, not one.in_most_runs))


def order_of(whole: Matrix, workload: Workload, explicit: Explicit | None, filters: Filters) -> Order | None:
    """The order of all runs that there are, for findings on those that *filters* leave.

    None for results at hand that have surely no two versions: nobody asks what changed in them.
    """
    if all(entry.kept_in is None for entry in whole) and not may_have_versions(whole, workload):
        return None
    return Order(labelled(whole, workload, by_settings=True), workload, explicit).chosen_by(filters)


def order_findings(order: Order) -> Iterator[Finding]:
    """What is to be said of *order*; that there is none changes what is said of a history."""
    try:
        notes, left_out = order.notes, order.of(order.axis).leaves_out
    except MatbenchError as error:
        text = str(error)
        yield Finding("order-unknown", f"{text[:1].upper()}{text[1:]}.", _HISTORY)
        return
    for note in notes:
        yield Finding("order", f"{note[:1].upper()}{note[1:]}.", _HISTORY if left_out else NONE)
