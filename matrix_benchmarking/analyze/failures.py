"""How likely it is that some runs fail so much more often than others: with which values of settings, since when."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from ..filters import show
from ..grouped import grouped
from ..matrix import TREE, Entry, typed
from ..rows import Rows
from ..workload import Workload
from .intervals import CONFIDENCE
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


def chance(new: Counts, old: Counts) -> float:
    """That of as many failed *new* runs as there are, or more, if they fail as often as *old* ones.

    One-sided, of Fisher's exact test (Fisher 1935, The Design of Experiments).
    """
    (failed, runs), every, bad = new, new[1] + old[1], new[0] + old[0]
    if failed * old[1] <= old[0] * runs:
        return 1.0
    whole, total = _ways(every, runs), 0.0
    for count in range(failed, min(runs, bad) + 1):
        each = math.exp(_ways(bad, count) + _ways(every - bad, runs - count) - whole)
        total += each
        if each <= _NEGLIGIBLE * total:  # they only fall, beyond the mean
            break
    return min(total, 1.0)


def _ways(every: int, some: int) -> float:
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


def began(seen: Sequence[Counts], known: Sequence[Counts]) -> tuple[int, float]:
    """With which of the versions, in their order, runs began to fail as the last ones do, and the chance of it.

    That counts how many beginnings were looked at: half of it is the newest version's, a quarter the one's before …

    Args:
        seen: of each version what is seen to have failed.
        known: the same with what may have, as :func:`_counted` has it: so much is taken of versions before.
    """
    found = len(seen), 1.0
    if not seen or not seen[-1][0]:
        return found
    for start in range(len(seen) - 1, max(len(seen) - _LONGEST, 1) - 1, -1):
        if seen[start][0]:
            one = chance(_sum(seen[start:]), _sum(known[:start])) * 2.0 ** (len(seen) - start)
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
    last = max(known, default=0)
    together = _told(points, last)
    told = [(point, one) for point in points if (one := _told([point], last)) is not None]
    sure = [(point, one) for point, one in told if one.chance * len(points) <= CHANCE]
    if together is not None and together.chance <= CHANCE:
        is_of_few = 0 < 2 * len(sure) <= len(points) and sum(one.new[0] for _, one in sure) >= together.new[0]
        if not is_of_few:
            return (_said("Runs", together, known),)
    if not sure:
        return ()
    first, since = min(sure, key=lambda each: each[1].chance)
    settings, apart = rows[first.place].settings, _apart(rows, workload)
    what = ", ".join(f"{name} {show(settings[name])}" for name in varying(rows) if name in apart and name in settings)
    more = f" (and those of {len(sure) - 1} more)" if len(sure) > 1 else ""
    return (_said(f"Runs of {what}{more}", since, known),)


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
    version: int
    new: Counts
    old: Counts


def _told(points: Sequence[_Point], last: int) -> _Since | None:
    """Since when runs of *points* fail more often, and the chance of it; None if they don't.

    *last* is the newest version of all, at which they have to be.
    """
    seen, known = (_by_version([getattr(point, name) for point in points]) for name in ("seen", "known"))
    if last not in seen:
        return None
    in_order = sorted(known)
    as_seen, as_known = ([counts.get(version, (0, 0)) for version in in_order] for counts in (seen, known))
    start, of_chance = began(as_seen, as_known)
    if start == len(in_order):
        return None
    return _Since(of_chance, in_order[start], _sum(as_seen[start:]), _sum(as_known[:start]))


def _by_version(points: Iterable[Mapping[int, Counts]]) -> dict[int, Counts]:
    counts = grouped(each for point in points for each in point.items())
    return {version: _sum(of_points) for version, of_points in counts.items()}


def _said(what: str, since: _Since, known: Mapping[int, str]) -> str:
    at = "at" if since.version == max(known) else "since"
    new, old = (f"{failed:,} of {runs:,}" for failed, runs in (since.new, since.old))
    return f"{what} fail more often {at} {known[since.version]}: {new}, and {old} before."


def sides_fail(names: tuple[str, str], rows: Rows, sides: Sequence[int | None], workload: Workload) -> tuple[str, ...]:
    """That runs of the new one of two sides fail more often, at the points that both have.

    *names* and numbers are those of the old side, 0, and the new one, 1; a run of neither has None.
    """
    counted = _counted(rows, sides, workload) if any(rows.failed()) else []
    both = [(point.seen[1], point.known[0]) for point in counted if len(point.seen) == 2]
    if not both:
        return ()
    new, old = map(_sum, zip(*both, strict=True))
    if chance(new, old) > OF_A_PAIR:
        return ()
    of_old = f"{old[0]:,} of {old[1]:,} of {names[0]}"
    return (f"Runs of {names[1]} fail more often: {new[0]:,} of {new[1]:,}, and {of_old}.",)


def versions_fail(names: tuple[str, str], rows: Rows, axis: str | None, workload: Workload) -> tuple[str, ...]:
    """The same of two versions, values of *axis* in words, of which the second one is the new one."""
    if axis is None:
        return ()
    values, codes = rows.setting(axis)
    of_code = [names.index(text) if (text := show(value)) in names else None for value in values]
    return sides_fail(names, rows, [of_code[code] for code in codes], workload)
