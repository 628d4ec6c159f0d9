"""All KPIs of a group of points beside each other: how far they reach, and what the winner gives up of each."""

from __future__ import annotations

import dataclasses
import math
import statistics
from collections.abc import Mapping, Sequence
from typing import ClassVar

import plotly.graph_objects as go

from ..analyze import intervals
from ..analyze.best import Group
from ..analyze.points import values_at
from ..analyze.words import named
from ..kpi import KPIDefinition
from . import clicks, template
from .base import Drawn
from .plot_ranking import BEST, LOOKS, OfAGroup

NEAR = 1.05
"""A KPI of the winner is as good as the best if it is at most so many times worse."""
FAR = 3.0
"""From so many times on the axis is logarithmic."""
ROW_PX, MARGIN_PX = 34, 130
GREY = template.COLOURS[6]


@dataclasses.dataclass(frozen=True, slots=True)
class Spread:
    """How many times worse than its best point's mean a KPI is: at the *winner*, in a quarter of the points, and so on.

    All are at least 1; *winner* is None where the KPI isn't known of it.
    """

    kpi: KPIDefinition
    winner: float | None
    quarter: float
    three_quarters: float
    worst: float


class KPISpreads(OfAGroup):
    name: ClassVar[str] = "All KPIs"

    def of(self, group: Group) -> Drawn:
        spreads, without = spreads_of(group, self.workload.kpis)
        figure = spread_figure(group, spreads) if spreads else None
        return figure, conclusion(group, spreads, without)


def spreads_of(group: Group, kpis: Mapping[str, KPIDefinition]) -> tuple[list[Spread], list[str]]:
    """Of each KPI that some point of *group* has and that has a direction; and the names of those without a ratio."""
    found, without = [], []
    points = [standing.point for standing in group.standings]
    for kpi in kpis.values():
        if kpi.lower_better is None:
            continue
        values = zip(points, values_at([point.runs for point in points], kpi.name), strict=True)
        known = {id(point): intervals.mean_of(each) for point, each in values if each}
        if not known:
            continue
        if min(known.values()) <= 0.0:
            without.append(kpi.name)
            continue
        best = min(known.values()) if kpi.lower_better else max(known.values())
        times = sorted(max(mean / best, best / mean) for mean in known.values())
        winner = known.get(id(group.best))
        at = None if winner is None else max(winner / best, best / winner)
        quarters = statistics.quantiles(times, n=4, method="inclusive") if times[1:] else times * 3
        found.append(Spread(kpi, at, quarters[0], quarters[2], times[-1]))
    return [one for one in found if math.isfinite(one.worst)], without


def spread_figure(group: Group, spreads: Sequence[Spread]) -> go.Figure:
    """A row a KPI, from its best point to its worst, half of the points in the thick part, and the winner's star."""
    figure = go.Figure()
    for name, width, ends in (
        ("all points", 2, [(1.0, one.worst) for one in spreads]),
        ("half of them", 9, [(one.quarter, one.three_quarters) for one in spreads]),
    ):
        figure.add_scatter(
            x=[each for low, high in ends for each in (low, high, None)],
            y=[place for place in range(len(spreads)) for _ in range(3)],
            mode="lines",
            line={"color": template.COLOURS[0], "width": width},
            name=name,
            hoverinfo="skip",
        )
    known = [(place, one) for place, one in enumerate(spreads) if one.winner is not None]
    at = {one.kpi.name: intervals.mean_of(*values_at([group.best.runs], one.kpi.name)) for _, one in known}
    figure.add_scatter(
        x=[one.winner for _, one in known],
        y=[place for place, _ in known],
        mode="markers",
        marker=LOOKS[BEST],
        name=f"the best by {template.text(group.kpi.name)}",
        customdata=clicks.marks(clicks.run_of(group.best.runs) for _ in known),
        hovertext=[
            clicks.hover(group.best.runs, template.text(f"{one.kpi.name} {one.kpi.show(at[one.kpi.name])}"))
            for _, one in known
        ],
        hovertemplate="%{hovertext}<extra></extra>",
    )
    names = [template.text(one.kpi.name) for one in spreads]
    figure.update_yaxes(
        tickvals=[*range(len(names))], ticktext=names, range=[len(names) - 0.4, -0.6], fixedrange=True, showgrid=False
    )
    figure.update_xaxes(title={"text": "times worse than best", "font_size": 13}, ticksuffix=" ×")
    if max(one.worst for one in spreads) > FAR:
        ticks = template.log_axis([1.0, *(one.worst for one in spreads)])
        figure.update_xaxes(
            type="log", tickvals=ticks["tickvals"], ticktext=[f"{text} ×" for text in ticks["ticktext"]]
        )
    return template.apply(figure, height=ROW_PX * len(spreads) + MARGIN_PX)


def conclusion(group: Group, spreads: Sequence[Spread], without: Sequence[str]) -> list[str]:
    """By which KPIs the winner is as good as any point, and what it gives up by the others."""
    others = [one for one in spreads if one.winner is not None and one.kpi.name != group.kpi.name]
    near = [one.kpi.name for one in others if (one.winner or 0.0) <= NEAR]
    far = sorted((one for one in others if (one.winner or 0.0) > NEAR), key=lambda one: -(one.winner or 0.0))
    said = [f"The best by {group.kpi.name} is within 5 % of the best by {named(near)}."] if near else []
    if far:
        worse = named([f"{one.kpi.name} {one.winner:,.3g} times" for one in far])
        said.append(f"{'It' if near else f'The best by {group.kpi.name}'} is worse by others: {worse}.")
    if not others:
        said += [
            f"{one.kpi.name} is within 5 % of its best at all points."
            if one.worst <= NEAR
            else f"{one.kpi.name} is up to {one.worst:,.3g} times worse than at its best point."
            for one in spreads
        ]
    said += [f"Not drawn, for values that aren't above 0: {named(without)}."] if without else []
    return [" ".join(said) or "No KPI of these points has values and a direction."]
