"""Whether, where and by how much the level of a series changed: pure mathematics, no input, no output.

`change_points` finds the levels of a series, `judge` gives the verdict on its newest version, `judge_all` that of
each of many, `compare_levels` says how far two parts of a series lie apart, `q_values` and `discoveries` bound the
share of false alarms over many series.
"""

from matrix_benchmarking.analyze.detect.changes import Minimum
from matrix_benchmarking.analyze.detect.discovery import discoveries, q_values
from matrix_benchmarking.analyze.detect.effects import EmptyLevelError, InvalidThresholdError, compare_levels
from matrix_benchmarking.analyze.detect.judge import change_points, changes_of, judge, judge_watched, p_values
from matrix_benchmarking.analyze.detect.judgement import Estimate, Judgement, Kind, LevelChange, Suspicion
from matrix_benchmarking.analyze.detect.together import judge_all, watched_together
from matrix_benchmarking.analyze.detect.watched import Watched, watch

__all__ = [
    "EmptyLevelError",
    "Estimate",
    "InvalidThresholdError",
    "Judgement",
    "Kind",
    "LevelChange",
    "Minimum",
    "Suspicion",
    "Watched",
    "change_points",
    "changes_of",
    "compare_levels",
    "discoveries",
    "judge",
    "judge_all",
    "judge_watched",
    "p_values",
    "q_values",
    "watch",
    "watched_together",
]
