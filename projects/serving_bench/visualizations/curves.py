"""The two curves of a run, lists of points as parsers and payloads hold them: what to read off them."""

from __future__ import annotations

import types
from collections.abc import Sequence
from typing import Any


def points(results: Any, name: str) -> list[Any]:
    """The points of the curve *name*, leniently: a payload of another form than today's may hold them as mappings."""
    found = getattr(results, name, None) or []
    return [
        types.SimpleNamespace(**{"cpu": None, "gpu": None, **one}) if isinstance(one, dict) else one for one in found
    ]


def best(points: Sequence[Any] | None) -> Any:
    """The point with the highest throughput, the first of several; None of nothing."""
    return max(points or (), key=lambda point: point.throughput, default=None)


def at_concurrency(points: Sequence[Any] | None, concurrency: int) -> Any:
    """The point at this concurrency; None where it wasn't measured."""
    return next((point for point in points or () if point.concurrency == concurrency), None)
