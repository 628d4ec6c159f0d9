"""The settings of a matrix as selectors: which values there are, and how many entries each would leave.

Values are numbered once, so that a selection among ten thousand entries is a few operations on arrays.
"""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy
from numpy.typing import NDArray

from ... import filters as filter_language
from ...filters import Filters, Value, cut, show
from ...matrix import NOT_SET, Matrix, NotSet, order, typed
from .. import controls

Mask = NDArray[numpy.bool_]


@dataclasses.dataclass(frozen=True, slots=True)
class Option:
    """A value of a setting in a selector, as a filter writes it and as a person reads it."""

    value: Value
    label: str
    count: int  # the entries that have it among those that all other filters leave
    is_chosen: bool  # if the filters name it


@dataclasses.dataclass(frozen=True, slots=True)
class Facet:
    """A selector: a setting with its values; where none is chosen all take part."""

    name: str
    options: Sequence[Option]

    @property
    def chosen(self) -> tuple[Value, ...]:
        return tuple(option.value for option in self.options if option.is_chosen)

    def toggled(self, option: Option) -> tuple[Value, ...]:
        """What is chosen when *option* changes."""
        return tuple(each.value for each in self.options if each.is_chosen != (each is option))


class Facets:
    """The selectors of one matrix: *varying* are the settings with several values, *constant* the others and theirs."""

    def __init__(self, matrix: Matrix, places: Mapping[str, Mapping[Any, int]] | None = None) -> None:
        """*places* are those of the values of some settings, by name: the oldest version is 0."""
        self.matrix = matrix
        known = places or {}
        names = dict.fromkeys(name for entry in matrix for name in entry.settings)
        columns = {
            name: _Column([entry.settings.get(name, NOT_SET) for entry in matrix], known.get(name, {}))
            for name in names
        }
        self.varying = [name for name, column in columns.items() if len(column.values) > 1]
        self.constant = {name: column.values[0] for name, column in columns.items() if len(column.values) == 1}
        self._columns = {**columns, "repeat": _Column([entry.repeat for entry in matrix], {})}

    def select(self, filters: Filters) -> Matrix:
        """The entries that *filters* leave; none is fine."""
        if not filters:
            return self.matrix
        mask = self._mask(filters)
        entries = [self.matrix.entries[place] for place in mask.nonzero()[0]]
        unfinished = [e for e in self.matrix.unfinished if filter_language.matches(filters, e.settings, e.repeat)]
        return Matrix(entries, unfinished=unfinished, notes=self.matrix.notes)

    def facets(self, filters: Filters) -> Iterator[Facet]:
        """A selector for each setting that varies in the whole matrix, with counts under *filters*."""
        for name in self.varying:
            column = self._columns[name]
            mask = self._mask({other: wanted for other, wanted in filters.items() if other != name})
            counts = numpy.bincount(column.codes[mask], minlength=len(column.values))
            wanted = filters.get(name, ())
            yield Facet(name, list(_options(column, counts, wanted)))

    def _mask(self, filters: Filters) -> Mask:
        mask = numpy.ones(len(self.matrix), dtype=bool)
        for name, wanted in filters.items():
            column = self._columns.get(name)
            if column is None:
                mask &= any(value.matches(None) for value in wanted)
            else:
                allowed = [any(value.matches(cell) for value in wanted) for cell in column.cells]
                mask &= numpy.array(allowed, dtype=bool)[column.codes]
        return mask


def _options(column: _Column, counts: NDArray[numpy.intp], wanted: Sequence[Value]) -> Iterator[Option]:
    """An option for each way to filter by a value; values that one filter can't tell apart are counted together."""
    cells = column.cells
    for written in dict.fromkeys(column.written):
        meant = [place for place, cell in enumerate(cells) if written.matches(cell)]
        own = [place for place in meant if column.written[place] == written]
        label = " or ".join("(not set)" if isinstance(column.values[at], NotSet) else show(cells[at]) for at in own)
        clashes = any(show(cell) == written.text for place, cell in enumerate(cells) if place not in own)
        yield Option(
            value=written,
            label=f'"{label}"' if written.quoted and clashes else label,
            count=int(sum(counts[place] for place in meant)),
            is_chosen=any(one.matches(cells[place]) for one in wanted for place in own),
        )


class _Column:
    """One setting of all entries: its values, those with *places* first, and for each entry the number of its own."""

    def __init__(self, cells: Sequence[Any], places: Mapping[Any, int]) -> None:
        seen = {typed(cell): cell for cell in cells}
        self.values = sorted(seen.values(), key=lambda value: (places.get(typed(value), len(places)), order(value)))
        numbers = {typed(value): number for number, value in enumerate(self.values)}
        self.codes = numpy.fromiter((numbers[typed(cell)] for cell in cells), dtype="int32", count=len(cells))
        self.written = _written(self.values)
        self.cells = [None if isinstance(value, NotSet) else value for value in self.values]


def _written(values: Sequence[Any]) -> list[Value]:
    """Each value as a filter that means it alone, in quotes only where another one reads the same."""
    texts = ["null" if isinstance(value, NotSet) else cut(value) for value in values]
    counts = collections.Counter(texts)
    return [
        Value(text, quoted=isinstance(value, str) and (counts[text] > 1 or text != text.strip()))
        for text, value in zip(texts, values, strict=True)
    ]


def short_ids(matrix: Matrix) -> dict[str, str]:
    """For each id of the matrix its first digits, as many as tell it from all others, at least eight."""
    ids = sorted({entry.test_uuid for entry in matrix if entry.test_uuid})
    short = {}
    for place, identity in enumerate(ids):
        neighbours = ids[max(0, place - 1) : place] + ids[place + 1 : place + 2]
        length = controls.SHORT_ID
        while any(other[:length] == identity[:length] for other in neighbours) and length < len(identity):
            length += 1
        short[identity] = identity[:length]
    return short
