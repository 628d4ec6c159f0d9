"""Columns and cells of tables about points: their settings, their values, the runs behind them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..analyze import wording
from ..analyze.best import Group, Standing
from ..analyze.points import Point, is_number
from ..filters import show
from ..kpi import KPIDefinition
from ..matrix import NOT_SET, Entry
from .base import Presentation
from .tables import Cell, Column, kpi_cell


def setting_columns(names: Sequence[str], group: Group) -> list[Column]:
    values = [one.point.settings.get(name) for name in names for one in group.standings]
    per_name = len(group.standings)
    return [
        Column(
            name,
            numeric=all(is_number(value) for value in values[index * per_name : (index + 1) * per_name]),
        )
        for index, name in enumerate(names)
    ]


def setting_cells(settings: Mapping[str, object], names: Sequence[str]) -> list[Cell | str]:
    return [setting_cell(settings.get(name, NOT_SET)) for name in names]


def setting_cell(value: Any) -> Cell | str:
    return Cell(show(value), sort=float(value)) if is_number(value) else show(value)


def value_columns(kpi: KPIDefinition) -> list[Column]:
    return [
        Column(kpi.name, unit=kpi.display_unit, numeric=True, help=f"{kpi.help}; {kpi.direction}"),
        Column("95 % interval", unit=kpi.display_unit, numeric=True, help="of the mean; allows for having been chosen"),
        Column("Difference", numeric=True, help="from the best point of all"),
        Column("May be the best", help="whether it is in the set that contains the best with 95 %"),
        Column("Runs", help="the runs behind the value, each a link to its test directory"),
    ]


def value_cells(standing: Standing, group: Group, kpi: KPIDefinition, catalogue: Presentation) -> list[Cell | str]:
    point = standing.point
    is_best = point is group.best
    difference = wording.difference_label(standing.difference, group.scale, kpi)
    return [
        kpi_cell(kpi, point.value, mark=is_best),
        interval_cell(point, kpi),
        Cell("best" if is_best else difference, sort=standing.difference),
        "" if is_best else {True: "no", False: "yes", None: "unknown"}[standing.apart],
        runs_cell(point.runs, catalogue),
    ]


def interval_cell(point: Point, kpi: KPIDefinition) -> Cell | str:
    if point.interval is None:
        return "unknown"
    label = wording.interval_label(point.interval, kpi, unit=False)
    return Cell(f"{label} *" if point.interval.pooled else label, sort=point.interval.low / kpi.divisor)


def runs_cell(runs: Sequence[Entry], catalogue: Presentation) -> Cell:
    """The number of runs, and a link to the test directory of each."""
    from dash import html

    count = len(runs)
    links: list[Any] = [] if count == 1 else [f"{count} runs: "]
    for number, entry in enumerate(runs, 1):
        label = "1 run" if count == 1 else str(number)
        links += [html.A(label, href=catalogue.href(entry), title=entry.name), " "]
    return Cell(links, sort=count)
