"""Which versions may be cut: 1.1 may be 1.10 as a spreadsheet writes it, and a commit's hash the beginning of it."""

from __future__ import annotations

import collections
import re
from collections.abc import Collection, Sequence

from ...matrix import Entry, typed


def is_hash(text: str) -> bool:
    """Whether it is the beginning of a commit's hash; words and numbers are none."""
    return re.fullmatch(r"(?=.*\d)(?=.*[a-f])[0-9a-f]{7,64}", text) is not None


def may_be_cut(text: str, versions: Collection[object]) -> bool:
    """Whether one of *versions* is next to *text* with a 0 behind it, and none to itself."""
    return not _next_to(f"{text}0").isdisjoint(versions) and _next_to(text).isdisjoint(versions)


def _next_to(text: str) -> set[object]:
    """The versions before and after one such as 1.10, as numbers."""
    if match := re.fullmatch(r"(\d+)\.(\d{1,9})", text):
        return {float(f"{match[1]}.{int(match[2]) + step}") for step in (-1, 1) if int(match[2]) + step >= 0}
    return set()


def are_two(name: str, short: Sequence[Entry], long: Sequence[Entry], others: Sequence[Entry]) -> bool:
    """Whether 1.1, with these *short* runs, and 1.10 are two versions: the first was measured before those of *others*
    that lie between them, or both have as many runs as each other, and as most others, at each point.
    """
    low, high = (_numbers(runs[0].settings[name]) for runs in (short, long))
    between = [run for run in others if low < _numbers(run.settings[name]) < high]
    times, theirs = ([run.time_us for run in runs if run.time_us is not None] for runs in (short, between))
    if between and len(times) == len(short) and len(theirs) == len(between):
        if min(times) > max(theirs):
            return False
        if min(times) < min(theirs) and max(times) < max(theirs):
            return True
    points = [_points(name, runs) for runs in (short, long)]
    of_others = collections.defaultdict[object, list[Entry]](list)
    for run in others:
        of_others[typed(run.settings[name])].append(run)
    are_no_more = [_points(name, runs) <= points[0] for runs in of_others.values()]
    return points[0] == points[1] and 2 * sum(are_no_more) > len(are_no_more)


def _points(name: str, runs: Sequence[Entry]) -> collections.Counter[object]:
    """How many of *runs* are at each point of one version."""
    return collections.Counter(
        frozenset((each, *typed(value)) for each, value in run.settings.items() if each != name) for run in runs
    )


def _numbers(version: object) -> tuple[int, ...]:
    match = re.fullmatch(r"[vV]?(\d+)\.(\d{1,9})", str(version))
    return (int(match[1]), int(match[2])) if match else ()
