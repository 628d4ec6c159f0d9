"""The ranking as a picture: variants with their intervals on one axis, and the headline KPI against the limited one."""

from __future__ import annotations

import abc
import collections
import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import plotly.graph_objects as go

from ..analyze.best import Group, Standing
from ..analyze.limits import better_than, bounded, staircase
from ..analyze.points import Bounded, keys, varying
from ..analyze.study import Study
from ..analyze.wording import ranking
from ..analyze.words import count_of, tuning_label, variant_label
from ..kpi import KPIDefinition
from . import clicks, template
from .base import Catalogue, Drawn, Plot, View
from .controls import Choice, Control
from .tables import Node, Part, html

GROUP = "group"
FEW_ROWS, MOST_ROWS, MOST_POINTS = 6, 14, 100
LABEL_WIDTH, LINE_PX, ROW_PX, LEAST_PX, MARGIN_PX = 26, 16, 35, 300, 150
LEFT_PX, BOTTOM_PX, CHARACTER_PX = 60, 70, 7.0
BEST, MAY_BE, WORSE, UNKNOWN = "best", "may be the best", "worse", "not known whether worse"
BEYOND = "not sure to keep the limit"
LOOKS = {
    BEST: {"color": template.COLOURS[1], "symbol": "star", "size": 15},
    MAY_BE: {"color": template.COLOURS[0], "symbol": "circle", "size": 10},
    WORSE: {"color": template.COLOURS[6], "symbol": "circle-open", "size": 9},
    UNKNOWN: {"color": template.COLOURS[5], "symbol": "diamond-open", "size": 9},
}
"""What tells the points apart: colour, form and filling."""
_FAR = 20.0


class OfAGroup(Plot):
    """A plot of one group of points that may be compared."""

    def controls(self) -> Sequence[Control]:
        names = [ranking.scope(group) for group in self.groups()]
        return [Choice(GROUP, "Of", names, names[0])] if len(names) > 1 else []

    def groups(self) -> Sequence[Group]:
        return self.study.best.compared

    def draw(self, view: View) -> Drawn:
        groups = self.groups()
        if not groups:
            return None, self.why_nothing()
        chosen = view.option(GROUP) if len(groups) > 1 else ""
        return self.of(next((each for each in groups if ranking.scope(each) == chosen), groups[0]))

    def why_nothing(self) -> str:
        return "There is nothing to compare."

    @abc.abstractmethod
    def of(self, group: Group) -> Drawn:
        """The figure of *group*, and what it says."""

    def parts_of(self, group: Group) -> list[Node]:
        return self.shown(*self.of(group))

    def below_the_verdict(self, group: Group) -> list[Node]:
        """The figure before what it says: what is best is said above it already."""
        return self.parts_of(group)[::-1]


class Ranking(OfAGroup):
    name: ClassVar[str] = "Ranking"

    def of(self, group: Group) -> Drawn:
        return ranking_figure(group), ranking_text(group)


class UnderALimit(OfAGroup):
    name: ClassVar[str] = "Best under a limit"
    config: ClassVar[Mapping[str, Any]] = {"edits": {"shapePosition": True}}

    def groups(self) -> Sequence[Group]:
        return [group for group in self.study.of_all.compared if limit_known(self.study, group)]

    def why_nothing(self) -> str:
        kpi = self.workload.limited
        known = "This workload has no KPI to limit" if kpi is None else f"No point that is compared has a {kpi.name}"
        return f"{known}, so there is no limit to set."

    def of(self, group: Group) -> Drawn:
        drag = ["Drag the upright line to set a limit."] if self.catalogue.is_live else []
        return limit_figure(self.study, group), [" ".join([*limit_text(self.study, group), *drag])]


def pictures(catalogue: Catalogue, group: Group, *, is_first: bool) -> Node:
    """Both pictures of *group* beside each other; those of the *first* group aren't waited for."""
    limit = UnderALimit(catalogue)
    drawn: list[tuple[OfAGroup, Group]] = [(Ranking(catalogue), group)] if group.standings[1:] else []
    drawn += [(limit, each) for each in limit.groups() if each.settings == group.settings and each.standings[1:]]
    return _beside(drawn, 0 if is_first else LEAST_PX)


def limit_picture(catalogue: Catalogue, group: Group) -> Node:
    """The picture of a *group* of which no point keeps the limit, which can be dragged to where some do."""
    limit = UnderALimit(catalogue)
    return _beside([(limit, group)] if limit_known(limit.study, group) else [], 0)


def _beside(drawn: Sequence[tuple[OfAGroup, Group]], height_px: int) -> Node:
    made = [
        html.Div(Part(plot.name, functools.partial(plot.below_the_verdict, each), height_px)) for plot, each in drawn
    ]
    return html.Div(made, className="pictures")


def rows_of(group: Group) -> list[Standing]:
    """The best point of each variant and all that can't be told apart from the best, the best first; else the first."""
    wanted = {id(one.point) for one in (*group.variants, *group.undecided)}
    wanted |= {id(one.point) for one in group.standings[: max(FEW_ROWS - len(wanted), 0) + 1]}
    return [one for one in group.standings if id(one.point) in wanted]


def kind_of(one: Standing, group: Group) -> str:
    if one.point is group.best:
        return BEST
    return {True: WORSE, False: MAY_BE, None: UNKNOWN}[one.apart]


def labels_of(rows: Sequence[Standing], group: Group) -> tuple[list[str], str]:
    """Each row by the settings that differ among them; and what is the same in all."""
    differing = set(varying(one.point.settings for one in rows))
    variant = [name for name in group.variant_names if name in differing]
    tuning = [name for name in group.tuning_names if name in differing]
    variants = keys(group.settings_of_all, variant)
    if variant and len({*variants}) == len({*zip(variants, keys(group.settings_of_all, tuning), strict=True)}):
        tuning = []  # the variant says it already
    labels = []
    for one in rows:
        settings = one.point.settings
        parts = variant_label(settings, variant) if variant else "", tuning_label(settings, tuning)
        labels.append(" · ".join(filter(None, parts)) or ranking.point_label(settings, group))
    same: Mapping[str, object] = group.best.settings
    constant = variant_label(same, [name for name in group.variant_names if name not in differing])
    tuned = tuning_label(same, [name for name in group.tuning_names if name not in differing])
    return labels, " · ".join(filter(None, (constant, tuned))) if rows[1:] else ""


def ranking_text(group: Group) -> list[str]:
    rows = rows_of(group)
    counts = collections.Counter(kind_of(one, group) for one in group.standings)
    if group.estimates is None:
        said = ["Nothing was repeated, so there are no intervals, and what is more than chance isn't known"]
    else:
        said = [f"Best first, with 95 % intervals: {count_of(1 + counts[MAY_BE], 'point')} may be the best"]
        said += [f"{counts[WORSE]} {'is' if counts[WORSE] == 1 else 'are'} worse"] if counts[WORSE] else []
        said += [f"of {counts[UNKNOWN]} it isn't known"] if counts[UNKNOWN] else []
    shown, everything = len(rows[:MOST_ROWS]), len(group.standings)
    hidden = [f"Shown are {shown} of {everything}, the best of each variant among them."] if shown < everything else []
    same = labels_of(rows[:MOST_ROWS], group)[1]
    return [" ".join([f"{', '.join(said)}.", *([f"All: {same}."] if same else []), *hidden])]


def ranking_figure(group: Group) -> go.Figure:
    """A row a variant with its mean and its 95 % interval, the best on top."""
    kpi, rows = group.kpi, rows_of(group)[:MOST_ROWS]
    labels, _ = labels_of(rows, group)
    traces = []
    known = ((one.point.value, one.point.interval) for one in rows)
    spans = [(value, value) if interval is None else (interval.low, interval.high) for value, interval in known]
    for kind, look in LOOKS.items():
        places = [place for place, one in enumerate(rows) if kind_of(one, group) == kind]
        if not places:
            continue
        points = [rows[place].point for place in places]
        ends, thickness = [spans[place] for place in places], 3 if kind in (BEST, MAY_BE) else 1.5
        error = template.whiskers([one.value for one in points], ends, kpi.divisor, thickness=thickness, width=5)
        hover = [_hover(rows[place], labels[place], group) for place in places]
        ids = [clicks.run_of(one.runs) for one in points]
        x = [one.value / kpi.divisor for one in points]
        traces.append(clicks.dots(x, places, hover, ids, marker=look, name=kind, error_x=error))
    texts = [template.wrapped(label, LABEL_WIDTH, 3) for label in labels]
    lines = [said.split("<br>") for said in texts]
    left_px = round(max(len(line) for said in lines for line in said) * CHARACTER_PX) + 20
    at_the_best = {"color": LOOKS[BEST]["color"], "width": 1, "dash": "dot"}
    # As a title it would stand about the middle of the axis, and be cut where that is short.
    ends_at = {"x": 1, "xref": "paper", "xanchor": "right", "y": 0, "yref": "paper", "yanchor": "top", "yshift": -28}
    return _low(
        traces,
        len(rows),
        left_px,
        row_px=max(ROW_PX, LINE_PX * max(map(len, lines)) + 12),
        xaxis=_scale(end / kpi.divisor for of in spans for end in of),
        yaxis=template.rows_axis(texts),
        shapes=[_upright(group.best.value / kpi.divisor, line=at_the_best)],
        annotations=[{"text": _axis_title(kpi), "showarrow": False, "align": "right", **ends_at}],
    )


def _upright(at: float, **look: object) -> dict[str, Any]:
    return {"type": "line", "x0": at, "x1": at, "y0": 0, "y1": 1, "yref": "paper", **look}


def _low(
    traces: Sequence[Mapping[str, Any]],
    rows: int,
    left_px: int,
    *,
    xaxis: Mapping[str, Any],
    yaxis: Mapping[str, Any],
    row_px: int = ROW_PX,
    **layout: object,
) -> go.Figure:
    """A figure as high as so many rows, its margins given: plotly would draw it twice to find them."""
    axes = {"xaxis": {**xaxis, "automargin": False}, "yaxis": {**yaxis, "automargin": False}}
    margin = {"l": left_px, "b": BOTTOM_PX}
    return template.drawn(traces, max(LEAST_PX, row_px * rows + MARGIN_PX), margin=margin, **axes, **layout)


def limit_known(study: Study, group: Group) -> bool:
    kpi = study.workload.limited
    values = (each.point.values_of(kpi.name) for each in group.standings if kpi is not None)
    return any(value is not None for of_point in values for value in of_point)


def limit_text(study: Study, group: Group) -> list[str]:
    kpi = study.workload.limited
    steps = [] if kpi is None else staircase(bounded(group, kpi), group.kpi, kpi)
    if kpi is None or not steps:
        return []
    first, last = steps[0], steps[-1]
    dearer = next(one.difference for one in group.standings if one.point is first.point)
    price = "" if first is last else f" ({ranking.difference_label(dearer, group.scale, group.kpi)})"
    bound = "of at most" if kpi.lower_better else "of at least"
    tight = f"{group.kpi.show(first.point.value)}{price} at a {kpi.name} {bound} {kpi.show_bound(first.limit)}"
    on_line = {id(step.point) for step in steps}
    hidden = sum(id(one.point) not in on_line for one in group.standings[MOST_POINTS:])
    count = len(group.standings)
    said = [f"Shown are {count - hidden} of {count} points: the {MOST_POINTS} best, and those on the line."]
    unknown = better_than(last.point, (one for one in bounded(group, kpi) if one.bound is None), group)
    is_sure, count_unknown = any(step.bound is not None for step in steps), count_of(len(unknown), "better point")
    repeat = [f"Of {count_unknown} no bound is known: repeat {'it' if len(unknown) == 1 else 'them'}."]
    if first is last:
        line = f"One point is the best under every limit that can be kept: {tight}."
    else:
        known = " with 95 %" if is_sure else ""
        end = f"{group.kpi.show(last.point.value)} at {kpi.show_bound(last.limit)}"
        line = f"The line is the best that keeps each limit{known}: from {tight} to {end}."
    return [" ".join([line, *(said if hidden else []), *(repeat if unknown and is_sure else [])])]


def limit_figure(study: Study, group: Group) -> go.Figure:
    """Each point by both KPIs, the best under each limit as a line, and the limit that is in force."""
    headline, kpi = group.kpi, study.workload.limited
    assert kpi is not None
    found = bounded(group, kpi)
    steps = staircase(found, headline, kpi)
    wanted = {id(one.point) for one in steps}
    shown = [pair for place, pair in enumerate(zip(found, group.standings, strict=True))
             if pair[0].mean is not None and (place < MOST_POINTS or id(pair[0].point) in wanted)]  # fmt: skip
    means = [(one.mean or 0.0) / kpi.divisor for one, _ in shown]
    values = [one.point.value / headline.divisor for one, _ in shown]
    labels, _ = labels_of([standing for _, standing in shown], group)
    kinds = _kinds_under(study, group, [standing for _, standing in shown])
    traces = [_line(steps, means, headline, kpi)] if steps else []
    for kind, look in [(BEYOND, LOOKS[WORSE]), *reversed(LOOKS.items())]:  # the best in front
        some = [place for place, of_kind in enumerate(kinds) if of_kind == kind]
        if some:
            hover = []
            for one, standing, label in ((*shown[place], labels[place]) for place in some):
                bound = "unknown bound" if one.bound is None else f"{kpi.show_bound(one.bound)} with 95 %"
                limited = template.text(f"{kpi.name} {kpi.show(one.mean)}, {bound}")
                hover.append(f"{_hover(standing, label, group)}<br>{limited}")
            ids = [clicks.run_of(shown[place][0].point.runs) for place in some]
            x, y = [means[place] for place in some], [values[place] for place in some]
            traces.append(clicks.dots(x, y, hover, ids, marker={**look, "opacity": 0.85}, name=kind))
    limit = None if study.limited is None else study.limited.limit / kpi.divisor
    # Beside the axis a long title would be cut: the picture is low.
    above = {"xref": "paper", "xanchor": "left", "xshift": -LEFT_PX, "yref": "paper", "yanchor": "bottom"}
    return _low(
        traces,
        min(len(rows_of(group)), MOST_ROWS),
        LEFT_PX,
        xaxis={
            "title": {"text": _axis_title(kpi), "font": {"size": 13}},
            **_scale([*means, *([] if limit is None else [limit])]),
        },
        yaxis=_scale(values),
        shapes=[_limit(limit, [*means, *(one.limit / kpi.divisor for one in steps)], kpi)],
        annotations=[{"text": _axis_title(headline), "x": 0, "y": 1, "showarrow": False, "align": "left", **above}],
        showlegend=False,
    )


def _kinds_under(study: Study, group: Group, shown: Sequence[Standing]) -> list[str]:
    """What each of the points is under the limit that is in force: the same as in the ranking of those that keep it."""
    kept = group
    if study.limited is not None:
        same = (each for each in study.best.groups if each.settings == group.settings)
        kept = next((each for each in same if each.standings), group)
        if kept is group:
            return [BEYOND] * len(shown)
    kinds = {id(one.point): kind_of(one, kept) for one in kept.standings}
    return [kinds.get(id(one.point), BEYOND) for one in shown]


def _line(
    steps: Sequence[Bounded], means: Sequence[float], headline: KPIDefinition, kpi: KPIDefinition
) -> dict[str, Any]:
    limits, values = [one.limit / kpi.divisor for one in steps], [one.point.value / headline.divisor for one in steps]
    far = (max if kpi.lower_better else min)([*means, *limits])
    return {
        "type": "scatter",
        "x": [*limits, far],
        "y": [*values, values[-1]],
        "mode": "lines",
        "line": {"shape": "hv", "color": template.COLOURS[0], "width": 1.5},
        "hoverinfo": "skip",
        "showlegend": False,
    }


def _limit(limit: float | None, values: Sequence[float], kpi: KPIDefinition) -> dict[str, Any]:
    """The limit as a line to drag; where there is none it stands where it would leave nothing out."""
    at = limit
    if at is None:
        at = max(values) if kpi.lower_better else min(values)
    line = {"color": template.COLOURS[1], "width": 3, "dash": "dot" if limit is None else "solid"}
    said = "no limit" if limit is None else f"limit {template.text(f'{at:,.4g} {kpi.display_unit}'.strip())}"
    label = {"text": said, "textposition": "start", "textangle": 0, "xanchor": "right", "yanchor": "bottom"}
    return _upright(at, line=line, label=label)


def _hover(one: Standing, label: str, group: Group) -> str:
    kpi, point = group.kpi, one.point
    apart = "" if point is group.best else f", {ranking.difference_label(one.difference, group.scale, kpi)}"
    value = f"{kpi.name} {kpi.show(point.value)}{apart} ({ranking.behind(point, kpi)})"
    return clicks.hover(point.runs, f"<b>{template.wrapped(label, clicks.WIDTH)}</b>", template.text(value))


def _axis_title(kpi: KPIDefinition) -> str:
    return template.wrapped(f"{kpi.title}, {kpi.direction}", template.PHONE_CHARACTERS)


def _scale(values: Iterable[float]) -> dict[str, Any]:
    """A logarithmic axis where values are far apart."""
    found = list(values)
    is_far = bool(found) and min(found) > 0 and max(found) / min(found) > _FAR
    return {"type": "log", **template.log_axis(found)} if is_far else {}
