"""Histories as matbench of before made them: SQLite files, exports and documents that say no more than they did then.

The runs were kept without times in three uploads: 3, then 1 and 4, then 2 and 5 (which has a time).
"""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path
from typing import Any

from opensearchpy import OpenSearch

from matrix_benchmarking.history import OpenSearchLocation, record
from matrix_benchmarking.history.opensearch import documents, mappings

from .payloads import payload

HERE = Path(__file__).parent / "before"
EXPORTS = {1: HERE / "export_1.jsonl", 2: HERE / "export_2.jsonl"}
PLACES = {3: (0, 1), 1: (0, 2), 4: (0, 3), 2: (0, 4), 5: (0, 5)}
"""By the number of the test, the place in the order in which they were kept."""


def make_old_file(path: Path, schema: int) -> Path:
    """A SQLite history of *schema* 1 or 2."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.executescript((HERE / f"schema_{schema}.sql").read_text())
    return path


def make_old_documents(url: str, location: OpenSearchLocation, *, shards: int = 1) -> None:
    """The same runs in indices of mapping version 1."""
    with OpenSearch([url]) as admin:
        for name, wanted in ((location.index, mappings.PAYLOADS), (location.kpi_index, mappings.KPIS)):
            settings = {**mappings.SETTINGS, "index.number_of_shards": shards}
            admin.indices.create(index=name, body={"mappings": _of_version_1(wanted), "settings": settings})
        for number in PLACES:
            of = record(payload(number) if number == 5 else payload(number, time=None))
            admin.index(index=location.index, id=of.id, body=_document(of), params={"refresh": "true"})
            for kpi in of.kpis():
                key = documents.kpi_id(of.id, kpi.name)
                body = documents.kpi_document(of, kpi)
                admin.index(index=location.kpi_index, id=key, body=body, params={"refresh": "true"})


def _of_version_1(mapping: Any) -> dict[str, Any]:
    engine = mapping["properties"]["matbench"]
    known = {name: field for name, field in engine["properties"].items() if name in _KNOWN or mapping is mappings.KPIS}
    meta = {"matbench": {**mapping["_meta"]["matbench"], "mapping_version": 1}}
    properties = {**mapping["properties"], "matbench": {**engine, "properties": known}}
    return {**mapping, "_meta": meta, "properties": properties}


_KNOWN = frozenset({"id", "workload", "time_us", "digest", "settings"})


def _document(of: Any) -> dict[str, Any]:
    document = documents.payload_document(of)
    return {**document, "matbench": {name: value for name, value in document["matbench"].items() if name in _KNOWN}}
