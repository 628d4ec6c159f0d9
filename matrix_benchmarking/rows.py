"""Rows: a sequence of entries that are made when they're looked at, and its settings and KPIs column by column."""

from __future__ import annotations

import array
import functools
import itertools
import operator
import os
import types
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, overload

from .columns import SAME, Columns, Shared
from .entry import NOT_SET, Entry
from .kpi import is_one_of

T = TypeVar("T")
Codes = Sequence[int]
Column = tuple[Sequence[Any], Codes]
"""Distinct values, and for each test the place of its own among them."""


class GivenTests:
    """Entries that are there. Of :class:`ParsedTests` the same can be asked."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self._entries = entries
        self._known: dict[tuple[str, str], Any] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def entry(self, place: int) -> Entry:
        """That of the test with this place: one, however often it is looked at."""
        return self._entries[place]

    def shared(self, name: str) -> Shared[Any]:
        """A field of few values; ``names`` and ``kpi_names`` are tuples of names of settings and KPIs."""
        return self._once(("shared", name), lambda: Shared.of(self.values(name, range(len(self)))))

    def setting(self, name: str) -> Column:
        """The values of a setting; NOT_SET where a test has none."""

        def column() -> Column:
            found = Shared.of([entry.settings.get(name, NOT_SET) for entry in self._entries])
            return found.distinct, found.codes

        return self._once(("setting", name), column)

    def values(self, name: str, places: Iterable[int]) -> list[Any]:
        """A field of the entries with these places."""
        read = _GIVEN.get(name) or operator.attrgetter(name)
        return [read(self._entries[place]) for place in places]

    def kpi(self, name: str, places: Iterable[int]) -> Sequence[float | None]:
        """The values of a KPI of the tests with these places; None where a test has none."""
        return [self._entries[place].kpis.get(name) for place in places]

    def _once(self, what: tuple[str, str], make: Callable[[], T]) -> T:
        if what not in self._known:
            self._known[what] = make()
        found: T = self._known[what]
        return found


_GIVEN: Mapping[str, Callable[[Entry], Any]] = {
    "names": lambda entry: tuple(entry.settings),
    "kpi_names": lambda entry: tuple(entry.kpis),
}


class ParsedTests:
    """The tests of a tree at *root*; *load_results* loads a test's results, by its place."""

    def __init__(
        self,
        columns: Columns,
        root: Path,
        load_results: Callable[[int], types.SimpleNamespace],
        load_lts: Callable[[Entry], types.SimpleNamespace],
    ) -> None:
        self.columns = columns
        self.root = root
        self._load_results, self._load_lts = load_results, load_lts
        self._entries: list[_Row | None] = [None] * len(columns)
        self._settings = {name: ([NOT_SET, *one.distinct[1:]], one.codes) for name, one in columns.settings.items()}
        self._kpis = {name: column.reader() for name, column in columns.kpis.items()}
        self._times = columns.start_us.reader(), columns.end_us.reader()
        self._same = {name: (one.distinct, one.codes) for name in SAME for one in [getattr(columns, name)]}

    def __len__(self) -> int:
        return len(self.columns)

    def entry(self, place: int) -> Entry:
        found = self._entries[place]
        if found is None:
            found = self._entries[place] = _Row.__new__(_Row)  # whose other fields are not set
            found._table, found._place = self, place
            found.facts = found.recorded = found.kept_in = None
        return found

    def shared(self, name: str) -> Shared[Any]:
        found: Shared[Any] = getattr(self.columns, name)
        return found

    def setting(self, name: str) -> Column:
        return self._settings.get(name, ([NOT_SET], bytes(len(self))))

    def values(self, name: str, places: Iterable[int]) -> list[Any]:
        columns = self.columns
        if name in ("facts", "recorded", "kept_in"):  # a tree is no history
            return [None for _ in places]
        if name == "span_us":
            places = list(places)
            return list(zip(*(read(places) for read in self._times), strict=True))
        if name in ("location", "name"):
            return list(map(getattr(self, name), places))
        if name == "settings":
            known = self._settings
            return [{one: known[one][0][known[one][1][at]] for one in columns.names[at]} for at in places]
        if name == "kpis":
            return [{one: columns.kpis[one][place] for one in columns.kpi_names[place]} for place in places]
        column = getattr(columns, name)
        if isinstance(column, Shared):
            return list(map(column.distinct.__getitem__, map(column.codes.__getitem__, places)))
        return list(map(column.__getitem__, places))

    def kpi(self, name: str, places: Iterable[int]) -> Sequence[float | None]:
        return self._kpis[name](places) if name in self._kpis else [None for _ in places]

    def location(self, place: int) -> Path:
        relative = self.columns.path.raw(place)
        return type(self.root)(f"{str(self.root).rstrip('/')}/{os.fsdecode(relative)}") if relative else self.root

    def name(self, place: int) -> str:
        path = self.columns.path.raw(place).decode("utf-8", "backslashreplace") or self.root.name
        part = self.columns.part[place]
        return path if part is None else f"{path}#{part}"

    def fill(self, row: Entry, place: int, field: str) -> Any:
        """The value of a *field* that *row* has not been asked for, which keeps it from now on."""
        value: Any
        if field in self._same:
            distinct, codes = self._same[field]
            value = distinct[codes[place]]
        elif field == "load_results":
            value = functools.partial(self._load_results, place)
        elif field == "load_lts":
            value = functools.partial(self._load_lts, row)
        else:
            (value,) = self.values(field, (place,))
        setattr(row, field, value)
        return value


class _Row(Entry):
    """An entry whose fields are read from the columns when they are asked for, but for those that were set."""

    __slots__ = ("_place", "_table")
    _table: ParsedTests
    _place: int

    if not TYPE_CHECKING:  # which then knows the names of the fields

        def __getattr__(self, name: str) -> Any:
            """What a slot would hold that is empty."""
            if name in _Row.__slots__:
                raise AttributeError(name)
            return self._table.fill(self, self._place, name)


class Rows(Sequence[Entry]):
    """Some tests of a table, in their order."""

    def __init__(self, table: GivenTests | ParsedTests, places: Sequence[int] | None = None) -> None:
        self.table = table
        self.places: Sequence[int] = range(len(table)) if places is None else places

    @classmethod
    def of(cls, entries: Iterable[Entry]) -> Rows:
        """*entries*; those that are rows as they are."""
        return entries if isinstance(entries, Rows) else cls(GivenTests(list(entries)))

    def __len__(self) -> int:
        return len(self.places)

    def __iter__(self) -> Iterator[Entry]:
        return map(self.table.entry, self.places)

    @overload
    def __getitem__(self, place: int) -> Entry: ...
    @overload
    def __getitem__(self, place: slice) -> Rows: ...
    def __getitem__(self, place: int | slice) -> Entry | Rows:
        if isinstance(place, slice):
            return Rows(self.table, self.places[place])
        return self.table.entry(self.places[place])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and len(self) == len(other) and all(map(_same, self, other))

    __hash__ = None  # type: ignore[assignment]

    def where(self, is_wanted: Iterable[object]) -> Rows:
        """Those of which *is_wanted* is true."""
        wanted = array.array("I", itertools.compress(self.places, is_wanted))
        return self if len(wanted) == len(self) else Rows(self.table, wanted)

    def with_settings(self, wanted: Iterable[tuple[str, Collection[object]]]) -> Rows:
        """Those whose settings have one of the *wanted* values each, None where one is not set."""
        rows = self
        for name, allowed in wanted:
            values, codes = rows.setting(name)
            is_wanted = [is_one_of(None if value is NOT_SET else value, allowed) for value in values]
            rows = rows.where(map(is_wanted.__getitem__, codes))
        return rows

    def having(self, name: str) -> Rows:
        """Those of which a field isn't empty."""
        return self.where(self.values(name))

    def at(self, places: Iterable[int]) -> Rows:
        """Those with these places among them, in this order."""
        return Rows(self.table, array.array("I", map(self.places.__getitem__, places)))

    def names(self) -> list[str]:
        """The settings that there are, in the order of their first appearance."""
        return self._names("names")

    def kpi_names(self) -> list[str]:
        """The KPIs of which a row has a value, in the order of their first appearance."""
        return self._names("kpi_names")

    def _names(self, field: str) -> list[str]:
        names = self.table.shared(field)
        alike = dict.fromkeys(self.codes(names.codes))
        return list(dict.fromkeys(name for one in alike for name in names.distinct[one]))

    def codes(self, codes: Codes) -> Codes:
        """Of a column of the table the part that is of these rows."""
        if isinstance(self.places, range) and len(self.places) == len(codes):
            return codes
        return [codes[place] for place in self.places]

    def setting(self, name: str) -> Column:
        """The values of a setting, NOT_SET among them, and for each row the place of its own."""
        values, codes = self.table.setting(name)
        return values, self.codes(codes)

    def shared(self, name: str) -> Column:
        """The values of a field, and for each row the place of its own."""
        column = self.table.shared(name)
        return column.distinct, self.codes(column.codes)

    def values(self, name: str) -> list[Any]:
        """The value of a field of each row."""
        return self.table.values(name, self.places)

    def kpi(self, name: str) -> Sequence[float | None]:
        """The value of a KPI of each row; None where it has none."""
        return self.table.kpi(name, self.places)

    def failed(self) -> list[bool]:
        """For each row whether the test says that it failed, or did not finish."""
        codes, finished = self.values("exit_code"), self.values("finished")
        return [not is_finished or code not in (0, None) for is_finished, code in zip(finished, codes, strict=True)]

    @property
    def successful(self) -> Rows:
        return self.where(map(operator.not_, self.failed()))


class RunNames(Sequence[str]):
    """The names of rows, which are made when they are looked at: those of a million take 100 MB."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[str]:
        return (name for place in self._rows.places for name in self._rows.table.values("name", (place,)))

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[str]: ...
    def __getitem__(self, place: int | slice) -> str | Sequence[str]:
        if isinstance(place, slice):
            return RunNames(self._rows[place])
        return self._rows[place].name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(list(self))


def _same(one: object, other: object) -> bool:
    return one is other or one == other
