"""What the application answers to an address, to a part that came into view, and to what somebody did."""

from __future__ import annotations

import dataclasses
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import Any, TypeVar, cast

from ...analyze.study import Study
from ...errors import ConfigError, MatbenchError
from .. import problems, site
from ..controls import find_run
from ..tags import html
from . import pages, sidebar, view
from .data import Data, Snapshot
from .elements import Deferred
from .view import View

FIRST_ANSWER_S = 1.5
_KEPT_PAGES = 24
Answer = TypeVar("Answer")


class Pages:
    """Answers what the callbacks ask; keeps the deferred parts of the last pages until they are seen."""

    def __init__(self, data: Data, report_dest: Path) -> None:
        self.data = data
        self.report_dest = report_dest
        self._deferred: OrderedDict[str, Deferred] = OrderedDict()
        self._lock = threading.Lock()
        self._making: dict[Hashable, Future[Any]] = {}
        self._writing = threading.Lock()

    def frame(self, query: str) -> tuple[Any, Any, Any]:
        """Selectors, verdict and tabs."""
        return self._once(("frame", query), lambda: self._frame(query))

    def page(self, query: str, wanted: list[int]) -> tuple[Any, Any, str]:
        """The page that is open, the inputs of its configuration, and its title."""
        return self._once(("page", query, *wanted), lambda: self._page(query, wanted))

    def _once(self, asked: tuple[Hashable, ...], make: Callable[[], Answer]) -> Answer:
        """What *make* gives; who asks for the same while it is being made gets the same, at no cost."""
        key = (self.version(), *asked)
        with self._lock:
            others = self._making.get(key)
            answer = self._making.setdefault(key, Future())
        if others is not None:
            return cast("Answer", others.result())
        try:
            answer.set_result(make())
        except BaseException as error:
            answer.set_exception(error)
            raise
        finally:
            with self._lock:
                del self._making[key]
        return cast("Answer", answer.result())

    def _frame(self, query: str) -> tuple[Any, Any, Any]:
        snapshot = self.data.wait(FIRST_ANSWER_S)
        if snapshot is None:
            return [], self._without_data(), []
        try:
            current = view.read(query)
        except MatbenchError:
            current = View()
        try:
            catalogue = snapshot.catalogue(current.filters, current.order)
        except MatbenchError:  # the page says what is wrong
            current = dataclasses.replace(current, filters={})
            return sidebar.selectors(snapshot.facets, current), [], pages.tabs(snapshot, current)
        except Exception as error:  # noqa: BLE001  whatever it is, the selectors lead away from it
            selectors = sidebar.selectors(snapshot.facets, current)
            return selectors, problems.failed("The verdict", error), pages.tabs(snapshot, current)
        selectors = sidebar.selectors(snapshot.facets, current)
        headline: Any = pages.headline(snapshot, catalogue, current)
        if snapshot.problem:
            headline = [problems.box(*snapshot.problem.splitlines()), headline]
        return selectors, headline, pages.tabs(snapshot, current)

    def _page(self, query: str, wanted: list[int]) -> tuple[Any, Any, str]:
        snapshot = self.data.wait(FIRST_ANSWER_S)
        if snapshot is None:
            return [], [], ""
        try:
            current = view.read(query)
            content = self._content(snapshot, current, wanted)
        except MatbenchError as error:
            return problems.box(*str(error).splitlines()), [], ""
        return content.elements, sidebar.panel(content.controls, current), content.title

    def part(self, query: str, key: str, number: int) -> Any:
        """The deferred part *number* of the page *key*, which is that of *query*."""
        deferred = self._deferred.get(key)
        if deferred is None:
            try:
                snapshot, current = self.data.snapshot, view.read(query)
                if snapshot is None or pages.key_of(snapshot, current) != key:
                    return problems.box("The results have been read again since: reload the page.")
                deferred = self._content(snapshot, current, []).deferred
            except MatbenchError as error:
                return problems.box(*str(error).splitlines())
        return deferred.make(number)

    def act(self, event: Mapping[str, Any], query: str) -> tuple[str | None, Any]:
        """What an *event* of the page's script leads to: another address or none, and a notice or none."""
        match event:
            case {"do": "read"}:
                self.data.start(is_asked=True)
                return None, ""
            case {"do": "write"}:
                return None, problems.guarded(lambda: self._write(query), "The static report")
        try:
            return view.write(self._changed(event, view.read(query))), ""
        except MatbenchError as error:
            return None, problems.box(*str(error).splitlines())

    def progress(self) -> str:
        """How far the reading is, or what came of it."""
        progress = self.data.progress
        if progress.is_reading:
            return f"reading {progress.done:,} of {progress.total:,} tests" if progress.total else "reading"
        if progress.problem is not None:
            return f"{progress.problem}"
        snapshot = self.data.snapshot
        return "" if snapshot is None else f"read at {snapshot.read_at:%H:%M:%S}"

    def version(self) -> int:
        """The number of the snapshot; 0 for none yet, -1 where the reading failed."""
        snapshot = self.data.snapshot
        if snapshot is not None:
            return snapshot.number
        return 0 if self.data.progress.problem is None else -1

    def _without_data(self) -> Any:
        problem = self.data.progress.problem
        if problem is not None:
            return problems.box(*problem.splitlines())
        return html.P("Reading the tests …", className="lead")

    def _content(self, snapshot: Snapshot, current: View, wanted: list[int]) -> pages.Content:
        try:
            catalogue = snapshot.catalogue(current.filters, current.order)
            content = pages.content(snapshot, catalogue, current, wanted, self.data)
        except Exception as error:
            if isinstance(error, MatbenchError) and not isinstance(error, problems.BrokenPlotError):
                raise
            box = problems.failed("This page", error)
            return pages.Content("", box, Deferred(), ())
        with self._lock:
            self._deferred[content.deferred.key] = content.deferred
            if len(self._deferred) > _KEPT_PAGES:
                self._deferred.popitem(last=False)
        return content

    def _changed(self, event: Mapping[str, Any], current: View) -> View:
        """The view that a person asked for."""
        match event:
            case {"do": "open", "run": str(run)}:
                snapshot = self.data.snapshot
                return current.with_run(snapshot.short_ids.get(run, run) if snapshot else run)
            case {"do": "order", "names": list(names)}:
                return dataclasses.replace(current, order=tuple(str(name) for name in names))
            case {"do": "fields", "values": dict(values)}:
                for name, value in values.items():
                    current = self._typed(current, name, "" if value is None else str(value).strip())
                return current
        raise ConfigError("the page asked for something unknown")

    def _typed(self, current: View, name: str, text: str) -> View:
        if name == "filters":
            return dataclasses.replace(current, filters=view.read_filters(text))
        if name == "beside":
            return dataclasses.replace(current, beside=self._run(text)) if text else current
        known = name.removeprefix(view.CFG)
        return current.with_cfg(known, text or None)

    def _run(self, text: str) -> str:
        """The id of the run that a person names by id or by name."""
        snapshot = self.data.snapshot
        if snapshot is None:
            return text
        named = [entry for entry in snapshot.study.runs if entry.name == text]
        entry = named[0] if named else find_run(snapshot.study.runs, text)
        return snapshot.short_ids.get(entry.test_uuid or "", text)

    def _write(self, query: str) -> Any:
        snapshot, current = self.data.snapshot, view.read(query)
        if snapshot is None:
            return problems.box("There is nothing to write yet.")
        shown = snapshot.catalogue(current.filters, current.order).study
        if not len(shown.matrix) and not shown.matrix.unfinished:
            return problems.box("No run is left by these filters, so nothing was written.")
        if not self._writing.acquire(blocking=False):
            return problems.box("Another static report is being written: try again when it is there.")
        try:
            written = self._write_site(shown, current)
        finally:
            self._writing.release()
        size = f"{len(written.pages)} pages, {written.size_bytes / 1e6:.1f} MB"
        said = html.P(["Written: ", html.Code(str(written.pages[0].absolute())), f" ({size})."])
        return [said, problems.box(*written.failures)] if written.failures else said

    def _write_site(self, shown: Study, current: View) -> site.Written:
        return site.write_site(
            shown,
            self.report_dest,
            cfg=current.cfg,
            first=current.order,
            selection=view.write_filters(current.filters),
        )
