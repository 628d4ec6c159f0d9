"""The fetched trees once more, in the artifacts directory that a continuous integration keeps."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path

from .. import download_record
from ..download_record import Held
from ..errors import DownloadError
from . import names
from .destination import Destination
from .fetch import Budget, Means, fetch_all
from .local import LocalSource
from .source import File

VARIABLE = "ARTIFACT_DIR"


def artifacts_directory(environment: Mapping[str, str]) -> Path:
    """The artifacts directory that the environment names.

    Raises:
        DownloadError: it names none.
    """
    named = environment.get(VARIABLE)
    if not named:
        raise DownloadError(
            f"{VARIABLE} is not set, so --save-to-artifacts has no place to copy to: set it to a directory"
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
        File(names.join(tree.subdirectory, name))
        for tree in record.trees
        for name, held in tree.files.items()
        if held.fetched and not held.useless
    ]
    destination = Destination(directory / root.name)
    means = Means(destination, Budget(2**63), jobs)
    with contextlib.closing(LocalSource(root)) as source:
        copied = fetch_all(source, files, means, dict[str, Held](), lambda: None)
    if copied.problems:
        raise DownloadError("\n".join(f"not copied to {destination.root}: {each}" for each in copied.problems))
    download_record.save(destination.path(download_record.RECORD_FILE), record)  # says which caches came alone
    return destination.root
