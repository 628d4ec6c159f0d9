"""The walk through a results tree: which tests are there, and what was left out on the way.

Hidden directories and those that hold a file ``skip`` are passed over; test directories are not
searched for further tests. Links to directories are followed last and only inside the tree, so that
a link beside its target doesn't double it and a loop ends.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from pathlib import Path

from ..errors import MatbenchError, os_reason
from ..workload import Layout, Listing, is_index
from . import lost
from .lost import Traces
from .names import natural

SKIP_FILE = "skip"


@dataclasses.dataclass(frozen=True, slots=True)
class Candidate:
    """A test and the index of the layout that recognised it; None for a cache that came alone.

    Attributes:
        lost: what is wrong with a run that lost its settings, a sentence; it is none that finished.
        cache_counts: False where the cache stands alone, and no download brought it so.
    """

    path: Path
    layout: int | None
    finished: bool = True
    is_file: bool = False
    lost: str | None = None
    cache_counts: bool = True

    @property
    def directory(self) -> str:
        """The directory that the test's recorded paths are relative to."""
        return str(self.path.parent if self.is_file else self.path)


@dataclasses.dataclass(frozen=True, slots=True)
class Found:
    """All tests of a tree, in the order of their names, and sentences on what was passed over."""

    tests: list[Candidate]
    unfinished: list[Candidate]
    notes: list[str]


def check_root(root: str | os.PathLike[str]) -> Path:
    """The results directory, resolved.

    Raises:
        MatbenchError: it doesn't exist, is not a directory or can't be read.
    """
    try:
        resolved = Path(root).resolve(strict=True)
        with os.scandir(resolved):
            return resolved
    except FileNotFoundError:
        raise MatbenchError(f"results directory '{root}' does not exist") from None
    except NotADirectoryError:
        raise MatbenchError(f"'{root}' is a file; give the results directory that it is in") from None
    except (OSError, RuntimeError) as error:
        reason = os_reason(error) if isinstance(error, OSError) else str(error)
        raise MatbenchError(f"results directory '{root}' can't be read: {reason}") from error


def find_tests(root: Path, layouts: Sequence[Layout], cache_filename: str, traces: Traces | None = None) -> Found:
    """All tests below *root*, which :func:`check_root` has resolved.

    Args:
        traces: what a run leaves, by which one that lost its settings is recognised.
    """
    candidates: list[Candidate] = []
    notes: list[str] = []
    waiting, links, visited = [root], list[Path](), set[tuple[int, int]]()
    while waiting or links:
        directory = waiting.pop() if waiting else links.pop()
        if directory.is_symlink() and not _may_follow(directory, root, candidates, notes):
            continue
        try:
            identity = _identity(directory)
            listing, linked = _list(directory)
        except OSError as error:
            notes.append(f"{directory.relative_to(root)}: left out, {os_reason(error)}")
            continue
        if identity in visited or SKIP_FILE in listing.files:
            continue
        visited.add(identity)
        found = _recognise(listing, layouts, cache_filename, None if directory == root else traces)
        candidates.extend(found)
        if not any(candidate.path == directory and candidate.finished for candidate in found):
            waiting.extend(directory / name for name in listing.directories)
            links.extend(directory / name for name in linked)
    candidates = _without_false_losses(candidates, traces)
    above = _ancestors([candidate.path for candidate in candidates])
    candidates.sort(key=_key)
    return Found(
        tests=[candidate for candidate in candidates if candidate.finished],
        unfinished=[item for item in candidates if not item.finished and item.path not in above],
        notes=sorted(notes),
    )


def _recognise(
    listing: Listing, layouts: Sequence[Layout], cache_filename: str, traces: Traces | None
) -> list[Candidate]:
    found = [
        Candidate(test.path, index, test.finished, test.path != listing.path)
        for index, layout in enumerate(layouts)
        for test in layout.find(listing)
    ]
    if found:
        return found
    trace = None if traces is None else traces.first(listing)
    if trace is not None:
        return [Candidate(listing.path, None, finished=False, lost=lost.sentence(trace, listing))]
    return [Candidate(listing.path, None)] if cache_filename in listing.files else []


def _without_false_losses(candidates: list[Candidate], traces: Traces | None) -> list[Candidate]:
    whole = [candidate for candidate in candidates if candidate.lost is None]
    if traces is None or len(whole) == len(candidates):
        return candidates
    runs = traces.runs(
        (candidate.path for candidate in candidates if candidate.lost is not None),
        [candidate.path for candidate in whole],
        (candidate.path for candidate in whole if not candidate.finished),
    )
    return [candidate for candidate in candidates if candidate.lost is None or candidate.path in runs]


def _list(directory: Path) -> tuple[Listing, list[str]]:
    files, directories, linked = [], [], []
    with os.scandir(directory) as items:
        for item in items:
            if item.is_dir(follow_symlinks=False):
                if not item.name.startswith("."):
                    directories.append(item.name)
            elif item.is_symlink() and _leads_to_directory(item):
                linked.append(item.name)
            elif not is_index(item.name):
                files.append(item.name)
    return Listing(directory, frozenset(files), frozenset(directories)), linked


def _leads_to_directory(link: os.DirEntry[str]) -> bool:
    try:
        return link.is_dir()
    except OSError:  # a link to itself
        return False


def _may_follow(link: Path, root: Path, candidates: Sequence[Candidate], notes: list[str]) -> bool:
    """True if *link* leads to a directory of this tree that is not inside a test directory."""
    try:
        target = link.resolve(strict=True)
    except (OSError, RuntimeError):
        notes.append(f"{link.relative_to(root)}: left out, a link that leads nowhere")
        return False
    if target != root and root not in target.parents:
        notes.append(
            f"{link.relative_to(root)}: left out, a link to {target}, outside the results directory; "
            "parse that directory by itself"
        )
        return False
    tests = {candidate.path for candidate in candidates if candidate.finished}
    return target not in tests and tests.isdisjoint(target.parents)


def _identity(directory: Path) -> tuple[int, int]:
    status = directory.stat()
    return status.st_dev, status.st_ino


def _ancestors(paths: Sequence[Path]) -> set[Path]:
    above: set[Path] = set()
    for path in paths:
        for parent in path.parents:
            if parent in above:
                break
            above.add(parent)
    return above


def _key(candidate: Candidate) -> tuple[object, ...]:
    return tuple(natural(part) for part in candidate.path.parts)
