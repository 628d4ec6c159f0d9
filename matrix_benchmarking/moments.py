"""Times as microseconds since 1970, UTC: those in data, read leniently, and those that people write."""

from __future__ import annotations

import datetime as dt
import re
from typing import Any

from .errors import ConfigError

EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_AGE = re.compile(r"(\d{1,6})\s*([hdw])")
_HOURS = {"h": 1, "d": 24, "w": 24 * 7}


def time_us(moment: Any) -> int | None:
    """A time with its zone, or ISO 8601 text of one, as microseconds since 1970, UTC; None for anything else."""
    try:
        moment = dt.datetime.fromisoformat(moment) if isinstance(moment, str) else moment
        if not isinstance(moment, dt.datetime) or moment.tzinfo is None:
            return None
        return (moment.astimezone(dt.UTC) - EPOCH) // dt.timedelta(microseconds=1)
    except (ValueError, OverflowError):
        return None


def of_seconds(*seconds: float) -> list[dt.datetime]:
    """The times so many *seconds* after 1970, in UTC; none where one of them can't be a time."""
    try:
        return [dt.datetime.fromtimestamp(each, dt.UTC) for each in seconds]
    except (ValueError, OverflowError, OSError):
        return []


def meant_us(text: str) -> int:
    """The moment that a person means by a date (its beginning, UTC), an ISO 8601 time, or an age such as 30d.

    Raises:
        ConfigError: it means none.
    """
    text = text.strip()
    age = _AGE.fullmatch(text)
    try:
        if age is not None:
            moment = dt.datetime.now(dt.UTC) - dt.timedelta(hours=int(age[1]) * _HOURS[age[2]])
        else:
            moment = dt.datetime.fromisoformat(text)
    except OverflowError as error:
        raise ConfigError(f"'{text}' is before the beginning of time") from error
    except ValueError as error:
        raise ConfigError(f"'{text}' is no time such as 2026-01-31, 2026-01-31T12:00:00+00:00 or 30d") from error
    moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=dt.UTC)
    return (moment - EPOCH) // dt.timedelta(microseconds=1)
