"""A small workload with strict models, and tests of it that were never on a disk."""

from __future__ import annotations

import datetime as dt
import types
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pydantic
import pytest

from matrix_benchmarking import kpi, models
from matrix_benchmarking.matrix import Entry
from matrix_benchmarking.moments import time_us
from matrix_benchmarking.workload import BaseStore, Workload

END = dt.datetime(2026, 11, 20, 12, 0, 0, 250_000, tzinfo=dt.UTC)


@kpi.HigherBetter
@kpi.KPIMetadata(help="Answers per second", unit="1/s")
def throughput(lts: Any) -> Any:
    return lts.results.rate


@kpi.LowerBetter
@kpi.KPIMetadata(help="Cost of a billion", unit="USD", name="1B_cost")
def cost(lts: Any) -> Any:
    return 1e9 / lts.results.rate


KPIS = kpi.collect([throughput, cost])


class Settings(models.ExclusiveModel):
    """The labels."""

    batch_size: int
    hw_type: str
    version: models.SemVer | None = None


class Results(models.ExclusiveModel):
    """What was measured."""

    rate: float
    latencies: list[float] = pydantic.Field(default=[])
    note: str | None = None


class StrictPayload(models.Payload):
    """The whole payload."""

    metadata: models.Metadata
    results: Results
    kpis: models.getKPIsModel("KPIs", __name__, KPIS, Settings)  # type: ignore[valid-type]


def labels(lts: Any) -> dict[str, Any]:
    return dict(lts.metadata.settings)


@pytest.fixture
def strict() -> Workload:
    """A workload with a payload model of its own."""
    store = BaseStore(
        parse_once=lambda results, test_dir: None,
        models_kpis=KPIS,
        lts_payload_model=StrictPayload,
        get_kpi_labels=labels,
    )
    return Workload(name="strict", store=store)


@pytest.fixture
def lenient() -> Workload:
    """A workload that leaves all models out."""
    return Workload(name="lenient", store=BaseStore(parse_once=lambda results, test_dir: None, models_kpis=KPIS))


@pytest.fixture
def make_entry() -> Callable[..., Entry]:
    return entry


def entry(
    name: str = "run_0",
    settings: dict[str, Any] | None = None,
    results: dict[str, Any] | None = None,
    metadata: dict[str, Any] | None = None,
    **attributes: Any,
) -> Entry:
    """A test as the store would give it."""
    settings = {"batch_size": 32, "hw_type": "cpu-1"} if settings is None else settings
    test_uuid = str(uuid.uuid5(uuid.NAMESPACE_URL, ascii(name)))
    known = {
        "lts_schema_version": "1.0",
        "workload": "strict",
        "test_uuid": test_uuid,
        "settings": settings,
        "repeat": 0,
        "start": None,
        "end": END,
        "exit_code": attributes.get("exit_code", 0),
        "missing_kpis": {},
    }
    lts = types.SimpleNamespace(
        metadata=types.SimpleNamespace(**{**known, **(metadata or {})}),
        results=types.SimpleNamespace(**({"rate": 4.0} if results is None else results)),
    )
    computed = kpi.compute(KPIS, lts)
    defaults = {
        "repeat": 0,
        "exit_code": 0,
        "test_uuid": test_uuid,
        "kpis": computed.values,
        "missing_kpis": computed.missing,
        "span_us": (time_us(lts.metadata.start), time_us(lts.metadata.end)),
        "load_lts": lambda: lts,
    }
    return Entry(settings=settings, location=Path("/") / name, name=name, **{**defaults, **attributes})
