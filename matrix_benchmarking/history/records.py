"""A payload as a history keeps it: with its id, its time, and a digest of its content.

Gets decoded LTS payloads, gives records; two payloads are the same if their digests are. Types are kept: labels
``1``, ``"1"``, ``1.0`` and ``true`` belong to different series.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import hashlib
import math
import re
import time
import uuid
from collections.abc import Mapping
from typing import Any

import msgspec

from .errors import HistoryError

Recorded = tuple[int, int]
"""When a history first saw a run: (1, microseconds since 1970), or (0, place in the order of insertion) where it was
kept before histories noted the moment. They are in order, and equal for runs of one upload."""

URLS_LABEL = "urls"
"""The label that leads to pages about a run. It differs from run to run, and so is no part of a series' identity."""

LONGEST_NAME = 500
LARGEST_REPEAT = 2**31
_PARTS = frozenset({"metadata", "results", "kpis"})
_METADATA: Mapping[str, tuple[type | tuple[type, ...], str]] = {
    "workload": (str, "text"),
    "test_uuid": (str, "text"),
    "lts_schema_version": (str, "text"),
    "campaign": (str, "text"),
    "round": (int, "a whole number"),
    "measurement": (str, "text"),
    "settings": (dict, "a mapping"),
    "repeat": (int, "a whole number"),
    "exit_code": (int, "a whole number"),
    "start": (str, "a time"),
    "end": (str, "a time"),
    "presets": (list, "a list"),
}
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)")
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_MICROSECOND = dt.timedelta(microseconds=1)
_canonical = msgspec.json.Encoder(order="deterministic").encode


@dataclasses.dataclass(frozen=True, slots=True)
class Record:
    """One payload.

    Attributes:
        id: the test's id, ``metadata.test_uuid`` in its canonical form.
        workload: name of the workload.
        time_us: when the test ended, else when it started, in microseconds since 1970, UTC; None where unknown.
        digest: of the content; independent of the order of names.
        payload: the whole document.
        recorded: when a history first saw it; None for one that none has seen.
        size_bytes: of the payload as JSON; 0 of one that a history gave.
    """

    id: str
    workload: str
    time_us: int | None
    digest: str
    payload: Mapping[str, Any]
    recorded: Recorded | None = None
    size_bytes: int = 0

    @property
    def settings(self) -> Mapping[str, Any]:
        settings: Mapping[str, Any] = self.payload["metadata"].get("settings") or {}
        return settings

    @property
    def measurement(self) -> str | None:
        """The digest of what was measured; None where no bytes of it are known."""
        found: str | None = self.payload["metadata"].get("measurement")
        return found

    @property
    def repeat(self) -> int:
        return int(self.payload["metadata"].get("repeat") or 0)

    @property
    def exit_code(self) -> int | None:
        code: int | None = self.payload["metadata"].get("exit_code")
        return code

    def check_kpis(self) -> None:
        """Raise HistoryError for a KPI that is none."""
        known: str | None = None  # the KPIs of a run have one time
        for name, kpi in self.payload["kpis"].items():
            if kpi is not None:
                known = _check_kpi(self, name, kpi, known)


def record(payload: Any, recorded: Recorded | None = None) -> Record:
    """The record of a decoded LTS *payload*, which a history first saw when *recorded* says.

    Raises:
        HistoryError: it is no LTS payload that every history can hold: a part is missing or of the wrong type, or a
            time is none.
    """
    try:
        metadata, kpis = payload["metadata"], payload["kpis"]
        workload, test_uuid = metadata["workload"], metadata["test_uuid"]
        unknown = payload.keys() - _PARTS
        if unknown:
            raise ValueError(f"it has '{min(unknown)}' beside metadata, results and kpis")
        if not isinstance(kpis, dict):
            raise TypeError("kpis is no mapping")
        for name, (kind, description) in _METADATA.items():
            value = metadata.get(name)
            if value is not None and (not isinstance(value, kind) or isinstance(value, bool)):
                raise TypeError(f"metadata.{name} is {value!r:.50}, and should be {description}")
        if not workload or len(workload) > LONGEST_NAME:
            raise ValueError(f"metadata.workload has {len(workload)} characters; 1 to {LONGEST_NAME} are possible")
        for name in ("repeat", "round"):
            if not 0 <= (metadata.get(name) or 0) <= LARGEST_REPEAT:
                raise ValueError(f"metadata.{name} is {metadata[name]!r:.50}")
        identifier = str(uuid.UUID(test_uuid))
    except KeyError as error:
        raise HistoryError(f"this is not an LTS payload: it has no {error}") from error
    except (TypeError, ValueError, AttributeError) as error:
        raise HistoryError(f"this is not an LTS payload: {error}") from error
    start_us, end_us = microseconds(metadata.get("start")), microseconds(metadata.get("end"))
    time_us = end_us if end_us is not None else start_us
    text = _canonical_text(payload)
    return Record(identifier, workload, time_us, _digest_of(text), payload, recorded, len(text))


def digest(content: Any) -> str:
    """A digest of JSON *content*, in which types count and the order of names does not."""
    return _digest_of(_canonical_text(content))


def _digest_of(text: bytes) -> str:
    return hashlib.blake2b(text, digest_size=16).hexdigest()


def _canonical_text(content: Any) -> bytes:
    try:
        return _canonical(content)
    except RecursionError as error:
        raise HistoryError("this is not an LTS payload: it is nested too deep") from error
    except (TypeError, ValueError, OverflowError, UnicodeError) as error:
        raise HistoryError(f"this is not an LTS payload: {error}") from error


def microseconds(moment: str | None) -> int | None:
    """ISO 8601 text with a time zone as microseconds since 1970, UTC.

    Raises:
        HistoryError: it is no such text.
    """
    if moment is None:
        return None
    try:
        if not _TIME.fullmatch(moment):
            raise ValueError("it is not of that form")
        parsed = dt.datetime.fromisoformat(moment).astimezone(dt.UTC)
    except (TypeError, ValueError, OverflowError) as error:
        raise HistoryError(f"'{moment!s:.50}' is not a time such as 2026-01-31T12:00:00+00:00: {error}") from error
    return (parsed - _EPOCH) // _MICROSECOND


def moment(time_us: int) -> dt.datetime:
    """The reverse of :func:`microseconds`, in UTC."""
    return _EPOCH + time_us * _MICROSECOND


def next_moment(last_us: int | None) -> int:
    """Now, in microseconds since 1970, or just after *last_us* where the clock stands still or went back."""
    now = time.time_ns() // 1000
    return now if last_us is None else max(now, last_us + 1)


def _check_kpi(of: Record, name: str, kpi: Any, known: str | None) -> str | None:
    """The timestamp of a KPI that is one; *known* is a timestamp that is a time."""
    try:
        value, unit, help_text, labels = kpi["value"], kpi["unit"], kpi["help"], kpi.get("labels")
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(float(value)):
            raise TypeError(f"its value is {value!r:.50}, and should be a finite number")
        if not (isinstance(unit, str) and isinstance(help_text, str) and isinstance(kpi["lower_better"], bool | None)):
            raise TypeError("unit and help should be text, and lower_better true, false or null")
        if not isinstance(labels, dict | None):
            raise TypeError(f"its labels are {labels!r:.50}, and should be a mapping")
        if not name or len(name) > LONGEST_NAME:
            raise ValueError(f"its name has {len(name)} characters; 1 to {LONGEST_NAME} are possible")
        timestamp: str | None = kpi.get("@timestamp")
        if timestamp != known:
            microseconds(timestamp)
        return timestamp
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise HistoryError(f"KPI '{name:.80}' of test {of.id} can't be kept: {error}") from error
