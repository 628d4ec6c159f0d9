"""The order of versions: which of two labels of what was measured is the newer one.

Labels are settings: text, numbers, or nothing at all. There are four kinds: unknown ones; versions by their numbers,
release candidates before the release; tags with a date, by the date; and everything else (names, commits), which have
no order of their own. ``1`` and ``"1"`` are different labels, next to each other.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from ...filters import show
from ...matrix import NOT_SET

UNKNOWN, NUMBERED, DATED, PLAIN = range(4)
_BEFORE, _RELEASE, _AFTER = -1, 0, 1

DATE = re.compile(
    r"(?<![0-9])((?:19|20)[0-9]{2})(-?)(0[1-9]|1[0-2])\2(0[1-9]|[12][0-9]|3[01])(?![0-9])"
    r"((?:[T_.:-][0-9]+)*)Z?(?![0-9A-Za-z])"
)
_NUMBERED = re.compile(r"([^0-9]*)([0-9]+(?:\.[0-9]+)*)(.*)", re.DOTALL)
_PARTS = re.compile(r"[0-9]+|[A-Za-z]+")
_COMMIT = re.compile(r"(?=[0-9a-f]*[a-f])(?=[0-9a-f]*[0-9])[0-9a-f]{7,40}")
_FULL_COMMIT = re.compile("[0-9a-f]{40}|[0-9a-f]{64}")
_SHORT_COMMIT, _LONGEST_COMMIT = 10, 64
_COMMITS_SINCE = re.compile(r"-[0-9]+-g[0-9a-f]{4,40}(?:-dirty)?")
_SAME = {"a": "alpha", "b": "beta", "c": "rc", "pre": "rc", "preview": "rc", "snapshot": "dev", "nightly": "dev"}
_EARLY = frozenset({"dev", "alpha", "beta", "rc", "milestone", "m", "ea"})
_NAMES_OF_THE_RELEASE = frozenset({"final", "ga", "release", "stable"})

Key = tuple[Any, ...]


def in_words(labels: Sequence[object]) -> list[str]:
    """Each of *labels* as text; full commits are cut to as many digits as tell them apart, ten at least."""
    texts = [show(label) for label in labels]
    commits = {text for text in texts if _FULL_COMMIT.fullmatch(text)}
    for length in range(_SHORT_COMMIT, _LONGEST_COMMIT):
        if len({text[:length] for text in commits}) == len(commits):
            return [text[:length] if text in commits else text for text in texts]
    return texts


def same_kind(labels: Iterable[object]) -> int | None:
    """``NUMBERED`` or ``DATED`` where all *labels* are of this kind, numbered ones with one name; else None."""
    keys = [key(label) for label in labels]
    kinds, names = {one[0] for one in keys}, {one[1] for one in keys if one[0] == NUMBERED}
    return kinds.pop() if kinds in ({NUMBERED}, {DATED}) and len(names) < 2 else None


def key(label: object) -> Key:
    """A sorting key, whose first element is the kind; all of kind ``PLAIN`` have the same one."""
    if label is None or label is NOT_SET:
        return UNKNOWN, show(label)
    text = show(label)
    last = (text, type(label).__name__)
    if isinstance(label, bool) or _COMMIT.fullmatch(text):
        return (PLAIN,)
    version, _, build = text.partition("+")
    date = DATE.search(version)
    if date is not None:
        day = "".join(date.group(1, 3, 4))
        time = tuple(map(_number, re.findall("[0-9]+", date[5])))
        rest = _version_key(version[: date.start()] + version[date.end() :], "")
        return DATED, day, time, rest or (), *last
    numbered = _version_key(version, build)
    return (PLAIN,) if numbered is None else (NUMBERED, *numbered, *last)


def _version_key(text: str, build: str) -> Key | None:
    """Name, numbers, phase, what follows the numbers, build; None for a text without numbers."""
    match = _NUMBERED.fullmatch(text.strip())
    if match is None or match[1] == "-":  # a negative number is no version
        return None
    name = match[1].lower().strip(" -_./:@")
    if name == "v" or re.search("[^a-z]v$", name):
        name = name[:-1].strip(" -_./:@")
    release = [_number(digits) for digits in match[2].split(".")]
    phase, rest = _suffix(match[3], is_semantic=len(release) == 3)
    while len(release) > 1 and release[-1] == (1, "0"):
        release.pop()
    return name, tuple(release), phase, rest, _identifiers(build)


def _suffix(text: str, *, is_semantic: bool) -> tuple[int, Key]:
    """Whether *text* makes a version one before the release, the release or one after it; and its parts.

    A hyphen behind three numbers makes a version before the release (https://semver.org, 9), except for the commits
    since it that ``git describe`` counts.
    """
    words = [part.lower() for part in _PARTS.findall(text)]
    if not words:
        return (_RELEASE if not text else _AFTER), ()
    first = _SAME.get(words[0], words[0])
    if first in _NAMES_OF_THE_RELEASE and len(words) == 1:
        return _RELEASE, ()
    is_early = first in _EARLY or (is_semantic and text.startswith("-") and first not in ("post", "p", "patch"))
    if _COMMITS_SINCE.fullmatch(text):
        is_early = False
    return (_BEFORE if is_early else _AFTER), _identifiers(text)


def _identifiers(text: str) -> Key:
    """Numbers before words, the end before both, and ``dev`` before everything."""
    parts: list[tuple[int, Any]] = []
    for part in _PARTS.findall(text):
        word = _SAME.get(part.lower(), part.lower())
        parts.append((1, _number(part)) if part[0].isdigit() else (-1, "") if word == "dev" else (2, word))
    return (*parts, (0, ""))


def _number(digits: str) -> tuple[int, str]:
    """Digits in the order of their numbers, however many there are."""
    plain = digits.lstrip("0") or "0"
    return len(plain), plain
