"""What is odd about runs before anyone trusts an answer: names, values, copies, what is missing.

Gets a matrix and its workload, gives :class:`Finding` values; each says which answers it may change.
"""

from .finding import Answer, Finding
from .findings import findings
from .order import order_of
from .wording import MOST_RUNS, about, counted, line

__all__ = ["MOST_RUNS", "Answer", "Finding", "about", "counted", "findings", "line", "order_of"]
