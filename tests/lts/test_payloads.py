"""Payloads are strict, and every problem of every test is named at once."""

from __future__ import annotations

import dataclasses
import datetime as dt
import functools
import io
import json
import types
from collections.abc import Callable
from typing import Any

import numpy
import pydantic
import pytest

from matrix_benchmarking.analyze.check.labels import payload_findings
from matrix_benchmarking.errors import VerdictError
from matrix_benchmarking.lts import write_payloads
from matrix_benchmarking.matrix import Entry, Matrix, Problem
from matrix_benchmarking.rows import Rows
from matrix_benchmarking.workload import Workload

MakeEntry = Callable[..., Entry]


def written(workload: Workload, *entries: Entry, pretty: bool = False) -> list[dict[str, Any]]:
    stream = io.BytesIO()
    write_payloads(workload, Matrix(entries), stream, pretty=pretty)
    payloads: list[dict[str, Any]] = json.loads(stream.getvalue())
    return payloads


def problems(workload: Workload, *entries: Entry, unfinished: tuple[Entry, ...] = ()) -> list[str]:
    with pytest.raises(VerdictError) as raised:
        write_payloads(workload, Matrix(entries, unfinished=unfinished), io.BytesIO(), pretty=False)
    assert raised.value.exit_status == 1
    head, *found = [line.strip() for line in str(raised.value).splitlines()]
    plural = "problem" if len(found) == 1 else "problems"
    concerned = len({line.partition(":")[0] for line in found})
    tests = len(entries) + len(unfinished)
    assert head == f"no LTS payloads were written: {len(found)} {plural} in {concerned} of {tests} tests"
    return found


def test_a_payload_holds_metadata_results_and_each_kpi_with_its_labels(strict: Workload, make_entry: MakeEntry) -> None:
    entry = make_entry()
    (payload,) = written(strict, entry)
    assert payload["metadata"]["settings"] == {"batch_size": 32, "hw_type": "cpu-1"}
    assert payload["results"] == {"rate": 4.0}
    assert payload["kpis"]["1B_cost"] == {
        "value": 250_000_000.0,
        "help": "Cost of a billion",
        "unit": "USD",
        "@timestamp": "2026-11-20T12:00:00.250000Z",
        "lower_better": True,
        "ignored_for_regression": False,
        "test_uuid": entry.test_uuid,
        "labels": {"batch_size": 32, "hw_type": "cpu-1"},
    }


def test_pretty_and_plain_are_the_same_content(strict: Workload, make_entry: MakeEntry) -> None:
    entries = [make_entry("a"), make_entry("b")]
    assert written(strict, *entries, pretty=True) == written(strict, *entries)


def test_an_empty_matrix_is_an_empty_array(strict: Workload) -> None:
    assert written(strict) == []


def test_a_kpi_that_cannot_be_computed_is_left_out(lenient: Workload, make_entry: MakeEntry) -> None:
    missing = {"1B_cost": "division by zero"}
    (payload,) = written(lenient, make_entry(results={"rate": 0}, metadata={"missing_kpis": missing}))
    assert list(payload["kpis"]) == ["throughput"]
    assert payload["metadata"]["missing_kpis"] == missing


def test_the_types_of_settings_are_kept(lenient: Workload, make_entry: MakeEntry) -> None:
    settings = {"a": 1, "b": "1", "c": 1.0, "d": True, "e": None}
    (payload,) = written(lenient, make_entry(settings=settings))
    for found in (payload["metadata"]["settings"], payload["kpis"]["throughput"]["labels"]):
        assert found == settings
        assert [type(value) for value in found.values()] == [int, str, float, bool, type(None)]


def test_labels_may_be_a_mapping_a_namespace_or_a_model(lenient: Workload, make_entry: MakeEntry) -> None:
    content = {"batch_size": 1, "hw_type": "x", "version": None}
    model = pydantic.create_model("Settings", batch_size=int, hw_type=str, version=str | None)
    for given in (content, types.SimpleNamespace(**content), model(**content)):
        get_kpi_labels = functools.partial(lambda given, lts: given, given)
        store = dataclasses.replace(lenient.store, get_kpi_labels=get_kpi_labels)
        (payload,) = written(dataclasses.replace(lenient, store=store), make_entry())
        assert payload["kpis"]["throughput"]["labels"] == content


def test_an_unknown_time_is_null_and_the_start_stands_in_for_the_end(strict: Workload, make_entry: MakeEntry) -> None:
    start = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    unknown, started = written(
        strict, make_entry(metadata={"end": None}), make_entry(metadata={"end": None, "start": start})
    )
    assert unknown["kpis"]["throughput"]["@timestamp"] is None
    assert started["kpis"]["throughput"]["@timestamp"] == "2026-01-01T00:00:00Z"


def test_arrays_become_lists(strict: Workload, make_entry: MakeEntry) -> None:
    (payload,) = written(strict, make_entry(results={"rate": 4.0, "latencies": numpy.array([0.5, 1.0])}))
    assert payload["results"]["latencies"] == [0.5, 1.0]


def test_every_problem_of_every_test_is_named(strict: Workload, make_entry: MakeEntry) -> None:
    found = problems(
        strict,
        make_entry("good"),
        make_entry("missing", results={}, kpis={}),
        make_entry("extra", results={"rate": 1.0, "ratio": 2}),
        make_entry("wrong", results={"rate": "fast", "latencies": [1.0, None], "note": 3}, kpis={}),
        make_entry("failed", exit_code=3),
        make_entry("damaged", problems=(Problem("is empty", "000__k6__run/summary.json"),)),
        unfinished=(
            make_entry(
                "unfinished",
                exit_code=None,
                finished=False,
                problems=(Problem("did not finish: there is no exit code"),),
            ),
        ),
    )
    assert found == [
        "unfinished: did not finish: there is no exit code",
        "missing: results.rate: is missing",
        "extra: results.ratio: is not a known field",
        "wrong: results.rate: expected a number, not the text 'fast'",
        "wrong: results.latencies[1]: expected a number, not null",
        "wrong: results.note: expected text, not the number 3",
        "failed: the test failed with exit code 3",
        "damaged: 000__k6__run/summary.json: is empty",
    ]


def test_a_problem_that_all_kpis_share_is_named_once(strict: Workload, make_entry: MakeEntry) -> None:
    entry = make_entry(settings={"batch_size": "32", "version": "1.4"}, metadata={"test_uuid": None})
    assert problems(strict, entry) == [
        "run_0: metadata.test_uuid: expected a UUID, not null",
        "run_0: labels.batch_size: expected a whole number, not the text '32'",
        "run_0: labels.hw_type: is missing",
        "run_0: labels.version: expected a version of three numbers such as 1.4.0 (https://semver.org), "
        "not the text '1.4'",
    ]


def test_a_setting_that_is_no_scalar_is_one_problem(lenient: Workload, make_entry: MakeEntry) -> None:
    entry = make_entry(metadata={"settings": {"a": [1]}}, kpis={})
    (found,) = problems(lenient, entry)
    assert found.startswith("run_0: metadata.settings.a: expected true or false, a whole number, a number")


def test_a_time_without_a_time_zone_is_refused(strict: Workload, make_entry: MakeEntry) -> None:
    naive = dt.datetime(2026, 1, 1)
    assert problems(strict, make_entry(metadata={"end": naive})) == [
        "run_0: metadata.end: expected a date and time with a time zone, not the text '2026-01-01T00:00:00'",
    ]


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_is_not_finite_is_unknown_and_not_a_number(strict: Workload, make_entry: MakeEntry, value: float) -> None:
    assert problems(strict, make_entry(results={"rate": value})) == ["run_0: results.rate: expected a number, not null"]


def test_that_no_history_takes_such_runs_is_found_before_anybody_uploads_them(
    strict: Workload, make_entry: MakeEntry
) -> None:
    assert [*payload_findings(Rows.of([make_entry()]), strict)] == []
    (finding,) = payload_findings(Rows.of([make_entry(settings={"batch_size": "32", "hw_type": "cpu-1"})]), strict)
    assert finding.sentence == (
        "No history takes a run such as 'run_0', whose payload isn't what the model says: labels.batch_size: expected "
        "a whole number, not the text '32'."
    )


def test_labels_that_cannot_be_made_are_a_problem_of_their_test(strict: Workload, make_entry: MakeEntry) -> None:
    def broken(lts: Any) -> Any:
        return {"hw_type": lts.metadata.hardware}

    store = dataclasses.replace(strict.store, get_kpi_labels=broken)
    (found,) = problems(dataclasses.replace(strict, store=store), make_entry())
    assert found.startswith("run_0: the payload can't be built: AttributeError: ")


def test_a_result_without_a_json_form_is_a_problem_of_its_test(lenient: Workload, make_entry: MakeEntry) -> None:
    (found,) = problems(lenient, make_entry(results={"rate": 1.0, "odd": object()}))
    assert found == "run_0: the payload can't be built: TypeError: a object has no JSON form"
