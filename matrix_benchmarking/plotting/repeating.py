"""Where runs took place and how to repeat them, for the pages about them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..environment_file import Environment
from ..matrix import Entry
from .base import Presentation


def repeat_section(entries: Sequence[Entry], catalogue: Presentation, title: str = "Repeat it") -> list[Any]:
    """The command that repeats the first of *entries*, where they were run, and what differs among them."""
    from dash import html

    environments = [entry.environment for entry in entries]
    recorded = [each for each in environments if each != Environment()]
    if not recorded:
        return []
    parts: list[Any] = [html.H2(title)]
    command = next(((e, each.command) for e, each in zip(entries, environments, strict=True) if each.command), None)
    if command is not None:
        link = html.A(command[0].name, href=catalogue.href(command[0]))
        parts += [html.P(["This repeats ", link, ":"]), html.Pre(html.Code(command[1]))]
    parts.append(html.P(f"Measured on {circumstances(recorded)}."))
    return parts


def circumstances(environments: Iterable[Environment]) -> str:
    """Machine and versions of *environments* in words; where they differ, all there are."""
    known = list(environments)
    machines = {", ".join(filter(None, [each.cpu_model, *each.gpus, each.kernel])) for each in known}
    parts = [_either(machines - {""}) or "an unknown machine"]
    names = dict.fromkeys(name for each in known for name in each.versions)
    versions = [f"{name} {_either({each.versions[name] for each in known if name in each.versions})}" for name in names]
    return ", with ".join([parts[0], ", ".join(versions)]) if versions else parts[0]


def _either(values: set[str]) -> str:
    return " or ".join(sorted(values))
