"""The plots and reports of serving_bench."""

from .change import ThroughputOfEachStep
from .change_map import WhatEachStepChanged
from .reports import BottleneckReport, StepsReport, ThroughputReport
from .throughput import ThroughputCurves
from .utilization import Utilization

PLOTS = (ThroughputCurves, Utilization, ThroughputOfEachStep, WhatEachStepChanged)
REPORTS = (ThroughputReport, BottleneckReport, StepsReport)
