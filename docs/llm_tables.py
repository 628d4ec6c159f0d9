"""Writes the table of formats and measures on docs/llm_bench.md from the readers: ``python docs/llm_tables.py``.

The tests call :func:`rendered` and compare, so the table can't be stale.
"""

from __future__ import annotations

import re
from pathlib import Path

from matbench_projects.llm_bench.visualizations.readers.every import READERS, ToolReader
from matbench_projects.llm_bench.visualizations.vocabulary import LATENCIES, MEASURES

PAGE = Path(__file__).with_name("llm_bench.md")
MARKED = re.compile(r"(<!--formats-->\n).*?(<!--end-->)", re.DOTALL)
STANDS, WORKED_OUT, MISSING = "●", "○", "–"


def rendered(page: str) -> str:
    """*page* with a fresh table between the markers."""
    return MARKED.sub(lambda match: match[1] + table() + match[2], page)


def table() -> str:
    """A column for each tool, a row for each measure; latencies whose statistics are alike have one row."""
    lines = ["|measure|unit|" + "|".join(reader.TOOL for reader in READERS) + "|", "|---" * (2 + len(READERS)) + "|"]
    rows: dict[tuple[str, ...], list[str]] = {}
    for name, measure in MEASURES.items():
        family = name.partition("_")[0] if name.partition("_")[0] in LATENCIES else name
        marks = tuple(_mark(reader, name) for reader in READERS)
        rows.setdefault((family, measure.unit or "share", *marks), []).append(name)
    for (_, unit, *marks), names in rows.items():
        first, *others = names
        label = ",".join([first, *(name.partition("_")[2] for name in others)])
        lines.append(f"|{label}|{unit}|" + "|".join(marks) + "|")
    return "\n".join(lines) + "\n"


def _mark(reader: ToolReader, name: str) -> str:
    return STANDS if name in reader.FIELDS else WORKED_OUT if name in reader.DERIVED else MISSING


if __name__ == "__main__":
    PAGE.write_text(rendered(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
