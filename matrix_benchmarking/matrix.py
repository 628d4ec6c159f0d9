"""The matrix: all entries of one parse, and their selection by settings.

Types are kept: ``1``, ``"1"``, ``1.0`` and ``true`` are different settings. Nothing is
deduplicated: repeats are entries of their own.
"""

from __future__ import annotations

import dataclasses
import math
import re
import types
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import filters as _filters
from .errors import LONGEST_REASON, ConfigError, shortened
from .filters import Filters, Scalar
from .recorded import Environment, read_environment

if TYPE_CHECKING:
    import pandas

SettingLists = Sequence[Sequence[tuple[str, Scalar]]]
Variables = dict[str, list[Scalar]]


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
    """Something wrong with one test: what, and in which file (relative to the test directory)."""

    reason: str
    file: str | None = None

    def __post_init__(self) -> None:
        """Cut a reason that quotes more of a file than a person would read."""
        object.__setattr__(self, "reason", shortened(self.reason, LONGEST_REASON))

    def __str__(self) -> str:
        return f"{self.file}: {self.reason}" if self.file else self.reason


DID_NOT_FINISH = "did not finish"
"""How the problem of a test begins that has no exit code; one whose settings are lost may have finished."""


@dataclasses.dataclass(frozen=True, slots=True)
class Facts:
    """What places a run in a history, known without loading its payload.

    Attributes:
        time_us: when the test ended, else when it started, in microseconds since 1970, UTC; None where unknown.
        labels: what identifies a series besides the KPI's name; None where that can't be told.
        other_units: the KPIs whose values are in another unit than the workload's today.
        other_directions: the KPIs that were better the other way round than they are today.
        schema_version: that of its payload; None for a run of a results tree, which is computed today.
        start_us: when the test started; None where unknown.
        host: what identifies the machine, as far as the payload has it: see :attr:`.Environment.host`.
    """

    time_us: int | None
    labels: Mapping[str, Any] | None
    other_units: frozenset[str] = frozenset()
    other_directions: frozenset[str] = frozenset()
    schema_version: str | None = None
    start_us: int | None = None
    host: str | None = None


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
        span_us: when a test of a tree started and ended, in microseconds since 1970, UTC; None where unknown.
        measurement: digest of the artifacts that were recorded, whatever describes them; it ends with ``*`` where other
            tests of the tree have the same artifacts, and so doesn't tell which test it is. None without any.
        missing_files: the workload's important files that are not there.
        kpis: the KPI values that could be computed, by name.
        missing_kpis: for each other KPI the reason.
        warnings: what the workload says makes this test's numbers doubtful.
        implausible: values that can't be, a sentence each: none of the run's numbers is believed.
        harmless: what else can't be, or isn't known, and spoils no number, such as a date in the future.
        facts: what places it in a history; None where only its payload says, which has to be loaded for it.
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
    def environment(self) -> Environment:
        """Where the test was run and how to repeat it; empty where that isn't recorded. Read at each access."""
        return read_environment(self.location)

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


class Matrix:
    """All entries of one parse.

    Attributes:
        entries: the finished tests, failed ones among them, in the order of their names.
        unfinished: tests that did not finish, or whose settings can't be read; their problems say which.
        notes: what was met on the way through the tree and left out, each a sentence.
    """

    def __init__(
        self, entries: Iterable[Entry], *, unfinished: Iterable[Entry] = (), notes: Iterable[str] = ()
    ) -> None:
        self.entries = list(entries)
        self.unfinished = list(unfinished)
        self.notes = list(notes)

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    @property
    def settings(self) -> dict[str, list[Any]]:
        """All settings, each with its values in order; NOT_SET where only some entries have it."""
        return _values_by_name(self.entries)

    def variables(self, settings: Mapping[str, Scalar] | None = None) -> Variables:
        """The settings with more than one value among the entries that have these *settings*."""
        selected = self.entries if not settings else [e for e in self.entries if _has(e, settings)]
        return {name: values for name, values in _values_by_name(selected).items() if len(values) > 1}

    def all_records(
        self, settings: Mapping[str, Scalar] | None = None, setting_lists: SettingLists = ()
    ) -> Iterator[Entry]:
        """The entries that have these *settings* and, of each list, one ``(name, value)`` pair.

        They come in the order of the lists, the repeats of a point one after the other.
        """
        selected = [entry for entry in self.entries if _has(entry, settings or {})]
        if not setting_lists:
            yield from sorted(selected, key=lambda entry: entry.repeat)
            return
        lists = [pairs for pairs in setting_lists if pairs]
        places = [{typed(value): place for place, (_, value) in enumerate(pairs)} for pairs in lists]
        ordered: list[tuple[list[int], int, Entry]] = []
        for entry in selected:
            values = [typed(entry.settings.get(pairs[0][0], NOT_SET)) for pairs in lists]
            if all(value in known for value, known in zip(values, places, strict=True)):
                place = [known[value] for value, known in zip(values, places, strict=True)]
                ordered.append((place, entry.repeat, entry))
        yield from (entry for _, _, entry in sorted(ordered, key=lambda item: item[:2]))

    def count_records(self, settings: Mapping[str, Scalar] | None = None, setting_lists: SettingLists = ()) -> int:
        """How many entries :meth:`all_records` gives."""
        return sum(1 for _ in self.all_records(settings, setting_lists))

    def filtered(self, filters: Filters) -> Matrix:
        """The part of the matrix that *filters* select.

        Raises:
            ConfigError: a setting that no test has, or nothing selected.
        """
        if not filters:
            return self
        everything = [*self.entries, *self.unfinished]
        known = {name for entry in everything for name in entry.settings} | {"repeat"}
        _filters.check_names(filters, known)
        selected = self.selected(filters)
        if not selected.entries and not selected.unfinished:
            raise ConfigError(f"no test matches the filter {_describe(filters, everything)}")
        return selected

    def check_values(self, filters: Filters) -> None:
        """Raise ConfigError for a name or a value of *filters* that no test has, be it beside others that some have."""
        everything = [*self.entries, *self.unfinished]
        _filters.check_names(filters, {name for entry in everything for name in entry.settings} | {"repeat"})
        known: dict[str, dict[tuple[str, object], Any]] = {}
        for name in filters:
            cells = (entry.repeat if name == "repeat" else entry.settings.get(name) for entry in everything)
            known[name] = {typed(cell): cell for cell in cells}
        _filters.check_values(filters, {name: values.values() for name, values in known.items()})

    def selected(self, filters: Filters) -> Matrix:
        """As :meth:`filtered`, where nothing may be left."""
        selected = [e for e in self.entries if _filters.matches(filters, e.settings, e.repeat)]
        unfinished = [e for e in self.unfinished if _filters.matches(filters, e.settings, e.repeat)]
        return Matrix(selected, unfinished=unfinished, notes=[*self.notes, *_unknown(filters, self.unfinished)])

    def to_dataframe(self, series: str | None = None) -> pandas.DataFrame:
        """One row an entry: settings, ``repeat``, KPIs, ``exit_code``, ``test_uuid``, ``location``.

        A setting that has the name of another column is in a column ``setting_NAME``.

        Args:
            series: a list of records in the payloads' results; then there is one row for each of its records, with the
                record's fields as ``SERIES_FIELD`` besides. An entry without any has no row.
        """
        import pandas

        per_entry: list[list[dict[str, Any]]] = [
            [{}] if series is None else _records(entry, series) for entry in self.entries
        ]
        rows = [(entry, record) for entry, records in zip(self.entries, per_entry, strict=True) for record in records]
        taken = {"repeat", "exit_code", "test_uuid", "location"}
        taken.update(*(entry.kpis for entry in self.entries), *(record for _, record in rows))
        columns: dict[str, list[Any]] = {}
        for place, (entry, record) in enumerate(rows):
            settings = {f"setting_{name}" if name in taken else name: value for name, value in entry.settings.items()}
            last = {"exit_code": entry.exit_code, "test_uuid": entry.test_uuid, "location": entry.name}
            for name, value in {**settings, "repeat": entry.repeat, **entry.kpis, **record, **last}.items():
                if name not in columns:
                    columns[name] = [math.nan] * len(rows)
                columns[name][place] = _encodable(value)
        frame = pandas.DataFrame(columns)
        for name, values in columns.items():
            known = [value for value in values if value is not None and value == value]
            has_gaps = frame[name].dtype.kind == "f" and bool(known)
            is_whole = all(isinstance(value, int) and -(2**63) <= value < 2**63 for value in known)
            if name == "exit_code" or (has_gaps and is_whole):
                frame[name] = pandas.array(values, dtype="Int64")  # else 8 becomes 8.0 where one run lacks it
        return frame


TREE = "tree"
"""The setting that tells the entries of several results trees apart."""


def joined(trees: Mapping[str, Matrix]) -> Matrix:
    """The entries of several trees in one matrix, told apart by the setting ``tree``, which has the tree's name.

    A test that is in two trees with one id gets an id of its own in the second.

    Raises:
        ConfigError: a test has a setting of this name already.
    """
    entries: list[Entry] = []
    unfinished: list[Entry] = []
    notes: list[str] = []
    taken: set[str | None] = {None}
    for name, matrix in trees.items():
        for entry in [*matrix.entries, *matrix.unfinished]:
            if TREE in entry.settings:
                raise ConfigError(f"{entry.name} has a setting '{TREE}', so results trees can't be told apart by it")
            test_uuid = entry.test_uuid
            if test_uuid in taken and test_uuid is not None:
                test_uuid = str(uuid.uuid5(uuid.UUID(test_uuid), name))
            taken.add(test_uuid)
            part = dataclasses.replace(
                entry, settings={TREE: name, **entry.settings}, name=f"{name}/{entry.name}", test_uuid=test_uuid
            )
            (entries if entry.finished else unfinished).append(part)
        notes += [f"{name}: {note}" for note in matrix.notes]
    return Matrix(entries, unfinished=unfinished, notes=notes)


def _records(entry: Entry, series: str) -> list[dict[str, Any]]:
    """The records of one series of *entry*, whether its payload has been read from artifacts or from a file."""
    results = entry.lts.results
    found = results.get(series) if isinstance(results, Mapping) else getattr(results, series, None)
    records = [record if isinstance(record, dict) else vars(record) for record in found or ()]
    return [{f"{series}_{name}": value for name, value in record.items()} for record in records]


def _encodable(value: Any) -> Any:
    """Text that came from a file name and is not UTF-8, with backslashes; everything else as it is."""
    if not isinstance(value, str) or value.isascii():
        return value
    return value.encode("utf-8", "backslashreplace").decode()


def _values_by_name(entries: Sequence[Entry]) -> dict[str, list[Any]]:
    seen: dict[str, dict[tuple[str, object], Any]] = {}
    counts: dict[str, int] = {}
    for entry in entries:
        for name, value in entry.settings.items():
            seen.setdefault(name, {})[typed(value)] = value
            counts[name] = counts.get(name, 0) + 1
    for name, count in counts.items():
        if count < len(entries):
            seen[name][typed(NOT_SET)] = NOT_SET
    return {name: sorted(values.values(), key=order) for name, values in seen.items()}


def _has(entry: Entry, settings: Mapping[str, Scalar]) -> bool:
    return all(typed(entry.settings.get(name, NOT_SET)) == typed(value) for name, value in settings.items())


def _unknown(filters: Filters, unfinished: Sequence[Entry]) -> list[str]:
    """A sentence on the tests that *filters* can neither select nor leave out: their settings can't be read."""
    names = []
    for entry in unfinished:
        known = {name: values for name, values in filters.items() if name in entry.settings}
        if entry.is_unreadable and len(known) < len(filters) and _filters.matches(known, entry.settings):
            names.append(entry.name)
    if not names:
        return []
    shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    return [f"whether the filter selects {shown} is not known: their settings can't be read"]


def _describe(filters: Filters, entries: Sequence[Entry]) -> str:
    parts = []
    for name, values in filters.items():
        wanted = ":".join(value.text for value in values)
        there = _values_by_name(entries).get(name, [])[:10]
        parts.append(f"{name}={wanted} (there: {', '.join(map(str, there))})" if there else f"{name}={wanted}")
    return ", ".join(parts)
