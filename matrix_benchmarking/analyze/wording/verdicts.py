"""An analysis and the difference of two sides in words: the same sentences in every report."""

from __future__ import annotations

import collections
import math
import operator
import shlex
from collections.abc import Iterable, Sequence

from ...history.alarms import AlarmSubject
from ...kpi import KPIDefinition
from ...plausible import OF_UNITS
from ...workload import MinimumEffect
from ..detect import Estimate
from ..intervals import Scale
from ..pair import SIGNIFICANT
from ..select.selection import NO_VALUE
from ..select.series import ALL_RUNS, KPISeries, Series
from ..verdict.alarms import Cause, causes
from ..verdict.model import Alarm, Analysis, Doubt, Outcome, OverAll, SeriesVerdict, Status
from ..verdict.sides import Judged
from ..words import count_of, difference, is_or_are, named, percent, plural, series_label

CAUSES_NAMED = 3
_MOST_SEEN = 10.0  # a larger change than the tenfold of the old level is as good as none


def headline(analysis: Analysis) -> str:
    """The verdict in one sentence: ``1 of 12 series of 3 KPIs is worse: 1.3.3 against its history.``"""
    total, kpis = len(analysis.verdicts), len({one.kpi.name for one in analysis.verdicts})
    where, failing = f"{total} series of {count_of(kpis, 'KPI')}", len(analysis.failing)
    known, suspected = len(analysis.having(Outcome.REGRESSION)), len(analysis.suspected)
    if not total:
        said = "Nothing could be analysed"
    elif failing:
        said = f"{failing} of {where} {is_or_are(failing)} worse"
    elif known:
        said = f"{known} of {where} {is_or_are(known)} worse, and dealt with"
    elif together := sum(one.outcome is Outcome.REGRESSION for one in analysis.over_all):
        said = f"None of {where} is worse by itself, and over all {count_of(together, 'KPI')} {is_or_are(together)}"
    elif suspected:
        said = f"Nothing is worse in {where}, and {suspected} {is_or_are(suspected)} suspected"
    elif is_untold(analysis):
        said = f"Whether {where} {is_or_are(total)} worse can't be told"
    else:
        said = f"Nothing is worse in {where}"
    return f"{said}: {analysis.question}."


def is_untold(analysis: Analysis) -> bool:
    """Whether of no series it can be told if it is worse at the newest version, which some may not have."""
    ended = (one.outcome is Outcome.NO_CHANGE and _has_ended(one) for one in analysis.verdicts)
    untold = (one.outcome is Outcome.CANT_TELL for one in analysis.verdicts)
    return not analysis.over_all and all(map(operator.or_, untold, ended))


def _has_ended(verdict: SeriesVerdict) -> bool:
    return any(note.startswith(NO_VALUE) for note in verdict.notes)


def changes(analysis: Analysis, first: str = "") -> list[str]:
    """What is worse, a sentence a version since when: ``size 8 is worse since 1.3.1: p95 +10 %, and 3 more KPIs.``

    The KPI *first* is named before the others, which come as severe as they are; the version of most series first.
    """
    since: dict[str | None, list[SeriesVerdict]] = {}
    for one in sorted(analysis.failing, key=lambda one: one.kpi.name != first):
        since.setdefault(one.first_bad_version, []).append(one)
    said = []
    for version, several in sorted(since.items(), key=lambda pair: -len(pair[1])):
        worst, more = several[0], len(several) - 1
        is_alone = len({one.name for one in several}) == 1
        who = worst.name if is_alone else f"{len(several)} series"
        verb = "is" if is_alone and worst.name != ALL_RUNS else "are"
        what = f"{worst.kpi.name}{'' if is_alone else f' of {worst.name}'} {short_size(worst)}"
        of = f" {plural(more, 'KPI')}" if is_alone else ""
        rest = f", and {more} more{of}" if more else ""
        said.append(f"{who} {verb} worse{'' if version is None else f' since {version}'}: {what}{rest}.")
    return said


def lead(analysis: Analysis) -> list[str]:
    """The verdict in a few sentences: the headline, what else happened, what can't be told, where the order is from."""
    said = [headline(analysis), *_of_a_unit(analysis)]
    new = [one for one in analysis.failing if one.is_new]
    if new and len(new) < len(analysis.failing):
        said.append(f"{len(new)} of them {is_or_are(len(new))} new with {analysis.newest}.")
    said += [cause_text(cause) for cause in causes(analysis) if len(cause.alarms) > 1][:CAUSES_NAMED]
    said += _drifting(analysis)
    said += map(_over_all, analysis.over_all)
    said += _suspected(analysis)
    better = [one for one in analysis.having(Outcome.IMPROVEMENT) if one.is_new]
    if better:
        how = "" if any(one.stands_on for one in better) else "newly "
        said.append(f"{len(better)} series {is_or_are(len(better))} {how}better.")
    if earlier := len(analysis.having(Outcome.IMPROVEMENT)) - len(better):
        said.append(f"{earlier} series {is_or_are(earlier)} better since an earlier version.")
    fixed = newly_fixed(analysis)
    by = dict.fromkeys(alarm.fixed_by or "" for _, alarm in fixed)
    known = [
        (analysis.alarms(Status.ACKNOWLEDGED), "acknowledged"),
        (analysis.alarms(Status.RESOLVED), "resolved by hand"),
        (fixed, f"fixed by {named([*by])}"),
    ]
    said += [f"{count_of(len(alarms), 'alarm')} {words}." for alarms, words in known if alarms]
    said += _unchanged(analysis)
    said += _behind(analysis)
    left_out = f"{_not_analysed(analysis)} not analysed." if analysis.not_analysed else ""
    return [
        *said,
        *untold_sentences(analysis),
        *_two_newest(analysis),
        *filter(None, (analysis.beside, left_out, analysis.order)),
    ]


def _drifting(analysis: Analysis) -> list[str]:
    """How many of the series that are worse drift, or may: what drifts has no version that is to blame."""
    drifts = sum(one.drift is not None for one in analysis.failing)
    may = sum(one.may_drift for one in analysis.failing)
    go_on = "drifts, and goes on" if drifts == 1 else "drift, and go on"
    return [
        *([f"{drifts} {go_on}: since when is where it began to show."] if drifts else ()),
        *([f"{may} may drift: a line fits about as well as a step, and since when is a guess."] if may else ()),
    ]


def _behind(analysis: Analysis) -> list[str]:
    """How many series have no value at the newest version, and up to which they are judged."""
    ended = [one for one in analysis.verdicts if one.outcome is not Outcome.CANT_TELL and _has_ended(one)]
    if not ended:
        return []
    first, last = ended[0], dict.fromkeys(one.versions[-1] for one in ended)
    of = f" ({series_label(first.kpi.name, first.name)}{'' if len(ended) == 1 else ' and others'})"
    until = next(iter(last)) if len(last) == 1 else f"{len(last)} older versions"
    return [f"{len(ended)} without a value at {analysis.newest}{of}: judged up to {until}."]


def doubt(one: Doubt, sides: Sequence[str] = ("the old", "the new")) -> str:
    """``Doubtful: k6 was late (runs: 3 of 5 with 1.2, 0 of 5 with 1.3).``; *sides* are the names of both."""
    counts = ", ".join(f"{n} of {of} with {name}" for (n, of), name in zip((one.old, one.new), sides, strict=True))
    return f"Doubtful: {one.said} (runs: {counts})."


def _of_a_unit(analysis: Analysis) -> list[str]:
    """How many series jumped by so much that another unit, or another way to measure, explains it rather."""
    jumped = [one for one in analysis.verdicts if one.first_bad is not None and _jumps(one)]
    if not jumped:
        return []
    first, count = jumped[0], len(jumped)
    what = f"{series_label(first.kpi.name, first.name)} {short_size(first)}"
    return [f"{count} series changed {OF_UNITS:g} times or more, as another unit does: {what}; is it one?"]


def _jumps(one: SeriesVerdict) -> bool:
    old, new = one.old_level, one.new_level
    if old is None or new is None or min(old, new) <= 0:
        return False
    return not 1 / OF_UNITS < new / old < OF_UNITS


def _two_newest(analysis: Analysis) -> list[str]:
    """What compares the two newest versions of a history that is too short to tell anything."""
    alone = [one for one in analysis.verdicts if len(one.versions) > 1 and not one.stands_on]
    several = [one.versions for one in alone if not _has_ended(one)]
    if analysis.newest is None or not several or not is_untold(analysis):
        return []
    return [f"'matbench compare {shlex.join(several[0][-2:])}' compares the two newest."]


def _not_analysed(analysis: Analysis) -> str:
    """``2 series, 1 KPI, 12 runs of 2 other KPIs``: each kind by itself."""
    series, kpis, parts = analysis.left_out
    said = [f"{count} {what}" for count, what in ((series, "series"), (kpis, plural(kpis, "KPI"))) if count]
    if parts:
        runs, of = sum(one.runs for one in parts), len({one.kpi for one in parts})
        said.append(f"{count_of(runs, 'run')} of {of} {'other ' if kpis else ''}{plural(of, 'KPI')}")
    return ", ".join(said)


def cause_text(cause: Cause) -> str:
    """``4 alarms since 1.3.1 (last good 1.3.0) are one cause, 5d1c40d2f7a8.``"""
    count, good = len(cause.alarms), {alarm.last_good for alarm in cause.alarms}
    since = f"{cause.first_bad}{f' (last good {good.pop()})' if len(good) == 1 else ''}"
    return f"{count_of(count, 'alarm')} since {since} {is_or_are(count)} one cause, {cause.id}."


def _over_all(one: OverAll) -> str:
    measure = one.effect or one.difference
    moved = f"{_amount(one, one.kpi, measure.value)} ({_ends(one, one.kpi, measure)})"
    way = f"{one.outcome.value}, which none of them shows by itself"
    return f"Over its {one.series} series together {one.kpi.name} is {way}: {moved}."


def _suspected(analysis: Analysis) -> list[str]:
    """How many are, why, and what would tell; a comparison of two sides says why series by series."""
    suspected = analysis.having(Outcome.SUSPECTED)
    counts = collections.Counter(looks(one) for one in suspected)
    said = [f"{counts[way]} suspected to be {way}" for way in ("worse", "better") if counts[way]]
    if any(one.stands_on for one in suspected):  # of two sides
        unsure = len(suspected) + len(analysis.having(Outcome.NO_CHANGE))
        by_chance = round(SIGNIFICANT * unsure)
        again = "measuring both once more"
        again = f"of {unsure} series chance alone makes about {by_chance}, and {again}" if by_chance else again
    else:
        again = f"one block of runs alone says so, and measuring {analysis.newest or 'them'} once more"
    return [f"{' and '.join(said)}: {again} would tell."] if said else []


def _unchanged(analysis: Analysis) -> list[str]:
    """In how many series nothing was shown, and what would have shown; then those of which more runs would tell."""
    same = [one for one in analysis.having(Outcome.NO_CHANGE) if not one.reruns]
    yet = len(analysis.having(Outcome.NO_CHANGE)) - len(same)
    seen = would_show(same)
    said = [f"No difference shown in {len(same)}; {seen}."] if seen else []
    return [*said, *([f"No difference shown yet in {yet}: more runs would tell."] if yet else [])]


def would_show(same: Sequence[SeriesVerdict]) -> str:
    """What would have shown: ``in 4 of them 5.1 to 7.2 % would have shown within 5 versions``; else empty.

    Of two sides ``5.1 to 7.2 % would at least be suspected``.
    """
    known = [one for one in same if one.would_show and one.effect is not None]
    sizes = [one.would_show for one in known if one.would_show]
    if not sizes:
        return ""
    by = " to ".join(dict.fromkeys(_seen(size, unit=False) for size in (min(sizes), max(sizes))))
    of = "" if len(known) == len(same) else f"in {len(known)} of them "
    return f"{of}{by} % {_would_have(known[0])}{_within(max(one.would_show_in for one in known))}"


def _would_have(verdict: SeriesVerdict) -> str:
    """What a difference of this size would have come to: of two sides what passes alone, not among many."""
    return "would at least be suspected" if verdict.stands_on else "would have shown"


def _seen(fraction: float, *, unit: bool = True) -> str:
    """How large a difference would have been seen; beyond a factor which no one asks for no number."""
    shown = percent(min(fraction, _MOST_SEEN), unit=unit).lstrip("+")
    return f"more than {shown}" if fraction > _MOST_SEEN else shown


def _seen_by(of: SeriesVerdict | Judged, kpi: KPIDefinition, size: float) -> str:
    return difference(kpi, size).lstrip("+") if of.effect is None else _seen(size)


def _within(versions: int) -> str:
    return f" within {count_of(versions, 'version')}" if versions else ""


def untold_sentences(analysis: Analysis) -> list[str]:
    """Why some can't be told, each reason once, and what to measure next."""
    counts = why_untold(analysis.verdicts)
    if list(counts.values()) == [len(analysis.verdicts)]:  # the headline has counted them
        return [f"{why[:1].upper()}{why[1:]}." for why in counts]
    return [f"{count} can't be told: {why}." for why, count in counts.items()]


def why_untold(verdicts: Iterable[SeriesVerdict]) -> collections.Counter[str]:
    """Why those of *verdicts* can't be told that can't, and what to measure next, with the number of series."""
    return collections.Counter(one.why for one in verdicts if one.outcome is Outcome.CANT_TELL)


def untold(verdict: SeriesVerdict) -> str:
    """Why it can't be told, and what to measure next; of two sides also what was measured."""
    measured = f"{short_size(verdict)}, {levels(verdict.kpi, verdict)}; " if verdict.stands_on else ""
    return f"{measured}{verdict.why}"


def newly_fixed(analysis: Analysis) -> list[tuple[SeriesVerdict, Alarm]]:
    """The alarms that the newest point of their series repaired, or first showed to be repaired."""
    return [(one, alarm) for one, alarm in analysis.alarms(Status.FIXED) if alarm.is_new]


def sentence(verdict: SeriesVerdict) -> str:
    """The verdict on one series, with all that stands behind it."""
    kpi, name, measure = verdict.kpi, series_label(verdict.kpi.name, verdict.name), verdict.effect or verdict.difference
    if verdict.outcome is Outcome.CANT_TELL:
        return f"{name} can't be told: {untold(verdict)}."
    runs = f"{verdict.runs_before} and {verdict.runs_after} runs"
    if verdict.stands_on:
        behind = f"{levels(kpi, verdict)}, {runs} {verdict.stands_on}"
        return f"{name}{_against(verdict)}: {size(verdict)}{shown(verdict)}, {behind}."
    if verdict.outcome is Outcome.NO_CHANGE:
        return f"{name}: {nothing(verdict)}."
    words = {
        Outcome.REGRESSION: ("worse", "last good"),
        Outcome.IMPROVEMENT: ("better", "last before"),
        Outcome.SUSPECTED: ("suspected to be worse", "last good"),
    }
    what, before = words[verdict.outcome]
    since = "" if verdict.first_bad_version is None else f" since {verdict.first_bad_version}"
    last = "" if verdict.last_good_version is None else f" ({before} {verdict.last_good_version})"
    more = "" if verdict.drift is None else f", and drifts by {percent(verdict.drift, digits=2)} a version"
    more += "; it may drift" if verdict.may_drift else ""
    if verdict.outcome is Outcome.SUSPECTED:
        more = "; one block of runs alone says so"
    elif measure is not None and measure.low <= 0.0 <= measure.high:
        more += "; that interval holds 0, since what came later is less sure: measuring once more would tell"
    return f"{name} is {what}{since}{last}: {size(verdict)}, {levels(kpi, verdict)}, {runs}{more}."


def _against(verdict: SeriesVerdict) -> str:
    """The verdict on one side against another: `` is worse at 1.3.1 than at 1.3.0``."""
    if verdict.outcome is Outcome.NO_CHANGE:
        return ", no difference shown"
    what = f"suspected to be {looks(verdict)}" if verdict.outcome is Outcome.SUSPECTED else looks(verdict)
    return f" is {what} at {verdict.first_bad_version} than at {verdict.last_good_version}"


def is_told(verdict: SeriesVerdict) -> bool:
    """Whether there is more to say of a series than that it is counted.

    It fails, changed, may with more runs, or was measured so that it can't be told.
    """
    changed = verdict.outcome in (Outcome.REGRESSION, Outcome.SUSPECTED, Outcome.IMPROVEMENT)
    may_change = verdict.outcome is Outcome.NO_CHANGE and bool(verdict.reruns)
    return verdict.fails or changed or may_change or (verdict.outcome is Outcome.CANT_TELL and bool(verdict.stands_on))


def verdict_text(verdict: SeriesVerdict) -> str:
    """The verdict in a cell of a table: ``worse, new``, ``worse, acknowledged``, ``suspected: worse``.

    What two sides show is neither new nor old.
    """
    outcome, new = verdict.outcome, ", new" if verdict.is_new and not verdict.stands_on else ""
    label = outcome_label(outcome, verdict.looks_worse)
    if outcome is Outcome.REGRESSION:
        return f"{label}{new}{'' if verdict.fails or not verdict.alarms else f', {verdict.alarms[-1].status.value}'}"
    if outcome is Outcome.IMPROVEMENT:
        return f"{label}{new}{', with an open alarm' if verdict.fails else ''}"
    if outcome is Outcome.NO_CHANGE and verdict.reruns:
        return f"{label} yet: {_runs_more(verdict.reruns)}"
    if outcome is Outcome.NO_CHANGE:
        return f"{nothing(verdict)}{f'; back on an old level{new}' if verdict.changes else ''}"
    return label


def looks(verdict: SeriesVerdict) -> str:
    """The direction of a change: ``worse`` or ``better``."""
    return "worse" if verdict.looks_worse else "better"


def nothing(verdict: SeriesVerdict) -> str:
    """That no difference was shown, and which one would have: ``no difference shown; 5.1 % would have shown``.

    Where one nearly was: ``no difference shown yet, but +3.1 % (−0.4 to +6.7 %): 2 more runs would tell``.
    """
    if verdict.reruns:
        return f"no difference shown yet, but {size(verdict)}: {_runs_more(verdict.reruns)}"
    return f"no difference shown{shown(verdict)}"


def _runs_more(count: int) -> str:
    return f"{count} more {plural(count, 'run')} would tell"


def shown(verdict: SeriesVerdict) -> str:
    """Where no difference was shown, how large a one would have shown: ``; 5.1 % would have shown``; else empty.

    Of a history with the number of versions after which it would: ``; 5.1 % would have shown within 5 versions``.
    """
    by = seen_from(verdict)
    return f"; {by} {_would_have(verdict)}{_within(verdict.would_show_in)}" if by else ""


def seen_from(verdict: SeriesVerdict) -> str:
    """How large a difference would have shown, ``5.1 %``, where none was; else empty."""
    if verdict.outcome is not Outcome.NO_CHANGE or not verdict.would_show:
        return ""
    return _seen_by(verdict, verdict.kpi, verdict.would_show)


def size(verdict: SeriesVerdict) -> str:
    """The size of a change with its interval: ``+10.3 % (+8.1 to +12.4 %)``; in the KPI's unit if there is no ratio."""
    measure = verdict.effect or verdict.difference
    if measure is None:
        return "of unknown size"
    shown = short_size(verdict)
    is_known = not (math.isnan(measure.low) or math.isnan(measure.high))
    return f"{shown} ({_ends(verdict, verdict.kpi, measure)})" if is_known else shown


def short_size(verdict: SeriesVerdict) -> str:
    """The size of a change without its interval."""
    measure = verdict.effect or verdict.difference
    return "unknown" if measure is None else _amount(verdict, verdict.kpi, measure.value)


def levels(kpi: KPIDefinition, of: SeriesVerdict | Alarm | AlarmSubject) -> str:
    """Old and new level: ``20.1 → 22.3 ms``."""
    return f"{kpi.show(of.old_level, unit=False)} → {kpi.show(of.new_level)}"


UNKNOWN = "unknown"


def outcome_label(outcome: Outcome, is_worse: bool) -> str:
    """``worse``, ``better``, ``suspected: worse``, ``no difference shown`` or ``can't be told``."""
    way = f": {'worse' if is_worse else 'better'}" if outcome is Outcome.SUSPECTED else ""
    return f"{outcome.value}{way}"


def verdict_label(judged: Judged, outcome: Outcome, kpi: KPIDefinition, minimum: MinimumEffect) -> str:
    """The verdict on one mean; without a difference also which one would have shown."""
    label = outcome_label(outcome, (judged.difference.value > 0) == kpi.lower_better)
    seen = judged.would_show(minimum) if outcome is Outcome.NO_CHANGE else None
    return f"{label}; {_seen_by(judged, kpi, seen)} would have shown" if seen else label


def mean_label(judged: Judged, pairs: int) -> str:
    """Which mean of how many pairs of points it is: ``in the geometric mean of 6 pairs of points``."""
    if pairs == 1:
        return "over 1 pair of points"
    return f"in the {'geometric ' if judged.runs.scale is Scale.RATIO else ''}mean of {pairs} pairs of points"


def apart(verdicts: Sequence[SeriesVerdict], mean: Judged) -> str:
    """How far pairs lie apart, one further from their *mean* than chance explains: `` (+0.1 to +152 % each)``."""
    measures = [(measure, one) for one in verdicts if (measure := one.effect or one.difference) is not None]
    pooled = mean.measure.value
    if {one.effect is None for _, one in measures} != {mean.effect is None}:
        return ""
    if all(measure.low <= pooled <= measure.high or math.isnan(measure.low) for measure, _ in measures):
        return ""
    measures.sort(key=lambda pair: pair[0].value)
    low, high = (_amount(one, one.kpi, measure.value) for measure, one in (measures[0], measures[-1]))
    return f" ({low.removesuffix(' %')} to {high} each)"


def difference_label(judged: Judged, kpi: KPIDefinition) -> str:
    """``+10.3 %``; in the KPI's unit if there is no ratio."""
    return _amount(judged, kpi, judged.measure.value)


def interval_label(judged: Judged, kpi: KPIDefinition) -> str:
    """``+8.1 to +12.4 %``; ``unknown`` where it can't be told."""
    return UNKNOWN if math.isinf(judged.measure.high) else _ends(judged, kpi, judged.measure)


def _ends(of: SeriesVerdict | Judged | OverAll, kpi: KPIDefinition, measure: Estimate) -> str:
    return f"{_amount(of, kpi, measure.low).removesuffix(' %')} to {_amount(of, kpi, measure.high)}"


def _amount(of: SeriesVerdict | Judged | OverAll, kpi: KPIDefinition, value: float) -> str:
    return difference(kpi, value) if of.effect is None else percent(value)


SENTENCES = 2
# A series, and the verdict on it; None where it isn't judged, as where neither direction is better.
WithVerdict = tuple[Series, SeriesVerdict | None]


def judged_series(found: KPISeries, analysis: Analysis | None) -> list[WithVerdict]:
    """The series of *found* as *analysis* orders them, the most severe first; then what isn't judged."""
    judged = [] if analysis is None else analysis.verdicts
    places = {one.id: place for place, one in enumerate(judged)}
    known = sorted((one for one in found.series if one.id in places), key=lambda one: places[one.id])
    others = [one for one in found.series if one.id not in places]
    return [*((one, judged[places[one.id]]) for one in known), *((one, None) for one in others)]


def counts(judged: Sequence[WithVerdict]) -> collections.Counter[Outcome]:
    """How many series have which verdict."""
    return collections.Counter(Outcome.NOT_ANALYSED if one is None else one.outcome for _, one in judged)


def conclusions(found: KPISeries, judged: Sequence[WithVerdict], drawn: int = 0) -> list[str]:
    """What the history says, a sentence or two each."""
    kpi, series = found.kpi, found.series
    left_out = [f"{count_of(runs, 'run')} can't take part: {reason}." for reason, runs in found.left_out.items()]
    if not series:
        return [f"{kpi.name} is not known for any successful run.", *left_out]
    changed = [
        one for _, one in judged if one is not None and one.outcome not in (Outcome.NO_CHANGE, Outcome.CANT_TELL)
    ]
    runs = sum(point.count for one in series for point in one.points)
    over = f" over {count_of(len(found.versions), 'version')}" if found.axis is not None else ""
    shown = f" Drawn are the {drawn} most severe of them." if 0 < drawn < len(series) else ""
    scope = f"{len(series)} series of {kpi.name}{over}, {count_of(runs, 'run')}.{shown}"
    return [_counted(found, judged), *map(sentence, changed[:SENTENCES]), scope, *left_out]


def _counted(found: KPISeries, judged: Sequence[WithVerdict]) -> str:
    """``p95_latency: 1 of 2 series is worse, 1 shows no difference (5.1 % would have shown within 5 versions).``"""
    number, total = counts(judged), len(judged)
    told = [one for _, one in judged if one is not None]
    worse = [one for one in told if one.outcome is Outcome.REGRESSION]
    dealt_with = sum(bool(one.alarms) and not one.fails for one in worse)
    same = [one for one in told if one.outcome is Outcome.NO_CHANGE]
    yet = [one for one in same if one.reruns]
    unchanged = [
        would_show([one for one in same if not one.reruns]),
        f"more runs would tell of {len(yet)}" if yet else "",
    ]
    more = {
        Outcome.REGRESSION: f"{'' if dealt_with == len(worse) else f'{dealt_with} '}dealt with" if dealt_with else "",
        Outcome.NO_CHANGE: "; ".join(filter(None, unchanged)),
        Outcome.CANT_TELL: "; ".join(why_untold(told)),
    }
    words = {
        Outcome.REGRESSION: ("is worse", "are worse"),
        Outcome.SUSPECTED: ("is suspected to be worse", "are suspected to be worse"),
        Outcome.IMPROVEMENT: ("is better", "are better"),
        Outcome.NO_CHANGE: ("shows no difference", "show no difference"),
        Outcome.CANT_TELL: ("can't be told", "can't be told"),
        Outcome.NOT_ANALYSED: ("is not judged", "are not judged"),
    }
    parts = [
        f"{number[one]} {said[number[one] > 1]}{f' ({more[one]})' if more.get(one) else ''}"
        for one, said in words.items()
        if number[one]
    ]
    first, *others = parts
    head, tail = first.split(" ", 1)
    return f"{found.kpi.name}: {', '.join([f'{head} of {total} series {tail}', *others])}."
