"""The order of versions: which of two labels of what was measured is the newer one.

Labels are settings: text, numbers, or nothing at all. There are four kinds: unknown ones; versions by their numbers,
release candidates before the release; tags with a date, by the date; and everything else (names, commits), which have
no order of their own. ``1`` and ``"1"`` are different labels, next to each other.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence
from typing import Any

from ...filters import exact, show
from ...matrix import NOT_SET

UNKNOWN, NUMBERED, DATED, PLAIN = range(4)
_DEV, _END, _DIGITS, _WORD = range(4)
_SEPARATORS = " -_./:@"

DATE = re.compile(
    r"(?<![0-9])((?:19|20)[0-9]{2})(-?)(0[1-9]|1[0-2])\2(0[1-9]|[12][0-9]|3[01])(?![0-9])"
    r"((?:[T_.:-][0-9]+)*)Z?(?![0-9A-Za-z])"
)
_DAY_FIRST = re.compile(
    r"[0-3]?[0-9]([-/_])[0-3]?[0-9]\1(?:19|20)[0-9]{2}|[0-3][0-9]([-/_])[0-3][0-9]\2[0-9]{2}"
    r"|0[0-9]\.[01][0-9]\.[0-9]{2}"  # of 31.01.26 alone nobody knows; no version begins with a 0 that it needn't have
)
_NUMBERED = re.compile(r"([^0-9]*)([0-9]+(?:\.[0-9]+)*)(.*)", re.DOTALL)
_PARTS = re.compile(r"[0-9]+|[A-Za-z]+")
_COMMIT = re.compile(r"(?=[0-9a-f]*[a-f])(?=[0-9a-f]*[0-9])[0-9a-f]{7,40}")
_FULL_COMMIT = re.compile("[0-9a-f]{40}|[0-9a-f]{64}")
_SHORT_COMMIT = 10
_COMMITS_SINCE = re.compile(r"-([0-9]+)-g[0-9a-f]{4,40}(?:-dirty)?")
_TOKENS = re.compile(r"[0-9A-Za-z]+")
_YEAR = re.compile("(?:19|20)[0-9]{2}")
_DAY = re.compile(r"(0?[1-9]|[12][0-9]|3[01])\.(0?[1-9]|1[0-2])\.([2-3][0-9])")
_SAME = {"a": "alpha", "b": "beta", "c": "rc", "pre": "rc", "preview": "rc", "snapshot": "dev", "nightly": "dev"}
_EARLY = frozenset({"dev", "alpha", "beta", "rc", "milestone", "m", "ea"})
_NAMES_OF_THE_RELEASE = frozenset({"final", "ga", "release", "stable"})
_LATE = frozenset({"post", "p", "patch"})
_WORDS = _EARLY | _NAMES_OF_THE_RELEASE | _LATE

VersionKey = tuple[Any, ...]


def in_words(labels: Sequence[object]) -> list[str]:
    """Each of *labels* as text; full commits are cut to as many digits as tell them apart, ten at least."""
    texts = [show(label) for label in labels]
    commits = {text for text in texts if _FULL_COMMIT.fullmatch(text)}
    lengths = itertools.count(_SHORT_COMMIT)
    length = next(length for length in lengths if len({text[:length] for text in commits}) == len(commits))
    return [text[:length] if text in commits else text for text in texts]


def in_word(label: object) -> str:
    """One label as :func:`in_words` has it."""
    (said,) = in_words([label])
    return said


def against(old: object, new: object) -> str:
    """``1.3.1 against 1.3.0``."""
    return " against ".join(in_words([new, old]))


def same_kind(labels: Iterable[object]) -> int | None:
    """``NUMBERED`` or ``DATED`` where all *labels* are of this kind, numbered ones with one name; else None."""
    labels = list(labels)
    if _are_days(labels):
        return None
    keys = [key(label) for label in labels]
    kinds, names = {one[0] for one in keys}, {one[1] for one in keys if one[0] == NUMBERED}
    return kinds.pop() if kinds in ({NUMBERED}, {DATED}) and len(names) < 2 else None


def _are_days(labels: Sequence[object]) -> bool:
    """Whether these look like days, as 31.10.25 and 2.11.25: no project has so many releases of so few fixes."""
    days = [match for label in labels if isinstance(label, str) and (match := _DAY.fullmatch(label))]
    firsts, years = ({int(day[place]) for day in days} for place in (1, 3))
    return len(days) == len(labels) and max(firsts, default=0) > 12 and len(firsts) > 2 > len(years) - 1


def is_commit(text: str) -> bool:
    """Whether *text* looks like the name of a commit, in full or cut."""
    return _COMMIT.fullmatch(text) is not None


def key(label: object) -> VersionKey:
    """A sorting key, whose first element is the kind; all of kind ``PLAIN`` have the same one.

    Two versions have the same key where nothing that is known of versions tells which is the newer one: builds with a
    hash, variants such as ``-gpu``, ``1.0`` and ``1.0.0``.
    """
    if label is None or label is NOT_SET:
        return (UNKNOWN,)
    text = exact(label)
    version, _, build = text.partition("+")
    if any(_COMMIT.fullmatch(part) for part in _TOKENS.findall(version)):
        return (PLAIN,)
    date = DATE.search(version)
    if date is not None:
        day = "".join(date.group(1, 3, 4))
        time = tuple(map(_number, re.findall("[0-9]+", date[5])))
        rest = _version_key(version[: date.start()] + version[date.end() :], "")
        return DATED, day, time, () if rest is None else rest[1:]
    numbered = _version_key(version, build)
    return (PLAIN,) if numbered is None else (NUMBERED, *numbered)


def _version_key(text: str, build: str) -> VersionKey | None:
    """Name, numbers, phase, what follows the numbers, a build's number; None for a text that is no version."""
    match = _NUMBERED.fullmatch(text.strip())
    if match is None or match[1] == "-":  # a negative number is no version
        return None
    if _DAY_FIRST.fullmatch(text.strip()):  # 31-01-26, 1/31/2026: the number in front says nothing
        return None
    name = re.sub("(?<![a-z])v$", "", match[1].lower().strip(_SEPARATORS)).strip(_SEPARATORS)
    first, *others = match[2].split(".")
    suffix = _suffix(match[3], is_semantic=len(others) == 2)
    if suffix is None or any(map(_YEAR.fullmatch, others)):  # 31.01.2026: the number in front says nothing
        return None
    release = [_number(digits) for digits in (first, *others)]
    while release[-1:] == [(1, "0")]:
        release.pop()
    numbers = re.fullmatch(r"[0-9]+(?:\.[0-9]+)*", build)
    return name, tuple(release), *suffix, tuple(map(_number, build.split("."))) if numbers else ()


def _suffix(text: str, *, is_semantic: bool) -> tuple[bool, VersionKey] | None:
    """False if *text* makes a version one before the release, true if the release or one after it; and its parts.

    It is read up to the first word that nobody knows. None where it makes the whole no version: a word that stands
    right behind the numbers, a year. A hyphen behind three numbers makes a version before the release
    (https://semver.org, 9), except for the commits since it that ``git describe`` counts.
    """
    since = _COMMITS_SINCE.fullmatch(text)
    if since is not None:
        return True, _identifiers([since[1]])
    known = []
    for place, part in enumerate(_PARTS.findall(text)):
        word = _SAME.get(part.lower(), part.lower())
        if _YEAR.fullmatch(part) and place == 0:
            return None
        if not part[0].isdigit() and word not in _WORDS:
            if place == 0 and text[0].isalpha():
                return None
            break
        known.append(part)
    if not known:
        return True, ()
    first = _SAME.get(known[0].lower(), known[0].lower())
    if first in _NAMES_OF_THE_RELEASE:
        return True, ()
    is_early = first in _EARLY or (is_semantic and text.startswith("-") and first not in _LATE)
    return not is_early, _identifiers(known)


def _identifiers(known: Iterable[str]) -> VersionKey:
    """Numbers before words, the end before both, and ``dev`` before everything."""
    parts: list[tuple[int, Any]] = []
    for part in known:
        word = _SAME.get(part.lower(), part.lower())
        parts.append((_DIGITS, _number(part)) if part[0].isdigit() else (_DEV, "") if word == "dev" else (_WORD, word))
    return (*parts, (_END, ""))


def _number(digits: str) -> tuple[int, str]:
    """Digits in the order of their numbers, however many there are."""
    plain = digits.lstrip("0") or "0"
    return len(plain), plain
