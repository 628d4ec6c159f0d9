"""Writes the option tables of docs/cli.md from the commands themselves: ``python docs/cli_tables.py``.

The tests call :func:`rendered` and compare, so a table can't be stale.
"""

from __future__ import annotations

import re
from pathlib import Path

import click

from matrix_benchmarking.cli import matbench
from matrix_benchmarking.commands import leaves
from matrix_benchmarking.commands.options import Option

PAGE = Path(__file__).with_name("cli.md")
MARKED = re.compile(r"(<!-- options of (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def rendered(page: str) -> str:
    """*page* with a fresh table between each pair of markers."""
    return MARKED.sub(lambda match: match[1] + table(match[2]) + match[3], page)


def documented(page: str) -> set[str]:
    """The commands whose table is on *page*."""
    return {match[2] for match in MARKED.finditer(page)}


def table(name: str) -> str:
    """The options of the command *name* (``matbench`` itself, or one of the leaves) as a Markdown table."""
    command = leaves().get(name, matbench)
    rows = [_row(name, param) for param in command.params if isinstance(param, Option)]
    head = "| Option | Environment | `config.yaml` | Default | Meaning |\n|---|---|---|---|---|\n"
    return head + "".join(rows)


def _row(command: str, option: Option) -> str:
    value = f" {option.metavar}" if option.metavar else ""
    key = "" if command == "matbench" else option.key_for(command)
    cells = [
        f"`{option.opts[0]}{value}`",
        f"`{option.envvar}`",
        f"`{key}`" if key else "–",
        _default(option),
        str(option.help),
    ]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"


def _default(option: Option) -> str:
    default = option.get_default(click.Context(click.Command("any")))
    if isinstance(default, bool):
        return f"`{str(default).lower()}`"
    return f"`{default}`" if isinstance(default, (str, int, float)) else "–"


if __name__ == "__main__":
    PAGE.write_text(rendered(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
