"""The right side: the verdict on top, the reports and plots as tabs, and the page that is open."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ...analyze.check import Answer
from ...analyze.words import plural
from ...errors import MatbenchError, did_you_mean, sentence
from ...matrix import Entry
from .. import problems
from ..base import Plot, Report
from ..catalogue import Catalogue
from ..controls import Control, find_run
from ..report_best import BestReport, limited, limits, verdict_box
from ..report_check import CheckReport, check_line
from ..tags import html
from . import run_page, view
from .data import Snapshot
from .elements import Deferred, convert
from .sidebar import read_cfg
from .view import View

MAX_TABS_TITLE = 48
MANY_LINES = 3


@dataclasses.dataclass(frozen=True, slots=True)
class Content:
    """A page: its title, its elements, what waits until it is seen, and what can be configured."""

    title: str
    elements: Any
    deferred: Deferred
    controls: Sequence[Control]


def headline(snapshot: Snapshot, catalogue: Catalogue, current: View) -> Any:
    """What is best among what is selected, under the limit that was chosen, in the sentences of the reports."""
    if not len(catalogue.study.matrix):
        lead = "No run is left by these filters." if current.filters else "There is no finished run."
        lines = [lead, *_without_results(catalogue.study.matrix.unfinished)]
        return html.Div(html.P(" ".join(lines), className="lead"), className="verdict")
    study = limited(catalogue.study, current.cfg)
    box = problems.guarded(lambda: verdict_box(study), "The verdict")
    address = _check_address(snapshot, current)
    found = check_line(catalogue.study.findings, Answer.BEST, address, is_part=bool(current.filters))
    is_about_it = not current.run and snapshot.slugs.get(current.show, BestReport.name) == BestReport.name
    lines = box.children
    if not isinstance(lines, list):
        return box
    if is_about_it or len(lines) < MANY_LINES:
        return html.Div([*lines, found], className=box.className)
    # Elsewhere the first sentence is enough, and the rest a click away.
    title = html.Summary("What stands behind it")
    return html.Div([lines[0], html.Details([title, *lines[1:]]), found], className=box.className)


def _without_results(tests: Sequence[Entry]) -> Iterator[str]:
    """A sentence on those that did not finish, and one on those that can't be read."""
    lost = sum(entry.is_unreadable for entry in tests)
    for count, what in ((len(tests) - lost, "did not finish"), (lost, "can't be read")):
        if count:
            yield f"{count} {plural(count, 'test')} {what}."


def _check_address(snapshot: Snapshot, current: View) -> str | None:
    """The page that lists what is odd about the runs; None for a workload whose own report has its name."""
    slugs = (slug for slug, name in snapshot.slugs.items() if name == CheckReport.name)
    return next((view.write(current.on_page(slug)) for slug in slugs), None)


def tabs(snapshot: Snapshot, current: View) -> Any:
    """A link to each report and plot."""
    reports = [(slug, name) for slug, name in snapshot.slugs.items() if name in snapshot.reports]
    plots = [(slug, name) for slug, name in snapshot.slugs.items() if name not in snapshot.reports]
    shown = "" if current.run else current.show or next(iter(snapshot.slugs))
    rows: list[Any] = [_row("Reports", reports, current, shown)]
    if plots:
        is_open = shown in dict(plots)
        title = html.Summary(f"{len(plots)} single {plural(len(plots), 'plot')}")
        more = html.Details([title, _row("Plots", plots, current, shown)], open=is_open, className="pages-more")
        rows.append(more)
    return rows


def _row(title: str, pages: Sequence[tuple[str, str]], current: View, shown: str) -> Any:
    links = [
        html.A(
            _title(name),
            href=view.write(current.on_page(slug)),
            className="page-link",
            title=_title(name) if len(_title(name)) > MAX_TABS_TITLE else None,
            **({"aria-current": "page"} if slug == shown else {}),
        )
        for slug, name in pages
    ]
    label: dict[str, Any] = {"aria-label": title}
    return html.Nav([html.Span(title, className="pages-title"), *links], className="pages", **label)


def key_of(snapshot: Snapshot, current: View) -> str:
    """What identifies a page of one state of the data."""
    digest = hashlib.blake2b(view.write(current).encode("utf-8", "replace"), digest_size=8).hexdigest()
    return f"{snapshot.number}-{digest}"


def content(snapshot: Snapshot, catalogue: Catalogue, current: View, wanted: Sequence[int], data: Any) -> Content:
    """The page that *current* asks for.

    Args:
        wanted: the deferred parts that are in view already.
        data: the :class:`.data.Data`, for where files may be read.
    """
    catalogue = catalogue.of(limited(catalogue.study, current.cfg))
    if current.run:
        return _run(snapshot, catalogue, current, data)
    name = _name(snapshot, current.show)
    deferred = Deferred(wanted, current.cfg, key_of(snapshot, current))
    shown = catalogue.shown_by(run_page.addresses(snapshot, current), deferred.section, deferred.place)
    if name in snapshot.reports:
        report = shown.report(name)
        own = [*limits(catalogue.study), *report.controls()]
        cfg, boxes = read_cfg(own, current.cfg)
        args = shown.arguments(cfg, current.order)
        made = problems.called(report.name, report.workload.source, lambda: report.do_plot(*args))
        elements = convert(made, deferred)
        plots = [control for plot in report.drawn for control in _controls(plot)]
        heading = _heading(_title(name), report.description)
        # A report may offer other values, now that it knows what was chosen.
        found = [*limits(catalogue.study), *report.controls(), *plots]
        boxes += _unknown(shown, found, current.cfg)
        return Content(_title(name), [*heading, *boxes, *elements], deferred, found)
    plot = shown.plot(name)
    args = shown.arguments({}, current.order)
    place = deferred.place(lambda: deferred.plot_parts(plot, args), plot.height_px())
    found = [*limits(catalogue.study), *_controls(plot)]
    boxes = [*read_cfg(limits(catalogue.study), current.cfg)[1], *_unknown(shown, found, current.cfg)]
    return Content(name, [*_heading(name, ""), *boxes, place], deferred, found)


def _unknown(catalogue: Catalogue, found: Sequence[Control], texts: Mapping[str, str]) -> list[Any]:
    """A box for what an address says of a control that no page has; those of this page were *found*."""
    names = {control.name for control in found}
    if names.issuperset(texts):
        return []
    pages: list[Plot | Report] = [*map(catalogue.plot, catalogue.plots), *map(catalogue.report, catalogue.reports)]
    names.update(control.name for page in pages for control in _controls(page))
    return [
        problems.box(sentence(f"No page has a choice 'cfg.{name}': {did_you_mean(name, names)}"))
        for name in texts
        if name not in names
    ]


def _controls(plot: Plot | Report) -> Sequence[Control]:
    """Those of *plot*; none where that fails, which its own part says."""
    try:
        return plot.controls()
    except Exception:  # noqa: BLE001  the others must stay usable
        return ()


def _run(snapshot: Snapshot, catalogue: Catalogue, current: View, data: Any) -> Content:
    entry = find_run(snapshot.study.runs, current.run)
    study = catalogue.study
    deferred = Deferred()
    if current.beside:
        other = find_run(snapshot.study.runs, current.beside)
        elements = run_page.side_by_side(snapshot, study, current, entry, other)
        title = f"{entry.name} beside {other.name}"
    else:
        elements = run_page.elements(snapshot, study, current, entry, data)
        title = entry.name
    return Content(title, convert(elements, None), deferred, ())


def _heading(title: str, description: str) -> list[Any]:
    return [html.H1(title), *([html.P(description, className="description")] if description else [])]


def _title(name: str) -> str:
    return name.removeprefix("report:").strip()


def _name(snapshot: Snapshot, slug: str) -> str:
    """Raises MatbenchError for a page that doesn't exist."""
    if not slug:
        return next(iter(snapshot.slugs.values()))
    if slug not in snapshot.slugs:
        raise MatbenchError(f"there is no report or plot '{slug}': {did_you_mean(slug, snapshot.slugs)}")
    return snapshot.slugs[slug]
