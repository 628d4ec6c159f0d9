"""Accuracy and fidelity of all runs, by variant, with the limit that they have to keep; which runs stand out."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from matrix_benchmarking.analyze.intervals import summarise
from matrix_benchmarking.analyze.words import count_of, is_or_are
from matrix_benchmarking.kpi import KPIDefinition
from matrix_benchmarking.matrix import Entry
from matrix_benchmarking.plotting import Plot, View, clicks, template
from matrix_benchmarking.plotting.clicks import not_shown
from matrix_benchmarking.plotting.tables import Cell, Column, table
from matrix_benchmarking.workload import Gate

from .points import label_of, variant_names, variants

if TYPE_CHECKING:
    import plotly.graph_objects as go

OUTLIERS = 5
FAR = 3.0
"""So many standard deviations from the mean of its variant a run stands out."""
NAMED = 6
LANES = 7
"""Runs of one variant lie on so many lines, so that equal values can be told apart."""


@dataclasses.dataclass(frozen=True, slots=True)
class Cluster:
    """The values of a KPI over the runs of one variant.

    Attributes:
        variant: its label, as plotly writes it.
        entries, values: run by run.
        mean: of the values.
        deviation: their standard deviation; None for a single run.
    """

    variant: str
    entries: tuple[Entry, ...]
    values: tuple[float, ...]
    mean: float
    deviation: float | None

    def scores(self) -> list[float]:
        """The distance of each run from the mean in standard deviations; 0 where nothing deviates."""
        return [(value - self.mean) / self.deviation if self.deviation else 0.0 for value in self.values]


class _Distribution(Plot):
    kpi_name: ClassVar[str]
    how_to_read: ClassVar[str] = (
        "Each mark is a run, in the row of its variant. Runs beyond the dashed line, where there is one, can't be the "
        "best."
    )

    def draw(self, view: View) -> tuple[Any, Any]:
        kpi, whole = self.workload.kpis[self.kpi_name], self.study.read
        names = variant_names(whole, self.workload)
        runs = view.runs
        found = clusters(runs, kpi, names)
        if not found:
            return None, f"{kpi.name} is not known for any successful run."
        gate = next((one for one in self.workload.gates if one.kpi == kpi.name), None)
        differs = len({value for cluster in found for value in cluster.values}) > 1
        figure = runs_by_variant(found, kpi, gate, variants(whole, names)) if differs else None
        shown = [entry for cluster in found for entry in cluster.entries]
        hidden = not_shown(runs, shown, lambda run: f"without {kpi.name}")
        return figure, [conclusion(found, kpi, gate), *hidden, *self._outliers(found, kpi)]

    def _outliers(self, found: Sequence[Cluster], kpi: KPIDefinition) -> list[Any]:
        scored = [
            (cluster, entry, value, score)
            for cluster in found
            for entry, value, score in zip(cluster.entries, cluster.values, cluster.scores(), strict=True)
            if score
        ]
        scored.sort(key=lambda one: -abs(one[3]))
        rows = [
            [
                Cell(self.link(entry)),
                Cell(kpi.show(value), sort=value),
                Cell(kpi.show(abs(value - cluster.mean)), sort=abs(value - cluster.mean)),
                Cell(f"{score:+.1f}", sort=score),
                Cell("unknown" if total is None else f"{total:,}", sort=total),
            ]
            for cluster, entry, value, score in scored[:OUTLIERS]
            for total in [getattr(getattr(entry.lts, "results", None), "requests", None)]
        ]
        columns = [
            Column("Run"),
            Column(kpi.name, numeric=True, help=kpi.help),
            Column("Distance from the mean", numeric=True, help="of the runs of its variant"),
            Column("z-score", numeric=True, help="the distance in standard deviations of its variant"),
            Column("Requests", numeric=True),
        ]
        caption = f"The runs whose {kpi.name} is farthest from the mean of their variant"
        return [table(columns, rows, caption=caption)] if rows else []


class AccuracyDistribution(_Distribution):
    """The share of labels that were right."""

    name: ClassVar[str] = "Accuracy distribution"
    kpi_name: ClassVar[str] = "accuracy"


class FidelityDistribution(_Distribution):
    """The cosine of embeddings to those of the reference."""

    name: ClassVar[str] = "Fidelity distribution"
    kpi_name: ClassVar[str] = "fidelity"


def clusters(entries: Iterable[Entry], kpi: KPIDefinition, names: Sequence[str]) -> list[Cluster]:
    """The successful runs that have *kpi*, by variant, which is what *names* say."""
    found: dict[str, list[Entry]] = {}
    for entry in entries:
        if not entry.failed and kpi.name in entry.kpis:
            found.setdefault(label_of(entry, names), []).append(entry)
    return [_cluster(variant, runs, kpi) for variant, runs in sorted(found.items())]


def _cluster(variant: str, runs: Sequence[Entry], kpi: KPIDefinition) -> Cluster:
    values = tuple(entry.kpis[kpi.name] for entry in runs)
    found = summarise(values)
    is_same = found.deviation is not None and found.deviation <= 1e-12 * max(1.0, abs(found.mean))
    return Cluster(variant, tuple(runs), values, found.mean, 0.0 if is_same else found.deviation)


def runs_by_variant(
    found: Sequence[Cluster], kpi: KPIDefinition, gate: Gate | None, all_variants: Sequence[str]
) -> go.Figure:
    """A row of marks for each variant, and the limit that *gate* sets."""
    import plotly.graph_objects as go

    colours = template.colours_of(all_variants)
    figure = go.Figure()
    for row, cluster in enumerate(found):
        figure.add_scatter(
            x=[float(value) for value in cluster.values],
            y=[row + 0.6 * (number % LANES - LANES // 2) / LANES for number in range(len(cluster.values))],
            mode="markers",
            marker={"size": 7, "opacity": 0.7, "color": colours[cluster.variant]},
            text=[template.text(entry.name) for entry in cluster.entries],
            customdata=clicks.marks(entry.test_uuid for entry in cluster.entries),
            hovertemplate=f"%{{text}}<br>{kpi.name} %{{x}}<extra></extra>",
            name=cluster.variant,
            showlegend=False,
        )
    for limit in _limits(gate):
        said = f"limit {kpi.show(limit)}"
        figure.add_vline(x=limit, line_dash="dash", line_color=template.COLOURS[1], annotation_text=said)
    figure.update_xaxes(title=f"{kpi.name} ({kpi.unit})" if kpi.unit else kpi.name)
    labels = [cluster.variant for cluster in found]
    figure.update_yaxes(tickvals=list(range(len(found))), ticktext=labels, range=[len(found) - 0.5, -0.5])
    return template.apply(figure, height=130 + 46 * len(found))


def conclusion(found: Sequence[Cluster], kpi: KPIDefinition, gate: Gate | None = None) -> str:
    """Where the values of each variant lie, how many are beyond the limit, and whether a run stands out."""
    count = sum(len(cluster.values) for cluster in found)
    listed = "; ".join(_range(cluster, kpi) for cluster in found[:NAMED])
    more = f"; and {len(found) - NAMED} more" if len(found) > NAMED else ""
    sentences = [f"{kpi.name} of {count_of(count, 'run')}: {listed}{more}.", *_beyond(found, kpi, gate)]
    far = sum(abs(score) > FAR for cluster in found for score in cluster.scores())
    if far:
        sentences.append(
            f"{count_of(far, 'run')} {is_or_are(far)} more than three standard deviations from the mean of the variant."
        )
    return " ".join(sentences)


def _range(cluster: Cluster, kpi: KPIDefinition) -> str:
    low, high = kpi.show(min(cluster.values), unit=False), kpi.show(max(cluster.values))
    values = high if cluster.deviation in (None, 0.0) else f"{low} to {high}"
    count = len(cluster.values)
    return f"{template.plain(cluster.variant)} {values} ({count_of(count, 'run')})"


def _limits(gate: Gate | None) -> list[float]:
    return [] if gate is None else [limit for limit in (gate.minimum, gate.maximum) if limit is not None]


def _beyond(found: Sequence[Cluster], kpi: KPIDefinition, gate: Gate | None) -> list[str]:
    if gate is None:
        return []
    limit = " and ".join(kpi.show(each) for each in _limits(gate))
    refused = {cluster.variant: sum(map(gate.refuses, cluster.values)) for cluster in found}
    total = sum(refused.values())
    if not total:
        return [f"All keep the limit of {limit}."]
    names = [f"{template.plain(variant)} ({count})" for variant, count in refused.items() if count]
    rest = [f"and {len(names) - NAMED} more" if len(names) > NAMED else ""]
    listed = ", ".join(filter(None, [*names[:NAMED], *rest]))
    return [f"{count_of(total, 'run')} {is_or_are(total)} beyond the limit of {limit} and can't be the best: {listed}."]
