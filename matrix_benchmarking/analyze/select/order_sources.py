"""What may say which version, or run, came after which: each source gives intervals on a scale of its own."""

from __future__ import annotations

import bisect
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from ...errors import ConfigError, WorkloadError, did_you_mean
from ...filters import exact, show
from ...grouped import grouped
from ...matrix import NOT_SET, typed
from ...plausible import is_of_a_wrong_clock
from ...workload import Workload
from ..words import named
from .labelled import LabelledRun
from .versions import DATE, NUMBERED, key, same_kind

Item = tuple[object, ...]  # what identifies a version (:func:`.matrix.typed`), or a run
Place = Any  # of one source all are numbers, or all are tuples of them
Extents = Mapping[Item, tuple[Place, Place]]  # where each version or run begins and ends
_LEADING_NUMBERS = re.compile(r"[0-9]+(?:[-._:][0-9]+)*(?![0-9A-Za-z])")
_FIRST, _LAST = -math.inf, math.inf


class Source(msgspec.Struct, frozen=True):
    """An order, as far as it goes."""

    name: str  # in words, as ``the times``
    # One that ends before another begins came before it; those that overlap claim no order, but are put in that of
    # their beginnings.
    extents: Extents
    is_of_names: bool = False  # it says nothing of runs without a version, which stand before the others

    @classmethod
    def of_versions(cls, name: str, places: Mapping[Item, Place], versions: Mapping[Item, object]) -> Source:
        """One in which each of *versions* has one place; those that aren't set come first."""
        return cls(name, {item: (place := places.get(item, _FIRST), place) for item in versions}, is_of_names=True)


class Explicit(msgspec.Struct, frozen=True):
    """An order of versions that somebody gave."""

    source: str  # in words, as ``the file releases.txt``
    find: Callable[[str], int | None]  # from a version as text to its place; None where it has none
    known: Sequence[str]  # the versions that are in it, for suggestions
    advice: str  # what to do about a version that isn't


def given(explicit: Explicit, versions: Mapping[Item, object], *, is_required: bool) -> Source | None:
    """The order that somebody gave; None where it isn't required and lacks a version.

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
    return Source.of_versions(explicit.source, places, versions)


def declared(workload: Workload, versions: Mapping[Item, object]) -> Source | None:
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
        places: dict[Item, int] = {typed(value): place for place, value in reversed(list(enumerate(told)))}
    except Exception as error:
        raise WorkloadError(f"{name} fails: {type(error).__name__}: {error}") from error
    missing = [show(value) for value in values if typed(value) not in places]
    if missing:
        raise WorkloadError(f"{name} lacks {len(missing)} of the {len(values)} versions: {named(missing)}")
    return Source.of_versions("the workload's version_order", places, versions)


def of_names(versions: Mapping[Item, object], build: Item | None = None) -> Source | None:
    """The numbers of versions of one name, or the dates in all of them; None for versions of another kind.

    A *build*, the version of the results at hand, is newer than what a history has, whatever it is called.
    """
    kind = same_kind(value for item, value in versions.items() if value is not NOT_SET and item != build)
    places: dict[Item, Place] = {item: (_LAST,) if item == build else key(value) for item, value in versions.items()}
    if kind is None or len(set(places.values())) < 2:  # builds of one release, told apart by their hashes
        return None
    name = "their numbers" if kind == NUMBERED else "their dates"
    return Source.of_versions(name if build is None else f"{name}, the results at hand last", places, versions)


def of_runs(runs: Sequence[LabelledRun], item: Callable[[LabelledRun], Item], *, dated: bool = True) -> list[Source]:
    """The times, the order in which a history first saw the runs, and that of the directories, as far as they go.

    *item* is what a run stands for: its version, or itself. Times count where all are known or, if *dated*, some.
    """
    numbers = _numbers(runs)

    def recorded(run: LabelledRun) -> Place:
        return (_LAST,) if run.is_current and run.entry.recorded is None else run.entry.recorded

    ways: list[tuple[str, Callable[[LabelledRun], Place]]] = [
        ("the order in which the history first saw them", recorded),
        ("the names of the directories", lambda run: numbers.get(id(run))),
    ]
    if dated or all(run.is_timed for run in runs):
        timed = [(run, at) for run in runs if (at := run.entry.time_us) is not None]
        strange = {id(run): item(run) for run, at in timed if is_of_a_wrong_clock(at)}
        if 2 * len(set(strange.values())) > len({item(run) for run, _ in timed}):
            strange.clear()  # of most of them it may be the clock here that is wrong, and they are in order
        ways.insert(0, ("the times", lambda run: _moment(run, is_known=id(run) not in strange)))
    sources = [Source(name, _extents(runs, item, place)) for name, place in ways]
    return [source for source in sources if source.extents]


def _extents(
    runs: Sequence[LabelledRun], item: Callable[[LabelledRun], Item], place: Callable[[LabelledRun], Place]
) -> Extents:
    found: dict[Item, tuple[Place, Place]] = {}
    for run in runs:
        if (at := place(run)) is not None:
            first, last = found.get(item(run), (at, at))
            found[item(run)] = min(first, at), max(last, at)
    return found


def _moment(run: LabelledRun, *, is_known: bool) -> float | None:
    """When a run ended, if that *is_known*; the results at hand are newer than what is recorded of others."""
    time_us = run.entry.time_us if is_known else None
    return time_us if time_us is not None else _LAST if run.is_current else None


def _numbers(runs: Sequence[LabelledRun]) -> Mapping[int, tuple[tuple[int, ...], ...]]:
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


def _leading(parts: Sequence[str]) -> tuple[tuple[int, ...], ...]:
    numbers = []
    for part in parts:
        date, match = DATE.match(part), _LEADING_NUMBERS.match(part)
        if date is not None:
            numbers.append((int("".join(date.group(1, 3, 4))), *map(int, re.findall("[0-9]+", date[5]))))
        elif match is not None:
            numbers.append(tuple(map(int, re.findall("[0-9]+", match[0]))))
        else:
            break
    return tuple(numbers)


def levels(items: Sequence[Item], sources: Sequence[Source]) -> list[list[Item]]:
    """*items* in the order of the first source; those that it doesn't tell apart in that of the next that has them all.

    Items in one list have no order among themselves.
    """
    if len(items) < 2 or not sources:
        return [list(items)]
    first, *others = sources
    if any(item not in first.extents for item in items):
        return levels(items, others)
    by_beginning = grouped((first.extents[item][0], item) for item in items)
    groups = [by_beginning[place] for place in sorted(by_beginning)]
    return [level for group in groups for level in ([group] if len(group) == 1 else levels(group, others))]


def contradiction(chosen: Extents, other: Extents) -> tuple[int, Item, Item] | None:
    """How many pairs stand the other way round in *other*, and the first one, as it stands there; None for none.

    n log n in the number of items.
    """
    items = [item for item in chosen if item in other]
    by_end = sorted(items, key=lambda item: chosen[item][1])
    seen: list[tuple[Place, int]] = []
    count, found, next_ended = 0, None, 0
    for item in sorted(items, key=lambda item: chosen[item][0]):
        begin, end = chosen[item][0], other[item][1]
        while chosen[by_end[next_ended]][1] < begin:  # *item* itself has not ended by then
            bisect.insort(seen, (other[by_end[next_ended]][0], next_ended))
            next_ended += 1
        after = len(seen) - bisect.bisect_right(seen, end, key=lambda one: one[0])
        if after and found is None:
            found = (item, by_end[seen[-1][1]])
        count += after
    return None if found is None else (count, *found)
