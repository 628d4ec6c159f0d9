"""What changed since when: false and true alarms of series of releases, of which each was measured as one block.

Noise is lognormal, multiplicative, mean 1. An alarm is what ``analyze_lts`` raises for one series, without the false
discovery rate over many, which would take some away.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from matrix_benchmarking.analyze.select.selection import SelectedSeries
from matrix_benchmarking.analyze.verdict.alarms import Raised, alarms_of
from matrix_benchmarking.analyze.verdict.levels import judged
from matrix_benchmarking.analyze.verdict.model import Change, Status
from matrix_benchmarking.kpi import KPIDefinition
from matrix_benchmarking.workload import MinimumEffect

from .row import Row

Floats = npt.NDArray[np.float64]
NOISE, REPEATS, RELEASES, SERIES = 0.03, 5, 60, 20
AT, AFTER = 30, 60
"""A step is at this release, and so many follow."""
NOW = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
NEVER = 10**6


class Simulated(SelectedSeries):
    """A series of which only the values matter."""

    @property
    def values(self) -> list[list[float]]:
        return [list(map(float, runs)) for runs in self.points]  # type: ignore[call-overload]


def raised(kpi: KPIDefinition, runs: Floats, number: int = 0) -> Raised:
    """The alarms of a series of *runs*, shape (releases, repeats)."""
    names = tuple(map(str, range(len(runs))))
    series = Simulated(f"series {number}", kpi, {}, "simulated", tuple(runs), names, names)  # type: ignore[arg-type]
    one = judged(series, MinimumEffect())
    return alarms_of("simulated", series, one.changes, MinimumEffect(), {}, NOW, [True] * len(one.changes))


def is_suspected(kpi: KPIDefinition, runs: Floats) -> bool:
    names = tuple(map(str, range(len(runs))))
    series = Simulated("series", kpi, {}, "simulated", tuple(runs), names, names)  # type: ignore[arg-type]
    found = judged(series, MinimumEffect()).judgement.suspicion
    return found is not None and found.worse is True


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
    yield from _steps(random, kpi, replications)
    yield _drift(random, kpi, replications)
    yield _repaired(random, kpi, replications)
    yield _cause(random, kpi, max(replications // SERIES, 2))


def cost() -> KPIDefinition:
    """A KPI of which less is better."""
    from matrix_benchmarking import kpi

    @kpi.LowerBetter
    @kpi.KPIMetadata(help="What it costs", unit="USD", name="cost")
    def measured(payload: object) -> object:
        return payload

    return kpi.collect([measured])["cost"]


def _disturbed(random: np.random.Generator, kpi: KPIDefinition, count: int) -> Iterable[Row]:
    runs = lognormal(random, (count, RELEASES, REPEATS))
    runs *= np.where(random.random(runs.shape) < 0.02, 1.3, 1.0)
    alarms = sum(len(raised(kpi, one).alarms) for one in runs)
    rate = 1000.0 * alarms / (count / SERIES * RELEASES)
    case = "20 series × 5 repeats, 60 releases, 2 % of runs +30 %: new alarms per 1,000 analyses"
    yield _row(case + _suspected(kpi, runs), rate, "55.6", 2.0, "{:.1f}")
    for size in (0.1, 0.3):
        runs = lognormal(random, (count, RELEASES, REPEATS))
        runs *= np.where(random.random((count, RELEASES, 1)) < 0.02, 1.0 + size, 1.0)
        case = f"2 % of whole blocks +{size:.0%}: series with a false 'worse' in 60 releases"
        yield _row(case + _suspected(kpi, runs), _share(kpi, runs), ".50–.61", 0.05)
    runs = lognormal(random, (count, RELEASES, REPEATS))
    yield _row("nothing disturbed: series with a false 'worse'" + _suspected(kpi, runs), _share(kpi, runs))


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
            yield _row(case, _share(kpi, runs), ".43–.45", 0.1)
    level = np.exp(np.cumsum(random.normal(0.0, 0.005, (count, RELEASES)), axis=1))
    runs = lognormal(random, (count, RELEASES, REPEATS)) * level[:, :, None]
    found = [(raised(kpi, one), of) for one, of in zip(runs, level, strict=True)]
    case = "walk of .5 %: false where the level rose by less than half of what is claimed"
    false = [any(_is_overstated(change, one, of) for change in worse(one)) for one, of in found]
    yield _row(case, float(np.mean(false)), ".43–.45", 0.1)
    last = [any(_rose(of, change) < _claimed(change) / 2.0 for change in worse(one)) for one, of in found]
    yield _row("the same, from the last good version to that which showed it", float(np.mean(last)), ".43–.45", 0.1)


def _two_levels(
    random: np.random.Generator, kpi: KPIDefinition, count: int, gap: float, often: float, releases: int
) -> Row:
    state = np.zeros((count, releases), dtype=bool)
    for place in range(1, releases):
        state[:, place] = state[:, place - 1] ^ (random.random(count) < often)
    runs = lognormal(random, (count, releases, REPEATS)) * (1.0 + gap * state[:, :, None])
    found = []
    for one, of in zip(runs, state, strict=True):
        back = np.flatnonzero(~of[1:] & of[:-1]) + 1
        if len(back) > 1:
            found.append(any(change.seen > back[1] for change in worse(raised(kpi, one))))
    case = (
        f"sticky mood of two levels ({gap:.0%}, changes in {often:.0%} of {releases} releases), after its second return"
    )
    return _row(f"{case}, {len(found)} series", float(np.mean(found)), ".43–.45", 0.1)


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
        yield _row(f"step of {size:.0%}: versions until confirmed, median", _delay(kpi, runs), before, most, "{:.1f}")


def _drift(random: np.random.Generator, kpi: KPIDefinition, count: int) -> Row:
    rising = np.exp(0.003 * np.maximum(np.arange(AT + AFTER) - AT + 1, 0))
    runs = lognormal(random, (count, AT + AFTER, REPEATS)) * rising[:, None]
    alarms = [len(raised(kpi, one).alarms) for one in runs]
    median, delay = float(np.median(alarms)), _delay(kpi, runs)
    figure = f"{median:g} alarm ({np.mean(alarms):.2f} on average), {delay:g} versions"
    return Row("history", "drift of .3 % a version, 60 versions of it: alarms, versions", figure, "3, 13", "1, ≤ 14",
               median == 1 and delay <= 14)  # fmt: skip


def _repaired(random: np.random.Generator, kpi: KPIDefinition, count: int) -> Row:
    runs = lognormal(random, (count, AT + 21, REPEATS))
    runs[:, AT] *= 1.2
    failing = [any(alarm.status is Status.OPEN for alarm in raised(kpi, one).alarms) for one in runs]
    return _row("worse by 20 % for one version: failing 20 versions later", float(np.mean(failing)), ".07", 0.01)


def _cause(random: np.random.Generator, kpi: KPIDefinition, projects: int) -> Row:
    runs = lognormal(random, (projects, SERIES, AT + 5, REPEATS))
    runs[:, :, AT:] *= 1.1
    causes = []
    for project in runs:
        found = [raised(kpi, one, number) for number, one in enumerate(project)]
        causes.append(len(Counter(alarm.first_bad for each in found for alarm in each.alarms)))
    return _row(
        "one cause (+10 %) in 20 series, five versions later: causes, median", float(np.median(causes)), "20", 1, "{:g}"
    )


def _delay(kpi: KPIDefinition, runs: Floats) -> float:
    """How many versions it takes until the change at :data:`AT` is an alarm, median."""
    found = []
    for one in runs:
        seen = [change.seen for change in worse(raised(kpi, one)) if change.seen >= AT]
        found.append(min(seen) - AT + 1 if seen else NEVER)
    return float(np.median(found))


def _share(kpi: KPIDefinition, runs: Floats) -> float:
    """Of the series the share that has an alarm."""
    return float(np.mean([bool(raised(kpi, one).alarms) for one in runs]))


def _suspected(kpi: KPIDefinition, runs: Floats, most: int = 100) -> str:
    """How many series are suspected in a version, at a few of them."""
    stops: Sequence[int] = range(12, RELEASES + 1, 12)
    found = [is_suspected(kpi, one[:stop]) for one in runs[:most] for stop in stops]
    return f" (suspected in a version: {np.mean(found):.1%} of series)"


def _row(case: str, figure: float, before: str = "", most: float | None = None, form: str = "{:.3f}") -> Row:
    to_reach = "" if most is None else f"≤ {most:g}"
    return Row("history", case, form.format(figure), before, to_reach, None if most is None else figure <= most)
