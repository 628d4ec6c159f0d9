"""Whether the numbers can be believed: failed requests, loads that were not driven far enough, odd answers."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, ClassVar

from matrix_benchmarking.analyze.intervals import summarise
from matrix_benchmarking.analyze.words import as_percent, count_of, is_or_are
from matrix_benchmarking.kpi import KPIDefinition
from matrix_benchmarking.matrix import Entry
from matrix_benchmarking.plotting import Plot, View, clicks, template
from matrix_benchmarking.plotting.tables import Cell, Column, table
from matrix_benchmarking.workload import Gate

from .points import (
    BATCH_SIZE,
    FIRST_RUN,
    VARIANT,
    VUS,
    batch_sizes,
    label_of,
    not_shown,
    points_frame,
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
        frame = failed_frame(view.runs)
        known = frame.dropna(subset=[FAILED])
        figure = failed_requests(known) if known[FAILED].gt(0).any() else None
        return figure, failed_conclusion(frame)


def failed_frame(entries: Iterable[Entry]) -> pandas.DataFrame:
    """One row a run: its ``run`` and id (``first run``), ``requests``, ``failed requests`` and ``hover``.

    NaN where unknown. Failed requests are all requests minus those that were answered rightly.
    """
    import pandas

    rows = []
    for entry in entries:
        results = getattr(entry.lts, "results", None)
        rows.append(
            {
                RUN: template.text(entry.name),
                FIRST_RUN: entry.test_uuid,
                TOTAL: getattr(results, "requests", None),
                FAILED: (failed := getattr(results, "failed_requests", None)),
                "hover": clicks.hover([entry], *([] if failed is None else [count_of(failed, "failed request")])),
            }
        )
    frame = pandas.DataFrame(rows, columns=[RUN, FIRST_RUN, TOTAL, FAILED, "hover"])
    return frame.astype({TOTAL: "float64", FAILED: "float64"})


def failed_requests(frame: pandas.DataFrame) -> go.Figure:
    """A bar for each of the worst runs: the share of its requests that failed."""
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
    unknown = f" {_runs(silent)} can't say how many of their requests failed." if silent else ""
    if known.empty:
        return f"No run says how many of its requests failed.{unknown if not len(frame) else ''}"
    total, failed = int(known[TOTAL].sum()), int(known[FAILED].sum())
    if failed == 0:
        return f"No request failed: all {total:,} requests of {_runs(len(known))} were answered.{unknown}"
    bad = known[known[FAILED] > 0]
    worst = bad.iloc[int((bad[FAILED] / bad[TOTAL]).argmax())]
    return (
        f"{failed:,} of {total:,} requests failed, in {len(bad)} of {_runs(len(known))}; worst: {worst[RUN]} with "
        f"{as_percent(worst[FAILED] / worst[TOTAL], digits=1)} "
        f"({int(worst[FAILED]):,} of {int(worst[TOTAL]):,}).{unknown}"
    )


def _runs(count: int) -> str:
    return "1 run" if count == 1 else f"{count} runs"


STILL_RISING = 0.03
"""By how much the last step has to gain for a series to count as rising still; repeats differ by more than less."""
LISTED = 2
"""How many series the sentence above the bars names."""


@dataclasses.dataclass(frozen=True, slots=True)
class Peak:
    """Where the mean of a series is highest, and what the last step gained, as a fraction: None for a single point."""

    line: str
    highest_vus: float
    highest: float
    last_vus: float
    rises: bool
    gain: float | None

    @property
    def is_open(self) -> bool:
        """True if more users might have done better: the highest point is the last, and was still rising."""
        return self.highest_vus == self.last_vus and (self.gain is None or self.gain > STILL_RISING)


class EnoughVUs(Plot):
    """Highest mean throughput of each series if the load had stopped at N users; a slider chooses N."""

    name: ClassVar[str] = "Did we try enough VUs?"
    kpis = ("throughput",)
    how_to_read: ClassVar[str] = (
        "The bars are the highest mean throughput of each variant and batch size; the percentage is the share of what "
        "was found in the end. Move the slider to see what fewer users would have found, in the bars and in the "
        "sentence above them."
    )

    def draw(self, view: View) -> Drawn:
        (kpi,) = view.kpis
        names = variant_names(self.study.read, self.workload)
        runs = view.runs
        frame = points_frame(runs, [kpi], names).dropna(subset=[kpi.name])
        if frame.empty:
            return None, "No successful run has both a throughput and a number of virtual users."
        said = [*peaks_conclusion(peaks(frame, kpi), kpi), *not_shown(runs, frame, [kpi])]
        return stopped_at(frame, kpi, variants(self.study.read, names)), said


def peaks(frame: pandas.DataFrame, kpi: KPIDefinition) -> list[Peak]:
    """The peak of each variant and batch size, in the order of their names."""
    found = []
    for (variant, size), series in frame.groupby([VARIANT, BATCH_SIZE], sort=True):
        ordered = series.sort_values(VUS)
        values, users = list(ordered[kpi.name]), list(ordered[VUS])
        at = max(range(len(values)), key=values.__getitem__)
        gain = values[-1] / values[-2] - 1 if len(values) > 1 and values[-2] > 0 else None
        rises = len(values) > 1 and all(later > earlier for earlier, later in itertools.pairwise(values))
        found.append(Peak(f"{variant}, batch size {size}", users[at], values[at], users[-1], rises, gain))
    return found


def stopped_at(frame: pandas.DataFrame, kpi: KPIDefinition, all_variants: Sequence[str] | None = None) -> go.Figure:
    """A bar for each series with its highest mean throughput up to N users, and a slider for N."""
    import plotly.graph_objects as go

    users = sorted(set(frame[VUS]))
    lines = frame[VARIANT] + ", batch size " + frame[BATCH_SIZE]
    sizes = {size: place for place, size in enumerate(batch_sizes(frame))}
    places = {
        line: (variant, sizes[size])
        for line, variant, size in zip(lines, frame[VARIANT], frame[BATCH_SIZE], strict=True)
    }
    order = sorted(places, key=places.__getitem__, reverse=True)
    colours = template.colours_of(all_variants or sorted(set(frame[VARIANT])))
    by_limit = [_highest_of_each(frame[frame[VUS] <= limit], lines, kpi) for limit in users]
    final = by_limit[-1][kpi.name]
    said = [missed(found[kpi.name], final, limit, users[-1]) for limit, found in zip(users, by_limit, strict=True)]
    figure = go.Figure()
    for limit, found in zip(users, by_limit, strict=True):
        highest = found[kpi.name]
        present = [line for line in order if line in highest.index]
        figure.add_bar(
            x=[float(highest[line]) for line in present],
            y=present,
            orientation="h",
            visible=bool(limit == users[-1]),
            marker_color=[colours[places[line][0]] for line in present],
            customdata=clicks.marks(found.loc[present, FIRST_RUN]),
            text=[as_percent(highest[line] / final[line]) if final[line] else "" for line in present],
            hovertext=list(found.loc[present, "hover"]),
            hovertemplate=f"highest up to {limit:g} virtual users (%{{text}} of what was found in the end):<br>"
            "%{hovertext}<extra></extra>",
            showlegend=False,
        )
    figure.update_layout(
        sliders=[
            {
                "active": len(users) - 1,
                "currentvalue": {"prefix": "If we had stopped at ", "suffix": " virtual users"},
                "pad": {"t": 45},
                "steps": [
                    {
                        "label": f"{limit:g}",
                        "method": "update",
                        "args": [{"visible": _only(at, len(users))}, {"annotations[0].text": said[at]}],
                    }
                    for at, limit in enumerate(users)
                ],
            }
        ]
    )
    figure.add_annotation(
        text=said[-1], x=0, y=1, xref="paper", yref="paper", yanchor="bottom", align="left", showarrow=False
    )
    figure.update_xaxes(title=f"highest mean {kpi.name} ({kpi.unit})", range=[0, float(final.max()) * 1.08])
    figure.update_yaxes(categoryorder="array", categoryarray=order)
    figure.update_layout(margin_t=75)
    return template.apply(figure, height=260 + 26 * len(order))


def missed(highest: pandas.Series[float], final: pandas.Series[float], limit: float, last: float) -> str:
    """What stopping at *limit* of *last* users would have missed of each *final* mean, for plotly to write."""
    shares = {line: highest.get(line, 0.0) / final[line] for line in final.index if final[line]}
    short = sorted((share, line) for line, share in shares.items() if share < 1)
    if limit == last:
        return f"Up to {limit:g} virtual users, the most that were tried."
    if not short:
        return f"Up to {limit:g} virtual users: the highest mean of all {len(final)} series was found."
    named = [
        f"{line} ({as_percent(share, digits=1)})" if share else f"{line} (not measured)"
        for share, line in short[:LISTED]
    ]
    more = [f"{len(short) - LISTED} more"] if len(short) > LISTED else []
    count = f"the highest mean of {len(short)} of {len(final)} series was still to come:"
    return f"Up to {limit:g} virtual users: {count}<br>{'; '.join([*named, *more])}."


def _highest_of_each(frame: pandas.DataFrame, lines: pandas.Series[str], kpi: KPIDefinition) -> pandas.DataFrame:
    """The point with the highest throughput of each of the *lines*, by their names."""
    highest = frame.groupby(lines)[kpi.name].idxmax()
    return frame.loc[highest].set_axis(highest.index)


def peaks_conclusion(found: Sequence[Peak], kpi: KPIDefinition) -> list[str]:
    """Whether the peaks were passed, and which series should have been driven further."""
    last = [peak for peak in found if peak.highest_vus == peak.last_vus]
    if not last:
        return [f"In the end all {len(found)} series passed their highest mean: enough users were tried."]
    still = [peak for peak in last if peak.is_open]
    flat = f"{len(last)} of {len(found)} series have their highest mean at the most users that were tried"
    if not still:
        return [
            f"{flat}, and the last step gained less than {as_percent(STILL_RISING)} in each: they have levelled off."
        ]
    rising = sum(peak.rises for peak in still)
    shown = "; ".join(_open(peak, kpi) for peak in sorted(still, key=lambda peak: -(peak.gain or 1))[:5])
    more = f"; and {len(still) - 5} more" if len(still) > 5 else ""
    return [
        f"{flat}. More may do better in {len(still)} of them, {rising} of which rose at every step: {shown}{more}.",
    ]


def _open(peak: Peak, kpi: KPIDefinition) -> str:
    if peak.gain is None:
        return f"{peak.line} (only {peak.last_vus:g} was tried)"
    return f"{peak.line} ({kpi.show(peak.highest)} at {peak.last_vus:g}, the last step gained {as_percent(peak.gain)})"


def _only(at: int, count: int) -> list[bool]:
    return [number == at for number in range(count)]


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
