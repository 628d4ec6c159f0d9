"""What it costs where: a map over virtual users and batch size for each variant, and what the cheapest image saves."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from matrix_benchmarking.analyze.best import Best, Group
from matrix_benchmarking.analyze.points import Point
from matrix_benchmarking.analyze.words import count_of, percent
from matrix_benchmarking.filters import show
from matrix_benchmarking.kpi import KPIDefinition
from matrix_benchmarking.matrix import Entry
from matrix_benchmarking.plotting import Plot, View, clicks, template
from matrix_benchmarking.plotting.controls import Control, Number

from .points import (
    BATCH_SIZE,
    FIRST_RUN,
    POINT,
    VARIANT,
    VUS,
    Places,
    batch_sizes,
    listed,
    not_shown,
    place_of,
    point_of,
    points_frame,
    rankable,
    scope_names,
    variant_names,
    variants,
    why_unranked,
)

if TYPE_CHECKING:
    import numpy
    import pandas
    import plotly.graph_objects as go
    from numpy.typing import NDArray

    from matrix_benchmarking.plotting import Drawn


COLUMNS, ROW_HEIGHT = 2, 330
GRID = 60
PERCENTILES = (0, 5, 10, 25, 50, 75, 90, 100)
VISIBLE = 1.05
"""The least ratio between two levels of a map."""
BUSY_VUS = 20
"""From here on a server is loaded; below, the cost says more of the load than of the server."""
MINIMUM_VUS = "minimum_vus"
STAR = "#e4002b"
LOWEST, UNDECIDED = "lowest mean of a variant", "can't be told apart from the lowest"
HARDWARE, IMAGE, SAVING, SURE = "hardware", "image", "saving", "is sure"
HARDWARE_KEYS, IMAGE_KEYS = ("hw_type", "vendor"), ("image", "engine")
LARGEST_PX, SMALLEST_PX = 26, 7


class CostMap(Plot):
    """A contour for each variant; cfg ``minimum_vus`` leaves light loads out."""

    name: ClassVar[str] = "Cost over virtual users and batch size"
    kpis = ("1B_cost",)
    how_to_read: ClassVar[str] = (
        "Dark is cheap; colours and lines follow the percentiles of all costs shown. Between the points the cost is "
        "interpolated in logarithms, and outside of what was measured nothing is drawn. Star: the lowest mean of a "
        "variant; red dots: the points that can't be told apart from it."
    )

    def controls(self) -> Sequence[Control]:
        points = (one.point.settings for group in self.study.best.groups for one in group.standings)
        loads = {(settings.get("vus"), settings.get("batch_size")) for settings in points}
        known = [vus for vus, size in loads if _is_positive(show(size))]
        users = sorted({float(each) for each in known if isinstance(each, (int, float)) and 0 < each < math.inf})
        if len(users) < 2:
            return []
        least = default_minimum(users)
        return [Number(MINIMUM_VUS, f"{VUS.capitalize()}, at least", least, users[0], users[-1], users)]

    def draw(self, view: View) -> Drawn:
        (kpi,) = view.kpis
        runs = view.runs
        names = variant_names(self.study.read, self.workload)
        frame = points_frame(rankable(self.study, runs), [kpi], names).dropna(subset=[kpi.name])
        frame = frame[frame[BATCH_SIZE].map(_is_positive) & (frame[kpi.name] > 0)]
        if frame.empty:
            return None, "No run that can be ranked has a cost, a batch size and a number of virtual users."
        least = view.cfg.get(MINIMUM_VUS, default_minimum(list(frame[VUS])))
        chosen = frame[frame[VUS] >= least]
        if chosen.empty:
            return None, f"No point has {least:g} virtual users or more."
        places = Places(self.study.best)
        best = {variant: places.compared(part[POINT]) for variant, part in chosen.groupby(VARIANT)}
        said = map_conclusion(chosen, kpi, best, least, len(frame) - len(chosen))
        ranked, unranked = set(map(id, rankable(self.study, runs))), why_unranked(self.study)

        def why(run: Entry) -> str:
            if id(run) not in ranked:
                return unranked(run)
            has_size = _is_positive(template.text(run.settings.get("batch_size")))
            return f"at a {kpi.name} that isn't above 0" if has_size else f"without a {BATCH_SIZE} above 0"

        return cost_maps(chosen, kpi, best), [*said, *not_shown(runs, frame, [kpi], why)]


def default_minimum(users: Sequence[float]) -> float:
    """Above 20 users, where at least three numbers of users are beyond; else everything."""
    beyond = {each for each in users if each > BUSY_VUS}
    return min(beyond) if len(beyond) >= 3 else min(users)


def surface(users: Sequence[float], sizes: Sequence[float], costs: Sequence[float]) -> NDArray[numpy.float64] | None:
    """Costs on a grid of GRID × GRID, batch sizes by users, evenly spaced in logarithms; NaN outside of the hull.

    Interpolated linearly in the logarithms of all three. None for fewer than four points, or points on a line.
    """
    import numpy
    from scipy import interpolate, spatial

    places = numpy.log2(numpy.column_stack([users, sizes]))
    if len(places) < 4 or numpy.linalg.matrix_rank(places - places[0], tol=1e-9) < 2:
        return None
    grid = numpy.meshgrid(*(numpy.linspace(column.min(), column.max(), GRID) for column in places.T))
    try:
        logarithms = interpolate.griddata(places, numpy.log(costs), tuple(grid), method="linear")
    except spatial.QhullError:
        return None
    return numpy.asarray(numpy.exp(logarithms))


def cost_maps(frame: pandas.DataFrame, kpi: KPIDefinition, best: Mapping[str, Group]) -> go.Figure:
    """One map a variant, all with one scale of colours: real points, and those of which one is the *best* there."""
    shown = sorted(set(frame[VARIANT]))
    titles = [f"{variant} · {kpi.show(best[variant].best.value)}" for variant in shown]
    facets = template.Facets(titles, COLUMNS, shared_xaxes=True)
    levels = _levels(list(frame[kpi.name]))
    for number, variant in enumerate(shown):
        part = frame[frame[VARIANT] == variant]
        _draw(facets, number, part, best[variant], kpi, levels)
    sizes = [float(size) for size in frame[BATCH_SIZE]]
    for axis, values in (("x", list(frame[VUS])), ("y", sizes)):
        facets.axes(axis, type="log", **template.log_axis(values), showticklabels=True)
    facets.label(VUS, BATCH_SIZE)
    coloraxis = {
        "colorscale": "Viridis",
        "cmin": 0,
        "cmax": max(len(levels) - 1, 1),
        "colorbar": {
            "title": {"text": f"{kpi.name}<br>({kpi.unit})"},
            "tickvals": list(range(len(levels))),
            "ticktext": [kpi.show(cost, unit=False) for cost in levels],
        },
    }
    return facets.figure(150 + ROW_HEIGHT * facets.rows, coloraxis=coloraxis)


def map_conclusion(
    frame: pandas.DataFrame, kpi: KPIDefinition, best: Mapping[str, Group], least: float, left_out: int
) -> list[str]:
    said = []
    for variant in sorted(best, key=lambda variant: best[variant].best.value):
        of_variant, undecided = frame[frame[VARIANT] == variant], len(best[variant].undecided)
        row = _rows(of_variant, [best[variant].best]).iloc[0]
        notes = ["at the edge"] if best[variant].highest(best[variant].best) else []
        notes += [f"{undecided} more can't be told apart from it"] if undecided else []
        said.append(place_of(row, kpi) + (f" ({'; '.join(notes)})" if notes else ""))
    hidden = f" {left_out} points below {least:g} {VUS} are left out." if left_out else ""
    return [f"Lowest mean {kpi.name} of each variant: {listed(said)}.{hidden}"]


def _rows(frame: pandas.DataFrame, points: Iterable[Point]) -> pandas.DataFrame:
    return frame[frame[POINT].isin({point_of(point.runs) for point in points})]


def _draw(
    facets: template.Facets, panel: int, frame: pandas.DataFrame, best: Group, kpi: KPIDefinition, levels: list[float]
) -> None:
    lines = _surface(frame, kpi, levels)
    if lines is not None:
        facets.add(panel, lines)
    white = {"width": 1, "color": "white"}
    undecided = _rows(frame, [one.point for one in best.undecided])
    for rows, name, style in (
        (frame, "measured", {"symbol": "circle-open", "size": 8, "color": "#555555", "line": {"width": 1.5}}),
        (undecided, UNDECIDED, {"symbol": "circle", "size": 9, "color": STAR, "line": white}),
        (_rows(frame, [best.best]), LOWEST, {"symbol": "star", "size": 17, "color": STAR, "line": white}),
    ):
        marks = {
            "x": list(rows[VUS]),
            "y": [float(size) for size in rows[BATCH_SIZE]],
            "mode": "markers",
            "marker": style,
            "cliponaxis": False,
            "name": name,
            "customdata": clicks.marks(rows[FIRST_RUN]),
            "hovertext": list(rows["hover"]),
            "hovertemplate": "%{hovertext}<extra></extra>",
        }
        facets.add(panel, marks)


def _surface(frame: pandas.DataFrame, kpi: KPIDefinition, levels: list[float]) -> dict[str, Any] | None:
    """What lies between the points of *frame*, as a trace, if they are enough for that."""
    import numpy

    users, sizes = list(frame[VUS]), [float(size) for size in frame[BATCH_SIZE]]
    grid = surface(users, sizes, list(frame[kpi.name]))
    if grid is None:
        return None
    steps = numpy.interp(numpy.log(grid), numpy.log(levels), range(len(levels)))
    return {
        "type": "contour",
        "x": list(numpy.geomspace(min(users), max(users), GRID)),
        "y": list(numpy.geomspace(min(sizes), max(sizes), GRID)),
        "z": [[None if math.isnan(cell) else cell for cell in row] for row in steps.tolist()],
        "coloraxis": "coloraxis",
        "contours": {
            "coloring": "heatmap",
            "start": 1,
            "end": len(levels) - 2,
            "size": 1,
            "showlabels": True,
            "labelfont": {"size": 11, "color": "white"},
        },
        "line": {"color": "rgba(255, 255, 255, .55)", "width": 1, "smoothing": 0.6},
        "hoverinfo": "skip",
    }


def _levels(costs: Sequence[float]) -> list[float]:
    """The costs at PERCENTILES that differ visibly: colours and lines are evenly spaced between them."""
    import numpy

    lowest, *others, highest = (float(cost) for cost in numpy.percentile(costs, PERCENTILES))
    levels = [lowest]
    for cost in others:
        if levels[-1] * VISIBLE < cost < highest / VISIBLE:
            levels.append(cost)
    return [*levels, highest] if highest > lowest else levels


def _is_positive(label: str) -> bool:
    try:
        return 0 < float(label) < math.inf
    except ValueError:
        return False


class BestImageBySavings(Plot):
    """The cheapest image at each batch size and number of users, as large as its saving."""

    name: ClassVar[str] = "Best image by cost savings"
    kpis = ("1B_cost",)
    how_to_read: ClassVar[str] = (
        "Each mark is a load at which several images were tried. Its colour is the image with the lowest cost, its "
        "size the saving against the most expensive one there. Hover for those that can't be told apart from it."
    )

    def draw(self, view: View) -> Drawn:
        (kpi,) = view.kpis
        image_names = [name for name in IMAGE_KEYS if name in self.matrix.settings] or ["image"]
        labels = {HARDWARE: scope_names(self.study.read, self.workload, HARDWARE_KEYS), IMAGE: image_names}
        runs = view.runs
        points = points_frame(rankable(self.study, runs), [kpi], image_names, labels, has_hover=False)
        frame = savings_frame(points, kpi, self.study.best)
        if frame.empty:
            return None, "No load was tried with more than one image whose cost is known."
        said = [
            *savings_conclusion(frame, kpi),
            *_alone(points, frame),
            *not_shown(runs, points, [kpi], why_unranked(self.study)),
        ]
        return best_images(frame, kpi, variants(self.study.read, image_names)), said


def _alone(points: pandas.DataFrame, frame: pandas.DataFrame) -> list[str]:
    count = points.groupby([HARDWARE, BATCH_SIZE, VUS]).ngroups - len(frame)
    what = "load was tried with one image only and is" if count == 1 else "loads were tried with one image only and are"
    return [f"{count} {what} not shown."] if count else []


def savings_frame(points: pandas.DataFrame, kpi: KPIDefinition, best: Best) -> pandas.DataFrame:
    """One row for each hardware, batch size and number of users at which several images were tried.

    Columns: those, ``image`` (the cheapest), its cost, ``saving`` (see :func:`_saving`), ``other``
    (the most expensive), ``images`` (how many were tried), ``is sure`` (False where another can't be told apart from
    the cheapest, or that isn't known), ``first run`` (of the cheapest) and ``hover``. *best* ranks the points.
    """
    import pandas

    places, loads = Places(best), dict[tuple[str, str, float], list[Mapping[Hashable, Any]]]()
    for row in points.dropna(subset=[kpi.name]).to_dict("records"):
        loads.setdefault((row[HARDWARE], row[BATCH_SIZE], row[VUS]), []).append(row)
    rows = []
    for (hardware, size, users), there in sorted(loads.items(), key=lambda load: load[0]):
        images = {row[IMAGE] for row in there}
        if len(images) < 2:
            continue
        known = {row[POINT]: row for row in there}
        standings = places.compared(known).standings
        ordered = [known[point_of(one.point.runs)] for one in standings]
        first, worst = ordered[0], ordered[-1]
        saving = _saving(first[kpi.name], worst[kpi.name])
        is_sure = all(one.apart for one, row in zip(standings, ordered, strict=True) if row[IMAGE] != first[IMAGE])
        hover = "<br>".join(
            [f"{hardware}, batch size {size}, {users:g} virtual users"]
            + [
                f"{row[IMAGE]}: {kpi.show(row[kpi.name])}"
                + (" (can't be told apart from the best)" if place and one.apart is False else "")
                for place, (one, row) in enumerate(zip(standings, ordered, strict=True))
            ]
            + ["what it saves isn't known: a cost isn't above 0" if math.isnan(saving) else f"saves {_percent(saving)}"]
        )
        compared_there = (saving, worst[IMAGE], len(images), is_sure)
        rows.append((hardware, size, users, first[IMAGE], first[kpi.name], *compared_there, first[FIRST_RUN], hover))
    columns = [HARDWARE, BATCH_SIZE, VUS, IMAGE, kpi.name, SAVING, "other", "images", SURE, FIRST_RUN, "hover"]
    return pandas.DataFrame(rows, columns=columns)


def _saving(lowest: float, highest: float) -> float:
    """The fraction of the highest cost that the lowest saves; NaN where there is none, as a cost isn't above 0."""
    if lowest == highest:
        return 0.0
    return 1 - lowest / highest if lowest >= 0 else math.nan


def best_images(frame: pandas.DataFrame, kpi: KPIDefinition, all_images: Sequence[str]) -> go.Figure:
    sizes, hardware = batch_sizes(frame), sorted(set(frame[HARDWARE]))
    colours, symbols = template.colours_of(list(all_images)), template.symbols_of(list(all_images))
    areas = frame[SAVING].fillna(0.0).clip(lower=0.02)
    area = {"sizemode": "area", "sizeref": float(areas.max()) / LARGEST_PX**2, "sizemin": SMALLEST_PX}
    facets = template.Facets(hardware, COLUMNS, shared_xaxes="all", shared_yaxes="all")
    groups = dict(iter(frame.groupby([HARDWARE, IMAGE])))
    for panel, of_hardware in enumerate(hardware):
        for image in all_images:
            if (marks := groups.get((of_hardware, image))) is None:
                continue
            look = {"color": colours[image], "symbol": symbols[image], "size": areas[marks.index].tolist(), **area}
            trace = {
                "x": marks[VUS].tolist(),
                "y": marks[BATCH_SIZE].tolist(),
                "mode": "markers",
                "marker": look,
                "name": image,
                "customdata": clicks.marks(marks[FIRST_RUN]),
                "hovertext": marks["hover"].tolist(),
                "hovertemplate": "%{hovertext}<extra></extra>",
            }
            facets.add(panel, trace)
    facets.axes("x", type="log", **template.log_axis(list(frame[VUS])))
    facets.axes("y", type="category", categoryorder="array", categoryarray=sizes)
    facets.label(VUS, BATCH_SIZE)
    legend = {"title": {"text": IMAGE}, "tracegroupgap": 0, "itemsizing": "constant"}
    return facets.figure(150 + facets.rows * (120 + 42 * len(sizes)), legend=legend)


def savings_conclusion(frame: pandas.DataFrame, kpi: KPIDefinition) -> list[str]:
    loads = f"of {count_of(len(frame), 'load')}"
    notes = [
        f"At {count} {loads} {what}."
        for count, what in (
            (int((frame[SAVING] == 0).sum()), "all images cost the same"),
            (int(frame[SAVING].isna().sum()), "a cost is below 0, so what is saved there isn't known"),
            (len(frame) - int(frame[SURE].sum()), "more than one image may be the cheapest"),
        )
        if count
    ]
    saved = frame[frame[SAVING] > 0]
    if saved.empty:
        return [" ".join(notes)]
    wins = saved[IMAGE].value_counts()
    first = wins.index[0]
    mine = saved[saved[IMAGE] == first]
    most = saved.iloc[int(saved[SAVING].argmax())]
    share = "everywhere" if wins.iloc[0] == len(frame) else f"at {wins.iloc[0]} {loads}"
    said = (
        f"{first} is cheapest {share}, saving {_percent(mine[SAVING].median())} in the median. The most is saved on "
        f"{most[HARDWARE]} at batch size {most[BATCH_SIZE]} and {most[VUS]:g} virtual users: {_percent(most[SAVING])} "
        f"by {most[IMAGE]} ({kpi.show(most[kpi.name])}) instead of {most['other']}."
    )
    return [" ".join([said, *notes])]


def _percent(saving: float) -> str:
    return percent(saving).removeprefix("+")
