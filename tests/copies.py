"""Copies of trees of thousands of files, which cost most of a test that needs one of its own."""

from __future__ import annotations

import os
import shutil
from pathlib import Path


def linked_copy(source: Path, destination: Path) -> Path:
    """Copy a tree, by links for what nothing changes in place: what matbench rewrites gets a new file."""
    return Path(shutil.copytree(source, destination, copy_function=_link, dirs_exist_ok=True))


def _link(source: str, destination: str) -> None:
    if ".db" in Path(source).name:  # SQLite writes into its files
        shutil.copy2(source, destination)
    else:
        os.link(source, destination)
