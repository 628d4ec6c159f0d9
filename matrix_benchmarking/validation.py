"""Models of what people write, and pydantic's validation errors as sentences for them.

Gets a ``ValidationError`` and the document that was validated; gives the fields that are wrong, each
once, with what was expected and what is there.
"""

from __future__ import annotations

import typing
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
import pydantic
from pydantic_core import ErrorDetails

Path = tuple[str | int, ...]


class Section(pydantic.BaseModel):
    """A part of a file that a person writes. An unknown key is an error; null means the default."""

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    @pydantic.model_validator(mode="before")
    @classmethod
    def _null_is_default(cls, content: Any) -> Any:
        if not isinstance(content, dict):
            return content
        return {k: v for k, v in content.items() if v is not None or k not in cls.model_fields}


_EXPECTED = {
    "bool": "true or false",
    "int": "a whole number",
    "float": "a number",
    "string": "text",
    "dict": "a mapping",
    "model": "a mapping",
    "list": "a list",
    "tuple": "a list",
    "set": "a list",
    "finite": "a finite number",
    "none": "null",
    "uuid": "a UUID",
    "datetime": "a date and time with a time zone",
    "timezone": "a date and time with a time zone",
    "date": "a date",
}
_LIMITS = {"gt": "above", "ge": "of at least", "lt": "below", "le": "of at most"}


class Mismatch(msgspec.Struct, frozen=True):
    """A field that the model and the document don't agree on: where, the sentence, and whether the model lacks it."""

    path: Path
    reason: str
    is_unknown: bool = False

    @property
    def field(self) -> str:
        return dotted(self.path)


def dotted(path: Path) -> str:
    """``("results", "values", 3)`` as ``results.values[3]``."""
    text = ""
    for part in path:
        text += f"[{part}]" if type(part) is int else f".{part}"
    return text.removeprefix(".")


def mismatches(
    error: pydantic.ValidationError, document: Any, patterns: Mapping[str, str] | None = None
) -> list[Mismatch]:
    """What *error* says of *document*, one mismatch a field, in the order of the model.

    The branches of a union fail one by one; here they are one mismatch that lists what would do,
    or the one that got furthest into the document.

    Args:
        patterns: for regular expressions of the model, what they stand for in words.
    """
    found: dict[tuple[Path, bool], list[ErrorDetails]] = {}
    for detail in error.errors(include_url=False):
        about_name = detail["loc"][-1:] == ("[key]",) or detail["type"] == "invalid_key"
        found.setdefault((_path_in(document, detail), about_name), []).append(detail)
    outer = {path[:depth] for path, _ in found for depth in range(len(path))}
    return [
        _merge(path, about_name, details, document, patterns or {})
        for (path, about_name), details in found.items()
        if path not in outer or about_name
    ]


def shown(value: Any) -> str:
    """*value* in a sentence: ``the text 'abc'``, ``the number 3``, ``null``, ``a list``."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, (int, float)):
        return f"the number {value}"
    if isinstance(value, str):
        return f"the text {value if len(value) <= 60 else value[:60] + '…'!r}"
    if isinstance(value, Mapping):
        return "a mapping" if value else "an empty mapping"
    if isinstance(value, (list, tuple)):
        return "a list" if value else "an empty list"
    return f"a {type(value).__name__}"


def _path_in(document: Any, detail: ErrorDetails) -> Path:
    """The part of the error's location that is in *document*: without the tags of union branches."""
    path: Path = ()
    here = document
    last = len(detail["loc"]) - 1
    for index, part in enumerate(detail["loc"]):
        inside = isinstance(here, Mapping) and part in here
        inside = inside or (isinstance(here, (list, tuple)) and isinstance(part, int) and part < len(here))
        if inside:
            here = here[part]
        if inside or (index == last and detail["type"] == "missing"):
            path = (*path, part)
    return path


_ABSENT = {"missing": "is missing", "extra_forbidden": "is not a known field"}


def _expected(detail: ErrorDetails, patterns: Mapping[str, str]) -> str:
    """What was expected of a wrong value, to be joined over the branches of a union."""
    kind, context = detail["type"], detail.get("ctx", {})
    if kind == "invalid_key":
        return "a name that is text"
    if kind in ("literal_error", "enum"):
        return str(context["expected"])
    if kind == "too_short":
        return f"{context['min_length']} or more entries"
    if kind == "string_pattern_mismatch":
        return patterns.get(context["pattern"], f"text that matches {context['pattern']}")
    if kind in ("value_error", "assertion_error"):
        return str(context["error"])
    for limit, words in _LIMITS.items():
        if limit in context:
            return f"a number {words} {context[limit]:g}"
    return _EXPECTED.get(kind.split("_")[0], detail["msg"])


def _merge(
    path: Path, about_name: bool, details: list[ErrorDetails], document: Any, patterns: Mapping[str, str]
) -> Mismatch:
    """One mismatch: of the value at *path*, or of the last name in it."""
    kind = details[0]["type"]
    if kind in _ABSENT:
        return Mismatch(path, _ABSENT[kind], is_unknown=kind == "extra_forbidden")
    here = document
    for part in path:
        here = here[part]
    if about_name:
        here = path[-1]
    expected = list(dict.fromkeys(_expected(each, patterns) for each in details if each["type"] not in _ABSENT))
    choice = " or ".join([", ".join(expected[:-1]), expected[-1]] if len(expected) > 1 else expected)
    return Mismatch(path, f"expected {choice}, not {shown(here)}")


def keys_in(annotation: Any, path: Iterable[str | int]) -> list[str]:
    """The keys that may stand at *path* in what *annotation*, a model, or a union or a mapping with some, describes."""
    models = _models_in(annotation)
    for name in path:
        below = [each.annotation for model in models for key, each in _fields(model).items() if key == name]
        models = [model for each in below for model in _models_in(each)] if below else models
    return [key for model in models for key in _fields(model)]


def _models_in(annotation: Any) -> list[type[pydantic.BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, pydantic.BaseModel):
        return [annotation]
    return [model for each in typing.get_args(annotation) for model in _models_in(each)]


def _fields(model: type[pydantic.BaseModel]) -> dict[str, pydantic.fields.FieldInfo]:
    return {field.alias or name: field for name, field in model.model_fields.items()}


def model_of(model: Any, name: str) -> type[pydantic.BaseModel] | None:
    """The Pydantic model that the field *name* of *model* is of, be it optional; None for another one."""
    field = getattr(model, "model_fields", {}).get(name)
    kinds = () if field is None else (field.annotation, *typing.get_args(field.annotation))
    return next((kind for kind in kinds if hasattr(kind, "model_fields")), None)
