"""Findings on names that a workload or a configuration uses and no run has, and on KPIs without any value.

And on settings that tell points apart and are no labels: an analysis sees such points as one series.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from ... import lts
from ...errors import MatbenchError
from ...filters import exact
from ...matrix import NOT_SET, Entry, Matrix, typed
from ...settings import is_nearly
from ...workload import Workload
from ..points import Key, by_point, key
from ..words import count_of, is_or_are, plural
from .finding import ANALYSES, EVERY, NONE, Finding, first_of

COMPARISON_KEY = "comparison key"


def name_findings(matrix: Matrix, workload: Workload, prices: Mapping[str, float]) -> Iterator[Finding]:
    """The findings on names of *workload* and of *prices* that match nothing in *matrix*; none for an empty one."""
    if not len(matrix):
        return
    labels = (entry.facts.labels for entry in matrix if entry.facts is not None and entry.facts.labels is not None)
    known, of_model, unused = set(matrix.settings).union(*labels), lts.label_names(workload), []
    for name, kind in _names(workload).items():
        if name in known:
            continue
        near = next((other for other in known if is_nearly(name, other)), None)
        if name not in of_model and near is not None:
            yield Finding("misspelt-name", f"No run has '{name}', a {kind} of the workload: is '{near}' meant?", EVERY)
        elif name not in of_model and kind == COMPARISON_KEY:
            sentence = f"No run has '{name}', a {kind} that is no label of the model either."
            yield Finding("unknown-key", sentence, ANALYSES)
        else:
            unused.append(f"{name} ({kind})")
    if unused:
        yield Finding("unused-name", f"The workload uses what no run has: {_listed(unused)}.")
    yield from _unknown_kpis(matrix, workload)
    idle = [name for name in prices if not any(_is_priced(entry, name) for entry in matrix)]
    if idle:
        yield Finding("unused-price", f"No run uses the {plural(len(idle), 'price')} of {_listed(idle)}.")


def _names(workload: Workload) -> dict[str, str]:
    """The names of settings and labels that *workload* uses, with the first thing that it uses each for."""
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
    return first


def _unknown_kpis(matrix: Matrix, workload: Workload) -> Iterator[Finding]:
    """The KPIs that no successful run has: the headline's by itself, and which of the others have a limit."""
    good = [entry for entry in matrix if not entry.failed]
    gates, unknown = {gate.kpi for gate in workload.gates}, []
    for name, kpi in workload.kpis.items():
        has = [name in entry.kpis for entry in good if kpi.applies(entry.settings)]
        unknown += [name] if has and not any(has) else []
    headline = None if workload.headline is None else workload.headline.name
    others = [name for name in unknown if name != headline]
    for names, changes in (([headline] if headline in unknown else [], EVERY), (others, NONE)):
        if names:
            where = f"{is_or_are(len(names))} unknown at all {count_of(len(good), 'run')}"
            listed = _listed(f"{name} (a limit)" if name in gates else str(name) for name in names)
            reasons = (entry.missing_kpis.get(str(name), "no reason is given") for name in names for entry in good)
            yield Finding("unknown-kpi", f"{listed} {where}: {first_of(reasons)}.", changes)


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
    samples = {frozenset(entry.settings): entry for entry in entries}  # one for each set of settings
    known = [of_run for entry in samples.values() if (of_run := _labels(entry, workload)) is not None]
    if not known:
        return
    names = frozenset[str]().union(*known)
    keys = workload.regression
    apart = {*keys.comparison_keys, *keys.ignored_keys}
    labels = sorted({name for entry in entries for name in entry.settings if name in names} - apart)
    for name in sorted({name for entry in entries for name in entry.settings} - names - apart):
        groups: dict[Key, dict[tuple[str, object], Entry]] = {}
        for entry in entries:
            of_group = groups.setdefault(key(entry.settings, labels), {})
            of_group.setdefault(typed(entry.settings.get(name, NOT_SET)), entry)
        merged = [list(group.values()) for group in groups.values() if len(group) > 1]
        if merged and all(_labels(one, workload) == _labels(other, workload) for one, other, *_ in merged[:_PAIRS]):
            become = f"{sum(map(len, groups.values()))} points become {len(groups)} series"
            what = f"'{name}' varies and is no label: {become}, so runs that differ in it are taken for repeats."
            yield Finding("no-label", what, ANALYSES)


def _labels(entry: Entry, workload: Workload) -> Mapping[str, object] | None:
    try:
        return lts.facts_of_entry(workload, entry).labels
    except MatbenchError:  # what it was read from is gone since
        return None
