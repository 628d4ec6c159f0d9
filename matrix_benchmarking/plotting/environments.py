"""Where runs took place: how to repeat them, and what differs between two sides of a comparison."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..filters import show
from ..matrix import NOT_SET, Entry
from ..recorded import Environment
from .tables import Node, Row, command, html, table

if TYPE_CHECKING:
    from .base import Href

MOST_NAMED = 8
MOST_READ = 1000
"""Of how many runs a side the environment is read."""
_TITLES = {"cpu": "CPU", "cores": "Cores", "gpus": "GPUs", "kernel": "Kernel", "power": "Power limit of the GPUs"}


HOW_TO_REPEAT = (
    "It is run where its benchmark file is, with the extra 'benchmark' installed (pip install "
    "'matrix-benchmarking[benchmark]'), and writes into a directory of its own, which Compare takes as the new side."
)


def repeat_section(entries: Sequence[Entry], href: Href, title: str = "Repeat it") -> list[Node]:
    environments = [entry.environment for entry in entries]
    known = [each for each in environments if each != Environment()]
    if not known:
        return []
    parts: list[Node] = [html.H2(title)]
    found = next(((e, each.command) for e, each in zip(entries, environments, strict=True) if each.command), None)
    if found is not None:
        link = html.A(found[0].name, href=href(found[0]))
        parts += [html.P(["This repeats ", link, ":"]), command(found[1]), html.P(HOW_TO_REPEAT, className="note")]
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
    known = {"cpu": environment.cpu_model, "gpus": ", ".join(environment.gpus), "kernel": environment.kernel}
    known["cores"] = str(environment.cores or "")
    known["power"] = ", ".join(f"{watts:g} W" for watts in environment.power_limits)
    return {name: text for name, text in {**known, **environment.versions}.items() if text}


def environment_difference(old: Sequence[Entry], new: Sequence[Entry], read: dict[int, dict[str, str]]) -> list[Node]:
    """A table of what differs, or the sentence that one side isn't recorded; *read* keeps what was recorded of runs."""
    before, after = _values(old[:MOST_READ], read), _values(new[:MOST_READ], read)
    if not before and not after:
        return []
    if not before or not after:
        side = "new" if before else "old"
        return [html.P(f"The environment of the {side} runs isn't recorded, so what else differs isn't known.")]
    rows: list[Row] = [
        [_TITLES.get(name, name), *(_either(side.get(name, {"not recorded"})) for side in (before, after))]
        for name in dict.fromkeys([*before, *after])
        if before.get(name) != after.get(name)
    ]
    if not rows:
        return []
    caption = "The environment differs"
    if max(len(old), len(new)) > MOST_READ:
        caption += f" (of the first {MOST_READ:,} runs of each side)"
    return [table(["What", "Old runs", "New runs"], rows, caption=caption)]


def settings_difference(old: Sequence[Entry], new: Sequence[Entry], also: Mapping[str, tuple[Any, Any]]) -> list[Node]:
    """A table of the settings that differ between two sides, and those that *also* do; nothing where none does."""
    names = dict.fromkeys(name for run in (*old, *new) for name in run.settings)
    rows: list[Row] = [[name, *map(show, values)] for name, values in also.items()]
    for name in names:
        sides = [sorted({show(run.settings.get(name, NOT_SET)) for run in side}) for side in (old, new)]
        if sides[0] != sides[1]:
            rows.append([name, *(", ".join(values[:MOST_NAMED]) for values in sides)])
    return [table(["Setting", "Old runs", "New runs"], rows, caption="The settings differ")] if rows else []


def repeat_commands(names: Sequence[str], sides: Sequence[Sequence[Entry]]) -> list[Node]:
    """The command that repeats a run of each side, where it was recorded."""
    found: list[Node] = []
    for name, side in zip(names, sides, strict=True):
        said = next((one for run in side[:MOST_READ] if (one := run.environment.command)), None)
        found += [html.P(f"Repeat {name}:"), command(said)] if said else []
    return found


def _values(entries: Iterable[Entry], read: dict[int, dict[str, str]]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for entry in entries:
        if id(entry) not in read:
            read[id(entry)] = recorded(entry.environment)
        for name, value in read[id(entry)].items():
            found.setdefault(name, set()).add(value)
    return found
