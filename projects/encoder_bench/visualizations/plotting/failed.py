"""Failed requests: how many of each run's requests did not get a right answer?"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar

from matrix_benchmarking.analyze.words import as_percent
from matrix_benchmarking.matrix import Entry
from matrix_benchmarking.plotting import Plot, View, clicks, template

from .points import FIRST_RUN

if TYPE_CHECKING:
    import pandas
    import plotly.graph_objects as go

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

    def draw(self, view: View) -> tuple[Any, Any]:
        frame = failed_frame(view.runs, view.ordered_vars)
        known = frame.dropna(subset=[FAILED])
        figure = failed_requests(known) if known[FAILED].gt(0).any() else None
        return figure, conclusion(frame)


def failed_frame(entries: Iterable[Entry], names: Iterable[str]) -> pandas.DataFrame:
    """One row a run: its ``run`` and id (``first run``), ``settings`` in words, ``requests`` and ``failed requests``.

    NaN where unknown. Failed requests are all requests minus those that were answered rightly.
    """
    import pandas

    names = list(names)
    rows = []
    for entry in entries:
        results = getattr(entry.lts, "results", None)
        rows.append(
            {
                RUN: template.text(entry.name),
                FIRST_RUN: entry.test_uuid,
                "settings": template.text(entry.get_name(names)),
                TOTAL: getattr(results, "requests", None),
                FAILED: getattr(results, "failed_requests", None),
            }
        )
    frame = pandas.DataFrame(rows, columns=[RUN, FIRST_RUN, "settings", TOTAL, FAILED])
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
        hover_data={"settings": True, TOTAL: ":,", FAILED: ":,", "share": ":.2%"},
        labels={"share": "share of the run's requests that failed", RUN: ""},
        color_discrete_sequence=[template.COLOURS[1]],
    )
    figure.update_xaxes(tickformat=".0%", rangemode="tozero")
    return template.apply(clicks.plain(figure), height=120 + 22 * len(worst))


def conclusion(frame: pandas.DataFrame) -> str:
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
