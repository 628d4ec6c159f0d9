"""LTS payloads: the document of each entry, validated strictly, written as one JSON array.

Whatever stands in the way is collected over all tests and named at once; then nothing is written.
"""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Iterator
from typing import IO, Any

import pydantic
import pydantic_core

from .. import models
from ..errors import VerdictError
from ..jsonable import to_jsonable
from ..matrix import Entry, Matrix
from ..validation import Mismatch, dotted, mismatches
from ..workload import Workload
from .labels import PATTERNS, kpi_labels

_ADDED = frozenset({"measurement", "campaign", "round"})


@dataclasses.dataclass(frozen=True, slots=True)
class PayloadProblem:
    """Why a test has no valid payload: the test's name, the field if it is about one, the reason."""

    test: str
    field: str | None
    reason: str

    def __str__(self) -> str:
        return f"{self.test}: {self.field}: {self.reason}" if self.field else f"{self.test}: {self.reason}"


def payload_model(workload: Workload) -> type[pydantic.BaseModel]:
    """The model of the workload's payloads; a lenient one where the workload has none."""
    model = workload.store.lts_payload_model
    return model if model is not None else models.default_payload_model(workload.kpis)


def payload_document(workload: Workload, entry: Entry) -> dict[str, Any]:
    """The whole payload of *entry* as JSON values, not validated.

    A KPI that could not be computed is left out. The KPIs' ``@timestamp`` is the test's end, or its
    start where the end is not known.

    Raises:
        Exception: whatever the workload's ``get_kpi_labels`` raises.
    """
    lts = entry.lts
    metadata: dict[str, Any] = to_jsonable(getattr(lts, "metadata", types.SimpleNamespace()))
    values = {name: entry.kpis[name] for name in workload.kpis if name in entry.kpis}
    labels = kpi_labels(workload, entry, lts) if values else {}
    return {
        "metadata": metadata,
        "results": to_jsonable(getattr(lts, "results", types.SimpleNamespace())),
        "kpis": {
            name: {
                "value": to_jsonable(value),
                "help": workload.kpis[name].help,
                "unit": workload.kpis[name].unit,
                "@timestamp": metadata.get("end") or metadata.get("start"),
                "lower_better": workload.kpis[name].lower_better,
                "ignored_for_regression": workload.kpis[name].ignored_for_regression,
                "test_uuid": metadata.get("test_uuid"),
                "labels": labels,
            }
            for name, value in values.items()
        },
    }


def validate(
    model: type[pydantic.BaseModel], workload: Workload, entry: Entry
) -> tuple[pydantic.BaseModel | None, list[PayloadProblem]]:
    """The validated payload of *entry*, or None and everything that is wrong with it."""
    problems = [PayloadProblem(entry.name, problem.file, problem.reason) for problem in entry.problems]
    if entry.exit_code not in (0, None):
        failure = f"the test failed with exit code {entry.exit_code}"
        problems.insert(0, PayloadProblem(entry.name, None, failure))
    try:
        document = payload_document(workload, entry)
        for name in _refused(model):
            document["metadata"].pop(name, None)
        payload = model.model_validate_json(pydantic_core.to_json(document), strict=True)
    except pydantic.ValidationError as error:
        if error.title == model.__name__:
            return None, problems + _invalid(entry, mismatches(error, document, PATTERNS))
        labels = [(f"labels.{dotted(wrong.path)}", wrong.reason) for wrong in mismatches(error, {})]
        return None, problems + [PayloadProblem(entry.name, *label) for label in labels]
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        reason = f"the payload can't be built: {type(error).__name__}: {error}"
        return None, [*problems, PayloadProblem(entry.name, None, reason)]
    return (None if problems else payload), problems


def write_payloads(workload: Workload, matrix: Matrix, stream: IO[bytes], *, pretty: bool) -> None:
    """Write the payloads of all entries as a JSON array, one after the other.

    Raises:
        VerdictError: a test has no valid payload; it names every problem of every test, and what is
            in *stream* by then is not to be used.
    """
    separator = b"[\n"
    for payload in _strict_payloads(workload, matrix):
        stream.write(separator)
        stream.write(json_bytes(payload, pretty=pretty))
        separator = b",\n"
    stream.write(b"\n]\n" if len(matrix) else b"[]\n")


def _strict_payloads(workload: Workload, matrix: Matrix) -> Iterator[pydantic.BaseModel]:
    """The validated payloads of all entries; none any more from the first problem on.

    Raises:
        VerdictError: at the end, if there were problems; it names every problem of every test.
    """
    model = payload_model(workload)
    problems = [
        PayloadProblem(entry.name, problem.file, problem.reason)
        for entry in matrix.unfinished
        for problem in entry.problems
    ]
    for entry in matrix:
        payload, wrong = validate(model, workload, entry)
        problems += wrong
        if payload is not None and not problems:
            yield payload
    if problems:
        raise VerdictError(summary(problems, len(matrix) + len(matrix.unfinished)))


def json_bytes(payload: pydantic.BaseModel, *, pretty: bool = False) -> bytes:
    """The document of *payload* as it is kept."""
    text = payload.model_dump_json(by_alias=True, exclude_unset=True, indent=2 if pretty else None)
    return text.encode()


def _refused(model: type[pydantic.BaseModel]) -> frozenset[str]:
    """What the engine adds to the metadata that a workload's own model of them, of before, would refuse."""
    field = model.model_fields.get("metadata")
    metadata = None if field is None else field.annotation
    if not (isinstance(metadata, type) and issubclass(metadata, pydantic.BaseModel)):
        return frozenset()
    return frozenset() if metadata.model_config.get("extra") != "forbid" else _ADDED - metadata.model_fields.keys()


def _invalid(entry: Entry, wrong: list[Mismatch]) -> list[PayloadProblem]:
    """Each problem once: what all KPIs have in common is not repeated for each of them.

    Where nothing else is wrong with the test, the first value that isn't known names the files that were looked for.
    """
    problems = list(dict.fromkeys(PayloadProblem(entry.name, _field(each), each.reason) for each in wrong))
    absent = [name for name in entry.missing_files if not name.startswith(".")]
    if absent and not entry.problems:
        first = next((place for place, each in enumerate(problems) if each.reason.endswith("not null")), None)
        if first is not None:
            reason = f"{problems[first].reason} (not there: {', '.join(absent)})"
            problems[first] = dataclasses.replace(problems[first], reason=reason)
    return problems


def _field(wrong: Mismatch) -> str:
    match wrong.path:
        case ("kpis", _, "labels", *names):
            return dotted(("labels", *names))
        case ("kpis", _, "test_uuid"):
            return "metadata.test_uuid"
        case ("kpis", _, "@timestamp"):
            return "metadata.end"
    return wrong.field


def summary(problems: list[PayloadProblem], tests: int) -> str:
    """All *problems*, in how many of how many *tests* they are."""
    concerned = len({problem.test for problem in problems})
    plural = "problem" if len(problems) == 1 else "problems"
    head = f"no LTS payloads were written: {len(problems)} {plural} in {concerned} of {tests} tests"
    return "\n".join([head, *(f"  {problem}" for problem in problems)])
