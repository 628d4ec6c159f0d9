"""The history: where payloads are kept, each run once. SQLite by default, a server for a team."""

from __future__ import annotations

from ..errors import HistoryError, UnavailableError
from .history import History, SeriesSummary, Span, Summary, WorkloadSummary
from .location import DEFAULT, Location
from .opensearch_location import Indices, OpenSearchLocation
from .plan import Pushed
from .port import EVERYTHING, Query
from .records import KeptRun, Record, moment, record
from .sqlite import SQLiteLocation

__all__ = [
    "DEFAULT",
    "EVERYTHING",
    "History",
    "HistoryError",
    "Indices",
    "KeptRun",
    "Location",
    "OpenSearchLocation",
    "Pushed",
    "Query",
    "Record",
    "SQLiteLocation",
    "SeriesSummary",
    "Span",
    "Summary",
    "UnavailableError",
    "WorkloadSummary",
    "moment",
    "open_history",
    "record",
]


def open_history(location: Location, *, writable: bool) -> History:
    """The history at *location*; *writable* makes it where it is missing, else nothing is changed."""
    return History(location.open(writable=writable))
