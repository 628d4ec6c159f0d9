"""All findings on a matrix: those that change an answer first, then what is in most runs."""

from __future__ import annotations

from collections.abc import Mapping

from ...matrix import Matrix
from ...workload import Workload
from ..select.order import Order
from . import keys, labels, order, runs, settings, values
from .finding import Finding


def findings(
    matrix: Matrix, workload: Workload, prices: Mapping[str, float] | None = None, in_order: Order | None = None
) -> list[Finding]:
    """What is odd about the runs of *matrix*, as far as it can be told without reading their payloads.

    Args:
        prices: those of the configuration, by ``vendor/hw_type`` or ``hw_type``.
        in_order: the order of the versions, where what changed is asked for.
    """
    found = [
        *settings.findings(matrix),
        *runs.findings(matrix, workload),
        *values.findings(matrix, workload),
        *labels.findings(matrix, workload),
        *keys.findings(matrix, workload, prices or {}),
        *(() if in_order is None else order.findings(in_order)),
    ]
    return sorted(found, key=lambda one: (not one.changes, not one.in_most_runs))
