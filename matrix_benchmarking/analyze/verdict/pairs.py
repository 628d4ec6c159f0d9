"""One build against another, or one version of a history, series by series, and what the history says of these."""

from __future__ import annotations

import collections
import dataclasses
import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import msgspec

from ...errors import ConfigError
from ...filters import Scalar, show
from ...matrix import NOT_SET, TREE, Entry, id_beside, typed
from ...rows import Rows
from ...workload import RegressionKeys, Workload
from ..blocks import Block
from ..failures import sides_fail
from ..machines import between_sides, campaigns_together
from ..points import joined_warnings, key
from ..select.labelled import LabelledRun, Labels, hashable, labelled, unknown_names
from ..select.order import Order, check_keys
from ..select.selection import Selection, select_runs
from ..select.series import NotAnalysed, Series
from ..select.versions import against, in_words
from ..weigh import NEW, OLD
from ..words import ONE_CAMPAIGN, count_of, is_or_are, named, variant_label
from .lifecycle import Known
from .model import Analysis, Doubt, Outcome, SeriesVerdict, Status, not_judged, severity, unjudged
from .over_all import Effect, effects_of, hidden_in_series
from .sides import Pair, Question, are_far_apart, by_series, runs_of, verdicts_of

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
    is_tolerant: bool = False,
    kpi_filter: Sequence[str] = (),
) -> Analysis:
    """The verdict on *new* against *old*, paired on the labels that identify a series, but for those to be ignored.

    Raises:
        ConfigError: no run has a label to be ignored; noted where it *is_tolerant*.
        WorkloadError: a comparison key looks like a name that a run has, misspelt.
    """
    paired = workload.ignoring(question.ignored)
    runs = [*_on_side(labelled(old.entries, paired), OLD), *_on_side(labelled(new.entries, paired), NEW)]
    check_keys(workload, runs, are_needed=False)
    nothing = unknown_labels(question.ignored, workload, runs)
    if nothing and not is_tolerant:
        raise ConfigError("; ".join(nothing))
    keys = paired.regression
    by_side = dataclasses.replace(
        paired,
        regression=RegressionKeys(
            comparison_keys=[BUILD], ignored_keys=keys.ignored_keys, sorting_keys=keys.sorting_keys
        ),
    )
    said = [note for build in (old, new) for note in about(build, workload.regression.comparison_keys)]
    order = Order(runs, by_side, axis=BUILD)
    selection = select_runs(runs, by_side, order, said, kpi_filter=kpi_filter)
    pairs, alone = [], []
    lost = {
        build.name: _failed_with([entry.settings for entry in build.entries if entry.failed]) for build in (old, new)
    }
    for series in selection.series:
        points = {point.versions[BUILD]: place for place, point in enumerate(series.points)}
        if len(points) == 2:
            named_sides = msgspec.structs.replace(series, versions=(old.name, new.name))
            pairs.append(Pair(named_sides, (points[OLD],), (points[NEW],)))
        else:
            there, other = (old, new) if OLD in points else (new, old)
            has_failed = lost[other.name](series.labels)
            why = f"all its runs of {other.name} failed" if has_failed else f"it is in {there.name} only"
            alone.append(not_judged(series, why))
    sides = [[run.labels for run in runs if run.versions[BUILD] == side] for side in (OLD, NEW)]
    alone = alone if pairs else _explained(alone, sides, "leave {them} out with `ignoring`={names}")
    notes = (*nothing, *(note for note in selection.notes if note not in order.notes))
    both = [*old.entries, *new.entries]
    sides_of = [OLD] * len(old.entries) + [NEW] * len(new.entries)
    fails = sides_fail((old.name, new.name), Rows.of(both), sides_of, paired)
    cleaned = msgspec.structs.replace(selection, series=(), notes=notes, newest=new.name, order="")
    question = dataclasses.replace(question, fails=fails)
    return analysis_of(cleaned, pairs, alone, question, f"{new.name} against {old.name}")[0]


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
    sides = [one.sides for one in judged]
    distinct = distinct_of(judged)
    beside = (
        same_runs(distinct),
        unequal_shares(judged, question.ignored),
        between_sides(sides),
        campaigns_together(sides),
        of_history(judged, verdicts, {**question.raised, **question.known}),
        one_first(distinct, question),
        in_one_campaign(distinct, verdicts, question),
        one_after_the_other(distinct, verdicts, question),
    )
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
        doubts=doubts_of(distinct_of(pairs)),
        over_all=tuple(hidden_in_series(effects)),
        fails_more=question.fails[0],
        may_fail_more=question.fails[1],
        beside=" ".join(filter(None, beside)),
    )
    return analysis, effects


def doubts_of(pairs: Sequence[Pair]) -> list[Doubt]:
    """What makes the runs of *pairs* doubtful."""
    old, new = dict[int, Entry](), dict[int, Entry]()
    for before, after in (one.sides for one in pairs):
        old |= {id(run): run for run in before}
        new |= {id(run): run for run in after}
    found = [
        Doubt(said, *((sum(id(run) in side for run in having), len(side)) for side in (old, new)))
        for said, having in joined_warnings([*old.values(), *new.values()])
    ]
    return sorted(found, key=lambda one: -one.difference)


def same_runs(pairs: Sequence[Pair]) -> str:
    """That runs of one side are those of the other, by their ids, as a sentence; empty where none is."""
    sides = [[run for one in pairs for run in one.sides[side]] for side in (OLD, NEW)]
    ids = [{run.test_uuid for run in side if run.test_uuid} for side in sides]
    trees = {str(run.settings[TREE]) for side in sides for run in side if TREE in run.settings}
    first = {id_beside(one, tree): one for one in ids[OLD] | ids[NEW] for tree in trees}
    old, new = ({first.get(one, one) for one in of} for of in ids)
    both = len(old & new)
    if both and old == new:
        return "Both sides are the same runs, or copies of them: there is nothing to tell."
    return f"{both} of {len(new)} new runs {is_or_are(both)} among the old ones, too." if both else ""


def unequal_shares(pairs: Sequence[Pair], ignored: Sequence[str]) -> str:
    """In how many of *pairs* a setting that is *ignored* has other shares on one side, as a sentence; empty for none.

    What changes between two sides then may be their shares alone (E. H. Simpson, 1951); where each side has one value
    of its own, nothing tells this from what was asked.
    """
    found = []
    for one in pairs if ignored else ():
        old, new = (collections.Counter(variant_label(run.settings, ignored) for run in side) for side in one.sides)
        if any(old[value] * new.total() != new[value] * old.total() for value in {*old, *new}):
            found.append((old, new))
    if not found:
        return ""
    where = f"In {len(found)} of {len(pairs)} series the" if len(found) < len(pairs) else "The"
    if all(len(side) == 1 for sides in found for side in sides):
        values = " | ".join(value for side in found[0] for value in side)
        return f"{where} sides differ in {named(ignored)} ({values}): that may be the reason."
    counts = " | ".join(", ".join(f"{value}: {side[value]}" for value in sorted(side)) for side in found[0])
    return (
        f"{where} runs of {named(ignored)} have other shares on the one side than on the other ({counts}): what "
        "differs may be these."
    )


_VERSIONS_NAMED = 3
_FEWEST_IN_ORDER = 6  # pairs of runs of one round: fewer are in the same order by chance


def distinct_of(pairs: Iterable[Pair]) -> list[Pair]:
    """One of those of *pairs* whose runs are the same, as of several KPIs."""
    found: dict[object, Pair] = {}
    for one in pairs:
        entries = [tuple(map(id, point.entries)) for point in one.series.points]
        found.setdefault((one.old, one.new, *entries), one)
    return list(found.values())


def one_first(pairs: Sequence[Pair], question: Question) -> str:
    """That in all common blocks one side was measured before the other, as a sentence; empty where it wasn't so."""
    blocks, orders, count = set[Block](), set[bool](), 0
    for one in pairs:
        old, new = (_starts(side, question) for side in one.sides)
        for block in old.keys() & new.keys():
            if old[block] == new[block]:
                return ""
            blocks.add(block)
            orders.add(old[block] < new[block])
            count += 1
        if len(orders) > 1:
            return ""
    if count < _FEWEST_IN_ORDER or len(blocks) < 2:
        return ""
    first, second = _names(pairs, orders == {True})
    return (
        f"In all {len(blocks)} blocks that both have, {first} was measured before {second}: a drift within these is in "
        "the difference."
    )


def _names(pairs: Sequence[Pair], is_old_first: bool) -> tuple[str, str]:
    """The versions of both sides, that of the one which was measured first before the other."""
    old, new = pairs[0].series.versions[pairs[0].old[-1]], pairs[0].series.versions[pairs[0].new[-1]]
    return (old, new) if is_old_first else (new, old)


def in_one_campaign(pairs: Sequence[Pair], verdicts: Iterable[SeriesVerdict], question: Question) -> str:
    """That what changed was told by the rounds of one campaign, as a sentence; empty where it wasn't."""
    if not any(one.outcome in (Outcome.REGRESSION, Outcome.IMPROVEMENT) for one in verdicts):
        return ""
    blocks = [block for one in pairs for side in one.sides for block in _starts(side, question)]
    is_one = len({block.campaign for block in blocks}) == 1 and all(block.round is not None for block in blocks)
    return ONE_CAMPAIGN if is_one else ""


def one_after_the_other(pairs: Sequence[Pair], verdicts: Iterable[SeriesVerdict], question: Question) -> str:
    """That all campaigns of one side were before all of the other, where something changed; empty where not so."""
    if all(one.outcome in (Outcome.NO_CHANGE, Outcome.CANT_TELL) for one in verdicts):
        return ""
    old, new = (
        {block.campaign for one in pairs for block in _starts(one.sides[side], question)} for side in (OLD, NEW)
    )
    if min(len(old), len(new)) < 2 or not (max(old) < min(new) or max(new) < min(old)):
        return ""
    is_old_first = max(old) < min(new)
    first, second = _names(pairs, is_old_first)
    before, after = (old, new) if is_old_first else (new, old)
    said = f"All {len(before)} campaigns of {first} were before the {len(after)} of {second}"
    if are_far_apart(pairs):
        return (
            f"{said}, with a pause between that is much longer than any within: each side may be one mood of the "
            "machine, so that nothing is more than suspected; campaigns in turn would tell."
        )
    return (
        f"{said}: a mood of the machine that lasts longer than a campaign is in the difference; campaigns in turn "
        "would tell it apart."
    )


def _starts(runs: Iterable[Entry], question: Question) -> dict[Block, int]:
    """By block when the first of the *runs* began; of unknown times nothing."""
    found: dict[Block, int] = {}
    for run in runs:
        block, start_us = question.blocks.of(run), run.span_us[0]
        if start_us is not None:
            found[block] = min(start_us, found.get(block, start_us))
    return found


def of_history(pairs: Sequence[Pair], verdicts: Sequence[SeriesVerdict], known: Mapping[str, Known]) -> str:
    """What the alarms of a history say of the series that were compared and the verdicts don't; empty for nothing."""
    alarms = by_series(known.values())
    of = {verdict.id: verdict for verdict in verdicts}
    shown = {alarm.id for verdict in verdicts for alarm in verdict.alarms if alarm.id}
    counts: dict[tuple[str, str], set[str]] = {}
    for one in pairs:
        for alarm in alarms.get(one.series.id, ()):
            place = _place_of(one, alarm.subject.first_bad, of.get(one.series.id))
            if place and alarm.id not in shown and alarm.status is not Status.RESOLVED:
                counts.setdefault((alarm.subject.first_bad, place), set()).add(one.series.id)
    more_of = "more of " if shown else "of "
    said = [
        f"{len(ids)} {more_of}these series {is_or_are(len(ids))} worse since {version}: {place}"
        for (version, place), ids in counts.items()
    ]
    more = f"; and so on for {len(said) - _VERSIONS_NAMED} more" if len(said) > _VERSIONS_NAMED else ""
    return f"The history says that {'; '.join(said[:_VERSIONS_NAMED])}{more}." if said else ""


def _place_of(one: Pair, first_bad: str, verdict: SeriesVerdict | None) -> str:
    """Where an alarm begins; between the sides, what they show of it. Empty for a version that is there no longer."""
    if first_bad not in one.series.versions:
        return ""
    place = max(at for at, version in enumerate(one.series.versions) if version == first_bad)
    old, new = max(one.old), max(one.new)
    if place <= min(old, new):
        return "both sides are"
    if place > max(old, new):
        return "after both sides"
    # Asked the other way round, what got worse since is better.
    if verdict is not None and verdict.looks_worse == (old < new):
        if verdict.outcome in (Outcome.REGRESSION, Outcome.IMPROVEMENT):
            return "the two sides show it too"
        if verdict.outcome is Outcome.SUSPECTED:
            return "by the two sides alone it is suspected"
    return "the two sides alone don't show it"
