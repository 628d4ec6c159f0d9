"""Whether the numbers can be believed: failed requests, odd answers."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, ClassVar

from matrix_benchmarking.analyze.intervals import summarise
from matrix_benchmarking.analyze.words import as_percent, count_of, is_or_are
from matrix_benchmarking.kpi import KPIDefinition
from matrix_benchmarking.matrix import Entry
from matrix_benchmarking.plotting import Plot, View, clicks, template
from matrix_benchmarking.plotting.tables import Cell, Column, table
from matrix_benchmarking.workload import Gate

from .points import (
    FIRST_RUN,
    label_of,
    variant_names,
    variants,
)

if TYPE_CHECKING:
    import pandas
    import plotly.graph_objects as go

    from matrix_benchmarking.plotting import Drawn
    from matrix_benchmarking.plotting.tables import Node


SHOWN = 40
SENTENCE_PX = 60
RUN, TOTAL, FAILED = "run", "requests", "failed requests"


class FailedRequests(Plot):
    """The runs with the most failed requests."""

    name: ClassVar[str] = "Failed requests"
    how_to_read: ClassVar[str] = (
        f"Each bar is a run: the share of its requests that did not get a right answer. The {SHOWN} worst are shown."
    )

    def height_px(self) -> int:
        return super().height_px() if any(entry.kpis.get("error_rate") for entry in self.matrix) else SENTENCE_PX

    def draw(self, view: View) -> Drawn:
        frame = failed_frame(view.runs, self.catalogue.name)
        known = frame.dropna(subset=[FAILED])
        figure = failed_requests(known) if known[FAILED].gt(0).any() else None
        return figure, failed_conclusion(frame)


def failed_frame(entries: Iterable[Entry], name_of: Callable[[Entry], str] = lambda run: run.name) -> pandas.DataFrame:
    """One row a run: its ``run`` and id (``first run``), ``requests``, ``failed requests`` and ``hover``.

    NaN where unknown. Failed requests are all requests minus those that were answered rightly.
    """
    import pandas

    rows = []
    for entry in entries:
        results = getattr(entry.lts, "results", None)
        rows.append(
            {
                RUN: template.text(name_of(entry)),
                FIRST_RUN: entry.test_uuid,
                TOTAL: getattr(results, "requests", None),
                FAILED: (failed := getattr(results, "failed_requests", None)),
                "hover": clicks.hover([entry], *([] if failed is None else [count_of(failed, "failed request")])),
            }
        )
    frame = pandas.DataFrame(rows, columns=[RUN, FIRST_RUN, TOTAL, FAILED, "hover"])
    return frame.astype({TOTAL: "float64", FAILED: "float64"})


def failed_requests(frame: pandas.DataFrame) -> go.Figure:
    import plotly.express as px

    worst = frame[frame[FAILED] > 0].copy()
    worst["share"] = worst[FAILED] / worst[TOTAL]
    worst = worst.sort_values("share", ascending=False).head(SHOWN)
    figure = px.bar(
        worst.iloc[::-1],
        x="share",
        y=RUN,
        orientation="h",
        custom_data=[FIRST_RUN],
        hover_name="hover",
        labels={"share": "share of the run's requests that failed", RUN: ""},
        color_discrete_sequence=[template.COLOURS[1]],
    )
    figure.update_xaxes(tickformat=".0%", rangemode="tozero")
    figure.update_traces(hovertemplate="%{hovertext}<extra></extra>")
    return template.apply(clicks.plain(figure), height=120 + 22 * len(worst))


def failed_conclusion(frame: pandas.DataFrame) -> str:
    """How many requests failed in how many runs; zero is said as such, and so is what isn't known."""
    known = frame.dropna(subset=[FAILED])
    silent = len(frame) - len(known)
    unknown = f" {count_of(silent, 'run')} can't say how many of their requests failed." if silent else ""
    if known.empty:
        return f"No run says how many of its requests failed.{unknown if not len(frame) else ''}"
    total, failed = int(known[TOTAL].sum()), int(known[FAILED].sum())
    if failed == 0:
        return f"No request failed: all {total:,} requests of {count_of(len(known), 'run')} were answered.{unknown}"
    bad = known[known[FAILED] > 0]
    worst = bad.iloc[int((bad[FAILED] / bad[TOTAL]).argmax())]
    share = as_percent(worst[FAILED] / worst[TOTAL], digits=1)
    return (
        f"{failed:,} of {total:,} requests failed, in {len(bad)} of {count_of(len(known), 'run')}; worst: {worst[RUN]} "
        f"with {share} ({int(worst[FAILED]):,} of {int(worst[TOTAL]):,}).{unknown}"
    )


OUTLIERS = 5
FAR = 3.0
"""So many standard deviations from the mean of its variant a run stands out."""
NAMED = 6
LANES = 7
"""Runs of one variant lie on so many lines, so that equal values can be told apart."""


@dataclasses.dataclass(frozen=True, slots=True)
class Cluster:
    """The values of a KPI over the runs of one variant; a single run has no standard deviation."""

    variant: str
    entries: tuple[Entry, ...]
    values: tuple[float, ...]
    mean: float
    deviation: float | None

    def scores(self) -> list[float]:
        """The distance of each run from the mean in standard deviations; 0 where nothing deviates."""
        return [(value - self.mean) / self.deviation if self.deviation else 0.0 for value in self.values]


class _Distribution(Plot):
    how_to_read: ClassVar[str] = (
        "Each mark is a run, in the row of its variant. Runs beyond the dashed line, where there is one, can't be the "
        "best."
    )

    def draw(self, view: View) -> Drawn:
        (kpi,), whole = view.kpis, self.study.read
        names = variant_names(whole, self.workload)
        runs = view.runs
        found = clusters(runs, kpi, names)
        if not found:
            return None, f"{kpi.name} is not known for any successful run."
        gate = next((one for one in self.workload.gates if one.kpi == kpi.name), None)
        differs = len({value for cluster in found for value in cluster.values}) > 1
        figure = runs_by_variant(found, kpi, gate, variants(whole, names)) if differs else None
        shown = [entry for cluster in found for entry in cluster.entries]
        hidden = clicks.not_shown(runs, shown, lambda run: f"without {kpi.name}")
        return figure, [clusters_conclusion(found, kpi, gate), *hidden, *self._outliers(found, kpi)]

    def _outliers(self, found: Sequence[Cluster], kpi: KPIDefinition) -> list[Node]:
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
    kpis = ("accuracy",)


class FidelityDistribution(_Distribution):
    """The cosine of embeddings to those of the reference."""

    name: ClassVar[str] = "Fidelity distribution"
    kpis = ("fidelity",)


class AnswerShapes(Plot):
    """How long embeddings are, and how many vectors an input has."""

    name: ClassVar[str] = "Shapes of the answers"

    def height_px(self) -> int:
        return SENTENCE_PX

    def draw(self, view: View) -> Drawn:
        names = variant_names(self.study.read, self.workload)
        by_variant: dict[str, list[object]] = {}
        by_group: dict[str, set[str]] = {}
        for entry in view.runs:
            results = getattr(entry.lts, "results", None)
            shape = {name: getattr(results, name, None) for _, name in SHAPE}
            if not entry.failed and any(isinstance(number, int | float) for number in shape.values()):
                by_variant.setdefault(label_of(entry, names), []).append(results)
                group = repr([entry.settings.get(key) for key in self.workload.group_keys])
                del shape["vectors_per_input"]  # of the study's runs, each over as many inputs as it came to ask
                by_group.setdefault(group, set()).add(str(shape))
        if not by_variant:
            return None, "The shape of the answers is not known for any successful run."
        text = "All runs of a model answer in one shape."
        if any(len(shapes) > 1 for shapes in by_group.values()):
            text = "Not all runs of one model answer in one shape: those that differ from the reference are doubtful."
        columns = [
            Column("Variant"),
            *(Column(title, numeric=True) for title in (*(each for each, _ in SHAPE), "Runs")),
        ]
        rows: list[list[Cell | str]] = []
        for variant, runs in sorted(by_variant.items()):
            numbers = [_extent(getattr(each, name, None) for each in runs) for _, name in SHAPE]
            rows.append([variant, *numbers, Cell(f"{len(runs)}", sort=len(runs))])
        return None, [text, table(columns, rows, caption="Embeddings that were checked")]


SHAPE = (
    ("Length", "embedding_size"),
    ("Vectors an input: least", "vectors_per_input_least"),
    ("Mean", "vectors_per_input"),
    ("Most", "vectors_per_input_most"),
)


def _extent(values: Iterable[float | None]) -> Cell:
    known = sorted({value for value in values if isinstance(value, int | float)})
    text = " to ".join(f"{value:,.6g}" for value in dict.fromkeys([*known[:1], *known[-1:]]))
    return Cell(text or "–", sort=min(known, default=None))


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
    import plotly.graph_objects as go

    colours = template.colours_of(all_variants)
    figure = go.Figure()
    for row, cluster in enumerate(found):
        figure.add_scatter(
            x=[float(value) for value in cluster.values],
            y=[row + 0.6 * (number % LANES - LANES // 2) / LANES for number in range(len(cluster.values))],
            mode="markers",
            marker={"size": 7, "opacity": 0.7, "color": colours[cluster.variant]},
            hovertext=[
                clicks.hover([entry], f"{kpi.name} {kpi.show(value)}")
                for entry, value in zip(cluster.entries, cluster.values, strict=True)
            ],
            customdata=clicks.marks(entry.test_uuid for entry in cluster.entries),
            hovertemplate="%{hovertext}<extra></extra>",
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


def clusters_conclusion(found: Sequence[Cluster], kpi: KPIDefinition, gate: Gate | None = None) -> str:
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
