"""Payloads read back: the head of one, which places its run among others, and a matrix of those in files.

A run of a history, or of such files, has settings, KPIs and a payload, but no artifacts.
"""

from __future__ import annotations

import collections
import functools
import hashlib
import math
import os
import types
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pydantic

from .. import kpi, moments, plausible, recorded
from ..errors import MatbenchError, explained, failing
from ..files import read_regular
from ..jsonable import Document
from ..matrix import Entry, Facts, Matrix, Problem
from ..settings import check_settings
from ..workload import Workload
from .payloads import payload_model

SUFFIX = ".json"
Said = Any
"""What a payload says: it may come from a stranger, and so be of any type."""
_Load = Callable[[], bytes]
NO_PAYLOAD = (MatbenchError, KeyError, TypeError, ValueError, AttributeError, RecursionError)
"""What is raised where something is no payload."""


class DescribedKPI(msgspec.Struct, frozen=True):
    """What a payload says of a KPI that has a value in it, besides that value."""

    name: str
    unit: Said
    help: Said
    lower_better: Said
    ignored_for_regression: Said


KPIs = tuple[DescribedKPI, ...]
"""Those of one payload, in its order; shared by the runs of which it is the same."""


class Head(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is at hand of a run: its metadata, :attr:`.Environment.host`, its first KPI's labels, its KPIs' values."""

    settings: Said = None
    repeat: Said = None
    exit_code: Said = None
    campaign: Said = None
    round: Said = None
    start: Said = None
    lts_schema_version: Said = None
    missing_kpis: Said = None
    host: str | None = None
    labels: Said = None
    values: list[Said] = []


_OF_METADATA = [name for name in Head.__struct_fields__ if name not in ("host", "labels", "values")]


def head_of(payload: Document) -> Head:
    """The head of a *payload*. Raises KeyError, TypeError, AttributeError: it is none."""
    metadata = payload["metadata"]
    present = [kpi for kpi in payload["kpis"].values() if kpi is not None]
    said = metadata.get("host")
    host = said if isinstance(said, str) else recorded.parse_environment(metadata.get("environment")).host
    return Head(
        **{name: metadata.get(name) for name in _OF_METADATA},
        host=host or None,
        labels=present[0].get("labels") if present else None,
        values=[kpi["value"] for kpi in present],
    )


def kpis_of(payload: Document) -> KPIs:
    """What a *payload* says of the KPIs that have a value in it; raises as :func:`head_of`."""
    return tuple(
        DescribedKPI(
            name, kpi.get("unit"), kpi.get("help"), kpi.get("lower_better"), kpi.get("ignored_for_regression", False)
        )
        for name, kpi in payload["kpis"].items()
        if kpi is not None
    )


def digest_of(kpis: KPIs) -> str:
    """A digest that is the same for equal *kpis* only."""
    return hashlib.blake2b(msgspec.json.encode(kpis), digest_size=16).hexdigest()


Others = tuple[Mapping[str, str], frozenset[str]]
"""As :attr:`.Facts.other_units` and :attr:`.Facts.other_directions`."""


def others_of(workload: Workload, kpis: KPIs) -> Others:
    """What of *kpis* the *workload* says otherwise today; the same for all runs that share them."""
    known = [(each, workload.kpis[each.name]) for each in kpis if each.name in workload.kpis]
    directions = ((each, {each.lower_better, today.lower_better}) for each, today in known)
    return (
        {
            each.name: f"in {each.unit or 'no unit'!s:.50}, and the workload says {today.unit or 'none'}"
            for each, today in known
            if each.unit not in (None, today.unit)
        },
        frozenset(each.name for each, both in directions if both == {True, False}),  # neither contradicts none
    )


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
            notes.append(f"{path}{_NONE}{error}")


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
    with failing(f"cannot read '{path}'", PayloadFileError):
        return read_regular(path)


def entry_of(head: Head, names: Sequence[str], time_us: int | None, today: Others, **others: Any) -> Entry:
    """The entry of a run that ended at *time_us*, out of what is at hand of it; *names* are its KPIs', which have the
    labels with which they were kept, *today* what of them is otherwise now, *others* further attributes.

    Raises one of NO_PAYLOAD: it has no settings that can be, or a KPI whose value is no number.
    """
    if head.settings is None:
        raise KeyError("settings")
    settings, repeat = check_settings({**head.settings, "repeat": 0 if head.repeat is None else head.repeat})
    block = recorded.parse_block({"campaign": head.campaign, "round": head.round})
    if head.exit_code is not None and type(head.exit_code) is not int:
        raise TypeError(f"its exit_code is {head.exit_code!r:.50}, and no whole number")
    kpis, other_units = _kpis(names, head.values), today[0]
    for name in other_units:
        del kpis[name]
    return Entry(
        settings=settings,
        repeat=repeat,
        exit_code=head.exit_code,
        has_own_uuid=True,
        campaign=block.campaign,
        round=block.round,
        host=head.host,
        span_us=(moments.time_us(head.start), time_us),
        kpis=kpis,
        missing_kpis={**(head.missing_kpis or {}), **other_units},
        facts=Facts(head.labels if isinstance(head.labels, dict) else None, *today, head.lts_schema_version),
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
        start_us if end_us is None else end_us,
        others_of(workload, kpis),
        location=path,
        name=name,
        measurement=metadata.get("measurement"),
        **doubts._asdict(),
        load_results=lambda: results_in(workload, load()),
        load_lts=lambda: lts_in(workload, load()),
    )
    entry.test_uuid = str(uuid.UUID(metadata["test_uuid"]))
    return entry


def _kpis(names: Sequence[str], values: Sequence[Said]) -> dict[str, float]:
    if {*map(type, values)} != {float}:  # JSON's are finite
        for value in values:
            if not plausible.is_number(value):
                raise TypeError(f"a KPI's value is {value!r:.50}, and should be a number")
    return dict(zip(names, values, strict=True))


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
    warnings = (*_warnings(workload, payload), *_other_kpis(workload, payload, content))
    return Doubts(problems, warnings, *plausible.findings(payload, workload.implausible))


def lts_in(workload: Workload, content: bytes) -> types.SimpleNamespace:
    """The payload in *content*, with ``metadata``, ``results`` and ``kpis``."""
    payload: types.SimpleNamespace = _typed(workload, content)[0]
    return payload


def results_in(workload: Workload, content: bytes) -> types.SimpleNamespace:
    """The results in *content*, by name."""
    results = _typed(workload, content)[0].results
    if isinstance(results, pydantic.BaseModel):
        return types.SimpleNamespace(**{name: getattr(results, name) for name in type(results).model_fields})
    return results if isinstance(results, types.SimpleNamespace) else types.SimpleNamespace()


def _typed(workload: Workload, content: bytes) -> tuple[Any, str | None]:
    """The payload with the types of the workload's model; one that doesn't fit as namespaces, and why.

    Results without a model are a namespace too, as they were when the test was parsed.
    """
    try:
        payload: Any = payload_model(workload).model_validate_json(content)
    except pydantic.ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        named = msgspec.json.decode(content)
        lenient = _named(types.SimpleNamespace(**named["metadata"]), named.get("results"), named["kpis"])
        return lenient, f"not as the workload's payloads are today: {where}: {first['msg']}"
    if isinstance(payload.results, pydantic.BaseModel):
        return payload, None
    return _named(payload.metadata, payload.results, payload.kpis), None


def _named(metadata: object, results: object, kpis: object) -> types.SimpleNamespace:
    known = results if isinstance(results, Mapping) else {}
    return types.SimpleNamespace(metadata=metadata, results=types.SimpleNamespace(**known), kpis=kpis)


class _Value(msgspec.Struct):
    value: Said = None
    unit: Said = None


class _Values(msgspec.Struct):
    kpis: dict[str, _Value | None] = {}


def _other_kpis(workload: Workload, payload: object, content: bytes) -> Iterator[str]:
    """The KPIs whose values aren't those that the payload's results make today."""
    computed = kpi.compute(workload.kpis, payload).values
    for name, kept in msgspec.json.decode(content, type=_Values).kpis.items():
        of = workload.kpis.get(name)
        if kept is None or of is None or name not in computed or kept.unit not in (None, of.unit):
            continue
        texts = [of.show(value) for value in (kept.value, computed[name])] if plausible.is_number(kept.value) else []
        if len({*texts}) > 1 and not math.isclose(kept.value, computed[name], rel_tol=1e-3):  # it may be rounded
            said = f"{name} is {texts[0]}, and its results make {texts[1]}"
            yield f"{said}: it was changed by hand, or computed otherwise"


def _warnings(workload: Workload, payload: object) -> tuple[str, ...]:
    if workload.warnings is None:
        return ()
    try:
        return tuple(plausible.sentences(workload.warnings(payload)))
    except Exception as error:  # noqa: BLE001  as of its artifacts
        return (f"whether its numbers are doubtful is not known: {explained(error)}",)


_NONE, _OTHER_KIND = ": no LTS payload: ", "it has no "


def is_of_a_payload(note: str) -> bool:
    """Whether a *note* of :func:`read_matrix` is on a file that was one, damaged, and not another kind of JSON."""
    return _NONE in note and not note.partition(_NONE)[2].startswith(_OTHER_KIND)


def no_payload(name: str, error: Exception) -> str:
    """Why *name* is left out, as one of :data:`NO_PAYLOAD` says it."""
    return f"{name}{_NONE}{f'{_OTHER_KIND}{error}' if isinstance(error, KeyError) else error}"
