"""Moments as people write them: a date, an ISO 8601 time, or an age such as 30d."""

from __future__ import annotations

import datetime as dt
import re

from ..errors import ConfigError

_AGE = re.compile(r"(\d{1,6})\s*([hdw])")
_HOURS = {"h": 1, "d": 24, "w": 24 * 7}
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


def parse_time(text: str, now: dt.datetime) -> int:
    """The moment that *text* means, in microseconds since 1970; a date means its beginning, UTC.

    Raises:
        ConfigError: it means none.
    """
    age = _AGE.fullmatch(text.strip())
    if age is not None:
        try:
            moment = now - dt.timedelta(hours=int(age[1]) * _HOURS[age[2]])
        except OverflowError as error:
            raise ConfigError(f"'{text}' is before the beginning of time") from error
        return _microseconds(moment)
    try:
        moment = dt.datetime.fromisoformat(text.strip())
    except ValueError as error:
        raise ConfigError(f"'{text}' is no time such as 2026-01-31, 2026-01-31T12:00:00+00:00 or 30d") from error
    moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=dt.UTC)
    return _microseconds(moment)


def _microseconds(moment: dt.datetime) -> int:
    return (moment - _EPOCH) // dt.timedelta(microseconds=1)
