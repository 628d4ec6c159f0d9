"""What can be compared with what: two values of a setting, or any two selections of runs; and what is worth it."""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from .. import filters
from ..analyze.select.order_sources import Source, levels, of_runs
from ..analyze.study import Study
from ..analyze.verdict.model import Status
from ..analyze.words import named, value_label
from ..errors import ConfigError, MatbenchError, did_you_mean, sentence
from ..filters import Filters, Scalar, show
from ..grouped import grouped
from ..matrix import NOT_SET, TREE, Entry, Matrix, joined, typed
from .controls import Choice, Control, Text

MOST_VALUES = 8
MOST_SUGGESTED = 200
SETTING, OLD, NEW = "setting", "old", "new"
SIDE = "selected by"
"""The setting that tells two selections apart which differ in more than one value; no run's own is called so."""


class Candidate(msgspec.Struct, frozen=True):
    """A comparison: the values *old* and *new* of *setting*; of :data:`SIDE` what was asked for, and the selections.

    *also* are the other settings of which each side has one value, another one, where these take no part.
    """

    setting: str
    old: Scalar
    new: Scalar
    selections: tuple[Filters, Filters] | None = None
    also: Mapping[str, tuple[Any, Any]] = msgspec.field(default_factory=dict)

    def runs_of(self, study: Study) -> Sequence[Entry]:
        """The runs to compare. Where it isn't about versions, those of the newest alone.

        Raises:
            ConfigError: a run is on both sides, or one side has none.
        """
        if self.also:
            return [_without(run, self.also) for run in msgspec.structs.replace(self, also={}).runs_of(study)]
        if self.setting == TREE:
            sides, by_version = of_trees(study, self.old, self.new)
            told = () if by_version else study.workload.regression.comparison_keys
            return [_without(run, told) for side in sides for run in side]
        if self.selections is not None:
            return _sided(study, self.selections, (str(self.old), str(self.new)))
        return study.runs.entries if study.places(self.setting) else study.newest_runs

    def looks_like_others(self, study: Study) -> bool:
        """Whether a side is written as another value is, as the text 1.1 is beside the number: words mean both."""
        written = [*map(show, study.runs.settings.get(self.setting, ()))]
        return any(written.count(show(side)) > 1 for side in (self.old, self.new))


def comparable(study: Study) -> dict[str, list[Scalar]]:
    """The settings of several values; those of versions from the oldest on."""
    variables: dict[str, list[Any]] = dict(study.runs.variables())
    found = {name: [each for each in values if each is not NOT_SET] for name, values in variables.items()}
    places = {name: study.places(name) for name in found}
    return {
        name: sorted(values, key=lambda value: places[name].get(typed(value), -1))
        for name, values in found.items()
        if len(values) > 1
    }


def choices(study: Study, setting: str | None, shown: Candidate | None = None) -> list[Control]:
    """The controls ``setting``, ``old`` and ``new``: values of the *setting*, else selections (``version=1.2``).

    The empty fields say which sides are *shown*, and unless somebody chose the setting it is marked.
    """
    values = comparable(study)
    if not values:
        return []
    if setting in values:
        offered = [show(value) for value in reversed(values[setting])]
    else:
        offered = [f"{filters.escaped(name)}={filters.write(each)}" for name, of in values.items() for each in of[::-1]]
    hints = ["a value" if setting in values else "version=1.2, or a directory"] * 2
    default = shown.setting if setting is None and shown is not None and shown.setting in values else None
    if shown is not None:
        before = "" if setting in values else f"{filters.escaped(shown.setting)}="
        hints = [show(side) if shown.setting == SIDE else f"{before}{filters.write(side)}"
                 for side in (shown.old, shown.new)]  # fmt: skip
    return [
        Choice(SETTING, "Setting", tuple(values), default),
        Text(OLD, "Old side (a value, or a directory)", tuple(offered[:MOST_SUGGESTED]), hints[0]),
        Text(NEW, "New side", tuple(offered[:MOST_SUGGESTED]), hints[1]),
    ]


def candidates(study: Study, cfg: Mapping[str, Any]) -> list[Candidate]:
    """Each comparison that *cfg* asks for; all that are worth it where it says nothing."""
    setting, old, new = (cfg.get(name) for name in (SETTING, OLD, NEW))
    known = comparable(study)
    if setting is None and (old is not None or new is not None):
        return _of_selections(study, old, new)
    if setting is None:
        return list(_all(study, known))
    values = known.get(setting)
    if values is None:
        raise ConfigError(
            sentence(f"There is no setting '{setting}' with two values to compare: {did_you_mean(setting, known)}")
        )
    if old is None and new is None and setting == TREE:
        return _of_trees(study, values)
    if old is None and new is None and study.places(setting):
        return [_newest(study, setting, values, study.matrix)]
    old = _usual(study.matrix, setting, values) if old is None else _value(old, setting, values)
    others = [value for value in values if typed(value) != typed(old)]
    if new is None:
        return [Candidate(setting, old, value) for value in others]
    new = _value(new, setting, values)
    if typed(old) == typed(new):
        raise ConfigError(f"Old and new are both {show(old)}: choose two different values of {setting}.")
    return [Candidate(setting, old, new)]


def newest_said(study: Study) -> str:
    """Of which version the runs are that are compared, where others are left out."""
    order, keys = study.order_at_hand, study.workload.regression
    runs = [] if order is None else order.runs_of(study.newest_runs)
    axis = (None if order is None else order.axis) or next(iter(keys.comparison_keys), "")
    versions = {typed(one): one for one in (run.versions.get(axis, NOT_SET) for run in runs)}
    if order is None or len(versions) != 1:
        products = [*study.workload.group_keys, *keys.product_keys]
        return f"the newest version{f' of its {named(products)}' if products else ''}"
    ((item, version),) = versions.items()
    is_all = study.past is None or study.past is study.matrix or order.axis is None or item == typed(order.newest)
    return f"{value_label(axis, version)}, the newest{'' if is_all else f' of {study.given.place}'}"


def none_of_newest(study: Study, side: str) -> str:
    """That no run of a *side* takes part, and what to do."""
    return f"No run of {side} is of {newest_said(study)}: name a version in both selections to compare others."


def narrowed(study: Study, old: str, new: str) -> tuple[Study, str, str]:
    """What two selections say alike is a filter of *study*, and the rest of them the sides.

    So ``version=1.2,vus=8`` and ``version=1.3,vus=8`` are two versions, which the history knows.

    Raises:
        ConfigError: a name or a value that no run has, or one of these selects nothing.
    """
    sides = filters.parse(old), filters.parse(new)
    for side in sides:
        study.runs.check_values(side)
    alike = {name: values for name, values in sides[0].items() if {*values} == {*sides[1].get(name, ())}}
    first, second = (
        filters.written({name: values for name, values in side.items() if name not in alike}) for side in sides
    )
    if not alike or not first or not second:
        return study, old, new
    for side in sides:
        study.runs.filtered(side)  # an error where nothing is left
    return study.selected(alike), first, second


def as_selection(study: Study, text: str) -> str:
    """*text*, or where it is a value of one setting alone, such as a version, the selection of that."""
    having = [name for name, values in comparable(study).items() if text in map(show, values)]
    return f"{filters.escaped(having[0])}={filters.escaped(text)}" if len(having) == 1 else text


def is_place(text: str) -> bool:
    """True for a directory or a history, false for a selection of runs such as ``version=1.2``."""
    return text != "" and ("://" in text or text.startswith(("/", "./", "../", "~")) or "=" not in text)


def put_beside(study: Study, sides: tuple[str, str]) -> tuple[Study, Candidate]:
    """*study* with the runs of the directories and histories among the *sides* beside its own; and what to compare.

    Of several versions the newest of each side takes part, whichever that is.

    Raises:
        ConfigError: a side can't be read, or is empty.
    """
    read = study.given.beside
    assert read is not None
    found: dict[str, Matrix] = {}
    for side in sides:
        if is_place(side):
            try:
                matrix = read(side)
            except MatbenchError as error:
                value = "" if "/" in side else "no setting has this value, and "
                raise ConfigError(sentence(f"{side}: {value}{error}")) from error
        else:
            chosen = filters.parse(side)
            study.runs.check_values(chosen)
            matrix = study.runs.selected(chosen)
        if not len(matrix):
            raise ConfigError(f"No finished run is there of {side or study.given.place}.")
        name = side or study.given.place
        if name in found:
            raise ConfigError(f"Both sides are {name}: choose two that differ.")
        found[name] = matrix
    old, new = found
    return Study(joined(found), study.workload, given=study.given), Candidate(TREE, old, new)


def as_wholes(study: Study, found: Iterable[Candidate]) -> list[Candidate]:
    """The comparisons whose sides differ in more than the setting they are about, but in that from run to run alike.

    Such as two experiments, each of which has a name and several settings of its own.
    """
    wholes: dict[frozenset[object], Candidate] = {}  # several settings may tell the same sides apart
    for one in found:
        runs = one.runs_of(study)
        old, new = ([run for run in runs if typed(run.settings.get(one.setting, NOT_SET)) == typed(value)]
                    for value in (one.old, one.new))  # fmt: skip
        names = {name for run in (*old, *new) for name in run.settings} - {one.setting}
        also = {}
        for name in sorted(names):
            values = [{typed(run.settings.get(name, NOT_SET)) for run in side} for side in (old, new)]
            if all(len(side) == 1 for side in values) and values[0] != values[1]:
                also[name] = (old[0].settings.get(name, NOT_SET), new[0].settings.get(name, NOT_SET))
        if also:
            of = frozenset((run.test_uuid, run.location) for run in (*old, *new))
            wholes.setdefault(of, msgspec.structs.replace(one, also=also))
    return list(wholes.values())


def _of_selections(study: Study, old: object, new: object) -> list[Candidate]:
    if old is None or new is None:
        only = filters.parse(str(old if new is None else new))
        study.runs.check_values(only)
        if len(only) == 1 and all(len(values) == 1 for values in only.values()):  # against the usual value, or all
            ((name, (value,)),) = only.items()
            found = [*_matching(study, name, only), value.text]
            return candidates(study, {SETTING: name, (OLD if new is None else NEW): found[0]})
        raise ConfigError(
            "Choose both sides, such as version=1.2 and version=1.3; or a setting whose values to compare."
        )
    sides = filters.parse(str(old)), filters.parse(str(new))
    for side in sides:
        if not side:
            raise ConfigError("Both sides need a selection, such as version=1.2.")
        study.runs.check_values(side)
    if sides[0] == sides[1]:
        raise ConfigError(f"Both sides are {filters.written(sides[0])}: choose two that differ.")
    names = {name for side in sides for name in side}
    if len(names) == 1:
        (name,) = names
        olds, news = (_matching(study, name, side) for side in sides)
        if len(olds) == len(news) == 1 and typed(olds[0]) != typed(news[0]):
            return [Candidate(name, olds[0], news[0])]
    return [Candidate(SIDE, filters.written(sides[0]), filters.written(sides[1]), sides)]


def _matching(study: Study, name: str, side: Filters) -> list[Scalar]:
    """The values of the setting *name* that a selection means."""
    return [value for value in comparable(study).get(name, ()) if filters.matches(side, {name: value})]


def _sided(study: Study, selections: tuple[Filters, Filters], names: tuple[str, str]) -> list[Entry]:
    """The runs of both *selections* with the name of theirs, and without those named settings that no value joins.

    Where neither says anything of versions, runs of the newest.
    """
    chosen = {name for side in selections for name in side}
    is_of_newest = chosen.isdisjoint((*study.workload.regression.comparison_keys, TREE))
    entries = study.newest_runs if is_of_newest else study.runs
    sides = [[run for run in entries if filters.matches(side, run.settings, run.repeat)] for side in selections]
    for side, name in zip(sides, names, strict=True):
        if not side:
            if len(entries) < len(study.runs):
                raise ConfigError(none_of_newest(study, name))
            raise ConfigError(f"No run is selected by {name}.")
    new = {run.name for run in sides[1]}
    for run in sides[0]:
        if run.name in new:
            raise ConfigError(f"{run.name} is on both sides: choose two selections that have no run in common.")
    values = [{(name, typed(run.settings.get(name, NOT_SET))) for run in side for name in chosen} for side in sides]
    apart = chosen - {name for name, _ in values[0] & values[1]}
    return [_without(run, apart, {SIDE: name}) for side, name in zip(sides, names, strict=True) for run in side]


def of_trees(study: Study, old: Scalar, new: Scalar) -> tuple[list[Sequence[Entry]], bool]:
    """The runs of two trees, and whether they are of all versions, since both have the same.

    Else they are of the newest version of each, whichever that is.
    """
    told = study.workload.regression.comparison_keys
    sides = [[run for run in study.runs if typed(run.settings.get(TREE, NOT_SET)) == typed(name)]
             for name in (old, new)]  # fmt: skip
    known = [[run.versions for run in study.order.runs_of(side)] for side in sides]
    said = [key for key in told if any(each[key] is not NOT_SET for of in known for each in of)]
    for of, side in zip(known, sides, strict=True):  # settings alone say it of failed ones
        of += [run.settings for run in side if run.failed and all(key in run.settings for key in said)]
    versions = [{tuple(typed(each.get(key, NOT_SET)) for key in said) for each in of} for of in known]
    by_version = versions[0] == versions[1]
    return [side if by_version else _of_newest(study, side) for side in sides], by_version


def _without(run: Entry, names: Collection[str], more: Mapping[str, Scalar] | None = None) -> Entry:
    """*run* without the settings *names*, with *more* before the others."""
    kept = {name: value for name, value in run.settings.items() if name not in names}
    return dataclasses.replace(run, settings={**(more or {}), **kept})


def _of_newest(study: Study, runs: Sequence[Entry]) -> Sequence[Entry]:
    return Study(Matrix(runs), study.workload, given=study.given).newest_runs


def versions_said(study: Study, candidate: Candidate) -> str:
    """Which versions of two trees are compared; empty where they have none."""
    said = []
    for name in (candidate.new, candidate.old):
        runs = _of_newest(study, [run for run in study.matrix if run.settings.get(TREE) == name])
        told = [f"{key} {value}" for key in study.workload.regression.comparison_keys
                for value in sorted({show(run.settings[key]) for run in runs if key in run.settings})]  # fmt: skip
        said += [f"{', '.join(told)} of {name}"] if told else []
    return f"Compared: {'; '.join(said)}." if said else ""


def judged(study: Study) -> Candidate | None:
    """The newest version, and the last that the history calls good, else the one before; None of fewer than two."""
    known = comparable(study)
    setting = next((name for name in study.workload.regression.comparison_keys if name in known), None)
    return None if setting is None else _newest(study, setting, known[setting], study.runs)


def _newest(study: Study, setting: str, values: list[Scalar], of: Iterable[Entry]) -> Candidate:
    """The newest of *values* that one *of* these runs has, versions in order, against the last that the history calls
    good, else the one before.
    """
    analysis = study.analysis  # also where it takes long: else the default would depend on how many runs there are
    places = study.places(setting)
    own = {typed(entry.settings.get(setting, NOT_SET)) for entry in of}
    newest = max((place for place, value in enumerate(values) if typed(value) in own), default=len(values) - 1)
    if newest == 0:  # results that are older than all of a history beside them
        return Candidate(setting, values[0], values[-1])
    before = values[:newest]
    good = [
        value
        for one in ([] if analysis is None else analysis.verdicts)
        if any(alarm.status in (Status.OPEN, Status.ACKNOWLEDGED) for alarm in one.alarms)  # known, it is no better
        if one.last_good is not None and (value := one.points[one.last_good].versions.get(setting)) is not None
    ]
    last = min(good, key=lambda value: places.get(typed(value), len(places)), default=None)
    older = [value for value in before if good and typed(value) == typed(last)]
    return Candidate(setting, (older or before[-1:])[0], values[newest])


def _all(study: Study, variables: Mapping[str, list[Scalar]]) -> Iterator[Candidate]:
    """Results trees, settings that name a variant, and versions; each value against the one that most runs have."""
    workload = study.workload
    keys = [TREE, *workload.regression.comparison_keys, *workload.variant_keys]
    for name in [name for name in dict.fromkeys(keys) if name in variables] or list(variables):
        values = variables[name]
        if name == TREE:
            yield from _of_trees(study, values)
        elif study.places(name):
            yield _newest(study, name, values, study.matrix)  # results beside a history are what is asked about
        elif len(values) <= MOST_VALUES:
            usual = _usual(study.matrix, name, values)
            yield from (Candidate(name, usual, value) for value in values if value is not usual)


def _of_trees(study: Study, trees: Sequence[Scalar]) -> list[Candidate]:
    """The first tree and each beside it; new is the newest version's, else that of the latest runs, else the first."""
    there, order = [run for run in study.matrix if TREE in run.settings], study.order  # or a setting of some runs
    first = there[0].settings[TREE] if there else trees[0]
    runs = [(typed(run.entry.settings[TREE]), run) for run in order.runs_of(there)]
    axis = order.axis or ""
    places = study.places(axis)
    newest = grouped((tree, at) for tree, run in runs if (at := places.get(typed(run.versions.get(axis)))) is not None)
    versions = Source("", {tree: (max(of), max(of)) for tree, of in newest.items()})
    sources = [versions, *of_runs([run for _, run in runs], lambda run: typed(run.entry.settings[TREE]))]
    older = {tree: levels([typed(first), typed(tree)], sources)[0] for tree in trees if tree != first}
    pairs = [(first, tree) if of == [typed(first)] else (tree, first) for tree, of in older.items()]
    return [Candidate(TREE, *pair) for pair in pairs]


def _usual(matrix: Matrix, name: str, values: list[Scalar]) -> Scalar:
    counts = collections.Counter(typed(entry.settings[name]) for entry in matrix if name in entry.settings)
    return max(values, key=lambda value: counts[typed(value)])


def _value(wanted: object, setting: str, values: list[Scalar]) -> Scalar:
    """The value of *setting* that is *wanted*, by its type, else as it is written, as an address may have it."""
    same = [value for value in values if typed(value) == typed(wanted)]
    written = [value for value in values if show(value) == show(wanted)]
    if not same and not written:
        listed = ", ".join(show(value) for value in values[:10])
        raise ConfigError(f"{show(wanted)} is no value of {setting}; there are {listed}.")
    return (same or written)[0]
