"""LTS payloads for tests of the history: small, real in shape, and as many as are wanted."""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Mapping
from typing import Any

START = dt.datetime(2026, 3, 1, 12, 0, tzinfo=dt.UTC)
_NAMESPACE = uuid.UUID("8a1f4f06-52f9-4b0e-9a3c-6f3d0c3c7e11")


def test_id(number: int) -> str:
    return str(uuid.uuid5(_NAMESPACE, str(number)))


test_id.__test__ = False  # type: ignore[attr-defined] # no test, for all its name


def payload(
    number: int,
    values: Mapping[str, float | None] | None = None,
    *,
    workload: str = "speed",
    settings: Mapping[str, Any] | None = None,
    labels: Mapping[str, Any] | None = None,
    time: str | None = "",
    unit: str = "m/s",
    **results: Any,
) -> dict[str, Any]:
    """The payload of test *number*.

    Args:
        values: by KPI; None for a KPI that is in the payload without a value.
        time: when it ended; *number* minutes after :data:`START` unless given.
    """
    end = (START + dt.timedelta(minutes=number)).isoformat() if time == "" else time
    settings = {"hw_type": "cpu-1", "vus": 8} if settings is None else settings
    identifier = test_id(number)
    kpis = {"speed": 10.0 + number} if values is None else values
    return {
        "metadata": {
            "lts_schema_version": "1.0",
            "workload": workload,
            "test_uuid": identifier,
            "settings": dict(settings),
            "repeat": number,
            "start": None,
            "end": end,
            "exit_code": 0,
            "presets": [],
            "config": None,
            "missing_kpis": {},
        },
        "results": {"number": number, **results},
        "kpis": {
            name: None
            if value is None
            else {
                "value": value,
                "help": "How fast it is",
                "unit": unit,
                "@timestamp": end,
                "lower_better": False,
                "ignored_for_regression": False,
                "test_uuid": identifier,
                "labels": dict(settings if labels is None else labels),
            }
            for name, value in kpis.items()
        },
    }
