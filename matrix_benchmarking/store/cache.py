"""What a parse keeps: the cache of one test; envelope and places that it shares with the index of a tree."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import types
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeVar

import msgspec
import platformdirs

from ..errors import OutputError, failing, os_reason
from ..files import atomic_write, read_regular
from ..filters import Scalar
from ..matrix import Problem
from ..recorded import BLOCK_FILE, ENVIRONMENT_FILE
from ..settings import EXIT_CODE_FILE, SETTINGS_FILE
from ..version import __version__
from ..workload import Workload
from . import codec
from .artifacts import TEST_CONFIG_FILE, TEST_UUID_FILE
from .codec import BrokenCache
from .find import Candidate
from .fingerprint import DIGEST_SIZE, Glob, Source, State, compare, digest, unchanged

IGNORE_VARIABLE = "MATBENCH_STORE_IGNORE_CACHE"
_TRUE = frozenset({"true", "1", "y", "yes"})

DESCRIBING_FILES = frozenset({SETTINGS_FILE, EXIT_CODE_FILE, TEST_UUID_FILE, TEST_CONFIG_FILE, BLOCK_FILE})
"""Files that say which test it is, and nothing of what was measured."""
COMES_WITH_A_CACHE = DESCRIBING_FILES | {ENVIRONMENT_FILE}
"""Files that a download brings along with a cache, without the other artifacts; the last one tells hosts apart."""


Stamp = tuple[str | bytes, ...]


S = TypeVar("S", bound=msgspec.Struct)


class Envelope(msgspec.Struct, frozen=True):
    """One kind of kept file: a magic word, the format's version (2 bytes), a BLAKE2b checksum, and MessagePack.

    Each is of one engine, one workload, and whatever else its *stamp* says. *kind* is its name in sentences.
    """

    family: bytes
    version: int
    kind: str

    def seal(self, stamp: Stamp, fields: msgspec.Struct) -> tuple[bytes, bytes]:
        """A file that holds *fields*, in two pieces: of a big tree a copy of it would be a fifth of a gigabyte.

        Raises CodecError: they hold what can't be kept with its type.
        """
        body = codec.pack_struct((__version__, *stamp), fields)
        return self.family + self.version.to_bytes(2, "big") + digest(body), body

    def open(self, content: bytes, stamp: Stamp, form: type[S]) -> S | None:
        """What :meth:`seal` got; None for an older format, another engine or another *stamp*.

        Raises BrokenCache: *content* is damaged, or of a newer format.
        """
        if not content.startswith(self.family):
            raise BrokenCache(f"it is not a {self.kind}")
        start = len(self.family) + 2
        version = int.from_bytes(content[start - 2 : start], "big")
        if version > self.version:
            raise BrokenCache(f"its format {version} is newer than this matbench, which reads {self.version}")
        if version < self.version:
            return None
        body = memoryview(content)[start + DIGEST_SIZE :]
        if digest(body) != content[start : start + DIGEST_SIZE]:
            raise BrokenCache("its checksum is wrong: it is damaged")
        return codec.unpack_struct(body, (__version__, *stamp), form)


def in_user_directory(path: str | Path, workload: Workload, suffix: str) -> str:
    """The file of *path*, a test or a tree, in the user's cache directory."""
    name = hashlib.blake2b(f"{workload.name}\0{path}".encode("utf-8", "surrogateescape"), digest_size=20)
    return f"{_user_directory(os.environ.get('XDG_CACHE_HOME'))}/{name.hexdigest()}.{suffix}"


@functools.cache
def _user_directory(variable: str | None) -> str:
    """Where caches go beside the trees; *variable* is what platformdirs reads from the environment."""
    return f"{platformdirs.user_cache_dir('matbench')}/tests"


def write_first(paths: Iterable[str], content: Iterable[bytes], what: str) -> list[str]:
    """Write *content* to the first of *paths* that can be written; a sentence that *what* isn't kept if none can."""
    for path in paths:
        try:
            with atomic_write(path, durable=False) as stream:
                stream.writelines(content)
        except OutputError as error:
            problem = error
        else:
            return []
    reason = os_reason(problem.__cause__) if isinstance(problem.__cause__, OSError) else str(problem)
    return [f"no {what} is kept, {os.path.dirname(path)} can't be written either: {reason}"]


def remove(paths: Iterable[str]) -> int:
    """Remove those of *paths* that are there; how many there were. Raises OutputError: one can't be removed."""
    removed = 0
    for path in paths:
        with failing(f"cannot remove {path}", OutputError), contextlib.suppress(FileNotFoundError, NotADirectoryError):
            os.unlink(path)
            removed += 1
    return removed


def is_ignored() -> bool:
    """True if MATBENCH_STORE_IGNORE_CACHE says so."""
    return os.environ.get(IGNORE_VARIABLE, "").lower() in _TRUE


class CachedTest(msgspec.Struct):
    """All that a cache keeps of one test.

    Attributes:
        code: digest of the workload's source.
        sources, globs: what the parsers read or looked for.
        settings_sources: fingerprints of the settings files, parents' included.
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
        """A fresh copy of the results. Raises BrokenCache: they can't be decoded."""
        results = codec.unpack(self.results)
        if not isinstance(results, types.SimpleNamespace):
            raise BrokenCache("it holds no results")
        return results

    @property
    def has_artifacts(self) -> bool:
        """True if files were read that a download of the cache leaves out."""
        return any(map(_is_artifact, self.sources))

    def freshness(self, root: str, code: bytes) -> State:
        """The same if the workload and all that was read or looked for below *root* are; absent if all artifacts are.

        An absent one is all that is known of the test, and can't be made again.
        """
        states = [compare(root, source) for source in self.sources]
        artifacts = [state for source, state in zip(self.sources, states, strict=True) if _is_artifact(source)]
        if artifacts and all(state is State.ABSENT for state in artifacts):
            return State.CHANGED if State.CHANGED in states else State.ABSENT
        is_same = all(state is State.SAME for state in states)
        is_fresh = is_same and self.code == code and unchanged(root, self.globs)
        return State.SAME if is_fresh else State.CHANGED


def _is_artifact(source: Source) -> bool:
    return source.size is not None and source.path not in COMES_WITH_A_CACHE


ENVELOPE = Envelope(b"matbench", 4, "matbench cache")


def places(candidate: Candidate, workload: Workload) -> Iterator[str]:
    """Where the cache of a test may be: in its directory, else (a flat or read-only tree) in the user's directory."""
    if not candidate.is_file and not candidate.known_as:
        yield f"{candidate.where}/{workload.store.cache_filename}"
    name = candidate.known_as or candidate.where
    yield in_user_directory(name if candidate.part is None else f"{name}#{candidate.part}", workload, "cache")


def load(candidate: Candidate, workload: Workload) -> CachedTest | None:
    """The cache of a test, fresh or stale; None if there is none for this workload."""
    for path in places(candidate, workload):
        try:
            content = read_regular(path)
        except OSError:
            continue
        return ENVELOPE.open(content, (workload.name,), CachedTest)
    return None


def stands_alone(candidate: Candidate, workload: Workload) -> bool:
    """True if the test's artifacts are gone, so that its cache could not be made again."""
    try:
        cached = load(candidate, workload)
    except BrokenCache:
        return False
    return cached is not None and cached.freshness(candidate.directory, cached.code) is State.ABSENT


def can_read_cache(content: bytes, workload: Workload) -> bool:
    """True if a parse with *workload* would take the cache in *content*, where it came alone."""
    try:
        return ENVELOPE.open(content, (workload.name,), CachedTest) is not None
    except BrokenCache:
        return False
