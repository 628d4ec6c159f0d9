"""The entries of an index as rows: plain values, and numbers of places in tables.

Texts and setting values, of which many tests share few, are in tables, and each test refers to them by
number. Text is kept as bytes, since names of files needn't be UTF-8.
"""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Generic, TypeVar

import msgspec

from ..filters import Scalar
from ..matrix import Entry, Problem
from .codec import CodecError
from .find import Candidate
from .parsing import relative_name

Number = Annotated[int, msgspec.Meta(ge=0)]
"""A place in one of the tables."""

T = TypeVar("T")


class Stamp(msgspec.Struct, array_like=True, frozen=True):
    """What an index is of: another engine, workload, source or parser options make it useless."""

    engine: str
    workload: str
    code: bytes
    options: bytes


class Row(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """One entry; ``path`` is relative to the results directory, ``layout`` and ``is_file`` are its candidate's."""

    path: bytes
    names: Number
    values: list[Number]
    repeat: Number
    exit_code: Number
    finished: bool
    uuid: bytes | None
    has_own_uuid: bool
    campaign: bytes | None
    round: Number | None
    span_us: tuple[int | None, int | None]
    measurement: bytes | None
    problems: Number
    missing_files: Number
    kpi_names: Number
    kpis: list[int | float]
    missing_kpis: Number
    warnings: Number
    implausible: Number
    layout: Number | None
    is_file: bool
    from_cache_alone: bool


class Body(msgspec.Struct, array_like=True, frozen=True):
    """The whole index.

    Attributes:
        lists: of texts: names in their order, files, warnings, values that can't be.
        problems: lists of a reason and the file, if any.
        reasons: lists of a KPI and why it is missing.
    """

    stamp: Stamp
    texts: list[bytes]
    values: list[bytes | int | float | bool | None]
    lists: list[list[Number]]
    problems: list[list[tuple[Number, Number | None]]]
    reasons: list[list[tuple[Number, Number]]]
    tests: list[Row]
    unfinished: list[Row]
    notes: list[bytes]


class _Table(Generic[T]):
    """The distinct items in the order of their first use."""

    def __init__(self) -> None:
        self.items: list[T] = []
        self.numbers: dict[Hashable, int] = {}

    def add(self, key: Hashable, item: T) -> int:
        number = self.numbers[key] = len(self.items)
        self.items.append(item)
        return number


class Writer:
    """Makes rows of entries, and fills the tables that they refer to."""

    def __init__(self, root: Path) -> None:
        self._start = len(_prefix(root))
        self.texts = _Table[bytes]()
        self.values = _Table[Any]()
        self.lists = _Table[list[int]]()
        self.problems = _Table[list[tuple[int, int | None]]]()
        self.reasons = _Table[list[tuple[int, int]]]()

    def row(self, entry: Entry, candidate: Candidate | None) -> Row:
        kpis = list(entry.kpis.values())
        if not set(map(type, kpis)) <= {int, float}:
            raise CodecError("a KPI that is not a plain number")
        return Row(
            path=os.fsencode(str(entry.location)[self._start :]),
            names=self._list(entry.settings),
            values=[self._value(value) for value in entry.settings.values()],
            repeat=self._value(entry.repeat),
            exit_code=self._value(entry.exit_code),
            finished=entry.finished,
            uuid=None if entry.test_uuid is None else to_bytes(entry.test_uuid),
            has_own_uuid=entry.has_own_uuid,
            campaign=None if entry.campaign is None else to_bytes(entry.campaign),
            round=entry.round,
            span_us=entry.span_us,
            measurement=None if entry.measurement is None else to_bytes(entry.measurement),
            problems=self._problems(tuple(entry.problems)),
            missing_files=self._list(entry.missing_files),
            kpi_names=self._list(entry.kpis),
            kpis=kpis,
            missing_kpis=self._reasons(entry.missing_kpis),
            warnings=self._list(entry.warnings),
            implausible=self._list(entry.implausible),
            layout=None if candidate is None else candidate.layout,
            is_file=candidate is not None and candidate.is_file,
            from_cache_alone=entry.from_cache_alone,
        )

    def _text(self, text: str) -> int:
        number = self.texts.numbers.get(text)
        return self.texts.add(text, to_bytes(text)) if number is None else number

    def _value(self, value: Scalar) -> int:
        kind = type(value)
        key = (kind, repr(value)) if kind is float else (kind, value)  # 0.0 and -0.0 are equal
        number = self.values.numbers.get(key)
        return self.values.add(key, _write_value(value)) if number is None else number

    def _list(self, texts: Iterable[str]) -> int:
        key = tuple(texts)
        number = self.lists.numbers.get(key)
        return self.lists.add(key, [self._text(text) for text in key]) if number is None else number

    def _problems(self, problems: tuple[Problem, ...]) -> int:
        number = self.problems.numbers.get(problems)
        if number is not None:
            return number
        texts = [(one.reason, one.file) for one in problems]
        rows = [(self._text(reason), None if file is None else self._text(file)) for reason, file in texts]
        return self.problems.add(problems, rows)

    def _reasons(self, missing: Mapping[str, str]) -> int:
        key = tuple(missing.items())
        number = self.reasons.numbers.get(key)
        if number is not None:
            return number
        return self.reasons.add(key, [(self._text(name), self._text(reason)) for name, reason in key])


class Reader:
    """Makes entries of rows."""

    def __init__(self, body: Body, root: Path) -> None:
        self._root, self._prefix = root, _prefix(root)
        texts = [to_text(text) for text in body.texts]
        self._values = [_read_value(value) for value in body.values]
        self._lists = [tuple([texts[number] for number in numbers]) for numbers in body.lists]
        self._problems = [
            tuple([Problem(texts[reason], None if file is None else texts[file]) for reason, file in problems])
            for problems in body.problems
        ]
        self._reasons = [{texts[name]: texts[reason] for name, reason in pairs} for pairs in body.reasons]

    def test(self, row: Row) -> tuple[Entry, Candidate]:
        entry = self.entry(row)
        counts = not row.from_cache_alone
        return entry, Candidate(entry.location, row.layout, is_file=row.is_file, cache_counts=counts)

    def entry(self, row: Row) -> Entry:
        lists, values, location = self._lists, self._values, self._path(row.path)
        return Entry(
            settings=dict(zip(lists[row.names], [values[number] for number in row.values], strict=True)),
            repeat=_whole(values[row.repeat]),
            location=location,
            name=relative_name(location, self._root),
            exit_code=None if values[row.exit_code] is None else _whole(values[row.exit_code]),
            finished=row.finished,
            test_uuid=None if row.uuid is None else to_text(row.uuid),
            has_own_uuid=row.has_own_uuid,
            campaign=None if row.campaign is None else to_text(row.campaign),
            round=row.round,
            span_us=row.span_us,
            measurement=None if row.measurement is None else to_text(row.measurement),
            problems=self._problems[row.problems],
            missing_files=lists[row.missing_files],
            kpis=dict(zip(lists[row.kpi_names], row.kpis, strict=True)),
            missing_kpis=dict(self._reasons[row.missing_kpis]),
            warnings=lists[row.warnings],
            implausible=lists[row.implausible],
            from_cache_alone=row.from_cache_alone,
        )

    def _path(self, relative: bytes) -> Path:
        if not relative:
            return self._root
        if relative.startswith(b"/") or b"\0" in relative or (b".." in relative and b".." in relative.split(b"/")):
            raise ValueError("a path out of the tree")
        return Path(self._prefix + os.fsdecode(relative))


def _prefix(root: Path) -> str:
    return f"{str(root).rstrip('/')}/"


def to_bytes(text: str) -> bytes:
    """*text* as bytes, whatever is in it.

    Raises:
        CodecError: it is no text.
    """
    if type(text) is not str:
        raise CodecError(f"a {type(text).__name__} in the place of text")
    return text.encode("utf-8", "surrogatepass")


def to_text(content: bytes) -> str:
    """What :func:`to_bytes` made bytes of."""
    return content.decode("utf-8", "surrogatepass")


def _write_value(value: Scalar) -> bytes | int | float | bool | None:
    """Text, and whole numbers beyond 64 bits, as bytes; everything else as it is."""
    if isinstance(value, str):
        return b"t" + to_bytes(value)
    if type(value) is int and not -(1 << 63) <= value < (1 << 63):
        return b"x" + hex(value).encode()
    if type(value) not in (int, float, bool, type(None)):
        raise CodecError(f"a setting that is a {type(value).__name__}")
    return value


def _read_value(value: bytes | int | float | bool | None) -> Scalar:
    if not isinstance(value, bytes):
        return value
    if value.startswith(b"x"):
        return int(value[1:], 16)
    if value.startswith(b"t"):
        return to_text(value[1:])
    raise ValueError("a setting of no kind")


def _whole(value: Scalar) -> int:
    if type(value) is not int:
        raise ValueError("a whole number is something else")
    return value
