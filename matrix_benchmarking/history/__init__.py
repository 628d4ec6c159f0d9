"""The history: where payloads are kept, each run once. SQLite by default, a server for a team."""

from __future__ import annotations

from ..errors import HistoryError as HistoryError
from ..errors import UnavailableError as UnavailableError
from .history import History as History
from .history import SeriesSummary as SeriesSummary
from .history import Span as Span
from .history import Summary as Summary
from .history import WorkloadSummary as WorkloadSummary
from .location import DEFAULT as DEFAULT
from .location import Location as Location
from .opensearch_location import OpenSearchLocation as OpenSearchLocation
from .plan import Pushed as Pushed
from .port import EVERYTHING as EVERYTHING
from .port import Query as Query
from .records import KeptRun as KeptRun
from .records import Record as Record
from .records import moment as moment
from .records import record as record
from .sqlite import SQLiteLocation as SQLiteLocation


def open_history(location: Location, *, writable: bool) -> History:
    """The history at *location*; *writable* makes it where it is missing, else nothing is changed."""
    return History(location.open(writable=writable))
