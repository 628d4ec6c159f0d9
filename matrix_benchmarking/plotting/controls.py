"""Controls of a plot's configuration: what a person may choose, from which the application makes its inputs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from ..errors import ConfigError, did_you_mean
from ..filters import Scalar, show
from ..matrix import Entry, Matrix

LONGEST_TEXT = 2000
SHORT_ID = 8
"""How many digits of an entry's id an address carries at least."""


class Choice(msgspec.Struct, frozen=True):
    """One of several values, which keep their types; *name* is the key in ``cfg``, *label* stands beside the input.

    Attributes:
        options: the values, in order.
        default: the value where none is chosen; None for none.
        labels: how an option is shown where that isn't its own text.
    """

    name: str
    label: str
    options: Sequence[Scalar]
    default: Scalar = None
    labels: Mapping[Any, str] = msgspec.field(default_factory=dict)

    def read(self, text: str) -> Scalar:
        """The option that is written so; raises ConfigError where there is none."""
        for option in self.options:
            if show(option) == text:
                return option
        raise ConfigError(f"{self.name}: there is no {text!r}: {did_you_mean(text, map(show, self.options))}")


class Number(msgspec.Struct, frozen=True):
    """A number within limits, which are inclusive.

    *steps* are the numbers worth choosing; without them there is a field to type in. *unit* stands behind the label.
    """

    name: str
    label: str
    default: float | None = None
    minimum: float | None = None
    maximum: float | None = None
    steps: Sequence[float] = ()
    unit: str = ""

    def read(self, text: str) -> float:
        """The number in *text*; raises ConfigError where it is none, or beyond a limit."""
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise ConfigError(f"{self.name}: {text!r} is not a number")
        if self.minimum is not None and value < self.minimum:
            raise ConfigError(f"{self.name}: {text} is below {self.minimum:g}")
        if self.maximum is not None and value > self.maximum:
            raise ConfigError(f"{self.name}: {text} is above {self.maximum:g}")
        return int(value) if value.is_integer() else value


class RunChoice(msgspec.Struct, frozen=True):
    """One run of the matrix, by its id or the beginning of it; in ``cfg`` it is the :class:`Entry`."""

    name: str
    label: str
    matrix: Matrix
    default: Entry | None = None

    def read(self, text: str) -> Entry:
        """See :func:`find_run`."""
        return find_run(self.matrix, text)


class Text(msgspec.Struct, frozen=True):
    """What a person types; *suggestions* are offered, and *hint* stands in the empty field."""

    name: str
    label: str
    suggestions: Sequence[str] = ()
    hint: str = ""
    default: str | None = None

    def read(self, text: str) -> str:
        """The text as it is; raises ConfigError where it is too long to be meant."""
        if len(text) > LONGEST_TEXT:
            raise ConfigError(f"{self.name}: more than {LONGEST_TEXT} characters")
        return text


Control = Choice | Number | RunChoice | Text


def find_run(matrix: Matrix, text: str) -> Entry:
    """The entry of *matrix* whose id begins with *text*; raises ConfigError where there is none, or several."""
    found = [entry for entry in matrix if text and (entry.test_uuid or "").startswith(text.lower())]
    if not found:
        raise ConfigError(f"there is no run '{text}' among the {len(matrix)} that are shown")
    if len(found) > 1 and len({entry.test_uuid for entry in found}) > 1:
        raise ConfigError(f"{len(found)} runs begin with '{text}': give more of the id")
    return found[0]


def read(controls: Iterable[Control], texts: Mapping[str, str]) -> tuple[dict[str, Any], list[str]]:
    """What *texts* say of *controls*, as ``cfg``; and a sentence for each that can't be read."""
    cfg: dict[str, Any] = {}
    complaints = []
    for control in controls:
        if control.name in texts:
            try:
                cfg[control.name] = control.read(texts[control.name])
            except ConfigError as error:
                complaints.append(str(error))
    return cfg, complaints
