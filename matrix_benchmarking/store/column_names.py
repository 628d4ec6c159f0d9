"""What the names of a table's columns say: units."""

from __future__ import annotations

import re
from collections.abc import Mapping

_UNITS = {
    **dict.fromkeys(("us", "µs", "μs"), "µs"),
    **dict.fromkeys(("ms", "msec", "millis", "milliseconds"), "ms"),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), "s"),
    **dict.fromkeys(("%", "pct", "percent"), "%"),
    **{unit: unit for unit in ("ns", "kb", "mb", "gb", "tb", "kib", "mib", "gib", "tib")},
}
_PERIODS = _UNITS | dict.fromkeys(("m", "min", "minute"), "min") | dict.fromkeys(("h", "hour"), "h")
"""And what isn't a unit at the end of a name, where min is a minimum."""
_LAST = re.compile(r"(?:(?P<what>[^\W\d_]+|%)\s*(?:/|[\s_]per[\s_]))?(?<![^\W_])(?P<unit>[^\W\d_]+|%)[\s)\]]*")


def other_unit(column: str, unit: str) -> str:
    """The unit at the end of the name of a *column*, where it is another one than *unit*; empty where it isn't."""
    column = re.sub(r"([kmgt]i?b)_(?=s$)", r"\1/", column, flags=re.IGNORECASE)
    match = next((one for one in _LAST.finditer(column) if one.end() == len(column)), None)
    said, known = _parts(match, _UNITS), _parts(_LAST.fullmatch(unit.strip()), _PERIODS)
    differ = any(one != other for one, other in zip(said, known, strict=True) if one and other)
    return "" if match is None or not differ else match[0].rstrip(" )]")


def _parts(match: re.Match[str] | None, plain: Mapping[str, str]) -> tuple[str, str]:
    """What is counted, and within which time, in one spelling each; empty where it is no known unit."""
    if match is None:
        return "", ""
    what, unit = (text and text.lower() for text in match.group("what", "unit"))
    return (plain.get(unit, ""), "") if what is None else (_UNITS.get(what, ""), _PERIODS.get(unit, ""))
