"""Tables as grids that sort, filter and export: the same description that a static page shows as HTML.

A cell's text is data: the grid writes it as text. Links go to a run of the application by its id, or to a relative
address; the page's script makes the elements.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from ..static_html import safe_address
from ..tables import Cell, Column, Table
from .tags import AgGrid, html

SHORT_ROWS = 12
"""Up to so many rows a grid is as high as they are; a longer one scrolls."""
HEIGHT_PX = 520
HEADER_PX, ROW_PX = 42, 36
"""The least that the header and a row of :data:`THEME` take: the place of a short grid until it is made."""
WRAPPED_ROWS = 200
"""Beyond, no text is broken into lines: the height of each row would have to be measured."""
FEW_COLUMNS = 4
"""So few columns share the width; more are as wide as what they hold, and scroll."""
THEME = (
    "themeQuartz.withParams({fontFamily: 'system-ui, sans-serif', fontSize: 14, "
    "spacing: 6, backgroundColor: 'var(--page)', foregroundColor: 'var(--text)', accentColor: 'var(--accent)', "
    "headerBackgroundColor: 'var(--raised)', borderColor: 'var(--line)', wrapperBorderRadius: 4})"
)
"""ag-grid's theme in the colours of the page, which change with the system's."""
Part = str | dict[str, str]


def grid(table: Table, identity: str) -> Any:
    """*table* as an element of a page, with its caption and a button that exports it."""
    wraps = len(table.columns) <= FEW_COLUMNS and len(table.rows) <= WRAPPED_ROWS
    is_short, many = len(table.rows) <= SHORT_ROWS, len(table.columns) > FEW_COLUMNS
    label: dict[str, Any] = {"aria-label": table.caption}
    described = AgGrid(
        id=identity,
        columnDefs=[_definition(column, place, is_short, many, wraps) for place, column in enumerate(table.columns)],
        rowData=[_row(row, table.columns, number) for number, row in enumerate(table.rows)],
        getRowId="params.data.id",
        columnSize="autoSize" if many else "responsiveSizeToFit",
        className="grid",
        style={"height": None if is_short else f"{HEIGHT_PX}px"},
        dashGridOptions={
            "theme": {"function": THEME},
            "domLayout": "autoHeight" if is_short else "normal",
            "enableCellTextSelection": True,
            "ensureDomOrder": True,
            "suppressColumnVirtualisation": True,
            "suppressFieldDotNotation": True,
            "tooltipShowDelay": 300,
            "tooltipShowMode": "whenTruncated",
            "animateRows": False,
        },
        csvExportParams={"fileName": f"{identity}.csv"},
    )
    count = f"{len(table.rows)} {'row' if len(table.rows) == 1 else 'rows'}"
    export = html.Button(
        "CSV",
        className="tool",
        title="Export this table as CSV",
        **{"data-export-grid": identity, "aria-label": f"Export as CSV: {table.caption}"},
    )
    head = html.Div([html.Span(f"{table.caption} · {count}", className="caption"), export], className="grid-head")
    # Dash loads the grid after the page: until then its place is kept.
    least = HEADER_PX + ROW_PX * len(table.rows) if is_short else HEIGHT_PX
    place = html.Div(described, style={"minHeight": f"{least}px"})
    return html.Div([head, place], className="grid-box", role="group", **label)


def _definition(column: Column, place: int, is_short: bool, many: bool, wraps: bool) -> dict[str, Any]:
    """ag-grid's definition of a column; its cells are under its number."""
    title = f"{column.title} ({column.unit})" if column.unit else column.title
    definition: dict[str, Any] = {
        "field": f"c{place}",
        "headerName": title,
        "headerTooltip": column.help or None,
        "cellRenderer": "MatbenchCell",
        "filter": not is_short and ("agNumberColumnFilter" if column.numeric else "agTextColumnFilter"),
        "floatingFilter": not is_short,
        "suppressHeaderFilterButton": True,
        "resizable": True,
        "sortable": True,
        "maxWidth": 520 if many else None,
        "minWidth": 70,
        "tooltipField": f"c{place}" if not column.numeric else None,
        "wrapText": wraps,
        "autoHeight": wraps,
        "comparator": {"function": "matbenchCompare"},
    }
    if column.numeric:
        definition["type"] = "rightAligned"
    return definition


def _row(row: Any, columns: Any, number: int) -> dict[str, Any]:
    data: dict[str, Any] = {"id": str(number)}
    for place, (cell, column) in enumerate(zip(row, columns, strict=True)):
        if isinstance(cell, str):
            cell = Cell(cell)
        parts = _merged(content(cell.content))
        text = "".join(part if isinstance(part, str) else part["text"] for part in parts)
        name = f"c{place}"
        # What a column of numbers is sorted, filtered and exported by is the number; all else goes by its text.
        data[name] = _number(cell.sort) if column.numeric else text
        if column.numeric or any(not isinstance(part, str) for part in parts):
            data[f"{name}p"] = parts
        if cell.mark:
            data[f"{name}m"] = True
    return data


def _number(value: float | None) -> float | None:
    """*value* as JSON has a place for it; None where there is none."""
    try:
        if value is None or not math.isfinite(value):
            return None
    except OverflowError:
        return None
    return value if abs(value) < 2**63 else float(value)


def content(node: Any) -> Iterator[Part]:
    """*node* (text, Dash elements, lists of them) as text and links, in order; other elements give their text."""
    if node is None or isinstance(node, bool):
        return
    if isinstance(node, (str, int, float)):
        yield str(node)
    elif isinstance(node, (list, tuple)):
        for each in node:
            yield from content(each)
    elif hasattr(node, "to_plotly_json"):
        properties: Mapping[str, Any] = node.to_plotly_json()["props"]
        text = "".join(part if isinstance(part, str) else part["text"] for part in content(properties.get("children")))
        href = properties.get("href")
        address = safe_address(str(href)) if href is not None else None
        if address is not None:
            yield {"text": text, "href": address, "title": str(properties.get("title") or "")}
        elif node._type == "Code":
            yield {"text": text, "code": "1"}
        elif node._type in ("Li", "Summary", "P", "Div"):
            yield f"{text} "
        else:
            yield from content(properties.get("children"))


def _merged(parts: Iterator[Part]) -> list[Part]:
    """Neighbouring texts as one."""
    merged: list[Part] = []
    for part in parts:
        if isinstance(part, str) and merged and isinstance(merged[-1], str):
            merged[-1] += part
        else:
            merged.append(part)
    return merged
