"""The search for a server's saturation point: which number of virtual users gives the most throughput."""

from .steps import next_step
from .terms import Answer, Measurement, SearchError, SearchSpec

__all__ = ["Answer", "Measurement", "SearchError", "SearchSpec", "next_step"]
