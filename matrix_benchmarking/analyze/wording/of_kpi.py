"""What the analysis says of the series of one KPI: each with its verdict, and all of it in sentences."""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Sequence

from ..select.selection import series_id
from ..select.series import KPISeries, Series
from ..verdict.model import Analysis, Outcome, SeriesVerdict
from ..words import count_of
from . import verdicts

SENTENCES = 2


@dataclasses.dataclass(frozen=True, slots=True)
class SeriesWithVerdict:
    """A series, and the verdict on it; None where it isn't judged, as where neither direction is better."""

    series: Series
    verdict: SeriesVerdict | None

    @property
    def outcome(self) -> Outcome:
        return Outcome.NOT_ANALYSED if self.verdict is None else self.verdict.outcome


def judged_series(found: KPISeries, workload: str, analysis: Analysis | None) -> list[SeriesWithVerdict]:
    """The series of *found* as *analysis* orders them, the most severe first; then what isn't judged."""
    verdicts = {} if analysis is None else {one.id: (place, one) for place, one in enumerate(analysis.verdicts)}
    placed = []
    for series in found.series:
        of_series = series_id(workload, found.kpi.name, found.kpi.unit, series.labels)
        place, verdict = verdicts.get(of_series, (len(verdicts), None))
        placed.append((place, SeriesWithVerdict(series, verdict)))
    return [one for _, one in sorted(placed, key=lambda each: each[0])]


def counts(judged: Sequence[SeriesWithVerdict]) -> collections.Counter[Outcome]:
    """How many series have which verdict."""
    return collections.Counter(one.outcome for one in judged)


def conclusions(found: KPISeries, judged: Sequence[SeriesWithVerdict], drawn: int = 0) -> list[str]:
    """What the history says, a sentence or two each."""
    kpi, series = found.kpi, found.series
    left_out = [f"{count_of(runs, 'run')} can't take part: {reason}." for reason, runs in found.left_out.items()]
    if not series:
        return [f"{kpi.name} is not known for any successful run.", *left_out]
    told = [one.verdict for one in judged if one.verdict is not None and one.outcome is not Outcome.CANT_TELL]
    changed = [one for one in told if one.outcome is not Outcome.NO_CHANGE]
    said = [_counted(found, judged), *map(verdicts.sentence, changed[:SENTENCES]), _scope(found, drawn)]
    return [sentence for sentence in [*said, *left_out] if sentence]


def _counted(found: KPISeries, judged: Sequence[SeriesWithVerdict]) -> str:
    """``p95_latency: 1 of 2 series is worse, 1 shows no difference (5.1 % would have shown within 5 versions).``"""
    number, total = counts(judged), len(judged)
    told = [one.verdict for one in judged if one.verdict is not None]
    more = {
        Outcome.NO_CHANGE: verdicts.would_show([one for one in told if one.outcome is Outcome.NO_CHANGE]),
        Outcome.CANT_TELL: "; ".join(verdicts.why_untold(told)),
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


def _scope(found: KPISeries, drawn: int) -> str:
    runs, total = sum(one.runs for one in found.series), len(found.series)
    over = f" over {count_of(len(found.versions), 'version')}" if found.axis is not None else ""
    shown = f" Drawn are the {drawn} most severe of them." if 0 < drawn < total else ""
    return f"{total} series of {found.kpi.name}{over}, {count_of(runs, 'run')}.{shown}"
