"""What a history says of one KPI: how many of its series have which verdict, and the most severe of them."""

from __future__ import annotations

import collections
from collections.abc import Sequence

from ..select.series import KPISeries, Series
from ..verdict.model import Analysis, Outcome, SeriesVerdict
from ..words import count_of
from .verdicts import sentence, why_untold, would_show

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
    small = sum(one.too_small is not None for one in same if not one.reruns)
    unchanged = [
        f"{small} changed by less than the minimum effect" if small else "",
        would_show([one for one in same if not one.reruns and one.too_small is None]),
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
