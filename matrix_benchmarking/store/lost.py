"""Runs that lost their settings: directories that hold what a run leaves, and no ``settings.yaml``.

Not every such directory is one: there may be tests below it, or it is a step of a test that did not finish.
"""

from __future__ import annotations

import dataclasses
import difflib
import fnmatch
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from ..settings import EXIT_CODE_FILE, SETTINGS_FILE
from ..workload import Listing, Workload
from .layouts import NativeLayout, important_files, layouts_of
from .parsers import TEST_CONFIG_FILE

_STEP = re.compile(r"[0-9]+__.+")


@dataclasses.dataclass(frozen=True, slots=True)
class Traces:
    """What a run leaves beside its settings: names of files, and globs of directories."""

    files: frozenset[str] = frozenset((EXIT_CODE_FILE,))
    directories: tuple[str, ...] = ()

    @classmethod
    def of(cls, workload: Workload) -> Traces | None:
        """Those of the workload's runs, without what any directory may hold; None for trees of other layouts."""
        layouts = layouts_of(workload)
        if not any(isinstance(layout, NativeLayout) for layout in layouts):
            return None
        files, directories = {EXIT_CODE_FILE}, list(vars(workload.store.artifact_dirnames).values())
        for path in (path for layout in layouts for path in important_files(workload, layout)):
            first, _, rest = path.partition("/")
            if rest:
                directories.append(first)
            elif not _is_glob(first) and not first.startswith(".") and first != TEST_CONFIG_FILE:
                files.add(first)
        own = (name for name in directories if "__" in name or not _is_glob(name))
        return cls(frozenset(files), tuple(dict.fromkeys(own)))

    def first(self, listing: Listing) -> str | None:
        """One that *listing* shows, the exit code before others."""
        if EXIT_CODE_FILE in listing.files:
            return EXIT_CODE_FILE
        found = [name for pattern in self.directories for name in fnmatch.filter(listing.directories, pattern)]
        return min(found or self.files & listing.files, default=None)

    def runs(self, lost: Iterable[Path], tests: Sequence[Path], unfinished: Iterable[Path]) -> set[Path]:
        """Those of *lost* that are runs: without *tests* below, not in another one, no step of an *unfinished* one."""
        above = {parent for path in tests for parent in path.parents}
        started, found = set(unfinished) - above, set[Path]()
        for path in sorted(path for path in lost if path not in above):
            starts = (parent for parent in path.parents if parent in started)
            is_step = any(self._is_step(name) for start in starts for name in path.relative_to(start).parts)
            if not is_step and found.isdisjoint(path.parents):
                found.add(path)
        return found

    def _is_step(self, directory: str) -> bool:
        named = any(fnmatch.fnmatchcase(directory, pattern) for pattern in self.directories)
        return named or _STEP.fullmatch(directory) is not None


def sentence(trace: str, listing: Listing) -> str:
    """What is wrong with the run in *listing*, of which *trace* is there."""
    if os.path.isdir(listing.path / SETTINGS_FILE):
        return f"has {trace}, and its {SETTINGS_FILE} is a directory"
    close = difflib.get_close_matches(SETTINGS_FILE, sorted(listing.files), n=1, cutoff=0.7)
    other = f", but {close[0]}" if close else ""
    return f"has {trace} and no {SETTINGS_FILE}{other}: a run that lost its settings; a file 'skip' leaves it out"


def _is_glob(name: str) -> bool:
    return any(char in name for char in "*?[")
