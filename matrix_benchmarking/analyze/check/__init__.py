"""What is odd about runs before anyone trusts an answer: names, values, copies, what is missing.

Gets a matrix and its workload, gives :class:`Finding` values; each says which answers it may change.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...errors import MatbenchError
from ...matrix import Matrix
from ...workload import Workload
from ..select.order import Order
from .finding import MOST_RUNS, NONE, AnswerKind, Finding, about, counted, line
from .names import label_findings, name_findings
from .runs import run_findings
from .settings import setting_findings, value_findings

__all__ = ["MOST_RUNS", "AnswerKind", "Finding", "about", "counted", "findings", "line"]


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


def order_findings(order: Order) -> Iterator[Finding]:
    """What is to be said of *order*; that there is none changes what is said of a history."""
    history = frozenset({AnswerKind.HISTORY})
    try:
        notes, left_out = order.notes, order.of(order.axis).leaves_out
    except MatbenchError as error:
        text = str(error)
        yield Finding("order-unknown", f"{text[:1].upper()}{text[1:]}.", history)
        return
    for note in notes:
        yield Finding("order", f"{note[:1].upper()}{note[1:]}.", history if left_out else NONE)
