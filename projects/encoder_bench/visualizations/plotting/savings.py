"""Which image is cheapest at each load, and by how much."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from matrix_benchmarking.analyze.best import Best
from matrix_benchmarking.analyze.words import count_of, percent
from matrix_benchmarking.kpi import KPIDefinition
from matrix_benchmarking.plotting import Plot, View, clicks, template

from .points import (
    BATCH_SIZE,
    FIRST_RUN,
    POINT,
    VUS,
    Places,
    batch_sizes,
    not_shown,
    point_of,
    points_frame,
    rankable,
    scope_names,
    variants,
    why_unranked,
)

if TYPE_CHECKING:
    import pandas
    import plotly.graph_objects as go

    from matrix_benchmarking.plotting import Drawn

COLUMNS = 2
HARDWARE, IMAGE, SAVING, SURE = "hardware", "image", "saving", "is sure"
HARDWARE_KEYS, IMAGE_KEYS = ("hw_type", "vendor"), ("image", "engine")
LARGEST, SMALLEST = 26, 7


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
    area = {"sizemode": "area", "sizeref": float(areas.max()) / LARGEST**2, "sizemin": SMALLEST}
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
