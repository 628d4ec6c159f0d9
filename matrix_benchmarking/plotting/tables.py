"""What pages are made of: Dash's elements, text, tables, and parts that may fail: a sentence stands in their place."""

from __future__ import annotations

import dataclasses
import functools
import importlib
import json
import logging
import os
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import msgspec

from ..analyze.points import SettingsOf
from ..errors import MatbenchError, WorkloadError
from ..filters import show
from ..kpi import KPIDefinition
from ..matrix import NOT_SET
from ..plausible import is_number

if TYPE_CHECKING:
    from dash.development.base_component import Component

Node: TypeAlias = "Component | Part | Table | str | Sequence[Node] | None"
"""Elements, our own tables and parts among them, and text."""

T = TypeVar("T")
_log = logging.getLogger(__name__)


class _Elements:
    """A module of Dash's elements, imported when the first is made (.4 s); its types know no ``data-…``."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Callable[..., Component]:
        element: Callable[..., Component] = getattr(importlib.import_module(self._module), name)
        return element


html, dcc = _Elements("dash.html"), _Elements("dash.dcc")


class Part(msgspec.Struct, frozen=True):
    """A part of a page that may fail by itself; the application makes one of some height when it is seen."""

    name: str
    make: Callable[[], Node]
    height_px: int = 0


class BrokenPlotError(WorkloadError):
    """A plot or report that raises."""


def problem_box(*sentences: str) -> Component:
    lines = [html.P(line) for sentence in sentences for line in sentence.splitlines()]
    return html.Div(lines, className="problem", role="alert")


def guarded(make: Callable[[], T], what: str) -> T | Component:
    """What *make* gives, or a box that says why *what* can't be shown."""
    try:
        return make()
    except Exception as error:  # noqa: BLE001  a report may fail in any way; the others must stay usable
        return failure_box(what, error)


def failure_box(what: str, error: Exception) -> Component:
    """A box for an *error*; the stack trace of one that isn't the data's fault goes to the log."""
    if isinstance(error, BrokenPlotError) or not isinstance(error, MatbenchError):
        _log.error("%s can't be shown\n%s", what, "".join(traceback.format_exception(error)))
    return problem_box(failure(what, error))


def failure(what: str, error: Exception) -> str:
    if isinstance(error, MatbenchError):
        is_named = isinstance(error, BrokenPlotError) or not isinstance(error, WorkloadError)
        return str(error) if is_named else f"{what}: {error}"
    return f"{what} can't be shown ({type(error).__name__}: {str(error)[:300]})."


def called(name: str, source: Path | None, call: Callable[[], T]) -> T:
    """What *call* gives, a function of the plot or report *name* of the workload whose code is in *source*."""
    try:
        return call()
    except (MatbenchError, KeyboardInterrupt):
        raise
    except BaseException as error:  # sys.exit() in a plot ends the plot
        reason = f"{type(error).__name__}: {str(error)[:300]}{_place(error, source)}"
        raise BrokenPlotError(f"'{name}' can't be shown ({reason}).") from error


def _place(error: BaseException, source: Path | None) -> str:
    """The last line of the workload's own code that *error* went through; nothing where it went through none."""
    own = Path(__file__).parents[1]
    frames = traceback.extract_tb(error.__traceback__)
    for frame in reversed(frames):
        path = Path(frame.filename)
        if path.is_relative_to(source) if source is not None else not path.is_relative_to(own):
            return f" in {os.path.relpath(path) if path.is_relative_to(Path.cwd()) else path}, line {frame.lineno}"
    return ""


def graph(figure: object, label: str, **options: object) -> Node:
    """A *figure*, which says its *label* to who can't see it."""
    return html.Div(dcc.Graph(figure=figure, **options), role="figure", **{"aria-label": label})


def bullets(items: Iterable[Node], more: int = 0) -> Node:
    last = [html.Li(f"and {more} more")] if more > 0 else []
    return html.Ul([*(html.Li(item) for item in items), *last])


def how_to_read(items: Iterable[str]) -> Node:
    return html.Details([html.Summary("How to read this"), bullets(items)])


def command(text: str) -> Node:
    """A command, or other lines to take along, with a button that copies them."""
    return html.Div([html.Pre(html.Code(text)), copy_button()], className="command")


def copy_button() -> Node:
    """A button that copies the element before it, by the page's script."""
    return html.Button("Copy", className="tool", **{"data-copy": ""})


LONG = 30
"""A text of more characters may be broken into lines, but not into many."""
ROWS_SHOWN = 500
FEWEST_ALIKE = 3
"""From so many rows on, what they have in common is said once above them; of two their settings."""


class Column(msgspec.Struct, frozen=True):
    """A column's header; a *setting* says what its row is of: several are one where the page is narrow."""

    title: str
    unit: str = ""
    numeric: bool = False
    help: str = ""
    setting: bool = False

    @property
    def shown_unit(self) -> str:
        """The unit, unless the title says it, as the name of a table's column may."""
        return "" if self.title.endswith(f"({self.unit})") else self.unit

    @property
    def heading(self) -> str:
        """The title with the unit of all cells in brackets."""
        return f"{self.title} ({self.shown_unit})" if self.shown_unit else self.title


class Cell(msgspec.Struct, frozen=True):
    """A cell's content (text or components), and what it is sorted by where that isn't its text."""

    content: Node
    sort: float | None = None
    mark: bool = False


Row = Sequence[Cell | str]
Columns = Sequence[Column | str]
"""A column of text needs no more than its title."""


def count_cell(count: int) -> Cell:
    return Cell(str(count), sort=count)


def setting_columns(names: Sequence[str], of_rows: SettingsOf) -> list[Column]:
    return [Column(name, numeric=all(map(is_number, of_rows.values(name))), setting=True) for name in names]


def setting_cells(settings: Mapping[str, object], names: Sequence[str]) -> list[Cell | str]:
    values = (settings.get(name, NOT_SET) for name in names)
    return [Cell(show(value), sort=value) if is_number(value) else show(value) for value in values]


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
            found[column.heading] = [
                cell.sort if isinstance(cell, Cell) and column.numeric else None if column.numeric else _plain(cell)
                for cell in cells
            ]
        return found

    @functools.cached_property
    def constants(self) -> dict[int, str]:
        """The texts of the columns that say the same in each of several rows, by their place: said once above them."""
        are_many = len(self.rows) >= FEWEST_ALIKE
        found = {
            place: texts[0]
            for place, column in enumerate(self.columns)
            if (column.setting or (are_many and not column.numeric))
            if (texts := [_plain(row[place]) for row in self.rows])[1:]
            if texts[0] and all(text == texts[0] for text in texts)
        }
        return found if len(found) < len(self.columns) else {}

    @functools.cached_property
    def settings(self) -> list[int]:
        """The places of those settings, where there are several, that a narrow page has in one cell."""
        found = [at for at, column in enumerate(self.columns) if column.setting and at not in self.constants]
        return found if len(found) > 1 else []

    @property
    def title(self) -> str:
        """The caption with what all rows have in common."""
        same = [f"{self.columns[place].title} {text}" for place, text in self.constants.items()]
        return f"{self.caption} · in all: {', '.join(same)}" if same else self.caption

    @property
    def is_lazy(self) -> bool:
        """True while its rows have not been made: there may be many."""
        return isinstance(self.source, Iterator) and "rows" not in self.__dict__

    def csv_button(self, shown_as: str, identity: str = "") -> Component:
        """A button by which the page's script saves it as CSV, *shown_as* a ``table`` or as the ``grid`` *identity*."""
        data = {f"data-export-{shown_as}": identity, "aria-label": f"Export as CSV: {self.caption}"}
        return html.Button("CSV", className="tool", title="Export this table as CSV", **data)

    def as_html(self, *, is_exported: bool = False) -> Component:
        """The table as Dash's HTML elements, in a region that scrolls; beyond the limit it says what is left out.

        Args:
            is_exported: a button in the caption saves it as CSV.
        """
        kept = [place for place in range(len(self.columns)) if place not in self.constants]
        shown = self.rows[: self.limit]
        caption = self.title
        if len(self.rows) > self.limit:
            caption = f"{caption} (the first {self.limit} of {len(self.rows)} rows)"
        looks = ["setting" if place in self.settings else "" for place in range(len(self.columns))]
        head = html.Thead(html.Tr([_header(self.columns[place], looks[place]) for place in kept]))
        body = [html.Tr([_cell(row[place], self.columns[place], looks[place]) for place in kept]) for row in shown]
        tools: list[Node] = []
        data: dict[str, str] = {}
        if is_exported:
            tools = [" ", self.csv_button("table")]
            same = [(self.columns[place].heading, text) for place, text in self.constants.items()]
            data = {"data-same": json.dumps(same)}
        made = html.Table([html.Caption([caption, *tools]), head, html.Tbody(body)], className="sortable", **data)
        return html.Div(made, className="table-scroll", tabIndex="0", role="group", **{"aria-label": caption})


def table(columns: Columns, rows: Iterable[Row], *, caption: str, limit: int = ROWS_SHOWN) -> Table:
    """A :class:`Table` of *rows*, each with a cell for each of *columns*; many rows are better given as an iterator."""
    return Table(tuple(Column(one) if isinstance(one, str) else one for one in columns), rows, caption, limit)


def _plain(cell: Cell | str) -> str:
    """The text of a *cell* that is nothing else; empty for any other."""
    said = cell.content if isinstance(cell, Cell) and not cell.mark else cell
    return said if isinstance(said, str) else ""


def _header(column: Column, look: str) -> Component:
    unit: list[Node] = [" ", html.Span(column.shown_unit, className="unit")] if column.shown_unit else []
    look = f"{'number ' if column.numeric else ''}{look}".strip()
    return html.Th([html.Span(column.title), *unit], scope="col", className=look or None, title=column.help or None)


def _cell(cell: Cell | str, column: Column, look: str) -> Component:
    if isinstance(cell, str):
        cell = Cell(cell)
    kind = "number" if column.numeric else "long" if _length(cell.content) > LONG else ""
    look = f"{kind}{' mark' if cell.mark else ''} {look}".strip()
    data = {} if cell.sort is None else {"data-sort": repr(float(cell.sort))}
    return html.Td(_copied(cell.content), className=look or None, **data)


def _length(content: Any) -> int:
    """How many characters of text are in *content*."""
    if isinstance(content, (list, tuple)):
        return sum(map(_length, content))
    return len(content) if isinstance(content, str) else _length(getattr(content, "children", None) or ())


def _copied(content: Node) -> Node:
    """*content* with a button that copies each command, or what else is told on, in it."""
    if isinstance(content, (list, tuple)):
        return [_copied(each) for each in content]
    return [content, " ", copy_button()] if getattr(content, "_type", "") == "Code" else content
