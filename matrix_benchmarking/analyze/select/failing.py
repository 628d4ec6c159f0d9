"""Whether the runs of the newest versions, or of the newer side, fail more often than those before: in sentences."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from ...filters import show
from ...matrix import TREE, typed
from ...rows import Rows
from ...workload import Workload
from ..points import keys, varying
from .order import Order

Counts = tuple[int, int]
"""How many runs failed, and how many there are."""
CHANCE, OF_A_PAIR = 0.005, 0.05
"""Up to which chance of as many failed runs it is said: of a history at each version, of two sides once."""
_LONGEST = 30  # versions that may have failed together
_NEGLIGIBLE = 1e-12


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


def began(versions: Sequence[Counts]) -> tuple[int, float]:
    """With which of the *versions*, in their order, runs began to fail as the last ones do, and the chance of it.

    That counts how many beginnings were looked at: half of it is the newest version's, a quarter the one's before …
    """
    found = len(versions), 1.0
    if not versions or not versions[-1][0]:
        return found
    for start in range(len(versions) - 1, max(len(versions) - _LONGEST, 1) - 1, -1):
        if versions[start][0]:
            new, old = _sum(versions[start:]), _sum(versions[:start])
            one = chance(new, old) * 2.0 ** (len(versions) - start)
            found = min(found, (start, one), key=lambda each: each[1])
    return found


def _sum(counts: Iterable[Counts]) -> Counts:
    failed, runs = zip(*counts, strict=True)
    return sum(failed), sum(runs)


def fails_more(rows: Rows, order: Order, workload: Workload) -> list[str]:
    """That runs fail more often since one of the newest versions: all together, or else those of single points."""
    axis, is_bad = order.axis, rows.failed()
    if axis is None or not any(is_bad):
        return []
    placed, (values, codes) = order.of(axis).places, rows.setting(axis)
    of_code = [placed.get(typed(value)) for value in values]
    versions = [of_code[code] for code in codes]
    known = {place: show(values[code]) for place, code in zip(versions, codes, strict=True) if place is not None}
    of_points: dict[tuple[int, ...], list[tuple[int, int]]] = {}
    for place, (point, version) in enumerate(zip(_points(rows, workload), versions, strict=True)):
        if version is not None:
            of_points.setdefault(point, []).append((version, place))
    # A point that is new, and fails, was never good.
    points = [each for each in of_points.values() if len({version for version, _ in each}) > 1]
    last = max(known, default=0)
    together = _told([each for point in points for each in point], is_bad, last)
    told = [(point, one) for point in points if (one := _told(point, is_bad, last)) is not None]
    sure = [(point, one) for point, one in told if one[0] * len(points) <= CHANCE]
    of_sure = sum(failed for _, (_, (_, (failed, _), _)) in sure)
    if together is not None and together[0] <= CHANCE and of_sure < together[1][1][0]:
        return [_said("Runs", together[1], known)]
    if not sure:
        return []
    first, (_, since) = min(sure, key=lambda each: each[1][0])
    settings = rows[first[0][1]].settings
    apart = _apart(rows, workload)
    what = ", ".join(f"{name} {show(settings[name])}" for name in varying(rows) if name in apart and name in settings)
    more = f" (and those of {len(sure) - 1} more)" if len(sure) > 1 else ""
    return [_said(f"Runs of {what}{more}", since, known)]


def _apart(rows: Rows, workload: Workload) -> list[str]:
    """The settings by which points are told apart, whatever their version."""
    keys_of = workload.regression
    others = {TREE, *keys_of.comparison_keys, *keys_of.ignored_keys}
    return [name for name in rows.names() if name not in others]


def _points(rows: Rows, workload: Workload) -> list[tuple[int, ...]]:
    return keys(rows, _apart(rows, workload))


Since = tuple[int, Counts, Counts]
"""The place of the first version since when, and how many runs failed since and before."""


def _told(runs: Sequence[tuple[int, int]], is_bad: Sequence[bool], last: int) -> tuple[float, Since] | None:
    """Since when *runs*, each its version and its place, fail more often, and the chance of it; None if they don't.

    *last* is the newest version of all, at which they have to be.
    """
    of_versions: dict[int, list[bool]] = {}
    for version, place in runs:
        of_versions.setdefault(version, []).append(is_bad[place])
    if last not in of_versions:
        return None
    in_order = sorted(of_versions)
    counted = [(sum(of_versions[version]), len(of_versions[version])) for version in in_order]
    start, of_chance = began(counted)
    if start == len(in_order):
        return None
    return of_chance, (in_order[start], _sum(counted[start:]), _sum(counted[:start]))


def _said(what: str, since: Since, known: Mapping[int, str]) -> str:
    version, (failed, runs), (failed_before, runs_before) = since
    at = "at" if version == max(known) else "since"
    before = f"{failed_before:,} of {runs_before:,} before"
    return f"{what} fail more often {at} {known[version]}: {failed:,} of {runs:,}, and {before}."


def sides_fail(names: tuple[str, str], rows: Rows, sides: Sequence[int | None], workload: Workload) -> list[str]:
    """That runs of the new one of two sides fail more often, at the points that both have.

    *names* and numbers are those of the old side, 0, and the new one, 1; a run of neither has None.
    """
    is_bad, points = rows.failed(), _points(rows, workload)
    if not any(is_bad):
        return []
    there = [{point for point, of in zip(points, sides, strict=True) if of == side} for side in (0, 1)]
    counted = [[0, 0], [0, 0]]
    for bad, point, side in zip(is_bad, points, sides, strict=True):
        if side is not None and point in there[0] and point in there[1]:
            counted[side][0] += bad
            counted[side][1] += 1
    old, new = ((failed, runs) for failed, runs in counted)
    if not new[1] or chance(new, old) > OF_A_PAIR:
        return []
    return [
        f"Runs of {names[1]} fail more often: {new[0]:,} of {new[1]:,}, and {old[0]:,} of {old[1]:,} of {names[0]}."
    ]


def versions_fail(names: tuple[str, str], rows: Rows, axis: str | None, workload: Workload) -> tuple[str, ...]:
    """The same of two versions, values of *axis* in words, of which the second one is the new one."""
    if axis is None:
        return ()
    values, codes = rows.setting(axis)
    of_code = [names.index(text) if (text := show(value)) in names else None for value in values]
    return tuple(sides_fail(names, rows, [of_code[code] for code in codes], workload))
