"""Where the settings of the runs come from: files, configs beside them, names, or a person."""

from __future__ import annotations

import collections
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, ClassVar

from matrix_benchmarking.analyze.words import count_of, named
from matrix_benchmarking.filters import show
from matrix_benchmarking.matrix import Entry
from matrix_benchmarking.plotting import Plot, View
from matrix_benchmarking.plotting.tables import Column, Columns, Row, count_cell, table

if TYPE_CHECKING:
    from matrix_benchmarking.plotting import Drawn

NAMED = 4


class WhereSettingsComeFrom(Plot):
    """A table: of each setting its sources, with how many runs have it from there."""

    name: ClassVar[str] = "Where settings come from"
    how_to_read: ClassVar[str] = (
        "What a person says goes before the file, the file before the configs beside it, and these before names."
    )

    def height_px(self) -> int:
        return 400

    def draw(self, view: View) -> Drawn:
        rows = sources_of(view.runs)
        if not rows:
            return None, "No run says where its settings come from."
        of_names = sum(count for _, source, count, _ in rows if source == "a name")
        said = (
            f"{count_of(of_names, 'value')} were read off names of files and directories: look whether they are right."
        )
        columns: Columns = ["Setting", "Source", Column("Runs", numeric=True), "Values"]
        body: list[Row] = [[name, source, count_cell(count), values] for name, source, count, values in rows]
        return None, [*([said] if of_names else []), table(columns, body, caption="Settings by their source")]


def sources_of(runs: Iterable[Entry]) -> Sequence[tuple[str, str, int, str]]:
    """Setting, source, number of runs and some values, by setting."""
    counts: collections.Counter[tuple[str, str]] = collections.Counter()
    values: dict[tuple[str, str], dict[str, None]] = {}
    for run in runs:
        for name, source in (getattr(run.results, "settings_from", None) or {}).items():
            counts[name, source] += 1
            values.setdefault((name, source), {})[show(run.settings.get(name))] = None
    return [(*key, counts[key], named([*values[key]], NAMED)) for key in sorted(counts)]
