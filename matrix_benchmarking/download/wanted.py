"""Which files of a tree a mode asks for, the whole tree or what belongs to its tests: a walk through the source.

Tests are recognised by the names in a directory, as the store does it, so nothing is fetched to find them.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from posixpath import basename, normpath
from typing import Literal

import msgspec

from ..errors import DownloadError, NotFetched
from ..files import is_index
from ..settings import EXIT_CODE_FILE
from ..workload import FoundTest, Layout, Listing
from .fetch import Means, Outcome, each
from .source import MAX_ENTRIES, OWN_DIRECTORY, Directory, File, Source, join, shown

SKIP_FILE = "skip"

Node = tuple[str, str | None]
"""A directory and the test directory that it is in."""


class Wish(msgspec.Struct, frozen=True):
    """What is wanted of the tests of a workload.

    Attributes:
        workload: its name.
        layouts: how tests are recognised.
        cache_filename: name of the cache in a test directory.
        artifacts: relative paths and globs of what the parsers read.
        companions: names of the files that are fetched for every test: settings, exit code, id.
        can_read_cache: tells from a cache's content whether a parse could use it.
    """

    mode: Literal["cache_only", "prefer_cache", "important"]
    workload: str
    layouts: Sequence[Layout]
    cache_filename: str
    artifacts: Sequence[str]
    companions: frozenset[str]
    can_read_cache: Callable[[bytes], bool]


def walk(
    source: Source,
    chooser: OfTests | None,
    means: Means,
    outcome: Outcome,
    start: Iterable[Node] = (("", None),),
) -> tuple[list[File], list[str]]:
    """Walk from the directories *start* downwards, level by level; without a *chooser* everything is wanted.

    Gives the files that are to be fetched, in the order of the source, and the directories that are to be made.
    *outcome* gets problems with directories that could not be listed, and notes on what is not taken.

    Raises:
        DownloadError: the first directory can't be listed, or the tree has more than MAX_ENTRIES entries.
    """
    level = list(start)
    files: dict[str, File] = {}
    directories: list[str] = []
    entries = 0
    while level:
        below: list[Node] = []
        contents = each(source, (name for name, _ in level), source.list, means)
        for (name, test), content in zip(level, contents, strict=True):
            if isinstance(content, DownloadError):
                if not name:
                    raise content
                said = outcome.problems if isinstance(content, NotFetched) else outcome.notes
                said.append(f"{shown(name)}: left out, {content}")
                continue
            entries += len(content.files) + len(content.directories)
            if entries > MAX_ENTRIES:
                raise DownloadError(f"the tree has more than {MAX_ENTRIES:,} entries: give an address further down")
            sorted_out = _sorted_out(content)
            outcome.notes += sorted_out.left_out
            wanted, inside = (sorted_out, name) if chooser is None else chooser.choose(name, sorted_out, test)
            files.update((file.name, file) for file in wanted.files)
            below.extend((child, inside) for child in wanted.directories)
            if inside is not None:
                directories.extend(wanted.directories)
        level = below
    if chooser is not None:
        files |= {file.name: file for file in chooser.inherited()}
    return sorted(files.values(), key=lambda file: (file.position, file.name)), directories


def _sorted_out(content: Directory) -> Directory:
    """*content* without matbench's own books, and without files that have the name of a directory."""
    directories = [name for name in content.directories if name != OWN_DIRECTORY]
    kept, taken = Directory([], directories, list(content.left_out)), set(content.directories)
    for file in content.files:
        if file.name in taken:
            kept.add(file, reason="there is a directory of that name")
        elif file.name != OWN_DIRECTORY:
            kept.files.append(file)
    return kept


class OfTests:
    """Chooses what belongs to the tests of a workload.

    Attributes:
        wish: what it chooses by.
        tests: the test directories, and in a flat tree the files, that were found.
        cached: the test directories whose cache was chosen, in their order.
        without_cache: the test directories that were left out for want of a cache.
    """

    def __init__(self, wish: Wish, root: Path, is_useless_cache: Callable[[File], bool]) -> None:
        self.wish, self._root = wish, root
        self._is_useless = is_useless_cache
        self._patterns = [normpath(pattern).split("/") for pattern in wish.artifacts]
        self._settings: set[str] = set()
        self._above_settings: set[str] = set()
        self._seen: dict[str, File] = {}
        self.tests: list[str] = []
        self.cached: dict[str, None] = {}
        self.without_cache: list[str] = []

    def choose(self, directory: str, content: Directory, test: str | None) -> tuple[Directory, str | None]:
        """What is wanted of *directory*, which is inside of *test*: files, and directories to be looked into.

        And the test directory that is being looked into; None while tests are searched.
        """
        if test is not None:
            return self._inside(content, test), test
        by_name = {basename(file.name): file for file in content.files if not is_index(basename(file.name))}
        if SKIP_FILE in by_name:
            return Directory(), None
        visible = [name for name in content.directories if not basename(name).startswith(".")]
        path = self._root / directory
        listing = Listing(path, frozenset(by_name), frozenset(map(basename, visible)))
        found = [(layout, each) for layout in self.wish.layouts for each in layout.find(listing)]
        is_test = any(each.path == path and each.finished for _, each in found)
        self._note_settings(found)
        if is_test or (not found and self.wish.cache_filename in by_name):
            return self._test(directory, by_name, content, has_settings=is_test)
        self._seen |= {file.name: file for file in content.files}
        flat = [by_name[each.path.name] for _, each in found if each.path != path and each.path.name in by_name]
        self.tests.extend(file.name for file in flat)
        # An exit code without settings is fetched as well: the parse says then that the run lost them.
        is_run = EXIT_CODE_FILE in by_name or (found and not flat)
        own = [by_name[name] for name in by_name.keys() & self.wish.companions] if is_run else []
        return Directory([*flat, *own], visible), None

    def inherited(self) -> Iterable[File]:
        """Files of directories above the tests that the tests need."""
        return [self._seen[name] for name in sorted(self._settings) if name in self._seen]

    def cache_of(self, test: str) -> str:
        """The name of the cache of a test directory."""
        return join(test, self.wish.cache_filename)

    def _test(
        self, directory: str, by_name: dict[str, File], content: Directory, *, has_settings: bool
    ) -> tuple[Directory, str | None]:
        """What is wanted of a test directory, which holds nothing but a cache where it has no settings."""
        self.tests.append(directory)
        cache = by_name.get(self.wish.cache_filename)
        files: list[File] = []
        if cache is not None and not (has_settings and self._passes_over(cache)):
            self.cached[directory] = None
            files.append(cache)
        elif self.wish.mode == "cache_only":
            self.without_cache.append(directory)
            return Directory(), None
        inside = self._inside(content, directory)
        companions = [by_name[name] for name in by_name.keys() & self.wish.companions]
        return Directory([*files, *companions, *inside.files], inside.directories), directory

    def _passes_over(self, cache: File) -> bool:
        """True if the artifacts beside *cache* are wanted instead of it."""
        return self.wish.mode == "important" or (self.wish.mode == "prefer_cache" and self._is_useless(cache))

    def _inside(self, content: Directory, test: str) -> Directory:
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
        return Directory(files, directories)

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
