"""``timings.feather``: one row an epoch, with what the loop recorded of it."""

from __future__ import annotations

import math
import types
from typing import Any

from matrix_benchmarking.errors import needing

REQUIRED = ("epoch_index", "time", "start_time", "end_time")
PARTS = ("read_s", "decode_s", "compute_s", "wait_s", "read_bytes")
"""Columns that a loop may add: parts of the epoch in seconds, and the bytes that it read from storage."""
MOST_EPOCHS = 1_000_000


def parse_timings(content: bytes) -> list[types.SimpleNamespace]:
    """The epochs in the order of their index.

    Each has ``index``, ``duration_s``, ``start`` and ``end`` (seconds since 1970) and, for each of :data:`PARTS`, a
    number or None.

    Raises:
        ValueError: it is no feather file, or not one of timings.
    """
    columns = _columns(content)
    rows = zip(*(columns[name] for name in REQUIRED), strict=True)
    epochs = [
        types.SimpleNamespace(
            index=int(index),
            duration_s=float(duration),
            start=float(start),
            end=float(end),
            **{name: columns[name][row] if name in columns else None for name in PARTS},
        )
        for row, (index, duration, start, end) in enumerate(rows)
    ]
    for epoch in epochs:
        if epoch.duration_s <= 0 or epoch.end < epoch.start:
            raise ValueError(f"epoch {epoch.index} has no duration, or ends before it starts")
    return sorted(epochs, key=lambda epoch: epoch.index)


def _columns(content: bytes) -> dict[str, list[Any]]:
    """The columns that are known, as lists of numbers; None only in those that are optional."""
    with needing("a table in Feather", "parquet"):
        import pyarrow
        from pyarrow import feather
    try:
        table = feather.read_table(pyarrow.BufferReader(content))
        table.validate(full=True)
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise ValueError(f"is not a feather file: {str(error).splitlines()[0][:200]}") from error
    absent = [name for name in REQUIRED if name not in table.column_names]
    if absent:
        raise ValueError(f"is not a table of timings: it has no column {', '.join(absent)}")
    if table.num_rows > MOST_EPOCHS:
        raise ValueError(f"has {table.num_rows:,} epochs; up to {MOST_EPOCHS:,} are read")
    wanted = [name for name in (*REQUIRED, *PARTS) if table.column_names.count(name) == 1]
    columns = {name: table.column(name).to_pylist() for name in wanted}
    for name in REQUIRED:
        if name not in columns or not all(map(_is_number, columns[name])):
            raise ValueError(f"is not a table of timings: '{name}' holds something else than numbers")
    return {name: [value if _is_part(value) else None for value in values] for name, values in columns.items()}


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _is_part(value: object) -> bool:
    return _is_number(value) and value >= 0  # type: ignore[operator]
