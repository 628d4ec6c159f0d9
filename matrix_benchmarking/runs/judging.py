"""What changed in a history, whether one side is worse than another, and what a person does to alarms about it."""

from __future__ import annotations

import datetime as dt
import fnmatch
import functools
import os
import time
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from .. import filters
from ..analyze import handling
from ..analyze.check.labels import TREE_NO_LABEL
from ..analyze.failures import versions_fail
from ..analyze.select.labelled import LabelledRun
from ..analyze.select.order import OrderUnknown, check_keys
from ..analyze.select.selection import chosen_kpis, select
from ..analyze.select.versions import is_commit
from ..analyze.study import Study
from ..analyze.verdict.lifecycle import ANALYSIS, Known, known_alarms, new_events, of_unjudged_kpis, unseen
from ..analyze.verdict.model import Analysis
from ..analyze.verdict.pairs import (
    Build,
    about,
    compare_builds,
    compare_versions,
    either,
    unknown_labels,
    version_pairs,
)
from ..analyze.verdict.sides import Pair
from ..analyze.words import count_of, named
from ..errors import ConfigError, MatbenchError, did_you_mean
from ..filters import show
from ..history import Location, Query, open_history
from ..history.alarms import LONGEST_AUTHOR, Action, AlarmEvent
from ..matrix import NOT_SET, TREE, typed
from ..workload import Workload

if TYPE_CHECKING:
    from ..plotting.compare_sides import Candidate

LONGEST_REASON = 2000


def judge(
    study: Study,
    *,
    kpi_filter: Sequence[str] = (),
    since_us: int | None = None,
    keep_in: Location | None = None,
    warn: Callable[[Sequence[str]], None] = lambda sentences: None,
) -> Analysis:
    """The verdict on the newest runs of *study* against their history; what became of alarms is kept in *keep_in*."""
    workload, given = study.workload, study.given
    now = dt.datetime.now(dt.UTC)
    events = list(given.events())
    data = f"{count_of(len(study.runs), 'run')} of {study.data}"
    analysis = study.judged(events, data=data, kpi_filter=kpi_filter, since_us=since_us, now=now)
    known = known_alarms(events)
    closed = of_unjudged_kpis(known.values(), workload.kpis, now)
    retired = (alarm.event(Action.RESOLVED, ANALYSIS, now, reason=reason) for alarm, reason in closed)
    added = [*new_events(analysis, known), *retired]
    hidden = unseen(analysis, known) if since_us is None else []
    notes = [
        *([handling.about_unjudged(closed, workload.kpis)] if closed else []),
        *([handling.about_unseen(hidden, workload.kpis)] if hidden else []),
    ]
    if keep_in is not None and added:
        try:
            with open_history(keep_in, writable=True) as history:
                history.record_alarms(added)
        except MatbenchError as error:
            warn([f"the alarms could not be kept in the history: {error}"])
    return study.with_own_version(msgspec.structs.replace(analysis, notes=(*analysis.notes, *notes)))


def against(study: Study, baseline: str, *, kpi_filter: Sequence[str] = (), since_us: int | None = None) -> Analysis:
    """The newest version of *study* against the version *baseline*, as :func:`compare` has it."""
    now_us = time.time_ns() // 1000
    selection = functools.partial(
        select, workload=study.workload, order=study.order, kpi_filter=kpi_filter, since_us=since_us, now_us=now_us
    )
    selected = selection(study.runs)
    known = list(dict.fromkeys(text for series in selected.series for text in series.versions))
    if baseline not in known:
        raise ConfigError(f"no run of version '{baseline}': {did_you_mean(baseline, known)}")

    def pairs(whole: Study) -> list[Pair]:
        return version_pairs(selection(whole.runs), baseline, selected.newest, study.order.axis)[0]

    axis = study.order.axis
    fails = versions_fail((baseline, selected.newest or ""), study.runs.entries, axis, study.workload)
    question = study.question(f"{count_of(len(study.runs), 'run')} of {study.data}", pairs, fails=fails)
    found = compare_versions(selected, baseline, selected.newest, question, axis=axis)
    return msgspec.structs.replace(found, without_a_good_run=study.not_judged)


def compare(
    study: Study,
    old: str,
    new: str,
    *,
    kpi_filter: Sequence[str] = (),
    ignored: Sequence[str] = (),
    is_tolerant: bool = False,  # a setting to ignore that no run has is a note, and no error
) -> tuple[Study, Analysis]:
    """Whether the version *new* is worse than *old*, which may differ in the settings *ignored*; with the runs of both.

    Or runs that a selection names, such as ``engine=onnx,vus=8``, than those of another one; or one directory of
    several than another one.
    """
    keys = study.workload.regression.comparison_keys
    asked: dict[str, Any] = {"kpi_filter": kpi_filter, "ignored": ignored, "is_tolerant": is_tolerant}
    versions = {show(value) for key in keys for value in study.runs.settings.get(key, ())}
    trees = [None if versions.issuperset((old, new)) else _tree(study, name) for name in (old, new)]
    if any(trees):
        if None in trees:
            other, known = (old, new)[trees.index(None)], ", ".join(map(str, study.known.settings.get(TREE, ())))
            raise ConfigError(f"'{other}' is none of the directories that were opened, as the other one is: {known}")
        if trees[0] == trees[1]:
            raise ConfigError(f"both are the directory '{trees[0]}'")
        old, new = map(str, trees)
        return compare_trees(study, old, new, **asked)
    if any("=" in name and name not in versions for name in (old, new)):
        study, one = _candidate(study, old, new)
        if one.setting == TREE:
            return compare_trees(study, str(one.old), str(one.new), **asked)
        if one.setting not in keys or one.setting != (study.order.axis or keys[0]) or one.looks_like_others(study):
            return study, _switched(study, one, **asked)
        old, new = show(one.old), show(one.new)
    return study, _of_versions(study, old, new, **asked)


def _tree(study: Study, name: str) -> str | None:
    """The directory of *study* that has this *name*, or lies there; None unless there are several."""
    every = [run for run in (*study.known, *study.known.unfinished) if TREE in run.settings]
    trees = {str(run.settings[TREE]) for run in every}
    if name in trees:
        return name
    place = os.path.abspath(name)
    found = next((tree for tree in trees if place.endswith(f"{os.sep}{tree}")), None)
    inside = os.path.join(os.path.realpath(place), "")
    runs = (run for run in every if found is not None and run.settings[TREE] == found)
    return found if any(os.path.join(os.path.realpath(run.location), "").startswith(inside) for run in runs) else None


def _of_versions(
    study: Study, old: str, new: str, *, kpi_filter: Sequence[str], ignored: Sequence[str], is_tolerant: bool
) -> Analysis:
    own = study.workload
    study = study.of_workload(own.ignoring(ignored))
    workload, order = study.workload, study.order
    axis = order.axis or next(iter(workload.regression.comparison_keys), None)
    if axis is None:
        raise ConfigError(f"workload '{workload.name}' has no versions to compare: give two directories")
    by_version: dict[str, list[LabelledRun]] = {}
    for one in order.runs_of(study.runs.entries):
        if one.versions[axis] is not NOT_SET:
            by_version.setdefault(show(one.versions[axis]), []).append(one)
    old, new = (_whole(name, by_version) for name in (old, new))
    for name in (old, new):
        if name not in by_version:
            if any(show(run.settings.get(axis, NOT_SET)) == name for run in study.runs):
                raise ConfigError(f"no run of {axis} {name} can be compared: they failed, or have no KPI")
            way = "" if by_version else f": --settings-from='{{{axis}}}' reads it from names of directories"
            known = f"no {axis} of these runs: {did_you_mean(name, by_version)}"
            raise ConfigError(f"'{name}' is no directory, and {known}{way}")
    if old == new:
        raise ConfigError(f"both are {axis} {old}")

    def pairs(whole: Study) -> list[Pair]:
        return version_pairs(select(whole.runs, workload, order=order, kpi_filter=kpi_filter), old, new, axis)[0]

    data = f"{len(by_version[old])} and {len(by_version[new])} runs of {study.data}"
    nothing = unknown_labels(ignored, workload, order.runs_of(study.runs.entries))
    if nothing and not is_tolerant:
        raise ConfigError("; ".join(nothing))
    several = {typed(run.versions[axis]) for name in (old, new) for run in by_version[name]}
    try:
        selected = select(study.runs, workload, order=order, kpi_filter=kpi_filter, noted=either(axis, old, new))
    except OrderUnknown:
        selected = None
    if selected is None or len(several) > 2:  # such as the number 1.1 and the text, which have no order
        first, second = (Build(name, [one.entry for one in by_version[name]], by_version[name]) for name in (old, new))
        question = study.question(data, ignored=ignored)
        found, _ = compare_builds(first, second, workload, question, kpi_filter=kpi_filter)
        told = [note for build in (first, second) for note in about(build, own.regression.comparison_keys)]
        return msgspec.structs.replace(found, notes=(*nothing, *told, *found.notes))
    fails = versions_fail((old, new), study.runs.entries, axis, workload)
    question = study.question(data, pairs, ignored=ignored, fails=fails)
    newer = order.newer_said(axis, [by_version[name][0].versions[axis] for name in (old, new)])
    selected = msgspec.structs.replace(selected, notes=(*nothing, *selected.notes), order=newer)
    return compare_versions(selected, old, new, question, axis=axis)


def _candidate(study: Study, old: str, new: str) -> tuple[Study, Candidate]:
    """What two selections compare, and among which runs."""
    from ..plotting.compare_sides import candidates, narrowed  # a third of what an application takes to start

    if ("=" in old) != ("=" in new):
        raise ConfigError(f"'{old if '=' in old else new}' selects runs: give two selections, or two versions")
    study, old, new = narrowed(study, old, new)
    (one,) = candidates(study, {"old": old, "new": new})
    return study, one


def _switched(
    study: Study, one: Candidate, *, kpi_filter: Sequence[str], ignored: Sequence[str], is_tolerant: bool
) -> Analysis:
    """The answer of the page *Compare*."""
    from ..plotting.compare_answer import left_out, switched, why_none
    from ..plotting.compare_sides import as_wholes

    nothing: Sequence[str] = ()
    if ignored:
        study = study.of_workload(study.workload.ignoring(ignored))
        nothing = unknown_labels(ignored, study.workload, study.order.runs_of(study.runs.entries))
    if nothing and not is_tolerant:
        raise ConfigError("; ".join(nothing))
    entries = one.runs_of(study)
    found = switched(study, entries, one, kpi_filter=kpi_filter, ignored=ignored)
    if found is None and (wholes := as_wholes(study, [one])):
        (one,) = wholes
        entries = one.runs_of(study)
        found = switched(study, entries, one, kpi_filter=kpi_filter, ignored=ignored)
    kpis, about_kpis = chosen_kpis(study.workload, kpi_filter)
    if found is None:
        reason = "" if kpis else "; ".join(about_kpis)
        raise ConfigError(reason or why_none(study, entries, one).rstrip("."))
    analysis = found.analysis
    said = [*about_kpis, *nothing, *left_out(study, one, analysis.runs)]
    if lost := [kpi.name for kpi in kpis if kpi.name not in analysis.kpis]:
        said.append(f"{named(lost)} not compared: unknown on one side or both")
    return msgspec.structs.replace(analysis, notes=tuple(dict.fromkeys((*said, *analysis.notes))))


def compare_trees(
    study: Study, old: str, new: str, *, kpi_filter: Sequence[str] = (), ignored: Sequence[str] = (), is_tolerant: bool
) -> tuple[Study, Analysis]:
    """Whether the tree *new* of several is worse than the tree *old*, with the runs of both."""
    from ..plotting.compare_sides import Candidate

    study = study.selected({TREE: tuple(filters.value(name) for name in (old, new))})
    there = study.runs.settings.get(TREE, ())
    if gone := [name for name in (old, new) if name not in there]:
        chosen = filters.written({name: values for name, values in study.filters.items() if name != TREE})
        raise ConfigError(f"no finished run of {named(gone)} is selected{f' by {chosen}' if chosen else ''}")
    check_keys(study.workload, study.order.runs_of(study.runs.entries), are_needed=False)
    one = Candidate(TREE, old, new)
    study.findings = [each for each in study.findings if each.kind != TREE_NO_LABEL]  # it tells the sides apart here
    return study, _switched(study, one, kpi_filter=kpi_filter, ignored=ignored, is_tolerant=is_tolerant)


def _whole(name: str, versions: Iterable[str]) -> str:
    """The commit among *versions* that *name* is the beginning of, if that is one alone."""
    found = [one for one in versions if is_commit(one) and one.startswith(name)] if is_commit(name) else []
    return found[0] if len(found) == 1 and name not in versions else name


def check_kpi_filter(patterns: Sequence[str], workload: Workload) -> None:
    for pattern in patterns:
        if not fnmatch.filter(workload.kpis, pattern):
            raise ConfigError(f"`kpis`: no KPI '{pattern}': {did_you_mean(pattern, workload.kpis)}")


def deal(
    location: Location,
    action: Action,
    ids: Sequence[str],
    *,
    author: str,
    reason: str | None = None,
    until: str | None = None,
    raised: Sequence[AlarmEvent] = (),
) -> tuple[list[Known], list[str]]:
    """Keep that *author* did *action* to the alarms *ids*: to all of them or, where one can't be, to none.

    Args:
        ids: beginnings of ids of alarms or causes, each of at least four characters.
        raised: what an analysis says that the history may not know yet; of it is kept what *ids* mean.

    Returns:
        The alarms as they are now, and what is to be known of *until*, as sentences.

    Raises:
        ConfigError: no reason, an unknown id, a text that is too long, or what can't be done to one of them.
    """
    reason = (reason or "").strip() or None
    if reason is None and action is not Action.REOPENED:
        raise ConfigError("no reason given: say why, so that others know")
    if reason is not None and not any(map(str.isalnum, reason)):
        raise ConfigError(f"'{reason}' is no reason: say why, so that others know")
    for what, text, longest in (("author", author, LONGEST_AUTHOR), ("reason", reason or "", LONGEST_REASON)):
        if len(text) > longest:
            raise ConfigError(f"the {what} has {len(text)} characters; {longest} are possible")
    now = dt.datetime.now(dt.UTC)
    until = None if until is None else handling.checked_until(until, now)
    with open_history(location, writable=False) as history:
        kept = list(history.alarm_events())
        known = known_alarms([*kept, *(event for event in raised if event.alarm not in {one.alarm for one in kept})])
        chosen = handling.chosen(known, ids, action)
        by_kpi = {} if until is None else {(each.subject.workload, each.subject.kpi): each for each in chosen}
        notes = {
            handling.not_measured_yet(until, handling.versions_of(one, history.runs(Query(workload))))
            for (workload, _), one in by_kpi.items()
        }
    there = {one.alarm for one in kept}
    wanted = {one.id for one in chosen} - there
    said = [
        *(event for event in raised if event.alarm in wanted),
        *handling.events(chosen, action, author=author, now=now, reason=reason, until=until),
    ]
    with open_history(location, writable=True) as history:
        history.record_alarms(said)
        known = known_alarms(history.alarm_events())
    return [known[each.id] for each in chosen], sorted(notes - {""})
