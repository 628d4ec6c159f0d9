"""A download as a whole: one process at a time in a destination, one tree after the other, whatever fails.

And the fetched trees once more, in the artifacts directory that a continuous integration keeps.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from .. import download_record
from ..errors import DownloadError, MatbenchError, OutputError, os_reason
from .addresses import Address, Place
from .destination import Destination
from .fetch import Budget, Means, Outcome, Progress, fetch_all
from .local import LocalSource
from .source import OWN_DIRECTORY, File, join
from .tree import fetch_tree
from .wanted import Wish

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
    with _only_one(destination):
        destination.remove_leftovers([download_record.RECORD_FILE])
        kept = download_record.load(destination.root)
        for place in places:
            outcome = Outcome(place.address.public)
            means = Means(Destination(root, place.subdirectory), budget, jobs, progress=progress)
            try:
                fetch_tree(place, wish, kept, means, outcome)
            except MatbenchError as error:
                outcome.problems.append(str(error))
            outcomes.append(outcome)
    return outcomes


def artifacts_directory(environment: Mapping[str, str]) -> Path:
    """The artifacts directory that the environment names.

    Raises:
        DownloadError: it names none.
    """
    named = environment.get(VARIABLE)
    if not named:
        raise DownloadError(
            f"{VARIABLE} is not set, so `save_to_artifacts` has no place to copy to: set it to a directory"
        )
    return Path(named)


def save_to_artifacts(root: Path, directory: Path, *, jobs: int) -> Path:
    """Copy what was downloaded to *root* into a directory of its name in *directory*; gives that directory.

    Nothing is copied where *root* lies in *directory* already.

    Raises:
        DownloadError: a file can't be copied.
        OutputError: the directory can't be written.
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
    destination = Destination(directory / root.name)
    means = Means(destination, Budget(2**63), jobs)
    copied = Outcome(str(root))
    fetch_all(LocalSource(root), files, means, copied, held={})
    if copied.problems:
        raise DownloadError("\n".join(f"not copied to {destination.root}: {each}" for each in copied.problems))
    download_record.save(destination.path(download_record.RECORD_FILE), record)  # says which caches came alone
    return destination.root


@contextlib.contextmanager
def _only_one(destination: Destination) -> Iterator[None]:
    """Hold the destination. The system lets go of it if we die."""
    path = destination.path(LOCK_FILE)
    try:
        path.parent.mkdir(exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
    except OSError as error:
        raise OutputError(f"cannot write to {destination.root}: {os_reason(error)}") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise DownloadError(f"another download works in {destination.root}: wait for it, or end it") from None
    finally:
        os.close(descriptor)


def _check_apart(address: Address, root: Path) -> None:
    """Raise DownloadError where a local tree and its destination lie in one another."""
    if address.scheme != "file":
        return
    tree = Path(os.path.realpath(address.location))
    if tree.is_dir() and (tree == root or root in tree.parents or tree in root.parents):
        raise DownloadError(f"{address.public} and the destination {root} lie in one another: choose another one")
