"""One test in a matrix: what is known of it, and how its settings are told apart and put in order.

Types are kept: ``1``, ``"1"``, ``1.0`` and ``true`` are different settings.
"""

from __future__ import annotations

import dataclasses
import re
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from . import filters as _filters
from .errors import LONGEST_REASON, MatbenchError, shortened
from .filters import Scalar
from .recorded import Environment, parse_environment, read_environment


class NotSet:
    """The value of a setting that an entry doesn't have, beside entries that have it."""

    def __repr__(self) -> str:
        return "(not set)"


NOT_SET = NotSet()
_NUMBER, _DIGITS = re.compile("[0-9]+"), 20


def typed(value: object) -> tuple[str, object]:
    """A key under which ``1``, ``"1"``, ``1.0`` and ``True`` are different."""
    return type(value).__name__, value


def order(value: object) -> tuple[int, float, str]:
    """A sorting key over mixed settings: numbers by size, then text, with the numbers in it by size, then the rest."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return 0, float(value), type(value).__name__
    if isinstance(value, str):
        return 1, 0.0, f"{_NUMBER.sub(lambda digits: digits[0].zfill(_DIGITS), value)}\0{value}"
    return 2, 0.0, str(value)


@dataclasses.dataclass(frozen=True, slots=True)
class Problem:
    """Something wrong with one test: what, and in which file of the test directory, or field of its payload."""

    reason: str
    file: str | None = None

    def __post_init__(self) -> None:
        """Cut a reason that quotes more of a file than a person would read."""
        object.__setattr__(self, "reason", shortened(self.reason, LONGEST_REASON))

    def __str__(self) -> str:
        return f"{self.file}: {self.reason}" if self.file else self.reason


DID_NOT_FINISH = "did not finish"
"""How the problem of a test begins that has no exit code; one whose settings are lost may have finished."""


class Facts(msgspec.Struct, frozen=True):
    """What its payload says of a run of a history, known without loading it.

    Attributes:
        labels: what identifies a series besides the KPI's name; None where that can't be told.
        other_units: the KPIs whose values are in another unit than the workload's today, each with both units, as
            ``in s, and the workload says ms``. They are unknown, and among the entry's ``missing_kpis``.
        other_directions: the KPIs that were better the other way round than they are today.
        schema_version: that of its payload; None for a run of a results tree, which is computed today.
    """

    labels: Mapping[str, Any] | None
    other_units: Mapping[str, str] = msgspec.field(default_factory=dict)
    other_directions: frozenset[str] = frozenset()
    schema_version: str | None = None


@dataclasses.dataclass(slots=True)
class Entry:
    """One test: settings, location and exit code at hand; results and LTS payload loaded on demand.

    Attributes:
        settings: the coordinates in the matrix, without ``repeat``.
        repeat: index among the runs at the same settings.
        location: the test directory (or file, in a flat tree).
        name: the location relative to the results directory, with ``/``; for one test of several in a file, with
            ``#`` and the part that it is.
        exit_code: 0 for success; None where the artifacts don't tell.
        finished: False for a test without an exit code, or with unreadable settings: it has no results.
        test_uuid: stable id of the test; None for an unfinished one.
        has_own_uuid: True if the test carries its id; otherwise it is a digest of its content.
        problems: what the parsers could not read.
        campaign: id of the start of a benchmark that measured it; None where none is recorded.
        round: which pass over the points of an interleaved campaign it belongs to, from 1; None for none.
        host: what tells its machine from others, as far as that is recorded: see :attr:`.Environment.host`.
        span_us: when it started and ended, in microseconds since 1970, UTC; None where unknown. A run of a history
            whose end is unknown has its start there, too.
        measurement: digest of the artifacts that were recorded, whatever describes them; it ends with ``*`` where other
            tests of the tree have the same artifacts, and so doesn't tell which test it is. None without any.
        missing_files: the workload's important files that are not there.
        kpis: the KPI values that could be computed, by name.
        missing_kpis: for each other KPI the reason.
        warnings: what the workload says makes this test's numbers doubtful.
        implausible: values that can't be, a sentence each: none of the run's numbers is believed.
        harmless: what else can't be, or isn't known, and spoils no number, such as a date in the future.
        facts: what its payload says of it; None where that has to be loaded for it, as of a test of a tree.
        recorded: when a history first saw the run: (1, microseconds since 1970) or, for runs of before, (0, place in
            the order of insertion); equal for runs of one upload; None where it is in no history that was read.
        kept_in: the history that it was read from: such a test has no directory, and its location leads nowhere.
        part: which test of its file it is; None where a test has a place of its own.
        from_cache_alone: its artifacts are gone, and no download left them out: what was measured doesn't count.
    """

    settings: Mapping[str, Scalar]
    repeat: int
    location: Path
    name: str
    exit_code: int | None
    finished: bool = True
    test_uuid: str | None = None
    has_own_uuid: bool = False
    campaign: str | None = None
    round: int | None = None
    host: str | None = None
    span_us: tuple[int | None, int | None] = (None, None)
    measurement: str | None = None
    problems: Sequence[Problem] = ()
    missing_files: tuple[str, ...] = ()
    kpis: Mapping[str, float] = dataclasses.field(default_factory=dict)
    missing_kpis: Mapping[str, str] = dataclasses.field(default_factory=dict)
    warnings: Sequence[str] = ()
    implausible: Sequence[str] = ()
    harmless: Sequence[str] = ()
    facts: Facts | None = None
    recorded: tuple[int, int] | None = None
    kept_in: str | None = None
    part: str | None = None
    from_cache_alone: bool = False
    load_results: Callable[[], types.SimpleNamespace] = types.SimpleNamespace
    load_lts: Callable[[], types.SimpleNamespace] = types.SimpleNamespace

    @property
    def results(self) -> types.SimpleNamespace:
        """What the parsers filled. Loaded at each access: keep it in a variable."""
        return self.load_results()

    @property
    def lts(self) -> types.SimpleNamespace:
        """The lenient LTS payload, with ``metadata`` and ``results``."""
        return self.load_lts()

    @property
    def time_us(self) -> int | None:
        """When the test ended, else when it started, in microseconds since 1970, UTC; None where unknown."""
        start_us, end_us = self.span_us
        return start_us if end_us is None else end_us

    @property
    def environment(self) -> Environment:
        """Where the test was run and how to repeat it; empty where that isn't known. Read at each access."""
        if self.facts is None:
            return read_environment(self.location)
        try:
            return parse_environment(getattr(self.lts.metadata, "environment", None))
        except (MatbenchError, AttributeError):  # the history is away, or its payload isn't whole
            return Environment()

    @property
    def failed(self) -> bool:
        """True if the test says that it failed, or did not finish."""
        return not self.finished or self.exit_code not in (0, None)

    @property
    def is_unreadable(self) -> bool:
        """True if the test has no place among the others for another reason than that it did not finish."""
        return not self.finished and any(not each.reason.startswith(DID_NOT_FINISH) for each in self.problems)

    def get_name(self, variables: Iterable[str]) -> str:
        """The entry's name by the settings that vary, as ``batch_size=32, vus=16``."""
        parts = [f"{name}={_filters.show(self.settings[name])}" for name in variables if name in self.settings]
        return ", ".join(parts) or self.name
