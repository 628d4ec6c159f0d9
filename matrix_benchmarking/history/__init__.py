"""The history: where payloads and KPIs are kept, each run once. SQLite by default, OpenSearch for a team.

:func:`open_history` gives what a location names; all that commands and analyses need is in :class:`History`.
"""

from __future__ import annotations

from .errors import HistoryError, UnavailableError
from .location import DEFAULT, Indices, Location, OpenSearchLocation, SQLiteLocation
from .port import EVERYTHING, History, Pushed, Query, Run, Series, SeriesValues, Summary, WorkloadSummary
from .records import Record, moment, record

__all__ = [
    "DEFAULT",
    "EVERYTHING",
    "History",
    "HistoryError",
    "Indices",
    "Location",
    "OpenSearchLocation",
    "Pushed",
    "Query",
    "Record",
    "Run",
    "SQLiteLocation",
    "Series",
    "SeriesValues",
    "Summary",
    "UnavailableError",
    "WorkloadSummary",
    "moment",
    "open_history",
    "record",
]


def open_history(location: Location, *, writable: bool) -> History:
    """The history at *location*.

    Args:
        location: as :func:`.location.parse` gives it.
        writable: True makes it where it is missing; False wants it to be there, and changes nothing.

    Raises:
        HistoryError: it can't be opened.
    """
    if isinstance(location, SQLiteLocation):
        from .sqlite import SQLiteHistory

        return SQLiteHistory(location.path, writable=writable)
    from .opensearch import OpenSearchHistory

    return OpenSearchHistory(location, writable=writable)
