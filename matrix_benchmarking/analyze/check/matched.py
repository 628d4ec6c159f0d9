"""One value of a setting beside the others, at points that are matched: alike in all else."""

from __future__ import annotations

import collections
import itertools
import math
import re
import statistics
from collections.abc import Collection, Iterator, Mapping, Sequence

from ...filters import show
from ...kpi import KPIDefinition
from ...matrix import NOT_SET
from ...rows import Rows
from ...workload import Workload
from ..points import keys
from ..words import count_of
from .finding import EVERY, AnswerKind, Finding, Points, are_few

OF_A_UNIT, FEWEST_PAIRS = 100, 4
"""A value of a setting is of another unit if so many times lie between it and each other one at so many points."""
UNIFORM = 2.0
"""How many times as large the largest of these ratios may be as the smallest: what is faster isn't so everywhere."""
THOUSANDS = ((400.0, 2500.0), (4e5, 2.5e6))
"""Between which the ratio to all others is in the middle: what is 100 times as fast is in memory, or compiled."""
DIGITS = 9  # significant ones that chance doesn't repeat
MOST_BY_CHANCE = 1e-3  # the chance up to which equal values are a copy
MOST_ALIKE = 20  # values of a setting whose runs are the same: copies are told of so many
_MEASURED = re.compile(r"[\d.]+\s*[A-Za-z]*")


class Matched:
    """The points by each setting: those that are alike in the rest, by its value."""

    def __init__(self, good: Rows, points: Points, workload: Workload) -> None:
        self.good, self.points = good, points
        self._firsts = good.at(places[0] for places in points)
        self._versions, self._groups = workload.regression.comparison_keys, workload.group_keys
        self._known: dict[str, list[Mapping[int, int]]] = {}

    def by_setting(self, *, of_words: bool) -> Iterator[tuple[str, Sequence[object], list[Mapping[int, int]]]]:
        """The name of a setting, its values, and of points that are alike in the rest the place by the value's code.

        *of_words*: of versions, and of settings that are words and are compared: of numbers a value may well be a
        thousand times higher.
        """
        names = self._firsts.names()
        for name in names:
            values, codes = self._firsts.setting(name)
            there = set(codes)
            are_words = name not in self._groups and all(_is_word(values[each]) for each in there)
            if len(there) < 2 or (of_words and not (are_words or name in self._versions)):
                continue
            if name not in self._known:
                alike: dict[object, dict[int, int]] = {}
                rests = keys(self._firsts, [each for each in names if each != name])
                for place, (rest, code) in enumerate(zip(rests, codes, strict=True)):
                    alike.setdefault(rest, {})[code] = place
                self._known[name] = [*alike.values()]
            yield name, values, self._known[name]


def _is_word(value: object) -> bool:
    return value is not NOT_SET and isinstance(value, str) and not _MEASURED.fullmatch(value)


def of_another_unit(
    matched: Matched, medians: Sequence[float | None], kpi: KPIDefinition, changes: frozenset[AnswerKind]
) -> Iterator[Finding]:
    """A value of a setting whose points are all as far from those of each other value as another unit has them.

    Args:
        medians: of *kpi* at each point, above 0; None where unknown.
    """
    for name, values, alike in matched.by_setting(of_words=True):
        for code, is_more in _far(alike, medians):
            others: dict[int, list[float]] = collections.defaultdict(list)
            for of in (_known(places, medians) for places in alike if code in places):
                for other in of.keys() - {code} if code in of else ():
                    others[other].append(of[code] / of[other] if is_more else of[other] / of[code])
            fewest = max(map(len, others.values()), default=0)
            if fewest < FEWEST_PAIRS or any(max(found) > UNIFORM * min(found) for found in others.values()):
                continue
            middle = statistics.geometric_mean(statistics.median(found) for found in others.values())
            if not any(low <= middle <= high for low, high in THOUSANDS):
                continue
            times = sorted(ratio for found in others.values() for ratio in found)
            said = f"{times[0]:,.0f} to {times[-1]:,.0f} times as {'large' if is_more else 'small'}"
            runs = [run for places in alike if code in places for run in matched.points[places[code]]]
            what = f"{kpi.name} is {said} where '{name}' is {show(values[code])} as where it isn't"
            where = f"at {count_of(fewest, 'point')} that are else alike"
            yield Finding.of("another-unit", f"{what}, {where}: is it in another unit?", matched.good.at(runs), changes)


def _known(places: Mapping[int, int], medians: Sequence[float | None]) -> dict[int, float]:
    return {code: value for code, place in places.items() if (value := medians[place])}


def _far(alike: Sequence[Mapping[int, int]], medians: Sequence[float | None]) -> set[tuple[int, bool]]:
    """The codes whose values are everywhere OF_A_UNIT times as large as all others', or as small, and which of both.

    Of two codes the larger one.
    """
    several = [places for places in alike if len(places) > 1]
    found, seen, every = set[tuple[int, bool]](), set[int](), len(set[int]().union(*several))
    for places in several:
        of = _known(places, medians)
        if len(of) < 2:
            continue
        least, *_, most = ordered = sorted(of, key=of.__getitem__)
        here = {(most, True)} if of[most] >= OF_A_UNIT * of[ordered[-2]] else set[tuple[int, bool]]()
        if len(ordered) > 2 and OF_A_UNIT * of[least] <= of[ordered[1]]:
            here.add((least, False))
        found = {one for one in found if one in here or one[0] not in of} | {one for one in here if one[0] not in seen}
        seen.update(of)
        if not found and len(seen) == every:  # none is left, and nearly always at once
            break
    return found


def copied(matched: Matched) -> Iterator[Finding]:
    """Two values of a setting whose runs have the same values of all KPIs at several points, where repeats differ."""
    good, points = matched.good, matched.points
    columns = list[Sequence[float | None]]()
    for name in good.kpi_names():
        columns.append(good.kpi(name))
        if len(set(columns[-1])) == len(good):  # no value is there twice
            return
    same_row, same_set = dict[object, tuple[object, ...]](), dict[object, frozenset[object]]()  # of copies one is kept
    rows = [same_row.setdefault(row, row) for row in zip(*columns, strict=True)] if columns else [()] * len(good)
    sets = (frozenset(rows[place] for place in places) for places in points)
    measured = [same_set.setdefault(each, each) for each in sets]
    # Where repeats are alike, as by a coarse clock, points may be by chance.
    of_points = [each if 1 < len(each) == len(of) else None for each, of in zip(measured, points, strict=True)]
    if len({*of_points} - {None}) == sum(each is not None for each in of_points):
        return
    counts = collections.Counter(rows)
    often = sum(count * count for count in counts.values()) / len(rows) ** 2
    for name, values, alike in matched.by_setting(of_words=False):
        same: dict[tuple[int, int], list[int]] = collections.defaultdict(list)
        for places in alike:
            by_values: dict[object, list[int]] = collections.defaultdict(list)
            for code, place in places.items():
                by_values[of_points[place]].append(code)
            for codes in (codes for each, codes in by_values.items() if each is not None):
                for pair in itertools.combinations(sorted(codes)[:MOST_ALIKE], 2):
                    same[pair] += [places[code] for code in pair]
        copies = list[tuple[str, int, list[int]]]()
        for (one, other), found in same.items():
            both = [places for places in alike if one in places and other in places]
            compared = sum(of_points[places[one]] is not None for places in both)
            by_chance = [_chance(measured[place], often) for place in found[::2]]
            is_chance = math.prod(by_chance) * math.comb(len(values), 2) > MOST_BY_CHANCE
            if len(found) == 2 * compared >= FEWEST_PAIRS and not is_chance:
                copies.append((f"'{name}' {show(values[one])} and {show(values[other])}", compared, found))
        if copies:
            which, compared, _ = copies[0]
            more = f" (and of {count_of(len(copies) - 1, 'pair')} more)" if copies[1:] else ""
            what = f"All runs of {which}{more} have the same values at {compared} points, though repeats differ"
            runs = good.at(run for at in {at for *_, found in copies for at in found} for run in points[at])
            yield Finding.of("same-values", f"{what}: is one a copy of the other?", runs, EVERY)


def _chance(runs: Collection[object], often: float) -> float:
    """That of so many *runs* with the values of others, where two have the same so *often*, as counts may."""
    count = min(len(runs), 100)
    return float(math.factorial(count) * often**count)


def copied_points(good: Rows, points: Points, workload: Workload) -> Iterator[Finding]:
    """A few points whose repeats have the headline and most KPIs of another's, to more digits than chance repeats."""
    values = good.kpi(workload.headline.name) if workload.headline is not None else []
    if len(set(values)) == len(values):
        return
    columns = [good.kpi(name) for name in good.kpi_names()]
    known: dict[object, Sequence[int]] = {}
    copies = list[tuple[Sequence[int], Sequence[int]]]()
    for places in points:
        measured = frozenset(values[place] for place in places)
        other = known.setdefault(measured, places) if 1 < len(measured) == len(places) else places
        if other is not places and all(map(has_many_digits, measured)) and _are_most_alike(places, other, columns):
            copies.append((other, places))
    if are_few(len(copies), len(points)):
        one, other = copies[0]
        what = f"The {len(one)} runs at the point of '{good[one[0]].name}' have the values of those at the point of"
        more = f" ({len(copies)} points like that)" if len(copies) > 1 else ""
        sentence = f"{what} '{good[other[0]].name}'{more}, all alike to the last digit: is one a copy of the other?"
        yield Finding.of(
            "same-values", sentence, good.at(run for pair in copies for run in (*pair[0], *pair[1])), EVERY
        )


def _are_most_alike(one: Sequence[int], other: Sequence[int], columns: Sequence[Sequence[float | None]]) -> bool:
    """Whether most of the *columns* whose values chance doesn't repeat have the same ones at two points."""
    pairs = [({column[place] for place in one}, {column[place] for place in other}) for column in columns]
    exact = [pair for pair in pairs if all(map(has_many_digits, pair[0]))]
    return 2 * sum(left == right for left, right in exact) > len(exact)


def has_many_digits(value: float | None) -> bool:
    """Whether chance wouldn't give the same *value* again: counts, and what was rounded, may be alike."""
    if value is None or float(value).is_integer():
        return False
    return len(repr(float(value)).partition("e")[0].replace(".", "").lstrip("-0")) >= DIGITS
