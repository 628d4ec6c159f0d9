"""Writes the options on docs/cli.md from the commands themselves: ``python docs/cli_tables.py``.

The tests call :func:`rendered` and compare, so a list can't be stale.
"""

from __future__ import annotations

import re
from pathlib import Path

import click

from matrix_benchmarking.cli import matbench
from matrix_benchmarking.commands import leaves
from matrix_benchmarking.commands.options import CommandOption

PAGE = Path(__file__).with_name("cli.md")
MARKED = re.compile(r"(<!--options:(\w+)-->\n).*?(<!--end-->)", re.DOTALL)
SHARED = "several"
"""Stands for a command's name where the options are that several commands have; each is on the page once."""


def rendered(page: str) -> str:
    """*page* with a fresh list between each pair of markers."""
    return MARKED.sub(lambda match: match[1] + listed(match[2]) + match[3], page)


def documented(page: str) -> set[str]:
    """The commands whose options are on *page*."""
    return {match[2] for match in MARKED.finditer(page)} - {SHARED}


def listed(name: str) -> str:
    """As Markdown: what the command *name* has for itself, or matbench before its command, or several commands have."""
    if name == SHARED:
        return "\n".join(_group(commands, rows) for commands, rows in _shared().items())
    if name not in leaves():
        return "".join(_row(option) for option in _options(matbench))
    shared = {row for rows in _shared().values() for row in rows}
    return "".join(row for option in _options(leaves()[name]) if (row := _row(option)) not in shared)


def _options(command: click.Command) -> list[CommandOption]:
    return [param for param in command.params if isinstance(param, CommandOption)]


def _shared() -> dict[tuple[str, ...], list[str]]:
    """The rows of the options that are the same in several commands, by these commands; those of most come first."""
    commands: dict[str, list[str]] = {}
    for name, command in leaves().items():
        for option in _options(command):
            commands.setdefault(_row(option), []).append(name)
    groups: dict[tuple[str, ...], list[str]] = {}
    for row, names in commands.items():
        if len(names) > 1:
            groups.setdefault(tuple(names), []).append(row)
    return dict(sorted(groups.items(), key=lambda group: -len(group[0])))


def _group(commands: tuple[str, ...], rows: list[str]) -> str:
    groups = {name.partition("_")[0] for name in leaves()} & {"history", "alarms"}
    whole = {each: [name for name in leaves() if name.startswith(f"{each}_")] for each in groups}
    words: list[str] = []
    for name in commands:
        group = name.partition("_")[0]
        is_whole = group in whole and set(whole[group]) <= set(commands)
        words.append(group if is_whole else name.replace("_", " ", 1) if group in whole else name)
    said = "all" if len(commands) == len(leaves()) else ", ".join(dict.fromkeys(words))
    return f"Of {said}:\n\n" + "".join(rows)


def _row(option: CommandOption) -> str:
    value = f" {option.metavar}" if option.metavar else ""
    help = re.sub(r"[<*]", r"\\\g<0>", str(option.help))
    return f"* `{option.opts[0]}{value}`: {' '.join([help, *_notes(option)])}\n"


def _notes(option: CommandOption) -> list[str]:
    """What isn't as for most options: a default, another variable, another key of config.yaml or none."""
    notes = []
    default = option.get_default(click.Context(click.Command("any")))
    if isinstance(default, (str, int, float)) and default is not False:
        notes.append(f"Default: `{str(default).lower() if default is True else default}`.")
    if option.envvar != f"MATBENCH_{option.opts[0].lstrip('-').replace('-', '_').upper()}":
        notes.append(f"Variable: `{option.envvar}`.")
    if option.config_key is not None:
        notes.append(f"Key: `{option.config_key}`." if option.config_key else "No key.")
    return notes


if __name__ == "__main__":
    PAGE.write_text(rendered(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
