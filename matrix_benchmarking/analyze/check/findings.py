"""All findings on a matrix: those that change an answer first."""

from __future__ import annotations

from collections.abc import Mapping

from ...matrix import Matrix
from ...workload import Workload
from . import keys, labels, runs, settings
from .finding import Finding


def findings(matrix: Matrix, workload: Workload, prices: Mapping[str, float] | None = None) -> list[Finding]:
    """What is odd about the runs of *matrix*, as far as it can be told without reading their payloads.

    Args:
        prices: those of the configuration, by ``vendor/hw_type`` or ``hw_type``.
    """
    found = [
        *settings.findings(matrix),
        *runs.findings(matrix, workload),
        *labels.findings(matrix, workload),
        *keys.findings(matrix, workload, prices or {}),
    ]
    return sorted(found, key=lambda one: not one.changes)
