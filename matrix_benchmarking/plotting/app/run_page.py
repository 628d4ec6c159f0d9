"""The page of one run: settings, KPIs with the repeats beside them, artifacts, environment, how to repeat it."""

from __future__ import annotations

import dataclasses
import os
import urllib.parse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ...analyze.study import Study
from ...environment_file import Environment
from ...filters import show
from ...kpi import KPIDefinition
from ...matrix import Entry, typed
from .. import problems
from ..repeating import circumstances
from ..tables import Cell, Column, Row, kpi_cell, table
from . import artifacts, view
from .data import Data, Snapshot
from .tags import dcc, html
from .view import View

ARTIFACT_ROUTE = "/artifact"
REPEATS_SHOWN = 12


def addresses(snapshot: Snapshot, current: View) -> Callable[[Entry], str]:
    """A function that gives the address of an entry's page; without an id there is none, and it stays where it is."""
    closed = view.write(current)
    before = view.write(current.with_run("0")).removesuffix("0")
    short = snapshot.short_ids

    def address(entry: Entry) -> str:
        return closed if entry.test_uuid is None else before + short.get(entry.test_uuid, entry.test_uuid)

    return address


def elements(snapshot: Snapshot, study: Study, current: View, entry: Entry, data: Data) -> list[Any]:
    """The page's parts."""

    if current.artifact:
        return _artifact_page(snapshot, current, entry, data)
    repeats = repeats_of(snapshot, entry)
    back = html.A("← back", href=view.write(current.with_run("")), className="back")
    parts: list[Any] = [html.P(back), html.H1(entry.name), *_state(entry)]
    parts += [html.H2("Settings"), _settings(entry)]
    parts += [html.H2("KPIs"), _kpis(study, entry, repeats), *_unknown(entry)]
    parts += _beside(snapshot, study, current, entry, repeats)
    parts += _environment(entry.environment)
    parts += [html.H2("Artifacts"), problems.guarded(lambda: _artifacts(current, entry, data), "The artifacts")]
    return parts


def repeats_of(snapshot: Snapshot, entry: Entry) -> list[Entry]:
    """The runs at the same settings, *entry* among them, by repeat."""
    point = {name: typed(value) for name, value in entry.settings.items()}
    same = [
        other
        for other in snapshot.study.runs
        if {name: typed(value) for name, value in other.settings.items()} == point
    ]
    return sorted(same, key=lambda each: (each.repeat, each.name))


def _state(entry: Entry) -> list[Any]:
    lines: list[Any] = []
    if entry.failed:
        lines.append(html.P(f"This run failed with exit code {show(entry.exit_code)}.", className="warning"))
    lines += [html.P(f"Doubtful: {warning}", className="warning") for warning in entry.warnings]
    lines += [html.P(str(problem), className="warning") for problem in entry.problems]
    if entry.missing_files:
        lines.append(html.P(f"Missing: {', '.join(entry.missing_files)}.", className="warning"))
    box = [html.Div(lines, className="verdict")] if lines else []
    return [
        *box,
        html.P(
            [
                "Test directory: " if entry.kept_in is None else "History: ",
                html.Code(entry.kept_in or _nearby(entry.location)),
                f" · id {entry.test_uuid}",
            ],
            className="provenance",
        ),
    ]


def _nearby(location: Path) -> str:
    """A path as one would type it here: relative where it is below the current directory."""
    relative = os.path.relpath(location)
    return str(location) if relative.startswith(os.pardir) else relative


def _settings(entry: Entry) -> Any:
    items = [*entry.settings.items(), ("repeat", entry.repeat)]
    facts = [html.Li([html.Span(name, className="key"), " ", html.Span(show(value))]) for name, value in items]
    return html.Ul(facts, className="facts")


def _kpis(study: Study, entry: Entry, repeats: Sequence[Entry]) -> Any:
    """This run's values with those of its repeats beside them."""
    others = [other for other in repeats if other.name != entry.name][:REPEATS_SHOWN]
    columns = [Column("KPI"), Column("Unit"), Column("This run", numeric=True)]
    columns += [Column(f"repeat {other.repeat}", numeric=True) for other in others]
    columns += [Column("Direction"), Column("Meaning")]
    rows: list[Row] = []
    for kpi in study.workload.kpis.values():
        cells = [value_cell(each, kpi) for each in (entry, *others)]
        rows.append([kpi.name, kpi.display_unit, *cells, kpi.direction, kpi.help])
    count = f"{len(repeats)} runs at these settings" if len(repeats) > 1 else "one run at these settings"
    return table(columns, rows, caption=f"KPIs; {count}")


def _unknown(entry: Entry) -> list[Any]:
    """Why KPIs have no value."""
    reasons = [html.Li([html.Span(name, className="key"), f" {why}"]) for name, why in entry.missing_kpis.items()]
    if not reasons:
        return []
    count = f"{len(reasons)} {'KPI is' if len(reasons) == 1 else 'KPIs are'} unknown: why?"
    return [html.Details([html.Summary(count), html.Ul(reasons, className="facts")])]


def value_cell(entry: Entry, kpi: KPIDefinition) -> Cell | str:
    """The entry's value of *kpi*; ``unknown`` where there is none."""
    if kpi.name not in entry.kpis:
        return "unknown"
    return kpi_cell(kpi, entry.kpis[kpi.name])


def _beside(snapshot: Snapshot, study: Study, current: View, entry: Entry, repeats: Sequence[Entry]) -> list[Any]:
    """Links that put another run beside this one: its repeats, the best of its group, or any by its id."""

    best = [group.best.runs[0] for group in study.best.groups]
    named = [(other, f"repeat {other.repeat}") for other in repeats if other.name != entry.name][:REPEATS_SHOWN]
    named += [(other, f"the best: {other.name}") for other in best if other.name != entry.name]
    ids = snapshot.short_ids
    links: list[Any] = [
        html.Li(html.A(text, href=view.write(dataclasses.replace(current, beside=ids[other.test_uuid]))))
        for other, text in named
        if other.test_uuid is not None and other.test_uuid in ids
    ]
    field = dcc.Input(
        id={"type": "field", "name": "beside", "shown": ""},
        type="text",
        debounce=True,
        placeholder="id or name",
        className="field",
        value="",
        autoComplete="off",
    )
    label = html.Label([html.Span("Another run, by its id or its name ", className="facet-name"), field])
    return [html.H2("Put another run beside it"), html.Ul(links, className="inline"), label]


def _environment(environment: Environment) -> list[Any]:
    if environment == Environment():
        return [html.H2("Environment"), html.P("Where this run took place was not recorded.")]
    parts: list[Any] = [html.H2("Environment"), html.P(f"Measured on {circumstances([environment])}.")]
    if environment.command:
        parts += [html.H2("Repeat it"), command_box(environment.command)]
    return parts


def command_box(command: str) -> Any:
    """A command line with a button that copies it."""

    button = html.Button("Copy", className="tool", title="Copy the command", **{"data-copy": command})
    return html.Div([html.Pre(html.Code(command)), button], className="command")


def _artifacts(current: View, entry: Entry, data: Data) -> Any:
    found, is_all = artifacts.listing(entry, data.source.roots)
    rows: list[Row] = []
    for each in found:
        link = html.A(each.name, href=view.write(dataclasses.replace(current, artifact=each.name)))
        download = html.A("download", href=file_address(entry, each.name), download=each.name.rpartition("/")[2])
        is_named = each.name.isprintable()
        name: Any = link if is_named else ascii(each.name)[1:-1]
        rows.append(
            [Cell(name), Cell(f"{each.size_bytes:,}", sort=each.size_bytes), Cell(download if is_named else "")]
        )
    rest = "" if is_all else f"; the first {artifacts.MOST_FILES} are shown"
    columns = [Column("File"), Column("Size", unit="bytes", numeric=True), Column("As a file")]
    return table(columns, rows, caption=f"{len(found)} files{rest}")


def file_address(entry: Entry, name: str) -> str:
    """Where the file itself is served."""
    return f"{ARTIFACT_ROUTE}/{entry.test_uuid}/{urllib.parse.quote(name, errors='replace')}"


def _artifact_page(snapshot: Snapshot, current: View, entry: Entry, data: Data) -> list[Any]:
    back = html.A(f"← {entry.name}", href=addresses(snapshot, current)(entry), className="back")
    path = artifacts.locate(entry, current.artifact, data.source.roots)
    shown = artifacts.show(path)
    download = html.A("Download it", href=file_address(entry, current.artifact))
    parts: list[Any] = [html.P(back), html.H1(current.artifact)]
    if shown.text is None:
        return [*parts, html.P([f"{shown.size_bytes:,} bytes, not text. ", download])]
    rest = "" if shown.is_whole else f"The first {artifacts.SHOWN_BYTES:,} of {shown.size_bytes:,} bytes. "
    label: dict[str, Any] = {"aria-label": current.artifact}
    text = html.Pre(html.Code(shown.text), className="artifact", tabIndex="0", role="region", **label)
    return [*parts, html.P([rest, download]), text]
