"""The configurations of a matrix as steps: each with its curves over its repeats, and what it changed.

Gets entries, gives :class:`Step` values in the order of their experiment, and the :class:`Change` from one to the next.
Steps are only compared with steps of the same model, device and number of requests.
"""

from __future__ import annotations

import collections
import dataclasses
import functools
import itertools
import types
from collections.abc import Iterable, Mapping, Sequence

from matrix_benchmarking.analyze.best import Best
from matrix_benchmarking.analyze.intervals import Sample, summarise
from matrix_benchmarking.analyze.points import Point, by_point, part, varying
from matrix_benchmarking.analyze.rank import among, rank
from matrix_benchmarking.analyze.verdict.sides import Compared, RunBlocks, Side, compare_sides
from matrix_benchmarking.analyze.words import tuning_label, value_label, variant_label
from matrix_benchmarking.filters import Scalar, show
from matrix_benchmarking.matrix import NOT_SET, Entry, Matrix, order, typed
from matrix_benchmarking.workload import Workload

from . import models
from .analyze import APIPoint, BaselinePoint, points

Identity = frozenset[tuple[str, tuple[str, object]]]

STEP = "experiment"
NAMES = (STEP, "server")
BEST = models.best_api_throughput.__name__


@dataclasses.dataclass(frozen=True)
class Step:
    """One configuration.

    Attributes:
        label: what it is called, as plain text.
        settings: of all its runs.
        group: the settings within which steps may be compared.
        runs: its successful runs, by repeat.
        best: its best API throughput, in requests/s, as the ranking of the best configuration has it; None where none
            is known.
        api, baseline: for each concurrency or batch size, in order, the records of the runs there.
        maximum, maximum_source: the theoretical maximum in requests/s, and where the device's operations come from.
        maximum_unknown: why it is unknown; None for a known one.
    """

    label: str
    settings: Mapping[str, Scalar]
    group: Mapping[str, object]
    runs: tuple[Entry, ...]
    best: Point | None
    api: Mapping[int, Sequence[APIPoint]]
    baseline: Mapping[int, Sequence[BaselinePoint]]
    maximum: float | None
    maximum_source: str | None
    maximum_unknown: str | None

    @functools.cached_property
    def best_at(self) -> list[int]:
        """The concurrencies at which the runs were best, the most frequent first, then that of the highest mean."""
        at = collections.Counter(int(run.kpis["best_concurrency"]) for run in self.runs if BEST in run.kpis)
        return sorted(at, key=lambda concurrency: (-at[concurrency], -self.throughput(concurrency).mean, concurrency))

    def throughput(self, concurrency: int) -> Sample:
        """Mean and spread over the runs."""
        return summarise([record.throughput for record in self.api[concurrency]])

    def load(self, concurrency: int, device: str) -> float | None:
        """Mean load of ``cpu`` or ``gpu`` over the runs that know it, 0 to 1; None where none does."""
        known = [load for record in self.api[concurrency] if (load := getattr(record, device)) is not None]
        return sum(known) / len(known) if known else None


@dataclasses.dataclass(frozen=True, slots=True)
class Change:
    """From one step to the next.

    Attributes:
        what: the settings that changed, in words.
        best: how the best throughput changed; None where it isn't known on both sides.
        at: how the throughput changed at each concurrency that both have.
    """

    old: Step
    new: Step
    what: str
    best: Compared | None
    at: Mapping[int, Compared]


def steps(
    entries: Iterable[Entry],
    workload: Workload,
    among: Iterable[Entry] | None = None,
    ranking: Best | None = None,
) -> list[Step]:
    """The configurations of the successful runs that have a curve, group by group, in the order of their experiment.

    Args:
        ranking: of runs with *entries* among them; that of *entries* unless given.
        among: all runs of which *entries* may be a selection; labels are the same in every selection.
    """
    entries = list(entries)
    ranking = rank(Matrix(entries), workload) if ranking is None else ranking
    ranked = {id(run): one.point for group in ranking.groups for one in group.standings for run in one.point.runs}
    measured = [(entry, entry.lts.results) for entry in entries if not entry.failed]
    results = {id(entry): found for entry, found in measured if points(found, "api") or points(found, "baseline")}
    selected = by_point(entry for entry, _ in measured if id(entry) in results)
    everything = (entry for runs in selected for entry in runs) if among is None else among
    labels = _labels(everything)
    found = []
    for runs in selected:
        settings, of_runs = runs[0].settings, [results[id(run)] for run in runs]
        step = Step(
            label=labels[_identity(settings)],
            settings=settings,
            group=part(settings, workload.group_keys),
            runs=tuple(runs),
            best=next((ranked[id(run)] for run in runs if id(run) in ranked), None),
            api=_by_place([points(one, "api") for one in of_runs], "concurrency"),
            baseline=_by_place([points(one, "baseline") for one in of_runs], "batch_size"),
            maximum=getattr(of_runs[0], "theoretical_max", None),
            maximum_source=getattr(of_runs[0], "theoretical_max_source", None),
            maximum_unknown=getattr(of_runs[0], "theoretical_max_unknown", None),
        )
        found.append(step)
    found.sort(key=lambda step: [order(value) for value in (*step.group.values(), step.settings.get(STEP, NOT_SET))])
    return found


def changes(found: Sequence[Step], blocks: RunBlocks) -> list[Change]:
    """From each step to the next of its group; *blocks* says which runs were measured together."""
    pairs = [(old, new) for old, new in itertools.pairwise(found) if _key(old.group) == _key(new.group)]
    best = compare(pairs, blocks)
    places = [(pair, place) for pair, (old, new) in enumerate(pairs) for place in new.api if place in old.api]
    sides = [(_side(pairs[pair][0], place), _side(pairs[pair][1], place)) for pair, place in places]
    at: list[dict[int, Compared]] = [{} for _ in pairs]
    for (pair, place), compared in zip(places, compare_sides(sides, blocks, lower_is_better=False), strict=True):
        at[pair][place] = compared
    return [
        Change(old, new, _what_changed(old.settings, new.settings), of_best, of_each)
        for (old, new), of_best, of_each in zip(pairs, best, at, strict=True)
    ]


def groups(found: Iterable[Step]) -> list[list[Step]]:
    """The steps that may be compared with each other together; the group of the most steps first."""
    together: dict[tuple[tuple[str, object], ...], list[Step]] = {}
    for step in found:
        together.setdefault(_key(step.group), []).append(step)
    return sorted(together.values(), key=len, reverse=True)


def best_of(found: Iterable[Step], ranking: Best) -> list[Step]:
    """Of steps that may be compared with each other the best one, and behind it what can't be told apart from it.

    Empty where no throughput is known.
    """
    known = {id(step.best): step for step in found if step.best is not None}
    groups = among(ranking, lambda point: id(point) in known)
    return [known[id(one.point)] for group in groups for one in (group.standings[0], *group.undecided)]


def compare(pairs: Sequence[tuple[Step, Step]], blocks: RunBlocks) -> list[Compared | None]:
    """The best throughput of each new step against that of its old one; None where it isn't known on both sides."""
    known = [place for place, pair in enumerate(pairs) if all(step.best is not None for step in pair)]
    sides = [(_best_side(pairs[place][0]), _best_side(pairs[place][1])) for place in known]
    found = dict(zip(known, compare_sides(sides, blocks, lower_is_better=False), strict=True))
    return [found.get(place) for place in range(len(pairs))]


def _best_side(step: Step) -> Side:
    return [(run, run.kpis[BEST]) for run in step.runs if BEST in run.kpis]


def _side(step: Step, concurrency: int) -> Side:
    return [
        (run, record.throughput)
        for run in step.runs
        for record in points(run.lts.results, "api")
        if record.concurrency == concurrency
    ]


def _what_changed(old: Mapping[str, Scalar], new: Mapping[str, Scalar]) -> str:
    """The settings that differ; the server, which is in the steps' names, only where nothing else does."""
    changed = [
        (name, f"{name} {_shown(before)} → {_shown(after)}")
        for name in dict.fromkeys([*old, *new])
        if name != STEP
        for before, after in ((old.get(name, NOT_SET), new.get(name, NOT_SET)),)
        if typed(before) != typed(after)
    ]
    return "; ".join([text for name, text in changed if name not in NAMES] or [text for _, text in changed])


def _shown(value: object) -> str:
    return "not set" if value is NOT_SET else show(value)


def _labels(entries: Iterable[Entry]) -> dict[Identity, str]:
    """A label for each point: its experiment and server, and what else tells points of one label apart."""
    settings = list({_identity(entry.settings): entry.settings for entry in entries}.values())
    labels = [variant_label(one, [name for name in NAMES if name in one]) for one in settings]
    for label in [label for label, count in collections.Counter(labels).items() if count > 1]:
        alike = [index for index, other in enumerate(labels) if other == label]
        names = varying(settings[index] for index in alike)
        for index in alike:
            labels[index] = " · ".join(filter(None, [label, tuning_label(settings[index], names)]))
    return {_identity(one): label or "the only configuration" for one, label in zip(settings, labels, strict=True)}


def _identity(settings: Mapping[str, Scalar]) -> Identity:
    return frozenset((name, typed(value)) for name, value in settings.items())


def _by_place(curves: Sequence[Sequence[types.SimpleNamespace]], name: str) -> dict[int, list[types.SimpleNamespace]]:
    places: dict[int, list[types.SimpleNamespace]] = {}
    for record in (record for curve in curves for record in curve):
        places.setdefault(getattr(record, name), []).append(record)
    return dict(sorted(places.items()))


def _key(group: Mapping[str, object]) -> tuple[tuple[str, object], ...]:
    return tuple(typed(value) for value in group.values())


def group_label(step: Step, among: Iterable[Step] = ()) -> str:
    """What *step* has in common with those that it may be compared with: ``nvidia-t4, num_requests 256``.

    Args:
        among: only what differs between the groups of these, where there are any.
    """
    differing = varying(other.group for other in among)
    known = {name: value for name, value in step.group.items() if value is not NOT_SET}
    named = {name: value for name, value in known.items() if name in differing} or known
    return ", ".join(value_label(name, value) for name, value in named.items())
