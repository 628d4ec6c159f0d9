"""Histories as matbench of before made them: SQLite files, exports and documents that say no more than they did then.

The runs were kept without times in three uploads: 3, then 1 and 4, then 2 and 5 (which has a time).
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
from pathlib import Path
from typing import Any

from opensearchpy import OpenSearch

from matrix_benchmarking.history import OpenSearchLocation, record
from matrix_benchmarking.history import opensearch_indices as indices

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


def old_mapping(kind: str, version: int) -> dict[str, Any]:
    """The mapping that indices of *kind* had in *version*, 1 or 3."""
    mapping: dict[str, Any] = json.loads((HERE / "mappings_3.json").read_text())[kind]
    mapping["_meta"]["matbench"]["mapping_version"] = version
    engine = mapping["properties"]["matbench"]
    if version == 1 and kind == "payloads":
        engine["properties"] = {name: field for name, field in engine["properties"].items() if name in _KNOWN}
    return mapping


def make_old_documents(url: str, location: OpenSearchLocation, *, shards: int = 1) -> None:
    """The same runs in an index of mapping version 1."""
    with OpenSearch([url]) as admin:
        settings = {**indices.SETTINGS, "index.number_of_shards": shards}
        admin.indices.create(index=location.index, body={"mappings": old_mapping("payloads", 1), "settings": settings})
        for number in PLACES:
            of = record(payload(number) if number == 5 else payload(number, time=None))
            known = {"id": of.id, "workload": of.workload, "time_us": of.time_us, "digest": of.digest, "settings": []}
            document = {**of.payload, "matbench": known}
            admin.index(index=location.index, id=of.id, body=document, params={"refresh": "true"})


_KNOWN = frozenset({"id", "workload", "time_us", "digest", "settings"})
