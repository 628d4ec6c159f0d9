"""Tests as columns: what a parse knows of a tree, what its workers give back, and what the index of the tree keeps.

Numbers are bytes of the machine's order, so a column takes a few bytes a test, and is written and read as it is.
"""

from __future__ import annotations

import array
import itertools
import math
import os
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Generic, TypeVar, cast

import msgspec

from .entry import Entry, Problem
from .filters import Scalar

T = TypeVar("T")
Number = int | float | None
Codes = Sequence[int]

_FLOAT, _WHOLE, _NONE = range(3)
_FORMS = struct.Struct("=d"), struct.Struct("=q"), struct.Struct("=q")
_NO_TEXT = b"\xff"  # in no UTF-8


class Shared(msgspec.Struct, Generic[T], array_like=True):
    """A value for each test; one that many share is there once. ``packed`` are the places among the distinct."""

    distinct: list[T]
    packed: bytes

    @classmethod
    def of(cls, values: Sequence[T]) -> Shared[T]:
        if len(set(map(id, values))) == 1:
            return cls([values[0]], bytes(len(values)))
        numbered: _Numbered[T] = _Numbered([])
        return cls(numbered.distinct, numbered.pack(numbered.codes(values)))

    @classmethod
    def joined(cls, parts: Iterable[Shared[T]], *, reserved: Sequence[T] = ()) -> Shared[T]:
        """Those of *parts*, which have *reserved* as the first of the distinct ones, whatever others equal them."""
        numbered, codes = _Numbered(list(reserved)), array.array("I")
        kept = list(range(len(reserved)))
        for part in parts:
            known = kept + numbered.codes(part.distinct[len(reserved) :])
            codes.extend(map(known.__getitem__, part.codes))
        return cls(numbered.distinct, numbered.pack(codes))

    @property
    def codes(self) -> memoryview[int]:
        return memoryview(self.packed).cast(_width(len(self.distinct)))

    def __getitem__(self, place: int) -> T:
        return self.distinct[self.codes[place]]

    def __iter__(self) -> Iterator[T]:
        return map(self.distinct.__getitem__, self.codes)

    def check(self, length: int) -> None:
        """Raise ValueError unless it has *length* values."""
        if len(self.codes) != length or (length and max(self.codes) >= len(self.distinct)):
            raise ValueError("a column that is too short or too long, or has a value that isn't there")


class _Numbered(Generic[T]):
    """Distinct values, with a number for each."""

    def __init__(self, distinct: list[T]) -> None:
        self.distinct = distinct
        self._numbers: dict[str, int] = {}

    def codes(self, values: Iterable[T]) -> list[int]:
        found = []
        for value in values:
            key = repr(value)  # tells 1, 1.0, "1" and True apart, and 0.0 from -0.0
            number = self._numbers.get(key)
            if number is None:
                number = self._numbers[key] = len(self.distinct)
                self.distinct.append(value)
            found.append(number)
        return found

    def pack(self, codes: Iterable[int]) -> bytes:
        return array.array(_width(len(self.distinct)), codes).tobytes()


def _width(distinct: int) -> Any:
    return "B" if distinct <= 1 << 8 else "H" if distinct <= 1 << 16 else "I"


class Numbers(msgspec.Struct, array_like=True):
    """A number for each test, or None: eight bytes, of which ``kinds`` says whether they are a double or a whole."""

    packed: bytes
    kinds: bytes

    @classmethod
    def of(cls, values: Sequence[Number]) -> Numbers:
        if set(map(type, values)) <= {float}:
            return cls(array.array("d", cast("Sequence[float]", values)).tobytes(), bytes(len(values)))
        kinds = bytes(map(_kind, values))
        known = (0 if value is None else value for value in values)  # and not the 0 of −0.0
        return cls(b"".join(_FORMS[kind].pack(value) for kind, value in zip(kinds, known, strict=True)), kinds)

    @classmethod
    def none(cls, length: int) -> Numbers:
        return cls(bytes(8 * length), bytes([_NONE]) * length)

    @classmethod
    def joined(cls, parts: Sequence[Numbers]) -> Numbers:
        return cls(b"".join([part.packed for part in parts]), b"".join([part.kinds for part in parts]))

    def __getitem__(self, place: int) -> Number:
        kind = self.kinds[place]
        if kind == _NONE:
            return None
        value: Number = _FORMS[kind].unpack_from(self.packed, 8 * place)[0]
        return value

    def reader(self) -> Callable[[Iterable[int]], Sequence[Number]]:
        """What gives those of the tests with some places, quicker than one by one."""
        doubles, wholes = memoryview(self.packed).cast("d"), memoryview(self.packed).cast("q")
        kinds, there = self.kinds, set(self.kinds)
        if there <= {_FLOAT}:
            return lambda places: array.array(
                "d", self.packed if places == range(len(kinds)) else map(doubles.__getitem__, places)
            )
        if there == {_FLOAT, _NONE}:
            return lambda places: [None if kinds[place] else doubles[place] for place in places]
        if there == {_WHOLE}:
            return lambda places: list(map(wholes.__getitem__, places))
        return lambda places: list(map(self.__getitem__, places))

    def check(self, length: int) -> None:
        """Raise ValueError unless it has *length* values."""
        if len(self.kinds) != length or len(self.packed) != 8 * length or (length and max(self.kinds) > _NONE):
            raise ValueError("a column of numbers that is too short or too long")
        floats: Sequence[float] = memoryview(self.packed).cast("d")
        if self.kinds.count(_FLOAT) < length:
            floats = list(itertools.compress(floats, (kind == _FLOAT for kind in self.kinds)))
        if not math.isfinite(sum(floats)) and not all(map(math.isfinite, floats)):  # a sum may be too large
            raise ValueError("a number that is not finite")


def _kind(value: Number) -> int:
    if value is None:
        return _NONE
    return _WHOLE if isinstance(value, int) and -(1 << 63) <= value < 1 << 63 else _FLOAT


class Texts(msgspec.Struct, array_like=True):
    """A text or None for each test, one after the other; ``ends`` says where each is over."""

    joined_text: bytes
    ends: bytes

    @classmethod
    def of(cls, values: Iterable[str | None]) -> Texts:
        return cls.of_bytes(_NO_TEXT if one is None else one.encode("utf-8", "surrogatepass") for one in values)

    @classmethod
    def of_bytes(cls, values: Iterable[bytes]) -> Texts:
        parts = list(values)
        return cls(b"".join(parts), array.array("Q", itertools.accumulate(map(len, parts))).tobytes())

    @classmethod
    def joined(cls, parts: Sequence[Texts]) -> Texts:
        ends, start = array.array("Q"), 0
        for part in parts:
            ends.extend([start + end for end in part._ends])
            start += len(part.joined_text)
        return cls(b"".join([part.joined_text for part in parts]), ends.tobytes())

    @property
    def _ends(self) -> memoryview[int]:
        return memoryview(self.ends).cast("Q")

    def raw(self, place: int) -> bytes:
        ends = self._ends
        return self.joined_text[ends[place - 1] if place else 0 : ends[place]]

    def raws(self) -> Iterator[bytes]:
        start = 0
        for end in self._ends:
            yield self.joined_text[start:end]
            start = end

    def __getitem__(self, place: int) -> str | None:
        return _text(self.raw(place))

    def __iter__(self) -> Iterator[str | None]:
        return map(_text, self.raws())

    def check(self, length: int) -> None:
        """Raise ValueError unless it has *length* values."""
        ends = self._ends.tolist()
        if len(ends) != length or ends != sorted(ends) or (ends[-1] if ends else 0) != len(self.joined_text):
            raise ValueError("a column of texts that is too short or too long")


def _text(raw: bytes) -> str | None:
    return None if raw == _NO_TEXT else raw.decode("utf-8", "surrogatepass")


class Columns(msgspec.Struct):
    """Tests, column by column.

    ``path`` is relative to the results directory; ``names`` and ``kpi_names`` say in which order a test has which of
    the ``settings``, whose first distinct value stands for *not set*, and of the ``kpis``; ``layout`` and ``is_file``
    say how it was found.
    """

    path: Texts
    names: Shared[tuple[str, ...]]
    settings: dict[str, Shared[Scalar]]
    repeat: Shared[int]
    exit_code: Shared[int | None]
    finished: Shared[bool]
    test_uuid: Texts
    has_own_uuid: Shared[bool]
    campaign: Shared[str | None]
    round: Shared[int | None]
    host: Shared[str | None]
    start_us: Numbers
    end_us: Numbers
    measurement: Texts
    problems: Shared[tuple[Problem, ...]]
    missing_files: Shared[tuple[str, ...]]
    kpi_names: Shared[tuple[str, ...]]
    kpis: dict[str, Numbers]
    missing_kpis: Shared[dict[str, str]]
    warnings: Shared[tuple[str, ...]]
    implausible: Shared[tuple[str, ...]]
    harmless: Shared[tuple[str, ...]]
    from_cache_alone: Shared[bool]
    part: Shared[str | None]
    layout: Shared[Annotated[int, msgspec.Meta(ge=0)] | None]
    is_file: Shared[bool]

    def __len__(self) -> int:
        return len(self.path.ends) // 8

    @classmethod
    def of(cls, entries: Sequence[Entry], found: Iterable[tuple[int | None, bool]], root: Path) -> Columns:
        """The *entries* of the tree at *root*, and of each its layout, and whether it is a file."""
        start = len(str(root).rstrip("/")) + 1
        names, kpi_names = [tuple(entry.settings) for entry in entries], [tuple(entry.kpis) for entry in entries]
        settings, kpis = [entry.settings for entry in entries], [entry.kpis for entry in entries]
        ways = list(found)
        return cls(
            path=Texts.of_bytes(os.fsencode(str(entry.location)[start:]) for entry in entries),
            names=Shared.of(names),
            settings={name: _setting(name, settings) for name in _flat(names)},
            start_us=Numbers.of([entry.span_us[0] for entry in entries]),
            end_us=Numbers.of([entry.span_us[1] for entry in entries]),
            test_uuid=Texts.of(entry.test_uuid for entry in entries),
            measurement=Texts.of(entry.measurement for entry in entries),
            kpi_names=Shared.of(kpi_names),
            kpis={name: Numbers.of([one.get(name) for one in kpis]) for name in _flat(kpi_names)},
            layout=Shared.of([layout for layout, _ in ways]),
            is_file=Shared.of([is_file for _, is_file in ways]),
            **{name: Shared.of([getattr(entry, name) for entry in entries]) for name in SAME},
        )

    @classmethod
    def joined(cls, parts: Sequence[Columns]) -> Columns:
        """All tests of *parts*, in their order."""
        columns: dict[str, Any] = {}
        for name in cls.__struct_fields__:
            of = [getattr(part, name) for part in parts]
            if name in ("settings", "kpis"):
                columns[name] = {each: _joined_by_name(each, of, parts, name) for each in _flat(map(tuple, of))}
            else:
                columns[name] = _KINDS.get(name, Shared).joined(of)
        return cls(**columns)

    def check(self, layouts: int) -> None:
        """Raise ValueError or KeyError unless it is of tests in a tree, for a workload with so many *layouts*."""
        for name in self.__struct_fields__:
            column = getattr(self, name)
            for each in column.values() if isinstance(column, dict) else [column]:
                each.check(len(self))
        for texts in (self.test_uuid, self.measurement):
            if not texts.joined_text.isascii():
                list(texts)  # raises UnicodeDecodeError, a ValueError
        for path in self.path.raws():
            if path.startswith(b"/") or b"\0" in path or (b".." in path and b".." in path.split(b"/")):
                raise ValueError("a path out of the tree")
        _check_names(self.names, {name: each.codes for name, each in self.settings.items()}, 0)
        _check_names(self.kpi_names, {name: each.kinds for name, each in self.kpis.items()}, _NONE)
        if any(layout is not None and layout >= layouts for layout in self.layout.distinct):
            raise ValueError("a layout that the workload doesn't have")


_KINDS: Mapping[str, Any] = {
    **dict.fromkeys(("path", "test_uuid", "measurement"), Texts),
    **dict.fromkeys(("start_us", "end_us"), Numbers),
}
SAME = tuple(name for name in Columns.__struct_fields__ if name in Entry.__slots__ and name not in
             {*_KINDS, "settings", "kpis"})  # fmt: skip
"""The shared fields that are an entry's as they are."""


def _flat(names: Iterable[tuple[str, ...]]) -> list[str]:
    return list(dict.fromkeys(itertools.chain.from_iterable(dict.fromkeys(names))))


def _setting(name: str, settings: Sequence[Mapping[str, Scalar]]) -> Shared[Scalar]:
    numbered: _Numbered[Scalar] = _Numbered([None])
    has = [name in one for one in settings]
    codes = iter(numbered.codes(one[name] for one, there in zip(settings, has, strict=True) if there))
    return Shared(numbered.distinct, numbered.pack([next(codes) if there else 0 for there in has]))


def _joined_by_name(name: str, of: Sequence[Mapping[str, Any]], parts: Sequence[Columns], field: str) -> Any:
    if field == "kpis":
        return Numbers.joined([one.get(name) or Numbers.none(len(part)) for one, part in zip(of, parts, strict=True)])
    absent = (one.get(name) or Shared([None], bytes(len(part))) for one, part in zip(of, parts, strict=True))
    return Shared.joined(absent, reserved=[None])


def _check_names(names: Shared[tuple[str, ...]], columns: Mapping[str, Codes], absent: int) -> None:
    """Raise ValueError or KeyError unless each test has a value in *columns* for its *names*, and for no others."""
    for name in {*_flat(names.distinct), *columns}:
        has = [name in each for each in names.distinct]
        if (not all(has) or absent in columns[name]) and any(
            has[which] == (code == absent) for which, code in zip(names.codes, columns[name], strict=True)
        ):
            raise ValueError("more names than values, or fewer")
