"""What is said of series of which the detector tells nothing: by all their versions, or by the newest alone."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence

import msgspec

from ..detect import Change, Estimate, q_values
from ..detect.evidence import RATE
from ..select.series import Series
from .alarms import levels_known
from .levels import JudgedSeries, judged_together
from .model import OF_NEWEST, Outcome, SeriesVerdict
from .spikes import spiked
from .told import NOT_EVEN_A_DOUBLING, ONE_BLOCK, told_of
from .trend import Trend, trends

NEWEST = 20
"""So many versions tell where more move too much."""
_WORSE = (Outcome.REGRESSION, Outcome.SUSPECTED)


def with_trends(told: Sequence[SeriesVerdict], series: Sequence[JudgedSeries]) -> list[SeriesVerdict]:
    """The verdicts, in which series are suspected that show no change, and are worse in a way that tells less."""
    same = [(at, one) for at, one in enumerate(told) if not one.changes and one.too_small is None]
    asked = [
        at
        for at, one in same
        if one.outcome is Outcome.NO_CHANGE or (one.outcome is Outcome.CANT_TELL and one.why != ONE_BLOCK)
    ]
    found = trends([series[at].series for at in asked])
    return _suspected(told, series, zip(asked, found, strict=True))


def with_spikes(told: Sequence[SeriesVerdict], series: Sequence[JudgedSeries]) -> list[SeriesVerdict]:
    """The verdicts, in which series are suspected whose levels stay, and whose runs are far worse more often."""
    still = (Outcome.NO_CHANGE, Outcome.CANT_TELL)
    asked = [at for at, one in enumerate(told) if one.outcome in still and one.why != ONE_BLOCK]
    found = [spiked(series[at].series) for at in asked]
    return _suspected(told, series, zip(asked, found, strict=True))


def _suspected(
    told: Sequence[SeriesVerdict], series: Sequence[JudgedSeries], found: Iterable[tuple[int, Trend | None]]
) -> list[SeriesVerdict]:
    """The verdicts, with those on the series at the places at which a trend for the worse is *found* that is sure."""
    known = [(told[at], at, trend) for at, trend in found if trend is not None]
    p_values = [trend.p_value(one.kpi) for one, _, trend in known]
    before = [1.0 if trend.before is None else trend.before.p_value(one.kpi) for one, _, trend in known]
    verdicts = list(told)
    for (one, at, trend), p_value, q_value, q_before in zip(
        known, p_values, q_values(p_values), q_values(before), strict=True
    ):
        if _is_sure(trend, one, series[at], q_value) and not _at_known_level(series[at].series, trend):
            is_new = trend.before is None or not _is_sure(trend.before, one, series[at], q_before)
            by_trend = _by_trend(one, trend)
            verdicts[at] = msgspec.structs.replace(by_trend, p_value=p_value, q_value=q_value, is_new=is_new)
    return verdicts


def _is_sure(trend: Trend, of: SeriesVerdict, judged: JudgedSeries, q_value: float | None) -> bool:
    return trend.counts(of.kpi, judged.minimum) and q_value is not None and q_value <= RATE


def _at_known_level(series: Series, trend: Trend) -> bool:
    """Whether it leads to one of two levels that the machine has."""
    if trend.since is None:
        return False
    change = Change(trend.since, trend.since - 1, len(series.points) - 1, trend.first, trend.last, is_worse=True)
    return bool(levels_known([change], series.values))


def _by_trend(verdict: SeriesVerdict, trend: Trend) -> SeriesVerdict:
    """Suspected to be worse: along its versions, or since one of them."""
    last, runs, since = (trend.last, trend.low, trend.high), [one.count for one in verdict.points], trend.since
    of_first = Estimate(*[one / trend.first - 1.0 for one in last]) if trend.first > 0.0 and verdict.effect else None
    new = len(runs) - 1 if since is None else since
    is_line = since is None and of_first is not None
    return msgspec.structs.replace(
        verdict,
        outcome=Outcome.SUSPECTED,
        effect=of_first,
        difference=Estimate(*[one - trend.first for one in last]),
        old_level=trend.first,
        new_level=trend.last,
        first_bad=since,
        last_good=None if since is None else since - 1,
        runs_before=sum(runs[:new]),
        runs_after=sum(runs[new:]),
        reruns=None,
        would_show=None,
        would_show_in=0,
        drift=of_first.value / (len(verdict.points) - 1) if is_line and of_first is not None else None,
        rises_all_along=since is None,
        too_small=None,
        is_at_known_level=False,
        why=trend.shape.why,
        notes=(*filter(None, [trend.note]), *verdict.notes),
    )


def with_newest(told: Sequence[SeriesVerdict], judged: Sequence[JudgedSeries], now: dt.datetime) -> list[SeriesVerdict]:
    """The verdicts, in which long series that move too much for any are told by their newest versions alone."""
    asked = [at for at, one in enumerate(told) if one.why == NOT_EVEN_A_DOUBLING and len(one.points) >= 2 * NEWEST]

    def by_newest(places: Sequence[int], skipped: int) -> list[SeriesVerdict]:
        series = []
        for at in places:
            one, end = judged[at].series, len(told[at].points) - skipped
            parts = {name: getattr(one, name)[end - NEWEST : end] for name in ("points", "versions", "keys", "blocks")}
            series.append(msgspec.structs.replace(one, **parts))
        again = judged_together(series, [judged[at].minimum for at in places])
        return told_of(again, {}, now)

    verdicts = list(told)
    worse = list[int]()
    for at, one in zip(asked, by_newest(asked, 0), strict=True):
        if one.outcome in _WORSE or (one.outcome is Outcome.NO_CHANGE and one.would_show is not None):
            verdicts[at] = _told_by_newest(one, told[at])
            worse += [at] if one.outcome in _WORSE else []
    for at, one in zip(worse, by_newest(worse, 1), strict=True):
        verdicts[at] = msgspec.structs.replace(verdicts[at], is_new=one.outcome not in _WORSE)
    return verdicts


def _told_by_newest(newest: SeriesVerdict, whole: SeriesVerdict) -> SeriesVerdict:
    """What is said of the *newest* points, of the *whole* series: at most suspected, as those before say nothing."""
    earlier = len(whole.points) - NEWEST
    return msgspec.structs.replace(
        newest,
        outcome=Outcome.SUSPECTED if newest.outcome in _WORSE else newest.outcome,
        points=whole.points,
        versions=whole.versions,
        first_bad=None if newest.first_bad is None else newest.first_bad + earlier,
        last_good=None if newest.last_good is None else newest.last_good + earlier,
        changes=(),
        alarms=(),
        notes=whole.notes,
        too_small=None,
        why=OF_NEWEST,
    )
