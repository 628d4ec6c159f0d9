"""Tables as Dash components: sortable by the page's script, numbers aligned, units in the header."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any

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


def table(columns: Sequence[Column], rows: Iterable[Row], *, caption: str, limit: int = ROWS_SHOWN) -> Any:
    """A table in a region that scrolls by itself. Beyond *limit* rows it says how many are left out."""
    from dash import html

    everything = list(rows)
    shown = everything[:limit]
    if len(everything) > limit:
        caption = f"{caption} (the first {limit} of {len(everything)} rows)"
    label: dict[str, Any] = {"aria-label": caption}
    body = [html.Tr([_cell(cell, column) for cell, column in zip(row, columns, strict=True)]) for row in shown]
    return html.Div(
        html.Table(
            [
                html.Caption(caption),
                html.Thead(html.Tr([_header(column) for column in columns])),
                html.Tbody(body),
            ],
            className="sortable",
        ),
        className="table-scroll",
        tabIndex="0",
        role="region",
        **label,
    )


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
