"""Two values of a setting, compared at all points that differ in nothing else: is it worth to switch?

Gets entries, gives an :class:`Effect`: the mean difference over the pairs of points with its interval, and each pair.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence

from ..filters import Scalar
from ..kpi import KPIDefinition
from ..matrix import Entry, typed
from . import intervals
from .intervals import Comparison, Interval, Sample, Scale
from .points import Key, key, sorting_key


@dataclasses.dataclass(frozen=True, slots=True)
class Pair:
    """Two points that differ in the compared setting only.

    Attributes:
        settings: what they have in common.
        old_runs, new_runs: the runs at each.
        old, new: their values.
        comparison: new against old.
    """

    settings: Mapping[str, Scalar]
    old_runs: tuple[Entry, ...]
    new_runs: tuple[Entry, ...]
    old: Sample
    new: Sample
    comparison: Comparison


@dataclasses.dataclass(frozen=True, slots=True)
class Effect:
    """What a KPI does when a setting goes from one value to another.

    Attributes:
        kpi: the KPI.
        pairs: all pairs, the largest difference first.
        difference: the mean over the pairs: as a ratio − 1 on the ratio scale, else in the KPI's unit.
        scale: which of the two.
        interval: of the difference, 95 % over the pairs; None for a single pair.
        apart: True if it is more than chance; None if that can't be known.
    """

    kpi: KPIDefinition
    pairs: tuple[Pair, ...]
    difference: float
    scale: Scale
    interval: Interval | None
    apart: bool | None

    @property
    def is_better(self) -> bool | None:
        """True if the new value is the better one, or the same; None where neither direction is better."""
        if self.kpi.lower_better is None:
            return None
        return self.difference <= 0 if self.kpi.lower_better else self.difference >= 0

    @property
    def disagreeing(self) -> int:
        """How many pairs differ, by more than chance, in the other direction than the mean does."""
        return sum(
            pair.comparison.apart is True and (pair.comparison.difference > 0) != (self.difference > 0)
            for pair in self.pairs
        )


Runs = tuple[list[Entry], list[Entry]]


def compare(entries: Iterable[Entry], setting: str, old: Scalar, new: Scalar, kpi: KPIDefinition) -> Effect | None:
    """The effect of *setting* going from *old* to *new*; None where no two points differ in it alone.

    Failed runs, and runs without the KPI, take no part. On the ratio scale the mean is geometric. Its interval is
    Student's t interval over the pairs, so it says what to expect at settings such as these; the effect of a single
    pair is told from chance by its repeats.
    """
    return effect_of(pair_up(entries, setting, old, new), setting, kpi)


def pair_up(entries: Iterable[Entry], setting: str, old: Scalar, new: Scalar) -> list[Runs]:
    """The runs with *old* and those with *new*, point by point where both are there; failed runs take no part."""
    sides: dict[Key, Runs] = {}
    wanted = {typed(old): 0, typed(new): 1}
    chosen = [
        (entry, wanted[value])
        for entry in entries
        if setting in entry.settings and not entry.failed and (value := typed(entry.settings[setting])) in wanted
    ]
    names = sorted({name for entry, _ in chosen for name in entry.settings} - {setting})
    for entry, side in chosen:
        sides.setdefault(key(entry.settings, names), ([], []))[side].append(entry)
    return [both for both in sides.values() if all(both)]


def effect_of(pairs: Iterable[Runs], setting: str, kpi: KPIDefinition) -> Effect | None:
    """What *kpi* does over the *pairs* of :func:`pair_up`; None where it isn't known on both sides of one."""
    known = (tuple([run for run in runs if kpi.name in run.kpis] for runs in pair) for pair in pairs)
    both = [(olds, news) for olds, news in known if olds and news]
    if not both:
        return None
    scale = intervals.scale_of(entry.kpis[kpi.name] for olds, news in both for entry in (*olds, *news))
    samples = [tuple(intervals.summarise([entry.kpis[kpi.name] for entry in runs]) for runs in pair) for pair in both]
    spread = intervals.pooled([sample for pair in samples for sample in pair], scale)
    names = sorted({name for olds, _ in both for name in olds[0].settings} - {setting})
    found = [
        Pair(
            settings={name: value for name, value in olds[0].settings.items() if name != setting},
            old_runs=tuple(olds),
            new_runs=tuple(news),
            old=before,
            new=after,
            comparison=intervals.compare(after, before, scale, spread),
        )
        for (olds, news), (before, after) in zip(both, samples, strict=True)
    ]
    found.sort(key=lambda pair: (-abs(pair.comparison.difference), sorting_key(pair.settings, names)))
    return _effect(kpi, found, scale)


def _effect(kpi: KPIDefinition, pairs: Sequence[Pair], scale: Scale) -> Effect:
    if len(pairs) == 1:
        only = pairs[0].comparison
        return Effect(kpi, tuple(pairs), only.difference, scale, None, only.apart)
    if scale is Scale.RATIO:
        steps = intervals.summarise([math.log1p(pair.comparison.difference) for pair in pairs])
    else:
        steps = intervals.summarise([pair.comparison.difference for pair in pairs])
    found = intervals.interval(steps, Scale.DIFFERENCE)
    assert found is not None
    apart = not found.low <= 0 <= found.high
    if scale is Scale.RATIO:
        ends = Interval(math.expm1(found.low), math.expm1(found.high))
        return Effect(kpi, tuple(pairs), math.expm1(steps.mean), scale, ends, apart)
    return Effect(kpi, tuple(pairs), steps.mean, scale, found, apart)
