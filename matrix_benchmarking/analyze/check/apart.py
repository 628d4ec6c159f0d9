"""Findings on what nothing compares, though somebody may think so: runs of other groups, series that end too soon."""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Iterator, Mapping, Sequence

from ...errors import MatbenchError
from ...matrix import NOT_SET, typed
from ...rows import Rows
from ...workload import Workload
from ..points import keys
from ..select.order import Order
from ..select.versions import in_words
from .finding import ANALYSES, Finding, are_few, runs_have
from .settings import written

Key = tuple[int, ...]
"""What identifies a series among others, by its labels."""


def group_findings(good: Rows, workload: Workload) -> Iterator[Finding]:
    """A setting within which runs are compared that some don't say, beside others that do and are else of one group."""
    names = set(good.names())
    for name in (each for each in workload.group_keys if each in names):
        values, codes = good.setting(name)
        said = [value is not NOT_SET for value in values]
        of_rest = keys(good, [each for each in workload.group_keys if each != name])
        beside = {rest for rest, code in zip(of_rest, codes, strict=True) if said[code]}
        without = good.where(not said[code] and rest in beside for rest, code in zip(of_rest, codes, strict=True))
        if without and not are_few(len(without), len(good)):  # which `missing-setting` says
            others = sum(said[code] for code in codes)
            what = f"{runs_have(without)} no '{name}', which {others} {'has' if others == 1 else 'have'}"
            yield Finding.of("apart", f"{what}: another group, ranked apart and compared with none of those.", without)


FEWEST_VERSIONS = 3


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


@dataclasses.dataclass(frozen=True, slots=True)
class _Series:
    """The runs that are alike in their labels: their first and last version, by place, and the place of a run."""

    key: Key
    first: int
    last: int
    run: int


def ended_findings(good: Rows, workload: Workload, order: Order) -> Iterator[Finding]:
    """A setting that got another value with a version, or came up: series end there, and others begin."""
    axis = order.axis
    if axis is None or axis not in good.names():
        return
    try:
        places = order.of(axis).places
    except MatbenchError:  # which another finding says
        return
    versions, codes = good.setting(axis)
    at = [places.get(typed(version)) for version in versions]
    said = dict(zip(at, in_words(versions), strict=True))
    names = _labels(good, workload)
    every = _series(keys(good, names), [at[code] for code in codes])
    for index, name in enumerate(names):
        for (last, first), both in _followed(every, index).items():
            sides, count = [list({one.key[index]: one for one in side}.values()) for side in both], len(both[0])
            if [len(side) for side in sides] == [1, 1]:
                before, since = (written(good[one.run].settings.get(name, NOT_SET)) for (one,) in sides)
                what = f"'{name}' is {since} since {said[first]}, and was {before} up to {said[last]}"
                way = f"what was measured before is of {count} other series, which `ignoring`={name} compares."
            else:
                ends = f"{count} series {'ends' if count == 1 else 'end'} at {said[last]}"
                what = f"{ends}, and others that differ in '{name}' alone begin at {said[first]}"
                way = "nothing compares them; was it renamed?"
            yield Finding("splits-history", f"{what}: {way}", ANALYSES)


def _labels(good: Rows, workload: Workload) -> list[str]:
    """The settings that tell series apart."""
    apart = {*workload.regression.comparison_keys, *workload.regression.ignored_keys}
    of_model = workload.label_names
    return [name for name in good.names() if name not in apart and (not of_model or name in of_model)]


def _series(of_runs: Sequence[Key], versions: Sequence[int | None]) -> list[_Series]:
    found: dict[Key, _Series] = {}
    for run, (key, version) in enumerate(zip(of_runs, versions, strict=True)):
        if version is not None:
            one = found.get(key) or _Series(key, version, version, run)
            if not one.first <= version <= one.last or key not in found:
                found[key] = _Series(key, min(one.first, version), max(one.last, version), one.run)
    return list(found.values())


def _followed(every: Sequence[_Series], index: int) -> Mapping[tuple[int, int], tuple[list[_Series], list[_Series]]]:
    """The series that end before the newest version where others begin that differ at *index* alone, and these.

    By the last version of the ones and the first of the others. A third that was there before and since is of a sweep,
    of which one value was given up for another.
    """
    newest = max((one.last for one in every), default=0)
    alike = collections.defaultdict[Key, list[_Series]](list)
    for one in every:
        alike[one.key[:index] + one.key[index + 1 :]].append(one)
    found: dict[tuple[int, int], tuple[list[_Series], list[_Series]]] = {}
    for those in alike.values():
        for last in {one.last for one in those if one.last < newest}:
            begun = [one for one in those if one.first == last + 1 and one.last == newest]
            if begun and not any(one.first <= last < one.last for one in those):
                ended, others = found.setdefault((last, last + 1), ([], []))
                ended += [one for one in those if one.last == last]
                others += begun
    return found


def _some_have(least: int, good: Rows, names: Sequence[str], versions: Sequence[int]) -> bool:
    """Whether some of the runs that are alike in *names* have so many of the *versions*."""
    found: dict[tuple[int, ...], set[int]] = {}
    for key, version in zip(keys(good, names), versions, strict=True):
        of_key = found.setdefault(key, set())
        of_key.add(version)
        if len(of_key) >= least:
            return True
    return False
