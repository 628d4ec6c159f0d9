"""Numbers, settings and counts in words: the parts of all sentences."""

from __future__ import annotations

import collections
import functools
import math
import re
from collections.abc import Iterable, Mapping, Sequence

from ..filters import show
from ..grouped import grouped
from ..kpi import KPIDefinition
from ..matrix import NOT_SET


def value_label(name: str, value: object) -> str:
    """A setting as people would say it: the value alone if it is a word, else with its name."""
    if value is NOT_SET:
        return f"{name} not set"
    if isinstance(value, str) and value and not value.replace(".", "").isdigit():
        return show(value)
    return f"{name} {show(value)}"


def variant_label(settings: Mapping[str, object], names: Iterable[str]) -> str:
    """The variant's values in one line: ``nvidia-l4 · default · torch``."""
    return " · ".join(value_label(name, settings.get(name, NOT_SET)) for name in names)


def tuning_label(settings: Mapping[str, object], names: Iterable[str]) -> str:
    """Settings with their names: ``batch_size 32, vus 256``."""
    present = [name for name in names if name in settings]
    return ", ".join(f"{name} {show(settings[name])}" for name in present)


EVERYWHERE = "everywhere"  # the name of a series that no setting tells from others


def series_label(kpi: str, name: str) -> str:
    """A KPI with its series: ``p95_latency of batch_size 8``; of one series alone the KPI."""
    return kpi if name == EVERYWHERE else f"{kpi} of {name}"


HUGE_PERCENT = 1e7


def percent(fraction: float, *, unit: bool = True, digits: int = 1) -> str:
    """``+10.3 %``: with its sign, one decimal (or so many *digits*) below 100 %, none above, 6.67e+12 beyond."""
    if not math.isfinite(fraction):
        return f"{sign(fraction)}∞{' %' if unit else ''}"
    value = abs(fraction) * 100.0
    text = f"{value:.2e}" if value >= HUGE_PERCENT else f"{value:,.0f}" if value >= 99.95 else f"{value:.{digits}f}"
    return f"{sign(fraction)}{text}{' %' if unit else ''}"


def as_percent(fraction: float, *, digits: int = 0) -> str:
    """``42 %``: a share, without a sign, with so many decimals."""
    return f"{fraction * 100:.{digits}f} %"


def sign(value: float) -> str:
    return "−" if value < 0 else "+"


def plural(count: int, word: str) -> str:
    return word if count == 1 else f"{word}s"


def count_of(count: int, word: str) -> str:
    """``1 run``, ``3 runs``."""
    return f"{count} {plural(count, word)}"


ONE_CAMPAIGN = "All runs are of one campaign: how others differ isn't in the interval."


def probability(value: float | None) -> str:
    """A p- or q-value: three digits, ``< 0.001`` below."""
    if value is None:
        return "unknown"
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def difference(kpi: KPIDefinition, value: float) -> str:
    """A difference in the KPI's unit, with its sign."""
    return f"{sign(value)}{kpi.show(abs(value)) if math.isfinite(value) else '∞'}"


def is_or_are(count: int) -> str:
    return "is" if count == 1 else "are"


def cut_inside(shown: str, longest: int) -> str:
    """*shown* with at most so many characters: long versions differ at their ends."""
    if len(shown) <= longest:
        return shown
    head = (longest - 1) // 2
    return f"{shown[:head]}…{shown[head + 1 - longest :]}"


def named(texts: Sequence[str], most: int = 5, *, are_long: bool = False) -> str:
    """The first of *texts*, and how many more there are; those that *are_long* may have commas in them."""
    between, last = ("; ", "; and") if are_long else (", ", " and")
    more = f"{last} {len(texts) - most} more" if len(texts) > most else ""
    return f"{between.join(texts[:most])}{more}"


def listed(names: Iterable[str]) -> str:
    """``a, b and c``."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


_NUMBER = re.compile(r"(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?")
_SIGNED = re.compile(rf"(?:(?<!\w)-)?{_NUMBER.pattern}")
_QUOTED = r"""['"](?:(?<=')(?<!\w')[^']*'(?!\w)|(?<=")[^"]*")"""
_TIME = r"\d{4}-\d\d-\d\d(?:[ T]\d\d:[\d:.]+(?:[+-]\d\d:\d\d|Z)?)?"
_VARIES = re.compile(rf"({_QUOTED}|(?<![\w.-])(?:{_TIME}|{_NUMBER.pattern}))")
"""What may differ from one text to another that says the same: a number, a time, and what is quoted in its numbers."""
Texts = tuple[str, ...]


@functools.lru_cache(maxsize=100_000)  # of many runs at each selection
def number_free(text: str) -> tuple[Texts, Texts]:
    """The text without its numbers, what is quoted in turn with what is about it; and these numbers and quotes."""
    parts = _VARIES.split(text)
    parts[1::2], found = [_SIGNED.sub("0", part) for part in parts[1::2]], parts[1::2]
    return tuple(parts), tuple(found)


def with_ranges(rest: Texts, numbers: Sequence[Texts]) -> str:
    ranges = [_range(texts) for texts in zip(*numbers, strict=True)]
    return "".join(part + number for part, number in zip(rest[::2], [*ranges, ""], strict=True))


def _range(texts: Sequence[str]) -> str:
    ordered = sorted(dict.fromkeys(texts), key=_numbers)
    return ordered[0] if len(ordered) == 1 else f"{ordered[0]} to {ordered[-1]}"


def _numbers(text: str) -> list[float]:
    return [float(number.replace(",", "")) for number in _SIGNED.findall(text)]


def counted_alike(texts: Iterable[str]) -> collections.Counter[str]:
    """How many there are of each of *texts*; those that differ in their numbers alone are one, with their ranges."""
    apart = grouped(map(number_free, texts))
    return collections.Counter({with_ranges(rest, numbers): len(numbers) for rest, numbers in apart.items()})


def first_of(reasons: Iterable[str]) -> str:
    """The first of *reasons*, and how many others there are; those that differ in their numbers alone are one."""
    first, *others = counted_alike(reasons)
    return f"{first}; and {len(others)} other {plural(len(others), 'reason')}" if others else first
