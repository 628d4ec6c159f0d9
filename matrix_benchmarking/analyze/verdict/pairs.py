"""One build against another, or one version of a history, series by series, and what the history says of these."""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import msgspec

from ...filters import Scalar, show
from ...matrix import NOT_SET, Entry, typed
from ...rows import Rows
from ...workload import RegressionKeys, Workload
from ..failures import sides_fail
from ..points import key
from ..select.labelled import LabelledRun, Labels, hashable, labelled, unknown_names
from ..select.order import Order
from ..select.selection import Selection, select_runs
from ..select.series import NotAnalysed, Series
from ..select.versions import against, in_words
from ..weigh import NEW, OLD
from ..words import count_of, named
from .beside import beside, doubts_of
from .model import Analysis, not_judged, severity, unjudged
from .over_all import Effect, effects_of, hidden_in_series
from .sides import Pair, Question, runs_of, verdicts_of

BUILD = "build"  # the key by which the runs of two builds are told apart


class Build(msgspec.Struct, frozen=True):
    name: str
    entries: Sequence[Entry]


def unknown_labels(ignored: Sequence[str], workload: Workload, runs: Sequence[LabelledRun]) -> list[str]:
    return [f"no run has a label or setting to ignore {unknown}" for unknown in unknown_names(ignored, workload, runs)]


def compare_builds(
    old: Build,
    new: Build,
    workload: Workload,
    question: Question,
    *,
    kpi_filter: Sequence[str] = (),
    by_version: bool = False,
) -> tuple[Analysis, tuple[Effect, ...]]:
    """The verdict on *new* against *old*, paired on the labels that identify a series, and *by_version* on that too."""
    workload = _told_by(workload, by_version)
    runs, selection, pairs = _paired(old, new, workload, kpi_filter)
    alone = []
    lost = {
        build.name: _failed_with([entry.settings for entry in build.entries if entry.failed]) for build in (old, new)
    }
    for series in selection.series:
        if len(series.points) == 1:
            there, other = (old, new) if series.points[0].versions[BUILD] == OLD else (new, old)
            has_failed = lost[other.name](series.labels)
            why = f"all its runs of {other.name} failed" if has_failed else f"it is in {there.name} only"
            alone.append(not_judged(series, why))
    sides = [[run.labels for run in runs if run.versions[BUILD] == side] for side in (OLD, NEW)]
    alone = alone if pairs else _explained(alone, sides, "leave {them} out with `ignoring`={names}")
    both = [*old.entries, *new.entries]
    sides_of = [OLD] * len(old.entries) + [NEW] * len(new.entries)
    fails = sides_fail((old.name, new.name), Rows.of(both), sides_of, workload)
    question = dataclasses.replace(question, fails=fails)
    return analysis_of(selection, pairs, alone, question, f"{new.name} against {old.name}")


def build_pairs(
    old: Build, new: Build, workload: Workload, *, kpi_filter: Sequence[str] = (), by_version: bool = False
) -> list[Pair]:
    """The series that both builds have, as :func:`compare_builds`."""
    return _paired(old, new, _told_by(workload, by_version), kpi_filter)[2]


def _told_by(workload: Workload, by_version: bool) -> Workload:
    """*workload*, whose versions are labels like others where sides are paired *by_version*."""
    keys = workload.regression
    keys = dataclasses.replace(keys, comparison_keys=()) if by_version else keys
    return dataclasses.replace(workload, regression=keys)


def _paired(
    old: Build, new: Build, workload: Workload, kpi_filter: Sequence[str]
) -> tuple[list[LabelledRun], Selection, list[Pair]]:
    """The runs of both builds, what is selected of them, and the series that both have."""
    keys = workload.regression
    runs = [*_on_side(labelled(old.entries, workload), OLD), *_on_side(labelled(new.entries, workload), NEW)]
    by_side = dataclasses.replace(
        workload,
        regression=RegressionKeys(
            comparison_keys=[BUILD], ignored_keys=keys.ignored_keys, sorting_keys=keys.sorting_keys
        ),
    )
    order = Order(runs, by_side, axis=BUILD)
    selection = select_runs(runs, by_side, order, kpi_filter=kpi_filter)
    pairs = [
        Pair(msgspec.structs.replace(series, versions=(old.name, new.name)), (0,), (1,))
        for series in selection.series
        if len(series.points) == 2
    ]
    notes = tuple(note for note in selection.notes if note not in order.notes)
    return runs, msgspec.structs.replace(selection, notes=notes, newest=new.name, order=""), pairs


def about(build: Build, keys: Iterable[str]) -> Iterator[str]:
    """How many of its runs failed, and of which of the *keys* the others have several values."""
    good = [entry for entry in build.entries if not entry.failed]
    if failed := len(build.entries) - len(good):
        yield f"{count_of(failed, 'failed run')} of {build.name} left out"
    for name in keys:
        values = {typed(value): value for entry in good if (value := entry.settings.get(name)) is not None}
        if len(values) > 1:
            quoted = [f"'{show(value)}'" if isinstance(value, str) else show(value) for value in values.values()]
            which = f": {named(quoted)}" if len({*map(show, values.values())}) < len(values) else ""
            yield f"{build.name} has {len(values)} values of {name}, taken together{which}"


def compare_versions(
    selection: Selection, old: str, new: str | None, question: Question, *, axis: str | None
) -> Analysis:
    """The verdict on version *new*, the newest where None, against *old*: in words, or values of the *axis* alone."""
    pairs, others = version_pairs(selection, old, new, axis)
    called = new or "the newest runs"
    labels = [[one.labels for one in selection.series if _places(one, name, axis)] for name in (old, called)]
    way = f"'matbench compare {old} {called} --ignored-keys={{names}}' compares them all the same"
    others = others if pairs else _explained(others, labels, way)
    return analysis_of(selection, pairs, others, question, against(old, called))[0]


def version_pairs(
    selection: Selection, old: str, new: str | None, axis: str | None
) -> tuple[list[Pair], list[NotAnalysed]]:
    """The series of *selection* that have both versions, as :func:`compare_versions`, and why those with one don't."""
    pairs, others = [], []
    for series in selection.series:
        before = _places(series, old, axis)
        after = (len(series.points) - 1,) if new is None else _places(series, new, axis)
        missing = [f"no run at {name} has it" for name, places in ((old, before), (new, after)) if not places]
        if len(missing) == 2:
            continue  # it is of other versions
        if missing:
            others.append(not_judged(series, missing[0], [series.points[place] for place in (*before, *after)]))
        elif set(before) & set(after):
            others.append(not_judged(series, f"{old} is its newest version"))
        else:
            pairs.append(Pair(series, before, after))
    return pairs, others


def either(axis: str, old: str, new: str) -> Callable[[Entry], bool]:
    """Whether a run is of one of two versions, values of *axis* in words."""
    return lambda run: show(run.settings.get(axis, NOT_SET)) in (old, new)


def _places(series: Series, version: str, axis: str | None) -> tuple[int, ...]:
    """The points of *series* at this version, in words, of which there are several if it has another key beside."""
    return tuple(
        place
        for place, (point, text) in enumerate(zip(series.points, series.versions, strict=True))
        if text == version or (axis is not None and show(point.versions[axis]) == version)
    )


def _on_side(runs: Iterable[LabelledRun], side: int) -> list[LabelledRun]:
    return [msgspec.structs.replace(run, versions={BUILD: side}) for run in runs]


def _failed_with(settings: Sequence[Mapping[str, Scalar]]) -> Callable[[Labels], bool]:
    """Whether one of the failed runs with these *settings* has some labels, as far as these are settings."""
    there = {name for each in settings for name in each}
    known = functools.cache(lambda names: {key(each, names) for each in settings})

    def has(labels: Labels) -> bool:
        names = tuple(sorted(there.intersection(labels)))
        return key({name: hashable(labels[name]) for name in names}, names) in known(names)

    return has


def _explained(alone: list[NotAnalysed], sides: Sequence[Sequence[Labels]], way: str) -> list[NotAnalysed]:
    """*alone* with the labels of both *sides* that have no value in common, and the *way* out."""
    found = {}
    for name in dict.fromkeys(name for side in sides for labels in side for name in labels):
        values = [
            {typed(hashable(labels.get(name, NOT_SET))): labels.get(name, NOT_SET) for labels in side} for side in sides
        ]
        if all(values) and not values[0].keys() & values[1].keys():
            found[name] = " | ".join(named(texts, 3) for texts in _told_apart([list(each.values()) for each in values]))
    if not found:
        return alone
    said = " and ".join(f"{name} ({values})" for name, values in found.items())
    way = way.replace("{names}", ",".join(found)).replace("{them}", "it" if len(found) == 1 else "them")
    return [msgspec.structs.replace(one, reason=f"they differ in {said}; {way}") for one in alone]


def _told_apart(sides: Sequence[Sequence[object]]) -> list[list[str]]:
    """The values of both *sides* in words; text is in quotes where a value of another type looks the same."""
    old, new = ([*zip(values, in_words(values), strict=True)] for values in sides)
    alike = {text for _, text in old} & {text for _, text in new}
    return [
        [f"'{text}'" if text in alike and isinstance(value, str) else text for value, text in side]
        for side in (old, new)
    ]


def analysis_of(
    selection: Selection, every: Sequence[Pair], alone: Sequence[NotAnalysed], question: Question, asked: str
) -> tuple[Analysis, tuple[Effect, ...]]:
    """The verdicts on pairs, and what each KPI does over *every* one, also of those that no analysis looks at.

    Of *selection* counts what isn't a series, *alone* are those without another side.
    """
    pairs = [one for one in every if not one.series.kpi.ignored_for_regression]
    shown = [unjudged(one.series, one.old[-1], one.new[-1]) for one in pairs if one.series.kpi.lower_better is None]
    is_judged = [one.series.kpi.lower_better is not None and not one.series.kpi.ignored_for_regression for one in every]
    judged = [*itertools.compress(every, is_judged)]
    runs = runs_of(every, question.blocks)
    verdicts = sorted(verdicts_of(judged, [*itertools.compress(runs, is_judged)], question), key=severity)
    effects = effects_of(every, runs, verdicts, question)
    points = [one.series.points[place] for one in judged for place in (*one.old, *one.new)]
    analysis = Analysis(
        workload=selection.workload,
        data=question.data,
        question=asked,
        newest=selection.newest,
        verdicts=tuple(verdicts),
        not_analysed=(*shown, *alone, *selection.skipped),
        order=selection.order,
        notes=selection.notes,
        runs=len({id(entry) for point in points for entry in point.entries}),
        points=sum(point.count for point in points),
        kpis=selection.kpis,
        made_at=question.now,
        doubts=doubts_of(pairs),
        over_all=tuple(hidden_in_series(effects)),
        fails_more=question.fails[0],
        may_fail_more=question.fails[1],
        beside=beside(judged, verdicts, question),
    )
    return analysis, effects
