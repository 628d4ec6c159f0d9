"""A whole analysis in words: its headline, and what else happened; the same sentences in every report."""

from __future__ import annotations

import collections
import operator
import shlex
from collections.abc import Sequence

from ...grouped import grouped
from ...plausible import OF_UNITS
from ..pair import SIGNIFICANT
from ..select.selection import NO_VALUE
from ..select.series import ALL_RUNS
from ..verdict.alarms import Cause, causes
from ..verdict.model import ALONE, OF_NEWEST, Alarm, Analysis, Outcome, SeriesVerdict, Status
from ..words import count_of, is_or_are, named, plural, series_label
from .verdicts import LESS, looks, over_all, short_size, too_small, why_untold, would_show

CAUSES_NAMED = 3


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
    elif analysis.may_fail_more:
        said = f"Nothing is worse in {where}, and more failed runs are suspected"
    else:
        said = f"Nothing is worse in {where}"
    return f"{said}: {analysis.question}."


def headlines(analysis: Analysis) -> list[str]:
    """The headline, with all that makes the analysis fail and is in no series."""
    return [*analysis.fails_more, headline(analysis), *map(without_a_good_run, analysis.without_a_good_run)]


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
    failing = sorted(analysis.failing, key=lambda one: one.kpi.name != first)
    since = grouped((one.first_bad_version, one) for one in failing)
    said = []
    for version, several in sorted(since.items(), key=lambda pair: -len(pair[1])):
        worst, more = several[0], len(several) - 1
        is_alone = len({one.name for one in several}) == 1
        who = worst.name if is_alone else f"{len(several)} series"
        verb = "is" if is_alone and worst.name != ALL_RUNS else "are"
        what = f"{worst.kpi.name}{'' if is_alone else f' of {worst.name}'} {short_size(worst)}"
        of = f" {plural(more, 'KPI')}" if is_alone else ""
        rest = f", and {more} more{of}" if more else ""
        when = f"at {version} than at {worst.last_good_version}" if worst.stands_on else f"since {version}"
        said.append(f"{who} {verb} worse{'' if version is None else f' {when}'}: {what}{rest}.")
    return said


def lead(analysis: Analysis) -> list[str]:
    """The verdict in a few sentences: the headline, what else happened, what can't be told, where the order is from."""
    said = [*headlines(analysis), *analysis.may_fail_more]
    said += _of_a_unit(analysis)
    new = [one for one in analysis.failing if one.is_new]
    if new and len(new) < len(analysis.failing):
        said.append(f"{len(new)} of them {is_or_are(len(new))} new with {analysis.newest}.")
    said += [cause_text(cause) for cause in causes(analysis) if len(cause.alarms) > 1][:CAUSES_NAMED]
    said += _drifting(analysis)
    said += map(over_all, analysis.over_all)
    said += _suspected(analysis)
    said += _by_trend(analysis)
    said += at_known_levels(analysis)
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
    said += _too_small(analysis)
    said += _unchanged(analysis)
    said += _behind(analysis)
    left_out = f"{_not_analysed(analysis)} not analysed." if analysis.not_analysed else ""
    return [
        *said,
        *untold_sentences(analysis),
        *_two_newest(analysis),
        *filter(None, (analysis.beside, left_out, analysis.order)),
    ]


def broken(analysis: Analysis) -> list[str]:
    """What no series shows and makes the analysis fail: versions without a good run, runs that fail more often."""
    return [*map(without_a_good_run, analysis.without_a_good_run), *analysis.fails_more]


def without_a_good_run(version: str) -> str:
    """Of a *version* as ``version 1.4.0``."""
    return f"{version} has no good run: it was not judged."


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


def _of_a_unit(analysis: Analysis) -> list[str]:
    """How many series jumped by so much that another unit, or another way to measure, explains it rather."""
    jumped = []
    for one in analysis.verdicts:
        old, new = one.old_level or 0.0, one.new_level or 0.0
        is_ratio = one.effect is not None and min(old, new) > 0
        jumped += [one] if is_ratio and not 1 / OF_UNITS < new / old < OF_UNITS else []
    if not jumped:
        return []
    what = f"{series_label(jumped[0].kpi.name, jumped[0].name)} {short_size(jumped[0])}"
    return [f"{len(jumped)} series changed {OF_UNITS:g} times or more, as another unit does: {what}; is it one?"]


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


def _suspected(analysis: Analysis) -> list[str]:
    """How many are, why, and what would tell; a comparison of two sides says why series by series."""
    suspected = [
        one for one in analysis.having(Outcome.SUSPECTED) if one.stands_on or not (one.rises_all_along or one.why)
    ]
    counts = collections.Counter(looks(one) for one in suspected)
    said = [f"{counts[way]} suspected to be {way}" for way in ("worse", "better") if counts[way]]
    if any(one.stands_on for one in suspected):  # of two sides
        unsure = len(suspected) + len(analysis.having(Outcome.NO_CHANGE))
        by_chance = round(SIGNIFICANT * unsure)
        again = "measuring both once more"
        again = f"of {unsure} series chance alone makes about {by_chance}, and {again}" if by_chance else again
        if all(one.p_value is None for one in suspected):
            again = "it is more than a machine's mood usually is, and measuring both in turn, in one benchmark file,"
    else:
        again = f"{ALONE}; measuring {analysis.newest or 'them'} again may tell, and more versions"
    return [f"{' and '.join(said)}: {again} would tell."] if said else []


def _first_of(several: Sequence[SeriesVerdict]) -> str:
    """``cost of size 8 and 2 more``."""
    more = len(several) - 1
    return f"{series_label(several[0].kpi.name, several[0].name)}{f' and {more} more' if more else ''}"


def _by_trend(analysis: Analysis) -> list[str]:
    """Which series may be worse all along, so slowly that no version shows it, since one of few, or by a jump."""
    suspected = [one for one in analysis.suspected if not one.stands_on]
    rising = [one for one in suspected if one.rises_all_along]
    said = []
    for why in dict.fromkeys(one.why for one in suspected if one.why):
        several = [one for one in suspected if one.why == why]
        since = f"{short_size(several[0])} since {several[0].first_bad_version}"
        are = is_or_are(len(several))
        said.append(f"{_first_of(several)} {are} suspected to be worse ({since}): {why}.")
    if rising:
        verb = "gets" if len(rising) == 1 else "get"
        along = f"{short_size(rising[0])} along {len(rising[0].points)} versions, by a line"
        said.append(
            f"{_first_of(rising)} {verb} worse along the history, it seems ({along}): no version shows it by itself."
        )
    return said


def _too_small(analysis: Analysis) -> list[str]:
    """Which series changed, by less than counts: that is no alarm, and not nothing."""
    small = [one for one in analysis.having(Outcome.NO_CHANGE) if one.is_small]
    if not small:
        return []
    end = "such changes don't count here." if small[0].stands_on else "no alarm, as such changes don't count here."
    return [f"{_first_of(small)} changed by {LESS} ({too_small(small[0])}): {end}"]


def at_known_levels(analysis: Analysis) -> list[str]:
    """Which series are on the worse of two levels that they had before, which is no alarm, and since when."""
    known = [one for one in analysis.verdicts if one.is_at_known_level]
    if not known:
        return []
    first = known[0]
    since = f"{short_size(first)} since {first.first_bad_version}"
    what = f"{_first_of(known)} {is_or_are(len(known))} on the worse of two levels as twice before ({since})"
    return [f"{what}: no alarm, though it may be a regression that came back."]


def _unchanged(analysis: Analysis) -> list[str]:
    """In how many series nothing was shown, and what would have shown; then those of which more versions would tell."""
    same = analysis.having(Outcome.NO_CHANGE)
    unchanged = [one for one in same if not one.is_at_known_level and not one.is_small]
    same = [one for one in unchanged if not one.reruns]
    yet = len(unchanged) - len(same)
    seen = would_show(same)
    said = [f"No difference shown in {len(same)}; {seen}."] if seen else []
    said += [f"No difference shown yet in {yet}: more versions like the newest would tell."] if yet else []
    of_newest = sum(one.why == OF_NEWEST for one in unchanged)
    by = f"{of_newest} of these {is_or_are(of_newest)} told by the newest versions alone."
    return [*said, *([by] if of_newest else [])]


def untold_sentences(analysis: Analysis) -> list[str]:
    """Why some can't be told, each reason once, and what to measure next."""
    counts = why_untold(analysis.verdicts)
    if list(counts.values()) == [len(analysis.verdicts)]:  # the headline has counted them
        return [f"{why[:1].upper()}{why[1:]}." for why in counts]
    return [f"{count} can't be told: {why}." for why, count in counts.items()]


def newly_fixed(analysis: Analysis) -> list[tuple[SeriesVerdict, Alarm]]:
    """The alarms that the newest point of their series repaired, or first showed to be repaired."""
    return [(one, alarm) for one, alarm in analysis.alarms(Status.FIXED) if alarm.is_new]
