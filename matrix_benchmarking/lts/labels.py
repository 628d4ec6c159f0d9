"""The labels of an entry's KPIs: what identifies a series besides the KPI's name."""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping
from typing import Any

import pydantic
import pydantic_core

from .. import models
from ..jsonable import to_jsonable
from ..matrix import Entry
from ..validation import dotted, mismatches
from ..workload import Workload

PATTERNS = {models.SEMVER_PATTERN: "a version of three numbers such as 1.4.0 (https://semver.org)"}


def label_names(workload: Workload) -> frozenset[str]:
    """The labels that the workload's model defines; none where it takes any."""
    labels = _labels_model(workload)
    return frozenset() if labels is None else frozenset(labels.model_fields)


def refused_settings(workload: Workload, settings: Mapping[str, Any]) -> list[str]:
    """A sentence for each of *settings* that no strict payload takes as the label of its name."""
    model = _labels_model(workload)
    if model is None:
        return []
    labels = {name: settings[name] for name in model.model_fields if name in settings}
    try:
        model.model_validate_json(pydantic_core.to_json(labels), strict=True)
    except pydantic.ValidationError as error:
        wrong = [each for each in mismatches(error, labels, PATTERNS) if each.path[0] in labels]
        return [f"{dotted(each.path)}={labels[str(each.path[0])]}: {each.reason}" for each in wrong]
    return []


def _labels_model(workload: Workload) -> type[pydantic.BaseModel] | None:
    payload = workload.store.lts_payload_model
    kpis = None if payload is None else _model_of(payload, "kpis")
    kpi = None if kpis is None else next((_model_of(kpis, name) for name in kpis.model_fields), None)
    return None if kpi is None else _model_of(kpi, "labels")


def _model_of(model: type[pydantic.BaseModel], name: str) -> type[pydantic.BaseModel] | None:
    """The model that the field *name* is of, be it optional."""
    field = model.model_fields.get(name)
    kinds = () if field is None else (field.annotation, *typing.get_args(field.annotation))
    return next((kind for kind in kinds if isinstance(kind, type) and issubclass(kind, pydantic.BaseModel)), None)


def kpi_labels(workload: Workload, entry: Entry, lts: types.SimpleNamespace) -> dict[str, Any]:
    """The labels as JSON values: what the workload's ``get_kpi_labels`` says, else all settings.

    Args:
        lts: the entry's LTS payload, which is loaded anew at each access of ``entry.lts``.

    Raises:
        TypeError: ``get_kpi_labels`` returned something that has no names.
        Exception: whatever ``get_kpi_labels`` raises where the payload lacks a field.
    """
    if workload.store.get_kpi_labels is None:
        return dict(to_jsonable(dict(entry.settings)))
    labels = workload.store.get_kpi_labels(lts)
    if isinstance(labels, pydantic.BaseModel):
        return labels.model_dump(mode="json", by_alias=True)
    if isinstance(labels, types.SimpleNamespace):
        labels = vars(labels)
    if not isinstance(labels, Mapping):
        raise TypeError(f"get_kpi_labels returned a {type(labels).__name__}, not a mapping")
    return dict(to_jsonable(dict(labels)))
