"""The parse of one test: from the cache where it is fresh, else from the artifacts; then the KPIs."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime as dt
import functools
import os
import tempfile
import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from ..errors import ArtifactError, SettingsError, failing
from ..filters import Scalar
from ..matrix import DID_NOT_FINISH, Entry, Problem
from ..plausible import of_another_run
from ..recorded import BLOCK_FILE, RecordedBlock, parse_block, read_block
from ..settings import SETTINGS_FILE, SETTINGS_FROM, check_settings, read_settings_content, settings_from, settings_in
from ..workload import Layout, Workload
from . import cache, codec, fingerprint
from .artifacts import Recorder, TestDirectory
from .cache import CachedTest
from .codec import BrokenCache
from .documents import parse_test_start_end, parse_test_uuid
from .entries import content_uuid, entry_of, evaluate, parser_problem
from .find import (
    Candidate,
    NativeLayout,
    declared_files,
    has_ended,
    important_files,
    layouts_of,
    run_above,
    was_begun,
)
from .fingerprint import State
from .in_bucket import AtHand, BucketTree, Objects
from .readers import ReaderLayout, what_is_wrong

_KEPT_ABOVE = 2000
ALONE = "known from its cache alone: its artifacts are not here"
SettingsFile = tuple[dict[str, Any], fingerprint.Source]
"""What one holds, unchecked, and its fingerprint."""


@dataclasses.dataclass(frozen=True)
class Context:
    """What the parse of each test of a tree needs to know.

    Attributes:
        code: the digest of the workload's source.
        tree: the tree, where it is in a bucket.
        near: those of its tests that are at hand, below *root*.
        above: what is known of settings files that several tests have above them, by path.
    """

    workload: Workload
    root: Path
    code: bytes
    options: Mapping[str, object]
    ignore_cache: bool = False
    tree: BucketTree | None = None
    near: AtHand | None = None
    above: dict[str, SettingsFile] = dataclasses.field(default_factory=dict, compare=False, repr=False)

    @contextlib.contextmanager
    def at_hand(
        self, tests: Sequence[Candidate], objects: Objects | None = None
    ) -> Iterator[tuple[Context, Sequence[Candidate]]]:
        """*tests* where they can be read, and what to know there."""
        if self.tree is None:
            yield self, tests
            return
        with tempfile.TemporaryDirectory(prefix="matbench-") as place:
            near = AtHand(self.tree, Path(place, self.root.name), tests, self.workload, objects)
            yield dataclasses.replace(self, root=near.root, tree=None, near=near), near.tests

    def objects_of(self, tests: Sequence[Candidate]) -> Objects:
        return {} if self.tree is None else self.tree.objects_of(tests, self.workload)

    def found(self, candidate: Candidate) -> Candidate:
        """*candidate*, which is at hand, where it was found."""
        return candidate if self.near is None else self.near.found(candidate)

    @functools.cached_property
    def declared(self) -> Sequence[str]:
        return declared_files(self.workload)

    def from_path(self, candidate: Candidate, notes: list[str]) -> dict[str, Scalar]:
        """The settings in the test's path, where the user gave a pattern of it."""
        pattern = self.options.get(SETTINGS_FROM)
        if not pattern:
            return {}
        found = settings_from(str(pattern), self.root, candidate.path, is_file=candidate.is_file)
        if found is None:
            notes.append(f"its path doesn't match --settings-from '{pattern}'")
        return found or {}

    def layout(self, candidate: Candidate) -> Layout:
        return layouts_of(self.workload)[candidate.layout or 0]

    def test_directory(self, candidate: Candidate) -> TestDirectory:
        return TestDirectory(
            candidate.path,
            self.workload.store,
            self.options,
            is_file=candidate.is_file,
            declared=self.declared,
            part=candidate.part,
            need=None if self.near is None else self.near.need,
        )


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
    cached, results, is_alone = _known_test(context, candidate, notes)
    if is_alone and not candidate.cache_counts:  # the cache stays as it is
        results, recorder = _read_artifacts(context, candidate)
        cached.problems = [Problem(ALONE), *recorder.problems]
        cached.missing_files, cached.notes = recorder.missing_files, recorder.notes
    notes.extend(cached.notes)
    if of_path := context.from_path(candidate, notes):
        below = {**of_path, **({"repeat": cached.repeat} if cached.repeat else {})}
        cached.settings, cached.repeat = check_settings({**below, **cached.settings})
    block, wrong = read_block(candidate.path)
    if wrong:
        cached.problems.append(Problem(wrong, BLOCK_FILE))
    parsed = _evaluated(context, candidate, cached, block, results, notes)
    parsed.entry.from_cache_alone = is_alone
    return parsed


def _evaluated(
    context: Context,
    candidate: Candidate,
    cached: CachedTest,
    block: RecordedBlock,
    results: types.SimpleNamespace,
    notes: list[str],
    test_uuid: str | None = None,
) -> ParsedTest:
    """*test_uuid* is that of a test whose place in its file says nothing."""
    entry = entry_of(context.workload, context.root, candidate, cached, block, test_uuid)
    entry.problems = tuple(cached.problems)
    if context.workload.store.parse_always is not None:
        test_dir = context.test_directory(candidate)
        try:
            context.workload.store.parse_always(results, test_dir, entry.settings)
        except (Exception, SystemExit) as error:  # noqa: BLE001  as for parse_once
            entry.problems += (parser_problem("parse_always", error, test_dir.recorder),)
        entry.problems += tuple(test_dir.recorder.problems)
    evaluate(context.workload, entry, results)
    return ParsedTest(entry, results, len(cached.results), notes)


class NotRecognised(SettingsError):
    """A file that none of the workload's readers knows."""


def tests_of(context: Context, candidate: Candidate) -> Iterable[tuple[Candidate, ParsedTest | SettingsError]]:
    """The test that *candidate* is; or of a file of readers each test in it, from the candidate's part on."""
    layout = context.layout(candidate)
    if not isinstance(layout, ReaderLayout):
        return [(candidate, parse_test(context, candidate))]
    if layout.reader_of(candidate.path) is None:
        raise NotRecognised(f"{what_is_wrong(candidate.path)}no reader recognises it")
    return _parse_parts(context, msgspec.structs.replace(candidate, part=None), candidate.part)


def _parse_parts(
    context: Context, file: Candidate, first: str | None
) -> Iterator[tuple[Candidate, ParsedTest | SettingsError]]:
    notes: list[str] = []
    whole, results, _ = _known_test(context, file, notes)
    notes.extend(whole.notes)
    layout = context.layout(file)
    assert isinstance(layout, ReaderLayout)
    of_path, said_of = context.from_path(file, notes), set[str]()
    above = {"repeat": 0, **of_path, **whole.settings}
    above["repeat"] = whole.repeat or above["repeat"]
    parts = getattr(results, "parts", [])
    for problem in whole.problems if first is None else ():
        yield file, SettingsError(problem.reason)
    if not parts and not whole.problems:
        yield file, SettingsError("holds no result")
    names = [name for name, *_ in parts]
    counts = [count for _, own, *_ in parts if isinstance(count := own.get("repeat"), int)]
    run = run_above(file.path, context.root, has_ended)  # where matbench ran the tool
    if run is None and (lost := run_above(file.path, context.root, was_begun)) is not None:
        yield file, SettingsError(f"{DID_NOT_FINISH}: there is no exit code in {lost.name}")
        return
    block, wrong, times, exit_code = RecordedBlock(), None, None, None
    if run is not None:
        block, wrong = read_block(run)
        exit_code = NativeLayout().read_exit_code(run)
        with contextlib.suppress(ArtifactError):  # which makes nothing doubtful but times
            times = parse_test_start_end(context.test_directory(msgspec.structs.replace(file, where=str(run))))
    problems = [Problem(wrong, BLOCK_FILE)] if wrong else []
    file_digest = next((each.digest.hex() for each in whole.sources if each.digest and each.path == file.path.name), "")
    for name, own, packed, *identity in parts[names.index(first) if first in names else 0 :]:
        candidate = msgspec.structs.replace(file, part=name)
        try:
            settings, repeat = check_settings(layout.complete(file.path.relative_to(context.root), above, own))
        except SettingsError as error:
            yield candidate, error
            continue
        if counts and whole.repeat:  # what a reader counts goes on from what other files have
            repeat = whole.repeat * (1 + max(counts)) + int(own.get("repeat") or 0)
        overruled = {name for name, value in of_path.items() if settings.get(name, value) != value} - said_of
        notes += [f"'{name}' is what the file says, and not what --settings-from does" for name in sorted(overruled)]
        said_of |= overruled
        digest = fingerprint.digest("".join(identity or [f"{name}\0"]).encode("utf-8", "replace") + packed)
        source = fingerprint.Source(f"{file.path.name}#{name}", len(packed), 0, digest)
        cached = msgspec.structs.replace(
            whole, settings=settings, repeat=repeat, sources=[source], problems=problems, results=packed
        )
        measured = cached.load_results()
        if times is not None and (stale := of_another_run(_moments(measured), times.start, times.end)):
            yield candidate, SettingsError(stale)
            continue
        own_code, campaign = (vars(measured).pop(name, None) for name in ("exit_code", "campaign"))
        cached.exit_code = own_code if isinstance(own_code, int) and (own_code or not exit_code) else exit_code
        said = parse_block({"campaign": file_digest if campaign is True else campaign})
        of_block = said if said.campaign and not block.campaign else block
        moves = content_uuid(context.workload, msgspec.structs.replace(cached, repeat=0)) if identity else None
        yield candidate, _evaluated(context, candidate, cached, of_block, measured, notes, moves)
        notes = []


def _moments(results: types.SimpleNamespace) -> list[dt.datetime]:
    """When results say that they were measured; a ``local_time`` may be without a zone."""
    local = getattr(results, "local_time", None)
    known = [getattr(results, "start", None), getattr(results, "end", None)]
    with contextlib.suppress(ValueError):
        known += [dt.datetime.fromisoformat(local)] if isinstance(local, str) else []
    return [each for each in known if isinstance(each, dt.datetime)]


def _known_test(
    context: Context, candidate: Candidate, notes: list[str]
) -> tuple[CachedTest, types.SimpleNamespace, bool]:
    """The test from its cache, or parsed; its results; whether its cache stands alone, which then is never ignored.

    Raises SettingsError: its settings can't be read, or are nowhere but in a cache that can't be used.
    """
    try:
        cached = cache.load(candidate, context.workload)
        if cached is not None:
            state = cached.freshness(candidate.directory, context.code)
            if candidate.layout is None and cached.has_artifacts and state is not State.ABSENT:
                raise SettingsError(f"has a cache and artifacts, and no {SETTINGS_FILE}: a run that lost its settings")
            is_alone = candidate.layout is None or (state is State.ABSENT and context.near is None)
            if is_alone or (state is State.SAME and not context.ignore_cache):
                results = cached.load_results()
                _refresh_settings(context, candidate, cached)
                return cached, results, is_alone
    except BrokenCache as broken:
        notes.append(f"the cache is ignored: {broken}")
    if candidate.layout is None:
        raise SettingsError("its cache can't be used, and there are no artifacts beside it")
    return *_parse_artifacts(context, candidate, notes), False


def _parse_artifacts(
    context: Context, candidate: Candidate, notes: list[str]
) -> tuple[CachedTest, types.SimpleNamespace]:
    is_cache_broken = bool(notes)  # where it may be all that came of the test, it is left for who can read it
    settings, repeat, exit_code, settings_sources = _read_settings(context, candidate)
    results, recorder = _read_artifacts(context, candidate)
    sources = fingerprint.take(recorder.root, recorder.sightings.items(), recorder.digests)
    try:
        packed = codec.pack(results)
    except codec.CodecError as error:
        notes.append(f"no cache is kept: the results hold {error}")
        packed = b""
    cached = CachedTest(
        code=context.code,
        sources=sources or [],
        globs=list(recorder.globs.values()),
        settings_sources=settings_sources or [],
        settings=settings,
        repeat=repeat,
        exit_code=exit_code,
        own_uuid=recorder.own_uuid,
        problems=list(recorder.problems),
        missing_files=recorder.missing_files,
        notes=recorder.notes,
        results=packed,
    )
    keeps = packed and not recorder.lacks_package and (cached.has_artifacts or not is_cache_broken)
    if keeps and sources is not None and settings_sources is not None:
        content = cache.ENVELOPE.seal((context.workload.name,), cached)
        notes.extend(cache.write_first(cache.places(candidate, context.workload), content, "cache"))
    return cached, results


def _read_artifacts(context: Context, candidate: Candidate) -> tuple[types.SimpleNamespace, Recorder]:
    """What the parsers make of the artifacts that are here."""
    store, test_dir = context.workload.store, context.test_directory(candidate)
    results, recorder = types.SimpleNamespace(), test_dir.recorder
    if (own_uuid := parse_test_uuid(test_dir)) is not None:
        recorder.own_uuid = str(own_uuid)
    try:
        store.parse_once(results, test_dir)
        if store.generate_lts_payload is None and not (hasattr(results, "start") or hasattr(results, "end")):
            times = parse_test_start_end(test_dir)  # for a payload that nobody else makes
            if times is not None:
                results.start, results.end = times.start, times.end
    except (Exception, SystemExit) as error:  # noqa: BLE001  a parser's error is this test's problem, not the end of all
        recorder.problems.append(parser_problem("parse_once", error, recorder))
        recorder.lacks_package = _lacks_package(error)
    if not candidate.is_file:
        recorder.missing_files = recorder.missing(important_files(context.workload, context.layout(candidate)))
    return results, recorder


def _lacks_package(error: BaseException | None) -> bool:
    if error is None or isinstance(error, ImportError):
        return error is not None
    return _lacks_package(error.__cause__ or error.__context__)


def _read_settings(
    context: Context, candidate: Candidate
) -> tuple[dict[str, Scalar], int, int | None, list[fingerprint.Source] | None]:
    """Settings, repeat, exit code and fingerprints; None for these if a file changed meanwhile."""
    layout, root, names = context.layout(candidate), str(context.root), _settings_files(context, candidate)
    of_part = () if candidate.part is None else (candidate.part,)
    with failing("settings can't be read", SettingsError):
        if type(layout) is NativeLayout:
            files = [_settings_file(context, name, is_shared=name is not names[-1]) for name in names]
            read = {name: value for content, _ in files for name, value in content.items()}
            settings, repeat = check_settings(read)
            exit_code = layout.read_exit_code(candidate.path)
            return settings, repeat, exit_code, [source for _, source in files]
        sightings = [(name, fingerprint.Sighting.of(f"{root}/{name}")) for name in names]
        settings, repeat = check_settings(layout.read_settings(candidate.path, context.root, *of_part))
        exit_code = layout.read_exit_code(candidate.path)
        sources = fingerprint.take(root, sightings)
    return settings, repeat, exit_code, sources


def _settings_file(context: Context, name: str, *, is_shared: bool) -> SettingsFile:
    """What a settings file holds, and its fingerprint; of one that *is_shared* what it was when it was first read."""
    known = context.above.get(name)
    if known is not None:
        return known
    path = f"{context.root}/{name}"
    sighting = fingerprint.Sighting.of(path)
    content = None if sighting.is_absent and not os.path.islink(path) else read_settings_content(path)
    found = (
        {} if content is None else settings_in(content, SETTINGS_FILE),
        fingerprint.Source(
            name, sighting.size, sighting.mtime_ns, None if content is None else fingerprint.digest(content)
        ),
    )
    if is_shared:
        if len(context.above) >= _KEPT_ABOVE:  # tests come in the order of their places
            context.above.clear()
        context.above[name] = found
    return found


def _refresh_settings(context: Context, candidate: Candidate, cached: CachedTest) -> None:
    """Read the settings of a cached test again if their files have changed."""
    if candidate.layout is None:
        return
    root, known = str(context.root), cached.settings_sources
    is_same = _settings_files(context, candidate) == [source.path for source in known]
    if is_same and all(fingerprint.compare(root, source) is State.SAME for source in known):
        cached.exit_code = context.layout(candidate).read_exit_code(candidate.path)
    else:
        cached.settings, cached.repeat, cached.exit_code, _ = _read_settings(context, candidate)


def _settings_files(context: Context, candidate: Candidate) -> list[str]:
    """The test's settings files, relative to the results directory."""
    start = len(str(context.root)) + 1
    files = context.layout(candidate).settings_files(candidate.path, context.root)
    return [os.fspath(path)[start:] for path in files]
