"""The two curves of a run, lists of points as parsers and payloads hold them: what to read off them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def best(points: Sequence[Any] | None) -> Any:
    """The point with the highest throughput, the first of several; None of nothing."""
    return max(points or (), key=lambda point: point.throughput, default=None)


def at_concurrency(points: Sequence[Any] | None, concurrency: int) -> Any:
    """The point at this concurrency; None where it wasn't measured."""
    return next((point for point in points or () if point.concurrency == concurrency), None)
