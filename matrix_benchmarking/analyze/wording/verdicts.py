"""The verdict on a series, on all of a KPI, and the difference of two sides, in words: the same in every report."""

from __future__ import annotations

import collections
import math
from collections.abc import Iterable, Sequence

from ...history.alarms import AlarmSubject
from ...kpi import KPIDefinition
from ...workload import MinimumEffect
from ..detect import Estimate
from ..intervals import Scale
from ..select.series import KPISeries, Series, point_word
from ..verdict.model import ALONE, Alarm, Analysis, Doubt, Outcome, OverAll, SeriesVerdict, is_less
from ..verdict.sides import Judged
from ..words import count_of, difference, percent, plural, series_label

LESS = "less than the minimum effect"
_MOST_SEEN = 10.0  # a larger change than the tenfold of the old level is as good as none


def doubt(one: Doubt, sides: Sequence[str] = ("the old", "the new")) -> str:
    """``Doubtful: k6 was late (runs: 3 of 5 with 1.2, 0 of 5 with 1.3).``; *sides* are the names of both."""
    counts = ", ".join(f"{n} of {of} with {name}" for (n, of), name in zip((one.old, one.new), sides, strict=True))
    return f"Doubtful: {one.said} (runs: {counts})."


def over_all(one: OverAll) -> str:
    measure = one.effect or one.difference
    moved = f"{_amount(one, one.kpi, measure.value)} ({_ends(one, one.kpi, measure)})"
    since = "" if one.since is None else f" since {one.since}"
    way = f"{one.outcome.value}{since}, which none of them shows by itself"
    which = f"{one.series} of its {one.of}" if one.of > one.series else f"its {one.series}"
    return f"Over {which} series together {one.kpi.name} is {way}: {moved}."


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


def why_untold(verdicts: Iterable[SeriesVerdict]) -> collections.Counter[str]:
    """Why those of *verdicts* can't be told that can't, and what to measure next, with the number of series."""
    return collections.Counter(one.why for one in verdicts if one.outcome is Outcome.CANT_TELL)


def untold(verdict: SeriesVerdict) -> str:
    """Why it can't be told, and what to measure next; of two sides also what was measured."""
    measured = f"{short_size(verdict)}, {levels(verdict.kpi, verdict)}; " if verdict.stands_on else ""
    return f"{measured}{verdict.why}"


def sentence(verdict: SeriesVerdict) -> str:
    """The verdict on one series, with all that stands behind it."""
    kpi, name, measure = verdict.kpi, series_label(verdict.kpi.name, verdict.name), verdict.effect or verdict.difference
    if verdict.outcome is Outcome.CANT_TELL:
        return f"{name} can't be told: {untold(verdict)}."
    runs = f"{verdict.runs_before} and {verdict.runs_after} runs"
    if verdict.stands_on:
        behind = f"{levels(kpi, verdict)}, {runs} {verdict.stands_on}"
        return f"{name}{_against(verdict)}: {size(verdict)}{shown(verdict)}, {behind}."
    if verdict.is_at_known_level:
        since = f" since {verdict.first_bad_version}: {size(verdict)}, {levels(kpi, verdict)}, {runs}"
        return f"{name} is on the worse of two levels as twice before{since}."
    if verdict.outcome is Outcome.NO_CHANGE:
        return f"{name}: {nothing(verdict)}."
    if verdict.rises_all_along:
        count = f"{len(verdict.points)} versions, {verdict.runs_before + verdict.runs_after} runs"
        line = f"{size(verdict)}, {levels(kpi, verdict)} along a line through {count}"
        return (
            f"{name} is suspected to get worse along the history, all along or in steps: {line}; no version shows it."
        )
    words = {
        Outcome.REGRESSION: ("worse", "last good"),
        Outcome.IMPROVEMENT: ("better", "last before"),
        Outcome.SUSPECTED: ("suspected to be worse", "last good"),
    }
    what, before = words[verdict.outcome]
    since = "" if verdict.first_bad_version is None else f" since {verdict.first_bad_version}"
    last = "" if verdict.last_good_version is None else f" ({before} {verdict.last_good_version})"
    more = "" if verdict.drift is None else f", and drifts by {percent(verdict.drift, digits=2)} a version"
    if verdict.may_drift:
        more += "; a line fits as well as a step, so that it may drift, and since when is a guess"
    if verdict.outcome is Outcome.SUSPECTED:
        more = f"; {verdict.why or ALONE}"
    elif measure is not None and measure.low < 0.0 < measure.high:
        more += "; that interval holds 0, since what came later is less sure: measuring once more would tell"
    return f"{name} is {what}{since}{last}: {size(verdict)}, {levels(kpi, verdict)}, {runs}{more}."


def _against(verdict: SeriesVerdict) -> str:
    """The verdict on one side against another: `` is worse at 1.3.1 than at 1.3.0``."""
    if verdict.outcome is Outcome.NO_CHANGE:
        return f", {LESS}" if verdict.is_small else ", no difference shown"
    what = f"suspected to be {looks(verdict)}" if verdict.outcome is Outcome.SUSPECTED else looks(verdict)
    return f" is {what} at {verdict.first_bad_version} than at {verdict.last_good_version}"


def is_told(verdict: SeriesVerdict) -> bool:
    """Whether there is more to say of a series than that it is counted.

    It fails, changed, may with more versions, or was measured so that it can't be told.
    """
    changed = verdict.outcome in (Outcome.REGRESSION, Outcome.SUSPECTED, Outcome.IMPROVEMENT)
    may_change = verdict.outcome is Outcome.NO_CHANGE and bool(verdict.reruns or verdict.is_at_known_level)
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
    if verdict.is_at_known_level:
        return f"on the worse of two levels{new}"
    if outcome is Outcome.NO_CHANGE and verdict.reruns:
        return f"{label} yet: {more_would_tell(verdict)}"
    if verdict.rises_all_along:
        return f"{label} along the history{new}"
    if outcome is Outcome.NO_CHANGE:
        return f"{nothing(verdict)}{f'; back on an old level{new}' if verdict.changes else ''}"
    return label


def looks(verdict: SeriesVerdict) -> str:
    """The direction of a change: ``worse`` or ``better``."""
    return "worse" if verdict.looks_worse else "better"


def nothing(verdict: SeriesVerdict) -> str:
    """That no difference was shown, and which one would have: ``no difference shown; 5.1 % would have shown``.

    Where one nearly was: ``no difference shown yet, but +3.1 % (−0.4 to +6.7 %): 2 more versions like it would tell``.
    """
    because = f"; {verdict.why}" if verdict.why else ""
    if verdict.reruns:
        return f"no difference shown yet, but {size(verdict)}: {more_would_tell(verdict)}{because}"
    if verdict.is_small:
        return f"{LESS}: {too_small(verdict)}"
    return f"no difference shown{shown(verdict)}{because}"


def too_small(verdict: SeriesVerdict) -> str:
    """What is less than the minimum effect: a change, ``−0.9 % since 1.30``, or how much two sides differ."""
    if (change := verdict.too_small) is None:
        return size(verdict)
    moved = difference(verdict.kpi, change.new_level - change.old_level)
    share = percent(change.new_level / change.old_level - 1.0) if change.old_level > 0.0 else moved
    return f"{share} since {verdict.versions[change.first]}"


def more_would_tell(verdict: SeriesVerdict) -> str:
    """``2 more versions like it would tell``: more runs of the newest one add little, as they share its build's day."""
    count = verdict.reruns or 0
    return f"{count} more {plural(count, point_word(verdict.points))} like it would tell"


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
    ends = measure.low, measure.high
    anything = -math.inf if verdict.effect is None else -1.0, math.inf
    is_known = ends != anything and not any(map(math.isnan, ends))
    if measure.value and ends == (measure.value, measure.value):
        return f"{shown} (one value on each side)"
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
    if outcome is Outcome.NO_CHANGE and is_less(judged.measure, *judged.levels, minimum):
        return LESS
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
    which = f"the {drawn} most severe" if changed else f"the first {drawn}"
    shown = f" Drawn are {which} of them." if 0 < drawn < len(series) else ""
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
    small = sum(one.is_small for one in same if not one.reruns)
    unchanged = [
        f"{small} changed by {LESS}" if small else "",
        would_show([one for one in same if not one.reruns and not one.is_small]),
        f"more versions would tell of {len(yet)}" if yet else "",
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
