"""Tables of a report: one description, shown as HTML on a static page and as a grid in the application."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ..kpi import KPIDefinition

ROWS_SHOWN = 500


@dataclasses.dataclass(frozen=True, slots=True)
class Column:
    """A column's header: its title, the unit of all its cells, and an explanation."""

    title: str
    unit: str = ""
    numeric: bool = False
    help: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class Cell:
    """A cell's content (text or components), and what it is sorted by where that isn't its text."""

    content: Any
    sort: float | None = None
    mark: bool = False


Row = Sequence[Cell | str]


def count_cell(count: int) -> Cell:
    """A number of things."""
    return Cell(str(count), sort=count)


def kpi_cell(kpi: KPIDefinition, value: float, *, mark: bool = False) -> Cell:
    """A KPI's value without its unit, sorted, filtered and exported in the unit in which it is shown."""
    return Cell(kpi.show(value, unit=False), sort=value / kpi.divisor, mark=mark)


@dataclasses.dataclass(frozen=True)
class Table:
    """A table as a report describes it; it stands wherever a Dash component can.

    Attributes:
        source: its rows; an iterator is read when they are needed.
        caption: what it shows.
        limit: how many rows a static page shows; the application has all.
    """

    columns: Sequence[Column]
    source: Iterable[Row]
    caption: str
    limit: int = ROWS_SHOWN

    @functools.cached_property
    def rows(self) -> Sequence[Row]:
        return tuple(self.source)

    @property
    def is_lazy(self) -> bool:
        """True while its rows have not been made: there may be many."""
        return isinstance(self.source, Iterator) and "rows" not in self.__dict__

    def as_html(self) -> Any:
        """The table as Dash's HTML elements, in a region that scrolls; beyond the limit it says what is left out."""
        from dash import html

        shown = self.rows[: self.limit]
        caption = self.caption
        if len(self.rows) > self.limit:
            caption = f"{caption} (the first {self.limit} of {len(self.rows)} rows)"
        label: dict[str, Any] = {"aria-label": caption}
        body = [html.Tr([_cell(cell, column) for cell, column in zip(row, self.columns, strict=True)]) for row in shown]
        return html.Div(
            html.Table(
                [
                    html.Caption(caption),
                    html.Thead(html.Tr([_header(column) for column in self.columns])),
                    html.Tbody(body),
                ],
                className="sortable",
            ),
            className="table-scroll",
            tabIndex="0",
            role="region",
            **label,
        )


def table(columns: Sequence[Column], rows: Iterable[Row], *, caption: str, limit: int = ROWS_SHOWN) -> Table:
    """A :class:`Table` of *rows*, each with a cell for each of *columns*; many rows are better given as an iterator."""
    return Table(tuple(columns), rows, caption, limit)


def _header(column: Column) -> Any:
    from dash import html

    unit: list[Any] = [" ", html.Span(column.unit, className="unit")] if column.unit else []
    return html.Th(
        [html.Span(column.title), *unit],
        scope="col",
        className="number" if column.numeric else None,
        title=column.help or None,
    )


def _cell(cell: Cell | str, column: Column) -> Any:
    from dash import html

    if isinstance(cell, str):
        cell = Cell(cell)
    classes = [name for name, wanted in (("number", column.numeric), ("mark", cell.mark)) if wanted]
    data: dict[str, Any] = {} if cell.sort is None else {"data-sort": repr(float(cell.sort))}
    return html.Td(cell.content, className=" ".join(classes) or None, **data)
