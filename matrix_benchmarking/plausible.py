"""Values that can't be: numbers of one run in, sentences out. None is unknown, and passes.

No rule says what is likely: each says what no measurement can give, with room for rounding. Two say what makes others
doubtful: requests in flight, by limits that the caller sets, and a GPU that was held back. That a mean is too low
beside a quantile is Markov's inequality: where a share of values that are not negative is at least Q, their mean is at
least that share of Q.
"""

from __future__ import annotations

import datetime as dt
import itertools
import math
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, TypeGuard

from .errors import LONGEST_REASON, explained, shortened

Number = float | None

RELATIVE_ROUNDING = 1e-3
"""By how much of itself a number may be beyond its limit."""
_TAIL = {"median": 0.5, "p90": 0.1, "p95": 0.05, "p99": 0.01}
"""The share of the values that is at least a quantile."""


def is_number(value: object) -> TypeGuard[float]:
    """Whether *value* is a finite number; true and false are none."""
    return (type(value) is float or (isinstance(value, (int, float)) and type(value) is not bool)) and (
        abs(value) <= sys.float_info.max  # which a whole number of 400 digits isn't
    )


def latencies(
    *,
    mean: Number = None,
    minimum: Number = None,
    median: Number = None,
    p90: Number = None,
    p95: Number = None,
    p99: Number = None,
    maximum: Number = None,
    run: Number = None,
    unit: str = "ms",
    rounding: float = 0.01,
    what: str = "latency",
) -> list[str]:
    """What can't be about the latencies (or *what* it is) of one set of requests.

    All are in *unit*, in which the source rounds them by up to *rounding*; so is how long the whole *run* took.
    """
    ordered = {"minimum": minimum, "median": median, "p90": p90, "p95": p95, "p99": p99, "maximum": maximum}
    quantiles = {name: value for name, value in ordered.items() if value is not None}
    known = quantiles if mean is None else {"mean": mean, **quantiles}

    def said(name: str) -> str:
        return f"the {name} {what} ({known[name]:,.6g} {unit})"

    def is_below(name: str, limit: float) -> bool:
        return known[name] < limit - max(rounding, RELATIVE_ROUNDING * limit)

    wrong = [f"{said(name)} is no duration" for name, value in known.items() if not 0 <= value < math.inf]
    if wrong:
        return wrong
    sentences = [
        f"{said(higher)} is below {said(lower)}"
        for lower, higher in itertools.pairwise(quantiles)
        if is_below(higher, known[lower])
    ]
    if run is not None and known and max(known.values()) > run * (1 + RELATIVE_ROUNDING) + rounding:
        sentences.append(f"{said(max(known, key=known.__getitem__))} is longer than the run")
    if mean is None:
        return sentences
    if maximum is not None and is_below("maximum", mean):
        sentences.append(f"{said('mean')} is above {said('maximum')}")
    if minimum is not None and is_below("mean", minimum):
        sentences.append(f"{said('mean')} is below {said('minimum')}")
    beside = [name for name, share in _TAIL.items() if name in known and is_below("mean", share * known[name])]
    return sentences + [f"{said('mean')} is too low beside {said(name)}" for name in beside[:1]]


LAZY, CROWDED, OF_UNITS = 0.05, 1.25, 50.0
"""Requests in flight, of those that may be: below and above is worth a warning; beyond the last, a unit is wrong."""


def in_flight(
    *, per_s: Number, mean_s: Number, allowed: object, name: str, least: float = 0.0, most: float = math.inf
) -> list[str]:
    """Requests in flight that are fewer than *least* or more than *most* times the *allowed* ones, of a setting *name*.

    So many are in flight, in the mean, as are answered *per_s* times how long an answer takes, *mean_s* (J. D. C.
    Little, 1961). What is allowed may be a word, such as unlimited: then nothing is known.
    """
    if per_s is None or mean_s is None or not is_number(allowed) or allowed <= 0:
        return []
    there = per_s * mean_s
    if least * allowed <= there <= most * allowed:
        return []
    many, rate, each = (f"{value:,.0f}" if value >= 1000 else f"{value:.4g}" for value in (there, per_s, mean_s * 1000))
    is_said = f"{many} requests were in flight, the mean, and {name} is {allowed:,.6g}"
    return [f"{is_said}: {rate} answers a second that take {each} ms each"]


def shares(**values: Number) -> list[str]:
    """Shares, such as the utilisation of a device, that are not from 0 to 1."""
    return [
        f"{name} is {value:.6g}, and a share is from 0 to 1"
        for name, value in values.items()
        if value is not None and not -RELATIVE_ROUNDING <= value <= 1 + RELATIVE_ROUNDING
    ]


SLOWED = 0.02
"""The share of a run in which a GPU was slowed from which it is worth a warning."""


def held_back(share: Number) -> list[str]:
    """That heat or a weak power supply slowed the GPU in a *share* of the run's samples, where that is worth saying."""
    if share is None or share <= SLOWED:
        return []
    return [f"heat or its power supply slowed the GPU in {share * 100:.0f} % of the run"]


def counts(
    *, requests: Number = None, answered: Number = None, failed: Number = None, noun: str = "requests"
) -> list[str]:
    """More answers or failures than *requests*, or fewer than none; *noun* says what is counted."""
    given = {"sent": requests, "answered": answered, "failed": failed}
    sentences = [
        f"{value:,} {noun} were {name}" if name != "failed" else f"{value:,} {noun} failed"
        for name, value in given.items()
        if value is not None and not 0 <= value < math.inf
    ]
    if sentences or requests is None:
        return sentences
    for name, part in (("were answered", answered), ("failed", failed)):
        if part is not None and part > requests:
            sentences.append(f"{part:,} of {requests:,} {noun} {name}")
    if not sentences and answered is not None and failed is not None and answered + failed > requests:
        sentences.append(f"of {requests:,} {noun} {answered:,} were answered and {failed:,} failed")
    return sentences


def times(start: object, end: object) -> list[str]:
    """An end before the start: of times, ISO 8601 texts of them, or numbers of the same clock; others are unknown."""
    try:
        return [f"the run ended before it started: {end} is before {start}"] if _moment(end) < _moment(start) else []
    except (TypeError, ValueError):
        return []


FIRST_YEAR = 1990
"""What is dated before was measured by a machine whose clock had not been set."""
_FIRST_US = dt.datetime(FIRST_YEAR, 1, 1, tzinfo=dt.UTC).timestamp() * 1e6
DAY_US = 24 * 3600 * 10**6


def is_of_a_wrong_clock(time_us: float) -> bool:
    """Whether a time in microseconds since 1970 is more than a day from now, or before there was what is measured."""
    return not _FIRST_US <= time_us <= time.time_ns() // 1000 + DAY_US


def of_a_wrong_clock(start: object, end: object) -> list[str]:
    """An end, or a start, that :func:`is_of_a_wrong_clock`, as a sentence without its end."""
    for what, moment in (("ended", _moment(end)), ("started", _moment(start))):
        if not isinstance(moment, dt.datetime) or moment.tzinfo is None:
            continue
        if is_of_a_wrong_clock(moment.timestamp() * 1e6):
            at, is_unset = moment.isoformat(" ", "seconds"), moment.year < FIRST_YEAR
            when = f"at {at}: a clock was not set" if is_unset else f"in the future, at {at}: a clock was wrong"
            return [f"the run {what} {when}"]
    return []


def of_another_run(moments: Sequence[dt.datetime], start: dt.datetime, end: dt.datetime) -> str:
    """That results are dated more than a day before or after the run that has them, as a predicate; else empty.

    A day is more than time zones differ, so that *moments* may be without one.
    """
    known = [each if each.tzinfo else each.replace(tzinfo=dt.UTC) for each in moments]
    day = dt.timedelta(days=1)
    if not known or of_a_wrong_clock(start, end) or (max(known) - start >= -day and min(known) - end <= day):
        return ""
    return f"is dated {known[0]:%Y-%m-%d %H:%M}, and its run {start:%Y-%m-%d %H:%M}: did another run leave it?"


def findings(payload: Any, rule: Callable[[Any], Sequence[str]] | None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What can't be about the run of an LTS *payload*, by the workload's *rule* and by the engine's on its times.

    Gives:
        that for which none of its numbers is believed, and the rest: a wrong date spoils no duration.
    """
    metadata = getattr(payload, "metadata", None)
    span = getattr(metadata, "start", None), getattr(metadata, "end", None)
    harmless = of_a_wrong_clock(*span)
    found = [] if harmless else times(*span)
    if rule is not None:
        try:
            found += sentences(rule(payload))
        except Exception as error:  # noqa: BLE001  an incomplete test must still be looked at
            harmless.append(f"whether its values can be is not known: {explained(error)}")
    return tuple(found), tuple(harmless)


def sentences(given: Sequence[str] | str | None) -> list[str]:
    """What a rule of a workload has *given*: None is no sentence, and a text is one."""
    several = [given] if isinstance(given, str) else given or ()
    return [shortened(each, LONGEST_REASON) for each in several]


def _moment(value: object) -> Any:
    try:
        return dt.datetime.fromisoformat(value) if isinstance(value, str) else value
    except ValueError:
        return None
