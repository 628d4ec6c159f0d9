"""Findings on runs: failed and lost ones, damaged artifacts, copies, values that can't be."""

from __future__ import annotations

import collections
from collections.abc import Iterator, Sequence

from ...matrix import DID_NOT_FINISH, Entry, Matrix, typed
from ...workload import Workload
from .. import doubts
from ..points import by_point
from ..select.selection import not_judged
from ..words import count_of, named, plural
from .finding import ANALYSES, EVERY, NONE, Finding, first_of, said_of_twins


def run_findings(matrix: Matrix, workload: Workload) -> Iterator[Finding]:
    """The findings on the runs of *matrix* as such."""
    yield from _failed(matrix, workload)
    unfinished = [entry for entry in matrix.unfinished if not entry.is_unreadable]
    if unfinished:
        sentence = f"{_runs(unfinished)} did not finish and {_take(unfinished)} no part."
        yield Finding("unfinished", sentence, runs=_names(unfinished))
    lost = [entry for entry in matrix.unfinished if entry.is_unreadable]
    if lost:
        sentence = f"{_runs(lost)} can't be placed and {_take(lost)} no part: {_first(lost)}."
        yield Finding("lost", sentence, EVERY, _names(lost))
    alone = [entry for entry in matrix if entry.from_cache_alone]
    if alone:
        are, their = ("is", "its") if len(alone) == 1 else ("are", "their")
        sentence = f"{_runs(alone)} {are} known from {their} cache alone: {their} artifacts are not here."
        yield Finding("cache-alone", sentence, EVERY, _names(alone))
    told = {id(entry) for entry in matrix if entry.from_cache_alone or not entry.settings}
    damaged = [entry for entry in matrix if entry.problems and not entry.failed and id(entry) not in told]
    if damaged:
        sentence = f"{_runs(damaged)} with artifacts that can't be read whole: {_first(damaged)}."
        yield Finding("damaged", sentence, EVERY, _names(damaged))
    yield from _without_headline([entry for entry in matrix if id(entry) not in told and not entry.problems], workload)
    yield from _copies(matrix)
    yield from _changed(matrix)
    yield from _numeric_versions(matrix, workload)
    yield from _schemas(matrix)
    impossible = [entry for entry in matrix if (entry.implausible or entry.harmless) and not entry.failed]
    if impossible:
        what = first_of(sentence for entry in impossible for sentence in (*entry.implausible, *entry.harmless))
        have = "has" if len(impossible) == 1 else "have"
        yield Finding(
            "implausible", f"{_runs(impossible)} {have} values that can't be: {what}.", EVERY, _names(impossible)
        )
    good = [entry for entry in matrix if not entry.failed]
    doubtful = [entry for entry in good if entry.warnings]
    if doubtful:
        why = first_of(sentence for sentence, _ in doubts.joined(doubtful))
        of = "" if len(doubtful) == len(good) else f" of {len(good)}"
        sentence = f"{len(doubtful)}{of} {plural(len(good), 'run')} with doubtful numbers: {why}."
        yield Finding("doubtful", sentence, NONE, _names(doubtful), in_most_runs=2 * len(doubtful) > len(good))
    if matrix.notes:
        count = len(matrix.notes)
        sentence = f"{count_of(count, 'thing')} met on the way through the runs:"
        yield Finding("notes", sentence, runs=matrix.notes)


def _changed(matrix: Matrix) -> Iterator[Finding]:
    """Runs of a history with the settings, the repeat and the time of another one: one was changed and kept again."""
    alike: dict[object, list[Entry]] = {}
    for entry in matrix:
        if not entry.failed and entry.facts is not None and entry.facts.time_us is not None:
            settings = frozenset((name, *typed(value)) for name, value in entry.settings.items())
            alike.setdefault((settings, entry.repeat, entry.facts.time_us), []).append(entry)
    twice = [entry for same in alike.values() if len(same) > 1 for entry in same]
    if twice:
        yield Finding("twice", said_of_twins(len(twice)), EVERY, _names(twice))


def _numeric_versions(matrix: Matrix, workload: Workload) -> Iterator[Finding]:
    """Versions that are numbers: 1.10 is 1.1 then."""
    for name in workload.regression.comparison_keys:
        numeric = [entry for entry in matrix if isinstance(entry.settings.get(name), float)]
        if numeric:
            value = numeric[0].settings[name]
            sentence = f"'{name}' is a number in {_runs(numeric)}, such as {value}: quote it, since 1.10 would be 1.1."
            yield Finding("numeric-version", sentence, ANALYSES, _names(numeric))


def _schemas(matrix: Matrix) -> Iterator[Finding]:
    """Runs of a history whose payloads are of several versions: a KPI may have been computed otherwise then."""
    versions = collections.Counter(
        str(entry.facts.schema_version) for entry in matrix if entry.facts is not None and entry.facts.schema_version
    )
    if len(versions) > 1:
        counts = " | ".join(f"{version}: {count_of(count, 'run')}" for version, count in sorted(versions.items()))
        what = f"KPIs were computed by several versions of the payload's schema ({counts})"
        yield Finding("schemas", f"{what}: upload the runs of the older ones again, so that all are computed alike.")


def _copies(matrix: Matrix) -> Iterator[Finding]:
    """Runs whose recorded artifacts are those of another one, byte for byte: one measurement that counts twice."""
    by_measurement: dict[str, list[Entry]] = {}
    for entry in matrix:
        if entry.measurement is not None and not entry.failed:
            by_measurement.setdefault(entry.measurement.removesuffix("*"), []).append(entry)
    copies = [entry for same in by_measurement.values() if len(same) > 1 for entry in same]
    if copies:
        what = f"{_runs(copies)} have artifacts that another one has, byte for byte"
        yield Finding("copies", f"{what}: are they copies of one measurement?", EVERY, _names(copies))


def _without_headline(entries: Sequence[Entry], workload: Workload) -> Iterator[Finding]:
    """Successful runs without the headline KPI, beside others that have it."""
    name = None if workload.headline is None else workload.headline.name
    headline = workload.headline
    good = [one for one in entries if headline is not None and not one.failed and headline.applies(one.settings)]
    without = [entry for entry in good if name not in entry.kpis]
    if name is not None and 0 < len(without) < len(good):
        why = first_of(entry.missing_kpis.get(name, "no reason is given") for entry in without)
        yield Finding("no-headline", f"{_runs(without)} without {name}: {why}.", EVERY, _names(without))


def _failed(matrix: Matrix, workload: Workload) -> Iterator[Finding]:
    failed = [entry for entry in matrix if entry.failed]
    if not failed:
        return
    lost = sum(all(entry.failed for entry in runs) for runs in by_point(matrix.entries))
    gone = f"; {count_of(lost, 'point')} {'has' if lost == 1 else 'have'} no good run" if lost else ""
    yield Finding("failed", f"{_runs(failed)} failed and {_take(failed)} no part{gone}.", runs=_names(failed))
    without = not_judged(matrix.entries, workload)
    if without:
        yield Finding("no-good-run", f"No run of {named(without)} is good: what changed there isn't known.", ANALYSES)


def _reason(entry: Entry) -> str:
    return str(entry.problems[0]) if entry.problems else DID_NOT_FINISH


def _first(entries: Sequence[Entry]) -> str:
    return first_of(map(_reason, entries))


def _runs(entries: Sequence[Entry]) -> str:
    return count_of(len(entries), "run")


def _take(entries: Sequence[Entry]) -> str:
    return "takes" if len(entries) == 1 else "take"


def _names(entries: Sequence[Entry]) -> list[str]:
    return [entry.name for entry in entries]
