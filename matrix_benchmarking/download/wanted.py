"""Which files of a tree a mode asks for: the whole tree, or what belongs to its tests.

Tests are recognised by the names in a directory, as the store does it, so nothing is fetched to find them.
"""

from __future__ import annotations

import dataclasses
import fnmatch
import posixpath
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Protocol

from ..config import DownloadMode
from ..settings import EXIT_CODE_FILE
from ..workload import FoundTest, Layout, Listing, is_index
from . import names
from .source import Directory, File

SKIP_FILE = "skip"


@dataclasses.dataclass(frozen=True, slots=True)
class TestFiles:
    """What a workload says about the files of its tests.

    Attributes:
        layouts: how tests are recognised.
        cache_filename: name of the cache in a test directory.
        artifacts: relative paths and globs of what the parsers read.
        companions: names of the files that are fetched for every test: settings, exit code, id.
    """

    __test__ = False  # not a test case, whatever its name makes pytest think

    layouts: Sequence[Layout]
    cache_filename: str
    artifacts: Sequence[str]
    companions: frozenset[str]


@dataclasses.dataclass(slots=True)
class Choice:
    """What is wanted of one directory: files, and which directories are to be looked into, for which test.

    A ``test`` is the name of the test directory that is being looked into; None while tests are searched.
    """

    files: list[File]
    directories: list[str]
    test: str | None = None


class Chooser(Protocol):
    """Decides directory by directory, from the root downwards, what is fetched."""

    def choose(self, directory: str, content: Directory, test: str | None) -> Choice:
        """What is wanted of *directory*, which is inside the test directory *test*, or outside of any."""

    def inherited(self) -> Iterable[File]:
        """Files of directories above the tests that the tests need."""


class Everything:
    """Chooses the whole tree."""

    def choose(self, directory: str, content: Directory, test: str | None) -> Choice:
        return Choice(content.files, content.directories, directory)

    def inherited(self) -> Iterable[File]:
        return ()


class OfTests:
    """Chooses what belongs to the tests of a workload.

    Attributes:
        tests: the test directories, and in a flat tree the files, that were found.
        cached: the test directories whose cache was chosen, in their order.
        without_cache: the test directories that were left out for want of a cache.
    """

    def __init__(
        self, wanted: TestFiles, mode: DownloadMode, root: Path, is_useless_cache: Callable[[File], bool]
    ) -> None:
        self._wanted, self._mode, self._root = wanted, mode, root
        self._is_useless = is_useless_cache
        self._patterns = [posixpath.normpath(pattern).split("/") for pattern in wanted.artifacts]
        self._settings: set[str] = set()
        self._above_settings: set[str] = set()
        self._seen: dict[str, File] = {}
        self.tests: list[str] = []
        self.cached: dict[str, None] = {}
        self.without_cache: list[str] = []

    def choose(self, directory: str, content: Directory, test: str | None) -> Choice:
        if test is not None:
            return self._inside(content, test)
        by_name = {_base(file.name): file for file in content.files if not is_index(_base(file.name))}
        if SKIP_FILE in by_name:
            return Choice([], [])
        visible = [name for name in content.directories if not _base(name).startswith(".")]
        path = self._root / directory
        listing = Listing(path, frozenset(by_name), frozenset(map(_base, visible)))
        found = [(layout, each) for layout in self._wanted.layouts for each in layout.find(listing)]
        is_test = any(each.path == path and each.finished for _, each in found)
        self._note_settings(found)
        if is_test or (not found and self._wanted.cache_filename in by_name):
            return self._test(directory, by_name, content, has_settings=is_test)
        self._seen |= {file.name: file for file in content.files}
        flat = [by_name[each.path.name] for _, each in found if each.path != path and each.path.name in by_name]
        self.tests.extend(file.name for file in flat)
        # An exit code without settings is fetched as well: the parse says then that the run lost them.
        is_run = EXIT_CODE_FILE in by_name or (found and not flat)
        own = [by_name[name] for name in by_name.keys() & self._wanted.companions] if is_run else []
        return Choice([*flat, *own], visible)

    def inherited(self) -> Iterable[File]:
        return [self._seen[name] for name in sorted(self._settings) if name in self._seen]

    def cache_of(self, test: str) -> str:
        """The name of the cache of a test directory."""
        return names.join(test, self._wanted.cache_filename)

    def _test(self, directory: str, by_name: dict[str, File], content: Directory, *, has_settings: bool) -> Choice:
        """What is wanted of a test directory, which holds nothing but a cache where it has no settings."""
        self.tests.append(directory)
        cache = by_name.get(self._wanted.cache_filename)
        files: list[File] = []
        if cache is not None and not (has_settings and self._passes_over(cache)):
            self.cached[directory] = None
            files.append(cache)
        elif self._mode == "cache_only":
            self.without_cache.append(directory)
            return Choice([], [])
        inside = self._inside(content, directory)
        companions = [by_name[name] for name in by_name.keys() & self._wanted.companions]
        return Choice([*files, *companions, *inside.files], inside.directories, directory)

    def _passes_over(self, cache: File) -> bool:
        """True if the artifacts beside *cache* are wanted instead of it."""
        return self._mode == "important" or (self._mode == "prefer_cache" and self._is_useless(cache))

    def _inside(self, content: Directory, test: str) -> Choice:
        """What of a directory in *test* its settings and, without a cache, its artifacts are, and where more may be."""
        start = len(test) + 1 if test else 0
        patterns = [] if test in self.cached else self._patterns

        def is_artifact(name: str, *, is_directory: bool) -> bool:
            segments = name[start:].split("/")
            return any(_matches(pattern, segments, is_directory) for pattern in patterns)

        files = [
            file for file in content.files if file.name in self._settings or is_artifact(file.name, is_directory=False)
        ]
        directories = [
            name for name in content.directories if name in self._above_settings or is_artifact(name, is_directory=True)
        ]
        return Choice(files, directories, test)

    def _note_settings(self, found: Sequence[tuple[Layout, FoundTest]]) -> None:
        for layout, test in found:
            for path in map(Path, layout.settings_files(test.path, self._root)):
                if self._root in path.parents:
                    relative = path.relative_to(self._root)
                    self._settings.add(relative.as_posix())
                    self._above_settings |= {parent.as_posix() for parent in relative.parents}


def _matches(pattern: Sequence[str], segments: Sequence[str], is_directory: bool) -> bool:
    """True if a path is, or is in, what *pattern* means; for a directory also if it may hold such a path."""
    if not pattern:
        return True
    if not segments:
        return is_directory
    if pattern[0] == "**":
        return _matches(pattern[1:], segments, is_directory) or _matches(pattern, segments[1:], is_directory)
    return fnmatch.fnmatchcase(segments[0], pattern[0]) and _matches(pattern[1:], segments[1:], is_directory)


def _base(name: str) -> str:
    return name.rpartition("/")[2]
