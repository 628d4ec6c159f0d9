"""One value of a setting beside the others, at points that are matched: alike in all else. Repeats of another point."""

from __future__ import annotations

import collections
import itertools
import math
import re
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence

from ...filters import show
from ...grouped import grouped
from ...kpi import KPIDefinition
from ...matrix import NOT_SET
from ..words import count_of, named
from .finding import EVERY, NONE, AnswerKind, Finding, are_few
from .measured import Measured

OF_A_UNIT, FEWEST_PAIRS = 100, 4
"""A value of a setting is of another unit if so many times lie between it and each other one at so many points."""
UNIFORM, FEWER_PAIRS, MORE_UNIFORM = 2.0, 2, 1.2
"""How many times as large the largest of these ratios may be as the smallest: what is faster isn't so everywhere. At so
few points they have to be more alike."""
THOUSANDS = ((400.0, 2500.0), (4e5, 2.5e6))
"""Between which the ratio to all others is in the middle: what is 100 times as fast is in memory, or compiled."""
PLAINLY = 800.0, 1250.0  # so near to 1,000 a few points are enough
DIGITS, MOST_DIGITS = 9, 14  # significant ones that chance doesn't repeat, and that a float holds exactly
DIGITS_TOGETHER = 10  # of several numbers, which may depend on each other
MOST_BY_CHANCE = 1e-3  # the chance up to which equal values are a copy
MOST_ALIKE = 20  # values of a setting whose runs are the same: copies are told of so many
MOST_POINTS = 100  # with repeats twice are looked at


def of_another_unit(
    measured: Measured, medians: Sequence[float | None], kpi: KPIDefinition, changes: frozenset[AnswerKind]
) -> Iterator[Finding]:
    """Values of a setting whose points are all as far from those of each other value as another unit has them.

    Args:
        medians: of *kpi* at each point, above 0; None where unknown.
    """
    versions = measured.workload.regression.comparison_keys
    for name, values, alike in measured.by_setting(of_words=True):
        known = [{code: value for code, place in of.items() if (value := medians[place])} for of in alike]
        odd, is_more = _far(known)
        points = [of for of in known if odd & of.keys() and of.keys() - odd]
        others = collections.defaultdict[object, list[float]](list)
        for of in points:
            rest = {code: value for code, value in of.items() if code not in odd}
            # Versions are one thing again and again, and words each another.
            beside = {"": statistics.median(rest.values())} if name in versions else rest
            for code, (other, its) in itertools.product(odd & of.keys(), beside.items()):
                others[other if name in versions else (code, other)].append(
                    of[code] / its if is_more else its / of[code]
                )
        fewest = max(map(len, others.values()), default=0)
        uniform = UNIFORM if fewest >= FEWEST_PAIRS else MORE_UNIFORM
        if fewest < FEWER_PAIRS or any(max(found) > uniform * min(found) for found in others.values()):
            continue
        middle = statistics.geometric_mean(statistics.median(found) for found in others.values())
        if not any(low <= middle <= high for low, high in THOUSANDS):
            continue
        times = sorted(ratio for found in others.values() for ratio in found)
        said = f"{times[0]:,.0f} to {times[-1]:,.0f} times as {'large' if is_more else 'small'}"
        runs = [run for of in alike for code in odd & of.keys() for run in measured.points[of[code]]]
        what = f"{kpi.name} is {said} where '{name}' is {named([show(values[code]) for code in sorted(odd)])}"
        where = f"as where it isn't, at {count_of(len(points), 'point')} that are else alike"
        is_plain = PLAINLY[0] <= times[0] <= times[-1] <= PLAINLY[1]
        weight = changes if fewest >= FEWEST_PAIRS or is_plain else NONE
        yield Finding.of("another-unit", f"{what} {where}: is it in another unit?", measured.runs.at(runs), weight)


def _far(alike: Sequence[Mapping[int, float]]) -> tuple[set[int], bool]:
    """The codes, half of them at most, whose values are everywhere OF_A_UNIT times as large as all others', or as
    small, and which of both; of as many codes the larger ones.
    """
    sides, whole = (set[int](), set[int]()), list[set[int]]()
    for of in (of for of in alike if len(of) > 1):
        ordered = sorted(of, key=of.__getitem__)
        steps = [of[after] / of[before] for before, after in itertools.pairwise(ordered)]
        at = max(range(len(steps)), key=steps.__getitem__) + 1
        if steps[at - 1] < OF_A_UNIT:
            whole.append({*ordered})
            continue
        for side, codes in zip(sides, (ordered[:at], ordered[at:]), strict=True):
            side.update(codes)
        if not sides[0].isdisjoint(sides[1]):  # nearly always at once
            return set(), True
    low, high = sides
    if any(not codes.isdisjoint(low) and not codes.isdisjoint(high) for codes in whole):
        return set(), True
    return (high, True) if len(high) <= len(low) else (low, False)


def copied(measured: Measured) -> Iterator[Finding]:
    """Two values of a setting whose runs have the same values of all KPIs at several points, where repeats differ."""
    good, points = measured.runs, measured.points
    columns = list[Sequence[float | None]]()
    for name in good.kpi_names():
        columns.append(good.kpi(name))
        if len(set(columns[-1])) == len(good):  # no value is there twice
            return
    same_row, same_set = dict[object, tuple[object, ...]](), dict[object, frozenset[object]]()  # of copies one is kept
    rows = [same_row.setdefault(row, row) for row in zip(*columns, strict=True)] if columns else [()] * len(good)
    sets = (frozenset(rows[place] for place in places) for places in points)
    of_each = [same_set.setdefault(each, each) for each in sets]
    # Where repeats are alike, as by a coarse clock, points may be by chance.
    of_points = [each if 1 < len(each) == len(of) else None for each, of in zip(of_each, points, strict=True)]
    if len({*of_points} - {None}) == sum(each is not None for each in of_points):
        return
    counts = collections.Counter(rows)
    often = sum(count * count for count in counts.values()) / len(rows) ** 2
    for name, values, alike in measured.by_setting(of_words=False):
        same: dict[tuple[int, int], list[int]] = collections.defaultdict(list)
        for places in alike:
            by_values = grouped((of_points[place], code) for code, place in places.items())
            for codes in (codes for each, codes in by_values.items() if each is not None):
                for pair in itertools.combinations(sorted(codes)[:MOST_ALIKE], 2):
                    same[pair] += [places[code] for code in pair]
        copies = list[tuple[str, int, list[int]]]()
        for (one, other), found in same.items():
            both = [places for places in alike if one in places and other in places]
            compared = sum(of_points[places[one]] is not None for places in both)
            # Where two runs have the same values so often, as counts may, so many have those of as many others.
            sizes = (min(len(of_each[place]), 100) for place in found[::2])
            by_chance = math.prod(float(math.factorial(size) * often**size) for size in sizes)
            is_chance = by_chance * math.comb(len(values), 2) > MOST_BY_CHANCE
            if len(found) == 2 * compared >= FEWEST_PAIRS and not is_chance:
                copies.append((f"'{name}' {show(values[one])} and {show(values[other])}", compared, found))
        if copies:
            which, compared, _ = copies[0]
            more = f" (and of {count_of(len(copies) - 1, 'pair')} more)" if copies[1:] else ""
            what = f"All runs of {which}{more} have the same values at {compared} points, though repeats differ"
            runs = good.at(run for at in {at for *_, found in copies for at in found} for run in points[at])
            yield Finding.of("same-values", f"{what}: is one a copy of the other?", runs, EVERY)


def copied_in_part(measured: Measured) -> Iterator[Finding]:
    """Runs with the values of another version's, as of files that were left of it: more than repeats' ties explain."""
    good, points = measured.runs, measured.points
    rows = list(zip(*(good.kpi(name) for name in good.kpi_names()), strict=True))
    if len(set(rows)) == len(rows):
        return
    ties = (
        _pairs(map(len, points)),
        _pairs(each for of in points for each in collections.Counter(map(rows.__getitem__, of)).values()),
    )
    by_chance = (1 + ties[1]) / (1 + ties[0])
    versions = measured.workload.regression.comparison_keys
    for name, values, alike in (each for each in measured.by_setting(of_words=False) if each[0] in versions):
        shared: dict[tuple[int, int], list[int]] = collections.defaultdict(list)
        for places in alike:
            of_row: dict[tuple[float | None, ...], dict[int, int]] = collections.defaultdict(dict)
            for code, place in places.items():
                for run in points[place]:
                    of_row[rows[run]][code] = run
            for same in (same for row, same in of_row.items() if len(same) > 1 and set(row) != {None}):
                for pair in itertools.combinations(sorted(same)[:MOST_ALIKE], 2):
                    shared[pair] += map(same.__getitem__, pair)
        for (one, other), runs in shared.items():
            if len(runs) < 2 * FEWEST_PAIRS:
                continue
            both = [places for places in alike if one in places and other in places]
            expected = by_chance * sum(len(points[of[one]]) * len(points[of[other]]) for of in both)
            if _at_least(len(runs) // 2, expected) * math.comb(len(values), 2) <= MOST_BY_CHANCE:
                which = f"{len(runs) // 2} runs of '{name}' {show(values[other])} have all values of a run of"
                said = f"{which} {show(values[one])} that is else alike, though repeats differ: are they copies?"
                yield Finding.of("same-values", said, good.at(runs), EVERY)


def _pairs(sizes: Iterable[int]) -> int:
    """How many pairs groups of these *sizes* have."""
    return sum(size * (size - 1) // 2 for size in sizes)


def _at_least(count: int, expected: float) -> float:
    """The largest chance of *count* or more where so many are *expected* (Chernoff 1952, of Poisson's numbers)."""
    return 1.0 if count <= expected else math.exp(count - expected - count * math.log(count / expected))


def copied_points(measured: Measured) -> Iterator[Finding]:
    """A few points whose repeats have the headline and most KPIs of another's, to more digits than chance repeats; of
    single runs all KPIs, and a headline that no setting makes exact: a time, or what is done in one."""
    good, points, headline = measured.runs, measured.points, measured.workload.headline
    values = good.kpi(headline.name) if headline is not None else []
    if headline is None or len(set(values)) == len(values):
        return
    columns = [good.kpi(name) for name in good.kpi_names()]
    are_single = len(points) == len(values) and _OF_TIME.fullmatch(headline.unit) is not None
    known: dict[object, Sequence[int]] = {}
    copies = list[tuple[Sequence[int], Sequence[int]]]()
    for places in points:
        own = frozenset(values[place] for place in places)
        is_telling = len(own) == len(places) and (are_single or len(own) > 1)
        other = known.setdefault(own, places) if is_telling and all(map(has_many_digits, own)) else places
        if other is not places and _are_alike(places, other, columns, most=not are_single):
            copies.append((other, places))
    if are_few(len(copies), len(points)) or (are_single and copies):
        one, other = copies[0]
        what = f"{'The run' if are_single else f'The {len(one)} runs'} at the point of '{good[one[0]].name}'"
        whose = f"{'has the values of that' if are_single else 'have the values of those'} at the point of"
        more = f" ({len(copies)} points like that)" if len(copies) > 1 else ""
        sentence = (
            f"{what} {whose} '{good[other[0]].name}'{more}, all alike to the last digit: is one a copy of the other?"
        )
        yield Finding.of(
            "same-values", sentence, good.at(run for pair in copies for run in (*pair[0], *pair[1])), EVERY
        )


_OF_TIME = re.compile(r"(?:.*/)?(?:n|u|µ|m)?s(?:ec)?")


def _are_alike(
    one: Sequence[int], other: Sequence[int], columns: Sequence[Sequence[float | None]], *, most: bool
) -> bool:
    """Whether all *columns*, or *most* of those whose values chance doesn't repeat, are the same at two points."""
    pairs = [({column[place] for place in one}, {column[place] for place in other}) for column in columns]
    exact = [pair for pair in pairs if all(map(has_many_digits, pair[0]))] if most else pairs
    alike = sum(left == right for left, right in exact)
    return 2 * alike > len(exact) if most else alike == len(exact)


def are_no_chance(values: Iterable[float | None]) -> bool:
    """Whether chance wouldn't give all these *values* again: one of many digits, or several of a few; of each the first
    two are those of its point."""
    known = [value for value in values if value is not None and not float(value).is_integer()]
    return any(map(has_many_digits, known)) or sum(max(0, digits(value) - 2) for value in known) >= DIGITS_TOGETHER


def has_many_digits(value: float | None) -> bool:
    """Whether chance wouldn't give the same *value* again: counts, and what was rounded, may be alike."""
    if value is None or float(value).is_integer():
        return False
    return digits(float(value)) >= DIGITS


def digits(value: object) -> int:
    """How many significant ones a number has; those that a change of its unit adds are none."""
    text = f"{value:.{MOST_DIGITS}g}" if isinstance(value, float) else repr(value)
    return len(text.partition("e")[0].replace(".", "").strip("-0"))


def misplaced(measured: Measured) -> Iterator[Finding]:
    """For a few points that have repeats twice the setting by which just those are missing at another point.

    They may stand at another point than theirs, as where a settings file was copied.

    Campaigns that measure points again give no such pair, nor does a version that lacks a point as a whole, as the
    newest may.
    """
    rows, points = measured.runs, measured.points
    numbers = rows.values("repeat")
    of_points = [collections.Counter(numbers[place] for place in places) for places in points]
    twice = [at for at, repeats in enumerate(of_points) if max(repeats.values()) > 1]
    if not are_few(len(twice), len(points)):
        return
    usual = collections.Counter(
        collections.Counter(tuple(sorted(one.elements())) for one in of_points).most_common(1)[0][0]
    )
    if not 1 < len(usual) == usual.total():
        return
    extra = {at: of_points[at] - usual for at in twice[:MOST_POINTS]}
    missing = [usual - repeats for repeats in of_points]
    for name, values, alike in measured.by_setting(of_words=False):
        may_lack = name not in measured.workload.regression.comparison_keys
        for places in alike:
            for own, at in (pair for pair in places.items() if pair[1] in extra):
                lacking = [code for code, place in places.items() if missing[place] == extra[at]]
                lacking += _absent(own, places, alike) if may_lack and extra[at] == usual else []
                lacking = [code for code in lacking if values[code] is not NOT_SET]
                if lacking:
                    runs = [rows[place] for place in points[at] if extra[at][numbers[place]]]
                    repeats = named([*map(str, sorted(extra.pop(at)))])
                    said = f"{count_of(len(runs), 'run')} share repeats of one point ({repeats}), just those that are"
                    said = f"{said} missing where '{name}' is {show(values[lacking[0]])}"
                    yield Finding.of("misplaced", f"{said}: do some of them say a wrong '{name}'?", runs)


def _absent(own: int, places: Mapping[int, int], alike: Sequence[Mapping[int, int]]) -> list[int]:
    """The codes with which all points are there that are there with *own*, and no others, but for those at *places*."""
    others = [each for each in alike if each is not places]
    codes = set[int]().union(*others) - places.keys()
    return [code for code in sorted(codes) if all((code in each) == (own in each) for each in others)]
