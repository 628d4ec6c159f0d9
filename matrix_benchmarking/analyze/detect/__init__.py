"""Whether, where and by how much the level of a series changed: pure mathematics, no input, no output."""

from .changes import Estimate, InvalidThresholdError, Minimum, compare_levels
from .evidence import discoveries, q_values
from .judge import Change, Judgement, Kind, change_points, changes_of, judge, judge_watched, p_values
from .scan import Watched, watch
from .together import judge_all, watched_together

__all__ = [
    "Change",
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
