"""Pydantic models at the borders: LTS payloads and KPIs are strict, nothing unknown passes.

A workload derives its ``Settings`` (the KPI labels), ``Metadata`` and ``Results`` from these, and
builds the KPI models from them with :func:`getKPIsModel`; the labels are listed nowhere else.
"""

from __future__ import annotations

import functools
import re
import uuid
from collections.abc import Callable, Mapping
from typing import Annotated, Any

import pydantic
from pydantic import Field

from .kpi import Format as Format
from .kpi import FormatDivisor as FormatDivisor
from .kpi import HigherBetter as HigherBetter
from .kpi import IgnoredForRegression as IgnoredForRegression
from .kpi import KPIDefinition
from .kpi import KPIMetadata as KPIMetadata
from .kpi import LowerBetter as LowerBetter
from .kpi import NeitherBetter as NeitherBetter

LTS_SCHEMA_VERSION = "1.0"

Scalar = (
    Annotated[bool, Field(strict=True)]
    | Annotated[int, Field(strict=True)]
    | Annotated[float, Field(strict=True)]
    | str
    | None
)

_NUMBER = r"(?:0|[1-9][0-9]*)"
_IDENTIFIER = r"[0-9A-Za-z-]+"
_SEMVER = re.compile(
    rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}"
    rf"(?:-{_IDENTIFIER}(?:\.{_IDENTIFIER})*)?"
    rf"(?:\+{_IDENTIFIER}(?:\.{_IDENTIFIER})*)?"
)

SEMVER_PATTERN = f"^{_SEMVER.pattern}$"
SemVer = Annotated[str, Field(pattern=SEMVER_PATTERN, examples=["1.4.0", "2.13.0-rc1+20240902"])]
"""A version as https://semver.org defines it: ``major.minor.patch[-prerelease][+build]``."""


class ExclusiveModel(pydantic.BaseModel):
    """A model that refuses fields it doesn't know, NaN and infinity."""

    model_config = pydantic.ConfigDict(
        extra="forbid",
        allow_inf_nan=False,
        populate_by_name=True,
        protected_namespaces=(),
        defer_build=True,  # until the first payload, which most commands never make
    )


class KPI(ExclusiveModel):
    """One indicator of one test. :func:`getKPIsModel` adds the workload's labels.

    Attributes:
        value: the number, in *unit*.
        help: what is measured.
        unit: unit of the value, such as ``USD`` or ``inputs/s``.
        timestamp: when the test ended; None where the artifacts don't tell.
        lower_better: the direction in which the value improves; None where neither is better.
        ignored_for_regression: left out of regression analyses.
        test_uuid: id of the test behind the value.
    """

    value: float | int
    help: str
    unit: str
    timestamp: pydantic.AwareDatetime | None = Field(default=None, alias="@timestamp")
    lower_better: bool | None
    ignored_for_regression: bool = False
    test_uuid: uuid.UUID


class Metadata(ExclusiveModel):
    """What is known of a test besides its results.

    Attributes:
        lts_schema_version: version of the workload's payload model.
        workload: name of the workload.
        test_uuid: stable id of the test: its own, or a digest of its content.
        settings: the coordinates of the test in the matrix.
        repeat: index among the runs at the same settings.
        campaign: id of the start of a benchmark, on one host, that measured it; left out where none is recorded.
        round: which pass over the points of an interleaved campaign, from 1; left out where it belongs to none.
        host: what tells the machine that measured it from others: processor, GPUs, kernel; left out where unknown.
        measurement: digest of the recorded artifacts, ending with ``*`` where other tests of the tree have the same;
            None without any. By it a history knows a measurement that is described or computed anew.
        start, end: when the test ran; None where the artifacts don't tell.
        exit_code: 0 for success; None where the artifacts don't tell.
        presets: names of the presets under which the test was run.
        config: the test's own configuration file, as text.
        missing_kpis: for each KPI that could not be computed, the reason.
    """

    lts_schema_version: str
    workload: str
    test_uuid: uuid.UUID
    settings: dict[str, Scalar]
    repeat: int = 0
    campaign: str | None = None
    round: int | None = None
    host: str | None = None
    measurement: str | None = None
    start: pydantic.AwareDatetime | None = None
    end: pydantic.AwareDatetime | None = None
    exit_code: int | None = None
    presets: list[str] = []
    config: str | None = None
    missing_kpis: dict[str, str] = {}


class Payload(ExclusiveModel):
    """A whole LTS payload; a workload overrides the types of the three fields."""

    metadata: Metadata
    results: Any
    kpis: Any


def getKPIsModel(
    name: str,
    module_name: str,
    kpis: Mapping[str, KPIDefinition],
    settings_model: type[pydantic.BaseModel] | None,
) -> type[ExclusiveModel]:
    """The model of a payload's ``kpis``: one optional KPI a name, each with labels of *settings_model*.

    Args:
        name: name of the new model.
        module_name: ``__name__`` of the calling module.
        kpis: what :func:`matrix_benchmarking.kpi.collect` gave.
        settings_model: the labels; None takes any flat settings.
    """
    labels: Any = settings_model or dict[str, Scalar]
    kpi_model = pydantic.create_model("KPI", __base__=KPI, __module__=module_name, labels=(labels, ...))
    fields: dict[str, Any] = {
        _field_name(kpi_name): (
            kpi_model | None,
            Field(default=None, alias=kpi_name, description=f"{definition.help} ({definition.unit})"),
        )
        for kpi_name, definition in kpis.items()
    }
    return pydantic.create_model(name, __base__=ExclusiveModel, __module__=module_name, **fields)


def _field_name(kpi: str) -> str:
    """What the model's field is called: Pydantic keeps names that begin with ``_``, and those of its own methods."""
    return f"kpi_{kpi}" if kpi.startswith("_") or hasattr(ExclusiveModel, kpi) else kpi


def labels_from(settings_model: type[pydantic.BaseModel], **defaults: Scalar) -> Callable[[Any], dict[str, Any]]:
    """A workload's ``get_kpi_labels``: those of a test's settings that *settings_model* has, over *defaults*.

    Args:
        defaults: labels of tests whose settings don't say them, such as ``kpi_settings_version``.
    """

    def get_kpi_labels(lts_payload: Any) -> dict[str, Any]:
        settings = lts_payload.metadata.settings
        return {**defaults, **{name: settings[name] for name in settings_model.model_fields if name in settings}}

    return get_kpi_labels


def default_payload_model(kpis: Mapping[str, KPIDefinition]) -> type[Payload]:
    """The payload model of a workload that doesn't define one: any results, labels from the settings."""
    return _default_payload_model(tuple(kpis.items()))


@functools.lru_cache(maxsize=8)  # pydantic takes ten milliseconds for one, and each payload asks
def _default_payload_model(kpis: tuple[tuple[str, KPIDefinition], ...]) -> type[Payload]:
    kpis_model = getKPIsModel("KPIs", __name__, dict(kpis), None)
    return pydantic.create_model(
        "Payload",
        __base__=Payload,
        __module__=__name__,
        results=(dict[str, Any], ...),
        kpis=(kpis_model, ...),
    )
