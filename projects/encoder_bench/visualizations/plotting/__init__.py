"""The plots and reports of encoder_bench."""

from .best import BestConfiguration
from .contour import CostMap
from .cost_latency import CostAgainstLatency
from .distribution import AccuracyDistribution, FidelityDistribution
from .enough_vus import EnoughVUs
from .failed import FailedRequests
from .latency import LatencyAgainstThroughput
from .over_vus import CostOverVUs, ThroughputOverVUs
from .reports import CostAnalysis, SanityChecks
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
)
REPORTS = (BestConfiguration, CostAnalysis, SanityChecks)
