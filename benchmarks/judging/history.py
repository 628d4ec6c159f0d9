"""What changed since when: false and true alarms of series of releases, of which each was measured as one block.

Noise is lognormal, multiplicative, mean 1. An alarm is what ``analyze_lts`` raises for one series, without the false
discovery rate over many, which would take some away.
"""

from __future__ import annotations

import datetime as dt
import functools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from matrix_benchmarking.analyze.detect import Change, Kind
from matrix_benchmarking.analyze.detect.series import Blocks
from matrix_benchmarking.analyze.intervals import mean_of
from matrix_benchmarking.analyze.select.series import Series, SeriesPoint
from matrix_benchmarking.analyze.verdict.alarms import Raised, alarms_of
from matrix_benchmarking.analyze.verdict.beginnings import begun_together
from matrix_benchmarking.analyze.verdict.beyond import with_trends
from matrix_benchmarking.analyze.verdict.levels import JudgedSeries, judged_together
from matrix_benchmarking.analyze.verdict.model import Outcome, OverAll, SeriesVerdict, Status
from matrix_benchmarking.analyze.verdict.over_all import told_over_all
from matrix_benchmarking.analyze.verdict.spikes import spiked
from matrix_benchmarking.analyze.verdict.told import told_of
from matrix_benchmarking.kpi import KPIDefinition
from matrix_benchmarking.workload import MinimumEffect

from .along import told_along
from .row import Row

Floats = npt.NDArray[np.float64]
NOISE, REPEATS, RELEASES, SERIES = 0.03, 5, 60, 20
AT, AFTER = 30, 60
"""A step is at this release, and so many follow."""
NOW = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
NEVER = 10**6
DAY = 30
"""So many versions are measured in a day."""
FEW = 20
MORE = 5
"""So many times the series where alarms are rare."""


class Simulated(Series, frozen=True):
    """A series of which only the values matter."""

    runs: Sequence[Sequence[float]] = ()

    @property
    def values(self) -> list[list[float]]:
        return [list(map(float, runs)) for runs in self.runs]


def judged(kpi: KPIDefinition, runs: Sequence[Floats], blocks: Blocks | None = None) -> list[JudgedSeries]:
    """What is said of series of *runs*, shape (releases, repeats) each; *blocks* are those of all of them."""
    series = []
    for number, one in enumerate(runs):
        names = tuple(map(str, range(len(one))))
        points = tuple(SeriesPoint({}, None, mean_of(each), min(each), max(each), tuple(each)) for each in one.tolist())
        series.append(
            Simulated(
                f"series {number}", kpi, {}, "simulated", points, names, names, blocks=blocks or (), runs=one.tolist()
            )
        )
    return judged_together(series, [MinimumEffect()] * len(series))


def raised(kpi: KPIDefinition, runs: Sequence[Floats], blocks: Blocks | None = None) -> list[Raised]:
    """The alarms of series of *runs*."""
    return alarms_in(judged(kpi, runs, blocks))


def alarms_in(series: Sequence[JudgedSeries]) -> list[Raised]:
    return [alarms_of(one.series, one.changes, MinimumEffect(), {}, NOW, [True] * len(one.changes)) for one in series]


def worse(found: Raised) -> list[Change]:
    """The changes behind the alarms."""
    seen = {alarm.first_bad for alarm in found.alarms}
    return [one for one in found.changes if one.is_worse and str(one.first) in seen]


def lognormal(random: np.random.Generator, shape: tuple[int, ...], noise: float = NOISE) -> Floats:
    sigma = np.sqrt(np.log1p(noise**2))
    return np.asarray(np.exp(random.normal(0.0, sigma, shape) - sigma * sigma / 2.0))


def rows(seed: int, replications: int) -> Iterable[Row]:
    """The rows; *replications* series each, or so many projects of 20 series."""
    random, kpi = np.random.default_rng(seed), cost()
    yield from _disturbed(random, kpi, replications)
    yield from _moods(random, kpi, replications)
    yield from _all_day(random, kpi, replications)
    yield from _steps(random, kpi, replications)
    yield _drift(random, kpi, replications)
    yield _repaired(random, kpi, replications)
    yield _cause(random, kpi, max(replications // SERIES, 2))
    yield from _together(np.random.default_rng([seed, SERIES]), kpi, max(replications // 5, 2))
    yield from _few_versions(np.random.default_rng([seed, FEW]), kpi, replications)
    yield from _now_and_then(np.random.default_rng([seed, AT]), kpi, replications)
    yield from _on_few_steps(np.random.default_rng([seed, FEW, FEW]), kpi, replications)
    for repeats in (3, 5):
        yield _weekends(np.random.default_rng([seed, repeats]), kpi, replications, repeats)


def cost() -> KPIDefinition:
    """A KPI of which less is better."""
    from matrix_benchmarking import kpi

    @kpi.LowerBetter
    @kpi.KPIMetadata(help="What it costs", unit="USD", name="cost")
    def measured(payload: object) -> object:
        return payload

    return kpi.collect([measured])["cost"]


def _disturbed(random: np.random.Generator, kpi: KPIDefinition, count: int) -> Iterable[Row]:
    runs = lognormal(random, (MORE * count, RELEASES, REPEATS))
    runs *= np.where(random.random(runs.shape) < 0.02, 1.3, 1.0)
    alarms = sum(len(one.alarms) for one in raised(kpi, runs))
    analyses = MORE * count / SERIES * RELEASES / 1000.0
    case = "20 series × 5 repeats, 60 releases, 2 % of runs +30 %: new alarms per 1,000 analyses"
    figure = f"{alarms / analyses:.2f} ± {max(alarms, 1) ** 0.5 / analyses:.2f}{_suspected(kpi, runs)}"
    beside = told_along(random, runs)
    yield Row("history", case, figure, "55.6", "≤ 2", alarms <= 2.0 * analyses, beside)
    for size in (0.1, 0.3):
        runs = lognormal(random, (count, RELEASES, REPEATS))
        runs *= np.where(random.random((count, RELEASES, 1)) < 0.02, 1.0 + size, 1.0)
        case = f"2 % of whole blocks +{size:.0%}: series with a false 'worse' in 60 releases"
        yield _false(random, kpi, runs, case + _suspected(kpi, runs), ".50–.61", 0.05)
    runs = lognormal(random, (count, RELEASES, REPEATS))
    yield _false(random, kpi, runs, "nothing disturbed: series with a false 'worse'" + _suspected(kpi, runs))


def _moods(random: np.random.Generator, kpi: KPIDefinition, count: int) -> Iterable[Row]:
    for gap, often, releases in ((0.08, 0.1, RELEASES), (0.05, 0.1, RELEASES), (0.08, 0.05, 2 * RELEASES)):
        yield _two_levels(random, kpi, count, gap, often, releases)
    # As often read: the variance of the runs, their standard deviation, and the same of what a block adds to its runs.
    for factor, figure in ((np.sqrt(3.0), "variance"), (3.0, "standard deviation")):
        for noise, moods, what in ((NOISE, 0.0, "runs"), (NOISE, 0.02, "runs and blocks"), (0.01, NOISE, "blocks")):
            at = np.where(np.arange(RELEASES) < RELEASES // 2, 1.0, factor)[:, None]
            runs = np.exp(random.normal(0.0, noise, (count, RELEASES, REPEATS)) * (1.0 if what == "blocks" else at))
            runs *= np.exp(random.normal(0.0, moods, (count, RELEASES, 1)) * at)
            case = f"{figure} of {what} × 3 at release 30 (runs {noise:.0%}, blocks {moods:.0%}): false"
            yield _false(random, kpi, runs, case, ".43–.45", 0.1)
    level = np.exp(np.cumsum(random.normal(0.0, 0.005, (count, RELEASES)), axis=1))
    runs = lognormal(random, (count, RELEASES, REPEATS)) * level[:, :, None]
    found = list(zip(raised(kpi, runs), level, strict=True))
    case = "walk of .5 %: false where the level rose by less than half of what is claimed"
    false = [any(_is_overstated(change, one, of) for change in worse(one)) for one, of in found]
    yield _row(case, _with_error(false), float(np.mean(false)), ".43–.45", 0.1)
    last = [any(_rose(of, change) < _claimed(change) / 2.0 for change in worse(one)) for one, of in found]
    case = "the same, from the last good version to that which showed it"
    yield _row(case, _with_error(last), float(np.mean(last)), ".43–.45", 0.1)


def _all_day(random: np.random.Generator, kpi: KPIDefinition, count: int) -> Iterable[Row]:
    """Versions measured all day, thirty a day, by a campaign that nobody recorded, whose mood drifts."""
    holds = {f"AR(1) mood of 2 % that holds for {hold} versions": float(np.exp(-1.0 / hold)) for hold in (3, 10, 30)}
    for mood, correlation in ({"no mood": 0.0} | holds).items():
        yield _of_days(random, kpi, count, mood, _autoregressive(correlation, 0.02 if correlation else 0.0))
    for step in (0.003, 0.005, 0.01):
        drifting = functools.partial(_walking, step)
        yield _of_days(random, kpi, count, f"mood that walks by {step:.1%} a version", drifting, is_stationary=False)


Moods = Callable[[np.random.Generator, int, int], Floats]
"""Logarithms of the moods of so many series at so many versions."""


def _walking(step: float, random: np.random.Generator, count: int, releases: int) -> Floats:
    return np.cumsum(random.normal(0.0, step, (count, releases)), axis=1)


def _autoregressive(correlation: float, deviation: float) -> Moods:
    def moods(random: np.random.Generator, count: int, releases: int) -> Floats:
        mood = random.normal(0.0, deviation, (count, releases))
        for place in range(1, releases):
            mood[:, place] = correlation * mood[:, place - 1] + np.sqrt(1.0 - correlation**2) * mood[:, place]
        return mood

    return moods


def _of_days(
    random: np.random.Generator, kpi: KPIDefinition, count: int, mood: str, moods: Moods, *, is_stationary: bool = True
) -> Row:
    """False alarms in two days and in seven, and how soon a step of 10 % in the middle of the second day is seen."""
    false = []
    for releases, some in ((2 * DAY, count), (200, count // 4)):
        runs = lognormal(random, (some, releases, REPEATS), 0.02) * np.exp(moods(random, some, releases))[:, :, None]
        false.append([bool(one.alarms) for one in raised(kpi, runs, _in_turn(releases))])
    at, releases = 3 * DAY // 2, 4 * DAY
    runs = lognormal(random, (count // 2, releases, REPEATS), 0.02)
    runs *= np.exp(moods(random, count // 2, releases))[:, :, None]
    runs[:, at:] *= 1.1
    seen = [
        min((one.seen - at + 1 for one in worse(found) if one.seen >= at), default=NEVER)
        for found in raised(kpi, runs, _in_turn(releases))
    ]
    figure = f"{_with_error(false[0])}, {_with_error(false[1])}; {np.median(seen):g}"
    figure += f" (not in {np.mean(np.array(seen) > releases):.0%} of series)"
    case = f"all day, {mood}: false in 60 versions, in 200; versions until 10 % is seen"
    return _row(case, figure, float(np.mean(false[0])), "", 0.05 if is_stationary else None)


def _in_turn(releases: int) -> Blocks:
    return [[(place // DAY, -1 - place)] * REPEATS for place in range(releases)]


def _two_levels(
    random: np.random.Generator, kpi: KPIDefinition, count: int, gap: float, often: float, releases: int
) -> Row:
    state = np.zeros((count, releases), dtype=bool)
    for place in range(1, releases):
        state[:, place] = state[:, place - 1] ^ (random.random(count) < often)
    runs = lognormal(random, (count, releases, REPEATS)) * (1.0 + gap * state[:, :, None])
    backs = [np.flatnonzero(~of[1:] & of[:-1]) + 1 for of in state]
    asked = [place for place, back in enumerate(backs) if len(back) > 1]
    alarms = zip(raised(kpi, runs[asked]), asked, strict=True)
    false = [any(change.seen > backs[place][1] for change in worse(found)) for found, place in alarms]
    case = (
        f"sticky mood of two levels ({gap:.0%}, changes in {often:.0%} of {releases} releases), after its second return"
    )
    return _row(f"{case}, {len(false)} series", _with_error(false), float(np.mean(false)), ".43–.45", 0.1)


def _claimed(change: Change) -> float:
    return change.new_level / change.old_level - 1.0


def _rose(level: Floats, change: Change) -> float:
    return float(level[change.seen] / level[change.last_before] - 1.0)


def _is_overstated(change: Change, found: Raised, level: Floats) -> bool:
    """Whether the true levels of the releases before and since *change* lie less than half as far apart as is said."""
    begin = max((one.first for one in found.changes if one.first < change.first), default=0)
    end = min((one.first for one in found.changes if one.first > change.first), default=len(level))
    rose = level[change.first : end].mean() / level[begin : change.first].mean() - 1.0
    return bool(rose < _claimed(change) / 2.0)


def _steps(random: np.random.Generator, kpi: KPIDefinition, count: int) -> Iterable[Row]:
    for size, before, most in ((0.1, "1", 2), (0.05, "4", 5), (0.02, "22", 18)):
        runs = lognormal(random, (count, AT + AFTER, REPEATS))
        runs[:, AT:] *= 1.0 + size
        delay, case = _delay(kpi, runs), f"step of {size:.0%}: versions until confirmed, median"
        beside = told_along(random, runs, AT)
        yield Row("history", case, f"{delay:.1f}", before, f"≤ {most}", delay <= most, beside)


def _drift(random: np.random.Generator, kpi: KPIDefinition, count: int) -> Row:
    rising = np.exp(0.003 * np.maximum(np.arange(AT + AFTER) - AT + 1, 0))
    runs = lognormal(random, (count, AT + AFTER, REPEATS)) * rising[:, None]
    alarms = [len(one.alarms) for one in raised(kpi, runs)]
    median, delay = float(np.median(alarms)), _delay(kpi, runs)
    figure = f"{median:g} alarm ({np.mean(alarms):.2f} on average), {delay:g} versions"
    return Row("history", "drift of .3 % a version, 60 versions of it: alarms, versions", figure, "3, 13", "1, ≤ 14",
               median == 1 and delay <= 14)  # fmt: skip


def _repaired(random: np.random.Generator, kpi: KPIDefinition, count: int) -> Row:
    runs = lognormal(random, (count, AT + 21, REPEATS))
    runs[:, AT] *= 1.2
    failing = [any(alarm.status is Status.OPEN for alarm in one.alarms) for one in raised(kpi, runs)]
    case = "worse by 20 % for one version: failing 20 versions later"
    return _row(case, _with_error(failing), float(np.mean(failing)), ".07", 0.01)


def _cause(random: np.random.Generator, kpi: KPIDefinition, projects: int) -> Row:
    runs = lognormal(random, (projects, SERIES, AT + 10, 1))
    runs[:, :, AT:] *= 1.1
    alone = [[alarm.first_bad for each in raised(kpi, project) for alarm in each.alarms] for project in runs]
    series = [begun_together(judged(kpi, project), ()) for project in runs]
    together = [[alarm.first_bad for each in alarms_in(one) for alarm in each.alarms] for one in series]
    causes = [len(set(firsts)) for firsts in together]
    before, right = ([sum(one == str(AT) for one in each) / len(each) for each in of] for of in (alone, together))
    case = f"one cause (+10 %) in {SERIES} series, one run a version, ten versions later: causes, median"
    figure = f"{np.median(causes):g}, {np.mean(right):.2f} of alarms at its version ({np.mean(before):.2f} each alone)"
    return _row(case, figure, float(np.median(causes)), "20", 1)


def _together(random: np.random.Generator, kpi: KPIDefinition, projects: int) -> Iterable[Row]:
    """How often a step of one noise in each of 20 series of one run a version is seen, in one of them and over all."""
    blocks = [[(place, None)] for place in range(AT + 10)]
    cases = [(1.0, 3, 0.0), (1.0, 10, 0.0), (1.0, 10, 1.0), (0.5, 10, 0.0)]
    for step, after, mood, most in ((0.0, 10, 0.0, 0.02), (0.0, 10, 1.0, 0.02), *((*case, None) for case in cases)):
        runs = lognormal(random, (projects, SERIES, AT + after, 1))
        runs *= np.exp(NOISE * mood * random.normal(size=(projects, 1, AT + after, 1)))
        runs[:, :, AT:] *= 1.0 + step * NOISE
        series = [judged(kpi, project, blocks[: AT + after]) for project in runs]
        alone = np.mean([[any(one.is_worse for one in each.changes) for each in project] for project in series])
        found = [worse_over_all(project) for project in series]
        case = f"{SERIES} series, each worse by {step:g} noises for {after} versions"
        case += " (and moods of one noise)" if mood else ""
        figure = f"{_with_error(found)}, each alone {alone:.3f}"
        yield _row(f"{case}: seen over all", figure, float(np.mean(found)), "", most)


def _few_versions(random: np.random.Generator, kpi: KPIDefinition, count: int) -> Iterable[Row]:
    """How often a step of a tenth (3.3 noises) of a history of few versions is worse, or suspected, at its end."""
    for before, after in ((FEW, 0), (8, 8), (12, 4), (12, 8), (12, 15), (20, 5), (20, 10)):
        runs = lognormal(random, (count, before + after, 1))
        runs[:, before:] *= 1.1
        blocks = [[(place, None)] for place in range(before + after)]
        series = [judged(kpi, one[None], blocks)[0] for one in runs]
        told = [with_trends(told_of([one], {}, NOW), [one])[0] for one in series]
        worse_ones, suspected = (
            np.mean([one.outcome is outcome for one in told]) for outcome in (Outcome.REGRESSION, Outcome.SUSPECTED)
        )
        what = f"+10 %, {before} versions before and {after} since" if after else f"{before} versions without a step"
        figure = f"{worse_ones:.3f} and {suspected:.3f}"
        yield _row(f"{what}, one run each: worse and suspected", figure, float(suspected), "", None if after else 0.02)


def _now_and_then(random: np.random.Generator, kpi: KPIDefinition, count: int) -> Iterable[Row]:
    """How often a share of runs that takes three times as long, since some versions, is suspected as spikes."""

    def suspected(every: Floats) -> list[bool]:
        blocks = [[(place, None)] * every.shape[2] for place in range(every.shape[1])]
        trends = [spiked(each.series) for each in judged(kpi, every, blocks)]
        return [one is not None and one.counts(kpi, MinimumEffect()) for one in trends]

    for share, runs, after in ((0.0, 5, 10), (1 / 3, 5, 2), (1 / 3, 5, 10), (1 / 3, 3, 10), (0.15, 5, 10)):
        every = lognormal(random, (count, AT + after, 1), 0.01) * lognormal(random, (count, AT + after, runs), 0.02)
        every[:, AT:] *= np.where(random.random((count, after, runs)) < share, 3.0, 1.0)
        found = suspected(every)
        what = f"{share:.2f} of {runs} runs × 3, {AT} versions before and {after} since: spikes suspected"
        yield _row(what, _with_error(found), float(np.mean(found)), "", None if share else 0.02)
    for runs in (3, 5):
        fast = lognormal(random, (count, AT + 10, runs), 0.01)
        found = suspected(fast * np.where(random.random(fast.shape) < 0.5, 1.4, 1.0))
        what = f"each of {runs} runs of {AT + 10} versions × 1.4 in one of two: spikes suspected"
        yield _row(what, _with_error(found), float(np.mean(found)), "", 0.02)


def _on_few_steps(random: np.random.Generator, kpi: KPIDefinition, count: int) -> Iterable[Row]:
    """How often a change shows of which it is said that it would have, where values are bounds or ticks of a clock."""
    steps: Mapping[str, Callable[[Floats], Floats]] = {
        "as measured": lambda values: values,
        "bounds 1.25 times apart": lambda values: 1.25 ** np.ceil(np.log(values) / np.log(1.25)),
        "bounds twice apart": lambda values: 2.0 ** np.ceil(np.log2(values)),
        "ticks of a tenth": lambda values: np.maximum(np.round(values, 1), 0.1),
    }

    def told(runs: Floats) -> SeriesVerdict:
        return told_of(judged(kpi, [runs]), {}, NOW)[0]

    for name, rounded in steps.items():
        for noise in (0.01, NOISE):
            seen, largest = [], []
            for level in np.exp(random.uniform(0.0, math.log(4.0), count)):
                before = rounded(level * lognormal(random, (FEW, REPEATS), noise))
                found = told(before)
                if found.would_show is not None:
                    since = level * (1.0 + found.would_show) * lognormal(random, (found.would_show_in, REPEATS), noise)
                    now = told(np.concatenate([before, rounded(since)]))
                    seen.append(now.outcome in (Outcome.REGRESSION, Outcome.SUSPECTED))
                    largest.append(found.would_show)
            share, size = (float(np.mean(each)) if each else 1.0 for each in (seen, largest))
            case = f"{name}, noise of {noise:.0%}: what would have shown ({size:.1%}, of {len(seen)}), shows"
            yield Row("history", case, _with_error(seen or [True]), "", "≥ .80", share >= 0.8)


def worse_over_all(project: Sequence[JudgedSeries]) -> bool:
    """Whether the series of a KPI are worse together."""
    told, newest = told_of(project, {}, NOW), project[0].series.versions[-1]
    over_all: Iterable[OverAll] = told_over_all(project, told, NOW, newest)
    return any(one.outcome is Outcome.REGRESSION for one in over_all)


def _delay(kpi: KPIDefinition, runs: Floats) -> float:
    """How many versions it takes until the change at :data:`AT` is an alarm, median."""
    found = []
    for one in raised(kpi, runs):
        seen = [change.seen for change in worse(one) if change.seen >= AT]
        found.append(min(seen) - AT + 1 if seen else NEVER)
    return float(np.median(found))


def _suspected(kpi: KPIDefinition, runs: Floats, most: int = 100) -> str:
    """How many series are suspected in a version, at a few of them."""
    stops: Sequence[int] = range(12, RELEASES + 1, 12)
    found = [one.judgement.suspicion for stop in stops for one in judged(kpi, runs[:most, :stop])]
    share = np.mean([one is not None and one.kind is Kind.REGRESSION for one in found])
    return f" (suspected in a version: {share:.1%} of series)"


def _weekends(random: np.random.Generator, kpi: KPIDefinition, count: int, repeats: int) -> Row:
    """Twelve weeks of nights, from a Monday on, of which weekends are a tenth slower."""
    is_weekend = np.arange(7 * 12) % 7 >= 5
    runs = lognormal(random, (count, len(is_weekend), repeats), 0.02) * np.where(is_weekend, 1.1, 1.0)[:, None]
    return _false(random, kpi, runs, f"{repeats} runs (2 %) a night, weekends +10 %: series with a false 'worse'")


def _false(
    random: np.random.Generator,
    kpi: KPIDefinition,
    runs: Floats,
    case: str,
    before: str = "",
    most: float | None = None,
) -> Row:
    """The share of series that have an alarm."""
    found = [bool(one.alarms) for one in raised(kpi, runs)]
    return _row(case, _with_error(found), float(np.mean(found)), before, most, told_along(random, runs))


def _with_error(found: Sequence[bool]) -> str:
    return f"{np.mean(found):.3f} ± {np.std(found) / len(found) ** 0.5:.3f}"


def _row(
    case: str,
    figure: str,
    value: float,
    before: str = "",
    most: float | None = None,
    beside: Mapping[str, str] | None = None,
) -> Row:
    to_reach = "" if most is None else f"≤ {most:g}"
    return Row("history", case, figure, before, to_reach, None if most is None else value <= most, beside or {})
