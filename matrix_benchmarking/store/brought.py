"""Which tests a download brought as their caches alone, by its record."""

from __future__ import annotations

import os
from pathlib import Path

from .. import download_record


def brought_alone(root: Path, cache_filename: str) -> set[str]:
    """The test directories below *root*, relative to it, whose cache a download brought, with all that it brought.

    Where something of it is gone, that the artifacts are not here may not be the download's doing.
    """
    brought = [name for name, held in download_record.brought_below(root) if held.fetched and not held.useless]
    tests = {name.rpartition("/")[0] for name in brought if name.rpartition("/")[2] == cache_filename}
    gone = (name for name in brought if not os.path.lexists(root / name))
    return tests.difference(*(_above(name) for name in gone))


def _above(name: str) -> list[str]:
    parts = name.split("/")
    return ["/".join(parts[:length]) for length in range(len(parts))]
