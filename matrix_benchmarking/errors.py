"""Errors that are meant for people: one sentence that says what, where and what to do.

Every error that bad input can cause is a :class:`MatbenchError`. The command line prints its
sentence without a stack trace and exits with its ``exit_status``.
"""

from __future__ import annotations

import contextlib
import difflib
import functools
import hashlib
import os
import re
import traceback
import types
from collections.abc import Iterable, Iterator

LONGEST_REASON = 1000
"""Characters of a reason: a parser may quote all of a file."""
_LISTED = 40
_NUMBERS = re.compile(r"([0-9]+)")


class MatbenchError(Exception):
    """The command could not be carried out (exit status 2)."""

    exit_status = 2


class ClusterError(MatbenchError):
    """A cluster that can't be reached, isn't fit for the work, or is gone."""


class VerdictError(MatbenchError):
    """The command was carried out and its verdict is bad (exit status 1)."""

    exit_status = 1


class ConfigError(MatbenchError):
    """A configuration file, an option or a filter that can't be used."""


class WorkloadError(MatbenchError):
    """A workload that can't be found, or one that is wrongly defined."""


class SettingsError(MatbenchError):
    """Settings of a test that can't be read."""


class ArtifactError(MatbenchError):
    """An artifact that is there but can't be understood.

    Attributes:
        path: the artifact's location, as it was opened.
    """

    def __init__(self, path: object, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason


class DownloadError(MatbenchError):
    """Results that can't be fetched."""


class NotFetched(DownloadError):
    """A part of the results that could not be fetched: the server fails, or refuses."""


class OutputError(MatbenchError):
    """An output that can't be written."""


class HistoryError(MatbenchError):
    """A history that can't be opened, read or written."""


class MissingHistoryError(HistoryError):
    """There is no history yet: the first upload makes it."""

    def __init__(self, where: str) -> None:
        super().__init__(f"there is no history {where} yet: 'matbench upload_lts' makes it")


class UnavailableError(HistoryError):
    """The history's server is away, refuses us or gave up in the middle: what it didn't acknowledge can be sent later.

    Attributes:
        acknowledged: how many of the records, in their order, are dealt with.
        not_kept: the ids of those among them that were refused, or are in conflict.
    """

    def __init__(self, sentence: str, acknowledged: int = 0) -> None:
        super().__init__(sentence)
        self.acknowledged = acknowledged
        self.not_kept: list[str] = []


INSTALL = "pip install 'matrix-benchmarking["  # an extra follows


@contextlib.contextmanager
def needing(what: str, extra: str, kind: type[Exception] = ConfigError) -> Iterator[None]:
    """Turn a failing import, which *what* needs, into an error that says which *extra* brings it."""
    try:
        yield
    except ImportError as error:
        raise kind(f"{what} needs {error.name}: {INSTALL}{extra}]'") from error


@contextlib.contextmanager
def failing(what: str, kind: type[MatbenchError]) -> Iterator[None]:
    """Turn an error of the operating system into one of this *kind*, which says *what* failed, and why."""
    try:
        yield
    except OSError as error:
        raise kind(f"{what}: {os_reason(error)}") from error


def shortened(text: str, longest: int = 200) -> str:
    """*text*, cut where it is longer than *longest*; what stands for the rest tells different texts apart."""
    return text if len(text) <= longest else _cut(text, longest)


@functools.lru_cache(maxsize=64)
def _cut(text: str, longest: int) -> str:
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
    return f"{text[: longest // 2]}… ({len(text):,} characters, {digest})"


@functools.lru_cache(maxsize=65536)
def natural(name: str) -> tuple[tuple[int, int, str], ...]:
    """A sorting key by which ``9__run`` comes before ``10__run``; names that differ at all have different keys."""
    parts = filter(None, _NUMBERS.split(name))
    return tuple((0, int(part), part) if part.isascii() and part.isdigit() else (1, 0, part) for part in parts)


def did_you_mean(name: str, candidates: Iterable[str]) -> str:
    """The end of a sentence about an unknown *name*: the nearest candidate, else all of them, numbers by their size.

    No number is near another one.
    """
    known = sorted(map(shortened, candidates), key=natural)
    nearest = [] if name.isdecimal() else difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    if nearest:
        return f"did you mean '{nearest[0]}'?"
    if known:
        more = f" and {len(known) - _LISTED:,} more" if len(known) > _LISTED else ""
        return "known: " + ", ".join(known[:_LISTED]) + more
    return "none is known"


def sentence(text: str) -> str:
    """*text* with its full stop, unless it ends with a question."""
    return text if text.endswith(("?", ".")) else f"{text}."


def os_reason(error: OSError) -> str:
    """What the operating system said, without the number and the path."""
    return error.strerror or type(error).__name__


def place(error: BaseException) -> str:
    """Where the code is that raised *error*, for the end of a sentence."""
    frames = traceback.extract_tb(error.__traceback__)
    return f" ({os.path.basename(frames[-1].filename)}, line {frames[-1].lineno})" if frames else ""


def explained(error: BaseException) -> str:
    """What an error of code that reads results says of them, without Python's words where there are others."""
    said = str(error.args[0]) if error.args else ""
    if isinstance(error, AttributeError) and error.name is not None:
        if error.obj is None:
            return f"what should have '{error.name}' is not known"
        is_weak = isinstance(error.obj, types.SimpleNamespace)
        return f"there is no '{error.name}'" if is_weak else f"a {type(error.obj).__name__} has no '{error.name}'"
    if isinstance(error, KeyError) and said:
        return said if " " in said else f"there is no '{said}'"
    if isinstance(error, IndexError):
        return "a list in it is shorter than expected"
    if isinstance(error, SystemExit):
        return f"sys.exit({said}) was called"
    if isinstance(error, TypeError) and "NoneType" in said:
        return "a value that is needed is not known"
    return f"{type(error).__name__}: {str(error)[:300]}"
