"""The data behind the application: read in the background, replaced as a whole when it has changed."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime as dt
import functools
import importlib
import logging
import threading
import time
import traceback
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from ... import filters as filter_language
from ...analyze import limits
from ...analyze.study import Given, Study
from ...errors import MatbenchError
from ...filters import Filters, Scalar
from ...history.alarms import AlarmEvent
from ...matrix import NOT_SET, TREE, Entry, Matrix, typed
from ...workload import Workload
from .. import site, template
from ..base import Catalogue
from ..catalogue import catalogue_of
from ..report_compare import CompareReport
from ..report_regression import RegressionReport
from .sidebar import Facets, short_ids

Progress = Callable[[int, int], None]
_KEPT_SELECTIONS = 12
WATCH_S = 3.0
IMPORTED_WITHIN_S, FIRST_WITHIN_S = 60.0, 1.0
CHECK_AFTER_S = 3.0
"""After what the index says is shown: the first pages are drawn before the tree itself is read."""
_COPIES = uuid.UUID("5b0f7c1e-2f4a-4d86-9a0e-6f1f2a6f9c55")
_log = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class Source:
    """Where the application's data come from: *place*, as it was given."""

    workload: Workload
    place: str
    roots: Sequence[Path]  # the directories whose files may be served; none where there are no artifacts
    read: Callable[[Progress | None], Matrix]
    read_index: Callable[[], Matrix | None] = lambda: None  # what is known without reading the tests
    filters: Filters = dataclasses.field(default_factory=dict)
    past: Callable[[Matrix], Matrix | None] = lambda matrix: None  # all known runs, those of a history among them
    given: Given | None = None  # what a study of them takes besides
    state: Callable[[], object] = lambda: None  # changes with the data; MatbenchError where they are away
    # What a person does to alarms: action, ids, author, reason, until, and what the analysis at hand has raised; gives
    # a sentence. None where there is no history.
    deal: Callable[[str, Sequence[str], str, str, str, Sequence[AlarmEvent]], str] | None = None
    keep_view: Callable[[str, str], str] | None = None  # keeps the block of a view; gives a sentence
    views: Callable[[], Mapping[str, Mapping[str, Scalar]]] | None = None  # those that are kept now


class Snapshot:
    """One state of the data, and what was computed from it; its *number* grows."""

    def __init__(self, study: Study, number: int, problem: str = "") -> None:
        self.study = study
        catalogue = catalogue_of(study)
        names = [*catalogue.reports, *catalogue.plots]
        self.reports = frozenset(catalogue.reports)  # all other pages are plots
        self.slugs = dict(zip((file.removesuffix(".html") for file in site.slugs(names)), names, strict=True))
        self.number = number
        self.problem = problem
        self.is_checked = False
        self.read_at = dt.datetime.now().astimezone()
        self._selected = functools.lru_cache(_KEPT_SELECTIONS)(self._select)
        self._lock = threading.RLock()

    @functools.cached_property
    def facets(self) -> Facets:
        order = self.study.order_at_hand
        return Facets(self.study.matrix, {} if order is None else order.known_places)

    @functools.cached_property
    def short_ids(self) -> Mapping[str, str]:
        return short_ids(self.study.runs)

    @functools.cached_property
    def opening(self) -> str:
        """The page that the application opens on: of several versions what changed, else the best configuration.

        Two versions are compared: they are no history. So are directories that somebody put beside each other.
        """
        order = self.study.order_at_hand
        wanted = CompareReport.name if len(self.study.matrix.entries.setting(TREE)[0]) > 1 else None
        if wanted is None and order is not None and order.axis is not None:
            places = {place for (_, label), place in order.of(order.axis).places.items() if label is not NOT_SET}
            wanted = (CompareReport if len(places) == 2 else RegressionReport).name if len(places) > 1 else None
        return next((slug for slug, name in self.slugs.items() if name == wanted), next(iter(self.slugs)))

    def prepare(self) -> None:
        """Make what each first answer takes before anybody waits for it; what fails fails again where it is shown."""
        with contextlib.suppress(Exception):
            _ = self.facets, self.opening, self.catalogue({}, ()).study.best

    def check(self) -> None:
        """Look for what is odd about the runs, which pages say as soon as it is known; or that it can't be."""
        with contextlib.suppress(Exception):
            _ = self.study.findings
        self.is_checked = True

    def prepare_limits(self) -> None:
        """Make what the first filter takes besides: the bounds of all points, of which each selection has its own."""
        kpi = self.study.workload.limited
        if kpi is not None:
            with contextlib.suppress(Exception):
                for group in self.study.whole.of_all.groups:
                    limits.bounded(group, kpi)

    def catalogue(self, filters: Filters, order: Sequence[str]) -> Catalogue:
        """The plots and reports of what *filters* leave, its ranking computed; kept for the last few selections."""
        with self._lock:
            return self._selected(filter_language.written(filters), tuple(order))

    def _select(self, text: str, order: tuple[str, ...]) -> Catalogue:
        filters = filter_language.parse(text)
        study = self.study
        if text or order:
            study.matrix.check_values(filters)
            study = study.selected(filters, ordered(study.matrix.selected(filters), order))
            study.checked = self.study  # what is odd is said of all runs, whatever is selected of them
        return catalogue_of(study)


class Progressing(msgspec.Struct, frozen=True):
    """How far the reading is, in tests; *problem* is why the last one failed."""

    done: int = 0
    total: int = 0
    is_reading: bool = False
    problem: str | None = None


class Data:
    def __init__(self, source: Source) -> None:
        self.source = source
        self.snapshot: Snapshot | None = None
        self.progress = Progressing()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._state: object = None
        self.has_pandas = threading.Event()
        """Pandas is imported: what makes figures looks into one that is half there, and would fail."""
        self.has_answered = threading.Event()
        """A first verdict is made."""
        self.away = ""
        """Why the data can't be reached now; empty where they can."""

    def watch(self) -> None:
        """Look again and again whether the data have changed, and read them then; never returns."""
        while True:
            time.sleep(WATCH_S)
            self.look()

    def look(self) -> None:
        """Read the data again where they have changed since the last look; remember why they are away.

        What changes while they are being read is seen at the next look.
        """
        if self.progress.is_reading:
            return
        try:
            state = self.source.state()
        except MatbenchError as error:
            self.away = f"{error}: what is shown is of before"
            return
        except Exception as error:  # noqa: BLE001  whatever it is, the next look may succeed
            self.away = f"the data can't be reached ({type(error).__name__}): what is shown is of before"
            return
        is_back, self.away = bool(self.away), ""
        if is_back or (self._state is not None and state != self._state):
            self.start(is_asked=True)
        self._state = state

    def start(self, *, is_asked: bool = False) -> None:
        """Read in the background: the index first, then everything. While it is being read, nothing happens."""
        with self._lock:
            if self.progress.is_reading and self._thread is not None and self._thread.is_alive():
                return
            self.progress = Progressing(is_reading=True)
            self._thread = threading.Thread(target=self._read, args=(is_asked,), daemon=True, name="matbench-reader")
            self._thread.start()

    def wait(self, timeout_s: float) -> Snapshot | None:
        """The snapshot, as soon as there is one; None after *timeout_s* or where the reading failed."""
        end = time.monotonic() + timeout_s
        while self.snapshot is None and self.progress.is_reading and time.monotonic() < end:
            time.sleep(0.005)
        return self.snapshot

    def wait_for_pandas(self) -> None:
        self.has_pandas.wait(IMPORTED_WITHIN_S)

    def join(self, timeout_s: float) -> None:
        if self._thread is not None:
            self._thread.join(timeout_s)

    def _read(self, is_asked: bool) -> None:
        problem = None
        if self.snapshot is None:
            self._show_index()
            if self.snapshot is not None:
                self.has_answered.wait(FIRST_WITHIN_S)  # else the first verdict would wait for what it doesn't need
            importlib.import_module("pandas")
            with contextlib.suppress(Exception):  # of another plotly; figures say themselves what they lack
                template.unfold_default()
            self.has_pandas.set()
            if self.snapshot is not None:
                self.snapshot.check()
                time.sleep(CHECK_AFTER_S)

        def report(done: int, total: int) -> None:
            self.progress = Progressing(done, total, is_reading=True)

        try:
            self._take(self.source.read(report), is_asked)
        except MatbenchError as error:
            problem = str(error)
        except Exception as error:  # noqa: BLE001  the application has to say so, and to go on
            _log.error("the data can't be read\n%s", traceback.format_exc())
            problem = f"the data can't be read ({type(error).__name__}: {error})"
        if self.snapshot is not None:
            self.snapshot.check()
        self.progress = Progressing(problem=problem)
        if self.snapshot is not None:
            self.snapshot.prepare_limits()

    def _show_index(self) -> None:
        """Show what the index says; whatever is wrong with it, the tree itself is read next."""
        try:
            known = self.source.read_index()
            if known is not None:
                self._take(known)
        except Exception as error:  # noqa: BLE001  else the application would say for ever that it is reading
            _log.info("the index of the tree is not used: %s", error)

    def _take(self, matrix: Matrix, is_asked: bool = False) -> None:
        current, read = self.snapshot, with_own_ids(matrix)
        past, problem = None, ""
        try:
            past = self.source.past(read)
        except MatbenchError as error:
            if current is not None and current.study.past is not None:
                self.away = f"{error}: what is shown is of before"
                return
            problem = f"Shown are the results alone: {error}."
        source = self.source
        given = Given(place=source.place) if source.given is None else source.given
        given = given if source.views is None else msgspec.structs.replace(given, views=source.views())
        given = msgspec.structs.replace(given, events=functools.cache(given.events))  # the history may be away by then
        study = Study.of(read, source.workload, filters=source.filters, past=past, given=given)
        if not is_asked and current is not None and current.problem == problem and _same(current.study, study):
            current.read_at = dt.datetime.now().astimezone()
            return
        snapshot = Snapshot(study, 1 if current is None else current.number + 1, problem)
        snapshot.prepare()
        if current is not None:  # it is there meanwhile, and says what is odd already
            snapshot.check()
        self.snapshot = snapshot


def with_own_ids(matrix: Matrix) -> Matrix:
    """*matrix* with another id for each further test that carries the id of one before, as a copied directory does."""
    ids = matrix.entries.values("test_uuid")
    if len(set(ids)) == len(ids):
        return matrix
    seen: set[str] = set()
    entries = []
    for entry in matrix:
        if entry.test_uuid in seen:
            entry = dataclasses.replace(entry, test_uuid=str(uuid.uuid5(_COPIES, f"{entry.test_uuid} {entry.name}")))
        seen.add(entry.test_uuid or "")
        entries.append(entry)
    return Matrix(entries, unfinished=matrix.unfinished, notes=matrix.notes)


def _same(one: Study, other: Study) -> bool:
    for first, second in ((one.matrix, other.matrix), (one.runs, other.runs)):
        if (len(first), len(first.unfinished), first.notes) != (len(second), len(second.unfinished), second.notes):
            return False
        pairs = zip([*first.entries, *first.unfinished], [*second.entries, *second.unfinished], strict=True)
        if any(_shown(before) != _shown(after) for before, after in pairs):
            return False
    return True


def _shown(entry: Entry) -> tuple[object, ...]:
    settings = [(name, *typed(value)) for name, value in entry.settings.items()]
    return (
        *(entry.name, settings, entry.repeat, entry.exit_code, entry.test_uuid, entry.problems, entry.missing_files),
        *(repr(entry.kpis), entry.missing_kpis, entry.warnings, entry.implausible, entry.harmless),
    )


def ordered(matrix: Matrix, names: Sequence[str]) -> Matrix:
    """*matrix* with the settings *names* first in each entry, in this order: tables and names follow it."""
    if not names:
        return matrix

    def first(entry: Entry) -> Entry:
        settings = {name: entry.settings[name] for name in names if name in entry.settings}
        return dataclasses.replace(entry, settings={**settings, **entry.settings})

    return Matrix(map(first, matrix.entries), unfinished=matrix.unfinished, notes=matrix.notes)
