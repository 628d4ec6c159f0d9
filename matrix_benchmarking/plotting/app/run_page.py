"""The page of one run: settings, KPIs with the repeats beside them, artifacts, environment; what differs from another.

The files of a test directory are listed, shown and served only from inside the results directory.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import stat
import urllib.parse
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from ...analyze.study import Study
from ...analyze.words import percent
from ...bucket import BucketPath
from ...errors import MatbenchError, os_reason
from ...files import read_regular
from ...filters import show
from ...kpi import KPIDefinition
from ...matrix import Entry, typed
from ..controls import find_run
from ..environments import environment_difference, repeat_section, settings_difference
from ..report_kpis import value_cell
from ..tables import Cell, Column, Node, Row, guarded, html, table
from . import view
from .data import Snapshot
from .sidebar import facts, typed_field
from .view import View

ARTIFACT_ROUTE = "/artifact"
REPEATS_SHOWN = 12
SIDES = ("this run", "the other run")
MOST_FILES = 500
SHOWN_BYTES = 256 * 1024
_TEXT = {
    *(".txt", ".log", ".json", ".jsonl", ".ndjson", ".yaml", ".yml", ".csv", ".tsv", ".md", ".ini", ".cfg", ".toml"),
    *(".xml", ".html", ".htm", ".js", ".py", ".sh", ".prom", ".out", ".err", ".svg"),
}
_BINARY_BELOW = set(range(32)) - {9, 10, 12, 13, 27}


def addresses(snapshot: Snapshot, current: View) -> Callable[[Entry], str]:
    """A function that gives the address of an entry's page; without an id there is none, and it stays where it is."""
    closed = view.write(current)
    before = view.write(current.with_run("0")).removesuffix("0")
    short = snapshot.short_ids

    def address(entry: Entry) -> str:
        return closed if entry.test_uuid is None else before + short.get(entry.test_uuid, entry.test_uuid)

    return address


def elements(
    snapshot: Snapshot, study: Study, current: View, roots: Sequence[Path], name_of: Callable[[Entry], str]
) -> tuple[str, list[Node]]:
    """The page's title and its parts; *roots* are the directories whose files may be shown."""
    entry = find_run(snapshot.study.runs, current.run)
    other = find_run(snapshot.study.runs, current.beside) if current.beside else None
    title = name_of(entry)
    if current.artifact:
        return title, _artifact_page(snapshot, current, entry, roots)
    point = {name: typed(value) for name, value in entry.settings.items()}
    runs = snapshot.study.runs
    same = [other for other in runs if {name: typed(value) for name, value in other.settings.items()} == point]
    repeats = sorted(same, key=lambda each: (each.repeat, each.name))
    back = html.A("← back", href=view.write(current.with_run("")), className="back")
    parts: list[Node] = [html.P(back), html.H1(title), *_state(entry)]
    if other is not None:
        link = html.A(name_of(other), href=addresses(snapshot, current)(other))
        parts += [html.H2(["What differs from ", link]), *_differences(entry, other)]
    settings = [*entry.settings.items(), ("repeat", entry.repeat)]
    parts += [html.H2("Settings"), facts((name, html.Span(show(value))) for name, value in settings)]
    parts += [html.H2("KPIs"), _kpis(study, entry, repeats, other)]
    unknown = len(entry.missing_kpis)
    if unknown:
        summary = html.Summary(f"{unknown} {'KPI is' if unknown == 1 else 'KPIs are'} unknown: why?")
        parts.append(html.Details([summary, facts(entry.missing_kpis.items())]))
    best = [(group.best.runs[0], f"the best: {name_of(group.best.runs[0])}") for group in study.best.groups]
    parts += _beside(snapshot, current, entry, repeats, best)
    unrecorded = [html.H2("Environment"), html.P("Where this run took place was not recorded.")]
    parts += repeat_section([entry], addresses(snapshot, current), "Environment") or unrecorded
    parts += [html.H2("Artifacts"), guarded(lambda: _artifacts(current, entry, roots), "The artifacts")]
    return title, parts


def _state(entry: Entry) -> list[Node]:
    lines: list[Node] = []
    if entry.failed:
        lines.append(html.P(f"This run failed with exit code {show(entry.exit_code)}.", className="warning"))
    lines += [html.P(f"Doubtful: {warning}", className="warning") for warning in entry.warnings]
    lines += [html.P(str(problem), className="warning") for problem in entry.problems]
    if entry.missing_files:
        lines.append(html.P(f"Missing: {', '.join(entry.missing_files)}.", className="warning"))
    box = [html.Div(lines, className="verdict")] if lines else []
    nearby = str(entry.location)
    if not isinstance(entry.location, BucketPath):
        near = os.path.relpath(nearby)  # a path as one would type it here
        nearby = nearby if near.startswith(os.pardir) else near
    what = "Test directory: " if entry.kept_in is None else "History: "
    said = [what, html.Code(entry.kept_in or nearby), f" · id {entry.test_uuid}"]
    return [*box, html.P(said, className="provenance")]


def _differences(entry: Entry, other: Entry) -> list[Node]:
    also = {} if entry.repeat == other.repeat else {"repeat": (entry.repeat, other.repeat)}
    found = settings_difference(SIDES, [entry], [other], also)
    found += environment_difference(SIDES, [entry.environment], [other.environment])
    same = "No setting, and nothing that is known of the environment: what differs is chance, or what nobody recorded."
    return found or [html.P(same)]


def _kpis(study: Study, entry: Entry, repeats: Sequence[Entry], beside: Entry | None) -> Node:
    others = [each for each in repeats if each.name != entry.name and each is not beside][:REPEATS_SHOWN]
    columns = [Column("KPI"), Column("Unit"), Column("This run", numeric=True)]
    if beside is not None:
        against = "against this run; whether it is chance, Compare says"
        columns += [Column("The other run", numeric=True), Column("Difference", numeric=True, help=against)]
    columns += [Column(f"repeat {other.repeat}", numeric=True) for other in others]
    columns += [Column("Direction"), Column("Meaning")]
    rows: list[Row] = []
    for kpi in study.workload.kpis.values():
        cells = [value_cell([each], kpi) for each in (entry, *others)]
        cells[1:1] = [] if beside is None else [value_cell([beside], kpi), _change(kpi, entry, beside)]
        rows.append([kpi.name, kpi.display_unit, *cells, kpi.direction, kpi.help])
    count = f"{len(repeats)} runs at these settings" if len(repeats) > 1 else "one run at these settings"
    return table(columns, rows, caption=f"KPIs; {count}")


def _change(kpi: KPIDefinition, entry: Entry, other: Entry) -> Cell | str:
    first, second = entry.kpis.get(kpi.name), other.kpis.get(kpi.name)
    if first is None or second is None:
        return "unknown"
    if first == second:
        return Cell("same", sort=0.0)
    return "no base" if first == 0 else Cell(percent(second / first - 1), sort=second / first - 1)


def _beside(
    snapshot: Snapshot, current: View, entry: Entry, repeats: Sequence[Entry], best: Sequence[tuple[Entry, str]]
) -> list[Node]:
    named = [(other, f"repeat {other.repeat}") for other in repeats if other.name != entry.name][:REPEATS_SHOWN]
    named += [(other, text) for other, text in best if other.name != entry.name]
    ids = snapshot.short_ids
    links: list[Node] = [
        html.Li(html.A(text, href=view.write(msgspec.structs.replace(current, beside=ids[other.test_uuid]))))
        for other, text in named
        if other.test_uuid is not None and other.test_uuid in ids
    ]
    field = typed_field("beside", "", placeholder="id or name")
    label = html.Label([html.Span("Another run, by its id or its name ", className="facet-name"), field])
    return [html.H2("Put another run beside it"), html.Ul(links, className="inline"), label]


def _artifacts(current: View, entry: Entry, roots: Sequence[Path]) -> Node:
    found, is_all = listing(entry, roots)
    rows: list[Row] = []
    for name, size in found:
        link: Node = html.A(name, href=view.write(msgspec.structs.replace(current, artifact=name)))
        file: Node = html.A("download", href=_file_address(entry, name), download=name.rpartition("/")[2])
        if not name.isprintable():
            link, file = ascii(name)[1:-1], ""
        rows.append([Cell(link), Cell(f"{size:,}", sort=size), Cell(file)])
    rest = "" if is_all else f"; the first {MOST_FILES} are shown"
    columns = [Column("File"), Column("Size", unit="bytes", numeric=True), Column("As a file")]
    return table(columns, rows, caption=f"{len(found)} files{rest}")


def _file_address(entry: Entry, name: str) -> str:
    return f"{ARTIFACT_ROUTE}/{entry.test_uuid}/{urllib.parse.quote(name, errors='replace')}"


def _artifact_page(snapshot: Snapshot, current: View, entry: Entry, roots: Sequence[Path]) -> list[Node]:
    back = html.A(f"← {entry.name}", href=addresses(snapshot, current)(entry), className="back")
    shown = beginning_of(locate(entry, current.artifact, roots))
    download = html.A("Download it", href=_file_address(entry, current.artifact))
    parts: list[Node] = [html.P(back), html.H1(current.artifact)]
    if shown.text is None:
        return [*parts, html.P([f"{shown.size_bytes:,} bytes, not text. ", download])]
    rest = "" if shown.is_whole else f"The first {SHOWN_BYTES:,} of {shown.size_bytes:,} bytes. "
    label = {"aria-label": current.artifact}
    text = html.Pre(html.Code(shown.text), className="artifact", tabIndex="0", role="group", **label)
    return [*parts, html.P([rest, download]), text]


class Artifact(NamedTuple):
    """A file of a test directory: its path there, with ``/``, and its size."""

    name: str
    size_bytes: int


class Shown(NamedTuple):
    """What a page shows of a file: its beginning, JSON indented (None if it isn't text), and whether that is all."""

    text: str | None
    is_whole: bool
    size_bytes: int


def listing(entry: Entry, roots: Sequence[Path]) -> tuple[list[Artifact], bool]:
    """The files below the entry's test directory, in the order of their names, and whether those are all."""
    base = _inside(entry.location, roots)
    if base.is_file():
        return [Artifact(base.name, base.stat().st_size)], True
    if not base.is_dir():
        raise MatbenchError(f"the test directory {entry.location} is gone")
    found = list(itertools.islice(_walk(base), MOST_FILES + 1))
    return sorted(found[:MOST_FILES]), len(found) <= MOST_FILES


def locate(entry: Entry, name: str, roots: Sequence[Path]) -> Path:
    """The path of the entry's file *name*, with all links followed: a regular one inside the test directory."""
    base = _inside(entry.location, roots)
    missing = MatbenchError(f"there is no file '{name}' of this test")
    if base.is_file():
        if name != base.name:
            raise missing
        return base
    try:
        path = Path(os.path.realpath(base / name, strict=True))
        is_regular = stat.S_ISREG(path.stat().st_mode)
    except (OSError, ValueError):
        raise missing from None
    if not is_regular or not path.is_relative_to(base):
        raise missing
    return path


def beginning_of(path: Path) -> Shown:
    try:
        size = path.stat().st_size
        content = read_regular(path, SHOWN_BYTES)
    except OSError as error:
        raise MatbenchError(f"'{path.name}' can't be read: {os_reason(error)}") from error
    is_whole = size <= len(content)
    if any(byte in _BINARY_BELOW for byte in content[:4096]):
        return Shown(None, is_whole, size)
    text = content.decode("utf-8", "replace")
    if is_whole and path.suffix == ".json":
        with contextlib.suppress(msgspec.DecodeError, RecursionError):  # what is none is shown as it is
            text = msgspec.json.format(text, indent=2)
    return Shown(text, is_whole, size)


def content_type(path: Path) -> str:
    """How the file is sent: never as something that a browser runs."""
    return "text/plain" if path.suffix.lower() in _TEXT else "application/octet-stream"


def _inside(location: Path, roots: Sequence[Path]) -> Path:
    base = Path(os.path.realpath(location))
    if not any(base.is_relative_to(os.path.realpath(root)) for root in roots):
        raise MatbenchError("this run has no files here: it is of a history, of payloads or in a bucket")
    return base


def _walk(base: Path) -> Iterator[Artifact]:
    for parent, directories, names in os.walk(base):
        directories.sort()
        for name in sorted(names):
            path = Path(parent, name)
            try:
                status = path.lstat()
            except OSError:
                continue
            if stat.S_ISREG(status.st_mode):
                yield Artifact(path.relative_to(base).as_posix(), status.st_size)
