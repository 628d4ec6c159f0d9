"""What else differs between two sides of a comparison: the machines and the versions that were recorded."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..environment_file import Environment
from ..matrix import Entry
from .tables import Column, Row, table

MOST_READ = 1000
"""Of how many runs a side the environment is read."""

Recorded = dict[str, set[str]]


class Environments:
    """Reads the environment of each run once, however many comparisons it is part of."""

    def __init__(self) -> None:
        self._read: dict[int, Environment] = {}

    def of(self, entries: Iterable[Entry]) -> Recorded:
        """The values of each part of the environment, over *entries*; empty where nothing is recorded."""
        found: Recorded = {}
        for entry in entries:
            if id(entry) not in self._read:
                self._read[id(entry)] = entry.environment
            for name, value in _parts(self._read[id(entry)]):
                found.setdefault(name, set()).add(value)
        return found


def environment_difference(old: Sequence[Entry], new: Sequence[Entry], environments: Environments) -> list[Any]:
    """A table of what differs, or the sentence that one side isn't recorded; nothing where nothing differs."""
    from dash import html

    before, after = environments.of(old[:MOST_READ]), environments.of(new[:MOST_READ])
    if not before and not after:
        return []
    if not before or not after:
        side = "new" if before else "old"
        return [html.P(f"The environment of the {side} runs isn't recorded, so what else differs isn't known.")]
    names = [name for name in dict.fromkeys([*before, *after]) if before.get(name) != after.get(name)]
    if not names:
        return []
    rows: list[Row] = [[name, _shown(before.get(name)), _shown(after.get(name))] for name in names]
    caption = "The environment differs"
    if max(len(old), len(new)) > MOST_READ:
        caption += f" (of the first {MOST_READ:,} runs of each side)"
    return [table([Column("What"), Column("Old runs"), Column("New runs")], rows, caption=caption)]


def _parts(environment: Environment) -> Iterable[tuple[str, str]]:
    if environment.cpu_model:
        yield "CPU", environment.cpu_model
    if environment.gpus:
        yield "GPUs", ", ".join(environment.gpus)
    if environment.kernel:
        yield "Kernel", environment.kernel
    yield from environment.versions.items()


def _shown(values: set[str] | None) -> str:
    return " or ".join(sorted(values)) if values else "not recorded"
