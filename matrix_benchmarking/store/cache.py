"""The cache of one test: the parsed results, and all that is needed to know whether they are stale.

File format: a MessagePack mapping in an envelope with format version and checksum. Nothing in a cache is
executed.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import hashlib
import os
import types
from pathlib import Path
from typing import Any

import platformdirs

from ..block_file import BLOCK_FILE
from ..environment_file import ENVIRONMENT_FILE
from ..errors import OutputError, os_reason
from ..files import atomic_write, read_regular
from ..filters import Scalar
from ..matrix import Problem
from ..settings import EXIT_CODE_FILE, SETTINGS_FILE
from ..version import __version__
from ..workload import Workload
from ..workload_file import sources
from . import codec
from .artifacts import TEST_UUID_FILE
from .find import Candidate
from .fingerprint import DIGEST_SIZE, Glob, Source, State, compare, unchanged
from .parsers import TEST_CONFIG_FILE
from .sealed import BrokenCache, Envelope

FORMAT_VERSION = 2
_ENVELOPE = Envelope(b"matbench", FORMAT_VERSION, "matbench cache")
MAGIC = _ENVELOPE.magic

IGNORE_VARIABLE = "MATBENCH_STORE_IGNORE_CACHE"
_TRUE = frozenset({"true", "1", "y", "yes"})

DESCRIBING_FILES = frozenset({SETTINGS_FILE, EXIT_CODE_FILE, TEST_UUID_FILE, TEST_CONFIG_FILE, BLOCK_FILE})
"""Files that say which test it is, and nothing of what was measured."""
COMES_WITH_A_CACHE = DESCRIBING_FILES | {ENVIRONMENT_FILE}
"""Files that a download brings along with a cache, without the other artifacts; the last one tells hosts apart."""


class Freshness(enum.Enum):
    """What a cache is worth.

    ``ALONE``: all the artifacts that it is of are gone; it is all that is known of the test, and can't be made again.
    """

    FRESH = "fresh"
    STALE = "stale"
    ALONE = "alone"


@dataclasses.dataclass(slots=True)
class CachedTest:
    """All that a cache keeps of one test.

    Attributes:
        code: digest of the workload's source.
        sources, globs: what the parsers read or looked for.
        settings_sources: fingerprints of the settings files, parents' included.
        settings, repeat, exit_code: as they were read, for a cache that came alone.
        own_uuid: the test's own id, if it has one.
        problems, missing_files, notes: what the parse found wrong or doubtful.
        results: what ``parse_once`` filled, packed.
    """

    code: bytes
    sources: list[Source]
    globs: list[Glob]
    settings_sources: list[Source]
    settings: dict[str, Scalar]
    repeat: int
    exit_code: int | None
    own_uuid: str | None
    problems: list[Problem]
    missing_files: list[str]
    notes: list[str]
    results: bytes

    def load_results(self) -> types.SimpleNamespace:
        """A fresh copy of the results.

        Raises:
            BrokenCache: they can't be decoded.
        """
        try:
            results = codec.unpack(self.results)
        except codec.CodecError as error:
            raise BrokenCache(f"it holds what can't be decoded: {error}") from error
        if not isinstance(results, types.SimpleNamespace):
            raise BrokenCache("it holds no results")
        return results

    @property
    def has_artifacts(self) -> bool:
        """True if files were read that a download of the cache leaves out."""
        return any(map(_is_artifact, self.sources))

    def freshness(self, root: str, code: bytes) -> Freshness:
        """Fresh if the workload and all that was read or looked for below *root* are unchanged."""
        states = [compare(root, source) for source in self.sources]
        artifacts = [state for source, state in zip(self.sources, states, strict=True) if _is_artifact(source)]
        if artifacts and all(state is State.ABSENT for state in artifacts):
            return Freshness.STALE if State.CHANGED in states else Freshness.ALONE
        is_same = all(state is State.SAME for state in states)
        is_fresh = is_same and self.code == code and unchanged(root, self.globs)
        return Freshness.FRESH if is_fresh else Freshness.STALE


def _is_artifact(source: Source) -> bool:
    return source.size is not None and source.path not in COMES_WITH_A_CACHE


def is_ignored() -> bool:
    """True if MATBENCH_STORE_IGNORE_CACHE says so."""
    return os.environ.get(IGNORE_VARIABLE, "").lower() in _TRUE


def places(candidate: Candidate, workload: Workload) -> list[Path]:
    """Where the cache of a test may be: in its directory, else in the user's cache directory.

    The latter is for tests of a flat tree, and of one that can't be written.
    """
    user = in_user_directory(candidate.path, workload, "cache")
    return [user] if candidate.is_file else [candidate.path / workload.store.cache_filename, user]


def in_user_directory(path: Path, workload: Workload, suffix: str) -> Path:
    """The file of *path*, a test or a tree, in the user's cache directory."""
    name = hashlib.blake2b(f"{workload.name}\0{path}".encode("utf-8", "surrogateescape"), digest_size=20)
    return Path(f"{_user_directory(os.environ.get('XDG_CACHE_HOME'))}/{name.hexdigest()}.{suffix}")


def load(candidate: Candidate, workload: Workload) -> CachedTest | None:
    """The cache of a test, fresh or stale; None if there is none for this workload.

    Raises:
        BrokenCache: there is one, and it is damaged or of another version.
    """
    for path in places(candidate, workload):
        try:
            content = read_regular(path)
        except OSError:
            continue
        return decode(content, workload.name)
    return None


def stands_alone(candidate: Candidate, workload: Workload) -> bool:
    """True if the test's artifacts are gone, so that its cache could not be made again."""
    try:
        cached = load(candidate, workload)
    except BrokenCache:
        return False
    return cached is not None and cached.freshness(candidate.directory, cached.code) is Freshness.ALONE


def save(candidate: Candidate, workload: Workload, cached: CachedTest) -> None:
    """Write the cache of a test to the first of its places that can be written.

    Raises:
        OutputError: none can.
    """
    content = encode(cached, workload.name)
    *first, last = places(candidate, workload)
    for path in first:
        try:
            _write(path, content)
            return
        except OutputError:
            continue
    _write(last, content)


def remove(candidate: Candidate, workload: Workload) -> int:
    """Remove the caches of a test; how many there were."""
    removed = 0
    for path in places(candidate, workload):
        try:
            path.unlink()
            removed += 1
        except FileNotFoundError:
            continue
        except OSError as error:
            raise OutputError(f"cannot remove {path}: {os_reason(error)}") from error
    return removed


@functools.cache
def _user_directory(variable: str | None) -> str:
    """Where caches go beside the trees; *variable* is what platformdirs reads from the environment."""
    return f"{platformdirs.user_cache_dir('matbench')}/tests"


def _write(path: Path, content: bytes) -> None:
    with atomic_write(path, durable=False) as stream:
        stream.write(content)


def encode(cached: CachedTest, workload_name: str) -> bytes:
    """The content of a cache file."""
    body = codec.pack(
        {
            "engine": __version__,
            "workload": workload_name,
            "code": cached.code,
            "sources": [list(source) for source in cached.sources],
            "globs": [[known.pattern, list(known.matches)] for known in cached.globs],
            "settings_sources": [list(source) for source in cached.settings_sources],
            "settings": cached.settings,
            "repeat": cached.repeat,
            "exit_code": cached.exit_code,
            "own_uuid": cached.own_uuid,
            "problems": [[problem.reason, problem.file] for problem in cached.problems],
            "missing_files": cached.missing_files,
            "notes": cached.notes,
            "results": cached.results,
        }
    )
    return _ENVELOPE.seal(body)


def decode(content: bytes, workload_name: str) -> CachedTest | None:
    """The cache in *content*; None if it is another workload's or an older engine's.

    Raises:
        BrokenCache: it is damaged, or of a newer format.
    """
    body = _ENVELOPE.open(content)
    if body is None:
        return None
    try:
        fields = codec.unpack(body)
        if fields["workload"] != workload_name or fields["engine"] != __version__:
            return None
        return _from_fields(fields)
    except (codec.CodecError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise BrokenCache(f"it holds something unexpected ({type(error).__name__}: {error})") from error


def can_read_cache(content: bytes, workload: Workload) -> bool:
    """True if a parse with *workload* would take the cache in *content*, where it came alone."""
    try:
        return decode(content, workload.name) is not None
    except BrokenCache:
        return False


def _from_fields(fields: dict[str, Any]) -> CachedTest:
    return CachedTest(
        code=fields["code"],
        sources=[Source(*row) for row in fields["sources"]],
        globs=[Glob(pattern, tuple(matches)) for pattern, matches in fields["globs"]],
        settings_sources=[Source(*row) for row in fields["settings_sources"]],
        settings=fields["settings"],
        repeat=fields["repeat"],
        exit_code=fields["exit_code"],
        own_uuid=fields["own_uuid"],
        problems=[Problem(reason, file) for reason, file in fields["problems"]],
        missing_files=fields["missing_files"],
        notes=fields["notes"],
        results=fields["results"],
    )


def source_digest(workload: Workload) -> bytes:
    """Digest of all Python files of the workload: a changed parser makes caches stale."""
    state = hashlib.blake2b(digest_size=DIGEST_SIZE)
    source = workload.source
    files = [] if source is None else sources(source) if source.is_file() else sorted(source.rglob("*.py"))
    for path in files:
        state.update(os.fsencode(path.name))
        state.update(hashlib.blake2b(path.read_bytes()).digest())
    return state.digest()
