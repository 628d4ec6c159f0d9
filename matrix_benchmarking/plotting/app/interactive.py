"""What a report gives, made into elements of the application: tables become grids, figures get their tools.

Parts that cost something are deferred: their place is there at once, and they are made when they come into view.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from typing import Any

from ...errors import WorkloadError
from .. import problems, template
from ..base import Arguments, Plot, plot_parts, set_config
from ..static_html import Part, figure_json
from ..tables import Table
from .configuration import read_cfg
from .grid import HEIGHT_PX as GRID_HEIGHT_PX
from .grid import grid
from .tags import dcc, html

FIGURE_HEIGHT_PX = 440
"""About what a figure takes with its text; what comes late shall not push what is below it."""


class Deferred:
    """The parts of one page that are made when they are seen.

    Args:
        wanted: the numbers of those that are in view already, which are made at once.
        cfg: the plots' configuration, as text.
        key: of the page: what is made late for one page has no place on another.
    """

    def __init__(self, wanted: Collection[int] = (), cfg: Mapping[str, str] | None = None, key: str = "") -> None:
        self._wanted = wanted
        self.key = key
        self._time = str(time.monotonic_ns())
        self._cfg = cfg or {}
        self._makers: list[Callable[[], Any]] = []

    def place(self, make: Callable[[], Any], height_px: int) -> Any:
        """The place of a part that *make* gives."""

        number = len(self._makers)
        self._makers.append(make)
        content = self.make(number) if number in self._wanted else waiting(height_px)
        return html.Div(
            [
                html.Div(
                    content,
                    id={"type": "part", "of": self.key, "index": number},
                    className="part",
                    **{"data-part": str(number), "data-of": self.key, "data-time": self._time},
                ),
                dcc.Store(id={"type": "wanted", "of": self.key, "index": number}),
            ]
        )

    def make(self, number: int) -> Any:
        """The part with this number; a sentence where it can't be made, nothing where there is none."""
        if not isinstance(number, int) or not 0 <= number < len(self._makers):
            return []
        prefix = f"part-{number}"
        return problems.guarded(lambda: convert(self._makers[number](), None, prefix), "This part")

    def section(self, plot: Plot, args: Arguments) -> Any:
        """A plot's part of a report, deferred."""

        place = self.place(lambda: self.plot_parts(plot, args), plot.height_px())
        return html.Section([html.H3(plot.name), place], className="plot")

    def plot_parts(self, plot: Plot, args: Arguments) -> list[Any]:
        """What the report fixes in *args* goes before what a person chose."""
        controls = problems.called(plot.name, plot.workload.source, plot.controls)
        chosen, boxes = read_cfg(controls, self._cfg)
        return [*boxes, *plot_parts(plot, set_config({**chosen, **args[-1]}, args))]


def waiting(height_px: int) -> Any:
    """What stands in the place of a part that isn't made yet."""

    return html.Div(className="waiting", style={"minHeight": f"{height_px}px"})


def convert(node: Any, deferred: Deferred | None, prefix: str = "page") -> Any:
    """*node* and all in it, with tables and figures as the application shows them.

    *deferred* takes what can wait; None makes everything now.
    """
    return _Conversion(deferred, prefix).convert(node)


class _Conversion:
    def __init__(self, deferred: Deferred | None, prefix: str) -> None:
        self._deferred = deferred
        self._prefix = prefix
        self._count = 0

    def convert(self, node: Any) -> Any:
        if isinstance(node, (list, tuple)):
            return [self.convert(each) for each in node]
        if isinstance(node, Table):
            return self._table(node)
        if isinstance(node, Part):
            return problems.guarded(lambda: self.convert(node.make()), f"'{node.name}'")
        if node is None or isinstance(node, (str, int, float)):
            return node
        if not hasattr(node, "to_plotly_json"):
            raise WorkloadError(f"a {type(node).__name__} can't be shown on a page")
        if node._type == "Graph":
            return problems.guarded(lambda: self._graph(node), "This figure")
        if getattr(node, "children", None) is not None:
            node.children = self.convert(node.children)
        return node

    def _table(self, table: Table) -> Any:
        identity = self._next("table")
        if table.is_lazy and self._deferred is not None:
            return self._deferred.place(lambda: grid(table, identity), GRID_HEIGHT_PX)
        return grid(table, identity)

    def _graph(self, graph: Any) -> Any:
        figure_json(getattr(graph, "figure", None) or {})  # Dash would fail where it sends the whole page
        identity = self._next("figure")
        graph.id = {"type": "figure", "index": identity}
        graph.config = {**(getattr(graph, "config", None) or {}), **template.CONFIG}
        height = graph.figure.layout.height if hasattr(graph.figure, "layout") else None
        height_css = f"{height or FIGURE_HEIGHT_PX}px"
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

    def _next(self, kind: str) -> str:
        self._count += 1
        return f"{self._prefix}-{kind}-{self._count}"
