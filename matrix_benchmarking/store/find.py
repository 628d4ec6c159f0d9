"""The walk through a results tree: which tests are there, and what was left out on the way.

Links to directories are followed last and only inside the tree, so that a link beside its target doesn't double it.
"""

from __future__ import annotations

import contextlib
import dataclasses
import difflib
import fnmatch
import functools
import glob
import os
import re
from collections.abc import Callable, Hashable, Sequence
from pathlib import Path

import msgspec

from ..bucket import BEGINNING, BucketPath
from ..errors import MatbenchError, SettingsError, failing, natural, os_reason
from ..files import is_index, read_regular
from ..jsonable import Document
from ..matrix import DID_NOT_FINISH
from ..settings import EXIT_CODE_FILE, SETTINGS_FILE, read_key_values, read_settings_file
from ..workload import FoundTest, Layout, Listing, Workload
from .artifacts import TEST_CONFIG_FILE

SKIP_FILE = "skip"
_FIRST_STEPS = ("000__script", "000__server")
_STEP = re.compile(r"[0-9]+__.+")


class NativeLayout:
    """Tests are directories with a settings file and an exit code; parents' settings are inherited."""

    looks_for = f"directories with {SETTINGS_FILE} and {EXIT_CODE_FILE}"

    def find(self, listing: Listing) -> Sequence[FoundTest]:
        if SETTINGS_FILE not in listing.files:
            return ()
        return (FoundTest(listing.path, finished=EXIT_CODE_FILE in listing.files),)

    def settings_files(self, test: Path, root: Path) -> Sequence[str]:
        """The settings files of the results directory and all directories down to the test."""
        directory = str(root)
        files = [f"{directory}/{SETTINGS_FILE}"]
        for step in str(test)[len(directory) + 1 :].split("/"):
            if step:
                directory = f"{directory}/{step}"
                files.append(f"{directory}/{SETTINGS_FILE}")
        return files

    def read_settings(self, test: Path, root: Path) -> Document:
        merged: Document = {}
        for path in self.settings_files(test, root):
            merged.update(read_settings_file(path) or {})
        return merged

    def read_exit_code(self, test: Path) -> int | None:
        try:
            text = read_regular(f"{test}/{EXIT_CODE_FILE}", 64).decode("ascii", "replace").strip()
        except FileNotFoundError:
            raise SettingsError(f"{EXIT_CODE_FILE} is a link that leads nowhere, or was removed just now") from None
        except OSError as error:
            raise SettingsError(f"{EXIT_CODE_FILE} can't be read: {os_reason(error)}") from error
        if not text:
            raise SettingsError(
                f"{DID_NOT_FINISH}: {EXIT_CODE_FILE} is empty, the run was interrupted while it was written"
            )
        try:
            return int(text)
        except ValueError:
            raise SettingsError(f"{EXIT_CODE_FILE} holds {text!r}, not a number") from None


@dataclasses.dataclass(frozen=True)
class KeyValueLayout:
    """Tests are directories with a file of ``key=value`` lines, their settings, *beside* what they printed.

    Their exit code is not known: a subclass whose tree tells it overrides :meth:`read_exit_code`.
    """

    settings: str = "settings"
    beside: str = "stdout"

    @property
    def looks_for(self) -> str:
        return f"a file '{self.settings}' beside '{self.beside}'"

    def find(self, listing: Listing) -> Sequence[FoundTest]:
        return [FoundTest(listing.path)] if {self.settings, self.beside} <= listing.files else []

    def settings_files(self, test: Path, root: Path) -> Sequence[Path]:
        return [test / self.settings]

    def read_settings(self, test: Path, root: Path) -> Document:
        with failing(f"{self.settings} can't be read", SettingsError):
            return read_key_values(read_regular(test / self.settings).decode("utf-8", "replace"))

    def read_exit_code(self, test: Path) -> int | None:
        return None


_NATIVE: Sequence[Layout] = (NativeLayout(),)


def run_above(file: Path, root: Path, is_one: Callable[[Path], bool]) -> Path | None:
    """The nearest directory above *file*, up to *root*, that *is_one*: matbench ran in it what left the file."""
    above = (parent for parent in file.parents if parent == root or root in parent.parents)
    return next(filter(is_one, above), None)


def has_ended(directory: Path) -> bool:
    """Whether it says how its run ended."""
    return (directory / EXIT_CODE_FILE).is_file()


def was_begun(directory: Path) -> bool:
    """Whether matbench began a run in it, be it one that doesn't say how it ended."""
    is_ours = (directory / SETTINGS_FILE).is_file() and any((directory / step).is_dir() for step in _FIRST_STEPS)
    return is_ours or (directory / "interrupted").is_file()


def important_files(workload: Workload, layout: Layout) -> Sequence[str]:
    """The files that a test of this *layout* should have, as paths and globs: the layout's own, else the store's."""
    own: Sequence[str] | None = getattr(layout, "important_files", None)
    return workload.store.important_files if own is None else own


def declared_files(workload: Workload) -> list[str]:
    """All that the parsers may read, in whichever of the workload's layouts."""
    of_layouts = [name for layout in layouts_of(workload) for name in important_files(workload, layout)]
    return list(dict.fromkeys([*workload.store.important_files, *of_layouts, *workload.store.optional_files]))


def layouts_of(workload: Workload) -> Sequence[Layout]:
    """The workload's layouts; matbench's own where it names none."""
    return workload.store.layouts or _NATIVE


class Traces(msgspec.Struct, frozen=True):
    """What a run leaves beside its settings: names of files, and globs of directories."""

    files: frozenset[str]
    directories: tuple[str, ...]

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
            elif not glob.has_magic(first) and not first.startswith(".") and first != TEST_CONFIG_FILE:
                files.add(first)
        own = (name for name in directories if "__" in name or not glob.has_magic(name))
        return cls(frozenset(files), tuple(dict.fromkeys(own)))

    def first(self, listing: Listing) -> str | None:
        """One that *listing* shows, the exit code before others."""
        if EXIT_CODE_FILE in listing.files:
            return EXIT_CODE_FILE
        found = [name for pattern in self.directories for name in fnmatch.filter(listing.directories, pattern)]
        return min(found or self.files & listing.files, default=None)

    def without_false_losses(self, candidates: list[Candidate]) -> list[Candidate]:
        """*candidates*, but of those that lost their settings only runs: without tests below, and in no other one.

        A directory in an unfinished run that is a step of it, or holds its artifacts, is none.
        """
        whole = [each for each in candidates if each.lost is None]
        if len(whole) == len(candidates):
            return candidates
        above = {parent for each in whole for parent in each.path.parents}
        started = {each.path for each in whole if not each.finished} - above
        runs = set[Path]()
        for path in sorted(each.path for each in candidates if each.lost is not None and each.path not in above):
            starts = (parent for parent in path.parents if parent in started)
            is_step = any(self._is_step(name) for start in starts for name in path.relative_to(start).parts)
            if not is_step and runs.isdisjoint(path.parents):
                runs.add(path)
        return [each for each in candidates if each.lost is None or each.path in runs]

    def _is_step(self, directory: str) -> bool:
        named = any(fnmatch.fnmatchcase(directory, pattern) for pattern in self.directories)
        return named or _STEP.fullmatch(directory) is not None


def _loss(trace: str, listing: Listing) -> str:
    """What is wrong with the run in *listing*, of which *trace* is there."""
    if os.path.isdir(listing.path / SETTINGS_FILE):
        return f"has {trace}, and its {SETTINGS_FILE} is a directory"
    close = difflib.get_close_matches(SETTINGS_FILE, sorted(listing.files), n=1, cutoff=0.7)
    other = f", but {close[0]}" if close else ""
    return f"has {trace} and no {SETTINGS_FILE}{other}: a run that lost its settings; a file 'skip' leaves it out"


class Candidate(msgspec.Struct, frozen=True):
    """A test and the index of the layout that recognised it; None for a cache that came alone.

    Attributes:
        where: its path as a text, which takes a fifth of what pathlib keeps of one; there may be a million.
        lost: what is wrong with a run that lost its settings, a sentence; it is none that finished.
        cache_counts: False where the cache stands alone, and no download brought it so.
        known_as: what its cache goes by, where that is not its path.
    """

    where: str
    layout: int | None
    finished: bool = True
    is_file: bool = False
    lost: str | None = None
    cache_counts: bool = True
    part: str | None = None
    known_as: str | None = None

    @property
    def path(self) -> Path:
        return _path(self.where)

    @property
    def directory(self) -> str:
        """The directory that the test's recorded paths are relative to."""
        return str(self.path.parent) if self.is_file else self.where


@functools.lru_cache(maxsize=16)  # a test is asked for it several times, one test after the other
def _path(where: str) -> Path:
    return (BucketPath if where.startswith(BEGINNING) else Path)(where)


class Found(msgspec.Struct, frozen=True):
    """All tests of a tree, in the order of their names, and sentences on what was passed over."""

    tests: list[Candidate]
    unfinished: list[Candidate]
    notes: list[str]


def check_root(root: str | os.PathLike[str]) -> Path:
    """The results directory, resolved. Raises MatbenchError: it doesn't exist, is not a directory or can't be read.

    One in a bucket is as it was named: the walk finds out.
    """
    if isinstance(root, BucketPath):
        return root
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


Look = Callable[[Path], tuple[Hashable, Listing, list[str]]]
"""What tells a directory from others, what it holds, and which links to directories. OSError: it can't be read."""


def _look(directory: Path) -> tuple[Hashable, Listing, list[str]]:
    status = directory.stat()
    files, directories, linked = [], [], []
    with os.scandir(directory) as items:
        for item in items:
            if item.is_dir(follow_symlinks=False):
                if not item.name.startswith("."):
                    directories.append(item.name)
            elif item.is_symlink() and os.path.isdir(item.path):
                linked.append(item.name)
            elif not is_index(item.name):
                files.append(item.name)
    return (status.st_dev, status.st_ino), Listing(directory, frozenset(files), frozenset(directories)), linked


def find_tests(root: Path, workload: Workload, look: Look = _look) -> Found:
    """All tests below *root*, which :func:`check_root` has resolved, by what a *look* into directories shows.

    Hidden directories and those that hold a file ``skip`` are passed over, and test directories not searched.
    """
    traces = Traces.of(workload)
    candidates: list[Candidate] = []
    notes: list[str] = []
    waiting, links, visited = [root], list[Path](), set[Hashable]()
    while waiting or links:
        directory = waiting.pop() if waiting else links.pop()
        if directory.is_symlink() and not _may_follow(directory, root, candidates, notes):
            continue
        try:
            identity, listing, linked = look(directory)
        except OSError as error:
            notes.append(f"{directory.relative_to(root)}: left out, {os_reason(error)}")
            continue
        if identity in visited or SKIP_FILE in listing.files:
            continue
        visited.add(identity)
        found = _recognise(listing, workload, None if directory == root else traces)
        candidates.extend(found)
        if not any(candidate.where == str(directory) and candidate.finished for candidate in found):
            waiting.extend(directory / name for name in listing.directories)
            links.extend(directory / name for name in linked)
    if traces is not None:
        candidates = traces.without_false_losses(candidates)
    start = len(str(root))
    candidates.sort(key=lambda each: (*map(natural, each.where[start:].split("/")), natural(each.part or "")))
    unfinished = [each for each in candidates if not each.finished]
    above = {parent for each in candidates for parent in each.path.parents} if unfinished else set()
    tests = [each for each in candidates if each.finished]
    return Found(tests, [each for each in unfinished if each.path not in above], sorted(notes))


def hidden_with_tests(root: Path, workload: Workload) -> Path | None:
    """The first hidden directory in *root* that may hold tests, which :func:`find_tests` passes over."""
    with contextlib.suppress(OSError):
        hidden = sorted(each for each in root.glob(".*") if each.is_dir() and not each.is_symlink())
        return next((each for each in hidden if find_tests(each, workload).tests), None)
    return None


def _recognise(listing: Listing, workload: Workload, traces: Traces | None) -> list[Candidate]:
    found = [
        Candidate(str(test.path), index, test.finished, test.path != listing.path, part=test.part)
        for index, layout in enumerate(layouts_of(workload))
        for test in layout.find(listing)
    ]
    if found:
        return found
    trace = None if traces is None else traces.first(listing)
    if trace is not None:
        return [Candidate(str(listing.path), None, finished=False, lost=_loss(trace, listing))]
    is_of_files = all(getattr(layout, "of_files", False) for layout in layouts_of(workload))
    is_alone = workload.store.cache_filename in listing.files and not is_of_files  # else another workload's run
    return [Candidate(str(listing.path), None)] if is_alone else []


def _may_follow(link: Path, root: Path, candidates: Sequence[Candidate], notes: list[str]) -> bool:
    """True if *link* leads to a directory of this tree that is not inside a test directory."""
    try:
        target = link.resolve(strict=True)
    except (OSError, RuntimeError):
        notes.append(f"{link.relative_to(root)}: left out, a link that leads nowhere")
        return False
    if target != root and root not in target.parents:
        place = f"a link to {target}, outside the results directory; parse that directory by itself"
        notes.append(f"{link.relative_to(root)}: left out, {place}")
        return False
    tests = {candidate.path for candidate in candidates if candidate.finished}
    return target not in tests and tests.isdisjoint(target.parents)
