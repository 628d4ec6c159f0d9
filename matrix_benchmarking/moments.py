"""Times as microseconds since 1970, UTC, read leniently."""

from __future__ import annotations

import datetime as dt
from typing import Any

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


def time_us(moment: Any) -> int | None:
    """A time with its zone, or ISO 8601 text of one, as microseconds since 1970, UTC; None for anything else."""
    try:
        moment = dt.datetime.fromisoformat(moment) if isinstance(moment, str) else moment
        if not isinstance(moment, dt.datetime) or moment.tzinfo is None:
            return None
        return (moment - _EPOCH) // dt.timedelta(microseconds=1)
    except (ValueError, OverflowError):
        return None
