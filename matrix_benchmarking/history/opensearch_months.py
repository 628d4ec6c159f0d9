"""A history on OpenSearch with an index a month: how these are called, made, and let go when they are old.

A run belongs to the month in which it took place, whenever it is pushed, so the same run again meets itself.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import re
from collections.abc import Iterator

import opensearchpy

from ..errors import MissingHistoryError
from ..jsonable import Document
from . import opensearch_indices as indices
from .opensearch_client import acknowledge, connect, patiently, read, sentences
from .opensearch_location import ALL, MONTH, OpenSearchLocation
from .records import moment

_MONTH = re.compile(rf".*{MONTH}(\d{{4}}-\d\d)")


@dataclasses.dataclass(frozen=True, slots=True)
class Expired:
    """A month that is beyond those that are kept; one that has a run of later stays."""

    month: str
    runs: int
    stays: bool

    def said(self, become: str) -> str:
        """What became of it, or would become."""
        runs = "1 run" if self.runs == 1 else f"{self.runs:,} runs"
        if self.stays:
            return f"the month {self.month} ({runs}) stays, though it is old: a run in it took place later"
        return f"the month {self.month} ({runs}) {become}, as keep_months says"


def all_of(index: str, is_monthly: bool) -> str:
    """What means *index* and all its months."""
    return index + ALL if is_monthly else index


def index_of(index: str, time_us: int | None) -> str:
    """Where runs of this time belong: of unknown time in the first *index*."""
    if time_us is None:
        return index
    at = moment(time_us)
    return f"{index}{MONTH}{at.year:04}-{at.month:02}"


def is_month(index: str) -> bool:
    return _MONTH.fullmatch(index) is not None


def kpis(place: OpenSearchLocation) -> Document:
    """The mapping of the KPIs at *place*."""
    return indices.FLAT_KPIS if place.has_flat_labels else indices.KPIS


def begin(client: opensearchpy.OpenSearch, place: OpenSearchLocation) -> None:
    """Let the history at *place* have an index a month from now on; the mark that says so is the last to be made."""
    for index, wanted in ((place.kpi_index, kpis(place)), (place.index, indices.PAYLOADS)):
        monthly = indices.of_version(indices.MONTHLY, wanted)
        indices.put_template(client, f"{index}{MONTH}", f"{index}{MONTH}*", monthly, index + ALL)
        indices.put_template(client, index, index, monthly)
        _set_alias(client, index)
        indices.ensure(client, index, monthly)


def _set_alias(client: opensearchpy.OpenSearch, index: str) -> None:
    alias = index + ALL
    acknowledge(lambda: client.indices.put_alias(index=index, name=alias), f"the alias '{alias}'")


def ensure(client: opensearchpy.OpenSearch, place: OpenSearchLocation, index: str) -> None:
    """Make the month's *index* of runs at *place*, and that of their KPIs, where they are missing."""
    kpi_index = place.kpi_index + index.removeprefix(place.index)
    for name, wanted in ((kpi_index, kpis(place)), (index, indices.PAYLOADS)):
        indices.ensure(client, name, indices.of_version(indices.MONTHLY, wanted), has_template=True)


def expire(place: OpenSearchLocation, *, delete: bool, now: dt.datetime | None = None) -> list[Expired]:
    """The months at *place* beyond those that it keeps, oldest first; removed if *delete*, runs and their KPIs.

    A month goes if it is older than so many whole months, and so many newer ones are there: a clock that is wrong, here
    or where runs took place, takes none of these.
    """
    if place.keep_months is None:
        return []
    today = dt.datetime.now(dt.UTC) if now is None else now
    with connect(place) as client, sentences(place):
        if (found := indices.find(client, place.index, indices.PAYLOADS)) is None:
            raise MissingHistoryError(f"in {place}")
        if not found.is_monthly:
            return []
        answer = patiently(lambda: client.indices.get_alias(name=place.index + ALL))
        names = read(answer, "the request for an alias", dict[str, Document])
        known = sorted(month for name in names for month in _month_of(name, place.index))
        first = today.year * 12 + today.month - 1 - place.keep_months
        oldest = f"{first // 12:04}-{first % 12 + 1:02}"
        old = [_expired(client, place, month) for month in known[: -place.keep_months] if month < oldest]
        for each in old if delete else ():
            if not each.stays:
                for index in (place.kpi_index, place.index):
                    _delete(client, f"{index}{MONTH}{each.month}")
        return old


def _month_of(name: str, index: str) -> Iterator[str]:
    if name.startswith(index + MONTH) and (found := _MONTH.fullmatch(name)) is not None:
        yield found[1]


def _expired(client: opensearchpy.OpenSearch, place: OpenSearchLocation, month: str) -> Expired:
    body = {"size": 0, "track_total_hits": True, "aggregations": {"last": {"max": {"field": "matbench.time_us"}}}}
    index = f"{place.index}{MONTH}{month}"
    patiently(lambda: client.indices.refresh(index=index))
    answer = patiently(lambda: client.search(index=index, body=body))
    count = read(answer, "a search", int, "hits", "total", "value")
    last = read(answer, "a search", dict[str, float | None], "aggregations", "last")["value"]
    is_later = last is not None and index_of(place.index, round(last)) > index
    return Expired(month, count, is_later)


def _delete(client: opensearchpy.OpenSearch, index: str) -> None:
    params = {"ignore_unavailable": "true"}
    acknowledge(lambda: client.indices.delete(index=index, params=params), f"that '{index}' is deleted")
