"""A test directory as the parsers see it: whatever they open or look for in it becomes a source of the test's cache."""

from __future__ import annotations

import errno
import fnmatch
import functools
import glob
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from ..errors import ArtifactError, natural, os_reason
from ..files import read_regular
from ..matrix import Problem
from ..workload import BaseStore
from .fingerprint import Glob, Sighting, digest, list_names, matching, named

MAX_DOCUMENT_BYTES = 512 << 20
TEST_UUID_FILE, TEST_CONFIG_FILE, TEST_START_END_FILE = ".uuid", "config.yaml", "test_start_end.json"


@functools.lru_cache(maxsize=256)
def _any_of(patterns: tuple[str, ...]) -> Callable[[str], re.Match[str] | None]:
    """What says whether a path matches one of *patterns*, as :func:`fnmatch.fnmatchcase` does."""
    return re.compile("|".join(map(fnmatch.translate, patterns)) or "(?!)").match


Need = Callable[[str, bool], None]
"""Has the file at a path, or (True) all below it, here before it is looked at."""


class Recorder:
    """What the parsers of one test read, looked for, and found wrong."""

    def __init__(self, root: str, declared_files: Sequence[str], need: Need | None = None) -> None:
        self.root = root
        self.need = need
        self.sightings: dict[str, Sighting] = {}  # how each relative path was when it was first looked for
        self.digests: dict[str, bytes] = {}  # of the files whose content was read as a whole
        self.globs: dict[str, Glob] = {}
        self.problems: list[Problem] = []
        self.notes: list[str] = []  # doubts that don't make the results wrong, such as an undeclared file
        self.own_uuid: str | None = None
        self.missing_files: list[str] = []  # important ones
        self.lacks_package = False  # with another package the parsers may make more of it
        self._is_declared = _any_of(tuple(declared_files))
        self._names: tuple[str, ...] | None = None

    def look(self, relative: str) -> Sighting:
        """Note that *relative* was looked for; that the test directory itself is there says nothing."""
        if relative == ".":
            return Sighting.of(self.root)
        sighting = self.sightings.get(relative)
        if sighting is None:
            if self.need is not None:
                self.need(f"{self.root}/{relative}", False)
            sighting = self.sightings[relative] = Sighting.of(f"{self.root}/{relative}")
            is_known = relative in (TEST_UUID_FILE, TEST_START_END_FILE) or sighting.is_directory
            if not is_known and not self._is_declared(relative):
                self.notes.append(f"the parsers read '{relative}', which is not one of the workload's important files")
        return sighting

    def glob(self, pattern: str) -> list[str]:
        """Paths that match *pattern*, relative to the test directory, in numbered order."""
        known = self.globs.get(pattern)
        if known is None:
            if self._names is None:
                self._names = tuple(list_names(self.root))
            found = sorted(matching(self.root, pattern, self._names), key=natural)
            known = self.globs[pattern] = Glob(pattern, tuple(found))
        return list(known.matches)

    def missing(self, patterns: Sequence[str]) -> list[str]:
        """Those of *patterns*, paths and globs, of which nothing is there; what was read is not looked for again."""
        seen = tuple([relative for relative, sighting in self.sightings.items() if sighting.exists])
        unseen = [pattern for pattern in patterns if not named(pattern, seen)]
        return [each for each in unseen if not (self.glob(each) if glob.has_magic(each) else self.look(each).exists)]

    def unreadable(self, error: OSError) -> Problem | None:
        """The problem that *error* is, where it names a file of the test directory."""
        path, start = error.filename, f"{self.root}/"
        if not isinstance(path, str) or not path.startswith(start):
            return None
        return Problem(f"can't be read: {os_reason(error)}", path[len(start) :])

    @property
    def last_read(self) -> str | None:
        """The file that was looked for last and is there."""
        there = (relative for relative, sighting in reversed(self.sightings.items()) if sighting.size is not None)
        return next(there, None)


class ArtifactPath(os.PathLike[str]):
    """A path inside a test directory; using it as a path notes in *recorder* that it is a source of the cache."""

    __slots__ = ("recorder", "relative")

    def __init__(self, recorder: Recorder, relative: str) -> None:
        self.recorder = recorder
        self.relative = relative

    def __fspath__(self) -> str:
        """The absolute path. Raises ArtifactError: it is a device, a pipe or a socket, which could block for ever."""
        sighting = self.recorder.look(self.relative)
        if sighting.exists and not sighting.is_directory and not sighting.is_file:
            raise ArtifactError(self, "is not a regular file")
        path = f"{self.recorder.root}/{self.relative}"
        if self.recorder.need is not None:
            self.recorder.need(path, True)
        return path

    def __truediv__(self, other: str | os.PathLike[str]) -> ArtifactPath:
        if type(other) is str and other and "/" not in other and not other.startswith("."):  # nearly always
            return ArtifactPath(self.recorder, other if self.relative == "." else f"{self.relative}/{other}")
        return ArtifactPath(self.recorder, os.path.normpath(os.path.join(self.relative, other)))

    def __str__(self) -> str:
        return self.relative

    def __repr__(self) -> str:
        return f"ArtifactPath({self.relative!r})"

    @property
    def name(self) -> str:
        return os.path.basename(self.relative)

    @property
    def path(self) -> Path:
        """The plain path; using it notes nothing."""
        path = Path(self.recorder.root, self.relative)
        if self.recorder.need is not None:
            self.recorder.need(str(path), True)
        return path

    def open(self, mode: str = "r", **options: Any) -> IO[Any]:
        """Open for reading, as :meth:`pathlib.Path.open`."""
        if set(mode) & set("wax+"):
            raise ValueError("artifacts are only read")
        return open(self, mode, **options)

    def read_text(self, encoding: str = "utf-8", errors: str = "strict") -> str:
        """The content as text, without a mark of its encoding.

        Raises:
            FileNotFoundError: it is missing.
            ArtifactError: it can't be read, or is no such text.
        """
        try:
            return self.read_bytes().decode(encoding, errors).removeprefix("\ufeff")
        except UnicodeDecodeError as error:
            reason = f"is not {encoding.upper()} text: {error.reason} at byte {error.start}"
            raise ArtifactError(self, reason) from error

    def read_bytes(self) -> bytes:
        """The content.

        Raises:
            FileNotFoundError: it is missing; NotADirectoryError: so is what should hold it.
            ArtifactError: it can't be read, or is larger than any sensible document.
        """
        sighting = self.recorder.look(self.relative)
        if sighting.is_absent:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), f"{self.recorder.root}/{self.relative}")
        if sighting.size is not None and sighting.size > MAX_DOCUMENT_BYTES:
            limit = MAX_DOCUMENT_BYTES >> 20
            raise ArtifactError(self, f"is {sighting.size >> 20} MiB; documents are read up to {limit} MiB")
        content = self._read()
        self.recorder.digests[self.relative] = digest(content)
        return content

    def read_end(self, size: int) -> bytes:
        """The last *size* bytes, whatever its length. Raises as :meth:`read_bytes`."""
        return self._read(size, is_end=True)

    def _read(self, limit: int = -1, *, is_end: bool = False) -> bytes:
        try:
            return read_regular(self, limit, is_end=is_end)
        except (FileNotFoundError, NotADirectoryError):
            raise
        except OSError as error:
            raise ArtifactError(self, f"can't be read: {os_reason(error)}") from error

    @property
    def size(self) -> int | None:
        """Size in bytes when it was first looked for; None if nothing is there."""
        return self.recorder.look(self.relative).size

    def exists(self) -> bool:
        return self.recorder.look(self.relative).exists

    def is_dir(self) -> bool:
        return self.recorder.look(self.relative).is_directory

    def is_file(self) -> bool:
        return self.recorder.look(self.relative).is_file

    def glob(self, pattern: str) -> Iterator[ArtifactPath]:
        """The paths below this one that match *pattern*, in numbered order."""
        for relative in self.recorder.glob(os.path.normpath(os.path.join(self.relative, pattern))):
            yield ArtifactPath(self.recorder, relative)

    def note_problem(self, reason: str) -> None:
        """Note that this artifact is there and can't be understood."""
        self.recorder.problems.append(Problem(reason, self.relative))

    def note(self, doubt: str) -> None:
        """Note what may be otherwise than this artifact is read, though no result is wrong."""
        self.recorder.notes.append(doubt)

    def note_unreadable(self, error: OSError) -> bool:
        """Note the artifact of this test that *error* names; False if it names none."""
        if (problem := self.recorder.unreadable(error)) is not None:
            self.recorder.problems.append(problem)
        return problem is not None


class ArtifactPaths:
    """The artifact directories of one test, by name: what their globs match, the last one with a note, or None."""

    def __init__(self, recorder: Recorder, patterns: Mapping[str, str]) -> None:
        self._recorder = recorder
        self._patterns = patterns

    def __getattr__(self, name: str) -> Any:
        """An :class:`ArtifactPath` or None; weakly typed, since parsers join it with ``/`` either way."""
        try:
            pattern = self._patterns[name]
        except KeyError:
            raise AttributeError(f"the workload has no artifact directory {name}") from None
        matches = self._recorder.glob(pattern)
        if len(matches) > 1:
            note = f"{len(matches)} directories match '{pattern}'; {matches[-1]} is read"
            if note not in self._recorder.notes:
                self._recorder.notes.append(note)
        return ArtifactPath(self._recorder, matches[-1]) if matches else None


class TestDirectory(ArtifactPath):
    """The directory (or, in a flat tree, the file) of one test.

    Attributes:
        artifact_paths: the workload's artifact directories, resolved for this test.
        options: what the run gives to all parsers, such as ``prices``.
        part: which test of the file it is; None where the test has a place of its own.
    """

    __slots__ = ("artifact_paths", "options", "part")
    __test__ = False  # not a test case, whatever its name makes pytest think

    def __init__(
        self,
        location: Path,
        store: BaseStore,
        options: Mapping[str, Any] | None = None,
        *,
        is_file: bool = False,
        declared: Sequence[str] | None = None,
        part: str | None = None,
        need: Need | None = None,
    ) -> None:
        root, known = location, [*store.important_files, *store.optional_files] if declared is None else declared
        if is_file:
            root, known = location.parent, [location.name, f"{location.name}/*", *store.optional_files]
        recorder = Recorder(str(root), known, need)
        super().__init__(recorder, location.name if is_file else ".")
        self.artifact_paths = ArtifactPaths(recorder, vars(store.artifact_dirnames))
        self.options: Mapping[str, Any] = options or {}
        self.part = part


def register_important_file(test_dir: ArtifactPath, path: str | os.PathLike[str]) -> ArtifactPath:
    """*path* in *test_dir*, as TOPSAIL's parsers say it; ``test_dir / path`` does the same."""
    return path if isinstance(path, ArtifactPath) else test_dir / path
