"""Static pages: of a results directory an index with the verdict, and one page a report; of an analysis its report."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime as dt
import json
import os
import re
import urllib.parse
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from ..analyze.check import counted
from ..analyze.points import by_point
from ..analyze.study import Study
from ..analyze.verdict.model import Analysis
from ..analyze.wording import analyses
from ..analyze.words import plural
from ..bucket import BucketPath
from ..errors import ConfigError, MatbenchError, did_you_mean
from ..files import atomic_write
from ..matrix import Entry
from . import pictures
from .base import Catalogue, Plot, Report, View, title_of
from .catalogue import catalogue_of
from .controls import read
from .plot_ranking import pictures as ranking_pictures
from .report_best import alone_tables, limited, under_which, variants_table, verdict_box
from .report_compare import CompareReport
from .report_errors import ErrorReport, overview
from .report_regression import RegressionReport
from .report_regression import verdict_box as regression_box
from .static_html import (
    BESIDE,
    PLOTLY_FILE,
    Page,
    Provenance,
    Slugs,
    StaticHTML,
    escape,
    plotly_script,
    prefix,
    render,
    render_single,
    slug,
)
from .tables import Node, Part, called
from .tables import html as tags

INDEX_FILE = "index.html"
MOST_BESIDE = 5
_TITLE = re.compile(r"<title>(.*?)</title>", re.DOTALL)
_PLACE = re.compile(rf"{BESIDE}.*?{BESIDE}", re.DOTALL)


class Written(msgspec.Struct, frozen=True):
    """The files of a site: its pages, the index first; *failures* are sentences on the parts that can't be made."""

    pages: Sequence[Path]
    pictures: Sequence[Path]
    others: Sequence[Path]
    failures: Sequence[str] = ()

    @property
    def size_bytes(self) -> int:
        return sum(path.stat().st_size for path in (*self.pages, *self.pictures, *self.others))


def write_site(
    study: Study,
    destination: Path,
    names: Sequence[str] = (),
    *,
    single_file: bool = False,
    html: bool = True,
    drawing: pictures.Pictures | None = None,
    now: dt.datetime | None = None,
    cfg: Mapping[str, str] | None = None,
    selection: str = "",
) -> Written:
    """Write the reports and plots *names* (none: all reports) and their index into *destination*.

    Args:
        single_file: everything in the index, plotly too, for viewers that show one file.
        html: whether the pages themselves are written.
        drawing: how each figure is drawn into ``figures``, beside the pages; None for no pictures.
        cfg: what was chosen of the reports' and plots' controls, as text.
        selection: the filters that left the runs, as a person writes them.
    """
    texts = cfg or {}
    catalogue = catalogue_of(limited(study, texts), lambda entry: relative_address(entry, destination))
    addresses: dict[str, str] = {}

    def address_of(name: str, chosen: Mapping[str, str]) -> str | None:
        return None if chosen else addresses.get(name)  # a page that is written has no other choices than its own

    catalogue = dataclasses.replace(catalogue, texts=texts, address_of=address_of)
    reports = _reports(catalogue, names)
    for report, name in zip(reports, slugs(report.name for report in reports), strict=True):
        addresses[report.name] = f"#{name.removesuffix('.html')}" if single_file else name
    controls = {one.name for page in _with_plots(catalogue, reports) for one in page.offered()} if texts else set()
    # Pages written for TOPSAIL have no controls, and read their configuration by names of their own.
    view = catalogue.arguments({name: text for name, text in texts.items() if name not in controls})
    report_pages = [report_page(report, addresses[report.name], view) for report in reports]
    site = [index_page(catalogue, report_pages, "#overview" if single_file else INDEX_FILE), *report_pages]
    is_odd = any(one.changes or one.in_most_runs for one in study.findings)
    written, check = now or dt.datetime.now(dt.UTC), counted(study.findings)
    provenance = Provenance(study.workload.name, _data(study, selection), written, check, is_odd)
    drawn, undrawn = ({}, []) if drawing is None else pictures.draw(report_pages, drawing)
    documents: dict[str, str] = {}
    others: dict[str, bytes] = {}
    if html and single_file:
        documents = {INDEX_FILE: render_single(site, provenance, plotly_script())}
    elif html:
        documents = {page.file: render(page, site, provenance) for page in site}
        others = {PLOTLY_FILE: plotly_script().encode()} if any(page.figures for page in site) else {}
    backwards = {name: documents[name].encode("utf-8", "replace") for name in reversed(documents)}
    for name, content in {**others, **drawn, **backwards}.items():
        _write(destination / name, content)
    link_beside(destination)
    return Written(
        pages=[destination / name for name in documents],
        pictures=[destination / name for name in drawn],
        others=[destination / name for name in others],
        failures=[*(failure for page in report_pages for failure in page.failures), *undrawn],
    )


def write_regression_page(analysis: Analysis, study: Study, destination: Path) -> Path:
    study = Study(study.runs, study.workload, analysis=analysis)
    catalogue = catalogue_of(study, lambda entry: relative_address(entry, destination))
    report = RegressionReport(catalogue)
    page = report_page(report, f"#{slug(title_of(report.name), 'report')}", catalogue.arguments())
    if page.failures:
        raise MatbenchError(page.failures[0])
    provenance = Provenance(study.workload.name, f"Data: {analysis.data}.", analysis.made_at, analysis.check)
    path = destination / INDEX_FILE
    _write(path, render_single([page], provenance, plotly_script()).encode("utf-8", "replace"))
    return path


def _what_changed(catalogue: Catalogue) -> list[Node]:
    """What got worse in the history; where that can't be told, how the newest version compares with the one before."""
    study = catalogue.study
    analysis = study.analysis if study.has_versions else None
    if analysis is None:
        return []
    if not analyses.is_untold(analysis):
        return [regression_box(analysis, study.headline_name)]
    return [CompareReport(catalogue).box()]


def index_page(catalogue: Catalogue, reports: Sequence[Page], file: str = INDEX_FILE) -> Page:
    study = catalogue.study
    title = title_of(ErrorReport.name)
    failed: list[Node] = [overview(study.matrix)]
    failed += [[" ", tags.A(f"{title}.", href=page.file)] for page in reports if page.title == title]
    cards = []
    for page in reports:
        summary = [tags.P(page.summary, className="note")] if page.summary else []
        card = [tags.H3(tags.A(page.title, href=page.file)), tags.P(page.description), *summary]
        cards.append(tags.Div(card, className="card"))
    compared = study.best.compared
    # The script that draws them is large: not for an index beside pages without a figure.
    shown = compared[:1] if any(page.figures for page in reports) else ()
    changed = _what_changed(catalogue)
    body: list[Node] = [
        *changed,  # before anything else
        verdict_box(study, [tags.P(failed)], compare=catalogue.address_of(CompareReport.name, {})),
        *(ranking_pictures(catalogue, group, is_first=True) for group in shown),
        *(variants_table(study.best, group, catalogue.href) for group in compared),
        *alone_tables(study.best, catalogue.href),
        tags.H2("Reports"),
        tags.Div(cards, className="cards"),
    ]
    title = f"{study.workload.name}: {'what changed, and what is best' if changed else 'best configuration'}"
    renderer = StaticHTML(prefix(file))
    return Page(file, title, description="", body=renderer.render(body), figures=tuple(renderer.figures))


def _data(study: Study, selection: str) -> str:
    matrix = study.matrix
    repeats = [len(runs) for runs in by_point(matrix.entries)]
    tests = matrix.tests
    data = f"Data: {study.given.place}, {tests} {plural(tests, 'test')}"
    if selection:
        data += f" selected by {selection}"
    if repeats:
        low, high = min(repeats), max(repeats)
        runs = (
            f"{low} {plural(low, 'run')}{' each' if len(repeats) > 1 else ''}"
            if low == high
            else f"{low} to {high} runs each"
        )
        data += f" at {len(repeats)} {plural(len(repeats), 'point')}, {runs}"
    return f"{data}."


def relative_address(entry: Entry, destination: Path) -> str | None:
    """The entry's test directory, if it has one, as seen from a page in *destination*: both can move together."""
    if entry.kept_in is not None:
        return None
    target, start = entry.location.absolute(), destination.absolute()
    if isinstance(target, BucketPath):
        return target.as_uri()
    try:
        relative = os.path.relpath(os.path.realpath(target), os.path.realpath(start))
    except ValueError:  # another drive
        return target.as_uri()
    quoted = urllib.parse.quote(os.fsencode(relative.replace(os.sep, "/")))
    return f"{quoted}/" if target.is_dir() else quoted


def slugs(names: Iterable[str]) -> list[str]:
    taken = Slugs(INDEX_FILE.removesuffix(".html"))
    return [f"{taken.add(title_of(name), 'report')}.html" for name in names]


def check_choices(study: Study, names: Sequence[str], cfg: Mapping[str, str]) -> None:
    """Raise ConfigError where *cfg* has what no page of *names* (none: all reports) lets a person choose."""
    catalogue = catalogue_of(limited(study, cfg))
    pages = _with_plots(catalogue, _reports(catalogue, names))
    known = {control.name: control for page in pages for control in page.offered()}
    complaints = read(known.values(), cfg)[1]
    if all(type(page).do_plot in (Report.do_plot, Plot.do_plot) for page in pages):
        unknown = [name for name in cfg if name not in known]
        complaints += [f"cfg: nothing to choose is called '{name}': {did_you_mean(name, known)}" for name in unknown]
    if complaints:
        raise ConfigError("\n".join(dict.fromkeys(complaints)))


def _reports(catalogue: Catalogue, names: Sequence[str]) -> list[Report]:
    named = [catalogue.page(name) for name in names or catalogue.reports]
    return list({report.name: report for report in named}.values())


def _with_plots(catalogue: Catalogue, reports: Sequence[Report]) -> list[Report | Plot]:
    plots = (plot if isinstance(plot, str) else plot.name for report in reports for plot in report.plots)
    return [*reports, *map(catalogue.plot, dict.fromkeys(plots))]


def report_page(report: Report, file: str, view: View) -> Page:
    renderer = StaticHTML(prefix(file), title_of(report.name))
    summary = ""

    def components() -> Node:
        nonlocal summary
        made: Node = report.made(view)
        summary = called(report.name, report.workload.source, report.summary)
        return made

    body = renderer.render(Part(report.name, components))
    return Page(
        file=file,
        title=title_of(report.name),
        description=f"{report.description} {under_which(report.study)}".rstrip(),
        body=body,
        figures=tuple(renderer.figures),
        summary=summary,
        failures=tuple(renderer.failures),
    )


def _write(path: Path, content: bytes) -> None:
    """Unless it is there: plotly, beside the pages, most often is."""
    with contextlib.suppress(OSError):
        if path.is_file() and path.read_bytes() == content:
            return
    with atomic_write(path, durable=False) as stream:
        stream.write(content)


def link_beside(directory: Path) -> None:
    """Link the pages of the site in *directory* with the analyses in its folders; pages that aren't ours stay."""
    from ..analyze.report import ci  # of pages that are written alone: it declares models, .1 s

    index = _read(directory / INDEX_FILE)
    analyses = [
        (folder, said)
        for folder in sorted(path.parent for path in directory.glob(f"*/{ci.JSON}"))
        if (said := _said(folder / ci.JSON)) and BESIDE in _read(folder / INDEX_FILE)
    ][:MOST_BESIDE]
    if not analyses or BESIDE not in index:
        return
    title = _TITLE.search(index)
    for folder, _ in analyses:
        _fill(folder / INDEX_FILE, [(f"../{INDEX_FILE}", title.group(1) if title else "all reports")])
    for page in directory.glob("*.html"):
        _fill(page, [(f"{urllib.parse.quote(folder.name)}/{INDEX_FILE}", escape(said)) for folder, said in analyses])


def _said(path: Path) -> str:
    from ..analyze.report.json_report import FORMAT  # as above

    try:
        document = json.loads(_read(path) or "null")
        is_ours = isinstance(document, dict) and document.get("format") == FORMAT
        return f"{document['data']}: {document['verdict'][0]}" if is_ours else ""
    except (ValueError, KeyError, IndexError, TypeError, RecursionError):
        return ""


def _fill(path: Path, links: list[tuple[str, str]]) -> None:
    text = _read(path)
    listed = " ".join(f'<a href="{address}">{said}</a>' for address, said in links)
    place = f'{BESIDE}<p class="provenance">Beside this: {listed}</p>{BESIDE}'
    filled = _PLACE.sub(lambda _: place, text)
    if filled != text:
        with atomic_write(path, durable=False) as stream:
            stream.write(filled.encode("utf-8", "replace"))


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeError):
        return ""
