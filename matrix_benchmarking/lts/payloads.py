"""LTS payloads, validated strictly and written as one JSON array; their JSON Schema; the labels of KPIs."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping
from typing import IO

import pydantic
import pydantic_core

from .. import models
from ..errors import VerdictError
from ..filters import Scalar
from ..jsonable import Document, to_jsonable
from ..matrix import Entry, Matrix
from ..validation import Mismatch, dotted, mismatches
from ..workload import Workload

PATTERNS = {models.SEMVER_PATTERN: "a version of three numbers such as 1.4.0 (https://semver.org)"}
DIALECT = "https://json-schema.org/draft/2020-12/schema"
_ADDED = frozenset({"measurement", "campaign", "round", "host"})


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


def payload_document(workload: Workload, entry: Entry) -> Document:
    """The whole payload of *entry* as JSON values, not validated. Raises whatever ``get_kpi_labels`` raises.

    The KPIs of a run that has one already are as it says them: in their units and directions, with their labels.
    """
    lts = entry.lts
    metadata: Document = to_jsonable(getattr(lts, "metadata", types.SimpleNamespace()))
    results = to_jsonable(getattr(lts, "results", types.SimpleNamespace()))
    kpis = _computed(workload, entry, lts, metadata) if entry.facts is None else to_jsonable(lts.kpis)
    return {"metadata": metadata, "results": results, "kpis": kpis}


def _computed(workload: Workload, entry: Entry, lts: types.SimpleNamespace, metadata: Document) -> Document:
    """The KPIs of *entry* as the *workload* describes them."""
    known = [(name, definition) for name, definition in workload.kpis.items() if name in entry.kpis]
    labels = kpi_labels(workload, entry, lts) if known else {}
    return {
        name: {
            "value": to_jsonable(entry.kpis[name]),
            "help": definition.help,
            "unit": definition.unit,
            "@timestamp": metadata.get("end") or metadata.get("start"),
            "lower_better": definition.lower_better,
            "ignored_for_regression": definition.ignored_for_regression,
            "test_uuid": metadata.get("test_uuid"),
            "labels": labels,
        }
        for name, definition in known
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
        VerdictError: it names every problem of every test; what is in *stream* by then is not to be used.
    """
    model = payload_model(workload)
    problems = [
        PayloadProblem(entry.name, each.file, each.reason) for entry in matrix.unfinished for each in entry.problems
    ]
    separator = b"[\n"
    for entry in matrix:
        payload, wrong = validate(model, workload, entry)
        problems += wrong
        if payload is not None and not problems:
            stream.write(separator + json_bytes(payload, pretty=pretty))
            separator = b",\n"
    if problems:
        raise VerdictError(summary(problems, len(matrix) + len(matrix.unfinished)))
    stream.write(b"\n]\n" if len(matrix) else b"[]\n")


def json_bytes(payload: pydantic.BaseModel, *, pretty: bool = False) -> bytes:
    """The document of *payload* as it is kept."""
    return payload.model_dump_json(by_alias=True, exclude_unset=True, indent=2 if pretty else None).encode()


def _refused(model: type[pydantic.BaseModel]) -> frozenset[str]:
    """What the engine adds to the metadata that a workload's own model of them, of before, would refuse."""
    metadata = _model_of(model, "metadata")
    if metadata is None or metadata.model_config.get("extra") != "forbid":
        return frozenset()
    return _ADDED - metadata.model_fields.keys()


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


def payload_schema(workload: Workload) -> Document:
    """The schema of one payload, which an array of payloads, as ``--output-lts`` writes it, satisfies too."""
    model = payload_model(workload)
    schema = model.model_json_schema(by_alias=True, mode="validation")
    if (reference := schema.get("$ref")) is not None:  # the model refers to itself
        schema = {**schema["$defs"][reference.rpartition("/")[2]], "$defs": schema["$defs"]}
    metadata = _model_of(model, "metadata")
    field = None if metadata is None else metadata.model_fields.get("lts_schema_version")
    version = models.LTS_SCHEMA_VERSION if field is None or field.is_required() else field.default
    return {
        "$schema": DIALECT,
        "$id": f"urn:matbench:lts:{workload.name}:{version}",
        **schema,
        "title": f"LTS payload of {workload.name}, or an array of such payloads",
        "type": ["object", "array"],
        "items": {"$ref": "#", "type": "object"},
    }


def refused_settings(workload: Workload, settings: Mapping[str, Scalar]) -> list[str]:
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


def kpi_labels(workload: Workload, entry: Entry, lts: types.SimpleNamespace) -> Document:
    """The labels as JSON values: what ``get_kpi_labels`` says of *lts*, or raises, else all settings."""
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
