"""How every figure looks: one plotly template for light and dark, and colours that stay with a category."""

from __future__ import annotations

import copy
import functools
import html
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..filters import show
from ..matrix import Matrix

if TYPE_CHECKING:
    import plotly.graph_objects as go

COLOURS = (
    "#0072b2",  # blue
    "#d55e00",  # vermilion
    "#009e73",  # green
    "#c2649a",  # pink
    "#9a7d0a",  # ochre
    "#7a5fd0",  # violet
    "#7f7f7f",  # grey
    "#b0413e",  # brick
)
"""After Okabe and Ito (2008), with the pale ones darkened: contrast ≥ 3 on white and on the dark page."""

IN_THE_DARK = ("#56b4e9", "#f28a45", "#3ec99b", "#e394c4", "#d6b53c", "#ab98f2", "#a6acb3", "#e5827a")
"""The same on the dark page, in that order: contrast ≥ 6."""

SYMBOLS = ("circle", "square", "diamond", "cross", "triangle-up", "x", "star", "hexagon")
LEGEND_ABOVE = 44
"""How far above a figure its legend stands, in pixels."""
LINE_PX = 22
"""How much more for each further line of the panels' titles: on a phone a legend of several rows shrinks the figure."""
CONFIG = {
    "displaylogo": False,
    "responsive": True,
    # Plotly's cloud is nobody's business here, and pictures are saved by the buttons below the figure.
    "showSendToCloud": False,
    "modeBarButtonsToRemove": ["lasso2d", "select2d", "toImage", "sendChartToCloud"],
}
"""How plotly shows every figure, in the application and on static pages."""
BAND = 0.17
"""The opacity of a band."""
TITLE_PX = 12
"""The size of a panel's title: panels may be narrow."""
PHONE_CHARACTERS = 44
"""How many characters of a title a figure has room for that is 400 pixels wide."""
TICKS = 10
"""How many ticks an axis has at most, about."""


def colour_map(matrix: Matrix, setting: str) -> dict[str, str]:
    """For each value of *setting* in the whole matrix, as :func:`text` writes it, its colour."""
    return colours_of([text(value) for value in matrix.settings.get(setting, [])])


def colours_of(categories: Sequence[str]) -> dict[str, str]:
    """A colour for each category, in their order; they repeat after the last."""
    return {category: COLOURS[index % len(COLOURS)] for index, category in enumerate(categories)}


def symbols_of(categories: Sequence[str]) -> dict[str, str]:
    """A marker for each category, a second sign beside the colour."""
    return {category: SYMBOLS[index % len(SYMBOLS)] for index, category in enumerate(categories)}


def text(value: object) -> str:
    """A setting as plotly shall write it: plotly reads ``<`` and ``&`` as markup, which data never is."""
    return html.escape(show(value), quote=False)


plain = html.unescape
"""Gives what :func:`text` wrote as it was, for a page, which does its own escaping."""


def dark_style() -> str:
    """CSS by which figures have their dark colours on a dark page; plotly writes the light ones into each mark."""
    rules = []
    for light, dark in zip(COLOURS, IN_THE_DARK, strict=True):
        written = ", ".join(str(int(light[at : at + 2], 16)) for at in (1, 3, 5))
        rules += [f'.main-svg [style*="{what}: rgb({written})"] {{ {what}: {dark} !important; }}'
                  for what in ("fill", "stroke")]  # fmt: skip
    return f"@media screen and (prefers-color-scheme: dark) {{\n{chr(10).join(rules)}\n}}\n"


def short(shown: str, longest: int) -> str:
    """*shown* with at most so many characters, the last of them an ellipsis where it was cut."""
    return shown if len(shown) <= longest else f"{shown[: max(longest, 1) - 1]}…"


@functools.lru_cache(8192)  # another selection has the same labels
def wrapped(shown: str, width: int, lines: int = 2) -> str:
    """*shown* as plotly shall write it, in a few lines, broken between its parts; what doesn't fit is cut."""
    import textwrap

    kept = [part.replace(" ", "\u00a0") if len(part) < width else part for part in shown.split(" · ")]
    if len(shown) <= width and shown.isprintable():
        return html.escape(" · ".join(kept).strip(" ·"), quote=False)
    parts = textwrap.wrap(" · ".join(kept), width, max_lines=lines, placeholder=" …", break_on_hyphens=False)
    return "<br>".join(html.escape(part.strip(" ·"), quote=False) for part in parts)


def panel_title(shown: str, columns: int) -> str:
    """*shown*, which :func:`text` wrote, in lines for one of so many panels beside each other on a phone."""
    return wrapped(plain(shown), PHONE_CHARACTERS // columns, 3).replace("\u00a0", " ")


def log_ticks(values: Sequence[float]) -> list[float]:
    """Where to put the ticks of a logarithmic axis: at the values themselves if they are few and short to write."""
    present = sorted({value for value in values if 0 < value < math.inf})
    if not present:
        return []
    written = [float(f"{value:.3g}") for value in present]
    if len(present) <= TICKS and (written == present or present[0] == present[-1]):
        spaced: list[float] = []
        for value in written:
            if not spaced or value / spaced[-1] >= 1.35:
                spaced.append(value)
        return spaced
    round_ones = _round_numbers(present[0] / 1.1, present[-1] * 1.1)
    if len(round_ones) < 3:  # near each other: even steps
        least = (present[-1] - present[0]) / 6
        step = _round_numbers(least, 10 * least)[0]
        numbers = range(math.ceil(present[0] / step), math.floor(present[-1] / step) + 1)
        return [float(f"{number * step:.6g}") for number in numbers]
    if not all(float(value).is_integer() for value in present):
        tens = [tick for tick in round_ones if f"{tick:e}"[0] == "1"]
        return round_ones if len(round_ones) <= TICKS else tens[:: -(-len(tens) // TICKS)]
    first, last = math.floor(math.log2(present[0])), math.ceil(math.log2(present[-1]))
    step = -(-(last - first) // TICKS) or 1
    ticks = [2.0**power for power in range(first, last + 1, step)]
    return [tick for tick in ticks if present[0] / 1.5 <= tick <= present[-1] * 1.5]


def _round_numbers(low: float, high: float) -> list[float]:
    """All of 1, 2 and 5 times a power of ten between *low* and *high*."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = [float(f"{digit}e{decade}") for decade in decades for digit in (1, 2, 5)]
    return [tick for tick in ticks if low <= tick <= high]


def log_axis(values: Sequence[float]) -> dict[str, Any]:
    """The ticks of a logarithmic axis and their texts, as plotly takes them."""
    ticks = log_ticks(values)
    return {"tickvals": ticks, "ticktext": [f"{tick:,g}" for tick in ticks]}


def rows_axis(texts: Sequence[str]) -> dict[str, Any]:
    """The vertical axis of a figure with a row for each of *texts*, which :func:`text` wrote, the first on top."""
    ends = [len(texts) - 0.4, -0.6]
    return {"tickvals": [*range(len(texts))], "ticktext": texts, "range": ends, "fixedrange": True}


def drawn(traces: Sequence[Mapping[str, Any]], height: int, **layout: Any) -> go.Figure:
    """A figure of *traces*, each as plotly has it, and its *layout*, with the common look.

    Plotly doesn't check it: that takes six times as long as to make it, at each filter.
    """
    import plotly.graph_objects as go

    legend = {"y": _legend_y(height), **layout.pop("legend", {})}
    return go.Figure([*traces], {**layout, "template": template(), "height": height, "legend": legend}, _validate=False)


def apply(figure: go.Figure, *, height: int = 440) -> go.Figure:
    """Give *figure* the common look."""
    figure.update_layout(template=template(), height=height)
    if figure.layout.legend.y is None:
        figure.update_layout(legend_y=_legend_y(height))
    return figure


def _legend_y(height: int, lines: int = 0) -> float:
    return 1 + (LEGEND_ABOVE + LINE_PX * lines) / height


class Facets:
    """A figure of panels, in each row up to *columns*; *titles* are theirs, as :func:`text` writes them.

    It is put together as plain data: plotly would check a whole figure at each change of one.
    *shared* says which axes they share, as ``plotly.subplots.make_subplots`` has it.
    """

    def __init__(self, titles: Sequence[str], columns: int, **shared: bool | float | str) -> None:
        self.panels, self.columns = len(titles), min(columns, len(titles))
        self.rows = -(-self.panels // self.columns)
        spacing = {"vertical_spacing": min(0.14, 0.35 / self.rows), "horizontal_spacing": 0.06, **shared}
        self.traces: list[Mapping[str, Any]] = []
        self.shapes: list[Mapping[str, Any]] = []
        self._told: set[object] = set()  # the names in the legend
        self.layout: dict[str, Any] = copy.deepcopy(_grid(self.panels, self.columns, frozenset(spacing.items())))
        for note, title in zip(self.layout["annotations"], titles, strict=True):
            note.update(text=panel_title(title, self.columns), font={"size": TITLE_PX})

    def add(self, panel: int, trace: Mapping[str, Any]) -> None:
        """Draw a *trace*, as plotly has it, on a panel; without a ``type`` it is of ``scatter``.

        Traces of one name are one entry of the legend, unless the trace says itself what it is there.
        """
        number, name = _number(panel), trace.get("name")
        legend = {"legendgroup": name, "showlegend": name not in self._told} if name else {}
        self._told.add(name)
        self.traces.append({"type": "scatter", **legend, **trace, "xaxis": f"x{number}", "yaxis": f"y{number}"})

    def rule(self, panel: int, axis: str, value: object, **look: object) -> None:
        """A straight line across a panel, where *axis*, ``x`` or ``y``, has that value."""
        other = "y" if axis == "x" else "x"
        ends = {f"{axis}0": value, f"{axis}1": value, f"{other}0": 0, f"{other}1": 1}
        references = {f"{axis}ref": f"{axis}{_number(panel)}", f"{other}ref": f"{other}{_number(panel)} domain"}
        self.shapes.append({"type": "line", **ends, **references, **look})

    def axis(self, axis: str, panel: int) -> dict[str, Any]:
        """The properties of an axis, ``x`` or ``y``, of a panel: what is put there is drawn."""
        found: dict[str, Any] = self.layout[f"{axis}axis{_number(panel)}"]
        return found

    def axes(self, axis: str, **properties: object) -> None:
        """Give the axes, ``x`` or ``y``, of all panels these properties."""
        for panel in range(self.panels):
            self.axis(axis, panel).update(properties)

    def label(self, x: str, y: str) -> None:
        """Titles of the axes, below the last panel of each column and beside the first of each row."""
        for panel in range(self.panels - self.columns, self.panels):
            below = {"text": panel_title(x, self.columns + 1), "font": {"size": TITLE_PX}}
            self.axis("x", panel).update(title=below, showticklabels=True)
        for panel in range(0, self.panels, self.columns):
            self.axis("y", panel)["title"] = {"text": y}

    def figure(self, height: int, **layout: Any) -> go.Figure:
        """The figure with the common look; its legend above titles of several lines."""
        lines = max(note["text"].count("<br>") for note in self.layout["annotations"])
        legend = {"y": _legend_y(height, lines), **layout.pop("legend", {})}
        return drawn(self.traces, height, legend=legend, **{**self.layout, "shapes": self.shapes, **layout})


def _number(panel: int) -> str:
    """What plotly appends to the names of a panel's axes."""
    return f"{panel + 1}" if panel else ""


@functools.lru_cache(256)
def _grid(panels: int, columns: int, spacing: frozenset[tuple[str, bool | float | str]]) -> dict[str, Any]:
    """The layout of so many panels with an annotation above each; whoever changes it takes a copy."""
    from plotly.subplots import make_subplots

    rows = -(-panels // columns)
    empty = rows * columns - panels
    specs: list[list[dict[str, object] | None]] = [[{}] * columns for _ in range(rows)]
    specs[-1][columns - empty :] = [None] * empty
    figure = make_subplots(rows=rows, cols=columns, specs=specs, subplot_titles=["a title"] * panels, **dict(spacing))
    layout: dict[str, Any] = figure.to_dict()["layout"]
    return {name: part for name, part in layout.items() if name != "template"}


def whiskers(
    values: Sequence[float], ends: Iterable[tuple[float, float]], divisor: float = 1.0, **look: object
) -> dict[str, Any]:
    """Error bars from each of *values* to its two *ends*, in the unit of so many of theirs."""
    pairs = list(zip(values, ends, strict=True))
    above = [(high - value) / divisor for value, (_, high) in pairs]
    below = [(value - low) / divisor for value, (low, _) in pairs]
    return {"type": "data", "array": above, "arrayminus": below, **look}


def band(x: Sequence[float], low: Sequence[float], high: Sequence[float], colour: str) -> dict[str, Any]:
    """A band from *low* to *high* behind a line, as a trace, in a *colour* such as ``#0072b2``."""
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return {
        "type": "scatter",
        "x": [*x, *x[::-1]],
        "y": [*high, *low[::-1]],
        "mode": "lines",
        "fill": "toself",
        "fillcolor": f"rgba({red},{green},{blue},{BAND:g})",
        "line": {"width": 0},
        "hoverinfo": "skip",
        "showlegend": False,
    }


def unfold_default() -> None:
    """Make the parts of plotly's own template, which plotly makes when they are first looked at.

    All figures of plotly express look at them: two at once, each in a thread, and one fails ("Invalid value").
    """
    import plotly.io

    default = plotly.io.templates[plotly.io.templates.default]
    made = default.to_plotly_json()
    for name, traces in made.get("data", {}).items():
        for place, trace in enumerate(traces):
            _ = [default.data[name][place][part] for part in trace]
    _ = [default.layout[part] for part in made.get("layout", {})]


@functools.cache  # a figure takes a copy
def template() -> go.layout.Template:
    import plotly.graph_objects as go

    axis = {
        "automargin": True,
        "zeroline": False,
        "showline": True,
        "ticks": "outside",
        "title": {"standoff": 10},
        "ticklabeloverflow": "allow",  # to hide what goes beyond takes a third of the time of drawing
    }
    return go.layout.Template(
        layout=go.Layout(
            colorway=list(COLOURS),
            paper_bgcolor="rgba(0,0,0,0)",
            plot_bgcolor="rgba(0,0,0,0)",
            font={"family": "system-ui, sans-serif", "size": 13},
            margin={"l": 10, "r": 15, "t": 35, "b": 10},
            hoverlabel={"align": "left", "font": {"size": 12}},
            modebar={"bgcolor": "rgba(0,0,0,0)", "color": COLOURS[6], "activecolor": COLOURS[0]},
            legend={"orientation": "h", "x": 0, "xanchor": "left", "y": 1.1, "yanchor": "bottom"},
            xaxis=axis,
            yaxis=axis,
        )
    )
