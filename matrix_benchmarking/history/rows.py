"""Runs as engines keep them: from a record to its row, and from a row to the record or the run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from ..lts.heads import Head, KPIs, digest_of, head_of, kpis_of
from .errors import HistoryError
from .port import KeptRun, Row
from .records import Record, Recorded

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode
_decode_head = msgspec.json.Decoder(Head).decode
_UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, KeyError, TypeError, AttributeError)


def row_of(of: Record, version: Any = None) -> Row:
    """The row of a record that says when it was first seen; it takes the place of *version*, where given."""
    is_moment, value = of.recorded or (0, None)
    return Row(
        of.id,
        of.workload,
        of.time_us,
        of.digest,
        of.measurement,
        value if is_moment else None,
        None if is_moment else value,
        digest_of(kpis_of(of.payload)),
        _encode(head_of(of.payload)).decode(),
        _encode(of.payload).decode(),
        version,
    )


def record_of(row: Row, damaged_as: Mapping[str, Any] | None = None) -> Record:
    """The record in a row with its payload.

    Args:
        damaged_as: taken in the place of a payload that is damaged.

    Raises:
        HistoryError: the payload is damaged, and nothing is given for it.
    """
    try:
        payload: Mapping[str, Any] = _decode(row.payload or "")
    except _UNREADABLE as error:
        if damaged_as is None:
            raise _damaged(row, error) from error
        payload = damaged_as
    return Record(row.id, row.workload, row.time_us, row.digest, payload, recorded(row))


def run_of(row: Row, kpis: KPIs) -> KeptRun:
    """The run in a row whose payload says *kpis*.

    Raises:
        HistoryError: it is damaged.
    """
    run, workload, time_us, digest, measurement, recorded_us, _, _, text, _, _ = row  # there are many
    try:
        head = _decode_head(text or "")
    except _UNREADABLE as error:
        raise _damaged(row, error) from error
    seen = (1, recorded_us) if isinstance(recorded_us, int) else recorded(row)
    return KeptRun(run, workload, time_us, digest, measurement, seen, head, kpis)


def kpis_in(row: Row) -> KPIs:
    """What the payload in *row* says of its KPIs.

    Raises:
        HistoryError: it is damaged.
    """
    try:
        return kpis_of(_decode(row.payload or ""))
    except _UNREADABLE as error:
        raise _damaged(row, error) from error


def shape_and_head(payload: str | bytes) -> tuple[str | None, str | None]:
    """The columns of a payload that was kept before there were heads; None for one that was damaged."""
    try:
        decoded = _decode(payload)
        return digest_of(kpis_of(decoded)), _encode(head_of(decoded)).decode()
    except _UNREADABLE:
        return None, None


def recorded(row: Row) -> Recorded | None:
    """When the history first saw the run of *row*; what is no moment, as somebody edited it, is not known."""
    if isinstance(row.recorded_us, int):
        return 1, row.recorded_us
    return None if row.recorded_place is None else (0, row.recorded_place)


def _damaged(row: Row, error: Exception) -> HistoryError:
    return HistoryError(f"a payload in the history is damaged, that of run {row.id}: {error}")
