"""Findings on what nothing compares, though somebody may think so: runs of other groups, series that end too soon."""

from __future__ import annotations

import collections
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from ...errors import MatbenchError
from ...grouped import grouped
from ...matrix import NOT_SET, typed
from ...rows import Rows
from ...workload import Workload
from ..points import keys, varying
from ..select.order import Order
from ..select.versions import in_words
from .finding import ANALYSES, EVERY, NONE, OF_HISTORY, Finding, are_few, runs_have
from .look_alike import written
from .measured import Measured
from .settings import is_explained

Key = tuple[int, ...]
"""What identifies a series among others, by its labels."""


def group_findings(good: Rows, workload: Workload) -> Iterator[Finding]:
    """A setting within which runs are compared that some don't say, beside others that do and are else of one group."""
    names = set(good.names())
    for name in (each for each in dict.fromkeys(workload.group_keys) if each in names):
        values, codes = good.setting(name)
        said = [value is not NOT_SET for value in values]
        of_rest = keys(good, [each for each in workload.group_keys if each != name])
        beside = {rest for rest, code in zip(of_rest, codes, strict=True) if said[code]}
        without = good.where(not said[code] and rest in beside for rest, code in zip(of_rest, codes, strict=True))
        others = good.where(said[code] for code in codes)
        # Few are those that `missing-setting` names; and a codec without levels has none.
        if without and not are_few(len(without), len(good)) and not is_explained(without, others):
            what = f"{runs_have(without)} no '{name}', which {len(others)} {'has' if len(others) == 1 else 'have'}"
            yield Finding.of("apart", f"{what}: another group, ranked apart and compared with none of those.", without)


_COUNTS = re.compile(r"(random_?)?seed|rep|repetition|replicate|repeat_?(id|no|number|index)", re.IGNORECASE)
"""Names of settings that only count repeats."""


def repeat_findings(measured: Measured) -> Iterator[Finding]:
    """A setting that may only tell repeats apart, where no point has any: each is ranked by its one run then."""
    good, points, regression = measured.runs, measured.points, measured.workload.regression
    if any(len(places) > 1 for places in points) or len(points) < 2:
        return
    names = good.names()
    apart = {*regression.comparison_keys, *regression.ignored_keys}
    for name in (each for each in names if _COUNTS.fullmatch(each) and each not in apart):
        alike = collections.Counter(keys(good, [each for each in names if each != name]))
        if min(alike.values()) > 1:
            what = f"'{name}' differs in all runs that are else alike, and no point has a repeat"
            yield Finding("unnamed-repeat", f"{what}: if it only counts them, it is to be called 'repeat'.", EVERY)


FEWEST_VERSIONS = 3
LONG = 10  # versions after which the newest is judged by what came since, whatever was before


def version_findings(good: Rows, workload: Workload) -> Iterator[Finding]:
    """A setting with another value at each version, such as the name of a runner: no series has two versions then."""
    regression = workload.regression
    axis = next((name for name in regression.comparison_keys if len(set(good.setting(name)[1])) > 1), None)
    if axis is None:
        return
    versions = good.setting(axis)[1]
    names = [name for name in good.names() if name not in (*regression.comparison_keys, *regression.ignored_keys)]
    if _some_have(2, good, names, versions):
        return
    for name in names:
        if _some_have(FEWEST_VERSIONS, good, [each for each in names if each != name], versions):
            what = f"'{name}' has other values at each {axis}, so no series has two of them and nothing can be judged"
            way = f"leave it out with `ignoring`={name}"
            yield Finding("splits-series", f"{what}: {way}.", ANALYSES)


class _Series(msgspec.Struct, frozen=True):
    """The runs that are alike in their labels: their first and last version, by place, and the place of a run."""

    key: Key
    first: int
    last: int
    run: int

    def without(self, names: Collection[int]) -> Key:
        """What is alike among series that differ in these labels."""
        return tuple(code for place, code in enumerate(self.key) if place not in names)


def places_of(order: Order) -> Mapping[Any, int]:
    """The place of each version, typed; none where there is no order, which another finding says."""
    try:
        return {} if order.axis is None else order.of(order.axis).places
    except MatbenchError:
        return {}


def ended_findings(good: Rows, workload: Workload, order: Order) -> Iterator[Finding]:
    """Settings that got another value with a version, or came up: series end there, and others begin."""
    axis, places = order.axis, places_of(order)
    if axis is None or not places or axis not in good.names():
        return
    versions, codes = good.setting(axis)
    at = [places.get(typed(version)) for version in versions]
    said = dict(zip(at, in_words(versions), strict=True))
    names = _labels(good, workload)
    for changed, ended, begun in _followed(_series(keys(good, names), [at[code] for code in codes])):
        until, since, count = said[ended[0].last], said[begun[0].first], len(ended)
        both = ([_values(good, side, index, names[index]) for index in changed] for side in (ended, begun))
        before, after = ([[written(one) for one in values] for values in side] for side in both)
        which = [names[index] for index in changed]
        if all(len(values) == 1 for values in (*before, *after)):
            now = " and ".join(f"'{name}' is {new}" for name, (new,) in zip(which, after, strict=True))
            were = f"{'it was' if len(which) == 1 else 'they were'} {' and '.join(old for (old,) in before)}"
            what = f"Since {since} {now} in {count} series; up to {until} {were}"
            way = f"these are other series, which `ignoring`={','.join(which)} compares."
        else:
            ends = f"{count} series {'ends' if count == 1 else 'end'} at {until}"
            what = f"{ends}, and others that differ in {' and '.join(map(repr, which))} alone begin at {since}"
            way = "nothing compares them; was it renamed?"
        is_long_ago = max(places.values()) - begun[0].first >= LONG
        # A comparison of two versions says itself in what they differ.
        yield Finding("splits-history", f"{what}: {way}", NONE if is_long_ago else OF_HISTORY)


def _values(good: Rows, side: Sequence[_Series], index: int, name: str) -> list[object]:
    """Those of a label, which is the one with this *index*, among the series of one *side*."""
    distinct = {one.key[index]: one.run for one in side}
    return [good[run].settings.get(name, NOT_SET) for run in distinct.values()]


def _labels(good: Rows, workload: Workload) -> list[str]:
    """The settings that tell series apart: of those that are alike in all runs :func:`.keys` has no code."""
    apart = {*workload.regression.comparison_keys, *workload.regression.ignored_keys}
    of_model = workload.label_names
    return [name for name in varying(good) if name not in apart and (not of_model or name in of_model)]


def _series(of_runs: Sequence[Key], versions: Sequence[int | None]) -> list[_Series]:
    found: dict[Key, tuple[int, int, int]] = {}
    for run, (key, version) in enumerate(zip(of_runs, versions, strict=True)):
        if version is not None:
            first, last, known = found.get(key, (version, version, run))
            found[key] = min(first, version), max(last, version), known
    return [_Series(key, *known) for key, known in found.items()]


def _followed(every: Sequence[_Series]) -> Iterator[tuple[list[int], list[_Series], list[_Series]]]:
    """Which labels have no value in common before and since a version, the series that end there, and those that begin.

    All others of these are alike. Series that were short tell nothing, and one that goes on beside them is of a sweep,
    of which a value was given up for another.
    """
    newest = max((one.last for one in every), default=0)
    beginning = grouped((one.first, one) for one in every if one.last == newest)
    ended_before = (one for one in every if one.last != newest and one.last - one.first >= FEWEST_VERSIONS - 1)
    ending = grouped((one.last, one) for one in ended_before)
    for last, ended in sorted(ending.items()):
        begun = beginning.get(last + 1)
        if not begun:
            continue
        sides = [[set(codes) for codes in zip(*(one.key for one in side), strict=True)] for side in (ended, begun)]
        changed = [place for place, (old, new) in enumerate(zip(*sides, strict=True)) if not old & new]
        alike = {one.without(changed) for one in ended} & {one.without(changed) for one in begun}
        alike -= {one.without(changed) for one in every if one.first <= last < one.last}
        if changed and alike:
            ended, begun = ([one for one in side if one.without(changed) in alike] for side in (ended, begun))
            yield changed, ended, begun


def _some_have(least: int, good: Rows, names: Sequence[str], versions: Sequence[int]) -> bool:
    """Whether some of the runs that are alike in *names* have so many of the *versions*."""
    found: dict[tuple[int, ...], set[int]] = {}
    for key, version in zip(keys(good, names), versions, strict=True):
        of_key = found.setdefault(key, set())
        of_key.add(version)
        if len(of_key) >= least:
            return True
    return False
