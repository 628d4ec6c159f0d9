"""The matrix: all entries of one parse, and their selection by settings.

Types are kept: ``1``, ``"1"``, ``1.0`` and ``true`` are different settings. Nothing is
deduplicated: repeats are entries of their own.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import filters as _filters
from .entry import DID_NOT_FINISH as DID_NOT_FINISH
from .entry import NOT_SET as NOT_SET
from .entry import Entry as Entry
from .entry import Facts as Facts
from .entry import NotSet as NotSet
from .entry import Problem as Problem
from .entry import order as order
from .entry import typed as typed
from .errors import ConfigError, did_you_mean
from .filters import Filters, Scalar
from .rows import Column, Rows

if TYPE_CHECKING:
    import pandas

SettingLists = Sequence[Sequence[tuple[str, Scalar]]]
Variables = dict[str, list[Scalar]]


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
        self.entries = Rows.of(entries)
        self.unfinished = Rows.of(unfinished)
        self.notes = list(notes)

    def __len__(self) -> int:
        return len(self.entries)

    @functools.cached_property
    def damaged_files(self) -> Rows:
        """Those of *unfinished* that are no tests, but files that hold some which could be read."""
        lost = [entry for entry in self.unfinished if entry.is_unreadable]
        of_some = {one.location for one in self.entries.having("part")} if lost else set()
        return Rows.of(entry for entry in lost if entry.location in of_some)

    @property
    def tests(self) -> int:
        """How many there are, the unfinished ones among them."""
        return len(self) + len(self.unfinished) - len(self.damaged_files)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    @property
    def settings(self) -> dict[str, list[Any]]:
        """All settings, each with its values in order; NOT_SET where only some entries have it."""
        return _values_by_name(self.entries)

    def variables(self, settings: Mapping[str, Scalar] | None = None) -> Variables:
        """The settings with more than one value among the entries that have these *settings*."""
        selected = _having(self.entries, settings or {})
        return {name: values for name, values in _values_by_name(selected).items() if len(values) > 1}

    def all_records(
        self, settings: Mapping[str, Scalar] | None = None, setting_lists: SettingLists = ()
    ) -> Iterator[Entry]:
        """The entries that have these *settings* and, of each list, one ``(name, value)`` pair.

        They come in the order of the lists, the repeats of a point one after the other.
        """
        return iter(self.records(settings or {}, setting_lists))

    def count_records(self, settings: Mapping[str, Scalar] | None = None, setting_lists: SettingLists = ()) -> int:
        """How many entries :meth:`all_records` gives."""
        return len(self.records(settings or {}, setting_lists))

    def records(self, settings: Mapping[str, Scalar], setting_lists: SettingLists) -> Rows:
        """As :meth:`all_records`, as rows."""
        selected = _having(self.entries, settings)
        keys = []
        for pairs in filter(None, setting_lists):
            known = {typed(value): place for place, (_, value) in enumerate(pairs)}
            values, codes = selected.setting(pairs[0][0])
            wanted = [known.get(typed(value)) for value in values]
            keys.append([wanted[code] for code in codes])
        repeats, codes = selected.shared("repeat")
        keys.append([repeats[code] for code in codes])
        rows = list(zip(*keys, strict=True))
        there = [place for place, row in enumerate(rows) if None not in row]
        return selected.at(sorted(there, key=rows.__getitem__))

    def filtered(self, filters: Filters) -> Matrix:
        """The part of the matrix that *filters* select.

        Raises:
            ConfigError: a setting that no test has, or nothing selected.
        """
        if not filters:
            return self
        self._check_names(filters)
        selected = self.selected(filters)
        if not selected.entries and not selected.unfinished:
            raise ConfigError(f"no test matches the filter {self._describe(filters)}")
        return selected

    def check_values(self, filters: Filters) -> None:
        """Raise ConfigError for a name or a value of *filters* that no test has, be it beside others that some have."""
        self._check_names(filters)
        _filters.check_values(filters, {name: map(_as_filtered, self._there(name)) for name in filters})

    def _check_names(self, filters: Filters) -> None:
        _filters.check_names(filters, {*self.entries.names(), *self.unfinished.names(), "repeat"})

    def _there(self, name: str) -> list[Any]:
        """The values of a setting or of ``repeat`` that tests have, NOT_SET where one has none."""
        columns = [_column(rows, name) for rows in (self.entries, self.unfinished)]
        found = [values[code] for values, codes in columns for code in dict.fromkeys(codes)]
        return list({typed(value): value for value in found}.values())

    def selected(self, filters: Filters) -> Matrix:
        """As :meth:`filtered`, where nothing may be left."""
        notes = [*self.notes, *_unknown(filters, self.unfinished)]
        return Matrix(_matching(filters, self.entries), unfinished=_matching(filters, self.unfinished), notes=notes)

    def _describe(self, filters: Filters) -> str:
        parts = []
        for name, values in filters.items():
            wanted = ":".join(value.text for value in values)
            there = [] if name == "repeat" else sorted(self._there(name), key=order)[:10]
            parts.append(f"{name}={wanted} (there: {', '.join(map(str, there))})" if there else f"{name}={wanted}")
        return ", ".join(parts)

    def to_dataframe(self, series: str | None = None) -> pandas.DataFrame:
        """One row an entry: settings, ``repeat``, KPIs, ``exit_code``, ``test_uuid``, ``location``.

        A setting that has the name of another column is in a column ``setting_NAME``.

        Args:
            series: a list of records in the payloads' results; then there is one row for each of its records, with the
                record's fields as ``SERIES_FIELD`` besides. An entry without any has no row.

        Raises:
            ConfigError: no payload has a list of records *series*.
        """
        import pandas

        per_entry: Sequence[list[dict[str, Any]]] = [[{}]] * len(self.entries)
        if series is not None:
            per_entry = _records(self.entries, series)
        rows = [(entry, record) for entry, records in zip(self.entries, per_entry, strict=True) for record in records]
        taken = {"repeat", "exit_code", "test_uuid", "location"}
        taken.update(*(entry.kpis for entry in self.entries), *(record for _, record in rows))
        kinds: list[dict[str, list[Any]]] = [{}, {}, {}, {}]  # columns of settings, of KPIs, of records, and the last
        for place, (entry, record) in enumerate(rows):
            settings = {f"setting_{name}" if name in taken else name: value for name, value in entry.settings.items()}
            last = {"exit_code": entry.exit_code, "test_uuid": entry.test_uuid, "location": entry.name}
            of_kpis = {"repeat": entry.repeat, **entry.kpis}
            of_kinds: Sequence[Mapping[str, Any]] = (settings, of_kpis, record, last)
            for columns, of_kind in zip(kinds, of_kinds, strict=True):
                for name, value in of_kind.items():
                    columns.setdefault(name, [math.nan] * len(rows))[place] = _encodable(value)
        columns = {name: values for each in kinds for name, values in each.items()}
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
                test_uuid = id_beside(test_uuid, name)
            taken.add(test_uuid)
            part = dataclasses.replace(
                entry, settings={TREE: name, **entry.settings}, name=f"{name}/{entry.name}", test_uuid=test_uuid
            )
            (entries if entry.finished else unfinished).append(part)
        notes += [f"{name}: {note}" for note in matrix.notes]
    return Matrix(entries, unfinished=unfinished, notes=notes)


def id_beside(test_uuid: str, tree: str) -> str:
    """The id in another *tree* of a test whose id is taken."""
    return str(uuid.uuid5(uuid.UUID(test_uuid), tree))


def _records(entries: Iterable[Entry], series: str) -> list[list[dict[str, Any]]]:
    """The records of one series of each entry, whether its payload has been read from artifacts or from a file."""
    found, lists = list[list[dict[str, Any]]](), set[str]()
    for entry in entries:  # of whose results no more is kept
        results = _fields(entry.lts.results)
        lists.update(name for name, value in results.items() if isinstance(value, list | tuple))
        records = value if isinstance(value := results.get(series), list | tuple) else ()
        found.append([{f"{series}_{name}": value for name, value in _fields(one).items()} for one in records])
    if found and series not in lists:
        raise ConfigError(f"no payload has a list of records '{series}': {did_you_mean(series, lists)}")
    return found


def _fields(of: Any) -> Mapping[str, Any]:
    return of if isinstance(of, Mapping) else vars(of)


def _encodable(value: Any) -> Any:
    """Text that came from a file name and is not UTF-8, with backslashes; everything else as it is."""
    if not isinstance(value, str) or value.isascii():
        return value
    return value.encode("utf-8", "backslashreplace").decode()


def _values_by_name(rows: Rows) -> dict[str, list[Any]]:
    found = {}
    for name in rows.names():
        values, codes = rows.setting(name)
        there = {typed(values[code]): values[code] for code in dict.fromkeys(codes)}
        found[name] = sorted(there.values(), key=order)
    return found


def _having(rows: Rows, settings: Mapping[str, Scalar]) -> Rows:
    """Those of *rows* that have these *settings*."""
    for name, wanted in settings.items():
        values, codes = rows.setting(name)
        rows = rows.where(map([typed(value) == typed(wanted) for value in values].__getitem__, codes))
    return rows


def _matching(filters: Filters, rows: Rows) -> Rows:
    for name, wanted in filters.items():
        values, codes = _column(rows, name)
        allowed = [any(one.matches(_as_filtered(value)) for one in wanted) for value in values]
        rows = rows.where(map(allowed.__getitem__, codes))
    return rows


def _column(rows: Rows, name: str) -> Column:
    return rows.shared(name) if name == "repeat" else rows.setting(name)


def _as_filtered(value: Any) -> Scalar:
    """A value as a filter sees it."""
    return None if isinstance(value, NotSet) else value


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
