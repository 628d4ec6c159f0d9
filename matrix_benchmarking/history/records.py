"""A run as it is pushed, a Record; as engines keep it, a Row; without its payload, a KeptRun."""

from __future__ import annotations

import datetime as dt
import hashlib
import math
import re
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, NamedTuple

import msgspec

from ..errors import HistoryError
from ..jsonable import Document
from ..lts.read import Head, KPIs, digest_of, head_of, kpis_of
from ..moments import EPOCH, time_us

Version = tuple[int, int, str]
"""Of what an engine keeps under an id, to replace exactly this: the place in the sequence of its writes, and where."""

Recorded = tuple[int, int]
"""When a history first saw a run: (1, microseconds since 1970), or (0, place in the order of insertion) where it was
kept before histories noted the moment. They are in order, and equal for runs of one upload."""

URLS_LABEL = "urls"
"""The label that leads to pages about a run. It differs from run to run, and so is no part of a series' identity."""

LONGEST_NAME = 500
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)")
_canonical = msgspec.json.Encoder(order="deterministic").encode
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Document).decode
_decode_head = msgspec.json.Decoder(Head).decode
_EDITED = "its id, workload and digest should be text"
_UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, KeyError, TypeError, AttributeError)

_Name = Annotated[str, msgspec.Meta(min_length=1, max_length=LONGEST_NAME)]
_Index = Annotated[int, msgspec.Meta(ge=0, le=2**31)]


class _Metadata(msgspec.Struct):
    """What every history can hold, beside whatever else the metadata say."""

    workload: _Name
    test_uuid: str
    lts_schema_version: str | None = None
    campaign: str | None = None
    round: _Index | None = None
    measurement: str | None = None
    settings: Document | None = None
    repeat: _Index | None = None
    exit_code: int | None = None
    start: str | None = None
    end: str | None = None
    presets: list[object] | None = None


class _Payload(msgspec.Struct, forbid_unknown_fields=True):
    metadata: _Metadata
    kpis: Document
    results: object = None


class _KPI(msgspec.Struct):
    value: float
    unit: str
    help: str
    lower_better: bool | None
    labels: Document | None = None
    timestamp: str | None = msgspec.field(name="@timestamp", default=None)


class Record(msgspec.Struct, frozen=True):
    """One payload.

    Attributes:
        id: the test's id, ``metadata.test_uuid`` in its canonical form.
        time_us: when the test ended, else when it started, in microseconds since 1970, UTC; None where unknown.
        digest: of the content, in which types count and the order of names does not.
        recorded: when a history first saw it; None for one that none has seen.
        size_bytes: of the payload as JSON; 0 of one that a history gave.
    """

    id: str
    workload: str
    time_us: int | None
    digest: str
    payload: Document
    recorded: Recorded | None = None
    size_bytes: int = 0

    @property
    def settings(self) -> Document:
        settings: Document = self.payload["metadata"].get("settings") or {}
        return settings

    @property
    def measurement(self) -> str | None:
        """The digest of what was measured; None where no bytes of it are known."""
        found: str | None = self.payload["metadata"].get("measurement")
        return found

    def check_kpis(self) -> None:
        """Raise HistoryError for a KPI that is none."""
        known: str | None = None  # the KPIs of a run have one time
        for name, kpi in self.payload["kpis"].items():
            if kpi is None:
                continue
            try:
                checked = msgspec.convert(kpi, _KPI)
                if not 0 < len(name) <= LONGEST_NAME:
                    raise ValueError(f"its name has {len(name)} characters; 1 to {LONGEST_NAME} are possible")
                if not math.isfinite(checked.value):
                    raise ValueError(f"its value is {checked.value}, and should be a finite number")
                if checked.timestamp != known:
                    microseconds(known := checked.timestamp)
            except (ValueError, HistoryError, msgspec.ValidationError) as error:
                raise HistoryError(f"KPI '{name:.80}' of test {self.id} can't be kept: {error}") from error


class KeptRun(msgspec.Struct, frozen=True):
    """One run without its payload.

    Attributes:
        time_us, recorded: as in :class:`Record`.
        head: what its payload says of it, with the values of its KPIs.
        kpis: what its payload says of those KPIs; runs of which it is the same share it.
    """

    id: str
    workload: str
    time_us: int | None
    digest: str
    measurement: str | None
    recorded: Recorded | None
    head: Head
    kpis: KPIs

    @property
    def settings(self) -> Document:
        return self.head.settings or {}

    @property
    def repeat(self) -> int:
        return self.head.repeat or 0


class Row(NamedTuple):
    """A run as an engine keeps it, and gives it back.

    Attributes:
        recorded_us: the moment at which it was first seen, in microseconds since 1970, or else
        recorded_place: its place in the order of insertion; both None where neither is known.
        shape: a digest of what its payload says of its KPIs besides their values; see :mod:`..lts.read`.
        head: the head of its payload as JSON; None for a payload that was damaged before there were heads.
        payload: as JSON; None where it wasn't asked for.
        version: of what is kept under this id, where the engine needs it to replace exactly that.
    """

    id: str
    workload: str
    time_us: int | None
    digest: str
    measurement: str | None
    recorded_us: int | None
    recorded_place: int | None
    shape: str | None
    head: str | bytes | None
    payload: str | bytes | None = None
    version: Version | None = None


def record(payload: Any, recorded: Recorded | None = None) -> Record:
    """The record of a decoded LTS *payload*, which a history first saw when *recorded* says.

    Raises:
        HistoryError: it is no LTS payload that every history can hold: a part is missing or of the wrong type, or a
            time is none.
    """
    try:
        metadata = msgspec.convert(payload, _Payload).metadata
        identifier = str(uuid.UUID(metadata.test_uuid))
    except (ValueError, msgspec.ValidationError) as error:
        raise HistoryError(f"this is not an LTS payload: {str(error).replace('$.', '')}") from error
    start_us, end_us = microseconds(metadata.start), microseconds(metadata.end)
    time_us = end_us if end_us is not None else start_us
    text = _canonical_text(payload)
    return Record(identifier, metadata.workload, time_us, _digest_of(text), payload, recorded, len(text))


def digest(content: object) -> str:
    """A digest of JSON *content*, in which types count and the order of names does not."""
    return _digest_of(_canonical_text(content))


def _digest_of(text: bytes) -> str:
    return hashlib.blake2b(text, digest_size=16).hexdigest()


def _canonical_text(content: object) -> bytes:
    try:
        return _canonical(content)
    except RecursionError as error:
        raise HistoryError("this is not an LTS payload: it is nested too deep") from error
    except (TypeError, ValueError, OverflowError) as error:
        raise HistoryError(f"this is not an LTS payload: {error}") from error


def microseconds(moment: str | None) -> int | None:
    """ISO 8601 text with a time zone as microseconds since 1970, UTC. Raises HistoryError: it is no such text."""
    if moment is None:
        return None
    found = time_us(moment) if isinstance(moment, str) and _TIME.fullmatch(moment) else None
    if found is None:
        raise HistoryError(f"'{moment!s:.50}' is not a time such as 2026-01-31T12:00:00+00:00")
    return found


def moment(time_us: int) -> dt.datetime:
    """The reverse of :func:`microseconds`, in UTC."""
    return EPOCH + dt.timedelta(microseconds=time_us)


def next_moment(last_us: int | None) -> int:
    """Now, in microseconds since 1970, or just after *last_us* where the clock stands still or went back."""
    now = time.time_ns() // 1000
    return now if last_us is None else max(now, last_us + 1)


def row_of(of: Record, version: Version | None = None) -> Row:
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


def record_of(row: Row, damaged_as: Document | None = None) -> Record:
    """The record in a row with its payload. Raises HistoryError: that is damaged, and there is no *damaged_as*."""
    try:
        if not type(row.id) is type(row.workload) is type(row.digest) is str:
            raise TypeError(_EDITED)
        payload = _decode(row.payload or "")
    except _UNREADABLE as error:
        if damaged_as is None:
            raise _damaged(row, error) from error
        payload = damaged_as
    return Record(row.id, row.workload, row.time_us, row.digest, payload, recorded(row))


def runs_of(rows: Iterable[Row], kpis: Mapping[str, KPIs]) -> Iterator[KeptRun]:
    """The runs in *rows*, whose payloads say *kpis*, by shape. Raises HistoryError: one is damaged."""
    for row in rows:  # there are many
        run, workload, time_us, digest, measurement, recorded_us, _, shape, text, _, _ = row
        try:
            if not type(run) is type(workload) is type(digest) is str:  # SQLite keeps any type in any column
                raise TypeError(_EDITED)
            head = _decode_head(text or "")
        except _UNREADABLE as error:
            raise _damaged(row, error) from error
        seen = (1, recorded_us) if isinstance(recorded_us, int) else recorded(row)
        yield KeptRun(run, workload, time_us, digest, measurement, seen, head, kpis.get(shape or "", ()))


def kpis_in(row: Row) -> KPIs:
    """What the payload in *row* says of its KPIs. Raises HistoryError: it is damaged."""
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


def newest_first(row: Row) -> tuple[bool, int, str]:
    """By time, where it is unknown by when the history first saw the run, else last; ties in the order of the ids."""
    known = (each for each in (row.time_us, row.recorded_us, row.recorded_place) if isinstance(each, int))
    moment = next(known, None)
    return moment is None, -(moment or 0), row.id


def recorded(row: Row) -> Recorded | None:
    """When the history first saw the run of *row*; what is no moment, as somebody edited it, is not known."""
    if isinstance(row.recorded_us, int):
        return 1, row.recorded_us
    return None if row.recorded_place is None else (0, row.recorded_place)


def _damaged(row: Row, error: Exception) -> HistoryError:
    return HistoryError(f"a payload in the history is damaged, that of run {row.id!s}: {error}")
