"""LTS payloads read back from files: a matrix whose entries have settings, KPIs and payload, but no artifacts."""

from __future__ import annotations

import collections
import functools
import hashlib
import os
import types
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pydantic

from .. import moments, plausible, recorded
from ..errors import MatbenchError, os_reason
from ..files import read_regular
from ..matrix import Entry, Facts, Matrix, Problem
from ..settings import check_settings
from ..workload import Workload
from .heads import Head, facts_of_head, head_of, kpis_of, others_of
from .payloads import payload_model

SUFFIX = ".json"
_Load = Callable[[], bytes]
NO_PAYLOAD = (MatbenchError, KeyError, TypeError, ValueError, AttributeError, RecursionError)
"""What is raised where something is no payload."""


class PayloadFileError(MatbenchError):
    """A file that holds no LTS payload, or a directory without any."""


def read_matrix(workload: Workload, directory: str | os.PathLike[str]) -> Matrix:
    """The payloads of *workload* in the files below *directory*, in the order of their names, each run once.

    A file holds one, or an array. What isn't a payload, or belongs to another workload, is left out and noted.

    Raises:
        PayloadFileError: *directory* can't be read, or there is no payload of the workload in it.
    """
    notes: list[str] = []
    entries: list[Entry] = []
    others = collections.Counter[str]()
    seen: dict[str | None, tuple[str, _Load]] = {}
    for name, path, load in _payloads_below(Path(directory), notes):
        try:
            entry = _entry(workload, name, path, load)
        except NO_PAYLOAD as error:
            notes.append(no_payload(name, error))
            continue
        if isinstance(entry, str):
            others[entry] += 1
        elif entry.test_uuid not in seen:
            seen[entry.test_uuid] = name, load
            entries.append(entry)
        else:
            first, load_first = seen[entry.test_uuid]
            is_same = _digest(load_first()) == _digest(load())
            what = "the same payload as" if is_same else "left out: another content under the id of"
            notes.append(f"{name}: {what} {first}")
    notes += [f"{count} payloads of workload '{other}' were left out" for other, count in sorted(others.items())]
    if not entries:
        said = "".join(f"\n  {note}" for note in notes[:5])
        raise PayloadFileError(f"no LTS payload of workload '{workload.name}' found in '{directory}'{said}")
    return Matrix(entries, notes=notes)


def _payloads_below(directory: Path, notes: list[str]) -> Iterator[tuple[str, Path, _Load]]:
    """Each payload's name, file, and what gives its bytes; those of an array are held."""
    for path in _files(directory):
        name = path.relative_to(directory).as_posix() if path != directory else path.name
        try:
            content = _read(path)
            if content.lstrip()[:1] == b"[":
                several = msgspec.json.decode(content, type=list[msgspec.Raw])
                for index, raw in enumerate(several):
                    yield name if len(several) == 1 else f"{name}[{index}]", path, functools.partial(bytes, raw)
            else:
                msgspec.json.decode(content, type=dict[str, msgspec.Raw])
                yield name, path, functools.partial(_read, path)
        except PayloadFileError as error:
            notes.append(str(error))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            notes.append(f"{path}: no LTS payload: {error}")


def _digest(content: bytes) -> str:
    return hashlib.blake2b(msgspec.json.encode(msgspec.json.decode(content), order="deterministic")).hexdigest()


def _files(directory: Path) -> Iterator[Path]:
    if directory.is_file():
        yield directory
        return
    if not directory.is_dir():
        raise PayloadFileError(f"the directory '{directory}' of LTS payloads does not exist")
    for parent, directories, names in os.walk(directory):
        directories[:] = sorted(name for name in directories if not name.startswith("."))
        yield from (Path(parent, name) for name in sorted(names) if name.endswith(SUFFIX) and name[0] != ".")


def _read(path: Path) -> bytes:
    try:
        return read_regular(path)
    except OSError as error:
        raise PayloadFileError(f"cannot read '{path}': {os_reason(error)}") from error


def entry_of(head: Head, names: Sequence[str], facts: Facts, **others: Any) -> Entry:
    """The entry of a run, out of what is at hand of it; *names* are its KPIs', *others* further attributes.

    Raises one of NO_PAYLOAD: it has no settings that can be, or a KPI whose value is no number.
    """
    if head.settings is None:
        raise KeyError("settings")
    settings, repeat = check_settings({**head.settings, "repeat": 0 if head.repeat is None else head.repeat})
    block = recorded.parse_block({"campaign": head.campaign, "round": head.round})
    return Entry(
        settings=settings,
        repeat=repeat,
        exit_code=head.exit_code,
        has_own_uuid=True,
        campaign=block.campaign,
        round=block.round,
        kpis=_kpis(names, head.values),
        missing_kpis=dict(head.missing_kpis or {}),
        facts=facts,
        **others,
    )


def _entry(workload: Workload, name: str, path: Path, load: _Load) -> Entry | str:
    """The entry of one payload; the name of the other workload that it belongs to."""
    payload = msgspec.json.decode(content := load())
    metadata = payload["metadata"]
    if metadata["workload"] != workload.name:
        return str(metadata["workload"])
    head, kpis = head_of(payload), kpis_of(payload)
    start_us, end_us = moments.time_us(metadata.get("start")), moments.time_us(metadata.get("end"))
    doubts = doubts_of(workload, content)
    entry = entry_of(
        head,
        [kpi.name for kpi in kpis],
        facts_of_head(head, start_us if end_us is None else end_us, others_of(workload, kpis)),
        location=path,
        name=name,
        measurement=metadata.get("measurement"),
        **doubts._asdict(),
        load_results=lambda: results_in(workload, load()),
        load_lts=lambda: lts_in(workload, load()),
    )
    entry.test_uuid = str(uuid.UUID(metadata["test_uuid"]))
    return entry


def _kpis(names: Sequence[str], values: Sequence[object]) -> dict[str, float]:
    kpis = {}
    for name, value in zip(names, values, strict=True):
        if type(value) is not float and type(value) is not int:
            raise TypeError(f"a KPI's value is {value!r:.50}, and should be a number")
        kpis[name] = value
    return kpis


class Doubts(NamedTuple):
    """What speaks against a payload; see :class:`.Entry`."""

    problems: tuple[Problem, ...]
    warnings: tuple[str, ...]
    implausible: tuple[str, ...]
    harmless: tuple[str, ...]


def doubts_of(workload: Workload, content: bytes) -> Doubts:
    """What speaks against the payload in *content*, by the model and the rules of *workload*."""
    payload, problem = _typed(workload, content)
    problems = () if problem is None else (Problem(problem),)
    return Doubts(problems, _warnings(workload, payload), *plausible.findings(payload, workload.implausible))


def lts_in(workload: Workload, content: bytes) -> types.SimpleNamespace:
    """The payload in *content*, with ``metadata`` and ``results``."""
    payload: types.SimpleNamespace = _typed(workload, content)[0]
    return payload


def results_in(workload: Workload, content: bytes) -> types.SimpleNamespace:
    """The results in *content*, by name."""
    results = _typed(workload, content)[0].results
    if isinstance(results, pydantic.BaseModel):
        return types.SimpleNamespace(**{name: getattr(results, name) for name in type(results).model_fields})
    if isinstance(results, Mapping):
        return types.SimpleNamespace(**results)
    return results if isinstance(results, types.SimpleNamespace) else types.SimpleNamespace()


def _typed(workload: Workload, content: bytes) -> tuple[Any, str | None]:
    """The payload with the types of the workload's model; one that doesn't fit as namespaces, and why."""
    try:
        return payload_model(workload).model_validate_json(content), None
    except pydantic.ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        payload = msgspec.json.decode(content)
        metadata, results = payload["metadata"], payload.get("results")
        lenient = types.SimpleNamespace(
            metadata=types.SimpleNamespace(**metadata),
            results=types.SimpleNamespace(**(results if isinstance(results, dict) else {})),
        )
        return lenient, f"not as the workload's payloads are today: {where}: {first['msg']}"


def _warnings(workload: Workload, payload: object) -> tuple[str, ...]:
    if workload.warnings is None:
        return ()
    try:
        return tuple(workload.warnings(payload))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        return (f"whether its numbers are doubtful is not known: {type(error).__name__}: {error}",)


def no_payload(name: str, error: Exception) -> str:
    """Why *name* is left out, as one of :data:`NO_PAYLOAD` says it."""
    return f"{name}: no LTS payload: {f'it has no {error}' if isinstance(error, KeyError) else error}"
