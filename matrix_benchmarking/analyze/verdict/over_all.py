"""What a KPI does over all its series: along a history, or between two sides from the blocks that measured them.

Along a history that is a change that is too small to show in any of them by itself.
"""

from __future__ import annotations

import collections
import datetime as dt
import graphlib
import itertools
import math
from collections.abc import Iterable, Iterator, Sequence

import msgspec
import numpy as np

from ...grouped import grouped
from ...kpi import KPIDefinition
from ...workload import MinimumEffect
from .. import pair
from ..detect import q_values
from ..intervals import Scale
from ..noise import Integers
from ..pair import NO_ROUND, OTHER, Runs
from ..select.series import Series
from ..weigh import NEW, OLD
from .levels import JudgedSeries, judged_together, middle_of_each, noise_of
from .model import Outcome, OverAll, SeriesVerdict
from .sides import Judged, Pair, Question, in_doubt, judge, judged
from .told import told_of

FEWEST = 3
"""So many series are worth a look at what they do together."""
_MOST_GAPS = 4  # so many times as many versions as the series have points of
_FARTHEST = 2.5  # in noises of a series: what lies farther from what the others do at a version is its own


def told_over_all(
    every: Sequence[JudgedSeries], told: Sequence[SeriesVerdict], now: dt.datetime, newest: str | None
) -> Iterator[OverAll]:
    """What the series of a KPI do together of which is *told* that they don't change, up to the *newest* version."""
    minima = {one.series.kpi.name: one.minimum for one in every}
    counts = collections.Counter(one.series.kpi.name for one in every)
    known = ((one.series, verdict) for one, verdict in zip(every, told, strict=True) if not verdict.changes)
    common = list(in_common(series for series, verdict in known if verdict.versions[-1] == newest))
    least = [minima[one.kpi.name] for one in common]
    # Of what has the level 1, what counts is absolute in units of that.
    least = [MinimumEffect(of.relative, of.absolute / one.level) for of, one in zip(least, common, strict=True)]
    for one, verdict in zip(common, told_of(judged_together(common, least), {}, now), strict=True):
        is_change = verdict.outcome in (Outcome.REGRESSION, Outcome.IMPROVEMENT)
        if is_change and verdict.effect is not None and verdict.difference is not None:
            yield OverAll(
                kpi=one.kpi,
                series=one.of,
                outcome=verdict.outcome,
                effect=verdict.effect,
                difference=verdict.difference,
                since=verdict.first_bad_version,
                of=counts[one.kpi.name],
                is_new=verdict.is_new,
            )


class Common(Series, frozen=True):
    """Several series as one, whose level is 1: at each version the mean of what they are of their usual values."""

    ratios: tuple[float, ...] = ()
    of: int = 0  # how many series
    level: float = 1.0  # that of the middle one, in the KPI's unit

    @property
    def values(self) -> list[list[float]]:
        return [[one] for one in self.ratios]


def in_common(unchanged: Iterable[Series]) -> Iterator[Common]:
    """Of each KPI the series that don't change by themselves, as one; of some KPIs there are too few."""
    positive = (one for one in unchanged if all(point.minimum > 0.0 for point in one.points))
    for series in grouped((one.kpi.name, one) for one in positive).values():
        if len(series) >= FEWEST and (common := _common(series)) is not None:
            yield common


def _common(series: Sequence[Series]) -> Common | None:
    """*series* as one, at the versions at which most of them have a value; None where they share no order of versions.

    Each counts by the inverse of its variance, at most as the middle one does.
    """
    keys = _in_order(series)
    if len(series) * len(keys) > _MOST_GAPS * sum(len(one.keys) for one in series):
        return None  # as runs without versions, each of which is a point of its own
    place = {key: at for at, key in enumerate(keys)}
    logs = np.full((len(series), len(keys)), np.nan)
    first = dict[str, tuple[Series, int]]()  # of each version a series that has it, and where
    for row, one in zip(logs, series, strict=True):
        row[[place[key] for key in one.keys]] = np.log(middle_of_each(one))
        first.update({key: (one, at) for at, key in enumerate(one.keys) if key not in first})
    levels = np.nanmedian(logs, axis=1)
    moved = logs - levels[:, None]
    noise = np.array([noise_of(row[~np.isnan(row)]) for row in moved])
    noise = np.maximum(noise, np.median(noise))
    of_each = 1.0 / np.square(noise) if noise.all() else np.ones(len(noise))
    weights = np.where(np.isnan(moved), 0.0, of_each[:, None])
    there = weights.sum(axis=0)
    most = there >= of_each.sum() / 2.0
    if most.sum() < 2 or not most[-1]:
        return None
    middle = np.nanmedian(moved, axis=0)
    own = np.clip(moved - middle, -_FARTHEST * noise[:, None], _FARTHEST * noise[:, None])
    together = middle + np.nansum(weights * own, axis=0) / there
    kept = [first[key] for key, is_in in zip(keys, most.tolist(), strict=True) if is_in]
    ratios = np.exp(together[most]).tolist()
    return Common(
        id=f"{series[0].kpi.name} over all",
        kpi=series[0].kpi,
        labels={},
        name="",
        points=tuple(
            msgspec.structs.replace(one.points[at], mean=ratio, minimum=ratio, maximum=ratio)
            for (one, at), ratio in zip(kept, ratios, strict=True)
        ),
        versions=tuple([one.versions[at] for one, at in kept]),
        keys=tuple([one.keys[at] for one, at in kept]),
        ratios=tuple(ratios),
        of=len(series),
        level=float(np.exp(np.median(levels))),
        blocks=[one.blocks[at][:1] for one, at in kept],
    )


def _in_order(series: Sequence[Series]) -> list[str]:
    """The versions of all, in the order that each of them has."""
    known = graphlib.TopologicalSorter[str]()
    for keys in dict.fromkeys(one.keys for one in series):
        known.add(keys[0])
        for before, after in itertools.pairwise(keys):
            known.add(after, before)
    return list(known.static_order())


class Effect(msgspec.Struct, frozen=True):
    """What a KPI does over all pairs of points that differ in the setting only."""

    kpi: KPIDefinition
    pairs: tuple[Pair, ...]
    judged: Judged  # the mean over the pairs, from the blocks in which they were measured
    outcome: Outcome | None  # the verdict on that mean; None where the KPI isn't judged
    verdicts: tuple[SeriesVerdict, ...]  # on the pairs, the largest difference first; empty likewise
    minimum: MinimumEffect

    def count(self, outcome: Outcome) -> int:
        return sum(one.outcome is outcome for one in self.verdicts)


def effects_of(
    pairs: Sequence[Pair], runs: Sequence[Runs], of_series: Sequence[SeriesVerdict], question: Question
) -> tuple[Effect, ...]:
    """What each KPI does over its pairs; the KPIs are a family over which false discoveries are counted.

    *runs* are those of the pairs.
    """
    verdicts = {(one.kpi.name, one.id): one for one in of_series}
    by_kpi = grouped((one.series.kpi.name, one) for one in pairs)
    runs_by_kpi = grouped((one.series.kpi.name, found) for one, found in zip(pairs, runs, strict=True))
    means = [_mean(of, runs_by_kpi[name], question) for name, of in by_kpi.items()]
    judged_pairs = [[verdicts[name, one.series.id] for one in of if (name, one.series.id) in verdicts]
                    for name, of in by_kpi.items()]  # fmt: skip
    q = q_values([mean.p_value if found else None for mean, found in zip(means, judged_pairs, strict=True)])
    effects = []
    for of, mean, found, q_value in zip(by_kpi.values(), means, judged_pairs, q, strict=True):
        kpi, outcome = of[0].series.kpi, None
        minimum = question.minimum_effects.get(kpi.name, MinimumEffect())
        if found and kpi.lower_better is not None:
            over_all = mean.outcome(minimum, kpi.lower_better, q_value)
            outcome = found[0].outcome if len(found) == 1 else over_all
        largest_first = tuple(sorted(found, key=_size, reverse=True))
        effects.append(Effect(kpi, tuple(of), mean, outcome, largest_first, minimum))
    return tuple(effects)


def _mean(pairs: Sequence[Pair], found: Sequence[Runs], question: Question) -> Judged:
    """The mean over *pairs* of one KPI, of which these runs were *found*; of a single pair what is said of it."""
    if len(pairs) == 1:
        return judge(pairs, found, question)[0]
    scale = Scale.RATIO if all(one.scale is Scale.RATIO for one in found) else Scale.DIFFERENCE
    over_all = pooled([one if one.scale is scale else one.as_differences() for one in found])
    return in_doubt(judged([over_all], pair.lend(pair.evidence_of([over_all]))), pairs)[0]


def pooled(series: Sequence[Runs]) -> Runs:
    """The runs of several series of one KPI as those of one, whose difference is the mean of theirs.

    Each side of a series is moved to the middle of that side over all series, so that it matters to no block which of
    the series were measured in it. Blocks of different series are one: by themselves they say nothing of the mean. All
    are to be on one scale.
    """
    unit = max(one.unit for one in series)
    values = [one.values * (one.unit / unit) for one in series]
    of_sides = {one.sides.tobytes(): one.sides for one in series}
    places = {key: [(side, np.flatnonzero(sides == side)) for side in np.unique(sides).tolist()]
              for key, sides in of_sides.items()}  # fmt: skip
    middles = [
        {side: float(each[at].mean()) for side, at in places[one.sides.tobytes()]}
        for each, one in zip(values, series, strict=True)
    ]
    known = grouped(of for each in middles for of in each.items())
    over_all = {side: float(np.mean(of)) for side, of in known.items()}
    moved = [
        each + np.array([over_all[side] - middle[side] for side in one.sides.tolist()])
        for each, middle, one in zip(values, middles, series, strict=True)
    ]
    sides = np.concatenate([one.sides for one in series])
    campaigns, rounds = (_blocks_of_all(series, name) for name in ("campaigns", "rounds"))
    step = min(one.step * (one.unit / unit) for one in series)
    return Runs(series[0].scale, unit, np.concatenate(moved), sides, campaigns, rounds, step)


def _blocks_of_all(series: Sequence[Runs], name: str) -> Integers:
    """The numbers of campaigns or rounds of all *series*; those that share no side of a series have one.

    A block that shares one with an earlier block comes after it. What else than both sides was measured in a block
    tells none apart, and neither do the sides where some blocks have both and others one.
    """
    members = collections.defaultdict[int, set[tuple[int, int]]](set)  # the series in each, and of which side
    for place, one in enumerate(series):
        sides = np.minimum(one.sides, OTHER).tolist()
        for number, side in zip(getattr(one, name).tolist(), sides, strict=True):
            members[number].add((place, side))
    members.pop(NO_ROUND, None)
    kinds = {number: frozenset(side for _, side in of) - {OTHER} for number, of in members.items()}
    if {OLD, NEW} in kinds.values():
        kinds = {number: kind and frozenset((OLD, NEW)) for number, kind in kinds.items()}
    latest: dict[tuple[frozenset[int], tuple[int, int]], int] = {}  # the layer of the last block of a side of a series
    first: dict[tuple[frozenset[int], int], int] = {}  # block of each layer
    known = {NO_ROUND: NO_ROUND}
    for number in sorted(members):
        kind = kinds[number]
        layer = 1 + max(latest.get((kind, one), 0) for one in members[number])
        latest |= {(kind, one): layer for one in members[number]}
        known[number] = first.setdefault((kind, layer), number)
    return np.array([known[number] for one in series for number in getattr(one, name).tolist()])


def _size(verdict: SeriesVerdict) -> float:
    if verdict.effect is not None:
        return abs(math.log1p(verdict.effect.value)) if verdict.effect.value > -1.0 else math.inf
    return 0.0 if verdict.difference is None else abs(verdict.difference.value)


def hidden_in_series(effects: Sequence[Effect]) -> Iterator[OverAll]:
    """What shows over all series of a KPI, and in none of them by itself."""
    for one in effects:
        if one.outcome in (Outcome.REGRESSION, Outcome.IMPROVEMENT) and not one.count(one.outcome):
            yield OverAll(one.kpi, len(one.pairs), one.outcome, one.judged.effect, one.judged.difference)
