"""From an address to its source; an archive that lies elsewhere is fetched first."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

from ..download_record import Tree
from ..errors import DownloadError
from . import names, walk
from .addresses import Address
from .archive import ArchiveSource
from .fetch import Budget, Means, described, fetch_one
from .http import HttpSource
from .local import LocalSource
from .s3 import S3Source
from .source import File, Source


def remote(address: Address) -> Source:
    """The source at *address* itself, a local archive left out."""
    if address.scheme == "file":
        return LocalSource(Path(address.location))
    return S3Source(address) if address.scheme == "s3" else HttpSource(address)


@contextlib.contextmanager
def opened(address: Address, tree: Tree, means: Means) -> Iterator[Source | None]:
    """The source of the tree at *address*; None for an archive from which *tree* already has everything.

    Raises:
        DownloadError: it can't be reached, or is no results tree.
    """
    if not address.archive or os.path.isdir(address.location):
        with contextlib.closing(remote(address)) as source:
            yield source
        return
    if address.scheme == "file":
        path = Path(address.location)
        if path.exists() and not path.is_file():
            raise DownloadError("it is neither a file nor a directory")
    else:
        found = _fetched_archive(address, tree, means)
        if found is None:
            yield None
            return
        path = found
    limit = means.budget.max_bytes
    with contextlib.closing(ArchiveSource(path, address.archive, limit, walk.MAX_ENTRIES)) as source:
        yield source


def archive_file(address: Address) -> str:
    """Where an archive from elsewhere is kept while it is read, relative to the destination."""
    digest = hashlib.blake2b(address.public.encode(), digest_size=8).hexdigest()
    return f"{names.OWN_DIRECTORY}/archive-{digest}{address.archive}"


def _fetched_archive(address: Address, tree: Tree, means: Means) -> Path | None:
    """The local copy of the archive at *address*; None where it hasn't changed since *tree* was completed."""
    file = File(archive_file(address))
    destination = means.destination.whole()
    with contextlib.closing(remote(address)) as source:
        (now,) = described(source, [file], means)
        same = tree.archive is not None and tree.archive.is_of(now)
        if same and tree.complete:
            return None
        if not (same and tree.archive is not None and destination.size(file.name) == tree.archive.size):
            # Its bytes are not those of the tree: they have a budget of their own.
            own = Means(destination, Budget(means.budget.max_bytes), 1, means.stop)
            destination.remove_leftovers([file.name])
            tree.archive = None
            tree.archive = fetch_one(source, now, own)
    return destination.path(file.name)
