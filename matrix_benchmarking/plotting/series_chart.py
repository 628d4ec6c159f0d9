"""The chart of one series, with what is said of it: its points, both levels, where it changed."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy

from ..analyze.detect import Change
from ..analyze.select.series import SeriesPoint, time_text, value_text
from ..analyze.verdict.model import Outcome, SeriesVerdict
from ..analyze.wording import verdicts
from ..analyze.words import cut_inside, difference, percent, plural
from ..kpi import KPIDefinition
from . import clicks
from .tables import Node, Part, graph, html
from .template import COLOURS, short, template, text, whiskers

HEIGHT_PX = 250
FEW_POINTS = 60
LEAST_RANGE = 0.2
"""The height of the axis is at least this share of the values, so that noise looks like noise …"""
LEAST_STEPS = 5.0
"""… but not so much that a small change, which is more than noise, can't be seen."""
LEAST_SHARE = 0.1
"""The step that the verdict is about is at least this share of the axis; what it has no room for is at its ends."""
SHORT_TICKS, TICKS, LONG_TICKS, SHORT_TICK, LONGEST_TICK = 6, 4, 3, 7, 14
LONGEST_LEVEL = 10
_TIME_OF_DAY = re.compile(r"(\d{4}-(\d{2}-\d{2})) (\d{2}:\d{2}(?::\d{2})?) UTC")
MOST_POINTS, NEWEST_KEPT, LONGEST_VERSION = 400, 20, 20
WORSE, BETTER, DOUBTFUL, OTHER = "worse", "better", "suspected", ""
"""What a newest level is."""
GOT_WORSE, DEALT_WITH, GOT_BETTER = "change for the worse", "change that was dealt with", "change for the better"
COLOUR = {GOT_WORSE: COLOURS[1], DEALT_WITH: COLOURS[6], GOT_BETTER: COLOURS[2]}
"""Of a change, by its kind."""
LOOKS = {
    BETTER: (COLOURS[2], "star"),
    WORSE: (COLOURS[1], "x"),
    DOUBTFUL: (COLOURS[4], "diamond"),
    OTHER: (COLOURS[0], "circle"),
}
Ends = tuple[float, float] | None  # of the vertical axis; None where the values are too large for one
Points = Mapping[int, SeriesPoint]  # by their places in the series
Level = tuple[int, int, float, str]  # its first and its last point, the value, and what it is
Upright = tuple[float, str, str]  # of a change: between the points before and after, its kind, and what it says
NEW, OLD, EARLIER = "new", "old", "earlier"
"""The newest level, the one that the verdict compares it with, and those before."""
LEGEND = (
    "A point is the mean of the runs at a version; whiskers reach from the least to the largest run. The dashed line "
    "is the old level, the thick one the new: ✕ worse, ★ better, ◆ suspected, or not yet shown. An upright line "
    "is a change; a dotted one is for the better, or was dealt with. Each chart has a vertical axis of its own."
)


def chart(verdict: SeriesVerdict, said: str) -> Node:
    """The chart, which says to who can't see it what is *said*, and what it leaves out; made when it is seen."""
    label = f"{verdict.kpi.name} from version to version: {said}"
    return Part(f"The chart of {verdict.name}", lambda: _chart(verdict, label), HEIGHT_PX)


def _chart(verdict: SeriesVerdict, label: str) -> list[Node]:
    if not verdict.points:
        return []
    points, levels = drawn_points(verdict), levels_of(verdict)
    ends = limits(points, levels, verdict.kpi.divisor)
    figure = series_figure(points, levels, ends, verdict)
    left, outside = len(verdict.points) - len(points), len(beyond(points, ends))
    told = [f"{len(points)} of {len(verdict.points):,} points are drawn: the extremes of each stretch."] if left else []
    told += [f"{outside} {plural(outside, 'point')} beyond the axis: ▲, ▼."] if outside else []
    return [graph(figure, label), *([html.P(" ".join(told), className="note")] if told else [])]


def kind_of(verdict: SeriesVerdict) -> str:
    if verdict.outcome is Outcome.REGRESSION:
        return WORSE
    if verdict.outcome is Outcome.SUSPECTED or verdict.is_at_known_level:
        return DOUBTFUL
    if verdict.outcome is Outcome.IMPROVEMENT or verdict.changes:
        return BETTER  # without any of these, the last change of a series is for the better: at least back
    is_doubtful = bool(verdict.reruns) and verdict.outcome is Outcome.NO_CHANGE
    return DOUBTFUL if is_doubtful else OTHER


def drawn_points(verdict: SeriesVerdict) -> Points:
    """The points that are drawn: all where they are few enough."""
    count = len(verdict.points)
    found = {*range(count)}
    if count > MOST_POINTS:
        around = {place for change in verdict.changes[-20:] for place in (change.first, change.last_before)}
        found = {0, *around, *range(count - NEWEST_KEPT, count)}
        length = -(-2 * count // (MOST_POINTS - len(found)))
        for start in range(0, count, length):
            stretch = range(start, min(start + length, count))
            found.add(min(stretch, key=lambda place: verdict.points[place].mean))
            found.add(max(stretch, key=lambda place: verdict.points[place].mean))
    return {place: verdict.points[place] for place in sorted(found)}


def start_of_new_level(verdict: SeriesVerdict) -> int | None:
    """The first point on the newest level; of a doubtful one, where it would begin; None without one."""
    if verdict.first_bad is not None:
        return verdict.first_bad
    if verdict.changes:
        return verdict.changes[-1].first
    is_told = kind_of(verdict) == DOUBTFUL and verdict.new_level is not None and not verdict.rises_all_along
    if not is_told or not verdict.runs_after:
        return None
    runs = 0
    for place in range(len(verdict.points) - 1, 0, -1):
        runs += verdict.points[place].count
        if runs >= verdict.runs_after:
            return place
    return None


def levels_of(verdict: SeriesVerdict) -> list[Level]:
    changes, last, new = verdict.changes, len(verdict.points) - 1, start_of_new_level(verdict)
    rows: list[tuple[int, int, float | None, str]] = []
    if not changes and new is not None:
        rows = [(0, new - 1, verdict.old_level, OLD), (new, last, verdict.new_level, NEW)]
    for number, change in enumerate(changes):
        start, level = 0, change.old_level
        if number:
            start, level = changes[number - 1].first, changes[number - 1].new_level
        elif change.last_before < change.first - 1:  # against one version, not against all before
            start = change.last_before
        is_old = change.first == verdict.first_bad
        rows.append((start, change.last_before, change.old_level if is_old else level, OLD if is_old else EARLIER))
    if changes and verdict.outcome is Outcome.SUSPECTED and new is not None:
        rows.append((changes[-1].first, new - 1, verdict.old_level, OLD))
        rows.append((new, last, verdict.new_level, NEW))
    elif changes:
        rows.append((changes[-1].first, last, changes[-1].new_level, NEW))
    return [(start, end, level, role) for start, end, level, role in rows if level is not None and start <= end]


def changes_of(verdict: SeriesVerdict) -> list[Upright]:
    alarms = {alarm.first_bad: alarm for alarm in verdict.alarms}
    found = []
    for change in verdict.changes:
        alarm = alarms.get(verdict.versions[change.first]) if change.is_worse else None
        state = "" if alarm is None or alarm.fails else f", {alarm.status.value}"
        kind = GOT_BETTER if not change.is_worse else DEALT_WITH if state else GOT_WORSE
        found.append((change.first - 0.5, kind, f"{change_text(verdict, change)}{state}"))
    return found


def change_text(verdict: SeriesVerdict, change: Change) -> str:
    """A change in a few words: ``▲ +10.3 %, worse since 1.3.3``."""
    is_newest = change.first == verdict.first_bad
    step = change.new_level - change.old_level
    if is_newest:
        size = verdicts.short_size(verdict)
    elif change.old_level > 0:
        size = percent(step / change.old_level)
    else:
        size = difference(verdict.kpi, step)
    since = cut_inside(verdict.versions[change.first], LONGEST_VERSION)
    return f"{'▲' if step > 0 else '▼'} {size}, {'worse' if change.is_worse else 'better'} since {since}"


def _hover(verdict: SeriesVerdict, place: int) -> str:
    version, point = verdict.versions[place], verdict.points[place]
    when = time_text(point)
    lines = [text(cut_inside(version, 60)), f"<b>{text(value_text(verdict.kpi, point))}</b>"]
    return "<br>".join([*lines, *([when] if when and when != version else [])])


def limits(points: Points, levels: Sequence[Level], unit: float) -> Ends:
    """The ends of the axis; around one value alone it is as long as the *unit* in which the KPI is shown."""
    shown = [(start, level) for start, _, level, role in levels if role != EARLIER]
    first, known = min(shown, default=(0, 0.0))[0], [level for _, level in shown]
    low = min([*(point.minimum for point in points.values()), *known])
    high = max([*(point.maximum for point in points.values()), *known])
    recent = [point for place, point in points.items() if place >= first]
    lowest = [one.mean if known else one.minimum for one in recent]  # without a level the runs are all there is
    highest = [one.mean if known else one.maximum for one in recent]
    with numpy.errstate(invalid="ignore"):  # of values that are too large for an axis
        usual = float(numpy.quantile(lowest, 0.03)), float(numpy.quantile(highest, 0.97))
    inner = min([*usual, *known]), max([*usual, *known])
    step = abs(known[-1] - known[0]) if len(known) > 1 else 0.0
    low, high = _narrowed((low, high), inner, max(1.4 * (inner[1] - inner[0]), step / LEAST_SHARE))
    middle = low / 2 + high / 2
    least = min(LEAST_RANGE * abs(middle), LEAST_STEPS * step or math.inf)
    span = max(high - low, least) or unit
    if not math.isfinite(span) or span > 1e300:
        return None
    bottom = middle - 0.58 * span
    return (max(bottom, -0.02 * span) if low >= 0 else bottom), middle + 0.58 * span


def _narrowed(ends: tuple[float, float], inner: tuple[float, float], span: float) -> tuple[float, float]:
    """*ends* moved towards *inner*, in proportion to the room on both sides, until they are *span* apart."""
    below, above = inner[0] - ends[0], ends[1] - inner[1]
    spare = span - (inner[1] - inner[0])
    if span <= 0 or spare <= 0 or below + above <= spare:
        return ends
    share = spare / (max(below, 0.0) + max(above, 0.0))
    return inner[0] - share * max(below, 0.0), inner[1] + share * max(above, 0.0)


def beyond(points: Points, ends: Ends) -> Points:
    return {place: one for place, one in points.items() if ends is not None and not ends[0] <= one.mean <= ends[1]}


def series_figure(points: Points, levels: Sequence[Level], ends: Ends, verdict: SeriesVerdict) -> dict[str, Any]:
    """The figure, as plain data: plotly takes as long to look at it as all else of it takes, and a page has many."""
    kind, divisor, changes = kind_of(verdict), verdict.kpi.divisor, changes_of(verdict)
    outside = beyond(points, ends)
    traces = [_below(change) for change in changes]
    traces += _points({place: one for place, one in points.items() if place not in outside}, len(points), verdict)
    traces += [] if ends is None or not outside else [_outside(outside, ends, verdict)]
    looks: dict[str, dict[str, object]] = {
        NEW: {"color": LOOKS[kind][0], "width": 3, "dash": "dot" if kind == DOUBTFUL else "solid"},
        OLD: {"color": COLOURS[0], "width": 3, "dash": "dash"},
        EARLIER: {"color": COLOURS[6], "width": 3, "dash": "solid"},
    }
    traces += [
        _line([start - 0.45, end + 0.45], [level / divisor] * 2, looks[role]) for start, end, level, role in levels
    ]
    if verdict.rises_all_along:
        trend = [(level or 0.0) / divisor for level in (verdict.old_level, verdict.new_level)]
        look = {**looks[NEW], "color": LOOKS[DOUBTFUL][0], "dash": "dot"}
        traces.append(_line([0, len(verdict.points) - 1], trend, look))
    notes, caption = _level_labels(levels, ends, verdict.kpi), _caption(changes, verdict)
    longest = max((len(note["text"].removeprefix("<b>").removesuffix("</b>")) for note in notes), default=0)
    layout = {
        "template": template(),
        "height": HEIGHT_PX,
        "showlegend": False,
        "hovermode": "closest",
        "shapes": [_upright(change) for change in changes],
        "annotations": [*notes, *caption],
        "margin": {"l": 10, "r": 12 + 7 * longest, "t": 34 if caption else 12, "b": 10},
    }
    return {"data": traces, "layout": {**layout, **_axes(ends, verdict)}}


def _upright(change: Upright) -> dict[str, Any]:
    """The line of a *change*; strong is what got worse and nobody dealt with."""
    place, kind, _ = change
    is_strong = kind == GOT_WORSE
    look = {"color": COLOUR[kind], "width": 1.5 if is_strong else 1, "dash": "solid" if is_strong else "dot"}
    ends = {"x0": place, "x1": place, "y0": 0, "y1": 1, "yref": "y domain"}
    return {"type": "line", **ends, "line": look, "layer": "below"}


def _below(change: Upright) -> dict[str, Any]:
    """The mark below the line of a *change*, which says what it is."""
    at, kind, label = change
    marker = {"symbol": "triangle-up", "size": 9, "color": COLOUR[kind]}
    place = {"type": "scatter", "x": [at], "y": [0], "yaxis": "y2", "mode": "markers", "cliponaxis": False}
    return {**place, "marker": marker, **clicks.told([text(label)])}


def _points(inside: Points, count: int, verdict: SeriesVerdict) -> list[dict[str, Any]]:
    """Those *inside* the axis of so many points, with their whiskers, and the line between them."""
    size = 7 if count <= 40 else 5 if count <= 150 else 4
    opacity = 1.0 if count <= FEW_POINTS else 0.5  # so that the levels can be seen among many points
    look, new, divisor = {"color": COLOURS[0], "width": 1}, start_of_new_level(verdict), verdict.kpi.divisor
    traces = [_line([*inside], [point.mean / divisor for point in inside.values()], look, 0.35 * opacity)]
    for is_new in (False, True):
        group = {place: point for place, point in inside.items() if (new is not None and place >= new) == is_new}
        if not group:
            continue
        colour, symbol = LOOKS[kind_of(verdict) if is_new else OTHER]
        marker = {"color": colour, "symbol": symbol, "size": size + (2 if symbol == "star" else 0)}
        looks = {"marker": marker, "opacity": opacity, "error_y": _whiskers([*group.values()], divisor, colour)}
        traces.append({**_marks(group, [point.mean for point in group.values()], verdict), **looks})
    return traces


def _whiskers(group: Sequence[SeriesPoint], divisor: float, colour: str) -> dict[str, object] | None:
    if all(point.count == 1 for point in group):
        return None
    ends = [(point.minimum, point.maximum) for point in group]
    look = {"color": colour, "thickness": 1, "width": 2 if len(group) <= FEW_POINTS else 0, "symmetric": False}
    return whiskers([point.mean for point in group], ends, divisor, **look)


def _outside(points: Points, ends: tuple[float, float], verdict: SeriesVerdict) -> dict[str, Any]:
    heights = [max(ends) if point.mean > max(ends) else min(ends) for point in points.values()]
    symbols = ["triangle-up" if height == max(ends) else "triangle-down" for height in heights]
    marks = _marks(points, heights, verdict, "<br>beyond the axis")
    return {**marks, "marker": {"symbol": symbols, "color": COLOURS[6], "size": 8}, "cliponaxis": False}


def _marks(points: Points, heights: Sequence[float], verdict: SeriesVerdict, more: str = "") -> dict[str, Any]:
    """Points that say under the mouse what they are; a click on one opens its run."""
    y = [one / verdict.kpi.divisor for one in heights]
    hovers = [f"{_hover(verdict, place)}{more}" for place in points]
    return clicks.dots([*points], y, hovers, (clicks.run_of(point.entries) or "" for point in points.values()))


def _line(x: Sequence[object], y: Sequence[object], look: Mapping[str, object], opacity: float = 1.0) -> dict[str, Any]:
    ends = {"type": "scatter", "x": x, "y": y, "mode": "lines", "hoverinfo": "skip"}
    return {**ends, "line": look, "opacity": opacity}


def _level_labels(levels: Sequence[Level], ends: Ends, kpi: KPIDefinition) -> list[dict[str, Any]]:
    """Both levels' values at the right edge, far enough from each other to be read."""
    if ends is None:
        return []
    shown = sorted((level, role) for _, _, level, role in levels if role != EARLIER)
    places, gap = [level for level, _ in shown], 0.1 * (ends[1] - ends[0])
    if len(places) > 1 and places[1] - places[0] < gap:
        middle = (places[0] + places[1]) / 2
        places = [middle - gap / 2, middle + gap / 2]
    notes = []
    for place, (level, role) in zip(places, shown, strict=True):
        label = text(short(kpi.show(level, unit=False), LONGEST_LEVEL))
        said = f"<b>{label}</b>" if role == NEW else label
        at = {"x": 1, "xref": "paper", "xanchor": "left", "xshift": 4, "y": place / kpi.divisor}
        notes.append({"text": said, "showarrow": False, "font": {"size": 11}, **at})
    return notes


def _caption(changes: Sequence[Upright], verdict: SeriesVerdict) -> list[dict[str, Any]]:
    said = ""
    if changes:
        about = [change.first for change in verdict.changes]
        *_, said = changes[about.index(verdict.first_bad) if verdict.first_bad in about else -1]
    elif verdict.reruns and verdict.outcome is Outcome.NO_CHANGE:
        said = f"no difference shown yet: {verdicts.short_size(verdict)}"
    elif verdict.outcome is Outcome.SUSPECTED:
        said = f"{verdicts.verdict_text(verdict)}: {verdicts.short_size(verdict)}"
    at = {"x": 0, "xref": "paper", "xanchor": "left", "y": 1, "yref": "paper", "yanchor": "bottom", "yshift": 6}
    return [{"text": text(said), "showarrow": False, **at}] if said else []


def _axes(ends: Ends, verdict: SeriesVerdict) -> dict[str, Any]:
    kpi, last = verdict.kpi, len(verdict.versions) - 1
    margin = max(0.6, 0.02 * last)
    places = ticks(verdict.versions)
    labels = [text(label) for label in tick_texts([verdict.versions[place] for place in places])]
    at = {"range": [-margin, last + margin], "tickfont": {"size": 11}}
    unit = [short(kpi.display_unit, 14)] if kpi.display_unit else []
    better = [] if kpi.lower_better is None else [f"{'lower' if kpi.lower_better else 'higher'} = better"]
    title = {"text": text(" · ".join([*unit, *better])), "font": {"size": 11}, "standoff": 6}
    heights = {} if ends is None else {"range": [end / kpi.divisor for end in ends]}
    return {
        "xaxis": {"tickvals": places, "ticktext": labels, **at},
        "yaxis": {"title": title, "nticks": 5, "tickfont": {"size": 11}, **heights},
        "yaxis2": {"overlaying": "y", "range": [0, 1], "visible": False, "fixedrange": True},
    }


def ticks(versions: Sequence[str]) -> list[int]:
    """At which points the axis is labelled: evenly, the newest one always, so few that their texts don't meet."""
    last = len(versions) - 1
    longest = max((len(shown) for shown in tick_texts(versions[-MOST_POINTS:])), default=0)
    most = SHORT_TICKS if longest <= SHORT_TICK else TICKS if longest < LONGEST_TICK else LONG_TICKS
    step = max(1, math.ceil((last + 1) / most))
    return list(range(last, -1, -step))[::-1]


def tick_texts(versions: Iterable[str]) -> list[str]:
    """Versions as an axis shows them: times as days where these differ; of long ones, the part in which they differ."""
    shown = list(versions)
    times = [match for version in shown if (match := _TIME_OF_DAY.fullmatch(version))]
    days = {match[1] for match in times}
    if times and len(times) == len(shown):
        form = r"\1" if len(days) == len(times) else r"\3" if len(days) == 1 else r"\2 \3"
        return [match.expand(form) for match in times]
    longest = max(map(len, shown), default=0)
    if longest > LONGEST_TICK:
        first, last = min(shown), max(shown)
        same = next((place for place, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))
        ends = [match.end() for match in re.finditer(r"[^0-9A-Za-z]", first[:same])]
        begin = next((end for end in ends if longest - end < LONGEST_TICK), None)
        if begin is not None and len(shown) > 1:
            return [f"…{version[begin:]}" for version in shown]
    return [cut_inside(version, LONGEST_TICK) for version in shown]
