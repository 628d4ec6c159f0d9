"""What a ranking is: per group of comparable points their order, the best of each variant, and what may be as good.

:mod:`.rank` makes it; the mathematics is :mod:`.best_of`.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from ..grouped import grouped
from ..kpi import KPIDefinition
from ..plausible import is_number
from ..rows import Rows
from ..workload import Workload
from .blocks import Block
from .intervals import Scale
from .points import Bounded, Excluded, ExclusionCause, Key, Point, SettingsOf, key, keys, varying
from .select.selection import Newest
from .words import count_of, tuning_label

if TYPE_CHECKING:
    from .best_of import Estimates


@dataclasses.dataclass(frozen=True, slots=True)
class Standing:
    """A point and how it compares with the best of its group."""

    point: Point
    difference: float  # from the best: as a fraction of its size on the ratio scale, else value − best
    # False for a point of the set that contains the best with 95 %: it can't be told apart from the best; None where
    # nobody knows: no point was repeated, or only a mood of the machine may lie between two campaigns.
    apart: bool | None


_SAID = 2
"""As many settings that a variant implies are said with its name."""


@dataclasses.dataclass(frozen=True)
class Group:
    """The points that may be compared with each other."""

    kpi: KPIDefinition  # by which they are ranked: the headline at their settings
    settings: Mapping[str, object]  # the values of those of the workload's group keys that differ between groups
    named_by: tuple[str, ...]  # those of them that it takes to name it: the set ones, where no other group has them all
    variant_names: tuple[str, ...]  # settings that name a variant: of the workload's keys, else all that vary
    told_names: tuple[str, ...]  # those of them that it takes to tell it from others
    tuning_names: tuple[str, ...]  # the other settings that vary in this group
    tried: SettingsOf  # settings of all points, also where a narrower question leaves some out
    standings: tuple[Standing, ...]  # all points, the best first; ties in the order of their settings
    scale: Scale  # of the differences
    estimates: Estimates | None  # of the standings, by their repeats; None where nothing was repeated
    # Of each run, by its place in the table, what it was measured together with; empty where nothing was repeated.
    blocks: Callable[[], Mapping[int, Block]] = dataclasses.field(compare=False, repr=False)
    # Of which it is a part, and from which its points have their intervals; None for the whole.
    whole: Group | None = None
    # What :func:`.limits.bounded` found, by KPI; one thread makes what several ask for.
    known_bounds: dict[str, Sequence[Bounded]] = dataclasses.field(default_factory=dict, init=False, compare=False)
    lock: threading.Lock = dataclasses.field(default_factory=threading.Lock, init=False, compare=False)

    def __repr__(self) -> str:
        """As short as that of :class:`Best`."""
        settings = {name: self.best.settings.get(name) for name in (*self.variant_names, *self.tuning_names)}
        best = f"best {self.kpi.name} {self.best.value:g} at {settings}"
        return f"<{type(self).__name__} of {count_of(len(self.standings), 'point')}, {best}>"

    @functools.cached_property
    def optimism(self) -> float | None:
        """By how much the best value is likely too good, having been chosen: a fraction on the ratio scale, else in the
        KPI's unit; None where nothing was repeated, or the best has no interval.
        """
        from . import best_of

        if self.estimates is None or self.best.interval is None:
            return None
        return best_of.optimism(self.estimates, lower_better=lower_better_of(self.kpi, self.scale, self.best.value))

    @functools.cached_property
    def variants(self) -> list[Standing]:
        """The best point of each variant, the best variant first."""
        variants = keys(self.settings_of_all, self.variant_names)
        best = dict(zip(reversed(variants), reversed(self.standings), strict=True))
        return [best[variant] for variant in dict.fromkeys(variants)]

    @functools.cached_property
    def implied_names(self) -> tuple[str, ...]:
        """The tuned settings that have one value within each variant, of which its name is the short form.

        One or two aren't: with them it is seen at once that variants were measured at unlike settings.
        """
        if len(self.tuning_names) <= _SAID:
            return ()
        settings, told = self.settings_of_all, self.told_names
        count = len(set(keys(settings, told)))
        found = [name for name in self.tuning_names if len(set(keys(settings, [*told, name]))) == count]
        return tuple(found) if len(found) > _SAID else ()

    def places_of(self, points_runs: Sequence[Rows]) -> list[int] | None:
        """The places of the points that have these runs, in their order; None unless each is one of its own."""
        try:
            return [self._places[id(runs[0]), len(runs)] for runs in points_runs]
        except KeyError:
            return None

    @functools.cached_property
    def _places(self) -> Mapping[tuple[int, int], int]:
        return {(id(one.point.runs[0]), len(one.point.runs)): place for place, one in enumerate(self.standings)}

    @property
    def rounds(self) -> int:
        """How many rounds had a run of each point, so that what they add to all was taken out of the comparisons."""
        return 0 if self.estimates is None else self.estimates.rounds

    @property
    def is_one_campaign(self) -> bool:
        """Whether all its runs are of one, as far as is known, so that no interval says how campaigns differ."""
        is_known = any(run.campaign is not None or any(run.span_us) for run in self.best.runs)
        return is_known and self.estimates is not None and self.estimates.campaigns is None

    @property
    def is_in_turn(self) -> bool:
        """False where points that differ may have been measured one after the other, each in a mood of its own."""
        return self.estimates is None or self.estimates.is_in_turn or not any(one.apart for one in self.standings)

    @property
    def best(self) -> Point:
        return self.standings[0].point

    @property
    def undecided(self) -> list[Standing]:
        """The points that can't be told apart from the best; none where that isn't known."""
        return [one for one in self.standings[1:] if one.apart is False]

    @property
    def untold(self) -> list[Standing]:
        """The points of which nobody knows, since they were measured in other campaigns than the best."""
        return [] if self.estimates is None else [one for one in self.standings[1:] if one.apart is None]

    @functools.cached_property
    def settings_of_all(self) -> SettingsOf:
        """Those of the standings, in their order."""
        return SettingsOf(one.point.settings for one in self.standings)

    def highest(self, point: Point) -> list[str]:
        """The tuned settings of which *point* has the largest number that was tried with its variant, of several."""
        places = self.tried.like(point.settings, self.variant_names)
        found = []
        for name in self.tuning_names:
            numbers = set(filter(is_number, self.tried.values(name, places)))  # 1 and 1.0 are one
            if len(numbers) > 1 and point.settings.get(name) == max(numbers):
                found.append(name)
        return found

    def unlike(self, name: str) -> tuple[Standing, list[Standing]] | None:
        """The point that is the best's at the nearest other number of *name*; and those that are better there and of
        which nothing is known at the best's own number. None where there are none.
        """
        rest, own, settings = self._others(name), self.best.settings.get(name), self.settings_of_all
        numbers = [(at, settings[at].get(name)) for at in settings.like(self.best.settings, rest) if at]
        steps = [(abs(value - own), place) for place, value in numbers if is_number(own) and is_number(value)]
        if not steps:
            return None
        _, near = min(steps)
        alike = [place for place in settings.like(settings[near], [name]) if place < near]
        known = {key(self.tried[place], rest) for place in self.tried.like(self.best.settings, [name])} if alike else ()
        found = [self.standings[place] for place in alike if key(settings[place], rest) not in known]
        return (self.standings[near], found) if found else None

    def step_below(self, point: Point, name: str) -> Standing | None:
        """The point with the next smaller number of *name*, and otherwise the settings of *point*."""
        own, settings = point.settings.get(name), self.settings_of_all
        same = ((settings[at].get(name), at) for at in settings.like(point.settings, self._others(name)))
        lower = [(value, -at) for value, at in same if is_number(own) and is_number(value) and value < own]
        return self.standings[-max(lower)[1]] if lower else None

    def _others(self, name: str) -> list[str]:
        """The settings that tell a point from others, but for one."""
        return [each for each in (*self.variant_names, *self.tuning_names) if each != name]


@dataclasses.dataclass(frozen=True, slots=True)
class Best:
    """The outcome of :func:`rank`: no group where nothing could be ranked, ``kpi`` None without KPIs."""

    kpi: KPIDefinition | None
    groups: tuple[Group, ...]
    excluded: tuple[Excluded, ...]
    newest: Newest | None = None  # the version that it is of, where there are several
    trees: tuple[object, ...] = ()  # which were put beside each other, the first one first; none of a single one

    def __repr__(self) -> str:
        """Short: a ranking has many points, and they their runs."""
        groups = ", ".join(map(repr, self.groups[:3]))
        return f"<{type(self).__name__} of {count_of(len(self.groups), 'group')}: {groups}>"

    def failed_at(self, point: Point) -> int:
        """How many runs failed at the settings of *point*; what results tell isn't known of them."""
        runs = (one.entry.settings for one in self.excluded if one.cause is ExclusionCause.FAILED)
        return sum(key(settings, settings) == key(point.settings, settings) for settings in runs)

    def lost(self, versions: Collection[str]) -> list[str]:
        """The points of which no run is left, whatever their *versions*: ``batch_size 8, vus 4``."""
        gated = (one.entry.settings for one in self.excluded if one.cause is ExclusionCause.GATED)
        there = [*(one.point.settings for group in self.groups for one in group.standings), *gated]
        known: dict[tuple[str, ...], set[Key]] = {}
        found: dict[Key, Mapping[str, object]] = {}
        for one in self.excluded if self.groups else ():
            settings = one.entry.settings  # of which some may be told by results, which it has none of
            names = tuple(sorted(settings.keys() - versions))
            if one.cause is ExclusionCause.GATED or not names:
                continue
            if names not in known:
                known[names] = {key(each, names) for each in there}
            if (mine := key(settings, names)) not in known[names]:
                found.setdefault(mine, settings)
        told = [name for name in varying([*found.values(), *there]) if name not in versions] if found else []
        return [tuning_label(settings, told) for settings in found.values()]

    def beyond(self, group: Group) -> list[Excluded]:
        """The runs that take no part, of the best variant of *group* with more of a setting that ends at the best."""
        best, ends = group.best.settings, group.highest(group.best)
        if not ends:
            return []
        of_excluded = SettingsOf(one.entry.settings for one in self.excluded)
        places = of_excluded.like(best, [*group.settings, *group.variant_names])
        like = [self.excluded[place] for place in places]
        return [one for one in like if any(is_more(one.entry.settings.get(name), best[name]) for name in ends)]

    @property
    def alone(self) -> tuple[Group, ...]:
        """Groups of a single point, where there are several: they are told together."""
        found = tuple(each for each in self.groups if len(each.standings) == 1)
        return found if len(found) > 1 else ()

    @property
    def alone_by_kpi(self) -> Sequence[Sequence[Group]]:
        """The same, those of one KPI together."""
        return list(grouped((group.kpi.name, group) for group in self.alone).values())

    @property
    def compared(self) -> tuple[Group, ...]:
        """All other groups."""
        alone = {id(group) for group in self.alone}
        return tuple(group for group in self.groups if id(group) not in alone)


def is_more(value: object, than: object) -> bool:
    """Whether a number is larger *than* another one; False for what is none."""
    return is_number(value) and is_number(than) and value > than


def group_key(group: Group, workload: Workload) -> tuple[Key, str]:
    """What a group has in common with that of other runs with which it may be compared."""
    return key(group.best.settings, workload.group_keys), group.kpi.name


def is_better(point: Point, group: Group) -> bool:
    """True for a *point* of other runs that is better than the best of *group* by more than both intervals allow.

    Their reaches towards each other add up as independent errors do, in squares. False where one isn't known. Runs of
    other campaigns have another mood of the machine: it is no verdict.
    """
    best, sign = group.best, 1 if group.kpi.lower_better else -1
    if point.interval is None or best.interval is None:
        return False
    mine, others = (point.interval.high, best.interval.low) if sign > 0 else (point.interval.low, best.interval.high)
    return sign * (best.value - point.value) > math.hypot(mine - point.value, best.value - others)


def apart_by(value: float, best: float, scale: Scale) -> float:
    """How far *value* is from the *best*: as a fraction of its size on the ratio scale, else in the KPI's unit."""
    return (value - best) / abs(best) if scale is Scale.RATIO else value - best


def lower_better_of(kpi: KPIDefinition, scale: Scale, value: float) -> bool:
    """The same of the sizes, which are compared on the ratio scale, of values with the sign of *value*."""
    return bool(kpi.lower_better) != (scale is Scale.RATIO and value < 0)
