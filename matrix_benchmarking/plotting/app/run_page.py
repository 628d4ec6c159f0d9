"""The page of one run: settings, KPIs with the repeats beside them, artifacts, environment; and of two side by side.

The files of a test directory are listed, shown and served only from inside the results directory.
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import os
import stat
import urllib.parse
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from ...analyze.study import Study
from ...analyze.words import is_or_are, percent
from ...bucket import BucketPath
from ...errors import MatbenchError, os_reason
from ...files import read_regular
from ...filters import show
from ...kpi import KPIDefinition
from ...matrix import NOT_SET, Entry, NotSet, typed
from ...recorded import Environment
from ..controls import find_run
from ..environments import circumstances, recorded
from ..tables import Cell, Column, Node, Row, command, guarded, html, kpi_cell, table
from . import view
from .data import Snapshot
from .sidebar import typed_field
from .view import View

ARTIFACT_ROUTE = "/artifact"
REPEATS_SHOWN = 12
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
    title = name_of(entry)
    if current.beside:
        other = find_run(snapshot.study.runs, current.beside)
        both = [dataclasses.replace(one, name=name_of(one)) for one in (entry, other)]
        return f"{title} beside {name_of(other)}", _side_by_side(snapshot, study, current, *both)
    if current.artifact:
        return title, _artifact_page(snapshot, current, entry, roots)
    point = {name: typed(value) for name, value in entry.settings.items()}
    runs = snapshot.study.runs
    same = [other for other in runs if {name: typed(value) for name, value in other.settings.items()} == point]
    repeats = sorted(same, key=lambda each: (each.repeat, each.name))
    back = html.A("← back", href=view.write(current.with_run("")), className="back")
    parts: list[Node] = [html.P(back), html.H1(title), *_state(entry)]
    settings = [*entry.settings.items(), ("repeat", entry.repeat)]
    parts += [html.H2("Settings"), _facts((name, html.Span(show(value))) for name, value in settings)]
    parts += [html.H2("KPIs"), _kpis(study, entry, repeats)]
    unknown = len(entry.missing_kpis)
    if unknown:
        summary = html.Summary(f"{unknown} {'KPI is' if unknown == 1 else 'KPIs are'} unknown: why?")
        parts.append(html.Details([summary, _facts(entry.missing_kpis.items())]))
    best = [(group.best.runs[0], f"the best: {name_of(group.best.runs[0])}") for group in study.best.groups]
    parts += _beside(snapshot, current, entry, repeats, best)
    environment = entry.environment
    measured = "Where this run took place was not recorded."
    if environment != Environment():
        measured = f"Measured on {circumstances([environment])}."
    parts += [html.H2("Environment"), html.P(measured)]
    if environment.command:
        parts += [html.H2("Repeat it"), command(environment.command)]
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


def _facts(items: Iterable[tuple[str, Node]]) -> Node:
    facts = [html.Li([html.Span(name, className="key"), " ", said]) for name, said in items]
    return html.Ul(facts, className="facts")


def _kpis(study: Study, entry: Entry, repeats: Sequence[Entry]) -> Node:
    others = [other for other in repeats if other.name != entry.name][:REPEATS_SHOWN]
    columns = [Column("KPI"), Column("Unit"), Column("This run", numeric=True)]
    columns += [Column(f"repeat {other.repeat}", numeric=True) for other in others]
    columns += [Column("Direction"), Column("Meaning")]
    rows: list[Row] = []
    for kpi in study.workload.kpis.values():
        cells = [_value_cell(each, kpi) for each in (entry, *others)]
        rows.append([kpi.name, kpi.display_unit, *cells, kpi.direction, kpi.help])
    count = f"{len(repeats)} runs at these settings" if len(repeats) > 1 else "one run at these settings"
    return table(columns, rows, caption=f"KPIs; {count}")


def _value_cell(entry: Entry, kpi: KPIDefinition) -> Cell | str:
    return kpi_cell(kpi, entry.kpis[kpi.name]) if kpi.name in entry.kpis else "unknown"


def _beside(
    snapshot: Snapshot, current: View, entry: Entry, repeats: Sequence[Entry], best: Sequence[tuple[Entry, str]]
) -> list[Node]:
    named = [(other, f"repeat {other.repeat}") for other in repeats if other.name != entry.name][:REPEATS_SHOWN]
    named += [(other, text) for other, text in best if other.name != entry.name]
    ids = snapshot.short_ids
    links: list[Node] = [
        html.Li(html.A(text, href=view.write(dataclasses.replace(current, beside=ids[other.test_uuid]))))
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
        link: Node = html.A(name, href=view.write(dataclasses.replace(current, artifact=name)))
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


def _side_by_side(snapshot: Snapshot, study: Study, current: View, one: Entry, other: Entry) -> list[Node]:
    address = addresses(snapshot, current)
    links = [
        html.A("← back", href=view.write(current.with_run(""))),
        " · A: ",
        html.A(one.name, href=address(one)),
        " · B: ",
        html.A(other.name, href=address(other)),
        " · ",
        html.A("swap", href=view.write(dataclasses.replace(current, run=current.beside, beside=current.run))),
    ]
    settings = _pairs(one.settings, other.settings, NOT_SET)
    settings += _pairs({"repeat": one.repeat}, {"repeat": other.repeat}, NOT_SET)
    surroundings = _pairs(recorded(one.environment), recorded(other.environment), "not recorded")
    return [
        html.P(links),
        html.H1("Two runs side by side"),
        html.Div([html.P(sentence) for sentence in _sentences(settings, surroundings)], className="verdict"),
        html.H2("KPIs"),
        _kpis_of_two(study, one, other),
        html.H2("Settings"),
        _differences(settings, "Settings, those that differ first"),
        html.H2("Environment"),
        _differences(surroundings, "Environment, what differs first")
        if surroundings
        else html.P(_unknown_environment(one, other)),
    ]


def _unknown_environment(*runs: Entry) -> str:
    here = [run for run in runs if run.kept_in is None and not isinstance(run.location, BucketPath)]
    gone = [run.name for run in here if not run.location.exists()]
    is_gone = f": {' and '.join(gone)} {is_or_are(len(gone))} no longer there" if gone else ""
    return f"The environment of these runs isn't known{is_gone}."


class Pair(NamedTuple):
    name: str
    one: str
    other: str
    differs: bool


def _pairs(one: Mapping[str, object], other: Mapping[str, object], missing: object) -> list[Pair]:
    pairs = []
    for name in dict.fromkeys([*one, *other]):
        values = one.get(name, missing), other.get(name, missing)
        first, second = ("(not set)" if isinstance(value, NotSet) else show(value) for value in values)
        pairs.append(Pair(name, first, second, typed(values[0]) != typed(values[1])))
    return pairs


def _sentences(settings: Sequence[Pair], surroundings: Sequence[Pair]) -> Iterator[str]:
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


def _kpis_of_two(study: Study, one: Entry, other: Entry) -> Node:
    numbers = [Column(title, numeric=True) for title in ("A", "B", "B against A")]
    columns = [Column("KPI"), Column("Unit"), *numbers, Column("Better")]
    rows: list[Row] = [
        [kpi.name, kpi.display_unit, _value_cell(one, kpi), _value_cell(other, kpi), *_change(kpi, one, other)]
        for kpi in study.workload.kpis.values()
    ]
    return table(columns, rows, caption="KPIs of two single runs; whether a difference is chance, Compare says")


def _change(kpi: KPIDefinition, one: Entry, other: Entry) -> tuple[Cell | str, str]:
    first, second = one.kpis.get(kpi.name), other.kpis.get(kpi.name)
    if first is None or second is None:
        return "unknown", ""
    if first == second:
        return Cell("same", sort=0.0), ""
    change: Cell | str = "no base" if first == 0 else Cell(percent(second / first - 1), sort=second / first - 1)
    if kpi.lower_better is None:
        return change, "not judged"
    return change, "B" if (second < first) == kpi.lower_better else "A"


def _differences(pairs: Sequence[Pair], caption: str) -> Node:
    rows: list[Row] = []
    for name, one, other, differs in sorted(pairs, key=lambda pair: not pair.differs):
        rows.append([name, Cell(one, mark=differs), Cell(other, mark=differs), "differs" if differs else "same"])
    return table([Column("Name"), Column("A"), Column("B"), Column("")], rows, caption=caption)


class NoArtifactError(MatbenchError):
    """A file that isn't there, or isn't inside the results directory."""


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
        raise NoArtifactError(f"the test directory {entry.location} is gone")
    found = list(itertools.islice(_walk(base), MOST_FILES + 1))
    return sorted(found[:MOST_FILES]), len(found) <= MOST_FILES


def locate(entry: Entry, name: str, roots: Sequence[Path]) -> Path:
    """The path of the entry's file *name*, with all links followed: a regular one inside the test directory."""
    base = _inside(entry.location, roots)
    missing = NoArtifactError(f"there is no file '{name}' of this test")
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
        raise NoArtifactError(f"'{path.name}' can't be read: {os_reason(error)}") from error
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
        raise NoArtifactError("this run has no files here: it is of a history, of payloads or in a bucket")
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
