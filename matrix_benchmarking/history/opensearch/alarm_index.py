"""What happened to alarms, in an index of its own: a document an event, under the event's id, so each is kept once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from .. import alarms
from ..alarms import AlarmEvent
from ..errors import HistoryError, UnavailableError
from ..location import OpenSearchLocation
from . import bulk, documents, indices, search
from .client import BUSY, refresh

if TYPE_CHECKING:
    import opensearchpy

PAGE = 1000


def events(client: opensearchpy.OpenSearch, place: OpenSearchLocation, workload: str | None) -> list[AlarmEvent]:
    """The events (of *workload*, where given), oldest first, ties by id; none where there is no index of them yet.

    Raises:
        HistoryError: one of them is damaged, or the index was made by something else.
        opensearchpy.OpenSearchException: the server refused.
    """
    if not indices.has_alarms(client, place):
        return []
    found = search.hits(
        client,
        place.alarm_index,
        query={"match_all": {}} if workload is None else {"term": {"workload": workload}},
        sort=[{"matbench.at_us": "asc"}, {"matbench.id": "asc"}],
        source=["matbench.event"],
        page=PAGE,
    )
    return [_event(hit.id, hit.source, place) for hit in found]


def record(client: opensearchpy.OpenSearch, place: OpenSearchLocation, events: Iterable[AlarmEvent]) -> int:
    """Keep *events* that are not there yet, and make them visible; how many were new.

    Raises:
        HistoryError: one of them can't be kept, or the server refuses it.
        UnavailableError: the server stayed busy. What it took is kept, and doing it again does no harm.
        opensearchpy.OpenSearchException: the server refused.
    """
    wanted = alarms.by_id(events)
    indices.ensure_alarms(client, place)
    failed = bulk.send(client, (documents.alarm_action(place.alarm_index, event) for event in wanted.values()))
    refused = [(status, reason) for _, status, reason in failed if status != bulk.ALREADY_THERE]
    refresh(client, place.alarm_index)
    for status, reason in refused:
        if status in BUSY:
            raise UnavailableError(f"{place.url} is busy and stays so (status {status})")
        raise HistoryError(f"{place.url} refused an event of an alarm: {reason}")
    return len(wanted) - len(failed)


def _event(event_id: str, source: dict[str, dict[str, str]], place: OpenSearchLocation) -> AlarmEvent:
    try:
        return alarms.decode(source["matbench"]["event"])
    except (HistoryError, KeyError, TypeError) as error:
        where = f"{place.url}: the event {event_id} of an alarm in the index '{place.alarm_index}' is damaged"
        raise HistoryError(f"{where}, or of a newer matbench: {error}") from error
