"""The plots and reports of encoder_bench."""

from .best import BestConfiguration
from .contour import CostMap
from .cost_latency import CostAgainstLatency
from .distribution import AccuracyDistribution, FidelityDistribution
from .enough_vus import EnoughVUs
from .failed import FailedRequests
from .latency import LatencyAgainstThroughput
from .over_vus import CostOverVUs, ThroughputOverVUs
from .quantiles import LatencyQuantiles
from .reports import CostAnalysis, Runs, SanityChecks
from .runs import OverTheRun, UtilizationOverTheRun
from .savings import BestImageBySavings

PLOTS = (
    CostOverVUs,
    ThroughputOverVUs,
    LatencyAgainstThroughput,
    BestImageBySavings,
    CostAgainstLatency,
    CostMap,
    FailedRequests,
    EnoughVUs,
    AccuracyDistribution,
    FidelityDistribution,
    OverTheRun,
    UtilizationOverTheRun,
    LatencyQuantiles,
)
REPORTS = (BestConfiguration, CostAnalysis, SanityChecks, Runs)
