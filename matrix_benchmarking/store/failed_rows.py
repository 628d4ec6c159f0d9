"""Which rows of a table are runs that failed, by what a column ``exit_code``, ``state`` or ``status`` says."""

from __future__ import annotations

import collections
import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from ..filters import Scalar, show
from ..plausible import is_number

STATES = ("state", "status")
_GOOD = frozenset(
    ("", "0", "ok", "success", "succeeded", "pass", "passed", "none", "true", "false", "-", "–", "✓", "✔", "✅")
)
_FINISHED = _GOOD - {"false"} | {"finished", "completed", "complete", "done", "successful", "good", "erfolgreich"}
_NOT_FINISHED = frozenset(
    ("failed", "failure", "fail", "crashed", "crash", "killed", "error", "errored", "running", "pending", "scheduled",
     "aborted", "timeout", "timed", "cancelled", "canceled", "oom", "preempting", "preempted", "unfinished",
     "fehlgeschlagen", "fehler", "abgebrochen", "✗", "✘", "✖", "❌")
)  # fmt: skip
_MAY_SAY = frozenset(
    ("success", "succeeded", "successful", "ok", "pass", "passed", "failed", "failure", "error", "rc", "retcode",
     "returncode", "exitcode", "exitstatus")
)  # fmt: skip
"""Columns that are not read, without the signs that join their words."""
_NAMED = 3
UNCLEAR_CODES = "TRUE or FALSE as exit_code is taken for success: write 0, or another number for a failure; rows:"


def failed_with(row: Mapping[str, Scalar]) -> int:
    """The number in a column ``exit_code`` of *row*; 1 for a word such as ``OOM``, 0 without one.

    Without that column, 1 where the first word of a column ``state`` or ``status`` says so, as in ``failed (OOM)``.
    """
    code = row.get("exit_code")
    if code is None and "exit_code" not in row:
        return int(any(map(_has_failed, _states(row))))
    if not is_number(code):
        return int(isinstance(code, str) and code.strip().lower() not in _GOOD)
    return math.ceil(abs(code)) if abs(code) < 1 << 63 else 1


def has_unclear_code(row: Mapping[str, Scalar] | str) -> bool:
    """Whether a column ``exit_code`` of *row* may mean either: that the run failed, or that it succeeded."""
    code = None if isinstance(row, str) else row.get("exit_code")
    return isinstance(code, bool) or (isinstance(code, str) and code.strip().lower() in ("true", "false"))


class FailedRows:
    """How many rows say in columns that nobody named, those *columns* and others, that their run failed, and what may
    say it and isn't understood.

    Attributes:
        read: the columns that say it.
    """

    def __init__(self, columns: Sequence[str] = ()) -> None:
        self.read = _read(columns)
        self._may_say = [name for name in columns if re.sub(r"[\W_]", "", name).lower() in _MAY_SAY]
        self._rows = self._failed = self._unclear = self._known = 0
        self._words = collections.Counter[str]()

    def see(self, row: Mapping[str, Scalar]) -> None:
        row = {name: row.get(name) for name in _read(row)}
        self.read = self.read or [*row]
        self._rows += 1
        self._failed += bool(failed_with(row))
        self._unclear += has_unclear_code(row)
        words = [text for text in _states(row) if not (_has_failed(text) or _first_word(text) in _FINISHED)]
        self._known += not words and any(_states(row))
        self._words.update(words)

    def said(self) -> Iterator[str]:
        if self._failed:
            yield f"{self.read[0]}: {self._failed} of {self._rows} rows say that their run failed, and take no part"
        yield from (*self.unknown(), *self.unclear())
        for name in self._may_say if not self.read else ():
            yield f"{name} may say which runs failed, and isn't read: call it exit_code, 0 where a run succeeded"

    def unknown(self, *, beside_known: bool | None = None) -> Iterator[str]:
        """A sentence on words that aren't understood, in any table, or in one where others are, or in one without."""
        if self._words and beside_known in (None, self._known > 0):
            words = ", ".join(f"'{word}' in {count}" for word, count in self._words.most_common(_NAMED))
            what = f"{self.read[0]}: {words} of {self._rows} rows"
            yield f"{what}, taken for a success: write failed, or finished, as the first word"

    def unclear(self) -> Iterator[str]:
        if self._unclear:
            yield f"{UNCLEAR_CODES} {self._unclear}"


def _read(columns: Collection[str]) -> list[str]:
    return ["exit_code"] if "exit_code" in columns else [name for name in columns if name.lower() in STATES]


def _states(row: Mapping[str, Scalar]) -> list[str]:
    return [show(value).strip() for name, value in row.items() if name.lower() in STATES and value is not None]


def _has_failed(text: str) -> bool:
    """Whether its first word says so, and the rest doesn't take that back, as in ``error: none`` or ``error-free``."""
    word = _first_word(text)
    rest = text.lower().strip().removeprefix(word)
    return word in _NOT_FINISHED and not re.match(r"-\w|\W*(?:0|no|none|ok)\b", rest)


def _first_word(text: str) -> str:
    """In small letters; of a text without any, such as a tick, its first sign."""
    return next(iter(re.findall(r"\w+", text.lower())), text.strip()[:1])
