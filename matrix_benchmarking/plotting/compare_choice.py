"""Which two values of which setting are compared: those that a person chose, else all that are worth it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..analyze.study import Study
from ..errors import ConfigError, did_you_mean, sentence
from ..filters import Scalar, show
from ..matrix import NOT_SET, TREE, Matrix, typed
from .controls import Choice, Control

MOST_VALUES = 8
SETTING, OLD, NEW = "setting", "old", "new"
Candidate = tuple[str, Scalar, Scalar]


def comparable(study: Study) -> dict[str, list[Scalar]]:
    """The settings with at least two values, each with its values; versions in their order."""
    variables: dict[str, list[Any]] = dict(study.matrix.variables())
    found = {name: [each for each in values if each is not NOT_SET] for name, values in variables.items()}
    places = {name: study.places(name) for name in found}
    return {
        name: sorted(values, key=lambda value: places[name].get(typed(value), -1))
        for name, values in found.items()
        if len(values) > 1
    }


def choices(study: Study, setting: str | None) -> list[Control]:
    """The controls ``setting``, ``old`` and ``new``; without a *setting* the values are those of all settings."""
    values = comparable(study)
    if not values:
        return []
    offered = values[setting] if setting in values else [each for one in values.values() for each in one]
    unique = tuple({typed(value): value for value in offered}.values())
    return [
        Choice(SETTING, "Setting", tuple(values)),
        Choice(OLD, "Old value", unique, needs=SETTING),
        Choice(NEW, "New value", unique, needs=SETTING),
    ]


def candidates(study: Study, cfg: Mapping[str, Any]) -> list[Candidate]:
    """``(setting, old, new)`` for each comparison that *cfg* asks for; all that are worth it where it says nothing.

    Raises ConfigError where what was chosen doesn't fit together.
    """
    setting, old, new = (cfg.get(name) for name in (SETTING, OLD, NEW))
    known = comparable(study)
    if setting is None:
        if old is not None or new is not None:
            raise ConfigError("Choose the setting whose values are to be compared.")
        return list(_all(study, known))
    values = known.get(setting)
    if values is None:
        raise ConfigError(
            sentence(f"There is no setting '{setting}' with two values to compare: {did_you_mean(setting, known)}")
        )
    if old is None and new is None and study.places(setting):
        return [_newest(study, setting, values)]
    old = _usual(study.matrix, setting, values) if old is None else _value(old, setting, values)
    others = [value for value in values if typed(value) != typed(old)]
    if new is None:
        return [(setting, old, value) for value in others]
    new = _value(new, setting, values)
    if typed(old) == typed(new):
        raise ConfigError(f"Old and new are both {show(old)}: choose two different values of {setting}.")
    return [(setting, old, new)]


def _newest(study: Study, setting: str, values: list[Scalar]) -> Candidate:
    """The newest of *values*, versions in order, against the last that the history calls good, else the one before."""
    analysis = study.analysis if study.has_analysis else None
    places = study.places(setting)
    good = [
        value
        for one in ([] if analysis is None else analysis.failing)
        if one.last_good is not None and (value := one.points[one.last_good].versions.get(setting)) is not None
    ]
    last = min(good, key=lambda value: places.get(typed(value), len(places)), default=None)
    older = [value for value in values[:-1] if good and typed(value) == typed(last)]
    return setting, (older or values[-2:-1])[0], values[-1]


def _all(study: Study, variables: Mapping[str, list[Scalar]]) -> Iterator[Candidate]:
    """Results trees, settings that name a variant, and versions; each value against the one that most runs have."""
    workload = study.workload
    keys = [TREE, *workload.variant_keys, *workload.regression.comparison_keys]
    for name in [name for name in dict.fromkeys(keys) if name in variables] or list(variables):
        values = variables[name]
        if study.places(name):
            yield _newest(study, name, values)
        elif len(values) <= MOST_VALUES:
            usual = _usual(study.matrix, name, values)
            yield from ((name, usual, value) for value in values if value is not usual)


def _usual(matrix: Matrix, name: str, values: list[Scalar]) -> Scalar:
    counts = {typed(value): 0 for value in values}
    for entry in matrix:
        if name in entry.settings:
            counts[typed(entry.settings[name])] += 1
    return max(values, key=lambda value: counts[typed(value)])


def _value(wanted: Scalar, setting: str, values: list[Scalar]) -> Scalar:
    """The value of *setting* that is *wanted*, by its type, else as it is written, as an address may have it."""
    same = [value for value in values if typed(value) == typed(wanted)]
    written = [value for value in values if show(value) == show(wanted)]
    if not same and not written:
        listed = ", ".join(show(value) for value in values[:10])
        raise ConfigError(f"{show(wanted)} is no value of {setting}; there are {listed}.")
    return (same or written)[0]
