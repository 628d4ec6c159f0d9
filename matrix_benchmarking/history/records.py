"""A payload as a history keeps it: with its id, its time, a digest of its content, and its KPIs one by one.

Gets decoded LTS payloads, gives records; two payloads are the same if their digests are. Types are kept: labels
``1``, ``"1"``, ``1.0`` and ``true`` belong to different series.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import hashlib
import uuid
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from .errors import HistoryError

URLS_LABEL = "urls"
"""The label that leads to pages about a run. It differs from run to run, and so is no part of a series' identity."""

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_MICROSECOND = dt.timedelta(microseconds=1)
_canonical = msgspec.json.Encoder(order="deterministic").encode


class KPIRecord(msgspec.Struct, frozen=True):
    """One KPI of one payload; there are many, and a Struct is made in a tenth of a dataclass's time.

    Attributes:
        name, value, unit, help, lower_better, ignored_for_regression: as in the payload.
        timestamp: ``@timestamp`` as it is written in the payload.
        time_us: the same in microseconds since 1970, UTC; None where unknown.
        labels: without :data:`URLS_LABEL`.
        urls: that label's value.
        series: digest of workload, name, unit and labels.
    """

    name: str
    value: float
    unit: str
    help: str
    lower_better: bool
    ignored_for_regression: bool
    timestamp: str | None
    time_us: int | None
    labels: Mapping[str, Any]
    urls: Any
    series: str


@dataclasses.dataclass(frozen=True, slots=True)
class Record:
    """One payload.

    Attributes:
        id: the test's id, ``metadata.test_uuid`` in its canonical form.
        workload: name of the workload.
        time_us: when the test ended, else when it started, in microseconds since 1970, UTC; None where unknown.
        digest: of the content; independent of the order of names.
        payload: the whole document.
    """

    id: str
    workload: str
    time_us: int | None
    digest: str
    payload: Mapping[str, Any]

    @property
    def settings(self) -> Mapping[str, Any]:
        settings: Mapping[str, Any] = self.payload["metadata"].get("settings") or {}
        return settings

    @property
    def repeat(self) -> int:
        return int(self.payload["metadata"].get("repeat") or 0)

    def kpis(self) -> Iterator[KPIRecord]:
        """The KPIs that have a value.

        Raises:
            HistoryError: a KPI that is none.
        """
        known: tuple[str | None, int | None] = None, None  # the KPIs of a run have one time
        for name, kpi in self.payload["kpis"].items():
            if kpi is not None:
                made = _kpi(self, name, kpi, known)
                known = made.timestamp, made.time_us
                yield made


def record(payload: Any) -> Record:
    """The record of a decoded LTS *payload*.

    Raises:
        HistoryError: it is no LTS payload: no metadata, no KPIs, no valid id, a time without a zone.
    """
    try:
        metadata, kpis = payload["metadata"], payload["kpis"]
        workload, test_uuid = metadata["workload"], metadata["test_uuid"]
        if not (
            isinstance(kpis, dict) and isinstance(metadata.get("settings", {}), dict) and isinstance(workload, str)
        ):
            raise TypeError("it has fields of the wrong type")
        identifier = str(uuid.UUID(test_uuid))
    except KeyError as error:
        raise HistoryError(f"this is not an LTS payload: it has no {error}") from error
    except (TypeError, ValueError, AttributeError) as error:
        raise HistoryError(f"this is not an LTS payload: {error}") from error
    time_us = microseconds(metadata.get("end") or metadata.get("start"))
    return Record(identifier, workload, time_us, digest(payload), payload)


def digest(content: Any) -> str:
    """A digest of JSON *content*, in which types count and the order of names does not."""
    try:
        return hashlib.blake2b(_canonical(content), digest_size=16).hexdigest()
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
        parsed = dt.datetime.fromisoformat(moment)
        if parsed.tzinfo is None:
            raise ValueError("it has no time zone")
    except (TypeError, ValueError) as error:
        raise HistoryError(f"'{moment}' is not a time such as 2026-01-31T12:00:00+00:00: {error}") from error
    return (parsed - _EPOCH) // _MICROSECOND


def moment(time_us: int) -> dt.datetime:
    """The reverse of :func:`microseconds`, in UTC."""
    return _EPOCH + time_us * _MICROSECOND


def _kpi(of: Record, name: str, kpi: Any, known: tuple[str | None, int | None]) -> KPIRecord:
    """*known* is a timestamp whose microseconds are known."""
    try:
        timestamp = kpi.get("@timestamp")
        labels = dict(kpi.get("labels") or {})
        urls = labels.pop(URLS_LABEL, None)
        value, unit = kpi["value"], kpi["unit"]
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise TypeError(f"its value is {value!r}")
        return KPIRecord(
            name=name,
            value=value,
            unit=unit,
            help=kpi["help"],
            lower_better=bool(kpi["lower_better"]),
            ignored_for_regression=bool(kpi.get("ignored_for_regression", False)),
            timestamp=timestamp,
            time_us=known[1] if timestamp == known[0] else microseconds(timestamp),
            labels=labels,
            urls=urls,
            series=digest([of.workload, name, unit, labels]),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise HistoryError(f"KPI '{name}' of test {of.id} can't be kept: {error}") from error
