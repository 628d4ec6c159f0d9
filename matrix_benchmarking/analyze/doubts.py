"""What makes numbers doubtful, said once for all runs of which it holds: the sentences of a workload, joined."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ..matrix import Entry

_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")
_PLACE = "\0"
_NAMED = 5


def joined(runs: Iterable[Entry]) -> list[tuple[str, list[Entry]]]:
    """The warnings of *runs*, each with the runs that have it; those that differ in their numbers alone are one.

    The numbers become a range: ``they took 57 to 80 % of a core``.
    """
    found: dict[str, list[tuple[Entry, list[str]]]] = {}
    for run in runs:
        for warning in run.warnings:
            found.setdefault(_NUMBER.sub(_PLACE, warning), []).append((run, _NUMBER.findall(warning)))
    return [
        (_filled(template, [numbers for _, numbers in of]), list({id(run): run for run, _ in of}.values()))
        for template, of in found.items()
    ]


def of_point(runs: Sequence[Entry]) -> tuple[str, ...]:
    """The warnings of the *runs* at one point, with which of them have each: ``… (2 of 3 runs: repeats 0, 2)``."""
    if len(runs) == 1:
        return tuple(dict.fromkeys(runs[0].warnings))
    return tuple(f"{sentence} ({_which(having, runs)})" for sentence, having in joined(runs))


def _filled(template: str, numbers: Sequence[Sequence[str]]) -> str:
    parts, ranges = template.split(_PLACE), [_range(texts) for texts in zip(*numbers, strict=True)]
    return "".join(part + number for part, number in zip(parts, [*ranges, ""], strict=True))


def _range(texts: Sequence[str]) -> str:
    ordered = sorted(texts, key=lambda text: float(text.replace(",", "")))
    return ordered[0] if ordered[0] == ordered[-1] else f"{ordered[0]} to {ordered[-1]}"


def _which(having: Sequence[Entry], runs: Sequence[Entry]) -> str:
    if len(having) == len(runs):
        return f"all {len(runs)} runs"
    is_known = len({run.repeat for run in runs}) == len(runs)
    names = [str(run.repeat) if is_known else run.name for run in having[:_NAMED]]
    rest = [f"and {len(having) - _NAMED} more"] if len(having) > _NAMED else []
    what = ("repeat " if len(having) == 1 else "repeats ") if is_known else ""
    return f"{len(having)} of {len(runs)} runs: {what}{', '.join([*names, *rest])}"
