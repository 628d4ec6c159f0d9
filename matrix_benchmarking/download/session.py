"""A download as a whole: one process at a time in a destination, and of each tree what is wanted and missing here."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from posixpath import basename

from .. import download_record
from ..config import DownloadMode
from ..download_record import Held, Record, Tree
from ..errors import DownloadError, MatbenchError
from ..files import is_index, only_one, read_regular
from .addresses import Address, Place, overlap
from .archive import ArchiveSource
from .fetch import Budget, Destination, Means, Outcome, Progress, described, fetch_all, fetch_one
from .hub import HubSource
from .source import OWN_DIRECTORY, File, LocalSource, S3Source, Source, join, shown
from .wanted import OfTests, Wish, walk

VARIABLE = "ARTIFACT_DIR"
LOCK_FILE = f"{OWN_DIRECTORY}/download.lock"


def download(
    places: Sequence[Place],
    wish: Wish | None,
    root: Path,
    *,
    max_bytes: int,
    jobs: int,
    progress: Progress | None = None,
) -> list[Outcome]:
    """Fetch the trees at *places* into *root*; gives an outcome for each, whose ``problems`` say what failed.

    Args:
        wish: what is wanted of the tests; None for whole trees.
        max_bytes: what may be fetched, all trees together.
        jobs: number of files that are fetched at a time.
        progress: called with the number of files done and of all, for each tree.

    Raises:
        OutputError: *root* can't be written.
        DownloadError: another download works in *root*, its record can't be used, or it lies in one of the trees.
    """
    for place in places:
        _check_apart(place.address, Path(os.path.realpath(root / place.subdirectory)))
    destination, budget = Destination(root), Budget(max_bytes)
    outcomes = []
    with only_one(destination.path(LOCK_FILE), destination.root, "download"):
        destination.remove_leftovers([download_record.RECORD_FILE])
        kept = download_record.load(destination.root)
        for place in places:
            outcome = Outcome(place.address.public)
            means = Means(Destination(root, place.subdirectory), budget, jobs, progress=progress)
            try:
                _Work(place, wish, kept, means, outcome).run()
            except MatbenchError as error:
                outcome.problems.append(str(error))
            outcomes.append(outcome)
    return outcomes


def artifacts_directory(environment: Mapping[str, str]) -> Path:
    """The artifacts directory that the environment names; DownloadError where it names none."""
    named = environment.get(VARIABLE)
    if not named:
        raise DownloadError(
            f"{VARIABLE} is not set, so `save_to_artifacts` has no place to copy to: set it to a directory"
        )
    return Path(named)


def save_to_artifacts(root: Path, directory: Path, *, jobs: int) -> Path:
    """Copy what was downloaded to *root* into a directory of its name in *directory*; gives that directory.

    Nothing is copied where *root* lies in *directory* already.
    """
    root, there = Path(os.path.realpath(root)), Path(os.path.realpath(directory))
    if there in root.parents:
        return root
    if there == root or root in there.parents:
        raise DownloadError(f"{VARIABLE} ('{directory}') lies in the results directory: let it name another one")
    record = download_record.load(root)
    files = [
        File(join(tree.subdirectory, name))
        for tree in record.trees
        for name, held in tree.files.items()
        if held.fetched and not held.useless
    ]
    destination, copied = Destination(directory / root.name), Outcome(str(root))
    fetch_all(LocalSource(root), files, Means(destination, Budget(2**63), jobs), copied, held={})
    if copied.problems:
        raise DownloadError("\n".join(f"not copied to {destination.root}: {each}" for each in copied.problems))
    download_record.save(destination.path(download_record.RECORD_FILE), record)  # says which caches came alone
    return destination.root


def _check_apart(address: Address, root: Path) -> None:
    """Raise DownloadError where a local tree and its destination lie in one another."""
    if address.scheme != "file":
        return
    tree = Path(os.path.realpath(address.location))
    if tree.is_dir() and (tree == root or root in tree.parents or tree in root.parents):
        raise DownloadError(f"{address.public} and the destination {root} lie in one another: choose another one")


def _tree_of(place: Place, kept: Record) -> Tree:
    """The record of the tree at *place*, a new one where there is none."""
    kept.trees = [tree for tree in kept.trees if tree.files]  # from the others nothing came
    for tree in kept.trees:
        if (tree.subdirectory, tree.address) == (place.subdirectory, place.address.public):
            return tree
        if overlap(place.subdirectory, tree.subdirectory):
            where = tree.subdirectory or "the destination"
            raise DownloadError(f"{where} holds the download of {tree.address}: choose another `results_dirname`")
    tree = Tree(subdirectory=place.subdirectory, address=place.address.public, mode="all")
    kept.trees.append(tree)
    return tree


class _Work:
    """One tree while it is fetched; *kept* and *outcome* say how far it came. Without a *wish* all of it is wanted."""

    def __init__(self, place: Place, wish: Wish | None, kept: Record, means: Means, outcome: Outcome) -> None:
        self._address, self._wish, self._kept, self._tree = place.address, wish, kept, _tree_of(place, kept)
        self._means, self._outcome = means, outcome
        self._destination = means.destination

    def run(self) -> None:
        """Fetch what is wanted and missing; DownloadError where nothing, or nothing more, of it can be."""
        tree = self._tree
        mode: DownloadMode = "all" if self._wish is None else self._wish.mode
        workload = None if self._wish is None else self._wish.workload
        tree.complete = tree.complete and (tree.mode, tree.workload) == (mode, workload)
        tree.complete = tree.complete and all(
            held.fetched and (held.useless or self._destination.size(name) == held.size)
            for name, held in tree.files.items()
        )
        tree.mode, tree.workload = mode, workload
        source = _source(self._address, tree, self._means)
        if source is None:
            self._outcome.held = len(tree.files)
            return
        with contextlib.closing(source):
            self._run(source)
        if tree.archive is not None and tree.complete:
            self._destination.whole().remove(_archive_file(self._address))

    def _run(self, source: Source) -> None:
        chooser = self._chooser(source)
        files, directories = walk(source, chooser, self._means, self._outcome)
        if chooser is not None:
            self._check_found(chooser)
        elif not files:
            raise DownloadError("there is no file in it")
        self._fetch(source, files, directories)
        if chooser is not None:
            self._replace_useless_caches(source, chooser)
        self._tree.complete = not self._outcome.problems
        self._save()

    def _chooser(self, source: Source) -> OfTests | None:
        """What chooses the files of tests; None where the whole tree is wanted."""

        def is_useless(file: File) -> bool:
            held = self._tree.files.get(file.name)
            if held is None or not held.useless:
                return False
            is_known = file.etag is not None or file.mtime_ns is not None
            now = file if is_known else described(source, [file], self._means)[0]
            return now.is_still(held)

        return None if self._wish is None else OfTests(self._wish, self._destination.directory, is_useless)

    def _fetch(self, source: Source, wanted: list[File], directories: list[str]) -> None:
        """Fetch the files of *wanted* that are missing here, or have changed there."""
        self._check_own(wanted)
        missing = self._missing(source, wanted)
        self._outcome.held += len(wanted) - len(missing)
        size = sum(file.size or 0 for file in missing)
        self._means.budget.check(size)
        self._destination.check_space(size)
        files = self._tree.files
        self._destination.remove_leftovers(name for name, held in files.items() if not held.fetched)
        files.update((file.name, Held()) for file in missing)
        self._save()
        for name in directories:
            self._destination.make_directory(name)
        try:
            fetch_all(source, missing, self._means, self._outcome, files, self._save)
        finally:
            self._save()

    def _check_own(self, files: list[File]) -> None:
        """Refuse to overwrite what this download didn't bring, unless a parse makes it again: a cache, an index."""
        cache = None if self._wish is None else self._wish.cache_filename
        foreign = [
            file.name
            for file in files
            if file.name not in self._tree.files
            and not (is_index(basename(file.name)) or basename(file.name) == cache)
            and os.path.lexists(self._destination.path(file.name))
        ]
        if foreign:
            more = f" and {len(foreign) - 1} more files" if len(foreign) > 1 else ""
            raise DownloadError(
                f"{self._destination.directory} holds {foreign[0]}{more}, which this download would overwrite and "
                "didn't bring: choose another `results_dirname`"
            )

    def _missing(self, source: Source, files: list[File]) -> list[File]:
        """Those of *files* that are not here, or have changed at the source since they were fetched."""
        here = [file for file in files if self._may_be_here(file.name)]
        now = {file.name: file for file in described(source, here, self._means)}
        same = {file.name for file in now.values() if self._is_here(file)}
        return [now.get(file.name, file) for file in files if file.name not in same]

    def _may_be_here(self, name: str) -> bool:
        held = self._tree.files.get(name)
        if held is None:
            return False
        size = self._destination.size(name)
        return size is not None and (size == held.size or not held.fetched)

    def _is_here(self, file: File) -> bool:
        """True if *file* is here as it is at the source."""
        held = self._tree.files[file.name]
        if held.fetched or file.size is None or file.mtime_ns is None:
            return file.is_still(held)
        # It was fetched, and the download killed before it was noted: it has the time of its source.
        if self._destination.state(file.name) != (file.size, file.mtime_ns):
            return False
        self._tree.files[file.name] = Held(size=file.size, etag=file.etag, mtime_ns=file.mtime_ns, fetched=True)
        return True

    def _replace_useless_caches(self, source: Source, chooser: OfTests) -> None:
        """Fetch the artifacts of the tests whose cache a parse could not use, and remove the cache."""
        useless = [test for test in chooser.cached if not self._can_read(chooser.cache_of(test), chooser.wish)]
        if not useless:
            return
        if chooser.wish.mode == "cache_only":
            self._outcome.notes.append(
                f"{len(useless)} of {len(chooser.cached)} caches are of another version of matbench or of another "
                "workload, and are not read: `mode` important fetches the artifacts"
            )
            return
        for test in useless:
            self._tree.files[chooser.cache_of(test)].useless = True
            self._destination.remove(chooser.cache_of(test))
        again = walk(source, self._chooser(source), self._means, self._outcome, [(test, None) for test in useless])
        self._fetch(source, *again)
        self._outcome.notes.append(
            f"{len(useless)} of {len(chooser.cached)} caches are of another version of matbench or of another "
            "workload: the artifacts of their tests were fetched instead"
        )

    def _can_read(self, cache: str, wish: Wish) -> bool:
        held = self._tree.files.get(cache)
        if held is None or not held.fetched:
            return True  # that it couldn't be fetched is said already
        try:
            return wish.can_read_cache(read_regular(self._destination.path(cache)))
        except OSError:
            return False

    def _check_found(self, chooser: OfTests) -> None:
        """Say how many tests there are, and which are left out; DownloadError where there is none."""
        outcome, wish = self._outcome, chooser.wish
        outcome.tests = len(chooser.tests) - len(chooser.without_cache)
        if not chooser.tests:
            looked_for = " or ".join(layout.looks_for for layout in wish.layouts)
            raise DownloadError(f"no test found: workload '{wish.workload}' looks for {looked_for}")
        if chooser.without_cache:
            sentence = (
                f"{len(chooser.without_cache)} of {len(chooser.tests)} tests have no cache, "
                f"{shown(chooser.without_cache[0])} among them: "
                "`mode` prefer_cache or important fetches their artifacts"
            )
            if not outcome.tests:
                raise DownloadError(sentence)
            outcome.notes.append(sentence)

    def _save(self) -> None:
        download_record.save(self._destination.whole().path(download_record.RECORD_FILE), self._kept)


def _remote(address: Address) -> Source:
    """The source at *address* itself, a local archive left out."""
    if address.scheme == "file":
        return LocalSource(Path(address.location))
    if address.scheme == "s3":
        return S3Source(address.location, is_file=bool(address.archive))
    if address.scheme == "hf":
        return HubSource(address.location)
    from . import http  # requests takes a third of a second

    return http.HttpSource(address)


def _source(address: Address, tree: Tree, means: Means) -> Source | None:
    """The source of the tree at *address*; None for an archive from which *tree* already has everything."""
    if not address.archive or os.path.isdir(address.location):
        return _remote(address)
    path: Path | None = Path(address.location)
    if address.scheme != "file":
        path = _fetched_archive(address, tree, means)
    elif os.path.exists(address.location) and not os.path.isfile(address.location):
        raise DownloadError("it is neither a file nor a directory")
    return None if path is None else ArchiveSource(path, address.archive, means.budget.max_bytes)


def _archive_file(address: Address) -> str:
    """Where an archive from elsewhere is kept while it is read, relative to the destination."""
    digest = hashlib.blake2b(address.public.encode(), digest_size=8).hexdigest()
    return f"{OWN_DIRECTORY}/archive-{digest}{address.archive}"


def _fetched_archive(address: Address, tree: Tree, means: Means) -> Path | None:
    """The local copy of the archive at *address*; None where it hasn't changed since *tree* was completed."""
    file = File(_archive_file(address))
    destination = means.destination.whole()
    with contextlib.closing(_remote(address)) as source:
        (now,) = described(source, [file], means)
        same = tree.archive is not None and now.is_still(tree.archive)
        if same and tree.complete:
            return None
        if not (same and tree.archive is not None and destination.size(file.name) == tree.archive.size):
            # Its bytes are not those of the tree: they have a budget of their own.
            own = Means(destination, Budget(means.budget.max_bytes), 1, means.stop)
            destination.remove_leftovers([file.name])
            tree.archive = None
            tree.archive = fetch_one(source, now, own)
    return destination.path(file.name)
