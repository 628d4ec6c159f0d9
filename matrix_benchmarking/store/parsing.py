"""The parse of one test: from the cache where it is fresh, else from the artifacts; then the KPIs."""

from __future__ import annotations

import dataclasses
import fnmatch
import functools
import hashlib
import os
import types
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .. import kpi, plausible
from ..block_file import BLOCK_FILE, RecordedBlock, read_block
from ..errors import LONGEST_REASON, MatbenchError, SettingsError, explained, os_reason, place, shortened
from ..filters import Scalar
from ..matrix import Entry, Problem, typed
from ..moments import time_us
from ..settings import SETTINGS_FILE, check_settings
from ..workload import Layout, Workload
from . import cache, codec, fingerprint
from .artifacts import TEST_START_END_FILE, Recorder, TestDirectory
from .cache import BrokenCache, CachedTest, Freshness
from .find import Candidate
from .layouts import declared_files, important_files, layouts_of
from .parsers import parse_test_start_end, parse_test_uuid
from .payload import build_payload

ALONE = "known from its cache alone: its artifacts are not here"
_DESCRIBES = cache.DESCRIBING_FILES | {TEST_START_END_FILE}
_ID_NAMESPACE = uuid.UUID("8a0e1b4e-6f0e-5d5a-9a53-3c9d0c2b7f11")


@dataclasses.dataclass(frozen=True)
class Context:
    """What the parse of each test of a tree needs to know.

    Attributes:
        root: the results directory, resolved.
        code: digest of the workload's source.
        options: what the run gives to the parsers.
        ignore_cache: parse the artifacts even if there is a cache; write it anew.
    """

    workload: Workload
    root: Path
    code: bytes
    options: Mapping[str, Any]
    ignore_cache: bool = False

    @functools.cached_property
    def declared(self) -> Sequence[str]:
        """The files that the parsers may read."""
        return declared_files(self.workload)

    def layout(self, candidate: Candidate) -> Layout:
        """The layout that recognised *candidate*."""
        return layouts_of(self.workload)[candidate.layout or 0]


@dataclasses.dataclass(slots=True)
class ParsedTest:
    """An entry, its results, how many bytes they were when packed, and sentences on what else was noticed."""

    entry: Entry
    results: types.SimpleNamespace
    packed_bytes: int
    notes: list[str]


def parse_test(context: Context, candidate: Candidate) -> ParsedTest:
    """Parse one test. Whatever is wrong with it becomes a problem of its entry.

    Raises:
        SettingsError: its settings can't be read, so it has no place in the matrix.
    """
    notes: list[str] = []
    kept = _load_cache(context, candidate, notes)
    if kept is not None:
        cached, results = kept.cached, kept.results
        _refresh_settings(context, candidate, cached)
        if kept.is_alone and not candidate.cache_counts:
            results = _parse_without_cache(context, candidate, cached)
    elif candidate.layout is None:
        raise SettingsError("its cache can't be used, and there are no artifacts beside it")
    else:
        cached, results = _parse_artifacts(context, candidate, notes)
    notes.extend(cached.notes)
    block, wrong = read_block(candidate.path)
    entry = _entry(context, candidate, cached, block)
    entry.from_cache_alone = kept is not None and kept.is_alone
    problems = [*cached.problems, *([Problem(wrong, BLOCK_FILE)] if wrong else [])]
    _parse_always(context, candidate, entry, results, problems)
    entry.problems = tuple(problems)
    _evaluate(context.workload, entry, results)
    return ParsedTest(entry, results, len(cached.results), notes)


@dataclasses.dataclass(frozen=True, slots=True)
class _Kept:
    """A cache that can be used; ``is_alone`` if there is nothing else that could be parsed."""

    cached: CachedTest
    results: types.SimpleNamespace
    is_alone: bool


def _load_cache(context: Context, candidate: Candidate, notes: list[str]) -> _Kept | None:
    """The cache that is used; one that stands alone even where caches are ignored.

    Raises:
        SettingsError: the settings are nowhere but in the cache, although artifacts are here.
    """
    try:
        cached = cache.load(candidate, context.workload)
        if cached is None:
            return None
        freshness = cached.freshness(candidate.directory, context.code)
        if candidate.layout is None and cached.has_artifacts and freshness is not Freshness.ALONE:
            raise SettingsError(f"has a cache and artifacts, and no {SETTINGS_FILE}: a run that lost its settings")
        is_alone = candidate.layout is None or freshness is Freshness.ALONE
        if not is_alone and (context.ignore_cache or freshness is Freshness.STALE):
            return None
        return _Kept(cached, cached.load_results(), is_alone)
    except BrokenCache as broken:
        notes.append(f"the cache is ignored: {broken}")
        return None


def _parse_artifacts(
    context: Context, candidate: Candidate, notes: list[str]
) -> tuple[CachedTest, types.SimpleNamespace]:
    is_cache_broken = bool(notes)  # where it may be all that came of the test, it is left for who can read it
    settings, repeat, exit_code, settings_sources = _read_settings(context, candidate)
    read = _read_artifacts(context, candidate)
    recorder, results = read.recorder, read.results
    sources = fingerprint.take(recorder.root, recorder.sightings.items(), recorder.digests)
    packed = _pack(results, notes)
    cached = CachedTest(
        code=context.code,
        sources=sources or [],
        globs=list(recorder.globs.values()),
        settings_sources=settings_sources or [],
        settings=settings,
        repeat=repeat,
        exit_code=exit_code,
        own_uuid=read.own_uuid,
        problems=list(recorder.problems),
        missing_files=read.missing_files,
        notes=recorder.notes,
        results=packed or b"",
    )
    keeps = not read.lacks_package and (cached.has_artifacts or not is_cache_broken)
    if keeps and packed is not None and sources is not None and settings_sources is not None:
        content = cache.ENVELOPE.seal((context.workload.name,), cached)
        notes.extend(cache.write_first(cache.places(candidate, context.workload), content, "cache"))
    return cached, results


def _parse_without_cache(context: Context, candidate: Candidate, cached: CachedTest) -> types.SimpleNamespace:
    """The results of what is here, for a test that only its cache, which stays as it is, still knows."""
    read = _read_artifacts(context, candidate)
    cached.problems = [Problem(ALONE), *read.recorder.problems]
    cached.missing_files, cached.notes = read.missing_files, read.recorder.notes
    return read.results


@dataclasses.dataclass(frozen=True, slots=True)
class _Artifacts:
    """What the parsers made of the artifacts that are here; with another package it may be more."""

    results: types.SimpleNamespace
    recorder: Recorder
    own_uuid: str | None
    missing_files: list[str]
    lacks_package: bool


def _read_artifacts(context: Context, candidate: Candidate) -> _Artifacts:
    store = context.workload.store
    test_dir = TestDirectory(
        candidate.path, store, context.options, is_file=candidate.is_file, declared=context.declared
    )
    results = types.SimpleNamespace()
    recorder = test_dir.recorder
    own_uuid = parse_test_uuid(test_dir)
    lacks_package = False
    try:
        store.parse_once(results, test_dir)
        if store.generate_lts_payload is None:
            _add_times(results, test_dir)
    except (Exception, SystemExit) as error:  # noqa: BLE001  a parser's error is this test's problem, not the end of all
        recorder.problems.append(_parser_problem("parse_once", error, recorder))
        lacks_package = _lacks_package(error)
    wanted = important_files(context.workload, context.layout(candidate))
    missing = [] if candidate.is_file else _missing_files(recorder, wanted)
    return _Artifacts(results, recorder, None if own_uuid is None else str(own_uuid), missing, lacks_package)


def _lacks_package(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, ImportError):
            return True
        error = error.__cause__ or error.__context__
    return False


def _add_times(results: types.SimpleNamespace, test_dir: TestDirectory) -> None:
    """When the test started and ended, for a payload that nobody else makes; a workload's own times stay."""
    if hasattr(results, "start") or hasattr(results, "end"):
        return
    times = parse_test_start_end(test_dir)
    if times is not None:
        results.start, results.end = times.start, times.end


def _read_settings(
    context: Context, candidate: Candidate
) -> tuple[dict[str, Scalar], int, int | None, list[fingerprint.Source] | None]:
    """Settings, repeat, exit code and fingerprints (None if a file changed meanwhile)."""
    layout = context.layout(candidate)
    files = _settings_files(context, candidate)
    root = str(context.root)
    sightings = [(name, fingerprint.Sighting.of(f"{root}/{name}")) for name in files]
    try:
        settings, repeat = check_settings(layout.read_settings(candidate.path, context.root))
        exit_code = layout.read_exit_code(candidate.path)
        sources = fingerprint.take(root, sightings)
    except OSError as error:
        raise SettingsError(f"settings can't be read: {os_reason(error)}") from error
    return settings, repeat, exit_code, sources


def _refresh_settings(context: Context, candidate: Candidate, cached: CachedTest) -> None:
    """Read the settings of a cached test again if their files have changed."""
    if candidate.layout is None:
        return
    root = str(context.root)
    same = _settings_files(context, candidate) == [source.path for source in cached.settings_sources] and all(
        fingerprint.compare(root, source) is fingerprint.State.SAME for source in cached.settings_sources
    )
    if same:
        cached.exit_code = context.layout(candidate).read_exit_code(candidate.path)
    else:
        cached.settings, cached.repeat, cached.exit_code, _ = _read_settings(context, candidate)


def _settings_files(context: Context, candidate: Candidate) -> list[str]:
    """The test's settings files, relative to the results directory."""
    start = len(str(context.root)) + 1
    files = context.layout(candidate).settings_files(candidate.path, context.root)
    return [os.fspath(path)[start:] for path in files]


def _entry(context: Context, candidate: Candidate, cached: CachedTest, block: RecordedBlock) -> Entry:
    return Entry(
        settings=cached.settings,
        repeat=cached.repeat,
        location=candidate.path,
        name=relative_name(candidate.path, context.root),
        exit_code=cached.exit_code,
        test_uuid=cached.own_uuid or content_uuid(context.workload, cached),
        has_own_uuid=cached.own_uuid is not None,
        campaign=block.campaign,
        round=block.round,
        measurement=measurement_digest(cached),
        missing_files=tuple(cached.missing_files),
    )


def measurement_digest(cached: CachedTest) -> str | None:
    """A digest of the recorded artifacts, and of the test's own id; None without any artifact.

    Independent of settings, times and names: files that describe a test take no part in it. Runs that carry different
    ids are different measurements, however equal their artifacts.
    """
    digests = sorted(
        source.digest for source in cached.sources if source.digest is not None and source.path not in _DESCRIBES
    )
    if not digests:
        return None
    identity = cached.own_uuid or ""
    state = hashlib.blake2b(identity.encode("utf-8", "replace"), digest_size=fingerprint.DIGEST_SIZE)
    for digest in digests:
        state.update(digest)
    return state.hexdigest()


def of_its_version(measurement: str, workload: Workload, settings: Mapping[str, Scalar]) -> str:
    """*measurement* of a run without a time: that of another version, with the same artifacts, is another one.

    A version is measured anew, and short artifacts are often equal by chance; where the times are equal, too, one run
    was described anew.
    """
    versions = [(key, *typed(settings[key])) for key in sorted(workload.regression.comparison_keys) if key in settings]
    if not versions:
        return measurement
    state = hashlib.blake2b(measurement.encode(), digest_size=fingerprint.DIGEST_SIZE)
    state.update(repr(versions).encode("utf-8", "replace"))
    return state.hexdigest()


def content_uuid(workload: Workload, cached: CachedTest) -> str:
    """The id of a test without one of its own: a digest of workload, settings, repeat and content."""
    settings = sorted((name, *typed(value)) for name, value in cached.settings.items())
    digests = sorted(source.digest for source in cached.sources if source.digest is not None)
    state = hashlib.blake2b(repr((workload.name, settings, cached.repeat)).encode("utf-8", "replace"))
    for digest in digests:
        state.update(digest)
    return str(uuid.uuid5(_ID_NAMESPACE, state.hexdigest()))


def relative_name(path: Path, root: Path) -> str:
    """*path* below *root* with ``/``; the name of *root* itself where both are the same.

    Bytes of a name that are not UTF-8 are written as ``\\xff``, so that a name can stand in any output.
    """
    name = str(path)[len(str(root)) + 1 :] or root.name
    return name if name.isascii() else os.fsencode(name).decode("utf-8", "backslashreplace")


def _parse_always(
    context: Context,
    candidate: Candidate,
    entry: Entry,
    results: types.SimpleNamespace,
    problems: list[Problem],
) -> None:
    store = context.workload.store
    if store.parse_always is None:
        return
    test_dir = TestDirectory(
        candidate.path, store, context.options, is_file=candidate.is_file, declared=context.declared
    )
    try:
        store.parse_always(results, test_dir, entry.settings)
    except (Exception, SystemExit) as error:  # noqa: BLE001  as for parse_once
        problems.append(_parser_problem("parse_always", error, test_dir.recorder))
    problems.extend(test_dir.recorder.problems)


def _evaluate(workload: Workload, entry: Entry, results: types.SimpleNamespace) -> None:
    """Fill the entry's KPIs, and what is doubtful or can't be."""
    payload, problem = build_payload(workload, entry, results)
    times = getattr(payload.metadata, "start", None), getattr(payload.metadata, "end", None)
    entry.span_us = time_us(times[0]), time_us(times[1])
    if entry.measurement is not None and not entry.has_own_uuid and times == (None, None):
        entry.measurement = of_its_version(entry.measurement, workload, entry.settings)
    if problem is not None:
        entry.problems = (*entry.problems, problem)
    values = kpi.compute(workload.kpis, payload)
    entry.kpis, entry.missing_kpis = values.values, values.missing
    entry.implausible = plausible.findings(payload, workload.implausible)
    if workload.warnings is not None:
        try:
            entry.warnings = tuple(shortened(each, LONGEST_REASON) for each in workload.warnings(payload))
        except (Exception, SystemExit) as error:  # noqa: BLE001  as for parse_once
            entry.problems = (*entry.problems, _parser_problem("warnings", error))


def _parser_problem(function: str, error: BaseException, recorder: Recorder | None = None) -> Problem:
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


def _missing_files(recorder: Recorder, patterns: Sequence[str]) -> list[str]:
    """The important files that are not there; those that were read are not looked for again."""
    seen = [relative for relative, sighting in recorder.sightings.items() if sighting.exists]
    missing = []
    for pattern in patterns:
        if fnmatch.filter(seen, pattern):
            continue
        has_wildcard = any(char in pattern for char in "*?[")
        if not (recorder.glob(pattern) if has_wildcard else recorder.look(pattern).exists):
            missing.append(pattern)
    return missing


def _pack(results: types.SimpleNamespace, notes: list[str]) -> bytes | None:
    try:
        return codec.pack(results)
    except codec.CodecError as error:
        notes.append(f"no cache is kept: the results hold {error}")
        return None
