"""Two runs side by side: what differs in settings, KPIs, environment and warnings, and what is the same."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

from ...analyze.study import Study
from ...analyze.wording import percent
from ...environment_file import Environment
from ...filters import show
from ...kpi import KPIDefinition
from ...matrix import NOT_SET, Entry, NotSet, typed
from ..tables import Cell, Column, Row, kpi_cell, table
from . import view
from .data import Snapshot
from .run_page import addresses
from .tags import html
from .view import View


def elements(snapshot: Snapshot, study: Study, current: View, one: Entry, other: Entry) -> list[Any]:
    """The page's parts."""

    swapped = view.write(dataclasses.replace(current, run=current.beside, beside=current.run))
    address = addresses(snapshot, current)
    links = [
        html.A("← back", href=view.write(current.with_run(""))),
        " · A: ",
        html.A(one.name, href=address(one)),
        " · B: ",
        html.A(other.name, href=address(other)),
        " · ",
        html.A("swap", href=swapped),
    ]
    settings = list(_settings(one, other))
    surroundings = list(_pairs(_environment(one.environment), _environment(other.environment)))
    return [
        html.P(links),
        html.H1("Two runs side by side"),
        html.Div([html.P(sentence) for sentence in _sentences(settings, surroundings)], className="verdict"),
        html.H2("KPIs"),
        _kpis(study, one, other),
        html.H2("Settings"),
        _differences(settings, "Settings, those that differ first"),
        html.H2("Environment"),
        _differences(surroundings, "Environment, what differs first")
        if surroundings
        else html.P("Of neither run the environment was recorded."),
    ]


@dataclasses.dataclass(frozen=True, slots=True)
class Pair:
    """One thing of both runs, as text."""

    name: str
    one: str
    other: str
    differs: bool


def _settings(one: Entry, other: Entry) -> Iterator[Pair]:
    for name in dict.fromkeys([*one.settings, *other.settings]):
        first, second = one.settings.get(name, NOT_SET), other.settings.get(name, NOT_SET)
        yield Pair(name, _shown(first), _shown(second), typed(first) != typed(second))
    yield Pair("repeat", show(one.repeat), show(other.repeat), one.repeat != other.repeat)


def _shown(value: Any) -> str:
    return "(not set)" if isinstance(value, NotSet) else show(value)


def _environment(environment: Environment) -> dict[str, str]:
    known = {
        "cpu": environment.cpu_model,
        "gpus": ", ".join(environment.gpus),
        "kernel": environment.kernel,
        **environment.versions,
    }
    return {name: text for name, text in known.items() if text}


def _pairs(one: Mapping[str, str], other: Mapping[str, str]) -> Iterator[Pair]:
    for name in dict.fromkeys([*one, *other]):
        first, second = one.get(name, "not recorded"), other.get(name, "not recorded")
        yield Pair(name, first, second, first != second)


def _sentences(settings: list[Pair], surroundings: list[Pair]) -> Iterator[str]:
    differing = [pair.name for pair in settings if pair.differs and pair.name != "repeat"]
    yield (
        f"They differ in {', '.join(differing)}."
        if differing
        else "All settings are the same: what differs is chance, or the environment."
    )
    changed = [f"{pair.name} ({pair.one} → {pair.other})" for pair in surroundings if pair.differs]
    if changed:
        yield f"The environment differs too: {'; '.join(changed)}."
    elif surroundings:
        yield "The recorded environment is the same."


def _kpis(study: Study, one: Entry, other: Entry) -> Any:
    columns = [
        Column("KPI"),
        Column("Unit"),
        Column("A", numeric=True),
        Column("B", numeric=True),
        Column("B against A", numeric=True),
        Column("Better"),
    ]
    rows = [_kpi_row(kpi, one, other) for kpi in study.workload.kpis.values()]
    return table(columns, rows, caption="KPIs of two single runs; whether a difference is chance, Compare says")


def _kpi_row(kpi: KPIDefinition, one: Entry, other: Entry) -> Row:
    first, second = one.kpis.get(kpi.name), other.kpis.get(kpi.name)
    cells = ["unknown" if value is None else kpi_cell(kpi, value) for value in (first, second)]
    if first is None or second is None:
        return [kpi.name, kpi.display_unit, *cells, "unknown", ""]
    change: Cell | str = "no base" if first == 0 else Cell(percent(second / first - 1), sort=second / first - 1)
    if first == second:
        return [kpi.name, kpi.display_unit, *cells, Cell("same", sort=0.0), ""]
    if kpi.lower_better is None:
        return [kpi.name, kpi.display_unit, *cells, change, "not judged"]
    better = "B" if (second < first) == kpi.lower_better else "A"
    return [kpi.name, kpi.display_unit, *cells, change, better]


def _differences(pairs: list[Pair], caption: str) -> Any:
    rows: list[Row] = [
        [
            pair.name,
            Cell(pair.one, mark=pair.differs),
            Cell(pair.other, mark=pair.differs),
            "differs" if pair.differs else "same",
        ]
        for pair in sorted(pairs, key=lambda pair: not pair.differs)
    ]
    return table([Column("Name"), Column("A"), Column("B"), Column("")], rows, caption=caption)
