"""One build, version or value of a setting against another, series by series, and each KPI over all of them."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import msgspec

from ...filters import Scalar, show
from ...kpi import KPIDefinition
from ...matrix import NOT_SET, Entry, typed
from ...rows import Rows
from ...workload import RegressionKeys, Workload
from ..failures import sides_fail
from ..points import key, ranks
from ..select.labelled import LabelledRun, Labels, hashable, ignored_by, labelled, told_by, unknown_names
from ..select.order import Order
from ..select.selection import Selection, is_named, select_runs
from ..select.series import NotAnalysed, Series, SeriesPoint
from ..select.versions import against, in_words
from ..weigh import NEW, OLD
from ..words import EVERYWHERE, count_of, named, tuning_label
from .beside import beside, doubts_of
from .model import Analysis, not_judged, severity, unjudged
from .over_all import Effect, effects_of, hidden_in_series
from .sides import Pair, Question, runs_of, verdicts_of

BUILD = "build"  # the key by which the runs of two builds are told apart


class Build(msgspec.Struct, frozen=True):
    name: str
    entries: Sequence[Entry]
    runs: Sequence[LabelledRun] | None = None  # the good ones with their labels, where these are known


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
    runs, selection, pairs = _paired(old, new, workload, kpi_filter, by_version)
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
    keys = workload.regression if not by_version else dataclasses.replace(workload.regression, comparison_keys=())
    of_points = dataclasses.replace(workload, regression=keys)
    fails = sides_fail((old.name, new.name), Rows.of(both), sides_of, of_points)
    question = dataclasses.replace(question, fails=fails)
    return analysis_of(selection, pairs, alone, question, f"{new.name} against {old.name}")


def build_pairs(
    old: Build, new: Build, workload: Workload, *, kpi_filter: Sequence[str] = (), by_version: bool = False
) -> list[Pair]:
    """The series that both builds have, as :func:`compare_builds`."""
    return _paired(old, new, workload, kpi_filter, by_version)[2]


def _paired(
    old: Build, new: Build, workload: Workload, kpi_filter: Sequence[str], by_version: bool
) -> tuple[list[LabelledRun], Selection, list[Pair]]:
    """The runs of both builds, what is selected of them, and the series that both have."""
    keys = workload.regression
    runs = []
    for side, build in ((OLD, old), (NEW, new)):
        known = labelled(build.entries, workload) if build.runs is None else build.runs
        told = told_by(known, keys.ignored_keys, by_version=by_version)
        runs += [msgspec.structs.replace(run, versions={BUILD: side}) for run in told]
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
    told = [one.settings for one in good] if build.runs is None else [one.versions for one in build.runs]
    for name in keys:
        values = {typed(value): value for one in told if (value := one.get(name)) is not None and value is not NOT_SET}
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


class Switch(msgspec.Struct, frozen=True):
    setting: str
    old: Scalar
    new: Scalar
    analysis: Analysis  # of all pairs of all KPIs, as a comparison of two builds gives it
    effects: tuple[Effect, ...]  # in the order of the KPIs
    also: Mapping[str, tuple[object, object]] = {}  # other settings in which the sides differ, from run to run alike


def switch(
    entries: Iterable[Entry],
    workload: Workload,
    setting: str,
    old: Scalar,
    new: Scalar,
    question: Question,
    kpi_filter: Sequence[str] = (),
) -> Switch | None:
    """The answer for *setting* going from *old* to *new*; None where no two points differ in it alone."""
    pairs = pairs_of(entries, workload, setting, old, new, kpi_filter)
    if not pairs:
        return None
    asked = f"{setting} {against(old, new)}"
    kpis = tuple(dict.fromkeys(one.series.kpi.name for one in pairs))
    nothing = Selection(workload.name, None, kpis, (), (), (), 0)
    return Switch(setting, old, new, *analysis_of(nothing, pairs, (), question, asked))


def pairs_of(
    entries: Iterable[Entry], workload: Workload, setting: str, old: Scalar, new: Scalar, kpi_filter: Sequence[str] = ()
) -> list[Pair]:
    """The pairs of points that differ in *setting* alone, KPI by KPI, of those that the filter's patterns name."""
    ignored = {setting, *workload.regression.ignored_keys}
    if workload.regression.ignored_entries:
        entries = itertools.filterfalse(ignored_by(workload), entries)
    points = pair_up(entries, setting, old, new, ignored)
    names = sorted({name for olds, _ in points for name in olds[0].settings} - ignored)
    kpis = [kpi for kpi in workload.kpis.values() if is_named(kpi.name, kpi_filter)]
    labels = [{name: value for name, value in olds[0].settings.items() if name in names} for olds, _ in points]
    differing = [name for name in names if len({typed(one.get(name)) for one in labels}) > 1]
    series = [(repr(one), one, tuning_label(one, differing) or EVERYWHERE) for one in labels]
    return [
        one
        for kpi in kpis
        for sides, named in zip(points, series, strict=True)
        if (one := _pair(kpi, sides, setting, (old, new), named)) is not None
    ]


def switch_versions(selection: Selection, axis: str, old: Scalar, new: Scalar, question: Question) -> Switch | None:
    """The same for two versions, of which the series of *selection* are compared as ``matbench compare`` does it."""
    pairs, others = version_pairs(selection, show(old), show(new), axis)
    if not pairs:
        return None
    return Switch(axis, old, new, *analysis_of(selection, pairs, others, question, against(old, new)))


BothSides = tuple[list[Entry], list[Entry]]


def pair_up(
    entries: Iterable[Entry], setting: str, old: Scalar, new: Scalar, ignored: Iterable[str] = ()
) -> list[BothSides]:
    """The good runs with *old* and those with *new*, point by point where both are there, whatever is *ignored*."""
    wanted = {typed(old): 0, typed(new): 1}
    rows = Rows.of(entries).successful
    values, codes = rows.setting(setting)
    is_wanted = [typed(value) in wanted for value in values]
    rows = rows.where(map(is_wanted.__getitem__, codes))
    rows = rows.where(map(operator.not_, rows.values("implausible")))
    values, codes = rows.setting(setting)
    points = ranks(rows, sorted(set(rows.names()) - {setting, *ignored}))
    sides: dict[tuple[int, ...], BothSides] = {}
    for place in sorted(range(len(rows)), key=points.__getitem__):
        sides.setdefault(points[place], ([], []))[wanted[typed(values[codes[place]])]].append(rows[place])
    return [both for both in sides.values() if all(both)]


def _pair(
    kpi: KPIDefinition, sides: BothSides, setting: str, values: tuple[Scalar, Scalar], named: tuple[str, Labels, str]
) -> Pair | None:
    """That of a KPI at a point, whose series is *named* by an id, labels and words; None where a side has no value."""
    olds, news = ([run for run in side if kpi.name in run.kpis] for side in sides)
    if not olds or not news:
        return None
    of, labels, name = named
    points = [SeriesPoint.of(kpi, {setting: value}, side) for value, side in zip(values, (olds, news), strict=True)]
    return Pair(
        Series(
            id=f"{kpi.name} {of}",
            kpi=kpi,
            labels=labels,
            name=name,
            points=tuple(points),
            versions=(show(values[0]), show(values[1])),
            keys=("old", "new"),
        ),
        (0,),
        (1,),
    )
