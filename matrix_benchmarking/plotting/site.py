"""The static pages of one results directory: an index with the verdict, and one page a report.

All pages are rendered before the first is written, each is written atomically, the index last.
"""

from __future__ import annotations

import datetime as dt
import os
import re
import unicodedata
import urllib.parse
from collections.abc import Iterable, Sequence
from pathlib import Path

from .. import __version__
from ..analyze.points import by_point
from ..analyze.wording import plural
from ..errors import MatbenchError, WorkloadError
from ..files import atomic_write
from ..matrix import Entry, Matrix
from ..workload import Workload
from . import page as pages
from .base import Report
from .catalogue import Catalogue
from .index import INDEX_FILE, index_page
from .page import Page, Provenance
from .static_html import StaticHTML


def write_site(
    matrix: Matrix,
    workload: Workload,
    destination: Path,
    names: Sequence[str],
    results_dirname: Path | str,
    *,
    single_file: bool = False,
    now: dt.datetime | None = None,
    past: Matrix | None = None,
) -> list[Path]:
    """Write the reports *names* (none: all) and their index into *destination*.

    Args:
        results_dirname: where the matrix was parsed from, as it was given: a directory or a history.
        single_file: everything in the index, plotly too, for viewers that show one file.
        now: what the pages say about when they were written.
        past: all known runs, where there is a history.

    Returns:
        the files, the index first.

    Raises:
        MatbenchError: an unknown report, a report that fails, or a page that can't be written.
    """
    catalogue = Catalogue(matrix, workload, lambda entry: relative_address(entry, destination), past=past)
    reports = [catalogue.report(name) for name in dict.fromkeys(names or catalogue.reports)]
    files = _files(reports)
    if single_file:
        files = [f"#{file.removesuffix('.html')}" for file in files]
    report_pages = [_report_page(report, file, catalogue) for report, file in zip(reports, files, strict=True)]
    index = index_page(catalogue, report_pages, "#overview" if single_file else INDEX_FILE)
    provenance = describe(matrix, workload, results_dirname, now or dt.datetime.now(dt.UTC))
    site = [index, *report_pages]
    if single_file:
        document = pages.render_single(site, provenance, _plotly())
        _write(destination / INDEX_FILE, document.encode("utf-8", "replace"))
        return [destination / INDEX_FILE]
    documents = {page.file: pages.render(page, site, provenance) for page in site}
    if any(page.has_figures for page in site):
        _write_plotly(destination)
    for page in reversed(site):
        _write(destination / page.file, documents[page.file].encode("utf-8", "replace"))
    return [destination / page.file for page in site]


def describe(matrix: Matrix, workload: Workload, results_dirname: Path | str, now: dt.datetime) -> Provenance:
    """Where the numbers of the pages come from."""
    repeats = [len(runs) for runs in by_point(matrix.entries)]
    tests = len(matrix) + len(matrix.unfinished)
    data = f"Data: {os.fspath(results_dirname)}, {tests} {plural(tests, 'test')}"
    if repeats:
        low, high = min(repeats), max(repeats)
        runs = f"{low} {plural(low, 'run')} each" if low == high else f"{low} to {high} runs each"
        data += f" at {len(repeats)} {plural(len(repeats), 'point')}, {runs}"
    return Provenance(
        workload=workload.name,
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
    taken = {INDEX_FILE}
    files = []
    for name in names:
        plain = unicodedata.normalize("NFKD", name.removeprefix("report:")).encode("ascii", "ignore").decode()
        slug = re.sub(r"[^a-z0-9]+", "-", plain.lower()).strip("-")[:80] or "report"
        file, number = f"{slug}.html", 2
        while file in taken:
            file, number = f"{slug}-{number}.html", number + 1
        taken.add(file)
        files.append(file)
    return files


def _files(reports: Sequence[Report]) -> list[str]:
    return slugs(report.name for report in reports)


def _report_page(report: Report, file: str, catalogue: Catalogue) -> Page:
    renderer = StaticHTML(f"{file.removeprefix('#').removesuffix('.html')}-")
    try:
        body = renderer.render(report.do_plot(*catalogue.arguments()))
        summary = report.summary()
    except (AttributeError, KeyError, TypeError, ValueError, IndexError, ArithmeticError) as error:
        raise WorkloadError(f"'{report.name}' can't be drawn ({type(error).__name__}: {error})") from error
    return Page(
        file=file,
        title=report.name.removeprefix("report:").strip(),
        description=report.description,
        body=body,
        has_figures=renderer.figures > 0,
        summary=summary,
    )


def _plotly() -> str:
    from plotly.offline import get_plotlyjs

    text: str = get_plotlyjs()
    return text


def _write_plotly(destination: Path) -> None:
    """Put plotly beside the pages, unless this version of it is there."""
    script = _plotly().encode("utf-8")
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
