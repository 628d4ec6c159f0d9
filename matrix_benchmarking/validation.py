"""Models of what people write, and pydantic's validation errors as sentences for them.

Gets a ``ValidationError`` and the document that was validated; gives the fields that are wrong, each
once, with what was expected and what is there.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pydantic

if TYPE_CHECKING:
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


class Kind(enum.Enum):
    """What is wrong with a field."""

    MISSING = "missing"
    UNKNOWN = "unknown"
    WRONG = "wrong"


@dataclasses.dataclass(frozen=True, slots=True)
class Mismatch:
    """A field that the model and the document don't agree on: where, how, and the sentence."""

    path: Path
    kind: Kind
    reason: str

    @property
    def field(self) -> str:
        return dotted(self.path)


def dotted(path: Path) -> str:
    """``("results", "values", 3)`` as ``results.values[3]``."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}"
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
    found: dict[tuple[Path, bool], list[tuple[Kind, str]]] = {}
    for detail in error.errors(include_url=False):
        about_name = detail["loc"][-1:] == ("[key]",) or detail["type"] == "invalid_key"
        reasons = found.setdefault((_path_in(document, detail), about_name), [])
        reasons.append(_explain(detail, patterns or {}))
    outer = {path[:depth] for path, _ in found for depth in range(len(path))}
    return [
        _merge(path, about_name, reasons, document)
        for (path, about_name), reasons in found.items()
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
        return "a mapping"
    if isinstance(value, (list, tuple)):
        return "a list"
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


def _explain(detail: ErrorDetails, patterns: Mapping[str, str]) -> tuple[Kind, str]:
    """What is wrong; for a wrong value what was expected, to be joined over the branches of a union."""
    kind, context = detail["type"], detail.get("ctx", {})
    if kind == "missing":
        return Kind.MISSING, "is missing"
    if kind == "extra_forbidden":
        return Kind.UNKNOWN, "is not a known field"
    if kind == "invalid_key":
        return Kind.WRONG, "a name that is text"
    if kind in ("literal_error", "enum"):
        return Kind.WRONG, str(context["expected"])
    if kind == "string_pattern_mismatch":
        return Kind.WRONG, patterns.get(context["pattern"], f"text that matches {context['pattern']}")
    if kind in ("value_error", "assertion_error"):
        return Kind.WRONG, str(context["error"])
    for limit, words in _LIMITS.items():
        if limit in context:
            return Kind.WRONG, f"a number {words} {context[limit]:g}"
    return Kind.WRONG, _EXPECTED.get(kind.split("_")[0], detail["msg"])


def _merge(path: Path, about_name: bool, reasons: list[tuple[Kind, str]], document: Any) -> Mismatch:
    """One mismatch: of the value at *path*, or of the last name in it."""
    kind, sentence = reasons[0]
    if kind is not Kind.WRONG:
        return Mismatch(path, kind, sentence)
    here = document
    for part in path:
        here = here[part]
    if about_name:
        here = path[-1]
    expected = list(dict.fromkeys(text for each, text in reasons if each is Kind.WRONG))
    choice = " or ".join([", ".join(expected[:-1]), expected[-1]] if len(expected) > 1 else expected)
    return Mismatch(path, kind, f"expected {choice}, not {shown(here)}")
