"""Settings: flat ``name: scalar`` mappings, checked, with their types kept.

They are in files, in ``key=value`` lines, and in the names of directories and files, which a pattern such as
``results/{hw_type}/{engine}-{version}`` tells.
"""

from __future__ import annotations

import collections
import functools
import itertools
import json
import math
import os
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any, NoReturn

import yaml

from .errors import ConfigError, SettingsError, os_reason, shortened
from .files import read_regular
from .filters import Scalar
from .yaml_file import is_merge, load_yaml, yaml_loader

SETTINGS_FILE, EXIT_CODE_FILE = "settings.yaml", "exit_code"
_LONGEST_NAME = 200
_WORD = rb"[A-Za-z0-9_.+/-]{1,100}"
_PLAIN_SETTING = re.compile(rb"[A-Za-z_][A-Za-z0-9_-]{0,100}: %s(?: %s){0,9}" % (_WORD, _WORD))


def load_json(text: str | bytes) -> Any:
    """The JSON document in *text*, in which no object holds a name twice.

    Raises:
        ValueError: a sentence on what is wrong.
    """
    try:
        return json.loads(text, object_pairs_hook=_without_repeated_names, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"not valid JSON: {str(error)[:200]}") from error


def _without_repeated_names(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"'{twice}' is in one object twice")
    return content


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")


@functools.cache
def _settings_loader() -> type[Any]:
    """The loader of settings, which are flat: what a merge would give twice is not seen in the file."""
    base = yaml_loader()

    def flatten_mapping(loader: Any, node: yaml.MappingNode) -> None:
        for key, _ in node.value:
            if is_merge(key):
                raise yaml.MarkedYAMLError(
                    problem="'<<' merges mappings, and settings are flat", problem_mark=key.start_mark
                )
        base.flatten_mapping(loader, node)

    return type("SettingsLoader", (base,), {"flatten_mapping": flatten_mapping})


def read_settings_file(path: str) -> dict[str, Any] | None:
    """The settings of one file, unchecked; None if there is no such file.

    Raises:
        SettingsError: the file can't be read, holds a name twice, or is no mapping.
    """
    content = read_settings_content(path)
    return None if content is None else settings_in(content, os.path.basename(path))


def read_settings_content(path: str) -> bytes | None:
    """As :func:`read_settings_file`, what is to be decoded."""
    try:
        return read_regular(path)
    except FileNotFoundError:
        if os.path.islink(path):
            raise SettingsError(f"{os.path.basename(path)} is a link that leads nowhere") from None
        return None
    except OSError as error:
        raise SettingsError(f"{os.path.basename(path)} can't be read: {os_reason(error)}") from error


def settings_in(content: bytes, name: str) -> dict[str, Any]:
    """The settings in the *content* of the file *name*; raises SettingsError as :func:`read_settings_file`."""
    lines = content.splitlines()
    plain = list(itertools.takewhile(lambda one: one is not None, map(_setting_in, lines)))
    if len(plain) == len(lines) and len(found := dict(filter(None, plain))) == len(lines):
        return found
    try:
        settings = load_yaml(content, _settings_loader())
    except ValueError as error:
        raise SettingsError(f"{name} is {error}") from error
    if settings is None:
        return {}
    if not isinstance(settings, dict):
        raise SettingsError(f"{name} holds a {_kind(settings)}, not 'name: value' lines")
    return settings


@functools.lru_cache(maxsize=1 << 16)
def _setting_in(line: bytes) -> tuple[str, Any] | None:
    """The setting in a *line* that means the same whatever stands around it; None for another line.

    The tests of a tree share most of their lines, and YAML takes a tenth of a parse.
    """
    if _PLAIN_SETTING.fullmatch(line) is None:
        return None
    try:
        ((name, value),) = load_yaml(line, _settings_loader()).items()
    except ValueError:
        return None
    return (name, value) if isinstance(name, str) else None


def check_settings(raw: Mapping[Any, Any]) -> tuple[dict[str, Scalar], int]:
    """Checked settings, and the repeat index apart from them.

    Raises:
        SettingsError: names every setting that is not a finite scalar, all in one sentence.
    """
    wrong = []
    settings: dict[str, Scalar] = {}
    for name, value in raw.items():
        if not isinstance(name, str) or not name:
            wrong.append(f"the name {name!r} is not text")
        elif len(name) > _LONGEST_NAME:
            wrong.append(f"the name {shortened(name)} is too long")
        elif isinstance(value, float) and not math.isfinite(value):
            wrong.append(f"'{name}' is {value}, not a finite number")
        elif isinstance(value, int) and not -(1 << 63) <= value < (1 << 63):
            wrong.append(f"'{name}' is a number of more than 64 bits; write it in quotes")
        elif value is not None and not isinstance(value, (str, int, float, bool)):
            wrong.append(f"'{name}' is a {_kind(value)}; a setting is one text, number, true, false or null")
        elif name != "repeat":
            settings[name] = value
    repeat = raw.get("repeat", 0)
    if isinstance(repeat, (str, float)) and re.fullmatch(r"[0-9]{1,9}|[0-9]{1,9}\.0", str(repeat)):
        repeat = int(float(repeat))  # 08, and 1.0 as pandas writes a column that has gaps
    if isinstance(repeat, bool) or not isinstance(repeat, int) or repeat < 0:
        wrong.append(f"'repeat' is {repeat!r}; it has to be 0, 1, 2 …")
    if wrong:
        raise SettingsError("settings: " + "; ".join(wrong))
    return settings, repeat


def read_key_values(text: str) -> dict[str, Scalar]:
    """Settings from ``key=value`` lines; values have the type that YAML gives them.

    Empty lines and lines that start with ``#`` are passed over.

    Raises:
        SettingsError: a line without ``=``, or a name that another line gives already.
    """
    settings: dict[str, Scalar] = {}
    lines: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        name, separator, value = line.partition("=")
        if not separator or not name.strip():
            raise SettingsError(f"line {number} is not of the form key=value: {line[:80]!r}")
        name = name.strip()
        if name in lines:
            raise SettingsError(f"line {number} gives '{name}' again, which line {lines[name]} gives already")
        settings[name], lines[name] = _scalar(value.strip()), number
    return settings


_RARE = 0.2
_SHORTEST = 3


def misspelt(names_of: Iterable[frozenset[str]]) -> dict[str, str]:
    """Names that look like another one misspelt: each with the name that is meant.

    The rarer name is nearly a commoner one that none of its runs has; one that differs in case, separators and how an
    accent is written alone needn't be rare.

    Args:
        names_of: the names of the settings of each run.
    """
    together = collections.Counter(names_of)
    counts = collections.Counter[str]()
    for names, count in together.items():
        for name in names:
            counts[name] += count
    meant, letters = {}, {name: _letters(name) for name in counts}
    for name, count in counts.items():
        beside = frozenset[str]().union(*(names for names in together if name in names))
        commoner = [other for other in counts if (counts[other], other) > (count, name) and other not in beside]
        rarely = [other for other in commoner if count < counts[other] and count <= max(1, _RARE * counts[other])]
        alike = (other for other in commoner if letters[name] == letters[other] and len(letters[name]) >= _SHORTEST)
        near = next(itertools.chain(alike, (other for other in rarely if is_nearly(name, other))), None)
        if near is not None:
            meant[name] = near
    return meant


def is_nearly(one: str, other: str) -> bool:
    """Whether two names differ in case and separators only, in one character too many, or in two that changed places.

    Names of the same length that differ otherwise (``tp_size`` and ``pp_size``) are two names, and so are those that
    differ in digits.
    """
    one, other = map(_letters, (one, other))
    if one == other:
        return True
    short, long = sorted((one, other), key=len)
    if len(short) < _SHORTEST or re.sub("[0-9]", "", one) == re.sub("[0-9]", "", other):
        return False
    if len(long) == len(short) + 1:
        return any(long[:place] + long[place + 1 :] == short for place in range(len(long)))
    swapped = (one[:place] + one[place + 1] + one[place] + one[place + 2 :] for place in range(len(one) - 1))
    return len(long) == len(short) and other in swapped


def _letters(name: str) -> str:
    return re.sub(r"[\W_]", "", unicodedata.normalize("NFC", name).lower())


_PLAIN = re.compile(r"[\w./+-]*")


def _scalar(text: str) -> Scalar:
    if not _PLAIN.fullmatch(text):
        return text
    value = load_yaml(text)
    return value if value is None or isinstance(value, (str, int, float, bool)) else text


def _kind(value: object) -> str:
    names = {"dict": "mapping", "str": "text"}
    name = type(value).__name__
    return names.get(name, name)


SETTINGS_FROM = "settings_from"
"""The name of the option that holds the pattern, beside those of the workload."""

_PLACE = re.compile(r"\{(\w*)\}")


@functools.cache
def steps(pattern: str) -> Sequence[re.Pattern[str]]:
    """What each directory of *pattern* looks like, with a group for each setting; ``{}`` stands for any text.

    Raises:
        ConfigError: it names no setting, one twice, or has braces that don't name one.
    """
    names = [name for name in _PLACE.findall(pattern) if name]
    wrong = None
    if not names:
        wrong = "names no setting: write {NAME} where one stands, as in results/{hw_type}/{engine}-{version}"
    elif len(set(names)) < len(names):
        wrong = f"names {max(names, key=names.count)} twice"
    elif "{" in _PLACE.sub("", pattern) or "}" in _PLACE.sub("", pattern) or any(name[0].isdigit() for name in names):
        wrong = "has braces that hold no name"
    if wrong:
        raise ConfigError(f"--settings-from '{pattern}' {wrong}")
    return [re.compile(_expression(step)) for step in pattern.split("/") if step not in ("", ".")]


def _expression(step: str) -> str:
    pieces = _PLACE.split(step)
    texts, names = map(re.escape, pieces[::2]), pieces[1::2]
    groups = [f"(?P<{name}>.+?)" if name else ".+?" for name in names] + [""]
    return "".join(text + group for text, group in zip(texts, groups, strict=True))


def settings_from(pattern: str, root: Path, test: Path, *, is_file: bool) -> dict[str, Scalar] | None:
    """The settings in the path of *test* below the results directory *root*; None if it doesn't match.

    The pattern may begin at any directory, the first that fits counts, and at the root's own name where none does; a
    file goes without its suffix, or else with it. Values have the types of ``key=value`` lines.
    """
    *above, last = [root.name, *test.relative_to(root).parts]
    ways = [PurePath(last).stem, last] if is_file else [last]
    return next((found for way in ways for found in matches(pattern, [*above, way])), None)


def matches(pattern: str, names: Sequence[str]) -> Iterator[dict[str, Scalar]]:
    """The settings wherever the pattern fits some of *names*, the first of which is looked at last."""
    expressions = steps(pattern)
    for start in (*range(1, len(names) - len(expressions) + 1), 0):
        fits = [each.fullmatch(name) for each, name in zip(expressions, names[start:], strict=False)]
        if len(fits) == len(expressions) and all(fits):
            found = {name: text for match in fits if match is not None for name, text in match.groupdict().items()}
            yield {name: _value(name, text) for name, text in found.items()}


def _value(name: str, text: str) -> Scalar:
    """*text* with the type of its ``key=value`` line; a version, and a number that would lose a digit, stay texts."""
    value = read_key_values(f"value={text}")["value"]
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return text if is_number and (name.endswith("version") or str(value) != text) else value
