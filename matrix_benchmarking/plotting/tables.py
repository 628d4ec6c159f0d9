"""What pages are made of: Dash's elements, text, parts that may fail, and tables."""

from __future__ import annotations

import dataclasses
import functools
import importlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias

from ..kpi import KPIDefinition

if TYPE_CHECKING:
    from dash.development.base_component import Component

Node: TypeAlias = "Component | Part | Table | str | Sequence[Node] | None"
"""Elements, our own tables and parts among them, and text."""


class _Elements:
    """A module of Dash's elements, imported when the first is made (.4 s); its types know no ``data-…``."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Callable[..., Component]:
        element: Callable[..., Component] = getattr(importlib.import_module(self._module), name)
        return element


html, dcc = _Elements("dash.html"), _Elements("dash.dcc")


@dataclasses.dataclass(frozen=True, slots=True)
class Part:
    """A part of a page that may fail by itself; the application makes one of some height when it is seen."""

    name: str
    make: Callable[[], Node]
    height_px: int = 0


def bullets(items: Iterable[Node], more: int = 0) -> Node:
    last = [html.Li(f"and {more} more")] if more > 0 else []
    return html.Ul([*(html.Li(item) for item in items), *last])


def how_to_read(items: Iterable[str]) -> Node:
    return html.Details([html.Summary("How to read this"), bullets(items)])


ROWS_SHOWN = 500
FEWEST_ALIKE = 3
"""From so many rows on, what they have in common is said once above them."""


@dataclasses.dataclass(frozen=True, slots=True)
class Column:
    """A column's header: its title, the unit of all its cells, an explanation, and whether it is a run's setting."""

    title: str
    unit: str = ""
    numeric: bool = False
    help: str = ""
    setting: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Cell:
    """A cell's content (text or components), and what it is sorted by where that isn't its text."""

    content: Node
    sort: float | None = None
    mark: bool = False


Row = Sequence[Cell | str]
Columns = Sequence[Column | str]
"""A column of text needs no more than its title."""


def count_cell(count: int) -> Cell:
    return Cell(str(count), sort=count)


def kpi_cell(kpi: KPIDefinition, value: float, *, mark: bool = False) -> Cell:
    """A KPI's value without its unit, sorted, filtered and exported in the unit in which it is shown."""
    return Cell(kpi.show(value, unit=False), sort=value / kpi.divisor, mark=mark)


@dataclasses.dataclass(frozen=True)
class Table:
    """A table as a report describes it; it stands wherever a Dash component can."""

    columns: Sequence[Column]
    source: Iterable[Row]  # an iterator is read when the rows are needed
    caption: str
    limit: int = ROWS_SHOWN  # of the rows on a static page; the application has all

    @functools.cached_property
    def rows(self) -> Sequence[Row]:
        return tuple(self.source)

    def values(self) -> dict[str, list[object]]:
        """By column, with its unit in brackets, what is in it: numbers as they are sorted, else text."""
        found: dict[str, list[object]] = {}
        for place, column in enumerate(self.columns):
            cells = [row[place] for row in self.rows]
            name = f"{column.title} ({column.unit})" if column.unit else column.title
            found[name] = [
                cell.sort if isinstance(cell, Cell) and column.numeric else None if column.numeric else _plain(cell)
                for cell in cells
            ]
        return found

    @functools.cached_property
    def constants(self) -> dict[int, str]:
        """The texts of the columns that say the same in each of several rows, by their place: said once above them."""
        found = {
            place: texts[0]
            for place, column in enumerate(self.columns)
            if (column.setting or not column.numeric) and (texts := [_plain(row[place]) for row in self.rows])
            if texts[0] and all(text == texts[0] for text in texts)
        }
        return found if len(self.rows) >= FEWEST_ALIKE and len(found) < len(self.columns) else {}

    @property
    def title(self) -> str:
        """The caption with what all rows have in common."""
        same = [f"{self.columns[place].title} {text}" for place, text in self.constants.items()]
        return f"{self.caption} · in all: {', '.join(same)}" if same else self.caption

    @property
    def is_lazy(self) -> bool:
        """True while its rows have not been made: there may be many."""
        return isinstance(self.source, Iterator) and "rows" not in self.__dict__

    def as_html(self) -> Component:
        """The table as Dash's HTML elements, in a region that scrolls; beyond the limit it says what is left out."""
        kept = [place for place in range(len(self.columns)) if place not in self.constants]
        columns, shown = [self.columns[place] for place in kept], self.rows[: self.limit]
        caption = self.title
        if len(self.rows) > self.limit:
            caption = f"{caption} (the first {self.limit} of {len(self.rows)} rows)"
        head = html.Thead(html.Tr([_header(column) for column in columns]))
        body = [html.Tr([_cell(row[place], self.columns[place]) for place in kept]) for row in shown]
        made = html.Table([html.Caption(caption), head, html.Tbody(body)], className="sortable")
        return html.Div(made, className="table-scroll", tabIndex="0", role="region", **{"aria-label": caption})


def table(columns: Columns, rows: Iterable[Row], *, caption: str, limit: int = ROWS_SHOWN) -> Table:
    """A :class:`Table` of *rows*, each with a cell for each of *columns*; many rows are better given as an iterator."""
    return Table(tuple(Column(one) if isinstance(one, str) else one for one in columns), rows, caption, limit)


def _plain(cell: Cell | str) -> str:
    """The text of a *cell* that is nothing else; empty for any other."""
    said = cell.content if isinstance(cell, Cell) and not cell.mark else cell
    return said if isinstance(said, str) else ""


def _header(column: Column) -> Component:
    unit: list[Node] = [" ", html.Span(column.unit, className="unit")] if column.unit else []
    kind = "number" if column.numeric else None
    return html.Th([html.Span(column.title), *unit], scope="col", className=kind, title=column.help or None)


def _cell(cell: Cell | str, column: Column) -> Component:
    if isinstance(cell, str):
        cell = Cell(cell)
    classes = [name for name, wanted in (("number", column.numeric), ("mark", cell.mark)) if wanted]
    data = {} if cell.sort is None else {"data-sort": repr(float(cell.sort))}
    return html.Td(cell.content, className=" ".join(classes) or None, **data)
