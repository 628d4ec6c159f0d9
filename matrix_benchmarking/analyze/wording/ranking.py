"""A ranking in sentences: what is best, at all or under a limit, how sure that is, and what was left out."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from ...filters import show
from ...kpi import KPIDefinition
from ...matrix import NOT_SET, Entry
from .. import further
from ..best import Best, Group, Standing, apart_by, is_more
from ..intervals import Interval, Scale
from ..points import Excluded, ExclusionCause, Point, among_others, runs_and_files, varying
from ..select.selection import Newest
from ..words import (
    ONE_CAMPAIGN,
    count_of,
    counted_alike,
    difference,
    first_of,
    named,
    percent,
    plural,
    tuning_label,
    value_label,
    variant_label,
)
from .analyses import changes

if TYPE_CHECKING:
    from ..study import Study

_CURRENCIES = ("USD", "EUR", "GBP", "JPY", "CNY", "INR", "CHF", "$", "€", "£", "¥")
_NAMED = 3  # of runners-up in a sentence
_LEAST = 0.0005  # the share of the best value below which by how much it looks too good isn't said
NOT_IN_TURN = "Nothing says that they were measured in turn: whether it is more than the machine's mood can't be told."
SINGLE = "Its one run may be an outlier: measure it again."
MEASURE_IN_TURN = "Measuring them in turn, in one benchmark file, would tell."
FLAT = 0.02  # the share of the best value that a last step has to bring for a further one to promise anything


class Verdict(msgspec.Struct, frozen=True):
    """What is best and what stands behind it, in one sentence; then what is next to it.

    Attributes:
        edge: that it lies at the end of what was tried; empty where it doesn't.
        command: what measures beyond, where that is known.
        rivals: how many others may be as good, in a few words.
        behind: what stands behind the value, which ends the lead.
    """

    lead: str
    rest: str = ""
    edge: str = ""
    command: str = ""
    rivals: str = ""
    behind: str = ""

    @property
    def claim(self) -> str:
        """The lead without what stands behind it."""
        return self.lead.removesuffix(self.behind)

    def __str__(self) -> str:
        return " ".join(filter(None, (self.lead, self.edge, self.rest)))


def verdict(best: Best, condition: str = "") -> list[Verdict]:
    """One verdict a group of comparable points; *condition* says which points take part, where not all do."""
    if best.kpi is None:
        return [Verdict("This workload defines no KPI, so no configuration can be called the best.")]
    if not best.groups:
        why = exclusions(best) or "there is no finished test"
        return [Verdict(f"No configuration can be ranked by {best.kpi.name}: {why}.")]
    said = [_group(group, condition, _version(group, best.newest), best.beyond(group)) for group in best.compared]
    groups = best.alone
    if groups:  # to each its own sentence would hide the others
        only = f" that {'keeps the limit' if condition else 'could be ranked'}"
        lead = f"Nothing to compare in {len(groups)} groups with one point each{only}."
        said.append(Verdict(lead, f"They are {named(list(map(scope, groups)), _NAMED, are_long=True)}."))
    return said


def of_newest(best: Best) -> list[str]:
    """Which version was ranked, where there are several, and how many runs of the others were left alone."""
    newest = best.newest
    if newest is None:
        return []
    count = len(newest.others)
    rest = f"{count_of(count, 'run')} of other versions {'takes' if count == 1 else 'take'} no part."
    version = newest.of_runs()
    if version is NOT_SET:
        return [f"Each is ranked at its newest {newest.key}; {rest}"]
    return [f"{show(version)} is the newest of {newest.of} {plural(newest.of, 'version')}; {rest}"]


def of_trees(best: Best) -> list[str]:
    """That runs of trees that somebody put beside the first one take part."""
    of = best.trees
    if len(of) < 2:
        return []
    others = named([show(tree) for tree in of[1:]], _NAMED)
    are = "was" if len(of) == 2 else "were"
    return [f"{others} {are} put beside {show(of[0])}, and {'is' if len(of) == 2 else 'are'} unofficial."]


def of_failed(versions_and_points: Sequence[str]) -> list[str]:
    """That no run of these succeeded, so that none could be the best."""
    which, them = named(versions_and_points, _NAMED, are_long=True), "it" if len(versions_and_points) == 1 else "them"
    return [f"No good run of {which}: nothing is said of {them}."] if versions_and_points else []


COMPARE = "Compare"  # the page, and the command
OF_WITHIN = (
    "† Within its campaigns: too little is known of how these differ, which a point that is measured in three would "
    "tell; the machine's mood may be all that lies between points of different ones."
)


def of_before(pairs: Iterable[tuple[Group, Group]], newest: Newest | None) -> list[str]:
    """That the version before the *newest* had a better one, of each of the *pairs* of groups, its own the second."""
    said = []
    for group, earlier in pairs:
        version = NOT_SET if newest is None else earlier.best.settings.get(newest.key, NOT_SET)
        whose = "An earlier version" if newest is None or version is NOT_SET else value_label(newest.key, version)
        apart = apart_by(earlier.best.value, group.best.value, group.scale)
        told = tuple(name for name in earlier.told_names if newest is None or name != newest.key)
        point = point_label(earlier.best.settings, dataclasses.replace(earlier, told_names=told))
        label = f"{point}, {group.kpi.show(earlier.best.value)}"
        by = difference_label(apart, group.scale, group.kpi)
        if newest is not None and whose.startswith(f"{newest.key} ") and not group.settings:  # and not a word as v1.9
            whose = f"{whose[:1].upper()}{whose[1:]}"
        sentence = f"{whose} had a better one: {label} ({by}). {COMPARE} says whether by chance."
        said.append(f"For {scope(group)}: {sentence}" if group.settings else sentence)
    return said


def of_history(study: Study) -> list[str]:
    """What is worse since a version, of which a ranking tells nothing; unsaid where that isn't known and takes long."""
    has_versions = study.past is not None or study.has_versions
    analysis = study.analysis if has_versions and study.has_analysis else None
    said = [] if analysis is None else changes(analysis, study.headline_name)
    more = len(said) - 1
    rest = f" {count_of(more, 'other version')} made series worse, too." if more > 0 else ""
    whose = "The history says" if study.past is not None else "By all versions"
    return [f"{whose}: {said[0]}{rest}"] if said else []


def versions_of(group: Group, earlier: Group, newest: Newest | None) -> tuple[str, ...]:
    """The version of the best of an *earlier* group and that of *group*; none where one of them isn't known."""
    if newest is None:
        return ()
    versions = earlier.best.settings.get(newest.key, NOT_SET), newest.of_runs(group.best.runs)
    return () if NOT_SET in versions else tuple(map(show, versions))


def _version(group: Group, newest: Newest | None) -> str:
    version = NOT_SET if newest is None else newest.of_runs(run for one in group.standings for run in one.point.runs)
    return "" if newest is None or version is NOT_SET else f"at {value_label(newest.key, version)}"


def for_group(group: Group, said: str) -> str:
    """What is *said* of a group, with what its points have in common where there are several groups."""
    return f"For {scope(group)}: {said}" if group.settings else f"{said[:1].upper()}{said[1:]}"


def scope(group: Group) -> str:
    """What a group's points have in common, where there are several groups; else empty."""
    return tuning_label(group.settings, group.named_by)


DOUBTFUL = "Doubtful"  # begins what is said of one


def doubts(best: Best) -> list[str]:
    """What makes the best points doubtful, each doubt once, with the groups whose best it is about."""
    found: dict[str, list[str]] = {}
    for group in best.groups:
        if lost := failed_runs(best, group.best):
            found.setdefault(f"{lost}, and the others speak for it alone", []).append(scope(group))
        others = [run for one in group.standings if one.point is not group.best for run in one.point.runs]
        for warning in among_others(group.best, others) if others else group.best.warnings:
            found.setdefault(warning, []).append(scope(group))
    said = []
    for warning, scopes in found.items():
        of = f" for {named(scopes, _NAMED, are_long=True)}" if any(scopes) else ""
        said.append(f"{DOUBTFUL}{of}: {warning}")
    return said


def failed_runs(best: Best, point: Point) -> str:
    """``2 of its 4 runs failed``; empty where none of *point*'s did."""
    failed = best.failed_at(point)
    return f"{failed} of its {failed + len(point.runs)} runs failed" if failed else ""


def instead(wanted: KPIDefinition | None, runs: Iterable[Entry]) -> list[str]:
    """Why the ranking isn't by the KPI that the workload *wanted*; nothing where it is."""
    if wanted is None:
        return []
    reasons = counted_alike(run.missing_kpis.get(wanted.name, "unknown") for run in runs).most_common()
    return [f"No run has {wanted.name}: {first_of(reason for reason, _ in reasons)}."] if reasons else []


def exclusions(best: Best) -> str:
    """How many runs take no part in the ranking, by reason; empty if all do."""
    return _left_out(best.excluded) if best.excluded else ""


def _left_out(runs: Sequence[Excluded]) -> str:
    reasons = counted_alike(one.kind for one in runs if one.cause is ExclusionCause.UNKNOWN)
    reasons.update(one.kind for one in runs if one.cause is not ExclusionCause.UNKNOWN)
    listed = [f"{count} × {reason}" for reason, count in reasons.most_common(_NAMED)]
    rest = len(reasons) - len(listed)
    if rest:
        listed.append(f"{rest} other {plural(rest, 'reason')}")
    return f"{runs_and_files([one.entry for one in runs])} can't take part ({'; '.join(listed)})"


def superlative(kpi: KPIDefinition, condition: str = "") -> str:
    """``Cheapest by 1B_cost`` for money, else ``Lowest`` or ``Highest`` with the KPI's name; with its *condition*."""
    if kpi.lower_better and kpi.unit.startswith(_CURRENCIES):
        return " ".join(filter(None, ["Cheapest", condition, f"by {kpi.name}"]))
    return f"{'Lowest' if kpi.lower_better else 'Highest'} {kpi.name} {condition}".rstrip()


def point_label(settings: Mapping[str, object], group: Group) -> str:
    """A point by what tells its variant from others, and the settings that were tuned within variants."""
    variant = variant_label(settings, group.told_names)
    tuning = tuning_label(settings, [name for name in group.tuning_names if name not in group.implied_names])
    return " at ".join(text for text in (variant, tuning) if text) or "the only configuration"


def behind(point: Point, kpi: KPIDefinition) -> str:
    """How many runs stand behind a value, and its interval."""
    runs = "one run" if len(point.runs) == 1 else f"{len(point.runs)} runs"
    if point.interval is None:
        return f"{runs}: no interval"
    origin = ", its width taken from the points with repeats" if len(point.runs) == 1 else ""
    origin += ", within its campaigns alone" if point.interval.is_within else ""
    return f"{runs}; 95 % interval {interval_label(point.interval, kpi)}{origin}"


def interval_label(interval: Interval, kpi: KPIDefinition, *, unit: bool = True) -> str:
    return f"{kpi.show(interval.low, unit=False)} to {kpi.show(interval.high, unit=unit)}"


def difference_label(amount: float, scale: Scale, kpi: KPIDefinition) -> str:
    """A difference, with its sign: ``+0.8 %``."""
    return percent(amount) if scale is Scale.RATIO else difference(kpi, amount)


def _group(group: Group, condition: str, version: str, lost: Sequence[Excluded]) -> Verdict:
    best, kpi = group.best, group.kpi
    claim = f"{superlative(kpi, condition)} {version}".rstrip()
    names = [name for name in group.named_by if name in group.settings]
    whose = variant_label(group.settings, names) if len(names) > 1 else scope(group)
    start = f"For {whose}: {claim}" if group.settings else claim
    implied = tuning_label(best.settings, group.implied_names)
    ending = f" ({'; '.join(filter(None, (implied, behind(best, kpi))))})."
    # Where points weren't measured in turn, the machine's mood is named anyway.
    one = ONE_CAMPAIGN if best.interval is not None and group.is_one_campaign and group.is_in_turn else ""
    by_name, counted = _rivals(group, condition)
    tied = _tied(group)
    rest = " ".join(filter(None, (tied, by_name, one, _unlike(group), optimism(group, kpi))))
    rivals = " ".join(filter(None, (tied, counted, one)))
    lead, edge = f"{start}: {point_label(best.settings, group)}: {kpi.show(best.value)}{ending}", _edge(group, lost)
    beyond = (further.command(group) or "") if edge and not lost else ""
    return Verdict(lead, rest, edge, beyond, rivals, ending)


def _tied(group: Group) -> str:
    """How many points have the best value, too, and why this one is named; empty where none has."""
    tied = sum(one.point.value == group.best.value for one in group.standings[1:])
    has = "has" if tied == 1 else "have"
    return (
        f"{count_of(tied, 'other point')} {has} the same value: that of the smallest settings is named." if tied else ""
    )


def _edge(group: Group, lost: Sequence[Excluded]) -> str:
    """Whether the best is at the end of what was tried, and what the last step to there brought; *lost* are runs of
    more, which can't take part.
    """
    highest = group.highest(group.best)
    if not highest:
        return ""
    leads = "lead" if group.estimates is not None and (group.undecided or group.untold) else "win"
    if lost:
        could = f"that could be ranked {leads}{'s' if len(highest) == 1 else ''}"
        return f"The highest {' and '.join(highest)} {could}: of more, {_left_out(lost)}."
    with_others = ((name, value) for name in highest for value in group.tried.values(name))
    tried = (
        "tried with it" if any(is_more(value, group.best.settings[name]) for name, value in with_others) else "tried"
    )
    which = f"that {'was' if len(highest) == 1 else 'were'} {tried}"
    if any(run.kept_in for run in group.best.runs):  # which has no failed runs: more may have been tried in vain
        which = "that the history has"
    wins = f"{which} {leads}{'s' if len(highest) == 1 else ''}"
    start = f"More may be better: the highest {' and '.join(highest)} {wins}"
    below = [one for name in highest if (one := group.step_below(group.best, name)) is not None]
    if group.scale is not Scale.RATIO or len(below) < len(highest) or any(abs(one.difference) >= FLAT for one in below):
        return f"{start}."
    kpi = group.kpi
    near = [f"{short_label(one.point, group)} ({difference_label(one.difference, group.scale, kpi)})" for one in below]
    return f"{start}, but {' and '.join(near)} came near: the last step brought little."


def _unlike(group: Group) -> str:
    """That others were ahead of the best where both were measured, and aren't known where it is the best."""
    for name in (*group.variant_names, *group.tuning_names):
        if (found := group.unlike(name)) is not None:
            near, ahead = found
            rest = [each for each in (*group.told_names, *group.tuning_names) if each != name]
            who = list(dict.fromkeys(variant_label(one.point.settings, rest) for one in ahead))
            at, there = (value_label(name, settings[name]) for settings in (group.best.settings, near.point.settings))
            show_value = group.kpi.show
            values = f"{show_value(ahead[0].point.value, unit=False)} against {show_value(near.point.value)}"
            them = "it is" if len(who) == 1 else "they are"
            return f"Nothing is known of {named(who, _NAMED)} at {at}; at {there} {them} ahead ({values})."
    return ""


def optimism(group: Group, kpi: KPIDefinition) -> str:
    """By how much the best value is too good for having been chosen; empty where that is nothing, or isn't known."""
    amount = group.optimism
    if amount is None or len(group.standings) == 1:
        return ""
    shown = f"{amount * 100:.1f} %" if group.scale is Scale.RATIO else kpi.show(amount)
    least = _LEAST * (1 if group.scale is Scale.RATIO else abs(group.best.value))
    if amount < least or not any(digit in "123456789" for digit in shown):
        return ""
    return f"The best of {len(group.standings)} points looks about {shown} better than it is."


def _rivals(group: Group, condition: str) -> tuple[str, str]:
    """How the others compare with the best: by their names, and how many they are."""
    others, limit = group.standings[1:], " that keep the limit" if condition else ""
    if not others:
        return f"It is the only point that {'keeps the limit' if condition else 'could be ranked'}.", ""
    if group.estimates is None:
        said = "No point was repeated, so whether such differences are more than chance isn't known."
        counted = "Nothing was repeated, so whether it differs from the others by more than chance isn't known."
        return f"Next: {_named(others, group)}. {said}", counted
    undecided, untold, both = group.undecided, group.untold, list[tuple[str, str]]()
    if undecided:
        may_be = f"{count_of(len(undecided), 'other point')} may be as good."
        both.append((f"Can't be told apart from it: {_named(undecided, group)}.", may_be))
    if untold:
        were = f"{count_of(len(untold), 'point')} {'was' if len(untold) == 1 else 'were'}"
        where = f"{were} measured in other campaigns than the best, and the machine's mood may be the difference"
        both.append((f"{where}: {_named(untold, group)}. {MEASURE_IN_TURN}", f"{where}."))
    if not both:
        more = "more than chance explains" if group.is_in_turn else "more than runs scatter"
        next_ones = f"It differs from every other point by {more}; next: {_named(others, group)}."
        both = [(next_ones, f"All others{limit} are worse by {more}.")]
        both += [(SINGLE, SINGLE)] if len(group.best.runs) == 1 else []
    both += [] if group.is_in_turn or untold else [(NOT_IN_TURN, NOT_IN_TURN)]
    by_name, counted = (" ".join(each) for each in zip(*both, strict=True))
    return by_name, counted


def _named(standings: Sequence[Standing], group: Group) -> str:
    shown, some, kpi = [], standings[:_NAMED], group.kpi
    # Behind one of another variant, what is short would seem to be of that.
    is_short = not any(name in varying([one.point.settings for one in some]) for name in group.variant_names)
    for one in some:
        apart = difference_label(one.difference, group.scale, kpi)
        label = short_label(one.point, group) if is_short else point_label(one.point.settings, group)
        shown.append(f"{label} ({kpi.show(one.point.value)}, {apart})")
    rest = len(standings) - len(shown)
    return "; ".join([*shown, f"and {rest} more"] if rest else shown)


def short_label(point: Point, group: Group) -> str:
    """A point by what differs from the best."""
    differing = varying([point.settings, group.best.settings])
    if any(name in differing for name in group.variant_names):
        return point_label(point.settings, group)
    return tuning_label(point.settings, [name for name in group.tuning_names if name in differing])
