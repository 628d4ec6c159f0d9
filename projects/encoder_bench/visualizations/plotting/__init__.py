"""The plots and reports of encoder_bench."""

from .best import BestConfiguration
from .latency import LatencyAgainstThroughput
from .over_vus import CostOverVUs, ThroughputOverVUs

PLOTS = (CostOverVUs, ThroughputOverVUs, LatencyAgainstThroughput)
REPORTS = (BestConfiguration,)
