"""The ends of the logs in a test directory, which may come from a stranger: regular files in it, a few bytes each."""

from __future__ import annotations

import dataclasses
import fnmatch
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

NAMES = ("*.log", "stdout", "stdout.*", "stderr", "stderr.*", "*.stdout", "*.stderr", "*.out", "*.err")
LINES, LONGEST_LINE, TAIL_BYTES = 20, 500, 16 * 1024
FILES, LISTED, DEPTH = 4, 500, 2
"""Of one test: how many logs are read, how many directory entries are looked at, how deep."""


@dataclasses.dataclass(frozen=True, slots=True)
class Tail:
    """The last lines of a log; *file* is relative to the test directory."""

    file: str
    lines: tuple[str, ...]

    @property
    def last_line(self) -> str:
        """The last line with something in it; empty for none."""
        return next((line.strip() for line in reversed(self.lines) if line.strip()), "")


def tails(location: Path) -> list[Tail]:
    """The ends of the logs of the test directory *location*, what most likely names a cause first.

    Errors come before output, and the last of the numbered artifact directories before the others. A log that can't be
    read is left out; bytes that are no text are shown as ``\\xff``.
    """
    names = sorted(_names(location, "", DEPTH), reverse=True)
    names.sort(key=lambda name: "err" not in os.path.basename(name).lower())
    read = (_tail(location, name) for name in names[:FILES])
    return [tail for tail in read if tail is not None and tail.lines]


def cause(found: list[Tail]) -> str:
    """The line that most likely says why a test failed: the last of the first log; empty where there is none."""
    return next((tail.last_line for tail in found if tail.last_line), "")


def same_cause(line: str) -> str:
    """*line* without its numbers and ids, by which causes are the same."""
    return re.sub(r"\b[0-9a-f]{8,}\b|\d+", "#", line)


def _names(location: Path, below: str, depth: int) -> Iterator[str]:
    """Names of logs in a directory, no link among them or on the way."""
    try:
        with os.scandir(location / below) as entries:
            listed = [entry for entry, _ in zip(entries, range(LISTED), strict=False)]
    except OSError:
        return
    for entry in listed:
        name = f"{below}{entry.name}"
        if entry.is_dir(follow_symlinks=False) and depth > 1:
            yield from _names(location, f"{name}/", depth - 1)
        elif entry.is_file(follow_symlinks=False) and any(fnmatch.fnmatch(entry.name.lower(), each) for each in NAMES):
            yield name


def _tail(location: Path, name: str) -> Tail | None:
    try:
        descriptor = os.open(location / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    with open(descriptor, "rb", buffering=0) as stream:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return None
        try:
            stream.seek(max(0, status.st_size - TAIL_BYTES))
            content = stream.read(TAIL_BYTES) or b""
        except OSError:
            return None
    lines = content.decode("utf-8", "backslashreplace").splitlines()
    if status.st_size > TAIL_BYTES and len(lines) > 1:
        del lines[0]  # it begins somewhere in a line
    return Tail(name, tuple(_shortened(line) for line in lines[-LINES:]))


def _shortened(line: str) -> str:
    return line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]}…"
