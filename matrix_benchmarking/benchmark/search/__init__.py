"""The search for a server's saturation point: which number of virtual users gives the most throughput."""

from .evidence import Answer, Measurement, SearchError, SearchSpec
from .steps import next_step

__all__ = ["Answer", "Measurement", "SearchError", "SearchSpec", "next_step"]
