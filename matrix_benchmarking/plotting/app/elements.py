"""What a report gives, made into elements of the application: tables become grids, figures get their tools.

Plain elements are sent many as one: for each of its own Dash takes a tenth of a millisecond in the browser.
"""

from __future__ import annotations

import itertools
import math
import textwrap
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import dash_ag_grid  # Dash has to know all libraries of elements before it serves the first page

from ...errors import WorkloadError
from ...plausible import is_number
from .. import template
from ..static_html import ATTRIBUTES, TAGS, figure_json, safe_address
from ..tables import Cell, Column, Node, Part, Row, Table, dcc, guarded, html

dash_ag_grid._js_dist[0]["dynamic"] = True  # 1.3 MB, which the page's script asks for when a grid is to be shown
FIGURE_HEIGHT_PX = 440
"""About what a figure takes with its text; what comes late shall not push what is below it."""
SHORT_ROWS = 30
"""Up to so many rows a table is one as on written pages; a longer one is a grid that scrolls and can be filtered."""
HEIGHT_PX = 520
HEADER_PX, LINE_PX = 42, 17
SHORT_HEADER_PX, SHORT_ROW_PX = 60, 34
"""The least that a short table takes: its place until it is made."""
WRAPPED_ROWS = 200
"""Beyond, no text is broken into lines: the height of each row would have to be measured."""
PINNED = 2
"""So many columns stay in view at most, where there are many."""
FEW_COLUMNS = 4
"""So few columns share the width by what they hold; more are as wide as that, and scroll."""
JOINED_PX = 150
"""The column with all settings, which the page's script shows in their place where it is narrow."""
CHARACTER_PX, PADDING_PX = 7.2, 34
LEAST_WIDTH_PX, LEAST_SHARED_PX, MOST_WIDTH_PX, MEASURED_ROWS = 70, 160, 520, 500
THEME = (
    "themeQuartz.withParams({fontFamily: 'system-ui, sans-serif', fontSize: 13, "
    "spacing: 6, backgroundColor: 'var(--page)', foregroundColor: 'var(--text)', accentColor: 'var(--accent)', "
    "headerBackgroundColor: 'var(--raised)', borderColor: 'var(--line)', wrapperBorderRadius: 4})"
)
"""ag-grid's theme in the colours of the page, which change with the system's."""
Piece = str | dict[str, str]
Tree: TypeAlias = "str | list[Any]"
"""A text, or an element's tag, properties and children, each a tree."""
_TAGS = {*TAGS, "button"}
_PLAIN = {*ATTRIBUTES, "className", "style", "draggable", "href"}
_OPEN = ("data-", "aria-")


class Deferred:
    """The parts of the page *key* that are made when they are seen, but for those *wanted*, in view already."""

    def __init__(self, wanted: Collection[int] = (), key: str = "") -> None:
        self._wanted = wanted
        self.key = key
        self._time = str(time.monotonic_ns())
        self._makers: list[Callable[[], Node]] = []

    def place(self, make: Callable[[], Node], height_px: int) -> Node:
        number = len(self._makers)
        self._makers.append(make)
        said = {"className": "part", "data-part": str(number), "data-of": self.key, "data-time": self._time}
        if number in self._wanted:  # without a name of this page alone its figures are changed, not drawn anew
            return html.Div(html.Div(self.make(number), **said))
        waiting = html.Div(className="waiting", style={"minHeight": f"{height_px}px"})
        which = {"of": self.key, "index": number}
        part = html.Div(waiting, id={"type": "part", **which}, **said)
        return html.Div([part, dcc.Store(id={"type": "wanted", **which})])

    def make(self, number: int) -> Node:
        """The part with this number; a sentence where it can't be made, nothing where there is none."""
        if not isinstance(number, int) or not 0 <= number < len(self._makers):
            return []
        part: Node = guarded(lambda: convert(self._makers[number](), None, f"part-{number}"), "This part")
        return part


def convert(node: Node, deferred: Deferred | None, prefix: str = "page") -> Any:
    """*node* and all in it, with tables and figures as the application shows them."""
    numbers = itertools.count(1)
    is_first = True  # of tables and figures: what stands below it is made when it is seen

    def converted(node: Any) -> Any:
        nonlocal is_first
        if isinstance(node, (list, tuple)):
            made = [converted(each) for each in node]
            return [one for each in made for one in (each if isinstance(each, list) else [each])]
        if isinstance(node, Table):
            identity, is_below, is_first = f"{prefix}-table-{next(numbers)}", not is_first, False
            if deferred is not None and (is_below or node.is_lazy):
                return deferred.place(lambda: as_shown(node, identity), height_px(node))
            return as_shown(node, identity)
        if isinstance(node, Part) and node.height_px and deferred is not None:
            return deferred.place(node.make, node.height_px)
        is_first = is_first and not isinstance(node, Part)
        if isinstance(node, Part):
            return guarded(lambda: converted(node.make()), f"'{node.name}'")
        if node is None or isinstance(node, (str, int, float)):
            return node
        if not hasattr(node, "to_plotly_json"):
            raise WorkloadError(f"a {type(node).__name__} can't be shown on a page")
        if node._type == "Graph":
            return guarded(lambda: _graph(node, f"{prefix}-figure-{next(numbers)}"), "This figure")
        if getattr(node, "children", None) is not None:
            node.children = converted(node.children)
        return node

    return converted(node)


def _graph(graph: Any, identity: str) -> Node:
    figure = getattr(graph, "figure", None) or {}
    graph.figure = figure if isinstance(figure, dict) else figure.to_plotly_json()
    figure_json(graph.figure)  # Dash would fail where it sends the whole page
    graph.id = {"type": "figure", "index": identity}
    graph.config = {**(getattr(graph, "config", None) or {}), **template.CONFIG}
    layout = graph.figure.get("layout")
    height = layout.get("height") if isinstance(layout, dict) else None
    height_css = f"{height if is_number(height) else FIGURE_HEIGHT_PX}px"
    graph.style = {"height": height_css}
    buttons = [
        html.Button(
            kind.upper(),
            className="tool",
            title=f"Save this figure as {kind.upper()}",
            **{"data-export-figure": kind, "data-name": identity},
        )
        for kind in ("svg", "png")
    ]
    # Dash loads plotly after the page: until then the place of the figure is kept.
    frame = html.Div(graph, className="figure-scroll", style={"minHeight": height_css})
    return html.Div([frame, html.Div(buttons, className="figure-tools")], className="figure-box")


def height_px(table: Table) -> int:
    """About what *table* takes, without making its rows."""
    is_short = not table.is_lazy and len(table.rows) <= SHORT_ROWS
    return SHORT_HEADER_PX + SHORT_ROW_PX * len(table.rows) if is_short else HEIGHT_PX


def _header_px(columns: Sequence[Mapping[str, Any]]) -> int:
    """The height of a header whose titles are broken into lines, each as wide as its column."""
    wide = [(str(one["headerName"]), one["width"] - PADDING_PX) for one in columns if "width" in one]
    titles = (textwrap.wrap(title, int(width_px / CHARACTER_PX)) for title, width_px in wide)
    return HEADER_PX + LINE_PX * (max(map(len, titles), default=1) - 1)


def as_shown(table: Table, identity: str) -> Node:
    """*table* as it is shown: a short one as on a written page, with its export."""
    return table.as_html(is_exported=True) if len(table.rows) <= SHORT_ROWS else grid(table, identity)


def grid(table: Table, identity: str) -> Node:
    rows = [_row(row, table.columns, number) for number, row in enumerate(table.rows)]
    columns = _columns(table, rows)
    described = dash_ag_grid.AgGrid(
        id=identity,
        columnDefs=columns,
        rowData=rows,
        getRowId="params.data.id",
        className="grid",
        style={"height": f"{HEIGHT_PX}px"},
        dashGridOptions={
            "theme": {"function": THEME},
            "enableCellTextSelection": True,
            "ensureDomOrder": True,
            "suppressColumnVirtualisation": True,
            "suppressFieldDotNotation": True,
            "tooltipShowDelay": 300,
            "tooltipShowMode": "whenTruncated",
            "animateRows": False,
            "headerHeight": _header_px(columns),
            "alwaysShowHorizontalScroll": len(table.columns) > FEW_COLUMNS,
        },
    )
    described._type, described._namespace = "Grid", "matbench"  # of the page's script, which draws it
    caption = html.Span(f"{table.title} · {len(table.rows)} rows", className="caption")
    head = html.Div([caption, table.csv_button("grid", identity)], className="grid-head")
    # What draws the grid comes after the page: until then its place is kept.
    place = html.Div(described, style={"minHeight": f"{HEIGHT_PX}px"})
    return html.Div([head, place], className="grid-box", role="group", **{"aria-label": table.caption})


def _columns(table: Table, rows: Sequence[Mapping[str, Any]]) -> list[dict[str, object]]:
    """The grid's columns, those that say the same in each row hidden; where it is narrow, one has all settings."""
    wrapped, many = len(table.rows) <= WRAPPED_ROWS, len(table.columns) > FEW_COLUMNS
    shown = [place for place in range(len(table.columns)) if place not in table.constants]
    pinned = {*itertools.takewhile(lambda place: not table.columns[place].numeric, shown[:PINNED]), *shown[:1]}
    columns: list[dict[str, object]] = []
    wraps = wrapped and not many
    for place, column in enumerate(table.columns):
        width, is_pinned = _width_px(column, f"c{place}", rows), many and place in pinned
        columns.append(
            {
                "field": f"c{place}",
                "headerName": column.heading,
                "headerTooltip": column.help or None,
                "cellRenderer": "MatbenchCell",
                "filter": "agNumberColumnFilter" if column.numeric else "agTextColumnFilter",
                "floatingFilter": True,
                "suppressHeaderFilterButton": True,
                "resizable": True,
                "sortable": True,
                "wrapHeaderText": True,
                "tooltipField": f"c{place}" if not column.numeric else None,
                "wrapText": wraps,
                "autoHeight": wraps,
                "comparator": {"function": "matbenchCompare"},
                **({"type": "rightAligned"} if column.numeric else {}),
                **({"width": width} if many else {"flex": width, "minWidth": min(width, LEAST_SHARED_PX)}),
                "hide": place in table.constants,
                "pinned": "left" if is_pinned else None,
                "context": {"setting": place in table.settings, "pinned": is_pinned},
            }
        )
    if table.settings:
        names = [table.columns[at].title for at in table.settings]
        joined = {
            "colId": "joined",
            "headerName": "Settings" if names[2:] else " · ".join(names),
            "valueGetter": {"function": "matbenchJoined(params)"},
            "hide": True,
            "pinned": "left",
            "width": JOINED_PX,
            "wrapText": wrapped,
            "autoHeight": wrapped,
        }
        columns.append(joined)
    return columns


def _width_px(column: Column, name: str, rows: Sequence[Mapping[str, Any]]) -> int:
    """About as wide as what stands in the column: to measure it in the browser takes longer than to draw it."""
    texts = (_text(row[f"{name}p"]) if f"{name}p" in row else str(row[name] or "") for row in rows[:MEASURED_ROWS])
    longest = max([*map(len, column.heading.split()), *map(len, texts)])  # a title is broken into lines
    return min(max(LEAST_WIDTH_PX, round(longest * CHARACTER_PX) + PADDING_PX), MOST_WIDTH_PX)


def _row(row: Row, columns: Sequence[Column], number: int) -> dict[str, object]:
    data: dict[str, object] = {"id": str(number)}
    for place, (given, column) in enumerate(zip(row, columns, strict=True)):
        cell = Cell(given) if isinstance(given, str) else given
        parts: list[Piece] = []
        for part in content(cell.content):
            if isinstance(part, str) and parts and isinstance(parts[-1], str):
                parts[-1] += part
            else:
                parts.append(part)
        name = f"c{place}"
        # What a column of numbers is sorted, filtered and exported by is the number; all else goes by its text.
        data[name] = _number(cell.sort) if column.numeric else _text(parts)
        if column.numeric or any(not isinstance(part, str) for part in parts):
            data[f"{name}p"] = parts
        if cell.mark:
            data[f"{name}m"] = True
    return data


def _text(parts: Iterable[Piece]) -> str:
    return "".join(part if isinstance(part, str) else part["text"] for part in parts)


def _number(value: float | None) -> float | None:
    """*value* as JSON has a place for it; None where there is none."""
    try:
        if value is None or not math.isfinite(value):
            return None
    except OverflowError:
        return None
    return value if abs(value) < 2**63 else float(value)


def content(node: object) -> Iterator[Piece]:
    """*node* (text, Dash elements, lists of them) as text and links, in order; other elements give their text."""
    if node is None or isinstance(node, bool):
        return
    if isinstance(node, (str, int, float)):
        yield str(node)
    elif isinstance(node, (list, tuple)):
        for each in node:
            yield from content(each)
    elif hasattr(node, "to_plotly_json") and hasattr(node, "_type"):
        properties: Mapping[str, object] = node.to_plotly_json()["props"]
        text = _text(content(properties.get("children")))
        href = properties.get("href")
        address = safe_address(str(href)) if href is not None else None
        if address is not None:
            yield {"text": text, "href": address, "title": str(properties.get("title") or "")}
        elif node._type == "Code":
            yield {"text": text, "code": "1"}
        elif node._type == "Br":
            yield ", "
        elif node._type in ("Li", "Summary", "P", "Div"):
            yield from content(properties.get("children"))
            yield " "
        else:
            yield from content(properties.get("children"))


def folded(node: Node) -> list[Any]:
    """*node* as a page is sent it: elements side by side that nothing but the page's script deals with are, with all
    in them, one ``Markup``, which that script draws; others stay Dash's own."""
    return _joined(map(_fold, _listed(node)))


def _listed(node: Any) -> Sequence[Any]:
    """What is in *node*, and in the lists within it."""
    if isinstance(node, (list, tuple)):
        return [each for part in node for each in _listed(part)]
    return [] if node is None else [node]


def _fold(node: Any) -> Tree | dict[str, Any]:
    """A tree, or the description of an element that stays Dash's."""
    if not hasattr(node, "to_plotly_json"):
        return str(node)
    given: dict[str, Any] = vars(node)  # to_plotly_json looks for all that there might be
    properties = {name: given[name] for name in node._prop_names if name in given}
    properties |= {name: value for name, value in given.items() if name.startswith(_OPEN)}
    if "href" in properties and safe_address(str(properties["href"])) != properties["href"]:
        del properties["href"]
    tag = node._type.lower()
    children = [_fold(each) for each in _listed(properties.pop("children", None))]
    is_plain = node._namespace == "dash_html_components" and tag in _TAGS
    if (
        is_plain
        and all(itertools.starmap(_is_plain, properties.items()))
        and not any(isinstance(one, dict) for one in children)
    ):
        return [tag, properties, children]
    properties = {**properties, "children": _joined(children)} if children else properties
    return {"props": properties, "type": node._type, "namespace": node._namespace}


def _joined(made: Iterable[Tree | dict[str, Any]]) -> list[Any]:
    found: list[Any] = []
    for is_dash, group in itertools.groupby(made, lambda one: isinstance(one, dict)):
        some = list(group)
        are_as_they_are = is_dash or all(isinstance(one, str) for one in some)
        markup = {"type": "Markup", "namespace": "matbench", "props": {"trees": some}}
        found += some if are_as_they_are else [markup]
    return found


def _is_plain(name: str, value: object) -> bool:
    if name == "id":
        return isinstance(value, str)
    return name in _PLAIN or name.startswith(_OPEN)
