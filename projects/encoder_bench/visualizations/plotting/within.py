"""Within runs: throughput, latency and what the machine did over their time, and how long the slowest requests take."""

from __future__ import annotations

import itertools
import statistics
import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from matrix_benchmarking.analyze.points import by_point
from matrix_benchmarking.analyze.study import Study
from matrix_benchmarking.analyze.words import as_percent
from matrix_benchmarking.filters import Scalar
from matrix_benchmarking.matrix import Entry, SettingLists, typed
from matrix_benchmarking.plotting import Plot, View, clicks, template
from matrix_benchmarking.plotting.controls import Control, RunChoice

from .points import (
    BATCH_SIZE,
    FIRST_RUN,
    POINT,
    VARIANT,
    VUS,
    batch_sizes,
    label_of,
    not_shown,
    point_of,
    users_of,
    variant_names,
)

if TYPE_CHECKING:
    import pandas
    import plotly.graph_objects as go

    from matrix_benchmarking.plotting import Drawn


ENTRY = "entry"
PARTIAL = 0.5
"""A last interval shorter than this share of the others is not drawn: its rates are noise."""
WARM_UP = 0.1
"""By how much the first interval has to lag behind the others to be worth a sentence."""


class _OfARun(Plot):
    def controls(self) -> Sequence[Control]:
        default = next(iter(of_point(self.study, self.matrix.entries, None)), None)
        return [RunChoice(ENTRY, "Run", self.matrix, default=default)]

    def chosen(
        self, settings: Mapping[str, Scalar], setting_lists: SettingLists, cfg: Mapping[str, Any]
    ) -> list[Entry]:
        """The repeats of the point that is shown; a run that was named is shown whatever is selected."""
        wanted: Entry | None = cfg.get(ENTRY)
        selected = self.matrix.all_records(dict(settings), setting_lists) if wanted is None else self.matrix
        return of_point(self.study, list(selected), wanted)


def of_point(study: Study, entries: Sequence[Entry], wanted: Entry | None) -> list[Entry]:
    """The runs at the point of *wanted*, it the first; else those of the best point among *entries*, else the first's.

    Failed runs are left out, but for *wanted* itself.
    """
    if wanted is not None:
        repeats = [entry for entry in _at(wanted, entries) if entry is not wanted]
        return [wanted, *repeats]
    selected = {id(entry) for entry in entries}
    points = [one.point.runs for group in study.best.groups for one in group.standings]
    best = next((runs for runs in points if any(id(run) in selected for run in runs)), ())
    first = next(iter(best or entries), None)
    return [] if first is None else _at(first, entries)


def _at(point: Entry, entries: Sequence[Entry]) -> list[Entry]:
    """The successful runs at the settings of *point*."""
    place = {name: typed(value) for name, value in point.settings.items()}
    return [
        entry
        for entry in entries
        if not entry.failed and {name: typed(value) for name, value in entry.settings.items()} == place
    ]


class OverTheRun(_OfARun):
    """Throughput and latency in each second."""

    name: ClassVar[str] = "Throughput and latency over the run"
    how_to_read: ClassVar[str] = (
        "Above, the inputs answered in each second; below, the median (solid) and 95th percentile (dotted) of the "
        "latency of the requests that ended then. One colour a repeat. A run is steady where the lines are level."
    )

    def draw(self, view: View) -> Drawn:
        runs = [
            (entry, series)
            for entry in self.chosen(view.settings, view.setting_lists, view.cfg)
            if (series := getattr(entry.results, "timeseries", None)) is not None
        ]
        if not runs:
            return None, "No time series was recorded for this run."
        return over_the_run(runs), steady_conclusion(runs)


def over_the_run(runs: Sequence[tuple[Entry, types.SimpleNamespace]]) -> go.Figure:
    """Two panels over the same time: throughput, and the latency's median and 95th percentile."""
    from plotly.subplots import make_subplots

    figure = make_subplots(rows=2, cols=1, shared_xaxes=True, vertical_spacing=0.08)
    for number, (entry, series) in enumerate(runs):
        colour = template.COLOURS[number % len(template.COLOURS)]
        seconds, rates, medians, high = steady(series)
        label = template.text(f"repeat {entry.repeat}")
        name = template.text(entry.name)
        for row, values, dash, what in (
            (1, rates, "solid", "inputs/s"),
            (2, medians, "solid", "ms, median"),
            (2, high, "dot", "ms, 95th percentile"),
        ):
            figure.add_scatter(
                x=seconds,
                y=values,
                mode="lines+markers",
                line={"color": colour, "dash": dash},
                marker_size=5,
                name=label,
                legendgroup=label,
                showlegend=row == 1,
                customdata=clicks.marks([entry.test_uuid] * len(seconds)),
                hovertemplate=f"{name}<br>second %{{x:.0f}}: %{{y:,.1f}} {what}<extra></extra>",
                row=row,
                col=1,
            )
    figure.update_yaxes(title="answered inputs/s", rangemode="tozero", row=1, col=1)
    figure.update_yaxes(title="latency (ms)", rangemode="tozero", row=2, col=1)
    figure.update_xaxes(title="seconds since the load began", row=2, col=1)
    return template.apply(figure, height=520)


def steady(series: types.SimpleNamespace) -> tuple[list[float], list[float], list[float | None], list[float | None]]:
    """Ends of the intervals in seconds, inputs per second, p50 and p95; without a last interval that is only a part."""
    count = len(series.requests)
    lengths = [series.interval_s] * max(0, count - 1) + [series.last_interval_s or series.interval_s] * (count > 0)
    if count > 1 and lengths[-1] < PARTIAL * series.interval_s:
        count -= 1
    seconds = list(itertools.accumulate(lengths[:count]))
    rates = [answered / length for answered, length in zip(series.answered_inputs[:count], lengths, strict=False)]
    return seconds, rates, list(series.p50_ms[:count]), list(series.p95_ms[:count])


def steady_conclusion(runs: Sequence[tuple[Entry, types.SimpleNamespace]]) -> str:
    """How steady the throughput was, and whether the first second was like the rest."""
    spreads, first = [], []
    for _, series in runs:
        rates = steady(series)[1]
        if len(rates) > 2 and statistics.fmean(rates) > 0:
            spreads.append(statistics.stdev(rates) / statistics.fmean(rates))
            rest = statistics.fmean(rates[1:])
            first.append(rates[0] / rest - 1 if rest else 0.0)
    count = "one run" if len(runs) == 1 else f"{len(runs)} runs"
    if not spreads:
        return f"{count}, too short to say how steady the load was."
    worst, start = max(spreads), statistics.fmean(first)
    warm = " The first second is no different from the rest."
    if abs(start) > WARM_UP:
        said = (
            "below the rest: a warm-up that the mean includes"
            if start < 0
            else "above the rest: it slowed down after it"
        )
        warm = f" The first second is {as_percent(abs(start))} {said}."
    return (
        f"Over {count} the throughput of a second varies by {as_percent(worst)} at most (one standard deviation).{warm}"
    )


class UtilizationOverTheRun(_OfARun):
    """CPU, GPU and memory over the run, with the window of the load."""

    name: ClassVar[str] = "CPU, GPU and memory over the run"
    how_to_read: ClassVar[str] = (
        "The load of each core and GPU, and the memory in use, ten times a second; the shaded band is the window of "
        "the load, over which the KPIs are means."
    )

    def draw(self, view: View) -> Drawn:
        for entry in self.chosen(view.settings, view.setting_lists, view.cfg):
            log = getattr(entry.results, "utilization", None)
            if log is not None and log.time:
                return utilization(log), _of_utilization(entry, log)
        return None, "The machine was not watched during this run."


def utilization(log: types.SimpleNamespace) -> go.Figure:
    """One line for each core and GPU, and those of the memories."""
    import plotly.graph_objects as go

    start = log.time[0]
    seconds = [moment - start for moment in log.time]
    figure = go.Figure()
    for number, (name, values) in enumerate(_lines(log)):
        figure.add_scatter(
            x=seconds,
            y=values,
            mode="lines",
            line={"color": template.COLOURS[number % len(template.COLOURS)], "width": 1.5},
            name=name,
            hovertemplate=f"{name} %{{y:.0%}} at %{{x:.1f}} s<extra></extra>",
        )
    window = log.load_window
    if isinstance(window, dict) and {"start", "end"} <= window.keys():
        figure.add_vrect(
            x0=window["start"] - start,
            x1=window["end"] - start,
            fillcolor=template.COLOURS[0],
            opacity=0.1,
            line_width=0,
            annotation_text="load",
            annotation_position="top left",
        )
    figure.update_yaxes(tickformat=".0%", range=[0, 1.03])
    figure.update_xaxes(title="seconds")
    return template.apply(figure, height=380)


def _lines(log: types.SimpleNamespace) -> Iterator[tuple[str, list[float]]]:
    for what, samples in (("core", log.cpus_load), ("GPU", log.gpus_load), ("GPU memory", log.gpus_memory)):
        devices = len(samples[0]) if samples else 0
        has_numbers = what != "core" and log.gpus and len(log.gpus) == devices
        numbers = log.gpus if has_numbers else range(devices)
        yield from ((f"{what} {number}", [row[at] for row in samples]) for at, number in enumerate(numbers))
    if log.main_memory:
        yield "main memory", list(log.main_memory)


def _of_utilization(entry: Entry, log: types.SimpleNamespace) -> str:
    """What was busy during the load; what isn't known is said so."""
    parts = []
    cores = len(log.cpus_load[0]) if log.cpus_load else 0
    if log.cpu_util is not None:
        parts.append(
            f"the server's cores were busy {as_percent(log.cpu_util)} of the time ({cores} cores were watched)"
        )
    parts.append("no GPU was measured" if log.gpu_util is None else f"the GPUs {as_percent(log.gpu_util)}")
    if log.main_memory_max is not None:
        parts.append(f"main memory reached {as_percent(log.main_memory_max)}")
    others = f" Other processes took {log.other_cores:.2f} cores." if log.other_cores is not None else ""
    return f"{template.text(entry.name)}: during the load {', '.join(parts)}.{others}"


QUANTILES = ("50", "90", "95", "99")
COLUMNS, ROW_HEIGHT = 2, 290


class LatencyQuantiles(Plot):
    """A line for each quantile with the band of the repeats, a facet for each variant and batch size."""

    name: ClassVar[str] = "Latency quantiles over virtual users"
    how_to_read: ClassVar[str] = (
        "Each line is a quantile of the latency of the answered requests: the mean over the repeats, with a band from "
        "the smallest to the largest of them. Where the lines spread, some users wait much longer than most."
    )

    def draw(self, view: View) -> Drawn:
        names = variant_names(self.study.read, self.workload)
        runs = view.runs
        frame = quantiles_frame(runs, names)
        if frame.empty:
            return None, "No successful run tells the quantiles of its latency."
        hidden = not_shown(
            runs, frame, [], lambda run: "without quantiles of its latency", lambda run: bool(_quantiles(run))
        )
        return latency_quantiles(frame), [quantiles_conclusion(frame), *hidden]


def quantiles_frame(entries: Iterable[Entry], names: Sequence[str]) -> pandas.DataFrame:
    """One row for each point and quantile, over its repeats.

    Columns: variant, batch size, virtual users, ``quantile`` (percent), ``mean``, ``low``, ``high``, ``runs``,
    ``first run`` (its id), ``point``.
    """
    import pandas

    rows = []
    for runs in by_point(entry for entry in entries if not entry.failed):
        if (users := users_of(runs[0])) is None:
            continue
        first = clicks.run_of(runs)
        known = [quantiles for entry in runs if (quantiles := _quantiles(entry))]
        for percent in QUANTILES:
            values = [quantiles[percent] for quantiles in known if percent in quantiles]
            if values:
                mean = sum(values) / len(values)
                place = (label_of(runs[0], names), template.text(runs[0].settings.get("batch_size")), users)
                rows.append((*place, percent, mean, min(values), max(values), len(values), first, point_of(runs)))
    columns = [VARIANT, BATCH_SIZE, VUS, "quantile", "mean", "low", "high", "runs", FIRST_RUN, POINT]
    return pandas.DataFrame(rows, columns=columns).sort_values([VARIANT, BATCH_SIZE, VUS], ignore_index=True)


def latency_quantiles(frame: pandas.DataFrame) -> go.Figure:
    """Users to the right, latency upwards, both logarithmic."""
    sizes = {size: place for place, size in enumerate(batch_sizes(frame))}
    shown = sorted(set(zip(frame[VARIANT], frame[BATCH_SIZE], strict=True)), key=lambda one: (one[0], sizes[one[1]]))
    titles = [f"{variant}, batch size {size}" for variant, size in shown]
    facets = template.Facets(titles, COLUMNS, shared_yaxes=True)
    for number, (variant, size) in enumerate(shown):
        part = frame[(frame[VARIANT] == variant) & (frame[BATCH_SIZE] == size)]
        for at, percent in enumerate(QUANTILES):
            colour, rows = template.COLOURS[at], part[part["quantile"] == percent]
            _draw(facets, number, rows, percent, colour)
    facets.axes("x", type="log", **template.log_axis(list(frame[VUS])))
    facets.axes("y", type="log", **template.log_axis([*frame["low"], *frame["high"]]))
    facets.label(VUS, "latency (ms)")
    return facets.figure(130 + ROW_HEIGHT * facets.rows)


def quantiles_conclusion(frame: pandas.DataFrame) -> str:
    """Where the slowest percent waits longest in comparison with the median."""
    wide = frame.pivot_table(index=[VARIANT, BATCH_SIZE, VUS], columns="quantile", values="mean").reset_index()
    slow = next((percent for percent in reversed(QUANTILES) if percent in wide and percent != "50"), None)
    if slow is None or "50" not in wide:
        return "The median and a higher quantile are not known together for any point."
    ratio = wide[slow] / wide["50"]
    if not ratio.notna().any():
        return "The median and a higher quantile are not known together for any point."
    row = wide.iloc[int(ratio.fillna(0).argmax())]
    return (
        f"In the median over the points the {slow}th percentile is {ratio.median():.1f} times the median latency; at "
        "most "
        f"{ratio.max():.1f} times, for {row[VARIANT]} at batch size {row[BATCH_SIZE]} and {row[VUS]:g} {VUS} "
        f"({row['50']:,.1f} and {row[slow]:,.1f} ms)."
    )


def _draw(facets: template.Facets, panel: int, part: pandas.DataFrame, percent: str, colour: str) -> None:
    if part.empty:
        return
    users = list(part[VUS])
    facets.add(panel, template.band(users, list(part["low"]), list(part["high"]), colour))
    line = {
        "x": users,
        "y": list(part["mean"]),
        "mode": "lines+markers",
        "line": {"color": colour, "width": 1.8},
        "marker": {"size": 5},
        "name": f"{percent} %",
        "customdata": clicks.marks(part[FIRST_RUN], part["low"], part["high"], part["runs"]),
        "hovertemplate": f"{percent} % within %{{y:,.1f}} ms<br>%{{customdata[1]:,.1f}} to %{{customdata[2]:,.1f}} ms "
        "over %{customdata[3]} runs<br>%{x} virtual users<extra></extra>",
    }
    facets.add(panel, line)


def _quantiles(entry: Entry) -> dict[str, float]:
    return dict(getattr(getattr(entry.results, "k6", None), "latency_quantiles_ms", None) or {})
