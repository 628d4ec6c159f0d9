"""Templates: ``{name}`` in a text stands for a setting, ``{{`` and ``}}`` for braces.

A text that is nothing but ``{name}`` becomes the setting itself, so that a number stays a number.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any, TypeVar

import pydantic

from ..errors import ConfigError, did_you_mean
from ..filters import exact
from ..validation import dotted, mismatches
from .schema import PATTERNS

M = TypeVar("M", bound=pydantic.BaseModel)

_PART = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")


def names(value: Any) -> set[str]:
    """The settings that *value* (text, or a list or mapping of it) names."""
    if isinstance(value, str):
        return {match[1] for match in _PART.finditer(value) if match[1] is not None}
    if isinstance(value, Mapping):
        return set().union(*(names(item) for item in value.values()))
    if isinstance(value, (list, tuple)):
        return set().union(*(names(item) for item in value))
    return set()


def fill(value: Any, settings: Mapping[str, Any], keep: Collection[str] = ()) -> Any:
    """*value* with *settings* put in; names in *keep* are left for later.

    Raises:
        ConfigError: a name that is no setting, or a single brace.
    """
    if isinstance(value, str):
        whole = _PART.fullmatch(value)
        if whole and whole[1] is not None and whole[1] not in keep:
            return _setting(whole[1], settings, value)
        return _PART.sub(lambda match: _replacement(match, settings, keep, value), value)
    if isinstance(value, Mapping):
        return {key: fill(item, settings, keep) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        # In a command every word is text.
        filled = [fill(item, settings, keep) for item in value]
        words = all(isinstance(item, str) for item in value)
        return [exact(item) for item in filled] if words else filled
    return value


def fill_model(model: M, settings: Mapping[str, Any], where: str, keep: Collection[str] = ()) -> M:
    """*model* with *settings* put in, validated again; *where* names it in errors.

    Raises:
        ConfigError: a setting that is not there, or is of the wrong kind.
    """
    content = fill(model.model_dump(by_alias=True, exclude_unset=True), settings, keep)
    defaults = {
        name: field.default
        for name, field in type(model).model_fields.items()
        if isinstance(field.default, str) and field.default.startswith("{") and name not in model.model_fields_set
    }
    try:
        content |= fill(defaults, settings, keep)
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from error
    try:
        return type(model).model_validate(content)
    except pydantic.ValidationError as error:
        sentences = [f"{where}.{dotted(each.path)}: {each.reason}" for each in mismatches(error, content, PATTERNS)]
        raise ConfigError("\n".join(sentences)) from error


def _replacement(match: re.Match[str], settings: Mapping[str, Any], keep: Collection[str], text: str) -> str:
    if match[0] in ("{{", "}}"):
        return match[0][0]
    if match[1] is None:
        raise ConfigError(f"'{text}' has a single '{match[0]}': write '{match[0] * 2}' for a brace")
    return match[0] if match[1] in keep else exact(_setting(match[1], settings, text))


def _setting(name: str, settings: Mapping[str, Any], text: str) -> Any:
    if name not in settings:
        hint = did_you_mean(name, settings) if re.fullmatch(r"\w+", name) else "write {{ and }} for braces"
        raise ConfigError(f"'{text}' names a setting '{name}' that the point doesn't have: {hint}")
    return settings[name]
