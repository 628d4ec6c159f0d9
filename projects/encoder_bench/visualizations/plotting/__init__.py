"""The plots and reports of encoder_bench: the best configuration, what it costs, and whether to trust the numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from matrix_benchmarking.plotting import PlotsReport, View
from matrix_benchmarking.plotting.report_best import BestReport

from .cost_maps import BestImageBySavings, CostMap
from .over_load import CostOverVUs, EnoughVUs, LatencyAgainstThroughput, ThroughputOverVUs
from .sanity import AccuracyDistribution, AnswerShapes, FailedRequests, FidelityDistribution
from .within import LatencyQuantiles, OverTheRun, UtilizationOverTheRun

if TYPE_CHECKING:
    from matrix_benchmarking.plotting.tables import Node


class BestConfiguration(BestReport):
    """The built-in report and three plots."""

    description: ClassVar[str] = "Which configuration is cheapest, and what else may be?"

    plots = (CostOverVUs, ThroughputOverVUs, LatencyAgainstThroughput)

    def figures(self, view: View) -> list[Node]:
        from dash import html

        note = "Lines go through the means of the repeats; bars reach from the smallest to the largest of them."
        parts: list[Node] = [html.H2("Over the load"), html.P(note, className="note")]
        return [*parts, *self.each_plot(view)]


class CostAnalysis(PlotsReport):
    """Where the money goes."""

    name: ClassVar[str] = "report: Cost analysis"
    description: ClassVar[str] = (
        "What 10⁹ inputs cost over load, batch size and latency, and which image is cheapest where. Failed runs, and "
        "runs whose answers are not right, take no part."
    )
    plots = (BestImageBySavings, "Best under a limit", CostMap)


class Runs(PlotsReport):
    """What happened within runs."""

    name: ClassVar[str] = "report: Runs"
    description: ClassVar[str] = (
        "Within the runs of the best configuration: was the load steady, what limited it, and how long do the slowest "
        "requests take as the load grows?"
    )
    plots = (OverTheRun, UtilizationOverTheRun, LatencyQuantiles)


class SanityChecks(PlotsReport):
    """Whether to believe the numbers."""

    name: ClassVar[str] = "report: Sanity checks"
    description: ClassVar[str] = (
        "Whether the numbers can be believed: failed requests, loads that were not driven far enough, and answers that "
        "stand out."
    )
    plots = (FailedRequests, EnoughVUs, AccuracyDistribution, FidelityDistribution, AnswerShapes)


REPORTS = (BestConfiguration, CostAnalysis, SanityChecks, Runs)
