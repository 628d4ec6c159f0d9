"""Where the best point lies at the edge of what was measured: which settings, and the command that measures beyond."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from .. import filters
from ..errors import MatbenchError
from ..filters import Filters, show
from ..plausible import is_number
from .best import Group

_FILTERS, _SETTING = "--filters=", "--setting="


def command(group: Group) -> str | None:
    """The command that measures the best point of *group* again, and beside it twice the settings that end there.

    None where the best lies within what was tried, or its runs don't say how they were made.
    """
    names = group.highest(group.best)
    recorded = next((each for run in group.best.runs if (each := run.environment.command)), None) if names else None
    if recorded is None:
        return None
    try:
        words = shlex.split(recorded)
        own = next(filters.parse(word.removeprefix(_FILTERS)) for word in words if word.startswith(_FILTERS))
    except (ValueError, MatbenchError, StopIteration):
        return None
    kept: Filters = {name: values for name, values in own.items() if name not in {*names, "repeat"}}
    rest = [word for word in words if not word.startswith(_FILTERS)]
    chosen = [f"{_SETTING}{name}={value}" for name in names for value in _steps(group.best.settings.get(name))]
    return shlex.join([*rest, *chosen, *([f"{_FILTERS}{filters.written(kept)}"] if kept else [])])


def _steps(value: object) -> Sequence[str]:
    """*value*, and twice it; one more than zero or less."""
    if not is_number(value):
        return []
    return [show(value), show(value * 2 if value > 0 else value + 1)]
