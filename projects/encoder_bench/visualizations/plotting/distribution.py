"""Accuracy and fidelity over all runs: where they lie, how far they spread, which runs stand out."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from matrix_benchmarking.kpi import KPIDefinition
from matrix_benchmarking.matrix import Entry, SettingLists, Variables
from matrix_benchmarking.plotting import Plot, clicks, template
from matrix_benchmarking.plotting.tables import Cell, Column, table

if TYPE_CHECKING:
    import plotly.graph_objects as go

OUTLIERS = 5
CURVE_POINTS = 200
LARGEST = 1.0  # of shares and cosines


@dataclasses.dataclass(frozen=True, slots=True)
class Distribution:
    """The values of a KPI over runs.

    Attributes:
        entries, values: run by run.
        mean: of the values.
        deviation: their standard deviation; None for a single run.
    """

    entries: tuple[Entry, ...]
    values: tuple[float, ...]
    mean: float
    deviation: float | None

    def outliers(self) -> list[tuple[Entry, float, float]]:
        """The strongest deviations: run, value, and z-score; none where nothing deviates."""
        if not self.deviation:
            return []
        ordered = sorted(
            zip(self.entries, self.values, strict=True), key=lambda one: abs(one[1] - self.mean), reverse=True
        )
        return [(entry, value, (value - self.mean) / self.deviation) for entry, value in ordered[:OUTLIERS]]


class _Distribution(Plot):
    kpi_name: ClassVar[str]

    def do_plot(
        self,
        ordered_vars: list[str],
        settings: dict[str, Any],
        setting_lists: SettingLists,
        variables: Variables,
        cfg: Mapping[str, Any],
    ) -> tuple[Any, Any]:
        kpi = self.workload.kpis[self.kpi_name]
        found = distribution(self.matrix.all_records(settings, setting_lists), kpi)
        if found is None:
            return None, f"{kpi.name} is not known for any successful run."
        figure = density(found, kpi) if found.deviation else None
        return figure, [conclusion(found, kpi), *self._outliers(found, kpi)]

    def _outliers(self, found: Distribution, kpi: KPIDefinition) -> list[Any]:
        rows = [
            [
                Cell(self.link(entry)),
                Cell(kpi.show(value), sort=value),
                Cell(kpi.show(abs(value - found.mean)), sort=abs(value - found.mean)),
                Cell(f"{score:+.1f}", sort=score),
                Cell("unknown" if total is None else f"{total:,}", sort=total),
            ]
            for entry, value, score in found.outliers()
            for total in [getattr(getattr(entry.lts, "results", None), "requests", None)]
        ]
        columns = [
            Column("Run"),
            Column(kpi.name, numeric=True, help=kpi.help),
            Column("Distance from the mean", numeric=True),
            Column("z-score", numeric=True, help="the distance in standard deviations"),
            Column("Requests", numeric=True),
        ]
        caption = f"The runs whose {kpi.name} is farthest from the mean"
        return [table(columns, rows, caption=caption)] if rows else []


class AccuracyDistribution(_Distribution):
    """The share of labels that were right."""

    name: ClassVar[str] = "Accuracy distribution"
    how_to_read: ClassVar[str] = (
        "The curve is the density of the runs' accuracies, each stroke below is a run, the shaded band one standard "
        "deviation around the mean."
    )
    kpi_name: ClassVar[str] = "accuracy"


class FidelityDistribution(_Distribution):
    """The cosine of embeddings to those of the reference."""

    name: ClassVar[str] = "Fidelity distribution"
    how_to_read: ClassVar[str] = (
        "The curve is the density of the runs' fidelities, each stroke below is a run, the shaded band one standard "
        "deviation around the mean."
    )
    kpi_name: ClassVar[str] = "fidelity"


def distribution(entries: Iterable[Entry], kpi: KPIDefinition) -> Distribution | None:
    """The distribution of *kpi* over the successful runs that have it; None where none has."""
    known = [(entry, entry.kpis[kpi.name]) for entry in entries if not entry.failed and kpi.name in entry.kpis]
    if not known:
        return None
    runs, values = zip(*known, strict=True)
    mean = math.fsum(values) / len(values)
    deviation = None
    if len(values) > 1:
        deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1))
        if deviation <= 1e-12 * max(1.0, abs(mean)):
            deviation = 0.0
    return Distribution(runs, values, mean, deviation)


def density(found: Distribution, kpi: KPIDefinition) -> go.Figure:
    """The estimated density with a stroke for each run, the mean and one standard deviation to both sides."""
    import numpy
    import plotly.graph_objects as go
    from scipy import stats

    assert found.deviation
    values = numpy.asarray(found.values, dtype=float)
    margin = max(found.deviation, (values.max() - values.min()) * 0.1)
    grid = numpy.linspace(values.min() - margin, min(values.max() + margin, LARGEST), CURVE_POINTS)
    curve = stats.gaussian_kde(values)(grid)
    figure = go.Figure()
    figure.add_scatter(x=list(grid), y=list(curve), mode="lines", fill="tozeroy", name="density", hoverinfo="skip")
    figure.add_scatter(
        x=[float(value) for value in values],
        y=[0.0] * len(values),
        mode="markers",
        marker={"symbol": "line-ns-open", "size": 16, "color": template.COLOURS[1]},
        text=[template.text(entry.name) for entry in found.entries],
        customdata=clicks.marks(entry.test_uuid for entry in found.entries),
        hovertemplate=f"%{{text}}<br>{kpi.name} %{{x}}<extra></extra>",
        name="runs",
    )
    low, high = found.mean - found.deviation, found.mean + found.deviation
    figure.add_vrect(x0=low, x1=high, opacity=0.12, fillcolor=template.COLOURS[2], line_width=0)
    figure.add_vline(x=found.mean, line_dash="dash", line_color=template.COLOURS[2], annotation_text="mean ± 1 sd")
    figure.update_xaxes(title=f"{kpi.name} ({kpi.unit})" if kpi.unit else kpi.name)
    figure.update_yaxes(title="density", rangemode="tozero", showticklabels=False)
    return template.apply(figure, height=360)


def conclusion(found: Distribution, kpi: KPIDefinition) -> str:
    """Where the values lie, and whether one stands out."""
    count = len(found.values)
    if found.deviation is None:
        return f"One run has a {kpi.name}: {kpi.show(found.mean)}. Nothing can be said about its spread."
    if found.deviation == 0:
        return f"All {count} runs have the same {kpi.name}: {kpi.show(found.mean)}."
    far = sum(abs(value - found.mean) > 3 * found.deviation for value in found.values)
    standing = (
        "no run is more than three of them from the mean"
        if far == 0
        else f"{far} {'run is' if far == 1 else 'runs are'} more than three of them from the mean"
    )
    return (
        f"{kpi.name} of {count} runs: mean {kpi.show(found.mean)}, standard deviation {kpi.show(found.deviation)}, "
        f"from {kpi.show(min(found.values))} to {kpi.show(max(found.values))}; {standing}."
    )
