"""The lenient LTS payload of one test, built from its results without any validation."""

from __future__ import annotations

import types
from typing import Any

from ..errors import explained
from ..matrix import Entry, Problem
from ..models import LTS_SCHEMA_VERSION
from ..workload import Workload


def build_payload(
    workload: Workload, entry: Entry, results: types.SimpleNamespace
) -> tuple[types.SimpleNamespace, Problem | None]:
    """``metadata`` and ``results`` of the payload, and what kept the workload from making it whole."""
    problem = None
    generate = workload.store.generate_lts_payload or _default_payload
    try:
        payload = generate(results, entry.settings)
    except (Exception, SystemExit) as error:  # noqa: BLE001  an incomplete test must still be looked at
        problem = Problem(f"generate_lts_payload stopped: {explained(error)}")
        payload = types.SimpleNamespace(results=types.SimpleNamespace())
    if not hasattr(payload, "metadata"):
        payload.metadata = types.SimpleNamespace()
    _complete(payload.metadata, workload, entry)
    return payload, problem


def _default_payload(results: types.SimpleNamespace, import_settings: object) -> types.SimpleNamespace:
    """The results as they are; when the test started and ended is metadata."""
    measured = dict(vars(results))
    metadata = types.SimpleNamespace(start=measured.pop("start", None), end=measured.pop("end", None))
    return types.SimpleNamespace(metadata=metadata, results=types.SimpleNamespace(**measured))


def _complete(metadata: types.SimpleNamespace, workload: Workload, entry: Entry) -> None:
    """Add what the engine knows, where the workload didn't say it."""
    known: dict[str, Any] = {
        "lts_schema_version": LTS_SCHEMA_VERSION,
        "workload": workload.name,
        "test_uuid": entry.test_uuid,
        "settings": dict(entry.settings),
        "repeat": entry.repeat,
        "measurement": entry.measurement,
        "exit_code": entry.exit_code,
        "presets": [],
        "config": None,
        "start": None,
        "end": None,
        "missing_kpis": dict(entry.missing_kpis),
    }
    # Only where it is recorded: payloads of runs without it stay as they were.
    known |= {
        name: value for name, value in (("campaign", entry.campaign), ("round", entry.round)) if value is not None
    }
    for name, value in known.items():
        if not hasattr(metadata, name):
            setattr(metadata, name, value)
