"""The JSON Schema accepts what the models accept, one payload or the whole file, and nothing else."""

from __future__ import annotations

import copy
import io
import json
from collections.abc import Callable
from typing import Any

import pydantic
import pytest
from jsonschema import Draft202012Validator

from matrix_benchmarking.lts import payload_schema, write_payloads
from matrix_benchmarking.lts.payloads import payload_model
from matrix_benchmarking.matrix import Entry, Matrix
from matrix_benchmarking.workload import Workload

Change = Callable[[dict[str, Any]], object]


def payloads_of(workload: Workload, *entries: Entry) -> list[dict[str, Any]]:
    stream = io.BytesIO()
    write_payloads(workload, Matrix(entries), stream, pretty=False)
    payloads: list[dict[str, Any]] = json.loads(stream.getvalue())
    return payloads


def both_accept(workload: Workload, payload: Any) -> tuple[bool, bool]:
    schema = Draft202012Validator(payload_schema(workload)).is_valid(payload)
    try:
        payload_model(workload).model_validate_json(json.dumps(payload), strict=True)
    except pydantic.ValidationError:
        return schema, False
    return schema, True


@pytest.mark.parametrize("name", ["strict", "lenient"])
def test_one_payload_and_the_array_of_payloads_validate(
    name: str, request: pytest.FixtureRequest, make_entry: Callable[..., Entry]
) -> None:
    workload = request.getfixturevalue(name)
    payloads = payloads_of(workload, make_entry("a"), make_entry("b", metadata={"end": None}))
    schema = payload_schema(workload)
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema, format_checker=Draft202012Validator.FORMAT_CHECKER)
    for document in (*payloads, payloads):
        validator.validate(document)
    assert not validator.is_valid([payloads])
    assert not validator.is_valid([{}])


@pytest.mark.parametrize(
    "change",
    [
        lambda p: p.update(extra=1),
        lambda p: p["metadata"].update(extra=1),
        lambda p: p["results"].update(extra=1),
        lambda p: p["kpis"].update(extra=p["kpis"]["throughput"]),
        lambda p: p["kpis"]["throughput"].update(extra=1),
        lambda p: p["kpis"]["throughput"]["labels"].update(extra=1),
        lambda p: p.pop("kpis"),
        lambda p: p["metadata"].pop("test_uuid"),
        lambda p: p["results"].pop("rate"),
        lambda p: p["kpis"]["throughput"].pop("value"),
        lambda p: p["kpis"]["throughput"]["labels"].pop("hw_type"),
        lambda p: p["results"].update(rate="4.0"),
        lambda p: p["kpis"]["throughput"]["labels"].update(batch_size="32"),
        lambda p: p["kpis"]["throughput"]["labels"].update(version="1.4"),
        lambda p: p["metadata"]["settings"].update(a=[1]),
    ],
)
def test_what_the_model_refuses_the_schema_refuses(
    strict: Workload, make_entry: Callable[..., Entry], change: Change
) -> None:
    (payload,) = payloads_of(strict, make_entry())
    changed = copy.deepcopy(payload)
    change(changed)
    assert both_accept(strict, payload) == (True, True)
    assert both_accept(strict, changed) == (False, False)


def test_the_schema_names_its_dialect_workload_and_version(strict: Workload) -> None:
    schema = payload_schema(strict)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["$id"] == "urn:matbench:lts:strict:1.0"
    assert set(schema["properties"]) == {"metadata", "results", "kpis"}
