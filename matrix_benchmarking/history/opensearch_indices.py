"""The indices of a history on an OpenSearch server: explicit, strict mappings with a version, made on first use.

A history may have one a month, which go when they are old. A run belongs to the month in which it took place, whenever
it is pushed, so the same run again meets itself.
"""

from __future__ import annotations

import datetime as dt
import functools
import re
from typing import NamedTuple

import msgspec
import opensearchpy
from opensearchpy import exceptions

from ..errors import HistoryError, MissingHistoryError
from ..jsonable import Document
from .opensearch_client import NotOpenSearchError, acknowledge, connect, patiently, read, reading, sentences
from .opensearch_location import ALL, MONTH, OpenSearchLocation
from .records import moment

SINGLE, MONTHLY = 4, 5
"""Versions: 2 keeps what was measured, and when a run was first seen; in 3 ``lower_better`` may be null; 4 keeps the
head of a payload; 5 is of a history that has an index a month beside the first one. A matbench refuses the indices of
a newer one, of which it would lose what it doesn't know."""
LONGEST_KEYWORD = 1000  # characters; Lucene takes 32,766 bytes

_KEYWORD = {"type": "keyword", "ignore_above": LONGEST_KEYWORD}
_WITH_KEYWORD = {**_KEYWORD, "fields": {"keyword": _KEYWORD}}
_EXACT, _LONG, _DATE, _BOOLEAN = ({"type": kind} for kind in ("keyword", "long", "date", "boolean"))
_UNINDEXED = {"type": "object", "enabled": False}
_TEXT_ONLY_KEPT = {"type": "keyword", "index": False, "doc_values": False}


def _mapping(kind: str, properties: Document, **others: object) -> Document:
    meta = {"matbench": {"mapping_version": SINGLE, "kind": kind}}
    return {"dynamic": "strict", "_meta": meta, **others, "properties": properties}


def _object(properties: Document, dynamic: str = "strict") -> Document:
    return {"type": "object", "dynamic": dynamic, "properties": properties}


_METADATA = {
    **dict.fromkeys(("workload", "test_uuid"), _EXACT),
    **dict.fromkeys(("lts_schema_version", "campaign", "host", "presets"), _KEYWORD),
    **dict.fromkeys(("start", "end"), _DATE),
    **dict.fromkeys(("exit_code", "repeat", "round"), _LONG),
    **dict.fromkeys(("settings", "missing_kpis"), _UNINDEXED),
}
_OF_RUN = {
    **dict.fromkeys(("id", "workload", "digest", "measurement", "shape"), _EXACT),
    **dict.fromkeys(("time_us", "recorded_us", "recorded_place"), _LONG),
    "head": _TEXT_ONLY_KEPT,
}
PAYLOADS = _mapping(
    "payloads",
    {
        "metadata": _object(_METADATA, "false"),
        **dict.fromkeys(("results", "kpis"), _UNINDEXED),
        "matbench": _object(_OF_RUN),
    },
)
"""The fields of a payload, as people query them, and below ``matbench`` what the engine itself needs."""

KPIS = _mapping(
    "kpis",
    {
        "@timestamp": _DATE,
        **dict.fromkeys(("workload", "kpi", "test_uuid"), _EXACT),
        "value": {"type": "double"},
        "unit": _KEYWORD,
        "help": _TEXT_ONLY_KEPT,
        **dict.fromkeys(("lower_better", "ignored_for_regression"), _BOOLEAN),
        "labels": {"type": "object", "dynamic": "true"},
        "urls": _UNINDEXED,
    },
    dynamic_templates=[{"labels": {"path_match": "labels.*", "mapping": _KEYWORD}}],
)
FLAT_KPIS = {
    **KPIS,
    "dynamic": "true",
    "dynamic_templates": [*KPIS["dynamic_templates"], {"flat": {"match": "*", "mapping": _WITH_KEYWORD}}],
}
"""Labels beside the other fields, as dashboards of TOPSAIL ask: ``model``, and the same as ``model.keyword``."""
ALARMS = _mapping(
    "alarms",
    {
        "@timestamp": _DATE,
        **dict.fromkeys(("alarm", "action", "workload"), _EXACT),
        **dict.fromkeys(("author", "reason", "until", "version", "kpi", "series", "first_bad"), _KEYWORD),
        "matbench": _object({"id": _EXACT, "at_us": _LONG, "event": _TEXT_ONLY_KEPT}),
    },
)
SETTINGS = {
    "index.number_of_shards": 1,
    "index.auto_expand_replicas": "0-1",
    "index.mapping.total_fields.limit": 5000,
}


class Found(NamedTuple):
    """An index: whether an older matbench made it, and whether its history has more of them, one a month."""

    is_older: bool
    is_monthly: bool


def ensure(client: opensearchpy.OpenSearch, name: str, wanted: Document, *, has_template: bool = False) -> Found:
    """Make the index *name* where it is missing, and check it.

    Raises:
        HistoryError: it has other mappings than those that are *wanted*, or those of a newer matbench.
    """
    found = _checked(client, name, wanted)
    if found is None:
        if not has_template:
            put_template(client, name, name, wanted)
        _create(client, name)
        found = _checked(client, name, wanted) or {}
    version = max(_version(found), _version(wanted))
    is_older = _version(found) < _version(wanted) or not _fields(wanted).keys() <= _fields(found).keys()
    if is_older or found.get("dynamic") != wanted["dynamic"]:  # fields can be added at any time
        body = of_version(version, wanted)
        acknowledge(lambda: client.indices.put_mapping(index=name, body=body), f"the new fields of the index '{name}'")
    return Found(is_older, version >= MONTHLY)


def find(client: opensearchpy.OpenSearch, name: str, wanted: Document) -> Found | None:
    """The index *name*, which is checked; None where there is none. Raises as :func:`ensure`."""
    found = _checked(client, name, wanted)
    return None if found is None else Found(_version(found) < SINGLE, _version(found) >= MONTHLY)


def of_version(version: int, mapping: Document) -> Document:
    """*mapping*, which says this *version* of itself."""
    return {**mapping, "_meta": {"matbench": {**_known(mapping), "mapping_version": version}}}


def _version(mapping: Document) -> int:
    return int(_known(mapping).get("mapping_version", 0))


def _checked(client: opensearchpy.OpenSearch, name: str, wanted: Document) -> Document | None:
    """The mapping of the index, which may be called by an alias; None where there is none."""
    try:
        answer = patiently(lambda: client.indices.get_mapping(index=name))
    except exceptions.NotFoundError:
        return None
    indices = read(answer, "the request for a mapping", dict[str, dict[str, Document]])
    if not indices:
        raise NotOpenSearchError("the request for a mapping (it names no index)")
    with reading("the request for a mapping"):
        found = next(iter(indices.values()))["mappings"]
    _check(name, wanted, found)
    return found


def put_template(
    client: opensearchpy.OpenSearch, name: str, pattern: str, wanted: Document, alias: str | None = None
) -> None:
    """Make the template *name* of the indices that *pattern* means, which *alias*, where given, means too."""
    made: Document = {"settings": SETTINGS, "mappings": wanted} | ({} if alias is None else {"aliases": {alias: {}}})
    body = {"index_patterns": [pattern], "priority": 500, "version": _version(wanted), "template": made}
    acknowledge(
        lambda: client.indices.put_index_template(name=f"matbench-{name}", body=body),
        f"the template of the index '{name}'",
    )


def _create(client: opensearchpy.OpenSearch, name: str) -> None:
    try:
        acknowledge(lambda: client.indices.create(index=name), f"the new index '{name}'")
    except exceptions.RequestError as error:
        if error.error != "resource_already_exists_exception":  # another process was faster
            raise


def _known(found: Document) -> Document:
    """What the mapping *found* says of the matbench that made it."""
    known: Document = found.get("_meta", {}).get("matbench", {})
    return known


def _check(name: str, wanted: Document, found: Document) -> None:
    known = _known(found)
    if _version(found) > MONTHLY:
        raise HistoryError(
            f"index '{name}' was made by a newer matbench (mapping {_version(found)}; this one knows "
            f"{MONTHLY}): update matbench, or use another index"
        )
    kind = _known(wanted)["kind"]
    there = _fields(found)
    conflicts = [
        f"'{field}' is {there[field]} and should be {form}"
        for field, form in _fields(wanted).items()
        if there.get(field, form) != form
    ]
    if known.get("kind") == kind and not conflicts:
        return
    what = f": {'; '.join(conflicts[:5])}" if conflicts else ", and would not refuse what doesn't belong in it"
    if known.get("kind") not in (None, kind):
        what = f": it holds the {known['kind']} of a history"
    raise HistoryError(
        f"index '{name}' was not made for the {kind} of a history{what}. Name another index "
        "(matbench.lts.opensearch.index, index_prefix), or move its documents away and delete it"
    )


def _fields(mapping: Document, above: str = "") -> dict[str, str]:
    """The type of each field in *mapping*, by its dotted name."""
    found = {}
    for name, field in mapping.get("properties", {}).items():
        found[f"{above}{name}"] = field.get("type", "object")
        found |= _fields(field, f"{above}{name}.")
    return found


_MONTH = re.compile(rf".*{MONTH}(\d{{4}}-\d\d)")


class Expired(msgspec.Struct, frozen=True):
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
    return FLAT_KPIS if place.has_flat_labels else KPIS


def begin(client: opensearchpy.OpenSearch, place: OpenSearchLocation) -> None:
    """Let the history at *place* have an index a month from now on; the mark that says so is the last to be made."""
    for index, wanted in ((place.kpi_index, kpis(place)), (place.index, PAYLOADS)):
        monthly = of_version(MONTHLY, wanted)
        put_template(client, f"{index}{MONTH}", f"{index}{MONTH}*", monthly, index + ALL)
        put_template(client, index, index, monthly)
        request = functools.partial(client.indices.put_alias, index=index, name=index + ALL)
        acknowledge(request, f"the alias '{index + ALL}'")
        ensure(client, index, monthly)


def ensure_month(client: opensearchpy.OpenSearch, place: OpenSearchLocation, index: str) -> None:
    """Make the month's *index* of runs at *place*, and that of their KPIs, where they are missing."""
    kpi_index = place.kpi_index + index.removeprefix(place.index)
    for name, wanted in ((kpi_index, kpis(place)), (index, PAYLOADS)):
        ensure(client, name, of_version(MONTHLY, wanted), has_template=True)


def expire(place: OpenSearchLocation, *, delete: bool, now: dt.datetime | None = None) -> list[Expired]:
    """The months at *place* beyond those that it keeps, oldest first; removed if *delete*, runs and their KPIs.

    A month goes if it is older than so many whole months, and so many newer ones are there: a clock that is wrong, here
    or where runs took place, takes none of these.
    """
    if place.keep_months is None:
        return []
    today = dt.datetime.now(dt.UTC) if now is None else now
    with connect(place) as client, sentences(place):
        if (there := find(client, place.index, PAYLOADS)) is None:
            raise MissingHistoryError(f"in {place}")
        if not there.is_monthly:
            return []
        answer = patiently(lambda: client.indices.get_alias(name=place.index + ALL))
        names = read(answer, "the request for an alias", dict[str, Document])
        ours = (_MONTH.fullmatch(name) for name in names if name.startswith(place.index + MONTH))
        known = sorted(found[1] for found in ours if found is not None)
        first = today.year * 12 + today.month - 1 - place.keep_months
        oldest = f"{first // 12:04}-{first % 12 + 1:02}"
        old = [_expired(client, place, month) for month in known[: -place.keep_months] if month < oldest]
        for each in old if delete else ():
            if not each.stays:
                for name in (f"{index}{MONTH}{each.month}" for index in (place.kpi_index, place.index)):
                    params = {"ignore_unavailable": "true"}
                    request = functools.partial(client.indices.delete, index=name, params=params)
                    acknowledge(request, f"that '{name}' is deleted")
        return old


def _expired(client: opensearchpy.OpenSearch, place: OpenSearchLocation, month: str) -> Expired:
    body = {"size": 0, "track_total_hits": True, "aggregations": {"last": {"max": {"field": "matbench.time_us"}}}}
    index = f"{place.index}{MONTH}{month}"
    patiently(lambda: client.indices.refresh(index=index))
    answer = patiently(lambda: client.search(index=index, body=body))
    count = read(answer, "a search", int, "hits", "total", "value")
    last = read(answer, "a search", dict[str, float | None], "aggregations", "last")["value"]
    is_later = last is not None and index_of(place.index, round(last)) > index
    return Expired(month, count, is_later)
