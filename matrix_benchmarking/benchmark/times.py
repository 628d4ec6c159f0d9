"""Times as they are recorded: ISO 8601 with a time zone."""

from __future__ import annotations

from datetime import UTC, datetime


def iso_time(epoch_s: float) -> str:
    """Seconds since the epoch as ISO 8601, in UTC, with milliseconds."""
    return datetime.fromtimestamp(epoch_s, UTC).isoformat(timespec="milliseconds")


def start_end(started: float, ended: float) -> dict[str, str]:
    """The content of ``test_start_end.json`` from two times in seconds since the epoch."""
    return {"start": iso_time(started), "end": iso_time(ended)}
