"""Findings on labels, of which some settings are none, or contradict them, and on payloads that nothing takes."""

from __future__ import annotations

import collections
import contextlib
from collections.abc import Iterator, Mapping

from ... import lts
from ...errors import MatbenchError
from ...filters import show
from ...matrix import NOT_SET, TREE, Entry, Matrix
from ...rows import Rows
from ...workload import Workload
from ..points import keys
from ..select.versions import key
from ..words import count_of, first_of, named
from .finding import ANALYSES, Finding, are_few, runs_have
from .measured import Measured

TREE_NO_LABEL = "tree-no-label"
_PAIRS = 3  # of runs are looked at before a setting is believed to be no label


def label_findings(measured: Measured) -> Iterator[Finding]:
    """A finding for each setting that varies among the successful runs and is in none of their labels."""
    good, workload = measured.runs, measured.workload
    if workload.store.get_kpi_labels is None:
        return
    has_kpis = list(map(bool, good.values("kpi_names")))
    firsts = (next((place for place in places if has_kpis[place]), None) for places in measured.points)
    points = good.at(place for place in firsts if place is not None)
    names_of, codes = points.shared("names")
    samples = dict(zip(codes, range(len(points)), strict=True))  # one point for each set of settings
    known = [of_run for place in samples.values() if (of_run := _labels(points[place], workload)) is not None]
    if not known:
        return
    names = frozenset[str]().union(*known)
    regression = workload.regression
    apart = {*regression.comparison_keys, *regression.ignored_keys}
    there = {name for code in samples for name in names_of[code]}
    labels = keys(points, sorted(there & names - apart))
    for name in sorted(there - names - apart):
        groups: dict[object, dict[object, int]] = {}
        for place, (series, value) in enumerate(zip(labels, keys(points, [name]), strict=True)):
            groups.setdefault(series, {}).setdefault(value, place)
        merged = [[points[place] for place in group.values()] for group in groups.values() if len(group) > 1]
        if merged and all(_labels(one, workload) == _labels(other, workload) for one, other, *_ in merged[:_PAIRS]):
            become = f"{sum(map(len, groups.values()))} points become {len(groups)} series"
            what = f"'{name}' varies and is no label: {become}, so runs that differ in it are taken for repeats."
            yield Finding("no-label" if name != TREE else TREE_NO_LABEL, what, ANALYSES)


def contradicted_labels(good: Rows, workload: Workload) -> Iterator[Finding]:
    """Runs of payloads whose labels say another value of a setting than the settings beside them.

    What a workload makes labels with may change a value; then it does so in most runs.
    """
    facts = good.values("facts")
    for name in sorted({name for each in facts if each is not None and each.labels for name in each.labels}):
        values, codes = good.setting(name)
        said = [(each.labels or {}).get(name, NOT_SET) if each is not None else NOT_SET for each in facts]
        is_other = [NOT_SET not in (label, values[code]) and label != values[code] != str(label)
                    for label, code in zip(said, codes, strict=True)]  # fmt: skip
        runs = good.where(is_other)
        if runs and (workload.store.get_kpi_labels is None or are_few(len(runs), len(good))):
            place = is_other.index(True)
            what = f"{runs_have(runs)} the label '{name}', such as {show(said[place])}, that its settings contradict"
            sentence = f"{what}, with {show(values[codes[place]])}: was a payload changed by hand?"
            yield Finding.of("contradicted-label", sentence, runs)


def _labels(entry: Entry, workload: Workload) -> Mapping[str, object] | None:
    try:
        return lts.labels_of_entry(workload, entry)
    except MatbenchError:  # what it was read from is gone since
        return None


def payload_findings(good: Rows, workload: Workload) -> Iterator[Finding]:
    """That a run's payload is none that the workload's own model takes, by the first of those with the most KPIs: no
    history keeps its like.
    """
    model, counts = workload.store.lts_payload_model, list(map(len, good.values("kpi_names")))
    if model is None:
        return
    most, known = max(counts, default=0), zip(good.values("facts"), good.values("problems"), counts, strict=True)
    are_whole = (facts is None and not problems and count == most for facts, problems, count in known)
    first = next((place for place, is_whole in enumerate(are_whole) if is_whole), None)
    if first is None:
        return
    with contextlib.suppress(MatbenchError, OSError):  # what it was read from is gone since
        _, wrong = lts.validate(model, workload, good[first])
        if wrong:
            reasons = first_of(map(str, wrong))
            what = f"No history takes a run such as '{good[first].name}', whose payload isn't what the model says"
            yield Finding.of("payload", f"{what}: {reasons}.", [good[first]], ANALYSES)


def schema_findings(matrix: Matrix, workload: Workload) -> Iterator[Finding]:
    """Runs of a history whose payloads are of several versions: a KPI may have been computed otherwise then."""
    said = [None if each is None else each.schema_version for each in matrix.entries.values("facts")]
    versions = collections.Counter(str(version) for version in said if version)
    if len(versions) > 1:
        counts = " | ".join(f"{version}: {count_of(count, 'run')}" for version, count in sorted(versions.items()))
        what = f"KPIs were computed by several versions of the payload's schema ({counts})"
        yield Finding("schemas", f"{what}: upload the runs of the older ones again, so that all are computed alike.")
    today = lts.schema_version(workload)
    newer = [version for version in versions if key(version) > key(today)]
    # Where a model doesn't say its version, it may be a later one in all.
    if newer and (workload.store.lts_payload_model is None or len(newer) < len(versions)):
        runs = matrix.entries.where(str(version) in newer for version in said)
        what = f"{runs_have(runs)} payloads of the schema's version {named(newer)}, and the workload knows {today}"
        yield Finding.of("newer-schema", f"{what}: their numbers may mean something else; update the workload.", runs)
