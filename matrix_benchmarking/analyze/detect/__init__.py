"""Whether, where and by how much the level of a series changed: pure mathematics, no input, no output.

`change_points` finds the levels of a series, `judge` gives the verdict on its newest version, `judge_all` that of
each of many, `compare_levels` says how far two parts of a series lie apart, `q_values` and `discoveries` bound the
share of false alarms over many series.
"""

from .changes import EmptyLevelError, Estimate, InvalidThresholdError, Minimum, compare_levels
from .evidence import discoveries, q_values
from .judge import Change, Judgement, Kind, change_points, changes_of, judge, judge_watched, p_values
from .scan import Watched, watch
from .together import judge_all, watched_together

__all__ = [
    "Change",
    "EmptyLevelError",
    "Estimate",
    "InvalidThresholdError",
    "Judgement",
    "Kind",
    "Minimum",
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
