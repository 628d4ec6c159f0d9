"""The entry of a parsed test: its ids, its lenient LTS payload, its KPIs."""

from __future__ import annotations

import hashlib
import os
import types
import uuid
from collections.abc import Mapping
from pathlib import Path

from .. import kpi, plausible
from ..errors import MatbenchError, explained, place
from ..filters import Scalar
from ..matrix import Entry, Problem, typed
from ..models import LTS_SCHEMA_VERSION
from ..moments import time_us
from ..recorded import RecordedBlock
from ..workload import Workload
from .artifacts import TEST_START_END_FILE, Recorder
from .cache import DESCRIBING_FILES, CachedTest
from .find import Candidate
from .fingerprint import DIGEST_SIZE

_DESCRIBES = DESCRIBING_FILES | {TEST_START_END_FILE}
_ID_NAMESPACE = uuid.UUID("8a0e1b4e-6f0e-5d5a-9a53-3c9d0c2b7f11")


def relative_name(path: str, root: Path, part: str | None = None) -> str:
    """*path* below *root* with ``/``, and the *part* of it; bytes that are not UTF-8 are written as ``\\xff``."""
    name = path[len(str(root)) + 1 :] or root.name
    name = name if name.isascii() else os.fsencode(name).decode("utf-8", "backslashreplace")
    return name if part is None else f"{name}#{part}"


def entry_of(
    workload: Workload,
    root: Path,
    candidate: Candidate,
    cached: CachedTest,
    block: RecordedBlock,
    test_uuid: str | None = None,
) -> Entry:
    """The entry of *candidate* below *root*, without what :func:`evaluate` adds; *test_uuid* where it is known."""
    return Entry(
        settings=cached.settings,
        repeat=cached.repeat,
        location=candidate.path,
        name=relative_name(candidate.where, root, candidate.part),
        part=candidate.part,
        exit_code=cached.exit_code,
        test_uuid=test_uuid or cached.own_uuid or content_uuid(workload, cached),
        has_own_uuid=cached.own_uuid is not None,
        campaign=block.campaign,
        round=block.round,
        host=block.host,
        measurement=measurement_digest(cached),
        missing_files=tuple(cached.missing_files),
    )


def measurement_digest(cached: CachedTest) -> str | None:
    """A digest of the artifacts, but for those that describe a test, and of its own id; None without any artifact."""
    digests = sorted(each.digest for each in cached.sources if each.digest is not None and each.path not in _DESCRIBES)
    identity = (cached.own_uuid or "").encode("utf-8", "replace")
    return hashlib.blake2b(identity + b"".join(digests), digest_size=DIGEST_SIZE).hexdigest() if digests else None


def of_its_version(measurement: str, workload: Workload, settings: Mapping[str, Scalar]) -> str:
    """*measurement* of a run without a time: that of another version, with the same artifacts, is another one.

    A version is measured anew, and short artifacts are often equal by chance; where the times are equal, too, one run
    was described anew.
    """
    versions = [(key, *typed(settings[key])) for key in sorted(workload.regression.comparison_keys) if key in settings]
    if not versions:
        return measurement
    content = measurement.encode() + repr(versions).encode("utf-8", "replace")
    return hashlib.blake2b(content, digest_size=DIGEST_SIZE).hexdigest()


def content_uuid(workload: Workload, cached: CachedTest) -> str:
    """The id of a test without one of its own: a digest of workload, settings, repeat and content."""
    settings = sorted((name, *typed(value)) for name, value in cached.settings.items())
    digests = sorted(source.digest for source in cached.sources if source.digest is not None)
    identity = repr((workload.name, settings, cached.repeat)).encode("utf-8", "replace")
    return str(uuid.uuid5(_ID_NAMESPACE, hashlib.blake2b(identity + b"".join(digests)).hexdigest()))


def evaluate(workload: Workload, entry: Entry, results: types.SimpleNamespace) -> None:
    """Fill the entry's KPIs, and what is doubtful or can't be."""
    payload, problem = build_payload(workload, entry, results)
    times = getattr(payload.metadata, "start", None), getattr(payload.metadata, "end", None)
    entry.span_us = time_us(times[0]), time_us(times[1])
    if entry.measurement is not None and not entry.has_own_uuid and times == (None, None):
        entry.measurement = of_its_version(entry.measurement, workload, entry.settings)
    if problem is not None:
        entry.problems = (*entry.problems, problem)
    values = kpi.compute(workload.kpis, payload)
    absent = ", ".join(name for name in entry.missing_files if not name.startswith("."))
    behind = f" (not there: {absent})" if absent else ""  # why results lack something
    entry.kpis = values.values
    entry.missing_kpis = {
        name: f"{reason}{behind if reason.startswith(kpi.NOT_IN_RESULTS) else ''}"
        for name, reason in values.missing.items()
    }
    entry.implausible, entry.harmless = plausible.findings(payload, workload.implausible)
    if workload.warnings is not None:
        try:
            entry.warnings = tuple(plausible.sentences(workload.warnings(payload)))
        except (Exception, SystemExit) as error:  # noqa: BLE001  as for parse_once
            entry.problems = (*entry.problems, parser_problem("warnings", error))


def build_payload(
    workload: Workload, entry: Entry, results: types.SimpleNamespace
) -> tuple[types.SimpleNamespace, Problem | None]:
    """``metadata`` and ``results`` of the payload, and what kept the workload from making it whole."""
    problem = None
    generate = workload.store.generate_lts_payload or _default_payload
    try:
        payload = generate(results, entry.settings)
    except (Exception, SystemExit) as error:  # noqa: BLE001  an incomplete test must still be looked at
        problem = Problem(f"generate_lts_payload stopped: {explained(error)}")
        payload = types.SimpleNamespace(results=types.SimpleNamespace())
    if not hasattr(payload, "metadata"):
        payload.metadata = types.SimpleNamespace()
    _complete(payload.metadata, workload, entry)
    return payload, problem


def _default_payload(results: types.SimpleNamespace, import_settings: object) -> types.SimpleNamespace:
    """The results as they are; when the test started and ended is metadata."""
    measured = dict(vars(results))
    metadata = types.SimpleNamespace(start=measured.pop("start", None), end=measured.pop("end", None))
    return types.SimpleNamespace(metadata=metadata, results=types.SimpleNamespace(**measured))


def _complete(metadata: types.SimpleNamespace, workload: Workload, entry: Entry) -> None:
    """Add what the engine knows, where the workload didn't say it."""
    known: dict[str, object] = {
        "lts_schema_version": LTS_SCHEMA_VERSION,
        "workload": workload.name,
        "test_uuid": entry.test_uuid,
        "settings": dict(entry.settings),
        "repeat": entry.repeat,
        "measurement": entry.measurement,
        "exit_code": entry.exit_code,
        "presets": [],
        "config": None,
        "start": None,
        "end": None,
        "missing_kpis": dict(entry.missing_kpis),
    }
    of_block = {"campaign": entry.campaign, "round": entry.round, "host": entry.host}
    known |= {name: value for name, value in of_block.items() if value is not None}  # else payloads stay as they were
    for name, value in known.items():
        if not hasattr(metadata, name):
            setattr(metadata, name, value)


def parser_problem(function: str, error: BaseException, recorder: Recorder | None = None) -> Problem:
    if isinstance(error, MatbenchError):
        path = getattr(error, "path", None)
        return Problem(getattr(error, "reason", str(error)), None if path is None else str(path))
    if isinstance(error, OSError) and recorder is not None:
        unreadable = recorder.unreadable(error)
        if unreadable is not None:
            return unreadable
    last = recorder.last_read if recorder is not None else None
    after = f" after it read '{last}'" if last else ""
    return Problem(f"{function} stopped{after}: {explained(error)}{place(error)}")
