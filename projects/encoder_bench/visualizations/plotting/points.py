"""The points of a matrix as a table that plotly express can draw."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from matrix_benchmarking.analyze.best import Best, Group
from matrix_benchmarking.analyze.intervals import summarise
from matrix_benchmarking.analyze.points import ExclusionCause, keys, places_by_point, varying
from matrix_benchmarking.analyze.rank import narrowed
from matrix_benchmarking.analyze.study import Study
from matrix_benchmarking.analyze.wording.under_limit import condition_label
from matrix_benchmarking.analyze.words import variant_label
from matrix_benchmarking.kpi import KPIDefinition
from matrix_benchmarking.matrix import NOT_SET, Entry, Matrix
from matrix_benchmarking.plausible import is_number
from matrix_benchmarking.plotting import clicks
from matrix_benchmarking.plotting.clicks import run_of
from matrix_benchmarking.plotting.template import text
from matrix_benchmarking.rows import Rows
from matrix_benchmarking.workload import Workload

if TYPE_CHECKING:
    import pandas

VARIANT, BATCH_SIZE, VUS = "variant", "batch size", "virtual users"
FIRST_RUN, POINT = "first run", "point"
NAMED = 6
"""How many variants a sentence names."""


def points_frame(
    entries: Iterable[Entry],
    kpis: Sequence[KPIDefinition],
    variant_names: Sequence[str],
    labels: Mapping[str, Sequence[str]] | None = None,
    *,
    has_hover: bool = True,
) -> pandas.DataFrame:
    """One row a point, without failed or impossible runs, and without points at an unknown number of users.

    *labels* are further columns, each with the settings that its text is made of. Without *has_hover* none is made.

    Columns: ``variant``, ``batch size`` (text), ``virtual users``, ``runs``, ``first run`` (its id), ``point`` (as
    :func:`point_of` has it), ``hover``, and for each KPI its mean under the KPI's name, with ``… above`` and
    ``… below``: the distance from there to the largest and to the smallest of the repeats. NaN where the KPI is
    unknown; distances are NaN for one run.
    """
    import pandas

    labels = labels or {}
    columns = [VARIANT, BATCH_SIZE, VUS, "runs", FIRST_RUN, POINT, "hover", *labels]
    columns += [name for kpi in kpis for name in (kpi.name, f"{kpi.name} above", f"{kpi.name} below")]
    good = _possible(entries)
    points = [places for places in places_by_point(good) if users_of(good[places[0]]) is not None]
    firsts = good.at(places[0] for places in points)
    rows = [
        _row(good.at(places), label, kpis, has_hover)
        for places, label in zip(points, labels_of(firsts, variant_names), strict=True)
    ]
    for name, names in labels.items():
        for row, label in zip(rows, labels_of(firsts, names), strict=True):
            row[name] = label
    frame = pandas.DataFrame(rows, columns=columns)
    return frame.sort_values([VARIANT, VUS], kind="stable", ignore_index=True)


def _possible(entries: Iterable[Entry]) -> Rows:
    """Those that didn't fail and have no values that can't be."""
    rows = Rows.of(entries)
    return rows.where(not (bad or odd) for bad, odd in zip(rows.failed(), rows.values("implausible"), strict=True))


def not_shown(
    runs: Sequence[Entry],
    frame: pandas.DataFrame,
    kpis: Sequence[KPIDefinition],
    why: Callable[[Entry], str] = lambda run: "that can't be ranked",
    is_in: Callable[[Entry], bool] = lambda run: True,
) -> list[str]:
    """How many of *runs* are no part of a point of *frame*, which needs *kpis*, or *is_in* it; *why* is another reason.

    A repeat that lacks what a point is made of is not shown, though its point is.
    """
    drawn = set(frame[POINT])
    good = _possible(runs)
    points = keys(good, good.names())
    of_drawn = {point for run, point in zip(good, points, strict=True) if point_of([run]) in drawn}
    there = [run for run, point in zip(good, points, strict=True) if point in of_drawn]
    shown = [run for run in there if is_in(run) and all(kpi.name in run.kpis for kpi in kpis)]

    def reason(run: Entry) -> str:
        if run.implausible:
            return "with values that can't be"
        if users_of(run) is None:
            return f"without a number of {VUS}"
        unknown = [kpi.name for kpi in kpis if kpi.name not in run.kpis]
        return f"without {' and '.join(unknown)}" if unknown else why(run)

    return clicks.not_shown(runs, shown, reason)


def variant_names(matrix: Matrix, workload: Workload) -> list[str]:
    """The settings by which a plot has to tell variants apart: those that vary in the whole matrix."""
    differing = varying(matrix.entries)
    names = [name for name in (*workload.group_keys, *workload.variant_keys) if name in differing]
    return names or ["hw_type"]


def point_of(runs: Sequence[Entry]) -> int:
    return id(runs[0])


def scope_names(matrix: Matrix, workload: Workload, names: Sequence[str]) -> list[str]:
    """Those of *names* that vary in the whole matrix, behind what must not be compared across, such as the task."""
    differing = varying(matrix.entries)
    return [name for name in (*workload.group_keys, *names) if name in differing] or list(names[:1])


class Places:
    """Where the points of a ranking stand in it."""

    def __init__(self, best: Best) -> None:
        self._groups = best.groups
        self._places = {
            point_of(one.point.runs): (number, place)
            for number, group in enumerate(best.groups)
            for place, one in enumerate(group.standings)
        }

    def compared(self, points: Iterable[int]) -> Group:
        """These *points* of one group, as :func:`point_of` has them, compared with each other, the best first."""
        found = sorted(self._places[point] for point in points)
        # Groups whose keys have one text, such as 1 and "1", lie in one frame: each has its own best.
        first = found[0][0]
        return narrowed(self._groups[first], [place for number, place in found if number == first])


def listed(rows: Sequence[str]) -> str:
    more = [f"and {len(rows) - NAMED} more"] if len(rows) > NAMED else []
    return "; ".join([*rows[:NAMED], *more])


def place_of(row: pandas.Series, kpi: KPIDefinition) -> str:
    """A row of a frame in words: its variant, its mean and where that was."""
    return f"{row[VARIANT]} {kpi.show(row[kpi.name])} at batch size {row[BATCH_SIZE]}, {row[VUS]:g} {VUS}"


def rankable(study: Study, entries: Iterable[Entry]) -> Rows:
    """Those of *entries* that may be the best: successful, with a known cost, and with right answers."""
    ranked = {id(run) for group in study.best.groups for one in group.standings for run in one.point.runs}
    rows = Rows.of(entries)
    return rows.where(id(entry) in ranked for entry in rows)


def why_unranked(study: Study) -> Callable[[Entry], str]:
    """What keeps a run out of :func:`rankable`, as :func:`not_shown` counts it."""
    reasons = dict.fromkeys(_beyond(study), "not sure to keep the limit")
    newest = study.best.newest
    reasons |= {id(run): "of other versions" for run in (newest.others if newest is not None else ())}
    return lambda run: reasons.get(id(run), "that can't be ranked")


def answering(study: Study, frame: pandas.DataFrame) -> pandas.DataFrame:
    """The rows of *frame* without the points that are never called the best: whose answers are beyond a limit, or which
    are not sure to keep the one that was chosen.
    """
    gated = {id(one.entry) for one in study.best.excluded if one.cause is ExclusionCause.GATED}
    return frame[~frame[POINT].isin(gated | _beyond(study))]


def under_limit(study: Study) -> str:
    """The limit that was chosen, as a sentence about the points that keep it ends: `` under 100 ms p95_latency``."""
    limited = study.limited
    return "" if limited is None else f" {condition_label(limited.kpi, limited.limit)}"


def _beyond(study: Study) -> set[int]:
    """The runs of the points that could be ranked without the limit that was chosen, by their identity."""
    everything, kept = ({id(run) for group in best.groups for one in group.standings for run in one.point.runs}
                        for best in (study.of_all, study.best))  # fmt: skip
    return everything - kept


def variants(matrix: Matrix, names: Sequence[str]) -> list[str]:
    return sorted({*labels_of(matrix.entries, names)})


def batch_sizes(frame: pandas.DataFrame) -> list[str]:
    """The batch sizes in the table, small ones first."""

    def size(label: str) -> tuple[float, str]:
        return (float(label), "") if label.replace(".", "", 1).isdigit() else (math.inf, label)

    return sorted(set(frame[BATCH_SIZE]), key=size)


def known_batch_sizes(matrix: Matrix) -> list[str]:
    """All batch sizes as labels, small ones first, so that their colours are the same on all pages."""
    return [text(None if size is NOT_SET else size) for size in matrix.settings.get("batch_size", [])]


def label_of(entry: Entry, names: Sequence[str]) -> str:
    """The entry's values of *names* in one line, as plotly shall write it."""
    return text(variant_label(entry.settings, names))


def labels_of(runs: Rows, names: Sequence[str]) -> list[str]:
    """:func:`label_of` each."""
    alike, known = keys(runs, names), dict[object, str]()
    for place, key in enumerate(alike):
        if key not in known:
            known[key] = label_of(runs[place], names)
    return list(map(known.__getitem__, alike))


def _row(runs: Sequence[Entry], label: str, kpis: Sequence[KPIDefinition], has_hover: bool) -> dict[str, object]:
    settings = runs[0].settings
    row: dict[str, object] = {
        VARIANT: label,
        BATCH_SIZE: text(settings.get("batch_size")),
        VUS: settings["vus"],
        "runs": len(runs),
        FIRST_RUN: run_of(runs),
        POINT: point_of(runs),
    }
    lines = [label]
    for kpi in kpis:
        values = [entry.kpis[kpi.name] for entry in runs if kpi.name in entry.kpis]
        mean = summarise(values).mean if values else math.nan
        repeated = len(values) > 1
        row[kpi.name] = mean
        row[f"{kpi.name} above"] = max(values) - mean if repeated else math.nan
        row[f"{kpi.name} below"] = mean - min(values) if repeated else math.nan
        some = f", known of {len(values)} of the runs" if 0 < len(values) < len(runs) else ""
        lines.append(f"{kpi.name} {kpi.show(mean) if values else 'unknown'}{some}")
    row["hover"] = clicks.hover(runs, *lines) if has_hover else ""
    return row


def users_of(run: Entry) -> float | None:
    """The run's number of virtual users; None where its settings tell none above 0."""
    users = run.settings.get("vus")
    return users if is_number(users) and users > 0 else None
