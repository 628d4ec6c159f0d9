"""A download as a whole: one process at a time in a destination, one tree after the other, whatever fails."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from .. import download_record
from ..errors import DownloadError, MatbenchError, OutputError, os_reason
from . import names
from .addresses import Place, check_apart_from
from .destination import Destination
from .fetch import Budget, Means, Progress
from .tree import Outcome, Wish, fetch_tree

LOCK_FILE = f"{names.OWN_DIRECTORY}/download.lock"


def download(
    places: Sequence[Place],
    wish: Wish,
    root: Path,
    *,
    max_bytes: int,
    jobs: int,
    progress: Progress | None = None,
) -> list[Outcome]:
    """Fetch the trees at *places* into *root*; gives an outcome for each, whose ``problems`` say what failed.

    Args:
        max_bytes: what may be fetched, all trees together.
        jobs: number of files that are fetched at a time.
        progress: called with the number of files done and of all, for each tree.

    Raises:
        OutputError: *root* can't be written.
        DownloadError: another download works in *root*, its record can't be used, or it lies in one of the trees.
    """
    for place in places:
        check_apart_from(place.address, Path(os.path.realpath(root / place.subdirectory)))
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
