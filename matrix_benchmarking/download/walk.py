"""The walk through a source: level by level, asking the chooser what is wanted, within bounds."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator

from ..errors import DownloadError, NotFetched
from . import names
from .source import Directory, File
from .wanted import Choice, Chooser

MAX_ENTRIES = 1_000_000

Node = tuple[str, str | None]
"""A directory and the test directory that it is in."""


@dataclasses.dataclass(frozen=True, slots=True)
class Plan:
    """What is to be fetched: files in the order of the source, directories to be made, sentences on the rest.

    *problems* are on directories that could not be listed, *notes* on what is not taken.
    """

    files: list[File]
    directories: list[str]
    notes: list[str]
    problems: list[str]


def walk(
    listings: Callable[[Iterable[str]], Iterator[Directory | DownloadError]],
    chooser: Chooser,
    start: Iterable[Node] = (("", None),),
) -> Plan:
    """Walk from the directories *start* downwards.

    Args:
        listings: the content of each directory, in their order, or why it can't be listed.

    Raises:
        DownloadError: the first directory can't be listed, or the tree has more than MAX_ENTRIES entries.
    """
    level = list(start)
    files: dict[str, File] = {}
    directories: list[str] = []
    notes: list[str] = []
    problems: list[str] = []
    entries = 0
    while level:
        below: list[Node] = []
        for (name, test), content in zip(level, listings(name for name, _ in level), strict=True):
            if isinstance(content, DownloadError):
                if not name:
                    raise content
                is_missing = isinstance(content, NotFetched)
                (problems if is_missing else notes).append(f"{names.shown(name)}: left out, {content}")
                continue
            entries += len(content.files) + len(content.directories)
            if entries > MAX_ENTRIES:
                raise DownloadError(f"the tree has more than {MAX_ENTRIES:,} entries: give an address further down")
            choice = chooser.choose(name, _sorted_out(content, notes), test)
            _add(choice, files, directories, below)
        level = below
    files |= {file.name: file for file in chooser.inherited()}
    in_order = sorted(files.values(), key=lambda file: (file.position, file.name))
    return Plan(in_order, directories, notes, problems)


def _add(choice: Choice, files: dict[str, File], directories: list[str], below: list[Node]) -> None:
    files.update((file.name, file) for file in choice.files)
    below.extend((name, choice.test) for name in choice.directories)
    if choice.test is not None:
        directories.extend(choice.directories)


def _sorted_out(content: Directory, notes: list[str]) -> Directory:
    """*content* without matbench's own books, what is too deep, and files with the name of a directory."""
    notes.extend(content.left_out)
    own = names.OWN_DIRECTORY
    taken = set(content.directories)
    kept = Directory([], [name for name in content.directories if name != own and _is_safe(name, notes)])
    for file in content.files:
        if file.name in taken:
            notes.append(f"{names.shown(file.name)}: left out, there is a directory of that name")
        elif file.name != own and _is_safe(file.name, notes):
            kept.files.append(file)
    return kept


def _is_safe(name: str, notes: list[str]) -> bool:
    reason = names.unsafe(name)
    if reason is not None:
        notes.append(f"{names.shown(name)}: left out, {reason}")
    return reason is None
