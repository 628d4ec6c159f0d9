"""The head of a payload: what places a run among others, without what was measured in detail.

A history has the heads of all its runs at hand, so that runs are selected and judged without reading their payloads.
What a payload says of its KPIs besides their values is the same in thousands of runs, and kept apart.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import msgspec

from .. import environment_file


class DescribedKPI(msgspec.Struct, frozen=True):
    """What a payload says of a KPI that has a value in it, besides that value."""

    name: str
    unit: Any
    help: Any
    lower_better: Any
    ignored_for_regression: Any


KPIs = tuple[DescribedKPI, ...]
"""Those of one payload, in its order; shared by the runs of which it is the same."""


class Head(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is at hand of a run, as its payload says it: it may come from a stranger, and so be of any type.

    Attributes:
        settings, repeat, exit_code, campaign, round, start, missing_kpis, lts_schema_version: of the metadata.
        host: what tells its machine from others; see :attr:`.environment_file.Environment.host`.
        labels: those of its first KPI.
        values: those of its :data:`KPIs`.
    """

    settings: Any = None
    repeat: Any = None
    exit_code: Any = None
    campaign: Any = None
    round: Any = None
    start: Any = None
    lts_schema_version: Any = None
    missing_kpis: Any = None
    host: str | None = None
    labels: Any = None
    values: list[Any] = []


_METADATA = (
    "settings",
    "repeat",
    "exit_code",
    "campaign",
    "round",
    "start",
    "lts_schema_version",
    "missing_kpis",
)


def head_of(payload: Mapping[str, Any]) -> Head:
    """The head of a decoded *payload*.

    Raises:
        KeyError, TypeError, AttributeError: it is none.
    """
    metadata = payload["metadata"]
    present = [kpi for kpi in payload["kpis"].values() if kpi is not None]
    return Head(
        **{name: metadata.get(name) for name in _METADATA},
        host=environment_file.parse(metadata.get("environment")).host,
        labels=present[0].get("labels") if present else None,
        values=[kpi["value"] for kpi in present],
    )


def kpis_of(payload: Mapping[str, Any]) -> KPIs:
    """What a decoded *payload* says of the KPIs that have a value in it.

    Raises:
        KeyError, TypeError, AttributeError: it is none.
    """
    return tuple(
        DescribedKPI(
            name, kpi.get("unit"), kpi.get("help"), kpi.get("lower_better"), kpi.get("ignored_for_regression", False)
        )
        for name, kpi in payload["kpis"].items()
        if kpi is not None
    )


def digest_of(kpis: KPIs) -> str:
    """A digest that is the same for equal *kpis* only."""
    return hashlib.blake2b(msgspec.json.encode(kpis), digest_size=16).hexdigest()
