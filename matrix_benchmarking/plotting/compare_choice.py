"""Which two values of which setting are compared: those that a person chose, else all that are worth it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ..errors import ConfigError, did_you_mean, sentence
from ..filters import show
from ..matrix import NOT_SET, TREE, Matrix, typed
from ..workload import Workload
from .controls import Choice, Control

MOST_VALUES = 8
SETTING, OLD, NEW = "setting", "old", "new"

Candidate = tuple[str, Any, Any]
Places = Callable[[str], Mapping[Any, int]]
"""From a setting to the places of its values in the order of versions; empty for one that isn't a version."""


def comparable(matrix: Matrix, places: Places) -> dict[str, list[Any]]:
    """The settings with at least two values, each with its values; versions in their order."""
    variables: dict[str, list[Any]] = dict(matrix.variables())
    found = {name: [each for each in values if each is not NOT_SET] for name, values in variables.items()}
    return {name: _in_order(values, places(name)) for name, values in found.items() if len(values) > 1}


def choices(matrix: Matrix, setting: str | None, places: Places) -> list[Control]:
    """The controls ``setting``, ``old`` and ``new``; without a *setting* the values are those of all settings."""
    values = comparable(matrix, places)
    if not values:
        return []
    offered = values[setting] if setting in values else [each for one in values.values() for each in one]
    unique = list({typed(value): value for value in offered}.values())
    return [
        Choice(SETTING, "Setting", tuple(values)),
        Choice(OLD, "Old value", tuple(unique), needs=SETTING),
        Choice(NEW, "New value", tuple(unique), needs=SETTING),
    ]


LastGood = Callable[[str], Any]
"""From a comparison key to the version before the first bad one; None where no version is bad."""


def candidates(
    matrix: Matrix, workload: Workload, cfg: Mapping[str, Any], places: Places, last_good: LastGood
) -> list[Candidate]:
    """``(setting, old, new)`` for each comparison that *cfg* asks for; all that are worth it where it says nothing.

    A chosen setting without values: each of its values against the one that most runs have; of versions in order the
    newest against the last good one, or the one before it.

    Raises:
        ConfigError: what was chosen doesn't fit together.
    """
    setting, old, new = (cfg.get(name) for name in (SETTING, OLD, NEW))
    if setting is None:
        if old is not None or new is not None:
            raise ConfigError("Choose the setting whose values are to be compared.")
        return list(_all(matrix, workload, places, last_good))
    known = comparable(matrix, places)
    values = known.get(setting)
    if values is None:
        raise ConfigError(
            sentence(f"There is no setting '{setting}' with two values to compare: {did_you_mean(setting, known)}")
        )
    if old is None and new is None and places(setting):
        return [_newest(setting, values, last_good)]
    old = _usual(matrix, setting, values) if old is None else _value(old, setting, values)
    others = [value for value in values if typed(value) != typed(old)]
    if new is None:
        return [(setting, old, value) for value in others]
    new = _value(new, setting, values)
    if typed(old) == typed(new):
        raise ConfigError(f"Old and new are both {show(old)}: choose two different values of {setting}.")
    return [(setting, old, new)]


def _newest(setting: str, values: list[Any], last_good: LastGood) -> Candidate:
    """The newest of *values*, versions in order, against the last good one; where none is bad, the one before."""
    good = last_good(setting)
    older = [value for value in values[:-1] if good is not None and typed(value) == typed(good)]
    return setting, (older or values[-2:-1])[0], values[-1]


def _all(matrix: Matrix, workload: Workload, places: Places, last_good: LastGood) -> Iterator[Candidate]:
    """Results trees, settings that name a variant, and versions; each value against the one that most runs have.

    Of versions in order, the newest against the last good one.
    """
    variables = comparable(matrix, places)
    keys = [TREE, *workload.variant_keys, *workload.regression.comparison_keys]
    for name in [name for name in dict.fromkeys(keys) if name in variables] or list(variables):
        values = variables[name]
        if places(name):
            yield _newest(name, values, last_good)
        elif len(values) <= MOST_VALUES:
            usual = _usual(matrix, name, values)
            pairs = ([usual, value] for value in values if value is not usual)
            yield from ((name, *_in_order(pair, places(name))) for pair in pairs)


def _in_order(values: list[Any], places: Mapping[Any, int]) -> list[Any]:
    return sorted(values, key=lambda value: places.get(typed(value), -1))


def _usual(matrix: Matrix, name: str, values: list[Any]) -> Any:
    counts = {typed(value): 0 for value in values}
    for entry in matrix:
        if name in entry.settings:
            counts[typed(entry.settings[name])] += 1
    return max(values, key=lambda value: counts[typed(value)])


def _value(wanted: Any, setting: str, values: list[Any]) -> Any:
    """The value of *setting* that is *wanted*, by its type, else as it is written.

    An address may hold the 1 of another setting, of another type.
    """
    same = [value for value in values if typed(value) == typed(wanted)]
    written = [value for value in values if show(value) == show(wanted)]
    if not same and not written:
        listed = ", ".join(show(value) for value in values[:10])
        raise ConfigError(f"{show(wanted)} is no value of {setting}; there are {listed}.")
    return (same or written)[0]
