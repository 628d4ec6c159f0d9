"""Where runs took place: how to repeat them, and what differs between two sides of a comparison."""

from __future__ import annotations

import itertools
import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .. import filters as filter_language
from ..analyze.words import count_of
from ..errors import MatbenchError
from ..filters import Value, show
from ..matrix import NOT_SET, Entry
from ..recorded import Environment
from .base import Href
from .tables import Node, Row, command, html, table

MOST_NAMED = 8
MOST_READ = 1000
"""Of how many runs a side the environment is read."""
_FILTERS = "--filters="


HOW_TO_REPEAT = (
    "It is run where its benchmark file is, with the extra 'benchmark' installed (pip install "
    "'matrix-benchmarking[benchmark]'), and writes into a directory of its own, which Compare takes as the new side."
)


def repeat_section(entries: Sequence[Entry], href: Href, title: str) -> list[Node]:
    """How to repeat the first of *entries*, and where they were measured; nothing where that isn't recorded."""
    environments = [entry.environment for entry in entries]
    known = [each for each in environments if each != Environment()]
    if not known:
        return []
    parts: list[Node] = [html.H2(title)]
    of = [entry for entry, each in zip(entries, environments, strict=True) if each.command]
    if of:
        link = html.A(of[0].name, href=href(of[0]))
        more = f" and {count_of(len(of) - 1, 'repeat')} of it:" if len(of) > 1 else ":"
        parts += [html.P(["This repeats ", link, more]), *map(command, repeating(known))]
        parts.append(html.P(HOW_TO_REPEAT, className="note"))
    parts.append(html.P(f"Measured on {circumstances(known)}."))
    return parts


def circumstances(environments: Iterable[Environment]) -> str:
    """Machine and versions of *environments* in words; where they differ, all there are."""
    known = list(environments)
    machines = {each.host for each in known if each.host}
    parts = [_either(machines) or "an unknown machine"]
    names = dict.fromkeys(name for each in known for name in each.versions)
    versions = [f"{name} {_either({each.versions[name] for each in known if name in each.versions})}" for name in names]
    return ", with ".join([parts[0], ", ".join(versions)]) if versions else parts[0]


def _either(values: set[str]) -> str:
    return " or ".join(sorted(values))


def recorded(environment: Environment) -> dict[str, str]:
    known = {"CPU": environment.cpu_model, "GPUs": ", ".join(environment.gpus), "Kernel": environment.kernel}
    known["Cores"] = str(environment.cores or "")
    known["Power limit of the GPUs"] = ", ".join(f"{watts:g} W" for watts in environment.power_limits)
    return {name: text for name, text in {**known, **environment.versions}.items() if text}


def repeating(environments: Iterable[Environment]) -> list[str]:
    """The command lines that repeat these runs, one for all that differ in the values of their filters alone.

    It has all their values, so that it may repeat points beside theirs.
    """
    lines: list[str] = []
    merged: dict[tuple[tuple[str, ...], tuple[str, ...]], dict[str, dict[Value, None]]] = {}
    for line in dict.fromkeys(each.command for each in environments if each.command):
        try:
            words = shlex.split(line)
            text = ",".join(word.removeprefix(_FILTERS) for word in words if word.startswith(_FILTERS))
            filters = filter_language.parse(text)
        except (ValueError, MatbenchError):
            words, filters = [], {}
        if not filters or shlex.join(words) != line:  # anybody may have written it
            lines.append(line)
            continue
        others = tuple(word for word in words if not word.startswith(_FILTERS))
        values = merged.setdefault((others, tuple(filters)), {name: {} for name in filters})
        for name, wanted in filters.items():
            values[name].update(dict.fromkeys(wanted))
    for (others, _), values in merged.items():
        chosen = filter_language.written({name: tuple(wanted) for name, wanted in values.items()})
        lines.append(shlex.join([*others, f"{_FILTERS}{chosen}"]))
    return lines


def known_of(runs: Sequence[Entry]) -> list[Environment]:
    """The environments of the first *runs*, each read from its file."""
    return [run.environment for run in runs[:MOST_READ]]


def environment_difference(sides: Sequence[str], old: Sequence[Environment], new: Sequence[Environment]) -> list[Node]:
    """A table of what differs, or the sentence that one side isn't recorded."""
    before, after = _values(old), _values(new)
    if not before and not after:
        return []
    if not before or not after:
        return [html.P(f"The environment of {sides[bool(before)]} isn't recorded, so what else differs isn't known.")]
    rows: list[Row] = [
        [name, *(_either(side.get(name, {"not recorded"})) for side in (before, after))]
        for name in dict.fromkeys([*before, *after])
        if before.get(name) != after.get(name)
    ]
    caption = "The environment differs"
    if max(len(old), len(new)) == MOST_READ:
        caption += f" (of the first {MOST_READ:,} runs of each side)"
    return [table(["What", *sides], rows, caption=caption)] if rows else []


def settings_difference(
    sides: Sequence[str], old: Sequence[Entry], new: Sequence[Entry], also: Mapping[str, tuple[Any, Any]]
) -> list[Node]:
    """A table of the settings that differ between two sides, and those that *also* do; nothing where none does."""
    names = dict.fromkeys(name for run in (*old, *new) for name in run.settings)
    rows: list[Row] = [[name, *map(show, values)] for name, values in also.items()]
    for name in names:
        before, after = (sorted({show(run.settings.get(name, NOT_SET)) for run in side}) for side in (old, new))
        if before != after:
            rows.append([name, *(", ".join(values[:MOST_NAMED]) for values in (before, after))])
    return [table(["Setting", *sides], rows, caption="The settings differ")] if rows else []


def repeat_commands(names: Sequence[str], of_each: Sequence[Sequence[Environment]]) -> list[Node]:
    """The commands that repeat the runs of each side, as far as they were recorded; together where they can be."""
    lines = [repeating(each) for each in of_each]
    together = [] if {*lines[0]} & {*lines[1]} else repeating(itertools.chain.from_iterable(of_each))
    found: list[Node] = []
    for name, some in zip(names, lines, strict=True):
        found += [html.P(f"Repeat {name}:"), *map(command, some[:MOST_NAMED])] if some else []
        if len(some) > MOST_NAMED:
            found.append(html.P(f"And {len(some) - MOST_NAMED} more, at the runs.", className="note"))
    if 0 < len(together) <= MOST_NAMED and all(len(some) == len(together) for some in lines):
        said = html.P("Repeat both together, which tells more than one after the other:")
        found = [said, *map(command, together), html.Details([html.Summary("Each by itself"), *found])]
    return found


def _values(environments: Iterable[Environment]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for environment in environments:
        for name, value in recorded(environment).items():
            found.setdefault(name, set()).add(value)
    return found
