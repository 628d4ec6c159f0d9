"""Findings on values of KPIs: below zero, far off, of another unit, alike to the last digit, gates nobody knows."""

from __future__ import annotations

import collections
import itertools
import math
import re
import statistics
from collections.abc import Iterable, Iterator, Sequence

from ...grouped import grouped
from ...kpi import KPIDefinition
from ...plausible import OF_UNITS
from ...rows import Rows
from ..words import as_percent, count_of
from . import matched
from .finding import ANALYSES, EVERY, NONE, OF_BEST, AnswerKind, Finding, are_few
from .matched import OF_A_UNIT, are_no_chance
from .measured import Measured, Points
from .repeats import first_run_findings, uneven_findings

FAR_OFF, AGREE = 5, 2
"""A run is far off if it is so many times the median of its repeats, which are no further than so many times apart."""
FEWEST_POINTS = 5
"""A few of so many points are of another unit if :data:`OF_A_UNIT` lies between them and the next."""
OF_A_MINUTE, MOST_OF_A_MINUTE, OF_A_THOUSAND = OF_UNITS, 72, 500
"""Of the headline a few are from nearly 60 times on, if the others are no further than :data:`FAR_OFF` times apart; any
part of them if nearly 1,000 times lie between. Other KPIs jump so where load is high."""
USUAL_SPREADS, FEWEST_APART = 8.0, 12
"""It is no odd one if it is so many times as far off as half of the repeats are, of so many; by logarithms."""
NEAR_ZERO, FEWEST_COUNTS = 1.5, 4
"""A zero may be a count, or a share of one, where the least of so many other values is one step above it."""
FEWEST = 3  # runs of which one can be far from the others
FEWEST_PASTED = 2  # points of several runs, of which each is there as often as all others
MOST_TIED = 0.25  # of their values are there more often: repeats may be alike, but where a clock is coarse most are
MOST_ODD = 0.1  # values of zero and below are odd if at most this share of the runs has them
STAND_INS = {-1.0: 1.0, 0.0: 0.5}
"""What programs write for what they didn't measure: odd up to this share of the runs, of a KPI that ranks, or of one
that is never 0: a latency."""
_LATENCY = re.compile(r".*(latency|median|(?<![a-z\d])(p\d\d+|ttft|tpot|itl|rtt)(?![a-z\d])).*", re.IGNORECASE)


def value_findings(measured: Measured) -> Iterator[Finding]:
    """The findings on the values of KPIs of which one direction is better, and on gates."""
    good, points, workload = measured.runs, measured.points, measured.workload
    ranking = {kpi.name for kpi in (workload.headline, workload.limited) if kpi is not None}
    for kpi in workload.kpis.values():
        if kpi.lower_better is None and kpi.name not in ranking:
            continue
        changes = EVERY if kpi.name in ranking else ANALYSES
        values = good.kpi(kpi.name)
        yield from _no_more_than_zero(good, values, kpi, changes)
        far = [*_far_off(good, points, values, kpi, changes)]
        yield from far or (uneven_findings(good, points, values, kpi) if kpi.name in ranking else ())
        if kpi.name in ranking:
            yield from first_run_findings(measured, values, kpi, len(ranking))
            yield from _on_few_steps(measured, values, kpi)
            yield from _stuck(measured, values, kpi)
        positive = [value for value in values if value is not None and value > 0]
        is_far = bool(positive) and max(positive) >= OF_A_MINUTE * min(positive)
        if is_far and not _has_both_signs(values):
            positives = (
                [value for place in places if (value := values[place]) is not None and value > 0] for places in points
            )
            medians = [statistics.median_high(each) if each else None for each in positives]
            of_points = [*_of_another_unit(measured, medians, kpi, changes)]
            yield from of_points or matched.of_another_unit(measured, medians, kpi, changes)
    yield from _percentiles(good, workload.kpis.values())
    yield from _same_values(measured)
    copied = [*matched.copied(measured)] or [*matched.copied_in_part(measured)]
    yield from copied or matched.copied_points(measured)
    for gate in workload.gates:
        unknown = good.where(value is None for value in good.kpi(gate.kpi))
        if 0 < len(unknown) < len(good) and workload.headline is not None:
            count = count_of(len(unknown), "run")
            what = f"{gate.kpi}, by which the workload refuses runs, is unknown in {count} that took part"
            yield Finding.of("gate-unknown", f"{what}.", unknown, OF_BEST)


_PERCENTILE = re.compile(r"(?<![a-z])p((?!100)\d{2,3})(?![0-9a-z])", re.IGNORECASE)


def _percentiles(good: Rows, kpis: Iterable[KPIDefinition]) -> Iterator[Finding]:
    """Runs of which a lower percentile is above a higher one of the same: p50 above p95.

    Where higher is better, p99 may be what 99 % reach at least.
    """
    found = ((_PERCENTILE.search(kpi.name), kpi) for kpi in kpis)
    named_so = [
        (f"0.{match[1]}", _PERCENTILE.sub("", kpi.name), kpi) for match, kpi in found if match and kpi.lower_better
    ]
    for of in grouped(((stem, kpi.unit), (float(share), kpi.name)) for share, stem, kpi in named_so).values():
        for (_, lower), (_, higher) in itertools.pairwise(sorted(of)):
            pairs = zip(good.kpi(lower), good.kpi(higher), strict=True)
            wrong = good.where(low is not None and high is not None and low > high for low, high in pairs)
            if wrong:
                what = f"{lower} is above {higher} in {count_of(len(wrong), 'run')}, such as '{wrong[0].name}'"
                yield Finding.of("percentiles", f"{what}: which of them is it?", wrong)


FEWEST_ON_STEPS, MOST_STEPS, LEAST_STEP, FEWEST_UNEQUAL = 20, 0.2, 0.05, 2
"""Of so many runs at most such a share may have values of their own to fall on few steps; the repeats of so many points
differ, half of them at least so far: what doesn't scatter is exact, as a size in bytes."""


def _on_few_steps(measured: Measured, values: Sequence[float | None], kpi: KPIDefinition) -> Iterator[Finding]:
    """Values that are bounds of a histogram, or ticks of a coarse clock: smaller differences are there and not seen."""
    known = [value for value in values if value is not None]
    steps = sorted(set(known))
    is_count = not kpi.unit and all(float(step).is_integer() for step in steps)
    is_few = len(known) >= FEWEST_ON_STEPS and 1 < len(steps) <= MOST_STEPS * len(known)
    if is_count or not is_few or steps[0] <= 0.0:
        return
    repeats = (
        sorted({value for place in places if (value := values[place]) is not None}) for places in measured.points
    )
    unequal = [each for each in repeats if len(each) > 1]
    gaps = [after / before - 1.0 for each in unequal for before, after in itertools.pairwise(each)]
    if len(unequal) >= FEWEST_UNEQUAL and (apart := statistics.median(gaps)) >= LEAST_STEP:
        what = f"{kpi.name} has {len(steps)} values alone in {count_of(len(known), 'run')}, {as_percent(apart)} apart"
        why = "are they bounds of a histogram, or rounded? A smaller difference looks like none, or like a whole step"
        yield Finding.of("few-steps", f"{what}: {why}.", measured.runs.where(one is not None for one in values))


FEWEST_STUCK, STUCK_AT, LEAST_STUCK, MOST_AGREEING = 8, 3, 0.05, 0.1
"""A value is stuck in so many runs, at so many points, if they are such a share of all; of others so many may agree."""


def _stuck(measured: Measured, values: Sequence[float | None], kpi: KPIDefinition) -> Iterator[Finding]:
    """One value at several points where hardly any other runs agree: a constant stands for what was measured.

    The largest and the least may be limits that were reached.
    """
    counts = collections.Counter(value for value in values if value is not None)
    (value, count), *_ = counts.most_common(1) or [(0.0, 0)]
    others = counts.total() - count
    is_often = count >= max(FEWEST_STUCK, LEAST_STUCK * counts.total()) and others >= FEWEST_STUCK
    agreeing = others - (len(counts) - 1)
    if not is_often or agreeing > MOST_AGREEING * others or value in (min(counts), max(counts)):
        return
    at = sum(any(values[place] == value for place in places) for places in measured.points)
    if at >= STUCK_AT:
        what = f"{kpi.name} is {kpi.show(value)} in {count} runs at {at} points, to the last digit"
        runs = measured.runs.where(one == value for one in values)
        yield Finding.of("stuck", f"{what}, where hardly any others agree: was it measured?", runs, EVERY)


def _same_values(measured: Measured) -> Iterator[Finding]:
    """Repeats with the same values of all KPIs, of so many digits that chance doesn't repeat them.

    Where each run has its own time, or a tool wrote all of a point, one value may be all there is, as of a simulation.
    """
    good, points = measured.runs, measured.points
    columns = [good.kpi(name) for name in good.kpi_names()]
    # Those of a history are told apart by their times elsewhere.
    of_history = [facts is not None for facts in good.values("facts")]
    tools = [part and campaign for part, campaign in zip(good.values("part"), good.values("campaign"), strict=True)]
    same, exact = list[int](), list[int]()
    for places in points:
        if any(len({column[place] for place in places}) == len(places) for column in columns):
            continue  # of single runs, too
        # What is the same in all repeats was measured once for all of them, unless everything is the same.
        own = [column for column in columns if len({column[place] for place in places}) > 1] or columns
        alike = grouped((tuple([column[place] for column in own]), place) for place in places)
        twice = [place for values, runs in alike.items() if len(runs) > 1 and are_no_chance(values) for place in runs]
        starts, files = [measured.starts[place] for place in places], {tools[place] for place in places}
        is_own = (None not in starts and len({*starts}) == len(starts)) or (None not in files and len(files) == 1)
        if twice and is_own and len(alike) == 1:
            exact += twice
        elif twice:
            same += twice if 2 * len(twice) >= len(places) else []  # a few may be: of a clock with coarse steps
        elif columns:
            times = [None if of_history[place] else measured.starts[place] for place in places]
            same += _copied([*zip(times, *([column[at] for at in places] for column in columns), strict=True)], places)
    if exact:
        what = f"{count_of(len(exact), 'run')} have the values of all other repeats of their points, to the last digit"
        yield Finding.of("exact", f"{what}: is it computed rather than measured?", good.at(exact), NONE)
    same = same or _all_as_often(points, columns)
    if same:
        what = f"{count_of(len(same), 'run')} have the values of another repeat, all alike to the last digit"
        yield Finding.of("same-values", f"{what}: are they copies of one measurement?", good.at(same))


def _all_as_often(points: Points, columns: Sequence[Sequence[float | None]]) -> list[int]:
    """All runs, where each has its values as often as any other, but for a few ties: a table was pasted twice."""
    often, several, is_fraction = 0, 0, False
    counts, most = list[int](), 0  # a coarse clock has two values at a point, and each of them now and then as often
    for places in points:
        alike = collections.Counter(tuple([column[place] for column in columns]) for place in places)
        often = math.gcd(often, *alike.values())
        if often == 1:
            return []  # as most do at their first point
        several += len(alike) > 1
        most += len(alike) > 2
        counts += alike.values()
        is_fraction = is_fraction or any(value and not float(value).is_integer() for one in alike for value in one)
    tied = sum(count > often for count in counts)
    is_tied = tied and not (most >= FEWEST_PASTED and tied <= MOST_TIED * len(counts))
    is_pasted = is_fraction and several >= FEWEST_PASTED and not is_tied
    return [place for places in points for place in places] if is_pasted else []


def _copied(runs: Sequence[tuple[object, ...]], places: Sequence[int]) -> list[int]:
    """Those of the *places* whose time and values another run has, where each time is of one run otherwise."""
    counts = collections.Counter(runs)
    times = {start for start, *_ in counts}
    if None in times or len(times) < len(counts) or len(counts) == len(runs):
        return []
    return [place for place, run in zip(places, runs, strict=True) if counts[run] > 1]


def _no_more_than_zero(
    good: Rows, values: Sequence[float | None], kpi: KPIDefinition, changes: frozenset[AnswerKind]
) -> Iterator[Finding]:
    known = [value for value in values if value is not None]
    odd = [value for value in known if value <= 0]
    others = len(known) - len(odd)
    is_latency = kpi.unit in ("s", "ms", "µs", "us", "ns") and _LATENCY.fullmatch(kpi.name) is not None
    may_stand_in = len(set(odd)) == 1 and (changes is EVERY or is_latency)
    most = max(MOST_ODD, STAND_INS.get(odd[0], 0.0) if may_stand_in else 0.0)
    if odd and others and len(odd) <= most * len(known) and not _may_be_zero(known):
        rest = f"and above 0 in {count_of(others, 'other')}"
        what = f"{kpi.name} is {kpi.show(min(odd))} in {count_of(len(odd), 'run')}, {rest}"
        runs = good.where(value is not None and value <= 0 for value in values)
        yield Finding.of("below-zero", f"{what}: was it measured?", runs, changes)


def _may_be_zero(known: Sequence[float]) -> bool:
    """Whether values are counts, or shares of one count, that come near zero: a zero is one of them."""
    steps = sorted({*known, 0.0})
    if steps[0] < 0.0 or len(steps) < FEWEST_COUNTS:
        return False
    unit = min(after - before for before, after in itertools.pairwise(steps))
    is_count = math.isclose(unit, 1.0) or steps[-1] <= 1.0
    return (
        is_count and steps[1] <= unit * NEAR_ZERO and all(math.isclose(one, round(one / unit) * unit) for one in steps)
    )


def _far_off(
    good: Rows,
    points: Points,
    values: Sequence[float | None],
    kpi: KPIDefinition,
    changes: frozenset[AnswerKind],
) -> Iterator[Finding]:
    positive = [value for value in values if value is not None and value > 0]
    if not positive or max(positive) <= FAR_OFF * min(positive) or _has_both_signs(values):
        return
    far = [each for places in points for each in _far_off_of(places, values)]
    usual = _usual_ratio([[values[place] for place in places] for places in points]) if far else 1.0
    far = [(place, rest) for place, rest in far if abs(math.log((values[place] or rest) / rest)) > usual]
    if far:
        place, rest = far[0]
        what = f"{kpi.name} is {kpi.show(values[place])} where the other repeats have {kpi.show(rest)}"
        more = f" ({count_of(len(far), 'run')} like that)" if len(far) > 1 else ""
        sentence = f"{what}{more}: one such run decides what its point is worth."
        yield Finding.of("far-off", sentence, (good[place] for place, _ in far), changes)


def _has_both_signs(values: Sequence[float | None]) -> bool:
    """Whether values lie on both sides of zero, where ratios say nothing: what wasn't measured is a single one."""
    return len({value for value in values if value is not None and value < 0}) > 1


def _usual_ratio(points: Sequence[Sequence[float | None]]) -> float:
    """The logarithm of a ratio between repeats that is usual, as far as such values scatter anyway; 0 of few."""
    apart = list[float]()
    for of in points:
        known = sorted(value for value in of if value is not None and value > 0)
        if len(known) >= FEWEST:
            middle = known.pop(len(known) // 2)
            apart += [abs(math.log(value / middle)) for value in known]
    return USUAL_SPREADS * statistics.median(apart) if len(apart) >= FEWEST_APART else 0.0


def _of_another_unit(
    measured: Measured, medians: Sequence[float | None], kpi: KPIDefinition, changes: frozenset[AnswerKind]
) -> Iterator[Finding]:
    """Points of a group with all their repeats so far from all others as another unit would have them."""
    good, is_headline = measured.runs, kpi is measured.workload.headline
    for group in measured.groups:
        known = [(median, measured.points[at]) for at in group if (median := medians[at]) is not None]
        if len(known) < (2 if is_headline else FEWEST_POINTS) or max(known)[0] < OF_A_MINUTE * min(known)[0]:
            continue
        known.sort(key=lambda one: one[0])
        steps = [after / before for (before, _), (after, _) in itertools.pairwise(known)]
        place = max(range(len(steps)), key=steps.__getitem__)
        low, high = known[: place + 1], known[place + 1 :]
        odd, others = sorted((low, high), key=len)
        is_odd_one = len(known) >= FEWEST_POINTS and are_few(len(odd), len(known))
        is_level = is_headline and others[-1][0] <= FAR_OFF * others[0][0]
        of_few = OF_A_MINUTE if is_level and steps[place] <= MOST_OF_A_MINUTE else OF_A_UNIT
        if steps[place] < (of_few if is_odd_one else OF_A_THOUSAND if is_headline else math.inf):
            continue
        beyond = f"at least {kpi.show(high[0][0])}" if others is high else f"at most {kpi.show(low[-1][0])}"
        (worst, places), *rest = odd
        at = f"{'the point of ' if len(places) > 1 else ''}'{good[places[0]].name}'"
        what = f"{kpi.name} is {kpi.show(worst)} at {at}"
        more = f" ({count_of(len(odd), 'point')} like that)" if rest else ""
        of_others = f"the {len(others)} others" if len(others) > 1 else "the other"
        sentence = f"{what}{more}, and {beyond} at {of_others}: is it in another unit?"
        yield Finding.of("another-unit", sentence, (good[run] for _, places in odd for run in places), changes)


def _far_off_of(places: Sequence[int], values: Sequence[float | None]) -> Iterator[tuple[int, float]]:
    """The fewer of the *places* of one point whose values are far from the others', which agree; and their median."""
    there = [value for place in places if (value := values[place]) is not None and value > 0]
    if len(there) == FEWEST - 1 and max(there) >= OF_A_UNIT * min(there):  # nobody knows which, but not both
        yield next(place for place in places if values[place] == max(there)), min(there)
    if len(there) < FEWEST or max(there) <= FAR_OFF * min(there):
        return
    known = sorted((value, place) for place in places if (value := values[place]) is not None and value > 0)
    steps = [after / before for (before, _), (after, _) in itertools.pairwise(known)]
    at = max(range(len(steps)), key=steps.__getitem__) + 1
    far, rest = sorted((known[at:], known[:at]), key=len)
    if len(far) == len(rest) or rest[-1][0] >= AGREE * rest[0][0]:
        return
    median = statistics.median(value for value, _ in rest)
    for value, place in far:
        if not median / FAR_OFF <= value <= median * FAR_OFF:
            yield place, median
