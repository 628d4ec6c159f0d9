"""What the application answers to an address, to a part that came into view, and to what somebody did."""

from __future__ import annotations

import dataclasses
import difflib
import functools
import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import TypeAlias, TypeVar, cast

import msgspec

from ... import filters as filter_language
from ...analyze.check import AnswerKind
from ...analyze.verdict.lifecycle import new_events
from ...analyze.words import plural
from ...errors import ConfigError, MatbenchError, did_you_mean, sentence
from ...filters import Filters
from ...matrix import Matrix
from .. import site
from ..base import Catalogue, Plot, Report, title_of
from ..controls import Control, find_run, read
from ..explore import ExploreReport
from ..report_best import BestReport, limited, limits, verdict_box
from ..report_compare import CompareReport
from ..report_errors import CheckReport, check_line
from ..tables import BrokenPlotError, Node, Table, failure_box, guarded, html, problem_box
from . import run_page, sidebar, view
from .data import Data, Snapshot
from .elements import Deferred, convert
from .view import View

FIRST_ANSWER_S = 1.5
MAX_TABS_TITLE = 48
NO_PAGE = "This page can't be shown"
LOOKED_FOR = "Check: what is odd about the runs is being looked for."
_KEPT_PAGES = 24
T = TypeVar("T")
Author: TypeAlias = "Callable[[object], str]"
"""Who asks, by the token that a page sends; raises MatbenchError where nobody may write."""
Frame: TypeAlias = "tuple[Node, Node, Node]"
"""Selectors, verdict and tabs."""
Opened: TypeAlias = "tuple[Node, Node, str]"
"""The page that is open, the inputs of its configuration, and its title."""


def nobody(token: object) -> str:
    raise ConfigError("nobody may write here: start matbench visualize with --allow-writing")


class Pages:
    """Answers what the callbacks ask; keeps the deferred parts of the last pages until they are seen."""

    def __init__(self, data: Data, report_dest: Path, *, may_write: bool = False) -> None:
        self.data = data
        self.may_write = may_write
        self.report_dest = report_dest
        self._deferred: OrderedDict[str, Deferred] = OrderedDict()
        self._lock = threading.Lock()
        self._making: dict[Hashable, Future[object]] = {}
        self._writing = threading.Lock()

    def frame(self, query: str) -> Frame:
        found = self._once(("frame", query, self.is_checked()), lambda: self._frame(query))
        self.data.has_answered.set()
        return found

    def page(self, query: str, wanted: list[int], *, is_local: bool = True) -> Opened:
        """The page that *query* asks for; one that asks from elsewhere may not name directories to read."""
        return self._once(("page", query, is_local, *wanted), lambda: self._page(query, wanted, is_local))

    def _once(self, asked: tuple[Hashable, ...], make: Callable[[], T]) -> T:
        """What *make* gives; who asks for the same while it is being made gets the same, at no cost.

        So does who asks before anything is known, and again as soon as it is.
        """
        self.data.wait(FIRST_ANSWER_S)
        key = (self.version(), *asked)
        with self._lock:
            others = self._making.get(key)
            answer = self._making.setdefault(key, Future())
        if others is not None:
            return cast("T", others.result())
        try:
            made = make()
        except BaseException as error:
            answer.set_exception(error)
            raise
        else:
            answer.set_result(made)
            return made
        finally:
            with self._lock:
                del self._making[key]

    def _frame(self, query: str) -> Frame:
        snapshot = self.data.snapshot
        if snapshot is None:
            problem = self.data.progress.problem
            waiting = html.P("Reading the tests …", className="lead")
            return [], waiting if problem is None else problem_box(problem), []
        try:
            current = view.read(query)
        except MatbenchError:
            current = View()
        said: Node = []
        selected = current
        try:
            said = headline(snapshot, _catalogue(snapshot, current), current)
            if snapshot.problem:
                said = [problem_box(snapshot.problem), said]
        except MatbenchError:  # the page says what is wrong
            selected = msgspec.structs.replace(current, filters={})
        except Exception as error:  # noqa: BLE001  whatever it is, the selectors lead away from it
            said = failure_box("The verdict", error)
        number = html.Span(hidden=True, **{"data-version": str(snapshot.number)})
        return sidebar.selectors(snapshot.facets, selected, current), said, [*tabs(snapshot, current), number]

    def _page(self, query: str, wanted: list[int], is_local: bool) -> Opened:
        self.data.wait_for_pandas()
        snapshot = self.data.wait(FIRST_ANSWER_S)
        if snapshot is None:
            return [], [], ""
        try:
            current = view.read(query)
            page = self._content(snapshot, current, wanted, is_local)
        except MatbenchError as error:
            return [html.H1(NO_PAGE), problem_box(str(error))], [], ""
        return page.elements, sidebar.panel(page.controls, current), page.title

    def part(self, query: str, key: str, number: int, *, is_local: bool = True) -> Node:
        self.data.wait_for_pandas()
        deferred = self._deferred.get(key)
        if deferred is None:
            try:
                snapshot, current = self.data.snapshot, view.read(query)
                if snapshot is None or key_of(snapshot, current) != key:
                    return problem_box("The results have been read again since: reload the page.")
                deferred = self._content(snapshot, current, [], is_local).deferred
            except MatbenchError as error:
                return problem_box(str(error))
        return deferred.make(number)

    def act(self, event: object, query: str, author: Author = nobody) -> tuple[str | None, Node]:
        """What an *event* of the page's script leads to: another address or none, and a notice or none.

        *author* gives who asks for it, by the token that the page sends, or says why nobody may.
        """
        try:
            match event:
                case {"do": "deal" | "keep"}:
                    return None, html.P(self._wrote(event, author), className="note")
                case {"do": "read"}:
                    self.data.start(is_asked=True)
                    return None, ""
                case {"do": "write"}:
                    return None, guarded(lambda: self._write(query), "The static report")
            return view.write(self._changed(event, view.read(query))), ""
        except MatbenchError as error:
            return None, problem_box(str(error).replace("`until`", "Until"))  # as the field is called

    def known(self) -> Snapshot:
        """What is read, as soon as something is; raises MatbenchError where that takes long."""
        snapshot = self.data.wait(FIRST_ANSWER_S)
        if snapshot is None:
            raise MatbenchError("nothing is read yet")
        return snapshot

    def runs(self, query: str) -> Matrix:
        """The runs that the filters of an address leave."""
        return self.known().catalogue(view.read(query).filters, ()).study.matrix

    def table(self, query: str) -> Table:
        """The table of the page of an address, at what it says of the page's controls."""
        snapshot, current = self.known(), view.read(query)
        catalogue = snapshot.catalogue(current.filters, current.order)
        report = catalogue.page(snapshot.slugs.get(current.show, current.show))
        if not isinstance(report, ExploreReport) or not report.controls():
            raise MatbenchError(f"'{report.name}' has no table to take along")
        return report.table(read(report.controls(), current.cfg)[0])

    def _wrote(self, event: object, author: Author) -> str:
        """Do what *event* asks for, in the name of its author; gives a sentence."""
        who = author(event.get("token") if isinstance(event, dict) else None)
        source, snapshot = self.data.source, self.data.snapshot
        match event:
            case {"do": "deal", "action": str(action), "ids": list(ids), "reason": str(reason), "until": str(until)}:
                if source.deal is None or snapshot is None:
                    raise ConfigError("there is no history whose alarms these are")
                analysis = snapshot.study.analysis
                raised = [] if analysis is None else new_events(analysis, {})
                said = source.deal(action, [str(one) for one in ids], who, reason, until, raised)
            case {"do": "keep", "name": str(name), "block": str(block)} if source.keep_view is not None:
                if snapshot is not None and {name, f"report: {name}"} & {*snapshot.slugs.values()}:
                    raise ConfigError(f"there is a page '{name}' already; call the view otherwise")
                said = source.keep_view(name, block)
            case _:
                raise ConfigError("the page asked for something unknown")
        self.data.start(is_asked=True)
        return said

    def progress(self) -> str:
        if self.data.away:
            return self.data.away
        progress, snapshot = self.data.progress, self.data.snapshot
        if progress.is_reading:
            return f"reading {progress.done:,} of {progress.total:,} tests" if progress.total else "reading"
        if progress.problem is not None:
            return progress.problem
        return "" if snapshot is None else f"read at {snapshot.read_at:%H:%M:%S}"

    def is_checked(self) -> bool:
        """Whether what is odd about the runs was looked for."""
        return self.data.snapshot is not None and self.data.snapshot.is_checked

    def version(self) -> int:
        """The number of the snapshot; 0 for none yet, -1 where the reading failed."""
        if self.data.snapshot is not None:
            return self.data.snapshot.number
        return 0 if self.data.progress.problem is None else -1

    def _content(self, snapshot: Snapshot, current: View, wanted: list[int], is_local: bool) -> Content:
        try:
            catalogue = _catalogue(snapshot, current)
            catalogue = dataclasses.replace(catalogue, is_live=True, may_write=self.may_write, may_open=is_local)
            page = content(snapshot, catalogue, current, wanted, self.data)
        except Exception as error:
            if isinstance(error, MatbenchError) and not isinstance(error, BrokenPlotError):
                raise
            return Content("", failure_box("This page", error), Deferred(), ())
        with self._lock:
            self._deferred[page.deferred.key] = page.deferred
            if len(self._deferred) > _KEPT_PAGES:
                self._deferred.popitem(last=False)
        return page

    def _changed(self, event: object, current: View) -> View:
        match event:
            case {"do": "open", "run": str(run)}:
                return current.with_run(self.known().short_ids.get(run, run))
            case {"do": "order", "names": list(names)}:
                return msgspec.structs.replace(current, order=tuple(str(name) for name in names))
            case {"do": "fields", "values": dict(values)}:
                for name, value in values.items():
                    text = "" if value is None else str(value).strip()
                    if name == "filters":
                        current = msgspec.structs.replace(current, filters=_filters(text, current.filters))
                    elif name != "beside":
                        current = current.with_cfg(name.removeprefix(view.CFG), text or None)
                    elif text:
                        current = msgspec.structs.replace(current, beside=self._run(text))
                return current
        raise ConfigError("the page asked for something unknown")

    def _run(self, text: str) -> str:
        snapshot = self.known()
        named = [entry for entry in snapshot.study.runs if entry.name == text]
        entry = named[0] if named else find_run(snapshot.study.runs, text)
        return snapshot.short_ids.get(entry.test_uuid or "", text)

    def _write(self, query: str) -> Node:
        self.data.wait_for_pandas()
        current = view.read(query)
        shown = self.known().catalogue(current.filters, current.order).study
        if not len(shown.matrix) and not shown.matrix.unfinished:
            return problem_box("No run is left by these filters, so nothing was written.")
        if not self._writing.acquire(blocking=False):
            return problem_box("Another static report is being written: try again when it is there.")
        try:
            selection = filter_language.written(current.filters)
            written = site.write_site(shown, self.report_dest, cfg=current.cfg, selection=selection)
        finally:
            self._writing.release()
        size = f"{len(written.pages)} pages, {written.size_bytes / 1e6:.1f} MB"
        said = html.P(["Written: ", html.Code(str(written.pages[0].absolute())), f" ({size})."])
        return [said, problem_box(*written.failures)] if written.failures else said


class Content(msgspec.Struct, frozen=True):
    title: str
    elements: Node
    deferred: Deferred
    controls: Sequence[Control]


def _catalogue(snapshot: Snapshot, current: View) -> Catalogue:
    """Of what is selected, with the addresses of the pages that keep the selection."""
    slugs = {name: slug for slug, name in snapshot.slugs.items()}

    def address_of(name: str, chosen: Mapping[str, str]) -> str | None:
        if name not in slugs:
            return None
        page = current.on_page(slugs[name])
        return view.write(msgspec.structs.replace(page, cfg={**page.cfg, **chosen}))

    return dataclasses.replace(snapshot.catalogue(current.filters, current.order), address_of=address_of)


def headline(snapshot: Snapshot, catalogue: Catalogue, current: View) -> Node:
    """What is best among what is selected, under the limit that was chosen, in the sentences of the reports."""
    matrix = catalogue.study.matrix
    if not len(matrix):
        lost = sum(entry.is_unreadable for entry in matrix.unfinished)
        lines = ["No run is left by these filters." if current.filters else "There is no finished run."]
        for count, what in ((len(matrix.unfinished) - lost, "did not finish"), (lost, "can't be read")):
            lines += [f"{count} {plural(count, 'test')} {what}."] if count else []
        return html.Div(html.P(" ".join(lines), className="lead"), className="verdict")
    study = limited(catalogue.study, current.cfg)

    name = "" if current.run else snapshot.slugs.get(current.show or snapshot.opening, "")
    page = catalogue.reports.get(name) or catalogue.plots.get(name)
    answers = AnswerKind.BEST if page is None else page.answers
    check = catalogue.address_of(CheckReport.name, {})
    found: Node = html.P(LOOKED_FOR, className="note")
    findings: int | None = None
    if snapshot.is_checked:
        findings = len(study.findings)
        found = check_line(study.findings, answers, check, is_part=bool(current.filters))
    if answers is not AnswerKind.BEST:  # the page says what changed, and that comes first
        return html.Div(found, className="provenance")
    is_about_it = name == BestReport.name
    compare = catalogue.address_of(CompareReport.name, {})
    box = functools.partial(
        verdict_box, study, is_brief=not is_about_it, check=found, findings=findings, compare=compare
    )
    return guarded(box, "The verdict")


def tabs(snapshot: Snapshot, current: View) -> list[Node]:
    reports = [(slug, name) for slug, name in snapshot.slugs.items() if name in snapshot.reports]
    plots = [(slug, name) for slug, name in snapshot.slugs.items() if name not in snapshot.reports]
    shown = "" if current.run else current.show or snapshot.opening
    rows: list[Node] = [_row("Reports", reports, current, shown)]
    if plots:
        is_open = bool(shown) and shown not in dict(reports)  # an unknown page is answered with the list of all
        title = html.Summary(f"{len(plots)} single {plural(len(plots), 'plot')}")
        more = html.Details([title, _row("Plots", plots, current, shown)], open=is_open, className="pages-more")
        rows.append(more)
    return rows


def _row(title: str, pages: Sequence[tuple[str, str]], current: View, shown: str) -> Node:
    links = []
    for slug, name in pages:
        said = title_of(name)
        more = {"aria-current": "page"} if slug == shown else {}
        hint = said if len(said) > MAX_TABS_TITLE else None
        links.append(html.A(said, href=view.write(current.on_page(slug)), className="page-link", title=hint, **more))
    return html.Nav([html.Span(title, className="pages-title"), *links], className="pages", **{"aria-label": title})


def _filters(text: str, before: Filters) -> Filters:
    try:
        return filter_language.parse(text)
    except MatbenchError as error:
        still = f"what is shown is still selected by {filter_language.written(before)}" if before else "it is left out"
        raise ConfigError(f"{error}: {still}") from error


def key_of(snapshot: Snapshot, current: View) -> str:
    digest = hashlib.blake2b(view.write(current).encode("utf-8", "replace"), digest_size=8).hexdigest()
    return f"{snapshot.number}-{digest}"


def content(snapshot: Snapshot, catalogue: Catalogue, current: View, wanted: Sequence[int], data: Data) -> Content:
    """The page that *current* asks for; *wanted* are the deferred parts that are in view already."""
    study = limited(catalogue.study, current.cfg)
    if current.run:
        title, elements = run_page.elements(snapshot, study, current, data.source.roots, catalogue.name)
        return Content(title, convert(elements, None), Deferred(), ())
    slug = current.show or snapshot.opening
    if slug not in snapshot.slugs:
        return Content("", no_page(snapshot, current), Deferred(), ())
    name = snapshot.slugs[slug]
    deferred = Deferred(wanted, key_of(snapshot, current))
    href = run_page.addresses(snapshot, current)
    shown = dataclasses.replace(catalogue, study=study, href=href, texts=current.cfg)
    page = shown.page(name)
    limit = limits(study) if page.answers is AnswerKind.BEST else ()  # elsewhere it would change nothing
    elements = convert(page.made(shown.arguments()), deferred)
    heading = [html.H1(title_of(name))]
    heading += [html.P(page.description, className="description")] if page.description else []
    # A report may offer other values, now that it knows what was chosen.
    found = [*limit, *page.controls(), *(control for plot in page.drawn for control in plot.offered())]
    said = [f"{sentence(one)} The default is used." for one in dict.fromkeys(read(found, current.cfg)[1])]
    boxes = map(problem_box, [*said, *_unknown(shown, found, current)])
    return Content(title_of(name), [*heading, *boxes, *elements], deferred, found)


def no_page(snapshot: Snapshot, current: View) -> Node:
    """That there is no such page, with a link to one of nearly this name, if any, and to the list of all."""
    said: list[Node] = [f"There is no page '{current.show}'. "]
    for slug in difflib.get_close_matches(current.show, snapshot.slugs, n=1):
        nearest = html.A(title_of(snapshot.slugs[slug]), href=view.write(current.on_page(slug)))
        said += ["Did you mean ", nearest, "? "]
    said += [html.A(f"All {len(snapshot.slugs)} pages", href="#tabs"), " are listed above."]
    return [html.H1(NO_PAGE), html.Div(html.P(said), className="problem", role="alert")]


def _unknown(catalogue: Catalogue, found: Sequence[Control], current: View) -> list[str]:
    """What an address says that no page can use: orders, and choices; those of this page were *found*."""
    settings, texts = catalogue.study.read.entries.names(), current.cfg
    said = [f"There is no setting '{name}' to order by: {did_you_mean(name, settings)}"
            for name in current.order if name not in settings]  # fmt: skip
    others = [name for name in texts if all(control.name != name for control in found)]
    if others:
        pages: list[Plot | Report] = [*map(catalogue.plot, catalogue.plots), *map(catalogue.page, catalogue.reports)]
        every = [*found, *(control for page in pages for control in page.offered())]
        for name in others:  # what one page can read is for that page
            read_by = [read([control], texts)[1] for control in every if control.name == name]
            known = f"No page has a choice 'cfg.{name}': {did_you_mean(name, {control.name for control in every})}"
            said += [known] if not read_by else read_by[0] if all(read_by) else []
    return [sentence(one) for one in said]
