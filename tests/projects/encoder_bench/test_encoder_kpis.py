"""Each KPI by its value, and by the reason why it has none."""

from __future__ import annotations

import types

import pytest

from matrix_benchmarking import kpi
from matrix_benchmarking.workload import load

RESULTS = {
    "requests": 1000,
    "throughput": 200.0,
    "avg_latency_ms": 12.5,
    "p95_latency_ms": 40.0,
    "error_rate": 0.02,
    "gpu_util": 0.7,
    "gpu_memory": 0.4,
    "cpu_util": 0.9,
    "accuracy": 0.95,
    "fidelity_mean": 0.999,
    "fidelity_minimum": 0.98,
    "reference_accuracy": 0.97,
    "accuracy_standard_error": 0.01,
    "price_usd_per_hour": 0.72,
}
VALUES = {
    "1B_cost": 1000.0,  # 5 million seconds at 0.0002 USD
    "throughput": 200.0,
    "avg_latency": 12.5,
    "p95_latency": 40.0,
    "error_rate": 0.02,
    "gpu_util": 0.7,
    "gpu_memory": 0.4,
    "cpu_util": 0.9,
    "accuracy": 0.95,
    "fidelity": 0.999,
    "fidelity_minimum": 0.98,
    "accuracy_loss": 2.0,
}


def computed(**changes: float | None) -> kpi.KPIValues:
    settings = {"vendor": "aws", "hw_type": "nvidia-l4"}
    payload = types.SimpleNamespace(
        results=types.SimpleNamespace(**RESULTS | changes), metadata=types.SimpleNamespace(settings=settings)
    )
    return kpi.compute(load("encoder_bench").kpis, payload)


def test_each_kpi_has_the_value_by_hand() -> None:
    found = computed()
    assert found.missing == {}
    assert found.values == pytest.approx(VALUES)


def test_what_was_not_measured_is_unknown_with_a_reason() -> None:
    assert computed(**dict.fromkeys(set(RESULTS) - {"requests"})).missing == {
        "1B_cost": "no price is known for aws/nvidia-l4; give one with --price aws/nvidia-l4=USD_PER_HOUR",
        "throughput": "throughput was not measured",
        "avg_latency": "latency of answered requests was not measured",
        "p95_latency": "latency of answered requests was not measured",
        "error_rate": "error rate was not measured",
        "gpu_util": "GPU load was not measured",
        "gpu_memory": "GPU memory was not measured",
        "cpu_util": "CPU load was not measured",
        "accuracy": "accuracy was not measured",
        "fidelity": "fidelity was not measured",
        "fidelity_minimum": "fidelity was not measured",
        "accuracy_loss": "accuracy of a reference was not measured",
    }


def test_zero_is_a_measurement_and_not_unknown() -> None:
    found = computed(avg_latency_ms=0.0, error_rate=0.0, gpu_util=0.0, gpu_memory=0.0, cpu_util=0.0, accuracy=0.0)
    assert found.missing == {}
    assert found.values["accuracy_loss"] == pytest.approx(97.0)


@pytest.mark.parametrize(
    ("changes", "missing"),
    [
        ({"throughput": 0.0}, {"1B_cost": "no input was answered"}),
        (
            {"accuracy_standard_error": 0.0},
            {"accuracy_loss": "the standard error of the reference's accuracy is 0"},
        ),
    ],
)
def test_nothing_is_divided_by_zero(changes: dict[str, float], missing: dict[str, str]) -> None:
    assert computed(**changes).missing == missing


def test_a_price_of_zero_is_a_cost_of_zero() -> None:
    assert computed(price_usd_per_hour=0.0).values["1B_cost"] == 0.0
