"""Runs of one workload, what is known beside them, and the answers to what is asked of them, each computed once.

Pages, commands and notebooks ask a :class:`Study`, so one question has one answer.
"""

from __future__ import annotations

import copy
import functools
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from ..errors import MatbenchError
from ..filters import Filters, Scalar, Value, show
from ..history.alarms import AlarmEvent
from ..kpi import KPIDefinition
from ..matrix import Entry, Matrix
from ..workload import MinimumEffect, Workload
from . import check
from .best import Best, Group, group_key, is_better
from .check import Finding
from .limits import Limited, under
from .points import varying
from .rank import rank
from .select.labelled import LabelledRun, labelled, may_have_versions
from .select.order import Order
from .select.order_sources import Explicit
from .select.selection import good_and_bad, judged_and_without, newest_not_judged, not_judged, runs_of_newest
from .verdict.analyse import analyse_runs
from .verdict.lifecycle import known_alarms
from .verdict.model import Analysis
from .verdict.sides import Pair, Question, RunBlocks
from .words import named

# So many values of KPIs are analysed while a page waits, some tenths of a second; more are analysed afterwards.
FEW_VALUES = 3_000
_KEPT_VERSIONS = 4


class Given(msgspec.Struct, frozen=True):
    """What a study takes besides the runs."""

    place: str = "these runs"  # where they are, as it was named: a directory, or a history
    data: str = ""  # the same in words, with the history beside it; the place unless given
    minimum_effects: Mapping[str, MinimumEffect] | None = None  # by KPI; the workload's unless given
    events: Callable[[], Iterable[AlarmEvent]] = tuple  # reads what is known of earlier alarms
    # Those of the configuration, in USD per hour by ``vendor/hw_type`` or ``hw_type``.
    prices: Mapping[str, float] = msgspec.field(default_factory=dict)
    order: Explicit | None = None  # that of the versions, which somebody gave
    ignored: Sequence[str] = ()  # settings that somebody lets the sides of a comparison differ in
    options: Mapping[str, object] = msgspec.field(default_factory=dict)  # what the workload was told, by name
    opened: str = "'…'"  # the arguments of matrix_benchmarking.open but for filters and prices
    history: str = ""  # the history that was read, as commands take it
    views: Mapping[str, Mapping[str, Scalar]] = msgspec.field(default_factory=dict)  # of the configuration, by name
    has_views_file: bool = False  # the configuration names a file in which more may be kept
    beside: Callable[[str], Matrix] | None = None  # reads another directory or history of the same kind


class Study:
    """Some runs, and what can be said of them."""

    def __init__(
        self,
        matrix: Matrix,
        workload: Workload,
        *,
        past: Matrix | None = None,
        read: Matrix | None = None,
        known: Matrix | None = None,
        filters: Filters | None = None,
        given: Given | None = None,
        analysis: Analysis | None = None,
    ) -> None:
        """Everything is at hand, and nothing is a selection, unless given; so is the *analysis* of what is known."""
        self.matrix = matrix  # the runs
        self.workload = workload.headline_known_of((matrix if read is None else read).entries.kpi_names())
        self._wanted = workload  # whose headline no run may have
        self.past = past  # all known runs, those of the matrix among them; None without a history
        # All that was read where the matrix is from, of which it may be a selection. Colours are given out over it.
        self.read = self.matrix if read is None else read
        # All runs that there are, before any selection: the order of the versions is theirs, and the blocks.
        self.known = known if known is not None else self.read if past is None else past
        self.filters = filters or {}  # the selection
        self.given = Given() if given is None else given
        self.limited: Limited | None = None  # the ranking under the limit that is in force
        self._analysis = analysis
        self._lock = threading.RLock()
        self._root = self  # of selections: it has the order of all runs
        self._of_versions = functools.lru_cache(_KEPT_VERSIONS)(self._made_of_versions)
        self.checked = self  # the study whose runs are checked: what is odd may be said of more than is selected
        self._unlimited = self  # of copies under a limit: it has the analysis, which no limit changes

    @classmethod
    def of(
        cls,
        read: Matrix,
        workload: Workload,
        *,
        filters: Filters | None = None,
        past: Matrix | None = None,
        given: Given | None = None,
    ) -> Study:
        """What *filters* leave of what was *read*, and of the *past*: all known runs, those that were read among them.

        Raises:
            ConfigError: a filter on a setting that no run has, or nothing is left of what was read.
        """
        chosen, is_all = filters or {}, past is read
        matrix = read.filtered(chosen)
        left = matrix if is_all else None if past is None else past.selected(chosen)
        return cls(matrix, workload, past=left, read=read, known=past, filters=chosen, given=given)

    def selected(self, filters: Filters, matrix: Matrix | None = None) -> Study:
        """What *filters* leave of it on top of its own, which may be nothing.

        The order of the versions stays that of all runs. *matrix* is what they leave of the matrix, if that is known.
        """
        chosen = self.matrix.selected(filters) if matrix is None else matrix
        left = chosen if self.past is None or self.past is self.matrix else self.past.selected(filters)
        past = None if self.past is None else left
        part = self._with(chosen, self._wanted, past=past, filters={**self.filters, **filters})
        part._root = self._root
        return part

    def of_workload(self, workload: Workload) -> Study:
        """The same runs, judged by the keys of *workload*."""
        return self._with(self.matrix, workload, past=self.past, filters=self.filters)

    def _with(self, matrix: Matrix, workload: Workload, *, past: Matrix | None, filters: Filters) -> Study:
        return Study(matrix, workload, past=past, read=self.read, known=self.known, filters=filters, given=self.given)

    @property
    def unknown_headline(self) -> KPIDefinition | None:
        """The KPI by which the workload would rank, had any run a value of it."""
        wanted = self._wanted.headline
        return None if wanted is self.workload.headline else wanted

    @property
    def headline_name(self) -> str:
        """The name of the KPI that ranks; empty for none."""
        return "" if self.workload.headline is None else self.workload.headline.name

    @property
    def minimum_effects(self) -> Mapping[str, MinimumEffect]:
        given = self.given.minimum_effects
        return self.workload.regression.minimum_effects if given is None else given

    @property
    def data(self) -> str:
        return self.given.data or self.given.place

    @property
    def runs(self) -> Matrix:
        """Every run that was selected, those of the history among them."""
        return self.matrix if self.past is None else self.past

    @functools.cached_property
    def newest_runs(self) -> Sequence[Entry]:
        """Those of :attr:`runs` that are of the newest version."""
        return runs_of_newest(self.runs, self.workload, self.order_at_hand)

    @functools.cached_property
    def of_all(self) -> Best:
        """The ranking of the newest version's points by the workload's headline KPI, whatever the limit."""
        return self._ranked(self.matrix, lambda whole: whole.of_all)

    @functools.cached_property
    def of_all_versions(self) -> Best:
        """The ranking of all points beside each other, for pages that show one version after the other."""
        if self.of_all.newest is None:
            return self.of_all
        whole = None if self.whole is self else self.whole.of_all_versions
        return rank(self.matrix, self.workload, whole=whole)

    @functools.cached_property
    def ends_of_limited(self) -> tuple[float, float] | None:
        """The smallest and the largest value of the limited KPI at the points; None where none has one."""
        kpi = self.workload.limited
        points = (one.point for group in self.of_all.groups for one in group.standings)
        values = [] if kpi is None else [each for point in points for each in point.values_of(kpi.name)]
        known = [value for value in values if value is not None]
        return (min(known), max(known)) if known else None

    def _ranked(self, matrix: Matrix, of: Callable[[Study], Best | None]) -> Best:
        """The ranking of the newest version of *matrix*; its points have the intervals that *of* the whole has."""
        whole = None if self.whole is self else of(self.whole)
        return rank(matrix, self.workload, self.order_at_hand, self._root._differing, whole)

    @functools.cached_property
    def whole(self) -> Study:
        """The runs of the same versions, whatever else was selected: an interval is the same in each selection."""
        keys = self.workload.regression.comparison_keys
        versions = {name: values for name, values in self.filters.items() if name in keys}
        same = next((one for one in (self, self._root) if one.filters == versions), None)
        return self._root._of_versions(tuple(versions.items())) if same is None else same

    def _made_of_versions(self, filters: tuple[tuple[str, tuple[Value, ...]], ...]) -> Study:
        versions = dict(filters)
        past = None if self.past is None else self.known.selected(versions)
        found = self._with(self.read.selected(versions), self._wanted, past=past, filters=versions)
        found._root = self
        return found

    @property
    def better_before(self) -> Sequence[tuple[Group, Group]]:
        """Each group of the ranking whose best is worse than that of the version before, and that group."""
        before, limited = self._before, self.limited
        if before is None:
            return ()
        if limited is not None:
            before = under(before, limited.kpi, limited.limit).best
        earlier = {group_key(group, self.workload): group for group in before.groups}
        pairs = ((group, earlier.get(group_key(group, self.workload))) for group in self.best.compared)
        return [(group, other) for group, other in pairs if other is not None and is_better(other.best, group)]

    @functools.cached_property
    def _before(self) -> Best | None:
        """The ranking of the version before the newest; None where one alone was measured."""
        newest = self.of_all.newest
        return None if newest is None else self._ranked(Matrix(newest.others), lambda whole: whole._before)

    @functools.cached_property
    def without_a_good_run(self) -> Sequence[str]:
        """The versions that settings name, as ``version 1.4.0``, of which no selected run succeeded with a KPI; then
        points of the newest one.
        """
        good, bad = good_and_bad(self.matrix.entries)
        found = judged_and_without(good, [*bad, *self.matrix.unfinished], self.workload)
        versions = [f"{name} {show(value)}" for name, _, without in found for value in without]
        return [*versions, *self.of_all.lost(self.workload.regression.comparison_keys)]

    def within_limit(self, runs: Iterable[Entry]) -> list[Entry]:
        """Those of *runs*, which may be of several versions, whose points keep the limit, if one is in force."""
        limited = self.limited
        if limited is None:
            return [*runs]
        best = under(self.of_all_versions, limited.kpi, limited.limit).best  # by the bounds among all versions
        kept = {id(run) for group in best.groups for one in group.standings for run in one.point.runs}
        return [run for run in runs if id(run) in kept]

    @functools.cached_property
    def _differing(self) -> frozenset[str]:
        """The settings that differ among all that was read."""
        return frozenset(varying(self.read.entries))

    @property
    def best(self) -> Best:
        """The ranking by the workload's headline KPI, of the points that keep the limit."""
        return self.of_all if self.limited is None else self.limited.best

    def under(self, limit: float | None) -> Study:
        """The same under a limit on the workload's limited KPI, in the unit in which that is shown; None for none."""
        everything, kpi = self.of_all, self.workload.limited
        if limit is None or kpi is None or everything.kpi is None:
            return self._unlimited
        other = copy.copy(self)
        other.limited = under(everything, kpi, limit * kpi.divisor)
        return other

    @functools.cached_property
    def findings(self) -> Sequence[Finding]:
        """What is odd about the runs; who asks while another thread looks for it waits."""
        if self.checked is not self:
            return self.checked.findings
        with self._lock:
            return self._findings

    @functools.cached_property
    def _findings(self) -> Sequence[Finding]:
        found = check.findings(self.runs, self.workload, self.given.prices, self.order_at_hand)
        if not any(one.runs and check.AnswerKind.BEST in one.changes for one in found):
            return found
        newest, is_all = self.of_all.newest, self.past is None or self.past is self.matrix
        if newest is None and is_all:
            return found
        others = set() if newest is None else {id(run) for run in newest.others}
        ranked = {run.name for run in (*self.matrix.entries, *self.matrix.unfinished) if id(run) not in others}
        return check.by_weight([one.unless_about_others(check.AnswerKind.BEST, ranked) for one in found])

    def run_called(self, name: str) -> Entry | None:
        """The run of this name; None for a name that is none."""
        return self._by_name.get(name)

    @functools.cached_property
    def _by_name(self) -> Mapping[str, Entry]:
        return {entry.name: entry for entry in (*self.known.entries, *self.known.unfinished)}

    @functools.cached_property
    def order_at_hand(self) -> Order | None:
        """The order of the versions as far as it is known without loading payloads of a results tree."""
        found = self._root._order_at_hand
        return None if found is None else found.chosen_by(self.filters)

    @property
    def has_versions(self) -> bool:
        """Whether the runs that are known are of several versions, as far as that can be told without payloads."""
        return self.order_at_hand is not None and self.order_at_hand.axis is not None

    @functools.cached_property
    def _order_at_hand(self) -> Order | None:
        if not any(self.known.entries.values("kept_in")) and not may_have_versions(self.known, self.workload):
            return None  # nobody asks what changed in one version
        runs = labelled(self.known, self.workload, by_settings=True)
        return Order(runs, self.workload, self.given.order)

    @functools.cached_property
    def order(self) -> Order:
        """Which version came after which; what isn't asked of it isn't computed."""
        return self._root._order.chosen_by(self.filters)

    @functools.cached_property
    def _order(self) -> Order:
        return Order(labelled(self.known, self.workload), self.workload, self.given.order)

    @functools.cached_property
    def known_runs(self) -> list[LabelledRun]:
        """The runs of all versions that are selected, with what places each in a series.

        Empty without a history where the matrix has one version: then there is no series to look at.
        """
        return [] if self._is_alone else self.order.runs_of(self.runs.entries)

    @functools.cached_property
    def _is_alone(self) -> bool:
        return self.past is None and not may_have_versions(self.matrix, self.workload)

    @functools.cached_property
    def blocks(self) -> RunBlocks:
        """Which runs were measured together, among all that there are."""
        return RunBlocks(lambda: self.known.entries)

    def question(self, data: str, pairs_of: Callable[[Study], Sequence[Pair]] = lambda _: (), **more: Any) -> Question:
        """What is asked of two sides; *pairs_of* all runs lend their noise, where these are a selection of them."""
        lenders, known = () if self.whole is self else pairs_of(self.whole), known_alarms(self.given.events())
        asked, there = [*self.given.ignored, *more.pop("ignored", ())], self.runs.entries.names()
        more["ignored"] = [name for name in dict.fromkeys(asked) if name in there]
        return Question(data, self.blocks, self.minimum_effects, known, lenders=lenders, **more)

    @functools.cached_property
    def order_problem(self) -> str:
        """Why the versions have no order, and what to do; empty where they have one."""
        try:
            _ = self.order.notes
        except MatbenchError as error:
            return f"{str(error)[:1].upper()}{str(error)[1:]}."
        return ""

    def places(self, setting: str) -> Mapping[tuple[object, ...], int]:
        """By value of a comparison key its place, the oldest first; empty for other settings, and without an order."""
        is_ordered = setting in self.workload.regression.comparison_keys and not self.order_problem
        return self.order.of(setting).places if is_ordered else {}

    @property
    def analysis(self) -> Analysis | None:
        """The verdicts on all series of the runs; made when it is first asked for, by one thread.

        None where there is nothing to analyse: no KPI, no order, or one version and no history.
        """
        study = self._unlimited
        with study._lock:
            if study._analysis is None and not study._has_nothing_to_analyse:
                study._analysis = study.with_own_version(study.judged(study.given.events()))
            return study._analysis

    def judged(self, events: Iterable[AlarmEvent], *, data: str = "", **asked: Any) -> Analysis:
        """The verdicts on all series of the runs; for what else is *asked*, see :func:`.analyse_runs`."""
        asked = {"order": self.order, "minimum_effects": self.minimum_effects, **asked}
        return analyse_runs(self.runs, self.workload, data=data or self.data, events=events, **asked)

    @functools.cached_property
    def not_judged(self) -> list[str]:
        """Versions without a good run that fail an analysis; of a tree the newest: old ones may never have worked."""
        missing = not_judged if any(self.runs.entries.values("kept_in")) else newest_not_judged
        return missing(self.runs.entries, self.workload)

    def with_own_version(self, analysis: Analysis) -> Analysis:
        """*analysis* with versions that aren't judged, and a note where runs beside a history are of another one."""
        analysis = msgspec.structs.replace(analysis, without_a_good_run=self.not_judged)
        axis = None if self.past is None or self.past is self.matrix else self.order.axis
        mine = () if axis is None else (run.settings[axis] for run in self.matrix if axis in run.settings)
        own = dict.fromkeys(map(show, mine))
        if not own or analysis.newest is None or analysis.newest in own:
            return analysis
        note = f"{self.given.place} has {named(list(own), 3)} alone: what is judged is the newest, {analysis.newest}"
        return msgspec.structs.replace(analysis, notes=(note, *analysis.notes))

    @property
    def has_analysis(self) -> bool:
        """True if the analysis is there already, or is soon made."""
        if self._unlimited._analysis is not None or "_has_nothing_to_analyse" in vars(self._unlimited):
            return True
        # A run of a results tree has to load its payload first, which takes longer than its values.
        return sum(max(len(entry.kpis), 1 if entry.facts else 20) for entry in self.runs) <= FEW_VALUES

    @functools.cached_property
    def _has_nothing_to_analyse(self) -> bool:
        return not self.workload.kpis or self._is_alone or bool(self.order_problem)
