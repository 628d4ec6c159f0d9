"""How likely it is that some runs fail so much more often than others: with which values of settings, since when."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from ..filters import Scalar, show
from ..grouped import grouped
from ..matrix import TREE, Entry, typed
from ..rows import Rows
from ..workload import RegressionKeys, Workload
from .blocks import Block, blocks_of
from .intervals import CONFIDENCE
from .noise import Floats
from .points import keys, varying
from .select.order import Order

Counts = tuple[int, int]
"""How many runs failed, and how many there are."""
_NEGLIGIBLE = 1e-12
MOST_VALUES = 60  # a setting with more values names tests rather than a cause; it isn't looked at


class Prone(msgspec.Struct, frozen=True):
    """A value of a setting whose tests fail more often than those without it."""

    setting: str
    value: object
    failed_with: int  # of the tests with it
    tests_with: int
    failed: int  # of all tests
    # One-sided, of Fisher's exact test (Fisher 1935, The Design of Experiments), times the number of values that were
    # looked at (Bonferroni's correction).
    p_value: float

    def __str__(self) -> str:
        share = f"All {self.failed}" if self.failed_with == self.failed else f"{self.failed_with} of {self.failed}"
        all_of_it = "all" if self.failed_with == self.tests_with else f"{self.failed_with}"
        return (
            f"{share} failed tests have {self.setting}={show(self.value)}; "
            f"of the {self.tests_with} with it {all_of_it} failed."
        )


def chance(new: Counts, old: Counts, clump: float = 1.0) -> float:
    """That of as many failed *new* runs as there are, or more, if they fail as often as *old* ones.

    One-sided, of Fisher's exact test (Fisher 1935, The Design of Experiments), in which a *clump* of runs counts once.
    """
    if new[0] * old[1] <= old[0] * new[1]:
        return 1.0
    failed, runs, every, bad = (count / clump for count in (*new, new[1] + old[1], new[0] + old[0]))
    whole, total = _ways(every, runs), 0.0
    for more in range(math.floor(min(runs, bad) - failed + _NEGLIGIBLE) + 1):
        each = math.exp(_ways(bad, failed + more) + _ways(every - bad, runs - failed - more) - whole)
        total += each
        if each <= _NEGLIGIBLE * total:  # they only fall, beyond the mean
            break
    return min(total, 1.0)


def _ways(every: float, some: float) -> float:
    """The logarithm of how many ways there are to choose *some* of *every*."""
    return math.lgamma(every + 1) - math.lgamma(some + 1) - math.lgamma(every - some + 1)


def prone_values(tests: Sequence[Entry]) -> list[Prone]:
    """The values with which tests fail more often than chance explains, at 95 % over all of them; the surest first."""
    failed = sum(test.failed for test in tests)
    if not failed:
        return []
    counts = _counts(tests)
    found = []
    for (setting, _), (value, bad, total) in counts.items():
        p_value = chance((bad, total), (failed - bad, len(tests) - total)) * len(counts)
        if p_value < 1 - CONFIDENCE:
            found.append(Prone(setting, value, bad, total, failed, p_value))
    return sorted(found, key=lambda one: (one.p_value, one.setting, show(one.value)))


def _counts(tests: Sequence[Entry]) -> dict[tuple[str, object], tuple[object, int, int]]:
    """For each setting and value that not all tests have: the value, how many with it failed, how many there are."""
    values: dict[str, dict[object, tuple[object, int, int]]] = {}
    for test in tests:
        for name, value in test.settings.items():
            known = values.setdefault(name, {})
            _, bad, total = known.get(typed(value), (value, 0, 0))
            known[typed(value)] = (value, bad + test.failed, total + 1)
    return {
        (name, kind): count
        for name, known in values.items()
        if len(known) <= MOST_VALUES
        for kind, count in known.items()
        if count[2] < len(tests)
    }


CHANCE, OF_A_PAIR = 0.005, 0.05
"""Up to which chance of as many failed runs it is said: of a history at each version, of two sides once."""
_LONGEST = 30  # versions that may have failed together


def clumps(before: Sequence[Sequence[Counts]], since: Sequence[Sequence[Counts]]) -> list[float]:
    """How many runs fail together, by how the counts of a group vary *before* and *since* each place; 1 by chance.

    The last is at the end. It is the dispersion of McCullagh and Nelder (1989, Generalized Linear Models, 4.5).
    """
    found = [_varied(np.array(group, dtype=float)) for group in before]
    found += [_varied(np.array(group[::-1], dtype=float))[:, ::-1] for group in since]
    spread, by_chance = sum(found, np.zeros((2, 1)))
    return [*map(float, np.maximum(spread / np.where(by_chance > 0.0, by_chance, np.inf), 1.0))]


def _varied(counts: Floats) -> Floats:
    """The squares by which as many *counts* as there are up to each place are off their share; by chance, as many."""
    failed, runs = np.vstack([np.zeros((1, 2)), counts]).T
    bad, every, squares, products, of_runs = (
        np.cumsum(each) for each in (failed, runs, failed**2, failed * runs, runs**2)
    )
    count, share = np.cumsum(runs > 0.0), bad / np.maximum(every, 1.0)
    off = (squares - 2.0 * share * products + share**2 * of_runs) * count / np.maximum(count - 1, 1)
    return np.where(count > 1, [off, every * share * (1.0 - share)], 0.0)


class Past(NamedTuple):
    """What came before, by version, with how many runs fail together, and how much its chance weighs."""

    known: Sequence[Counts]
    clumped: Sequence[float]
    weight: float


def began(seen: Sequence[Counts], pasts: Sequence[Past]) -> tuple[int, float]:
    """With which of the versions, in their order, runs began to fail as the last ones do, and the chance of it.

    That counts how many beginnings were looked at: half of it is the newest version's, a quarter the one's before …

    Args:
        seen: of each version what is seen to have failed.
        pasts: the same with what may have, as :func:`_counted` has it: each has to be worse since.
    """
    found = len(seen), 1.0
    if not seen or not seen[-1][0]:
        return found
    for start in range(len(seen) - 1, max(len(seen) - _LONGEST, 1) - 1, -1):
        if seen[start][0]:
            new, looks = _sum(seen[start:]), 2.0 ** (len(seen) - start)
            one = looks * max(chance(new, _sum(of.known[:start]), of.clumped[start]) * of.weight for of in pasts)
            found = min(found, (start, one), key=lambda each: each[1])
    return found


def _sum(counts: Iterable[Counts]) -> Counts:
    failed, runs = zip(*counts, strict=True)
    return sum(failed), sum(runs)


def fails_more(rows: Rows, order: Order, workload: Workload) -> tuple[str, ...]:
    """That runs fail more often since one of the newest versions: all together, or else those of single points."""
    axis, is_bad = order.axis, rows.failed()
    if axis is None or not any(is_bad):
        return ()
    placed, (values, codes) = order.of(axis).places, rows.setting(axis)
    of_code = [placed.get(typed(value)) for value in values]
    versions = [of_code[code] for code in codes]
    known = {place: show(values[code]) for place, code in zip(versions, codes, strict=True) if place is not None}
    # A point that is new, and fails, was never good.
    points = [each for each in _counted(rows, versions, workload) if len(each.seen) > 1]
    in_order = sorted(known)
    if not points:
        return ()
    by_point = [_in(in_order, point.known) for point in points]
    together, every = _of_all(in_order, [point.seen for point in points], by_point)
    own = clumps(by_point, by_point)
    sure = []
    for point, counts in zip(points, by_point, strict=True):
        one = _told(_in(in_order, point.seen), [Past(counts, own, CHANCE / OF_A_PAIR), every])
        if one is not None:
            sure.append((point, one))
    if together is not None:
        is_of_few = 0 < 2 * len(sure) <= len(points) and sum(one.new[0] for _, one in sure) >= together.new[0]
        if not is_of_few:
            return (_said("Runs", together, known),)
    if not sure:
        return ()
    first, since = min(sure, key=lambda each: each[1].chance)
    return (_said(_runs_of(first, len(sure) - 1, rows, workload), since, known),)


def _runs_of(point: _Point, more: int, rows: Rows, workload: Workload) -> str:
    """``Runs of size 8 (and those of 2 more)``."""
    settings, apart = rows[point.place].settings, _apart(rows, workload)
    what = ", ".join(f"{name} {show(settings[name])}" for name in varying(rows) if name in apart and name in settings)
    return f"Runs of {what}" + (f" (and those of {more} more)" if more else "")


class _Point(msgspec.Struct, frozen=True):
    """How many of its runs failed, by version: what is *seen*, and what may have where a history says nothing."""

    place: int  # of one of its runs
    seen: Mapping[int, Counts]
    known: Mapping[int, Counts]


def _counted(rows: Rows, versions: Sequence[int | None], workload: Workload) -> list[_Point]:
    """The points of *rows*, of which those without a version take no part.

    A history has no failed runs: where it has fewer of a version than the point has elsewhere, the others may have.
    """
    is_kept = [kept is not None for kept in rows.values("kept_in")]
    of_history = {version for version, kept in zip(versions, is_kept, strict=True) if kept and version is not None}
    firsts: dict[tuple[int, ...], int] = {}
    counts: dict[tuple[int, ...], dict[int, Counts]] = {}
    for place, (point, version, bad) in enumerate(
        zip(keys(rows, _apart(rows, workload)), versions, rows.failed(), strict=True)
    ):
        if version is not None:
            seen = counts.setdefault(point, {})
            failed, runs = seen.get(version, (0, 0))
            seen[version] = failed + bad, runs + 1
            firsts.setdefault(point, place)
    found = []
    for point, seen in counts.items():
        most, first = max(runs for _, runs in seen.values()), min(seen)
        known = dict(seen)
        for version in of_history:
            failed, runs = seen.get(version, (0, 0))
            if version >= first:
                known[version] = failed + most - runs, most
        found.append(_Point(firsts[point], seen, known))
    return found


def _apart(rows: Rows, workload: Workload) -> list[str]:
    """The settings by which points are told apart, whatever their version."""
    keys_of = workload.regression
    others = {TREE, *keys_of.comparison_keys, *keys_of.ignored_keys}
    return [name for name in rows.names() if name not in others]


class _Since(NamedTuple):
    """With which version runs began to fail more often: the chance of it, and how many failed since and before."""

    chance: float
    place: int  # of the version
    new: Counts
    old: Counts


def _of_all(
    versions: Sequence[int], seen: Iterable[Mapping[int, Counts]], known: Sequence[Sequence[Counts]]
) -> tuple[_Since | None, Past]:
    """Since when runs of all points together fail more often, and the past of all against which each is held."""
    of_versions = [*zip(*known, strict=True)]
    every, cells = [*map(_sum, of_versions)], [counts for of_points in of_versions for counts in of_points]
    together = _told(_in(versions, _by_version(seen)), [Past(every, clumps([every], [every]), 1.0)])
    return together, Past(every, clumps([cells], [])[:: len(known)], len(known))


def _in(versions: Sequence[int], counts: Mapping[int, Counts]) -> list[Counts]:
    return [counts.get(version, (0, 0)) for version in versions]


def _told(seen: Sequence[Counts], pasts: Sequence[Past]) -> _Since | None:
    """Since when runs fail more often at the newest of all versions than in all *pasts*; None where that is chance."""
    start, of_chance = began(seen, pasts)
    if of_chance > CHANCE:
        return None
    return _Since(of_chance, start, _sum(seen[start:]), _sum(pasts[0].known[:start]))


def _by_version(points: Iterable[Mapping[int, Counts]]) -> dict[int, Counts]:
    counts = grouped(each for point in points for each in point.items())
    return {version: _sum(of_points) for version, of_points in counts.items()}


def _said(what: str, since: _Since, known: Mapping[int, str]) -> str:
    versions = sorted(known)
    at = "at" if since.place == len(versions) - 1 else "since"
    new, old = (f"{failed:,} of {runs:,}" for failed, runs in (since.new, since.old))
    return f"{what} fail more often {at} {known[versions[since.place]]}: {new}, and {old} before."


def sides_fail(
    names: tuple[str, str], rows: Rows, sides: Sequence[int | None], workload: Workload
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """That runs of the new one of two sides fail more often, at the points that both have; and that they may.

    All of a point may be one outage, so that it is more than chance alone is no more than suspected.

    *names* and numbers are those of the old side, 0, and the new one, 1; a run of neither has None.
    """
    counted = _counted(rows, sides, workload) if any(rows.failed()) else []
    both = [point for point in counted if len(point.seen) == 2]
    if not both:
        return (), ()
    new, old = _sum(point.seen[1] for point in both), _sum(point.known[0] for point in both)
    is_chance = chance(new, old) > OF_A_PAIR
    blocks = [] if is_chance else _by_block(rows, sides)
    groups = blocks or [[point.seen[side] for point in both] for side in (0, 1)]
    if is_chance or chance(new, old, clumps(groups, [])[-1]) > OF_A_PAIR:
        lost = [one for one in both if len({*one.seen[1]}) == 1 and chance(one.seen[1], one.known[0]) <= OF_A_PAIR]
        if not lost:
            return (), ()
        what, (failed, old_runs) = _runs_of(lost[0], len(lost) - 1, rows, workload), lost[0].known[0]
        counts = f"all {lost[0].seen[1][1]:,}, and {failed:,} of {old_runs:,} of {names[0]}"
        return (), (f"{what} may fail more often at {names[1]}: {counts}; an outage could be why.",)
    counts = f"{new[0]:,} of {new[1]:,}, and {old[0]:,} of {old[1]:,} of {names[0]}"
    if blocks or 2 * new[0] > new[1]:
        return (f"Runs of {names[1]} fail more often: {counts}.",), ()
    return (), (f"Runs of {names[1]} may fail more often: {counts}; a campaign alone may have had an outage.",)


def _by_block(rows: Rows, sides: Sequence[int | None]) -> list[list[Counts]]:
    """How many runs of each side failed in each common block, else in each campaign; empty where one speaks alone."""
    blocks = blocks_of(rows)
    of_sides = [{block for block, of in zip(blocks, sides, strict=True) if of == side} for side in (0, 1)]
    if len(of_sides[0] & of_sides[1]) < 2:
        blocks = [Block(block.campaign, None) for block in blocks]
        of_sides = [{Block(block.campaign, None) for block in side} for side in of_sides]
        if min(map(len, of_sides)) < 2:
            return []
    runs = grouped(zip(zip(sides, blocks, strict=True), rows.failed(), strict=True))
    every = of_sides[0] | of_sides[1]
    bad = [[runs.get((side, block), []) for block in every] for side in (0, 1)]
    return [[(sum(each), len(each)) for each in side] for side in bad]


def versions_fail(
    names: tuple[str, str], rows: Rows, axis: str | None, workload: Workload
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The same of two versions, values of *axis* in words, of which the second one is the new one."""
    if axis is None:
        return (), ()
    values, codes = rows.setting(axis)
    of_code = [names.index(text) if (text := show(value)) in names else None for value in values]
    return sides_fail(names, rows, [of_code[code] for code in codes], workload)


def values_fail(
    of: tuple[Scalar, Scalar], rows: Rows, setting: str, workload: Workload
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The same of two values of any *setting*, at points that differ in nothing else, their version neither."""
    ignored = [*workload.regression.ignored_keys, setting]
    told = dataclasses.replace(workload, regression=RegressionKeys(ignored_keys=ignored))
    places = {typed(value): place for place, value in enumerate(of)}
    values, codes = rows.setting(setting)
    old, new = map(show, of)
    return sides_fail((old, new), rows, [places.get(typed(values[code])) for code in codes], told)
