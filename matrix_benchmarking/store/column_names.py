"""What the names of a table's columns say: units, KPIs, and that each of several is a run."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

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


_KPI = re.compile(
    r"(?:.*[\W_])?(?:p\d\d+|latency|throughput|bandwidth|rate|time|duration|rps|qps|tps|iops|ttft|tpot|itl|memory|rss|"
    r"accuracy|mean|median|min|max|stddev)(?:[\W_].*)?",
    re.IGNORECASE | re.DOTALL,
)
_PERCENTILE = re.compile(r"(?<![a-z])p\d\d", re.IGNORECASE)


def may_name_kpi(text: str) -> bool:
    """Whether *text* is as KPIs are called: ``p95_ms``, ``throughput``."""
    return _KPI.fullmatch(text.strip()) is not None


def counted_with(column: str, others: Iterable[str]) -> list[str]:
    """Those of *others* that differ from *column* in numbers alone, as ``run 2`` from ``run 1``; no percentiles."""
    is_counted = re.search(r"\d", column) is not None and not _PERCENTILE.search(column)
    plain = re.sub(r"\d+", "0", column)
    return [name for name in others if is_counted and name != column and re.sub(r"\d+", "0", name) == plain]
