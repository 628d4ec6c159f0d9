"""What may say which version, or run, came after which: each source gives intervals on a scale of its own."""

from __future__ import annotations

import bisect
import dataclasses
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...errors import ConfigError, WorkloadError, did_you_mean
from ...filters import exact, show
from ...matrix import NOT_SET, typed
from ...workload import Workload
from .labelled import LabelledRun
from .versions import DATE, NUMBERED, key, same_kind

Item = tuple[Any, ...]
Extent = tuple[Any, Any]
_LEADING_NUMBERS = re.compile(r"[0-9]+(?:[-._:][0-9]+)*(?![0-9A-Za-z])")
_FIRST, _LAST = -math.inf, math.inf


@dataclasses.dataclass(frozen=True, slots=True)
class Source:
    """An order, as far as it goes.

    Attributes:
        name: in words, as ``the times``.
        says: the verb that goes with it, ``say`` or ``says``.
        intervals: where each version or run begins and ends. One that ends before another begins came before it; those
            that overlap claim no order, but are put in that of their beginnings.
        before: what the source knows of one that begins before another, as ``was measured before``.
        is_of_names: it says nothing of runs without a version, which stand before the others.
    """

    name: str
    says: str
    intervals: Mapping[Item, Extent]
    before: str = "comes before"
    is_of_names: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Explicit:
    """An order of versions that somebody gave.

    Attributes:
        source: in words, as ``the file releases.txt``.
        find: from a version as text to its place; None where it has none.
        known: the versions that are in it, for suggestions.
        advice: what to do about a version that isn't.
    """

    source: str
    find: Callable[[str], int | None]
    known: Sequence[str]
    advice: str


def given(explicit: Explicit, versions: Mapping[Item, Any], *, is_required: bool) -> Source | None:
    """The order that somebody gave, versions that aren't set first; None where it isn't required and lacks one.

    Raises:
        ConfigError: it lacks versions, and is required.
    """
    places = {item: explicit.find(exact(value)) for item, value in versions.items() if value is not NOT_SET}
    missing = [show(versions[item]) for item, place in places.items() if place is None]
    if missing and not is_required:
        return None
    if missing:
        suggestion = f" ({did_you_mean(missing[0], explicit.known)})" if len(missing) == 1 else ""
        raise ConfigError(
            f"{explicit.source} has no place for {len(missing)} of the {len(places)} versions: "
            f"{named(missing)}{suggestion}; {explicit.advice}"
        )
    points = _points({item: places.get(item, _FIRST) for item in versions})
    return Source(explicit.source, "says", points, is_of_names=True)


def declared(workload: Workload, versions: Mapping[Item, Any]) -> Source | None:
    """The workload's ``version_order``; None where it has none.

    Raises:
        WorkloadError: it fails, or lacks a version.
    """
    order = workload.regression.version_order
    if order is None:
        return None
    values = [value for value in versions.values() if value is not NOT_SET]
    name = f"version_order of workload '{workload.name}'"
    try:
        told = list(order(values) if callable(order) else order)
        places = {typed(value): place for place, value in reversed(list(enumerate(told)))}
    except Exception as error:
        raise WorkloadError(f"{name} fails: {type(error).__name__}: {error}") from error
    missing = [show(value) for value in values if typed(value) not in places]
    if missing:
        raise WorkloadError(f"{name} lacks {len(missing)} of the {len(values)} versions: {named(missing)}")
    points = _points({item: places.get(item, _FIRST) for item in versions})
    return Source("the workload's version_order", "says", points, is_of_names=True)


def of_names(versions: Mapping[Item, Any]) -> Source | None:
    """The numbers of versions of one name, or the dates in all of them; None for versions of another kind.

    Those that aren't set come first.
    """
    kind = same_kind(value for value in versions.values() if value is not NOT_SET)
    if kind is None:
        return None
    name = "their numbers" if kind == NUMBERED else "their dates"
    places = _points({item: key(value) for item, value in versions.items()})
    if len(set(places.values())) < 2:  # builds of one release, told apart by their hashes
        return None
    return Source(name, "say", places, is_of_names=True)


def of_runs(runs: Sequence[LabelledRun], item: Callable[[LabelledRun], Item], *, loads: bool = True) -> list[Source]:
    """The times, the order in which a history first saw the runs, and that of the directories, as far as they go.

    Args:
        item: what a run stands for: its version, or itself.
        loads: times are asked for where they aren't at hand.
    """
    numbers = _numbers(runs)
    sources = [
        _source("the times", "say", "was measured before", runs, item, _moment)
        if loads or all(run.is_timed for run in runs)
        else None,
        _source("the order in which the history first saw them", "says", "comes before", runs, item, _recorded),
        _source("the names of the directories", "say", "comes before", runs, item, lambda run: numbers.get(id(run))),
    ]
    return [source for source in sources if source is not None and source.intervals]


def _source(
    name: str,
    says: str,
    before: str,
    runs: Sequence[LabelledRun],
    item: Callable[[LabelledRun], Item],
    moment: Callable[[LabelledRun], Any],
) -> Source:
    intervals: dict[Item, Extent] = {}
    for run in runs:
        if (at := moment(run)) is not None:
            first, last = intervals.get(item(run), (at, at))
            intervals[item(run)] = min(first, at), max(last, at)
    return Source(name, says, intervals, before)


def _moment(run: LabelledRun) -> Any:
    """When a run ended; the results at hand are newer than what is recorded of others."""
    time_us = run.load_time()
    return time_us if time_us is not None else _LAST if run.is_current else None


def _recorded(run: LabelledRun) -> Any:
    return (_LAST,) if run.is_current and run.recorded is None else run.recorded


def _numbers(runs: Sequence[LabelledRun]) -> Mapping[int, Any]:
    """The number or date with which the directory of each run begins, by the run's ``id``; nothing if one has none.

    It is that of the first directory below those that all have in common, then of what is below it.
    """
    if not runs or any(run.entry.kept_in is not None for run in runs):
        return {}
    paths = {id(run): run.entry.name.split("/") for run in runs}
    first, last = min(paths.values()), max(paths.values())
    common = next((n for n, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), min(len(first), len(last)))
    found = {run: _leading(path[common:]) for run, path in paths.items()}
    return found if all(found.values()) else {}


def _leading(parts: Sequence[str]) -> tuple[Any, ...]:
    numbers: list[Any] = []
    for part in parts:
        date, match = DATE.match(part), _LEADING_NUMBERS.match(part)
        if date is not None:
            numbers.append((int("".join(date.group(1, 3, 4))), *map(int, re.findall("[0-9]+", date[5]))))
        elif match is not None:
            numbers.append(tuple(map(int, re.findall("[0-9]+", match[0]))))
        else:
            break
    return tuple(numbers)


def _points(places: Mapping[Item, Any]) -> dict[Item, Extent]:
    return {item: (place, place) for item, place in places.items()}


def levels(items: Sequence[Item], sources: Sequence[Source]) -> list[list[Item]]:
    """*items* in the order of the first source; those that it doesn't tell apart in that of the next that has them all.

    Items in one list have no order among themselves.
    """
    if len(items) < 2 or not sources:
        return [list(items)]
    first, *others = sources
    if any(item not in first.intervals for item in items):
        return levels(items, others)
    by_beginning: dict[Any, list[Item]] = {}
    for item in items:
        by_beginning.setdefault(first.intervals[item][0], []).append(item)
    groups = [by_beginning[place] for place in sorted(by_beginning)]
    return [level for group in groups for level in ([group] if len(group) == 1 else levels(group, others))]


@dataclasses.dataclass(frozen=True, slots=True)
class Contradiction:
    """How many of *pairs* stand the other way round in another source, and one of them: *later* stands before there."""

    count: int
    pairs: int
    earlier: Item
    later: Item


def contradiction(chosen: Mapping[Item, Extent], other: Mapping[Item, Extent]) -> Contradiction | None:
    """The pairs that both put in order, and differently; None where there is none. n log n in the number of items."""
    items = [item for item in chosen if item in other]
    by_end = sorted(items, key=lambda item: chosen[item][1])
    seen: list[tuple[Any, int]] = []
    count, found, next_ended = 0, None, 0
    for item in sorted(items, key=lambda item: chosen[item][0]):
        begin, end = chosen[item][0], other[item][1]
        while chosen[by_end[next_ended]][1] < begin:  # *item* itself has not ended by then
            bisect.insort(seen, (other[by_end[next_ended]][0], next_ended))
            next_ended += 1
        after = len(seen) - bisect.bisect_right(seen, end, key=lambda one: one[0])
        if after and found is None:
            found = (by_end[seen[-1][1]], item)
        count += after
    if found is None:
        return None
    return Contradiction(count, len(items) * (len(items) - 1) // 2, *found)


def named(texts: Sequence[str], most: int = 5) -> str:
    """The first of *texts*, and how many more there are."""
    more = f" and {len(texts) - most} more" if len(texts) > most else ""
    return f"{', '.join(texts[:most])}{more}"
