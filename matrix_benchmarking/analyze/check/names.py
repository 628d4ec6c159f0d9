"""Findings on names that a workload or a configuration uses and no run has, and on KPIs without any value.

And on settings that tell points apart and are no labels: an analysis sees such points as one series.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ... import lts
from ...errors import MatbenchError
from ...filters import exact
from ...kpi import KPIDefinition
from ...matrix import NOT_SET, Entry, Matrix, typed
from ...settings import is_nearly
from ...workload import Workload
from ..points import by_point
from ..words import count_of, plural
from .finding import ANALYSES, EVERY, NONE, Finding, first_of

COMPARISON_KEY = "comparison key"


def name_findings(matrix: Matrix, workload: Workload, prices: Mapping[str, float]) -> Iterator[Finding]:
    """The findings on names of *workload* and of *prices* that match nothing in *matrix*; none for an empty one."""
    if not len(matrix):
        return
    known = _known(matrix)
    absent = [(kind, name) for kind, name in _names(workload) if name not in known]
    of_model = lts.label_names(workload)
    for kind, name in absent:
        if name in of_model:
            continue
        near = next((other for other in known if is_nearly(name, other)), None)
        if near is not None:
            yield Finding("misspelt-name", f"No run has '{name}', a {kind} of the workload: is '{near}' meant?", EVERY)
        elif kind == COMPARISON_KEY:
            yield Finding(
                "unknown-key", f"No run has '{name}', a {kind} that is no label of the model either.", ANALYSES
            )
        else:
            continue
        absent = [one for one in absent if one != (kind, name)]
    unused = [f"{name} ({kind})" for kind, name in absent]
    if unused:
        yield Finding("unused-name", f"The workload uses what no run has: {_listed(unused)}.")
    yield from _unknown_kpis(matrix, workload)
    idle = [name for name in prices if not any(_is_priced(entry, name) for entry in matrix)]
    if idle:
        yield Finding("unused-price", f"No run uses the {plural(len(idle), 'price')} of {_listed(idle)}.")


def _names(workload: Workload) -> list[tuple[str, str]]:
    """The names of settings and labels that *workload* uses, each once, with the first thing that it uses it for."""
    keys = workload.regression
    uses = (
        (COMPARISON_KEY, keys.comparison_keys),
        ("ignored key", keys.ignored_keys),
        ("ignored entry", keys.ignored_entries),
        ("group key", workload.group_keys),
        ("variant key", workload.variant_keys),
        ("sorting key", keys.sorting_keys),
    )
    first: dict[str, str] = {}
    for kind, names in uses:
        for name in names:
            first.setdefault(name, kind)
    return [(kind, name) for name, kind in first.items()]


def _known(matrix: Matrix) -> set[str]:
    """The names of all settings, and of the labels that are at hand."""
    labels = (entry.facts.labels for entry in matrix if entry.facts is not None and entry.facts.labels is not None)
    return set(matrix.settings).union(*labels)


def _unknown_kpis(matrix: Matrix, workload: Workload) -> Iterator[Finding]:
    """The KPIs that no successful run has: the headline's by itself, and which of the others have a limit."""
    good = [entry for entry in matrix if not entry.failed]
    gates = {gate.kpi for gate in workload.gates}
    unknown = [name for name, kpi in workload.kpis.items() if _is_unknown(kpi, good)]
    headline = None if workload.headline is None else workload.headline.name
    others = [name for name in unknown if name != headline]
    for names, changes in (([headline] if headline in unknown else [], EVERY), (others, NONE)):
        if names:
            are = "is" if len(names) == 1 else "are"
            every = f"all {count_of(len(good), 'run')}"
            listed = _listed(f"{name} (a limit)" if name in gates else str(name) for name in names)
            sentence = f"{listed} {are} unknown at {every}: {_reasons(good, names)}."
            yield Finding("unknown-kpi", sentence, changes)


def _is_unknown(kpi: KPIDefinition, good: Sequence[Entry]) -> bool:
    """Whether no run has it, of those to which it applies."""
    known = [kpi.name in entry.kpis for entry in good if kpi.applies(entry.settings)]
    return bool(known) and not any(known)


def _reasons(entries: Sequence[Entry], names: Iterable[str | None]) -> str:
    return first_of(entry.missing_kpis.get(str(name), "no reason is given") for name in names for entry in entries)


def _is_priced(entry: Entry, name: str) -> bool:
    """Whether the settings name the hardware of the price *name*: ``vendor/hw_type`` or ``hw_type``."""
    values = {exact(value) for value in entry.settings.values()}
    return all(part in values for part in name.split("/", 1))


def _listed(names: Iterable[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


_PAIRS = 3
"""How many pairs of runs are looked at before a setting is believed to be no label."""


def label_findings(matrix: Matrix, workload: Workload) -> Iterator[Finding]:
    """A finding for each setting that varies among the successful runs of *matrix* and is in none of their labels."""
    entries = [runs[0] for runs in by_point(entry for entry in matrix if not entry.failed and entry.kpis)]
    if workload.store.get_kpi_labels is None:
        return
    names = _label_names(entries, workload)
    if names is None:
        return
    keys = workload.regression
    apart = {*keys.comparison_keys, *keys.ignored_keys}
    labels = sorted({name for entry in entries for name in entry.settings if name in names} - apart)
    for name in sorted({name for entry in entries for name in entry.settings} - names - apart):
        groups: dict[Any, dict[Any, Entry]] = {}
        for entry in entries:
            of_group = groups.setdefault(_key(entry, labels), {})
            of_group.setdefault(typed(entry.settings.get(name, NOT_SET)), entry)
        merged = [list(group.values()) for group in groups.values() if len(group) > 1]
        if merged and all(_same_labels(group, workload) for group in merged[:_PAIRS]):
            points = sum(map(len, groups.values()))
            yield Finding(
                "no-label",
                f"'{name}' varies and is no label: {points} points become {len(groups)} series, so runs that differ in "
                "it are taken for repeats.",
                ANALYSES,
            )


def _label_names(entries: Sequence[Entry], workload: Workload) -> frozenset[str] | None:
    """The names of the labels of runs, of one for each set of settings; None where no run has any."""
    samples = {frozenset(entry.settings): entry for entry in entries}
    found = [labels for entry in samples.values() if (labels := _labels(entry, workload)) is not None]
    return frozenset().union(*found) if found else None


def _same_labels(runs: Sequence[Entry], workload: Workload) -> bool:
    """Whether the first two of *runs* have the same labels, so that what tells them apart is under no other name."""
    return _labels(runs[0], workload) == _labels(runs[1], workload)


def _labels(entry: Entry, workload: Workload) -> Mapping[str, Any] | None:
    try:
        return lts.facts_of_entry(workload, entry).labels
    except MatbenchError:  # what it was read from is gone since
        return None


def _key(entry: Entry, names: Sequence[str]) -> tuple[object, ...]:
    return tuple(typed(entry.settings.get(name, NOT_SET)) for name in names)
