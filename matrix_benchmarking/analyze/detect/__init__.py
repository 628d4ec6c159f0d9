"""Whether, where and by how much the level of a series changed: pure mathematics, no input, no output.

`change_points` finds the levels of a series, `judge` gives the verdict on its newest version, `q_values` and
`discoveries` bound the share of false alarms over many series.
"""

from matrix_benchmarking.analyze.detect.discovery import discoveries, q_values
from matrix_benchmarking.analyze.detect.judge import InvalidThresholdError, change_points, judge
from matrix_benchmarking.analyze.detect.judgement import Change, Estimate, Judgement, Kind

__all__ = [
    "Change",
    "Estimate",
    "InvalidThresholdError",
    "Judgement",
    "Kind",
    "change_points",
    "discoveries",
    "judge",
    "q_values",
]
