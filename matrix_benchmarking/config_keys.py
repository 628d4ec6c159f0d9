"""Dotted keys of the configuration: which there are, which one is meant, and setting one."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pydantic

BLOCK = "matbench"

Model = type[pydantic.BaseModel]


def keys(model: Model) -> Iterator[str]:
    """All dotted keys of *model*, sections left out, mappings of free names included."""
    for name, field in model.model_fields.items():
        below = _section(field.annotation)
        if below is None:
            yield name
        else:
            yield from (f"{name}.{key}" for key in keys(below))


def resolve(model: Model, key: str) -> tuple[str, ...] | None:
    """The path of a dotted *key*, None for an unknown one.

    In a mapping of free names the rest is one name: ``prices.aws/g5.xlarge``.
    """
    name, _, rest = key.partition(".")
    field = model.model_fields.get(name)
    if field is None:
        return None
    if not rest:
        return (name,)
    below = _section(field.annotation)
    if below is not None:
        path = resolve(below, rest)
        return None if path is None else (name, *path)
    return (name, rest) if str(field.annotation).startswith("dict[") else None


def set_value(block: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    """Set *value* in *block*, whose missing sections are made; a mapping is merged into a mapping."""
    *parents, name = path
    here = block
    for parent in parents:
        if not isinstance(here.get(parent), dict):
            here[parent] = {}
        here = here[parent]
    both = isinstance(value, dict) and isinstance(here.get(name), dict)
    here[name] = {**here[name], **value} if both else value


def meant(model: Model, unknown: str, option_keys: Mapping[str, str]) -> str:
    """The end of a sentence about an *unknown* key: the one that is meant, else all there are beside it.

    An option's name stands for its key, then a sibling is tried, the same name elsewhere, anything close.
    """
    parent, _, name = unknown.rpartition(".")
    leaves = list(keys(model))
    known = {".".join(key.split(".")[:depth]) for key in leaves for depth in range(1, key.count(".") + 2)}
    siblings = [key for key in sorted(known) if key.rpartition(".")[0] == parent]
    guesses = [
        [option_keys[name]] if name in option_keys else [],
        _close(unknown, siblings, 0.8),
        [key for key in sorted(known) if key.rpartition(".")[2] == name],
        _close(unknown, leaves, 0.6),
    ]
    for guess in guesses:
        if guess:
            return f"did you mean '{BLOCK}.{guess[0]}'?"
    return "there are " + ", ".join(f"{BLOCK}.{key}" for key in siblings or sorted(known))


def _close(name: str, candidates: Iterable[str], cutoff: float) -> list[str]:
    """The candidate that resembles *name*, by its last part if they share the others."""
    last = {key.rpartition(".")[2]: key for key in candidates}
    near = difflib.get_close_matches(name.rpartition(".")[2], last, n=1, cutoff=cutoff)
    return [last[each] for each in near]


def _section(annotation: Any) -> Model | None:
    is_model = isinstance(annotation, type) and issubclass(annotation, pydantic.BaseModel)
    return annotation if is_model else None
