"""OpenMetrics text goes through prometheus_client's own parser and comes out as it went in."""

from __future__ import annotations

import dataclasses
import io
from collections.abc import Callable
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies as st
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from matrix_benchmarking import kpi
from matrix_benchmarking.errors import WorkloadError
from matrix_benchmarking.lts import write_openmetrics
from matrix_benchmarking.lts.exports import label_name, metric_name
from matrix_benchmarking.matrix import Entry, Matrix
from matrix_benchmarking.workload import Workload

MakeEntry = Callable[..., Entry]
Samples = dict[str, list[Any]]


def text_of(workload: Workload, *entries: Entry) -> str:
    stream = io.BytesIO()
    write_openmetrics(workload, Matrix(entries), stream)
    return stream.getvalue().decode()


def families_of(workload: Workload, *entries: Entry) -> dict[str, Any]:
    return {family.name: family for family in text_string_to_metric_families(text_of(workload, *entries))}


def with_labels(workload: Workload, labels: dict[str, Any]) -> Workload:
    store = dataclasses.replace(workload.store, get_kpi_labels=lambda lts: labels)
    return dataclasses.replace(workload, store=store)


def test_each_kpi_is_a_gauge_family_with_help_unit_and_time(strict: Workload, make_entry: MakeEntry) -> None:
    entry = make_entry()
    families = families_of(strict, entry)
    assert set(families) == {"throughput_per_second", "_1B_cost_USD"}
    family = families["_1B_cost_USD"]
    assert (family.type, family.documentation, family.unit) == ("gauge", "Cost of a billion (USD)", "USD")
    (sample,) = family.samples
    assert sample.labels == {"batch_size": "32", "hw_type": "cpu-1", "test_uuid": entry.test_uuid}
    assert sample.value == 250_000_000.0
    assert float(sample.timestamp) == entry.lts.metadata.end.timestamp()


def test_repeats_are_series_of_their_own(strict: Workload, make_entry: MakeEntry) -> None:
    samples = families_of(strict, make_entry("a"), make_entry("b", repeat=1))["throughput_per_second"].samples
    assert len({sample.labels["test_uuid"] for sample in samples}) == 2


def test_an_unknown_time_gives_no_timestamp(strict: Workload, make_entry: MakeEntry) -> None:
    (sample,) = families_of(strict, make_entry(metadata={"end": None}))["throughput_per_second"].samples
    assert sample.timestamp is None


def test_an_unknown_label_is_omitted_and_a_truth_value_is_lower_case(lenient: Workload, make_entry: MakeEntry) -> None:
    entry = make_entry(settings={"a": None, "b": True, "c": 1.5, "d": "x"})
    (sample,) = families_of(lenient, entry)["throughput_per_second"].samples
    assert sample.labels == {"b": "true", "c": "1.5", "d": "x", "test_uuid": entry.test_uuid}


def test_failed_tests_are_left_out_and_said_to_be(strict: Workload, make_entry: MakeEntry) -> None:
    stream = io.BytesIO()
    odd = make_entry("odd")
    odd.implausible = ("longer than the run",)
    notes = write_openmetrics(strict, Matrix([make_entry("bad", exit_code=1), odd]), stream)
    assert notes == [
        "bad: failed, and so left out of the metrics",
        "odd: has values that can't be, and so left out of the metrics",
    ]
    assert stream.getvalue().decode().count("\n") == 7


@pytest.mark.parametrize(
    ("name", "mapped"),
    [("throughput", "throughput"), ("1B_cost", "_1B_cost"), ("p95 latency", "p95_latency"), ("é", "_")],
)
def test_forbidden_kpi_names_are_mapped(name: str, mapped: str) -> None:
    assert metric_name(name) == mapped


@pytest.mark.parametrize(
    ("name", "unit", "mapped"),
    [
        ("p95", "ms", "p95_milliseconds"),
        ("train_tokens", "tokens/s", "train_tokens_tokens_per_second"),
        ("run_seconds", "s", "run_seconds"),
        ("tokens_per_second", "tokens/s", "tokens_per_second"),
        ("error", "%", "error_percent"),
        ("rate", "1/s", "rate_per_second"),
        ("speedup", "×", "speedup_ratio"),
        ("odd", "°", "odd"),
        ("layers", "", "layers"),
    ],
)
def test_a_name_ends_in_its_unit(name: str, unit: str, mapped: str) -> None:
    assert metric_name(name, unit) == mapped


@pytest.mark.parametrize(
    ("name", "mapped"),
    [("hw_type", "hw_type"), ("2x", "_2x"), ("a.b", "a_b"), ("__name__", "label__name__"), ("a:b", "a_b")],
)
def test_forbidden_label_names_are_mapped(name: str, mapped: str) -> None:
    assert label_name(name) == mapped


def test_kpis_that_become_the_same_name_are_an_error(make_entry: MakeEntry, lenient: Workload) -> None:
    definition = lenient.kpis["throughput"]
    twins = {name: dataclasses.replace(definition, name=name) for name in ("a-b", "a.b")}
    workload = dataclasses.replace(lenient, store=dataclasses.replace(lenient.store, models_kpis=twins))
    with pytest.raises(WorkloadError, match=r"the KPIs 'a-b' and 'a\.b' are both 'a_b_per_second' in OpenMetrics"):
        text_of(workload, make_entry())


def test_labels_that_become_the_same_name_are_an_error(lenient: Workload, make_entry: MakeEntry) -> None:
    with pytest.raises(WorkloadError, match="the labels 'a-b' and 'a b' are both 'a_b'"):
        text_of(lenient, make_entry(settings={"a-b": 1, "a b": 2}))


def test_help_of_any_text_is_escaped(lenient: Workload, make_entry: MakeEntry) -> None:
    nasty = 'say "5 \\ 6"\nor\\nnot'
    definition: kpi.KPIDefinition = dataclasses.replace(lenient.kpis["throughput"], help=nasty, unit="")
    store = dataclasses.replace(lenient.store, models_kpis={"throughput": definition})
    family = families_of(dataclasses.replace(lenient, store=store), make_entry())["throughput"]
    assert family.documentation == nasty


LABEL = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from('"\\\n{},= #\r\u2028\x00'))


@hypothesis.given(LABEL, st.floats(allow_nan=False, allow_infinity=False), st.integers())
@hypothesis.settings(suppress_health_check=[hypothesis.HealthCheck.function_scoped_fixture])
def test_any_label_and_any_value_come_back_from_the_parser(
    lenient: Workload, make_entry: MakeEntry, text: str, value: float, whole: int
) -> None:
    test = make_entry(settings={"label": text}, kpis={"throughput": value, "1B_cost": whole})
    families = families_of(lenient, test)
    (sample,) = families["throughput_per_second"].samples
    assert sample.labels["label"] == text
    assert sample.value == value
    assert families["_1B_cost_USD"].samples[0].value == whole
