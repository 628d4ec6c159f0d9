"""LTS payloads, validated strictly: all of a matrix as one JSON array, those of its good runs for a history; their JSON
Schema; the labels of KPIs."""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import IO, Any

import pydantic
import pydantic_core

from .. import models
from ..errors import VerdictError
from ..filters import Scalar, show
from ..jsonable import Document, to_jsonable
from ..matrix import DID_NOT_FINISH, Entry, Matrix, Problem
from ..validation import Mismatch, dotted, mismatches, model_of
from ..workload import Workload

PATTERNS = {models.SEMVER_PATTERN: "a version of three numbers such as 1.4.0 (https://semver.org)"}
DIALECT = "https://json-schema.org/draft/2020-12/schema"
_SHOWN = 10
_ADDED = frozenset({"measurement", "campaign", "round", "host"})


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
) -> tuple[pydantic.BaseModel | None, list[Problem]]:
    """The validated payload of *entry*, or None and everything that is wrong with it."""
    problems = list(entry.problems)
    if entry.exit_code not in (0, None):
        problems.insert(0, Problem(f"the test failed with exit code {entry.exit_code}"))
    try:
        document = payload_document(workload, entry)
        for name in _refused(model):
            document["metadata"].pop(name, None)
        payload = model.model_validate_json(pydantic_core.to_json(document), strict=True)
    except pydantic.ValidationError as error:
        if error.title == model.__name__:
            return None, problems + _invalid(entry, mismatches(error, document, PATTERNS))
        labels = [Problem(wrong.reason, f"labels.{dotted(wrong.path)}") for wrong in mismatches(error, {})]
        return None, problems + labels
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        return None, [*problems, Problem(f"the payload can't be built: {type(error).__name__}: {error}")]
    return (None if problems else payload), problems


def write_payloads(workload: Workload, matrix: Matrix, stream: IO[bytes], *, pretty: bool) -> None:
    """Write the payloads of all entries as a JSON array, one after the other.

    Raises:
        VerdictError: it names every problem of every test; what is in *stream* by then is not to be used.
    """
    model = payload_model(workload)
    problems = [(entry.name, each) for entry in matrix.unfinished for each in entry.problems]
    separator = b"[\n"
    for entry in matrix:
        payload, wrong = validate(model, workload, entry)
        problems += [(entry.name, each) for each in wrong]
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
    metadata = model_of(model, "metadata")
    if metadata is None or metadata.model_config.get("extra") != "forbid":
        return frozenset()
    return _ADDED - metadata.model_fields.keys()


def _invalid(entry: Entry, wrong: list[Mismatch]) -> list[Problem]:
    """Each problem once: what all KPIs have in common is not repeated for each of them.

    Where nothing else is wrong with the test, the first value that isn't known names the files that were looked for.
    """
    problems = list(dict.fromkeys(Problem(each.reason, _field(each)) for each in wrong))
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


def summary(problems: list[tuple[str, Problem]], tests: int) -> str:
    """All *problems*, each with its test's name, in how many of how many *tests* they are."""
    concerned = len({name for name, _ in problems})
    plural = "problem" if len(problems) == 1 else "problems"
    head = f"no LTS payloads were written: {len(problems)} {plural} in {concerned} of {tests} tests"
    return "\n".join([head, *(f"  {name}: {problem}" for name, problem in problems)])


def payload_schema(workload: Workload) -> Document:
    """The schema of one payload, which an array of payloads, as ``--output-lts`` writes it, satisfies too."""
    model = payload_model(workload)
    schema = model.model_json_schema(by_alias=True, mode="validation")
    if (reference := schema.get("$ref")) is not None:  # the model refers to itself
        schema = {**schema["$defs"][reference.rpartition("/")[2]], "$defs": schema["$defs"]}
    return {
        "$schema": DIALECT,
        "$id": f"urn:matbench:lts:{workload.name}:{schema_version(workload)}",
        **schema,
        "title": f"LTS payload of {workload.name}, or an array of such payloads",
        "type": ["object", "array"],
        "items": {"$ref": "#", "type": "object"},
    }


def schema_version(workload: Workload) -> str:
    """The version of the workload's payloads today; where its model doesn't say it, the engine's."""
    metadata = model_of(payload_model(workload), "metadata")
    field = None if metadata is None else metadata.model_fields.get("lts_schema_version")
    return models.LTS_SCHEMA_VERSION if field is None or field.is_required() else str(field.default)


def refused_settings(workload: Workload, settings: Mapping[str, Scalar]) -> list[str]:
    """A sentence for each of *settings* that no strict payload takes as the label of its name."""
    model = workload.labels_model
    if model is None:
        return []
    labels = {name: settings[name] for name in model.model_fields if name in settings}
    try:
        model.model_validate_json(pydantic_core.to_json(labels), strict=True)
    except pydantic.ValidationError as error:
        wrong = [each for each in mismatches(error, labels, PATTERNS) if each.path[0] in labels]
        return [f"{dotted(each.path)}={labels[str(each.path[0])]}: {each.reason}" for each in wrong]
    return []


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


def labels_of_entry(workload: Workload, entry: Entry) -> Mapping[str, Any] | None:
    """The labels of *entry*: those that it knows, else out of its payload, which is loaded and validated for it.

    They are those that an upload would keep: a model may turn ``4`` into ``4.0``. That takes a millisecond.
    """
    if entry.facts is not None:
        return entry.facts.labels
    if workload.store.get_kpi_labels is None:
        return dict(entry.settings)
    payload, _ = validate(payload_model(workload), workload, entry)
    if payload is not None:
        kpis = payload.model_dump(mode="json", by_alias=True, exclude_unset=True)["kpis"]
        labels = next((kpi["labels"] for kpi in kpis.values() if kpi is not None), None)
        return labels if isinstance(labels, dict) else None
    try:
        return kpi_labels(workload, entry, entry.lts)
    except (AttributeError, KeyError, TypeError, ValueError):
        return None


class GoodRuns:
    """Writes the payloads of the good runs of *matrix*.

    Attributes:
        left_out: why, by name: the runs that say themselves that they failed, and those that did not finish.
        broken: the problems, by name, of those that claim success and have no valid payload. They stand in the way of
            all, unless these are to *keep going* without them.
        refused: True if nothing was to be written.
    """

    def __init__(self, workload: Workload, matrix: Matrix, *, keep_going: bool) -> None:
        self._workload, self._matrix, self._keep_going = workload, matrix, keep_going
        self.left_out: dict[str, str] = {}
        self.broken: dict[str, Sequence[Problem]] = {}
        self.refused = False
        self._good: list[Entry] = []

    def write(self, stream: IO[bytes]) -> None:
        """Write them as JSON Lines. Raises VerdictError: none is good, or they are refused; *stream* is no use then."""
        self.left_out, self.broken, self._good = {}, {}, []
        for entry in self._matrix.unfinished:
            if not entry.is_unreadable:
                self.left_out[entry.name] = next((each.reason for each in entry.problems), DID_NOT_FINISH)
            else:
                self.broken[entry.name] = entry.problems
        model = payload_model(self._workload)
        for entry in self._matrix:
            if entry.failed:
                self.left_out[entry.name] = f"failed with exit code {entry.exit_code}"
                continue
            payload, problems = validate(model, self._workload, entry)
            if payload is None:
                self.broken[entry.name] = problems
                continue
            self._good.append(entry)
            if self._keep_going or not self.broken:
                stream.write(json_bytes(payload) + b"\n")
        self.refused = bool(self.broken and not self._keep_going) or not self._good
        if self.refused:
            raise VerdictError(self._refusal())

    def versions_without_a_good_run(self) -> list[str]:
        """``version 1.4.0`` for each value of the workload's comparison keys that only the other runs have."""
        if not (self.left_out or self.broken):
            return []
        good_ids = {id(entry) for entry in self._good}
        others = [entry for entry in (*self._matrix, *self._matrix.unfinished) if id(entry) not in good_ids]
        return versions_without(self._good, others, self._workload)

    def _refusal(self) -> str:
        tests = len(self._matrix) + len(self._matrix.unfinished)
        problems = [(name, each) for name, several in self.broken.items() for each in several]
        lines = [summary(problems, tests)] if self.broken else []
        if self._good:
            lines.append(f"  `keep_going` keeps the other {_runs(len(self._good))}")
        else:
            lines += [f"there is nothing to keep: none of {_runs(tests)} is good", *listed(self.left_out.items())]
        return "\n".join(lines)


def versions_without(good: Iterable[Entry], others: Iterable[Entry], workload: Workload) -> list[str]:
    """``version 1.4.0`` for each value of the workload's comparison keys that *others* have and none of *good*."""
    missing = {place: said for entry in others for place, said in _versions(entry, workload)}
    for entry in good if missing else ():
        for place, _ in _versions(entry, workload):
            missing.pop(place, None)
    return list(missing.values())


def _versions(entry: Entry, workload: Workload) -> Iterator[tuple[str, str]]:
    """Each version of *entry*: what tells it from all others, be it a list or a mapping; and as it is shown."""
    keys = workload.regression.comparison_keys
    values = dict(entry.settings)
    if any(key not in values for key in keys):
        values = {**(labels_of_entry(workload, entry) or {}), **values}
    for key in keys:
        if values.get(key) is not None:
            yield f"{key} {values[key]!r}", f"{key} {show(values[key])}"


def listed(runs: Iterable[tuple[str, str]]) -> list[str]:
    """The first of *runs*, a name and a reason each, as lines; and how many more there are."""
    lines = [f"  {name}: {reason}" for name, reason in runs]
    return lines if len(lines) <= _SHOWN else [*lines[:_SHOWN], f"  … and {len(lines) - _SHOWN} more"]


def _runs(count: int) -> str:
    return "1 run" if count == 1 else f"{count} runs"
