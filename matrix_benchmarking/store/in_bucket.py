"""A tree in a bucket: listed once; some of its tests at a time are at hand in a directory of this machine.

Each object stands there as a hole of its size until it is read. Its time is made of its ETag, so that fingerprints tell
what has changed, and caches are as good as those of a tree on a disk.
"""

from __future__ import annotations

import bisect
import contextlib
import fnmatch
import functools
import os
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from .. import bucket
from ..bucket import BucketPath, Listed
from ..errors import MatbenchError
from ..files import is_index
from ..recorded import BLOCK_FILE, ENVIRONMENT_FILE
from ..settings import EXIT_CODE_FILE
from ..workload import Listing, Workload
from . import cache
from .artifacts import TEST_UUID_FILE
from .find import Candidate, Found, NativeLayout, declared_files, find_tests, layouts_of

KEPT = 100_000
"""The list of a larger bucket is let go of when all of it was parsed: it would take what the matrix then takes."""
Objects = Mapping[str, tuple[int, int]]
"""Sizes in bytes and times in ns, by names relative to the tree."""


class BucketTree:
    """The tree at *root*, seen from this process."""

    def __init__(self, root: BucketPath) -> None:
        self.root = root

    @functools.cached_property
    def files(self) -> Any:
        return bucket.connect(MatbenchError)

    @contextlib.contextmanager
    def reading(self) -> Iterator[Any]:
        files = self.files  # whose own error is that s3fs isn't installed
        with bucket.sentences(self.root, MatbenchError):
            yield files

    @functools.cached_property
    def _listed(self) -> tuple[Listed, list[str]]:
        with self.reading() as files:
            return bucket.listed(files, self.root)

    def find(self, workload: Workload) -> Found:
        """As :func:`find_tests`. MatbenchError: the bucket can't be read."""
        found = find_tests(self.root, workload, self._look)
        return msgspec.structs.replace(found, notes=[*found.notes, *self._listed[1]])

    def let_go(self) -> None:
        """Of a long list of objects: it is made again where one is looked for."""
        if len(self._listed[0].names) > KEPT:
            del self._listed

    def _look(self, directory: Path) -> tuple[Hashable, Listing, list[str]]:
        name = self._name(directory)
        children = [*self._children(name)]
        files = frozenset(each for each, place in children if place is not None and not is_index(each))
        directories = frozenset(each for each, place in children if place is None and not each.startswith("."))
        return name, Listing(directory, files, directories), []

    def _below(self, directory: str) -> range:
        """Where the objects below *directory* are in the list."""
        names = self._listed[0].names
        if not directory:
            return range(len(names))
        start = bisect.bisect_left(names, f"{directory}/")
        return range(start, bisect.bisect_left(names, f"{directory}0", start))  # 0 comes after /

    def _children(self, directory: str) -> Iterator[tuple[str, int | None]]:
        """What is in *directory*, and where it is in the list; None for a directory."""
        names, below = self._listed[0].names, self._below(directory)
        start, place = len(directory) + bool(directory), below.start
        while place < below.stop:
            name, slash, _ = names[place][start:].partition("/")
            yield name, None if slash else place
            place = (
                bisect.bisect_left(names, f"{names[place][:start]}{name}0", place, below.stop) if slash else place + 1
            )

    def _place(self, name: str) -> int | None:
        """Where the object of this *name* is in the list."""
        names = self._listed[0].names
        place = bisect.bisect_left(names, name)
        return place if place < len(names) and names[place] == name else None

    def _name(self, path: Path) -> str:
        return "" if path == self.root else str(path)[len(str(self.root)) + 1 :]

    def objects_of(self, tests: Iterable[Candidate], workload: Workload) -> Objects:
        """What is below the *tests*, beside those that are files, and says something of them above."""
        listed, places, named, directories = self._listed[0], set[int](), dict[str, None](), set[str]()
        for test in tests:
            name = self._name(test.path)
            if not test.is_file:
                places.update(self._below(name))
            elif (directory := name.rpartition("/")[0]) not in directories:
                directories.add(directory)
                places.update(place for _, place in self._children(directory) if place is not None)
            named |= dict.fromkeys(self.describing(test, workload))
        places.update(place for place in map(self._place, named) if place is not None)
        return {listed.names[place]: (listed.sizes[place], listed.times_ns[place]) for place in sorted(places)}

    def describing(self, test: Candidate, workload: Workload) -> Iterator[str]:
        """The files that are read of *test* even where a cache is fresh."""
        layout = layouts_of(workload)[test.layout or 0]
        yield from (self._name(path) for path in map(BucketPath, layout.settings_files(test.path, self.root)))
        for above in (test.path, *test.path.parents):
            yield from (self._name(above / name) for name in (EXIT_CODE_FILE, BLOCK_FILE, ENVIRONMENT_FILE))
            if above == self.root or not test.is_file:
                break
        yield self._name(test.path if test.is_file else test.path / TEST_UUID_FILE)


class AtHand:
    """Some tests of *tree* below *root*, a directory of this machine; a file is there once it was asked for.

    Attributes:
        tests: the tests as they are here.
        gone: the names of the objects that went away since the tree was listed.
    """

    def __init__(
        self, tree: BucketTree, root: Path, tests: Sequence[Candidate], workload: Workload, objects: Objects | None
    ) -> None:
        self.tree, self.root, self.gone = tree, root, list[str]()
        objects = tree.objects_of(tests, workload) if objects is None else objects
        self._objects, self._holes = objects, dict.fromkeys(objects)
        self.tests = [
            msgspec.structs.replace(test, where=str(root / test.path.relative_to(tree.root)), known_as=test.where)
            for test in tests
        ]
        root.mkdir()
        for name, (size, _) in objects.items():
            path = root / name
            if not path.parent.is_dir():
                path.parent.mkdir(parents=True)
            with path.open("wb") as stream:
                stream.truncate(size)
            self._stamp(name)
        first = [name for test in tests for name in tree.describing(test, workload)]
        declared = declared_files(workload)
        for there, here in zip(tests, self.tests, strict=True):
            is_kept = any(map(os.path.exists, cache.places(here, workload)))
            if not here.is_file and not (is_kept and isinstance(layouts_of(workload)[here.layout or 0], NativeLayout)):
                start = f"{tree._name(there.path)}/".lstrip("/")
                below = (name for name in objects if name.startswith(start))
                first += [n for n in below if any(fnmatch.fnmatchcase(n[len(start) :], each) for each in declared)]
        self._fetch(first)

    def need(self, path: str, all_below: bool) -> None:
        """Have the file at *path* here; or all files below it. MatbenchError: it can't be read."""
        name = os.path.relpath(path, self.root)
        self._fetch([name])
        if all_below:
            start = "" if name == "." else f"{name}/"
            self._fetch([each for each in self._holes if each.startswith(start)])

    def found(self, test: Candidate) -> Candidate:
        """*test*, which is here, as it was found in the bucket."""
        return msgspec.structs.replace(
            test, where=str(self.tree.root / test.path.relative_to(self.root)), known_as=None
        )

    def _fetch(self, names: Iterable[str]) -> None:
        wanted = [name for name in dict.fromkeys(names) if name in self._holes]
        if not wanted:
            return
        with self.tree.reading() as files:
            gone = bucket.fetch(files, self.tree.root, {name: self.root / name for name in wanted})
        for name in wanted:
            del self._holes[name]
            if name not in gone:
                self._stamp(name)
        for name in gone:
            (self.root / name).unlink(missing_ok=True)
        self.gone += gone

    def _stamp(self, name: str) -> None:
        time_ns = self._objects[name][1]
        os.utime(self.root / name, ns=(time_ns, time_ns))
