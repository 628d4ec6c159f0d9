"""The small chart of one series of an analysis, and its data frames: points, both levels, where it changed."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go

from ..analyze.detect import Change
from ..analyze.select.series import SeriesPoint, time_text, value_text
from ..analyze.verdict.model import Outcome, SeriesVerdict
from ..analyze.wording import verdicts
from ..analyze.words import cut_inside, difference, percent
from ..kpi import KPIDefinition
from . import clicks
from .template import COLOURS, apply, short, text

if TYPE_CHECKING:
    import pandas

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
_TIME_OF_DAY = re.compile(r"(\d{4}-\d{2}-\d{2}) \d{2}:\d{2}(?::\d{2})? UTC")
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


def kind_of(verdict: SeriesVerdict) -> str:
    if verdict.outcome is Outcome.REGRESSION:
        return WORSE
    if verdict.outcome is Outcome.SUSPECTED or verdict.is_at_known_level:
        return DOUBTFUL
    if verdict.outcome is Outcome.IMPROVEMENT or verdict.changes:
        return BETTER  # without any of these, the last change of a series is for the better: at least back
    is_doubtful = bool(verdict.reruns) and verdict.outcome is Outcome.NO_CHANGE
    return DOUBTFUL if is_doubtful else OTHER


def points_frame(verdict: SeriesVerdict) -> pandas.DataFrame:
    """A row for each point that is drawn: ``x`` in the series, its values, whether it ``is_new``, ``hover``."""
    import pandas

    new = start_of_new_level(verdict)
    rows = []
    for place in drawn_places(verdict):
        point = verdict.points[place]
        rows.append(
            {
                "x": place,
                **point_values(point, verdict.kpi),
                "hover": _hover(verdict.versions[place], point, verdict.kpi),
                "is_new": new is not None and place >= new,
            }
        )
    return pandas.DataFrame(rows)


def point_values(point: SeriesPoint, kpi: KPIDefinition) -> dict[str, object]:
    values = {name: getattr(point, name) / kpi.divisor for name in ("mean", "minimum", "maximum")}
    return {**values, "runs": point.count, "uuid": point.entries[0].test_uuid or ""}


def drawn_places(verdict: SeriesVerdict) -> list[int]:
    """Which points are drawn: all where they are few enough."""
    count = len(verdict.points)
    if count <= MOST_POINTS:
        return list(range(count))
    around = {place for change in verdict.changes[-20:] for place in (change.first, change.last_before)}
    found = {0, *around, *range(count - NEWEST_KEPT, count)}
    length = -(-2 * count // (MOST_POINTS - len(found)))
    for start in range(0, count, length):
        stretch = range(start, min(start + length, count))
        found.add(min(stretch, key=lambda place: verdict.points[place].mean))
        found.add(max(stretch, key=lambda place: verdict.points[place].mean))
    return sorted(found)


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


def levels_frame(verdict: SeriesVerdict) -> pandas.DataFrame:
    """A row for each level: ``start`` and ``end`` (its first and last point), ``level`` in the KPI's display unit, and
    ``role``: ``new`` (the newest), ``old`` (the one that the verdict compares it with), or ``earlier``.
    """
    import pandas

    changes, last, new = verdict.changes, len(verdict.points) - 1, start_of_new_level(verdict)
    rows: list[tuple[int, int, float | None, str]] = []
    if not changes and new is not None:
        rows = [(0, new - 1, verdict.old_level, "old"), (new, last, verdict.new_level, "new")]
    for number, change in enumerate(changes):
        start, level = 0, change.old_level
        if number:
            start, level = changes[number - 1].first, changes[number - 1].new_level
        elif change.last_before < change.first - 1:  # against one version, not against all before
            start = change.last_before
        is_old = change.first == verdict.first_bad
        rows.append((start, change.last_before, change.old_level if is_old else level, "old" if is_old else "earlier"))
    if changes and verdict.outcome is Outcome.SUSPECTED and new is not None:
        rows.append((changes[-1].first, new - 1, verdict.old_level, "old"))
        rows.append((new, last, verdict.new_level, "new"))
    elif changes:
        rows.append((changes[-1].first, last, changes[-1].new_level, "new"))
    divisor = verdict.kpi.divisor
    known = [
        (start, end, level / divisor, role) for start, end, level, role in rows if level is not None and start <= end
    ]
    return pandas.DataFrame(known, columns=["start", "end", "level", "role"])


def changes_frame(verdict: SeriesVerdict) -> pandas.DataFrame:
    """A row for each change: ``place`` (between the last point before and the first after), ``kind`` and ``label``."""
    import pandas

    alarms = {alarm.first_bad: alarm for alarm in verdict.alarms}
    rows = []
    for change in verdict.changes:
        alarm = alarms.get(verdict.versions[change.first]) if change.is_worse else None
        state = "" if alarm is None or alarm.fails else f", {alarm.status.value}"
        kind = GOT_BETTER if not change.is_worse else DEALT_WITH if state else GOT_WORSE
        rows.append((change.first - 0.5, kind, f"{change_text(verdict, change)}{state}"))
    return pandas.DataFrame(rows, columns=["place", "kind", "label"])


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


def _hover(version: str, point: SeriesPoint, kpi: KPIDefinition) -> str:
    when = time_text(point)
    lines = [text(cut_inside(version, 60)), f"<b>{text(value_text(kpi, point))}</b>"]
    return "<br>".join([*lines, *([when] if when and when != version else [])])


def marks(points: pandas.DataFrame, **look: object) -> dict[str, object]:
    """A trace of points that say under the mouse what they are; a click on one opens its run."""
    ids = clicks.marks(points["uuid"])
    return {"type": "scatter", "x": points["x"].tolist(), "customdata": ids, **told(points["hover"]), **look}


def told(sentences: Iterable[str]) -> dict[str, object]:
    return {"hovertext": [*sentences], "hovertemplate": "%{hovertext}<extra></extra>"}


def triangle(x: object, y: float, change: Any, size: int) -> dict[str, object]:
    """A trace: the mark below the line of a *change*, which says what it is."""
    marker = {"symbol": "triangle-up", "size": size, "color": COLOUR[change.kind]}
    place = {"type": "scatter", "x": [x], "y": [y], "mode": "markers", "cliponaxis": False}
    return {**place, "marker": marker, **told([text(change.label)])}


def limits(points: pandas.DataFrame, levels: pandas.DataFrame) -> tuple[float, float] | None:
    """The ends of the vertical axis, in the KPI's display unit; None where the values are too large for it."""
    shown = levels[levels["role"] != "earlier"]
    known = [float(level) for level in shown["level"]]
    low, high = float(min([points["minimum"].min(), *known])), float(max([points["maximum"].max(), *known]))
    recent = points[points["x"] >= shown["start"].min()] if len(shown) else points
    usual = recent["mean"].quantile([0.03, 0.97]).tolist()
    inner = float(min([*usual, *known])), float(max([*usual, *known]))
    step = abs(known[-1] - known[0]) if len(known) > 1 else 0.0
    low, high = _narrowed((low, high), inner, max(1.4 * (inner[1] - inner[0]), step / LEAST_SHARE))
    middle = low / 2 + high / 2
    least = min(LEAST_RANGE * abs(middle), LEAST_STEPS * step or math.inf)
    span = max(high - low, least) or 1.0
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


def beyond(points: pandas.DataFrame, ends: tuple[float, float] | None) -> pandas.Series[bool]:
    low, high = (-math.inf, math.inf) if ends is None else ends
    return (points["mean"] < low) | (points["mean"] > high)


def series_figure(
    points: pandas.DataFrame, levels: pandas.DataFrame, changes: pandas.DataFrame, verdict: SeriesVerdict
) -> go.Figure:
    figure, ends, kind = go.Figure(), limits(points, levels), kind_of(verdict)
    outside = beyond(points, ends)
    for change in changes.itertuples():
        is_open = change.kind == GOT_WORSE
        line = {
            "color": COLOUR[str(change.kind)],
            "width": 1.5 if is_open else 1,
            "dash": "solid" if is_open else "dot",
        }
        figure.add_vline(x=change.place, line=line, layer="below")
        figure.add_trace({**triangle(change.place, 0, change, 9), "yaxis": "y2"})
    _draw_points(figure, points, outside, kind)
    if ends is not None and outside.any():
        _draw_outside(figure, points[outside], ends)
    looks: dict[str, dict[str, object]] = {
        "new": {"color": LOOKS[kind][0], "width": 3, "dash": "dot" if kind == DOUBTFUL else "solid"},
        "old": {"color": COLOURS[0], "width": 3, "dash": "dash"},
        "earlier": {"color": COLOURS[6], "width": 3, "dash": "solid"},
    }
    for start, end, level, role in levels.to_numpy().tolist():
        figure.add_trace(_line([start - 0.45, end + 0.45], [level] * 2, looks[role]))
    if verdict.rises_all_along:
        trend = [(level or 0.0) / verdict.kpi.divisor for level in (verdict.old_level, verdict.new_level)]
        figure.add_trace(
            _line([0, len(verdict.points) - 1], trend, {**looks["new"], "color": LOOKS[DOUBTFUL][0], "dash": "dot"})
        )
    longest = _label_levels(figure, levels, ends, verdict.kpi)
    figure.update_layout(margin={"l": 10, "r": 12 + 7 * longest, "t": 34, "b": 10})
    _caption(figure, changes, verdict)
    _label_axes(figure, ends, verdict)
    figure.update_layout(showlegend=False, hovermode="closest")
    return apply(figure, height=HEIGHT_PX)


def _draw_points(figure: go.Figure, points: pandas.DataFrame, outside: pandas.Series[bool], kind: str) -> None:
    count, inside = len(points), points[~outside]
    size = 7 if count <= 40 else 5 if count <= 150 else 4
    opacity = 1.0 if count <= FEW_POINTS else 0.5  # so that the levels can be seen among many points
    look = {"color": COLOURS[0], "width": 1}
    figure.add_trace(_line(inside["x"].tolist(), inside["mean"].tolist(), look, 0.35 * opacity))
    for is_new in (False, True):
        group = inside[inside["is_new"] == is_new]
        if group.empty:
            continue
        colour, symbol = LOOKS[kind if is_new else OTHER]
        figure.add_trace(
            marks(
                group,
                y=group["mean"].tolist(),
                mode="markers",
                marker={"color": colour, "symbol": symbol, "size": size + (2 if symbol == "star" else 0)},
                opacity=opacity,
                error_y=_whiskers(group, colour),
            )
        )


def _whiskers(group: pandas.DataFrame, colour: str) -> dict[str, object] | None:
    if not (group["runs"] > 1).any():
        return None
    above, below = group["maximum"] - group["mean"], group["mean"] - group["minimum"]
    ends = {"array": above.tolist(), "arrayminus": below.tolist(), "symmetric": False, "type": "data"}
    return {**ends, "color": colour, "thickness": 1, "width": 2 if len(group) <= FEW_POINTS else 0}


def _draw_outside(figure: go.Figure, points: pandas.DataFrame, ends: tuple[float, float]) -> None:
    is_above = [mean > ends[1] for mean in points["mean"]]
    symbols = ["triangle-up" if above else "triangle-down" for above in is_above]
    figure.add_trace(
        marks(
            points.assign(hover=points["hover"] + "<br>beyond the axis"),
            y=[ends[1] if above else ends[0] for above in is_above],
            mode="markers",
            marker={"symbol": symbols, "color": COLOURS[6], "size": 8},
            cliponaxis=False,
        )
    )


def _line(x: Sequence[object], y: Sequence[object], look: Mapping[str, object], opacity: float = 1.0) -> go.Scatter:
    return go.Scatter(x=x, y=y, mode="lines", line=look, opacity=opacity, hoverinfo="skip")


def _label_levels(
    figure: go.Figure, levels: pandas.DataFrame, ends: tuple[float, float] | None, kpi: KPIDefinition
) -> int:
    """Both levels' values at the right edge, far enough from each other to be read; gives the longest one's length."""
    if ends is None:
        return 0
    shown = levels[levels["role"] != "earlier"].sort_values("level")
    values, roles = [float(level) for level in shown["level"]], [str(role) for role in shown["role"]]
    places, gap = list(values), 0.1 * (ends[1] - ends[0])
    if len(places) > 1 and places[1] - places[0] < gap:
        middle = (places[0] + places[1]) / 2
        places = [middle - gap / 2, middle + gap / 2]
    longest = 0
    for place, value, role in zip(places, values, roles, strict=True):
        label = short(kpi.show(value * kpi.divisor, unit=False), LONGEST_LEVEL)
        longest = max(longest, len(label))
        at = {"x": 1, "xref": "paper", "xanchor": "left", "xshift": 4, "y": place}
        said = f"<b>{text(label)}</b>" if role == "new" else text(label)
        figure.add_annotation(text=said, showarrow=False, font_size=11, **at)
    return longest


def _caption(figure: go.Figure, changes: pandas.DataFrame, verdict: SeriesVerdict) -> None:
    said = ""
    if len(changes):
        about = [change.first for change in verdict.changes]
        said = changes["label"].iloc[about.index(verdict.first_bad) if verdict.first_bad in about else -1]
    elif verdict.reruns:
        said = f"no difference shown yet: {verdicts.short_size(verdict)}"
    elif verdict.outcome is Outcome.SUSPECTED:
        said = f"{verdicts.verdict_text(verdict)}: {verdicts.short_size(verdict)}"
    if not said:
        return
    place = {"x": 0, "xref": "paper", "xanchor": "left", "y": 1, "yref": "paper", "yanchor": "bottom", "yshift": 6}
    figure.add_annotation(text=text(said), showarrow=False, **place)


def _label_axes(figure: go.Figure, ends: tuple[float, float] | None, verdict: SeriesVerdict) -> None:
    kpi, last = verdict.kpi, len(verdict.versions) - 1
    margin = max(0.6, 0.02 * last)
    places = ticks(verdict.versions)
    labels = tick_texts([verdict.versions[place] for place in places])
    figure.update_xaxes(
        tickvals=places, ticktext=[text(label) for label in labels], range=[-margin, last + margin], tickfont_size=11
    )
    unit = f"{short(kpi.display_unit, 14)} · " if kpi.display_unit else ""
    title = text(f"{unit}{kpi.direction.removesuffix(' is better')} = better")
    figure.update_yaxes(title={"text": title, "font": {"size": 11}, "standoff": 6}, nticks=5, tickfont_size=11)
    figure.update_layout(yaxis2={"overlaying": "y", "range": [0, 1], "visible": False, "fixedrange": True})
    if ends is not None:
        figure.update_layout(yaxis_range=list(ends))


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
    days = [match[1] for version in shown if (match := _TIME_OF_DAY.fullmatch(version))]
    if len(days) == len(shown) and len(set(days)) == len(days):
        return days
    longest = max(map(len, shown), default=0)
    if longest > LONGEST_TICK:
        first, last = min(shown), max(shown)
        same = next((place for place, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))
        ends = [match.end() for match in re.finditer(r"[^0-9A-Za-z]", first[:same])]
        begin = next((end for end in ends if longest - end < LONGEST_TICK), None)
        if begin is not None and len(shown) > 1:
            return [f"…{version[begin:]}" for version in shown]
    return [cut_inside(version, LONGEST_TICK) for version in shown]
