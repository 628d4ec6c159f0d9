"""Reports that collect the plots: what it costs, and whether the measurements can be trusted."""

from __future__ import annotations

from typing import ClassVar

from matrix_benchmarking.plotting import PlotsReport

from .contour import CostMap
from .cost_latency import CostAgainstLatency
from .distribution import AccuracyDistribution, FidelityDistribution
from .enough_vus import EnoughVUs
from .failed import FailedRequests
from .quantiles import LatencyQuantiles
from .runs import OverTheRun, UtilizationOverTheRun
from .savings import BestImageBySavings


class CostAnalysis(PlotsReport):
    """Where the money goes."""

    name: ClassVar[str] = "report: Cost analysis"
    description: ClassVar[str] = (
        "What 10⁹ inputs cost over load, batch size and latency, and which image is cheapest where. Failed runs, and "
        "runs whose answers are not right, take no part."
    )
    plots = (BestImageBySavings, CostAgainstLatency, CostMap)


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
    plots = (FailedRequests, EnoughVUs, AccuracyDistribution, FidelityDistribution)
