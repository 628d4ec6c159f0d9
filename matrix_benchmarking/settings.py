"""Settings: flat ``name: scalar`` mappings, checked, with their types kept."""

from __future__ import annotations

import collections
import difflib
import math
import os
import re
from collections.abc import Iterable, Mapping
from typing import Any

import yaml

from .errors import SettingsError, os_reason
from .files import read_regular
from .filters import Scalar
from .yaml_file import yaml_loader

SETTINGS_FILE, EXIT_CODE_FILE = "settings.yaml", "exit_code"

_LONG, _DEEPEST = 4096, 200


def load_yaml(text: str | bytes) -> Any:
    """The YAML document in *text*, read safely.

    Raises:
        ValueError: a sentence on what is wrong, with the line.
    """
    if len(text) > _LONG:
        _check_nesting(text)
    try:
        return yaml.load(text, yaml_loader())
    except yaml.MarkedYAMLError as error:
        where = f" in line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise ValueError(f"not valid YAML{where}: {error.problem or error.context}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ValueError(f"not valid YAML: {_first_line(error)}") from error


def _check_nesting(text: str | bytes) -> None:
    """Refuse a document that would overflow the stack of libyaml's recursive composer."""
    depth = 0
    try:
        for event in yaml.parse(text, yaml_loader()):
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
                if depth > _DEEPEST:
                    raise ValueError(f"not valid YAML: nested more than {_DEEPEST} deep")
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
    except yaml.YAMLError:
        return  # loading says what is wrong


def read_settings_file(path: str) -> dict[str, Any] | None:
    """The settings of one file, unchecked; None if there is no such file.

    Raises:
        SettingsError: the file can't be read or is no mapping.
    """
    name = os.path.basename(path)
    try:
        content = read_regular(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise SettingsError(f"{name} can't be read: {os_reason(error)}") from error
    try:
        settings = load_yaml(content)
    except ValueError as error:
        raise SettingsError(f"{name} is {error}") from error
    if settings is None:
        return {}
    if not isinstance(settings, dict):
        raise SettingsError(f"{name} holds a {_kind(settings)}, not 'name: value' lines")
    return settings


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
        elif isinstance(value, float) and not math.isfinite(value):
            wrong.append(f"'{name}' is {value}, not a finite number")
        elif isinstance(value, int) and not -(1 << 63) <= value < (1 << 63):
            wrong.append(f"'{name}' is a number of more than 64 bits; write it in quotes")
        elif value is not None and not isinstance(value, (str, int, float, bool)):
            wrong.append(f"'{name}' is a {_kind(value)}; a setting is one text, number, true, false or null")
        elif name != "repeat":
            settings[name] = value
    repeat = raw.get("repeat", 0)
    if isinstance(repeat, bool) or not isinstance(repeat, int) or repeat < 0:
        wrong.append(f"'repeat' is {repeat!r}; it has to be 0, 1, 2 …")
    if wrong:
        raise SettingsError("settings: " + "; ".join(wrong))
    return settings, repeat


def read_key_values(text: str) -> dict[str, Scalar]:
    """Settings from ``key=value`` lines; values have the type that YAML gives them.

    Empty lines and lines that start with ``#`` are passed over.

    Raises:
        SettingsError: a line without ``=``.
    """
    settings: dict[str, Scalar] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        name, separator, value = line.partition("=")
        if not separator or not name.strip():
            raise SettingsError(f"line {number} is not of the form key=value: {line[:80]!r}")
        settings[name.strip()] = _scalar(value.strip())
    return settings


_NEAR = 0.8
_RARE = 0.2


def misspelt(names_of: Iterable[frozenset[str]]) -> dict[str, str]:
    """Names that look like another one misspelt: each with the name that is meant.

    The rarer name is near to a commoner one that none of its runs has; names that differ in digits only are not near.

    Args:
        names_of: the names of the settings of each run.
    """
    together = collections.Counter(names_of)
    counts = collections.Counter[str]()
    for names, count in together.items():
        for name in names:
            counts[name] += count
    meant = {}
    for name, count in counts.items():
        beside = frozenset[str]().union(*(names for names in together if name in names))
        common = [other for other in counts if other not in beside and count <= max(1, _RARE * counts[other])]
        near = max(common, key=lambda other: nearness(name, other), default=None)
        if near is not None and nearness(name, near) >= _NEAR and counts[near] > count:
            meant[name] = near
    return meant


def nearness(one: str, other: str) -> float:
    """How near two names are, from 0 to 1; those that differ in case and separators only are as near as can be."""
    one, other = (re.sub(r"[\W_]", "", name.lower()) for name in (one, other))
    if one != other and re.sub("[0-9]", "", one) == re.sub("[0-9]", "", other):
        return 0.0
    return difflib.SequenceMatcher(None, one, other).ratio()


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


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200]
