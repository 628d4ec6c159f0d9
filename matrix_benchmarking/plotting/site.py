"""The static pages of one results directory: an index with the verdict, and one page a report.

All pages are rendered before the first is written, each is written atomically, the index last.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import os
import urllib.parse
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..analyze.check import counted
from ..analyze.points import by_point
from ..analyze.study import Study
from ..analyze.wording import plural
from ..errors import MatbenchError
from ..files import atomic_write
from ..matrix import Entry
from ..version import __version__
from . import beside, png, problems
from . import page as pages
from .base import Arguments, Report, configured, plot_section
from .catalogue import Catalogue
from .index import INDEX_FILE, index_page
from .page import Page, Provenance
from .report_best import limited, under_which
from .slug import Slugs
from .static_html import Part, StaticHTML, plotly_script


@dataclasses.dataclass(frozen=True, slots=True)
class Written:
    """The files of a site: its pages, the index first, its pictures, and what lies beside for the pages.

    *failures* are sentences on the parts that could not be made.
    """

    pages: Sequence[Path]
    pictures: Sequence[Path]
    others: Sequence[Path]
    failures: Sequence[str] = ()

    @property
    def size_bytes(self) -> int:
        """How large all the files are together."""
        return sum(path.stat().st_size for path in (*self.pages, *self.pictures, *self.others))


def write_site(
    study: Study,
    destination: Path,
    names: Sequence[str] = (),
    *,
    single_file: bool = False,
    html: bool = True,
    png_browser: str | None = None,
    now: dt.datetime | None = None,
    cfg: Mapping[str, str] | None = None,
    first: Sequence[str] = (),
    selection: str = "",
) -> Written:
    """Write the reports and plots *names* (none: all reports) and their index into *destination*.

    Args:
        single_file: everything in the index, plotly too, for viewers that show one file.
        html: whether the pages themselves are written.
        png_browser: the Chromium that draws each figure into ``figures``, beside the pages; None for no pictures.
        now: what the pages say about when they were written.
        cfg: what was chosen of the reports' and plots' controls, as text.
        first: the variables that come first.
        selection: the filters that left the runs, as a person writes them.

    Raises:
        MatbenchError: an unknown name, or a page that can't be written.
    """
    catalogue = Catalogue(limited(study, cfg or {}), lambda entry: relative_address(entry, destination))
    report_pages = _report_pages(catalogue, names, cfg, first, single_file=single_file)
    index = index_page(catalogue, report_pages, "#overview" if single_file else INDEX_FILE)
    provenance = dataclasses.replace(
        describe(study, now or dt.datetime.now(dt.UTC), selection),
        check=counted(study.findings),
        is_odd=any(one.changes or one.in_most_runs for one in study.findings),
    )
    site = [index, *report_pages]
    pictures, undrawn = ({}, []) if png_browser is None else png.draw(report_pages, png_browser)
    documents = _documents(site, provenance, single_file=single_file) if html else {}
    needs_plotly = html and not single_file and any(page.has_figures for page in site)
    failures = [*(failure for page in report_pages for failure in page.failures), *undrawn]
    written = _write_files(destination, documents, pictures, failures, needs_plotly=needs_plotly)
    beside.link(destination)
    return written


def _documents(site: Sequence[Page], provenance: Provenance, *, single_file: bool) -> dict[str, str]:
    """The text of each file that the pages of *site* are written to."""
    if single_file:
        return {INDEX_FILE: pages.render_single(site, provenance, plotly_script())}
    return {page.file: pages.render(page, site, provenance) for page in site}


def _report_pages(
    catalogue: Catalogue,
    names: Sequence[str],
    cfg: Mapping[str, str] | None,
    first: Sequence[str],
    *,
    single_file: bool,
) -> list[Page]:
    """The reports and plots *names*, each once, or all reports."""
    named = [catalogue.page(name) for name in names or catalogue.reports]
    reports = list({report.name: report for report in named}.values())
    files = slugs(report.name for report in reports)
    if single_file:
        files = [f"#{file.removesuffix('.html')}" for file in files]
    catalogue.section = lambda plot, args: plot_section(plot, args, cfg)
    args = catalogue.arguments(first=first)
    return [report_page(report, file, args, cfg) for report, file in zip(reports, files, strict=True)]


def _write_files(
    destination: Path,
    documents: dict[str, str],
    pictures: Mapping[str, bytes],
    failures: Sequence[str],
    *,
    needs_plotly: bool,
) -> Written:
    """Write all files by their names, the first of *documents*, the index, last."""
    if needs_plotly:
        _write_plotly(destination)
    for name, picture in pictures.items():
        _write(destination / name, picture)
    for name in reversed(documents):
        _write(destination / name, documents[name].encode("utf-8", "replace"))
    return Written(
        pages=[destination / name for name in documents],
        pictures=[destination / name for name in pictures],
        others=[destination / pages.PLOTLY_FILE] if needs_plotly else [],
        failures=failures,
    )


def describe(study: Study, now: dt.datetime, selection: str = "") -> Provenance:
    """Where the numbers of the pages come from."""
    matrix = study.matrix
    repeats = [len(runs) for runs in by_point(matrix.entries)]
    tests = len(matrix) + len(matrix.unfinished)
    data = f"Data: {study.given.place}, {tests} {plural(tests, 'test')}"
    if selection:
        data += f" selected by {selection}"
    if repeats:
        low, high = min(repeats), max(repeats)
        runs = f"{low} {plural(low, 'run')} each" if low == high else f"{low} to {high} runs each"
        data += f" at {len(repeats)} {plural(len(repeats), 'point')}, {runs}"
    return Provenance(
        workload=study.workload.name,
        data=f"{data}.",
        generated=now.astimezone(dt.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        version=__version__,
    )


def relative_address(entry: Entry, destination: Path) -> str | None:
    """The entry's test directory as seen from a page in *destination*, so that both can move together.

    None for a test of a history, which has no directory.
    """
    if entry.kept_in is not None:
        return None
    target, start = entry.location.absolute(), destination.absolute()
    try:
        relative = os.path.relpath(os.path.realpath(target), os.path.realpath(start))
    except ValueError:  # another drive
        return target.as_uri()
    quoted = urllib.parse.quote(os.fsencode(relative.replace(os.sep, "/")))
    return f"{quoted}/" if target.is_dir() else quoted


def slugs(names: Iterable[str]) -> list[str]:
    """File names for reports, each different: ``report: Error report`` becomes ``error-report.html``."""
    taken = Slugs(INDEX_FILE.removesuffix(".html"))
    return [f"{taken.add(name.removeprefix('report:'), 'report')}.html" for name in names]


def report_page(report: Report, file: str, args: Arguments, texts: Mapping[str, str] | None = None) -> Page:
    """The page *file* with what the report gives, under what *texts* say of its controls.

    In the place of what fails is a sentence, the page itself if need be.
    """
    renderer = StaticHTML(pages.prefix(file))
    summary = ""

    def components() -> Any:
        nonlocal summary
        source = report.workload.source
        made = problems.called(report.name, source, lambda: report.do_plot(*configured(report, args, texts or {})))
        summary = problems.called(report.name, source, report.summary)
        return made

    body = renderer.render(Part(report.name, components))
    return Page(
        file=file,
        title=report.name.removeprefix("report:").strip(),
        description=f"{report.description} {under_which(report.study)}".rstrip(),
        body=body,
        figures=tuple(renderer.figures),
        summary=summary,
        failures=tuple(renderer.failures),
    )


def _write_plotly(destination: Path) -> None:
    """Put plotly beside the pages, unless this version of it is there."""
    script = plotly_script().encode("utf-8")
    path = destination / pages.PLOTLY_FILE
    try:
        if path.is_file() and path.read_bytes() == script:
            return
    except OSError as error:
        raise MatbenchError(f"cannot read {path}: {error.strerror}") from error
    _write(path, script)


def _write(path: Path, content: bytes) -> None:
    with atomic_write(path, durable=False) as stream:
        stream.write(content)
