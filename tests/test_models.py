"""Models refuse what they don't know, keep types, and list labels in one place."""

from __future__ import annotations

import json
import types
from typing import Any

import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from matrix_benchmarking import kpi, models

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()


class Labels(models.ExclusiveModel):
    """Labels of a KPI."""

    hw_type: str
    version: models.SemVer | None = None
    urls: dict[str, str] | None = None


@kpi.LowerBetter
@kpi.KPIMetadata(help="Cost", unit="USD", name="1B_cost")
def cost(lts: Any) -> float:
    return 1.0


KPIS = kpi.collect([cost])
VALUE = {
    "value": 1.5,
    "help": "Cost",
    "unit": "USD",
    "@timestamp": "2026-11-20T12:00:00Z",
    "lower_better": True,
    "test_uuid": "3d84a44e-daaf-571d-8647-2a6e835bd0b4",
    "labels": {"hw_type": "cpu-1"},
}


@given(SCALARS)
def test_the_type_of_a_setting_survives_json(value: Any) -> None:
    adapter: pydantic.TypeAdapter[Any] = pydantic.TypeAdapter(models.Scalar)
    found = adapter.validate_json(json.dumps(value), strict=True)
    assert type(found) is type(value)
    assert found == value


@pytest.mark.parametrize("version", ["1.4.0", "0.0.1", "2.13.0-rc1+20240902", "1.0.0-alpha.1"])
def test_versions_of_three_numbers_are_versions(version: str) -> None:
    assert Labels(hw_type="x", version=version).version == version


@pytest.mark.parametrize("version", ["1.4", "v1.4.0", "01.4.0", "1.4.0 ", "1.4.0\n", "1.4.0-", ""])
def test_other_texts_are_not(version: str) -> None:
    with pytest.raises(pydantic.ValidationError):
        Labels(hw_type="x", version=version)


@pytest.mark.parametrize("content", [{"hw_type": "x", "extra": 1}, {}])
def test_an_unknown_and_a_missing_field_are_refused(content: dict[str, Any]) -> None:
    with pytest.raises(pydantic.ValidationError):
        Labels.model_validate(content)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_kpi_is_a_finite_number(value: float) -> None:
    model = models.getKPIsModel("KPIs", __name__, KPIS, Labels)
    with pytest.raises(pydantic.ValidationError):
        model.model_validate({"1B_cost": {**VALUE, "value": value}})


def test_the_kpis_model_takes_names_that_python_does_not_and_its_labels_are_strict() -> None:
    model = models.getKPIsModel("KPIs", __name__, KPIS, Labels)
    validated = model.model_validate({"1B_cost": VALUE})
    assert validated.model_dump(mode="json", by_alias=True, exclude_unset=True) == {"1B_cost": VALUE}
    with pytest.raises(pydantic.ValidationError):
        model.model_validate({"1B_cost": {**VALUE, "labels": {"hw_type": "x", "vus": 1}}})
    with pytest.raises(pydantic.ValidationError):
        model.model_validate({"throughput": VALUE})


def test_without_a_settings_model_any_flat_labels_do() -> None:
    model = models.getKPIsModel("KPIs", __name__, KPIS, None)
    labels = {"a": 1, "b": "1", "c": None}
    assert model.model_validate({"1B_cost": {**VALUE, "labels": labels}})
    with pytest.raises(pydantic.ValidationError):
        model.model_validate({"1B_cost": {**VALUE, "labels": {"a": [1]}}})


def test_labels_are_the_settings_that_the_model_has_over_what_is_given() -> None:
    get_kpi_labels = models.labels_from(Labels, version="1.0.0", hw_type="unknown")
    settings = {"hw_type": "x", "vus": 4}
    lts = types.SimpleNamespace(metadata=types.SimpleNamespace(settings=settings))
    assert get_kpi_labels(lts) == {"hw_type": "x", "version": "1.0.0"}


def test_the_default_payload_takes_any_results_and_only_the_workloads_kpis() -> None:
    metadata = {
        "lts_schema_version": "1.0",
        "workload": "w",
        "test_uuid": VALUE["test_uuid"],
        "settings": {"a": 1},
    }
    payload = {"metadata": metadata, "results": {"anything": [1]}, "kpis": {}}
    model = models.default_payload_model(KPIS)
    assert model.model_validate(payload)
    with pytest.raises(pydantic.ValidationError):
        model.model_validate({**payload, "kpis": {"other": VALUE}})
