"""What happened to alarms. A history keeps these events as they came, and changes none."""

from __future__ import annotations

import enum
import getpass
from collections.abc import Mapping
from typing import Any

import msgspec

from ..errors import HistoryError
from .records import LONGEST_NAME, digest, moment

LONGEST_AUTHOR = 200


def system_user() -> str:
    """The name of who runs this, which an event has as its author; empty where there is none."""
    try:
        return getpass.getuser().strip()
    except (OSError, KeyError, ImportError):  # a container's user has no name
        return ""


class Action(enum.Enum):
    RAISED = "raised"
    ACKNOWLEDGED = "acknowledged"
    RESOLVED = "resolved"
    REOPENED = "reopened"
    FIXED = "fixed"
    COMMENTED = "commented"  # which changes nothing but what is known


class AlarmSubject(msgspec.Struct, frozen=True, kw_only=True):
    """What an alarm is about, as it was when it was raised; *series* and versions in words, levels in *unit*."""

    workload: str
    kpi: str
    unit: str
    lower_better: bool | None
    labels: Mapping[str, Any]
    series: str
    first_bad: str
    last_good: str
    old_level: float
    new_level: float

    def __post_init__(self) -> None:
        """Hold what JSON gives back: ``20`` would come as ``20.0``, and be another event then."""
        msgspec.structs.force_setattr(self, "labels", dict(self.labels))
        for name in ("old_level", "new_level"):
            msgspec.structs.force_setattr(self, name, float(getattr(self, name)))


class AlarmEvent(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One event.

    Attributes:
        alarm: the alarm's id.
        at_us: when, in microseconds since 1970, UTC.
        author: who did it; ``matbench`` for an analysis.
        until: of an acknowledgement: the version or the date (2026-01-31) up to which it holds; None for always.
        version: of a fix: the version that repaired it, in words.
    """

    alarm: str
    action: Action
    at_us: int
    author: str
    subject: AlarmSubject
    reason: str | None = None
    until: str | None = None
    version: str | None = None

    @property
    def id(self) -> str:
        """A digest of what is said in it: the same event is kept once, and a field that is added later changes none."""
        return digest(msgspec.to_builtins(self))


def encode(event: AlarmEvent) -> str:
    """*event* as JSON, as every history keeps it. Raises HistoryError: it could not be read back as it is."""
    try:
        moment(event.at_us)
        text = msgspec.json.encode(event).decode()
        if not 0 < len(event.alarm) <= LONGEST_NAME or not 0 < len(event.subject.workload) <= LONGEST_NAME:
            raise ValueError(f"its id and its workload need 1 to {LONGEST_NAME} characters")
        if decode(text) != event:
            raise ValueError("JSON can't hold it")
    except (TypeError, ValueError, OverflowError, RecursionError, HistoryError) as error:
        raise HistoryError(f"an event of alarm '{event.alarm!s:.50}' can't be kept: {error}") from error
    return text


def decode(text: str | bytes) -> AlarmEvent:
    """The reverse of :func:`encode`. Raises HistoryError: *text* is no event."""
    try:
        return msgspec.json.decode(text, type=AlarmEvent)
    except (msgspec.DecodeError, UnicodeError, RecursionError, OverflowError) as error:
        raise HistoryError(f"this is no event of an alarm that this matbench knows: {error}") from error
