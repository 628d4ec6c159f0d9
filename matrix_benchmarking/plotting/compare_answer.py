"""What the two sides of a comparison say: the verdict on them, or why there is none, and which runs take no part."""

from __future__ import annotations

import dataclasses
import glob
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from .. import filters
from ..analyze.failures import values_fail, versions_fail
from ..analyze.select.selection import NO_PART, Selection, select
from ..analyze.select.versions import against
from ..analyze.study import Study
from ..analyze.verdict.lifecycle import Known, known_alarms, new_events
from ..analyze.verdict.model import Outcome
from ..analyze.verdict.pairs import (
    Build,
    Switch,
    about,
    build_pairs,
    compare_builds,
    either,
    pair_up,
    pairs_of,
    switch,
    switch_versions,
    version_pairs,
)
from ..analyze.verdict.sides import Pair
from ..analyze.words import count_of, named
from ..errors import sentence
from ..filters import show
from ..matrix import NOT_SET, TREE, Entry, typed
from ..rows import Rows
from .compare_charts import CLEAR
from .compare_sides import SIDE, Candidate, as_wholes, candidates, newest_said, none_of_newest, of_trees

MOST_JUDGED = 100_000
"""So many values of all comparisons together are judged for one page, in about a second."""


def asked_for(study: Study, cfg: Mapping[str, Any]) -> tuple[list[Switch], bool]:
    """The comparisons that *cfg* asks for, trees and versions first, then the clearest; and whether all are whole.

    Where these are of very many values the first one is, and the others have the KPI that ranks alone.
    """
    found = candidates(study, cfg)
    switches, are_whole = _answers(study, found)
    return (switches, are_whole) if switches else _answers(study, as_wholes(study, found))


def _answers(study: Study, wanted: Sequence[Candidate]) -> tuple[list[Switch], bool]:
    are_whole = len(wanted) == 1 or sum(_values(study, one) for one in wanted) <= MOST_JUDGED
    analysis = study.analysis
    raised = known_alarms([] if analysis is None else new_events(analysis, known_alarms(study.given.events())))
    found = [(one, _answer(study, one, raised, are_whole)) for one in wanted]
    switches = [(switch, one) for one, switch in found if switch is not None]
    ranking_kpis = {kpi.name for kpi in study.workload.headlines(run.settings for run in study.runs)}

    def place(one: Switch) -> tuple[float, ...]:
        first = one.effects[0]
        is_suspected = bool(one.analysis.having(Outcome.SUSPECTED))
        known = one.setting != TREE, not study.places(one.setting), first.kpi.name not in ranking_kpis
        is_clear = any(outcome in CLEAR for outcome in (first.outcome, *(x.outcome for x in one.analysis.verdicts)))
        return *known, not is_clear, not (is_clear or is_suspected), -abs(first.judged.measure.value)

    switches.sort(key=lambda each: place(each[0]))
    if switches:
        switch, of = switches[0]
        whole = switch if are_whole else _answer(study, of, raised, True)
        switches[0] = _noted(study, whole or switch, of), of
    return [switch for switch, _ in switches], are_whole


def _values(study: Study, one: Candidate) -> int:
    """How many values of KPIs its runs have."""
    rows, sides = Rows.of(one.runs_of(study)), (typed(one.old), typed(one.new))
    (values, codes), (names, of) = rows.setting(one.setting), rows.shared("kpi_names")
    counts, is_in = [*map(len, names)], [typed(value) in sides for value in values]
    return sum(counts[own] for code, own in zip(codes, of, strict=True) if is_in[code])


def _answer(study: Study, one: Candidate, raised: Mapping[str, Known], is_whole: bool) -> Switch | None:
    """With the KPI first that ranks most of the runs; unless *is_whole* of that alone, if it can be compared."""
    entries = one.runs_of(study)
    places = {kpi.name: at for at, kpi in enumerate(study.workload.headlines(run.settings for run in entries))}
    kpis = [] if is_whole else [glob.escape(name) for name in places][:1]
    found = switched(study, entries, one, kpi_filter=kpis, raised=raised)
    if kpis and (found is None or not found.effects):
        found = switched(study, entries, one, raised=raised)
    if found is None or not found.effects:
        return None
    effects = sorted(found.effects, key=lambda effect: places.get(effect.kpi.name, len(places)))
    return msgspec.structs.replace(found, effects=tuple(effects), also=one.also)


def _noted(study: Study, switch: Switch, of: Candidate) -> Switch:
    """With what is left out, which takes long; versions tell it by themselves."""
    if study.places(of.setting):
        return switch
    notes = (*left_out(study, of, switch.analysis.runs), *switch.analysis.notes)
    return msgspec.structs.replace(switch, analysis=msgspec.structs.replace(switch.analysis, notes=notes))


def switched(
    study: Study,
    entries: Sequence[Entry],
    of: Candidate,
    *,
    kpi_filter: Sequence[str] = (),
    raised: Mapping[str, Known] | None = None,
    ignored: Sequence[str] = (),
) -> Switch | None:
    """The answer of the runs *entries*: of versions and trees series by series, else of points that differ in the
    setting alone.

    None where no run of one side has an equal on the other; *raised* are alarms that the history doesn't know yet.
    """
    workload, setting, old, new = study.workload, of.setting, of.old, of.new
    names = show(old), show(new)
    is_of_versions = bool(study.places(setting)) and (study.order.axis or setting) == setting
    is_of_versions = is_of_versions and not of.looks_like_others(study)

    def selected(runs: Iterable[Entry], noted: Callable[[Entry], bool] = lambda run: True) -> Selection:
        return select(runs, workload, order=study.order, kpi_filter=kpi_filter, noted=noted)

    def pairs(whole: Study) -> Sequence[Pair]:
        everything = of.runs_of(whole) if of.selections is None else []
        if is_of_versions:
            return version_pairs(selected(everything), *names, setting)[0]
        return pairs_of(everything, workload, setting, old, new, kpi_filter)

    if setting == TREE:
        return _of_trees(study, of, kpi_filter, raised=raised or {}, ignored=ignored)
    question = study.question(study.data, pairs, raised=raised or {}, ignored=ignored)
    if not is_of_versions:
        question = dataclasses.replace(question, fails=values_fail((old, new), Rows.of(entries), setting, workload))
        found = switch(entries, workload, setting, old, new, question, kpi_filter)
        if found is None or setting != SIDE:
            return found
        told = msgspec.structs.replace(found.analysis, question=against(old, new))
        return msgspec.structs.replace(found, analysis=told)
    fails = versions_fail(names, study.runs.entries, setting, workload)
    newer = study.order.newer_said(setting, (old, new))
    both = msgspec.structs.replace(selected(entries, either(setting, *names)), order=newer)
    return switch_versions(both, setting, old, new, dataclasses.replace(question, fails=fails))


def _of_trees(study: Study, of: Candidate, kpi_filter: Sequence[str], **more: Any) -> Switch:
    """The answer of two trees, whose series are told apart by labels as those of a history."""
    workload = study.workload.ignoring([TREE, *of.also])

    def builds(whole: Study) -> tuple[Build, Build, bool]:
        (before, after), by_version = of_trees(whole, of.old, of.new)
        runs_of = study.order.runs_of
        old, new = (Build(show(name), side, runs_of(side)) for name, side in ((of.old, before), (of.new, after)))
        return old, new, by_version

    def pairs(whole: Study) -> Sequence[Pair]:
        old, new, by_version = builds(whole)
        return build_pairs(old, new, workload, kpi_filter=kpi_filter, by_version=by_version)

    old, new, by_version = builds(study)
    question = study.question(study.data, pairs, **more)
    found = compare_builds(old, new, workload, question, kpi_filter=kpi_filter, by_version=by_version)
    return Switch(of.setting, of.old, of.new, *found)


def why_none(study: Study, entries: Sequence[Entry], of: Candidate) -> str:
    """Why nothing of two sides can be compared, as a sentence."""
    for value in (of.old, of.new):
        side = [run for run in entries if typed(run.settings.get(of.setting, NOT_SET)) == typed(value)]
        if not side:
            return none_of_newest(study, show(value))
        if all(run.failed for run in side):
            return f"No run of {show(value)} is good: all {len(side)} failed."
    if of.setting == TREE and (found := switched(study, entries, of)) is not None and found.analysis.not_analysed:
        return sentence("; ".join(dict.fromkeys(one.reason for one in found.analysis.not_analysed)))
    if pair_up(entries, of.setting, of.old, of.new, study.workload.regression.ignored_keys):
        return "No KPI to compare is known of both sides."
    return "No point of one side has an equal on the other, so there is nothing to compare."


def left_out(study: Study, one: Candidate, compared: int) -> Iterator[str]:
    """Which runs took no part, *compared* of those of *one* did; and in what else its sides differ."""
    entries = one.runs_of(study)
    if one.also:
        yield f"the sides differ in {named(list(one.also))} as well: each has one value of its own"
    sides: Sequence[filters.Filters] = one.selections or ({},)
    if one.setting == TREE:
        sides = [{TREE: (filters.value(side),)} for side in (one.old, one.new)]
    chosen = [run for run in study.runs if any(filters.matches(side, run.settings, run.repeat) for side in sides)]
    if older := len(chosen) - len(entries):
        newest = "the newest version of its tree" if one.setting == TREE else newest_said(study)
        yield f"{count_of(older, 'run')} left out: not of {newest}"
    asked = {*study.workload.regression.comparison_keys, *(name for side in one.selections or () for name in side)}
    is_of_trees = one.setting == TREE
    by_version = is_of_trees and of_trees(study, one.old, one.new)[1]
    pooled = set() if by_version else asked - {name for run in entries for name in run.settings}
    for value in (one.old, one.new):
        side = [run for run in entries if typed(run.settings.get(one.setting, NOT_SET)) == typed(value)]
        whole = [study.run_called(run.name) or run for run in side]
        runs = study.order.runs_of(whole) if is_of_trees else None
        yield from about(Build(show(value), whole, runs), sorted(pooled))
        good = sum(not run.failed for run in side)
        if runs is not None and (others := good - len(runs)):  # those of a series without another side it says itself
            yield f"{count_of(others, 'run')} of {show(value)} left out: {NO_PART}"
        compared -= good
    if compared < 0 and not is_of_trees:
        yield f"{count_of(-compared, 'run')} left out: without an equal on the other side, or not to be judged"
