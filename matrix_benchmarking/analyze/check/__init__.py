"""What is odd about runs before anyone trusts an answer: names, values, copies, what is missing.

Gets a matrix and its workload, gives :class:`Finding` values; each says which answers it may change.
"""

from .finding import MOST_RUNS, AnswerKind, Finding, about, counted, line
from .findings import findings, order_of

__all__ = ["MOST_RUNS", "AnswerKind", "Finding", "about", "counted", "findings", "line", "order_of"]
