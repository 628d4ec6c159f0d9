"""What happened to alarms: raised by an analysis, acknowledged or resolved by a person, fixed by a version.

A history keeps these events as they came and changes none; what became of an alarm is read from them in their order.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Any

import msgspec

from .records import digest


class Action(enum.Enum):
    """What was done to an alarm."""

    RAISED = "raised"
    ACKNOWLEDGED = "acknowledged"
    RESOLVED = "resolved"
    REOPENED = "reopened"
    FIXED = "fixed"


class AlarmSubject(msgspec.Struct, frozen=True, kw_only=True):
    """What an alarm is about, as it was when it was raised.

    Attributes:
        workload, kpi, unit, lower_better: what was measured.
        labels: of the series.
        series: the series in words.
        first_bad, last_good: versions in words.
        old_level, new_level: in *unit*.
    """

    workload: str
    kpi: str
    unit: str
    lower_better: bool
    labels: Mapping[str, Any]
    series: str
    first_bad: str
    last_good: str
    old_level: float
    new_level: float


class AlarmEvent(msgspec.Struct, frozen=True, kw_only=True):
    """One event.

    Attributes:
        alarm: the alarm's id.
        action: what was done.
        at_us: when, in microseconds since 1970, UTC.
        author: who did it; ``matbench`` for an analysis.
        reason: why, in the author's words; None where nothing was said.
        until: of an acknowledgement: the version or the date (2026-01-31) up to which it holds; None for always.
        version: of a fix: the version that repaired it, in words.
        subject: what the alarm is about.
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
        """A digest of the content: the same event is kept once."""
        return digest(msgspec.to_builtins(self))
