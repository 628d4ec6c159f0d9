"""Report: should I switch? One value of a setting against another, at all points that differ in nothing else."""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from ..analyze.points import ExclusionCause, joined_warnings
from ..analyze.select.selection import select
from ..analyze.study import Study
from ..analyze.verdict.lifecycle import known_alarms, new_events
from ..analyze.verdict.model import Outcome, SeriesVerdict
from ..analyze.verdict.sides import Pair, Question
from ..analyze.verdict.switch import Effect, Switch, switch, switch_versions
from ..analyze.wording import verdicts
from ..analyze.wording.verdicts import (
    UNKNOWN,
    difference_label,
    interval_label,
    mean_label,
    outcome_label,
    verdict_label,
)
from ..analyze.words import plural, value_label
from ..errors import ConfigError, did_you_mean, sentence
from ..filters import Scalar, show
from ..matrix import NOT_SET, TREE, Entry, Matrix, typed
from .base import Report, View
from .controls import Choice, Control
from .environments import environment_difference
from .report_regression import size_cell
from .tables import Cell, Column, Columns, Node, Row, bullets, count_cell, how_to_read, html, kpi_cell, table

if TYPE_CHECKING:
    from .base import Catalogue

MOST_VALUES = 8
PAIRS_SHOWN, NAMED = 30, 5
_CLEAR = (Outcome.REGRESSION, Outcome.IMPROVEMENT)
SETTING, OLD, NEW = "setting", "old", "new"
Candidate = tuple[str, Scalar, Scalar]


def comparable(study: Study) -> dict[str, list[Scalar]]:
    variables: dict[str, list[Any]] = dict(study.matrix.variables())
    found = {name: [each for each in values if each is not NOT_SET] for name, values in variables.items()}
    places = {name: study.places(name) for name in found}
    return {
        name: sorted(values, key=lambda value: places[name].get(typed(value), -1))
        for name, values in found.items()
        if len(values) > 1
    }


def choices(study: Study, setting: str | None) -> list[Control]:
    """The controls ``setting``, ``old`` and ``new``; without a *setting* the values are those of all settings."""
    values = comparable(study)
    if not values:
        return []
    offered = values[setting] if setting in values else [each for one in values.values() for each in one]
    unique = tuple({typed(value): value for value in offered}.values())
    return [
        Choice(SETTING, "Setting", tuple(values)),
        Choice(OLD, "Old value", unique, needs=SETTING),
        Choice(NEW, "New value", unique, needs=SETTING),
    ]


def candidates(study: Study, cfg: Mapping[str, Any]) -> list[Candidate]:
    """``(setting, old, new)`` for each comparison that *cfg* asks for; all that are worth it where it says nothing."""
    setting, old, new = (cfg.get(name) for name in (SETTING, OLD, NEW))
    known = comparable(study)
    if setting is None:
        if old is not None or new is not None:
            raise ConfigError("Choose the setting whose values are to be compared.")
        return list(_all(study, known))
    values = known.get(setting)
    if values is None:
        raise ConfigError(
            sentence(f"There is no setting '{setting}' with two values to compare: {did_you_mean(setting, known)}")
        )
    if old is None and new is None and study.places(setting):
        return [_newest(study, setting, values)]
    old = _usual(study.matrix, setting, values) if old is None else _value(old, setting, values)
    others = [value for value in values if typed(value) != typed(old)]
    if new is None:
        return [(setting, old, value) for value in others]
    new = _value(new, setting, values)
    if typed(old) == typed(new):
        raise ConfigError(f"Old and new are both {show(old)}: choose two different values of {setting}.")
    return [(setting, old, new)]


def _newest(study: Study, setting: str, values: list[Scalar]) -> Candidate:
    """The newest of *values*, versions in order, against the last that the history calls good, else the one before."""
    analysis = study.analysis if study.has_analysis else None
    places = study.places(setting)
    good = [
        value
        for one in ([] if analysis is None else analysis.failing)
        if one.last_good is not None and (value := one.points[one.last_good].versions.get(setting)) is not None
    ]
    last = min(good, key=lambda value: places.get(typed(value), len(places)), default=None)
    older = [value for value in values[:-1] if good and typed(value) == typed(last)]
    return setting, (older or values[-2:-1])[0], values[-1]


def _all(study: Study, variables: Mapping[str, list[Scalar]]) -> Iterator[Candidate]:
    """Results trees, settings that name a variant, and versions; each value against the one that most runs have."""
    workload = study.workload
    keys = [TREE, *workload.variant_keys, *workload.regression.comparison_keys]
    for name in [name for name in dict.fromkeys(keys) if name in variables] or list(variables):
        values = variables[name]
        if study.places(name):
            yield _newest(study, name, values)
        elif len(values) <= MOST_VALUES:
            usual = _usual(study.matrix, name, values)
            yield from ((name, usual, value) for value in values if value is not usual)


def _usual(matrix: Matrix, name: str, values: list[Scalar]) -> Scalar:
    counts = collections.Counter(typed(entry.settings[name]) for entry in matrix if name in entry.settings)
    return max(values, key=lambda value: counts[typed(value)])


def _value(wanted: Scalar, setting: str, values: list[Scalar]) -> Scalar:
    """The value of *setting* that is *wanted*, by its type, else as it is written, as an address may have it."""
    same = [value for value in values if typed(value) == typed(wanted)]
    written = [value for value in values if show(value) == show(wanted)]
    if not same and not written:
        listed = ", ".join(show(value) for value in values[:10])
        raise ConfigError(f"{show(wanted)} is no value of {setting}; there are {listed}.")
    return (same or written)[0]


class CompareReport(Report):
    """Effects with intervals, what is more than chance first; cfg ``setting``, ``old`` and ``new`` choose one."""

    name: ClassVar[str] = "report: Compare"
    description: ClassVar[str] = (
        "Should I switch? One value of a setting against another, at all points that differ in nothing else."
    )

    def __init__(self, catalogue: Catalogue) -> None:
        super().__init__(catalogue)
        self._setting: str | None = None
        self._environments: dict[int, dict[str, str]] = {}

    def controls(self) -> Sequence[Control]:
        return choices(self.study, self._setting)

    def draw(self, view: View) -> list[Node]:
        if self.workload.headline is None:
            return [html.P("This workload defines no KPI.")]
        self._setting = view.cfg.get(SETTING)
        try:
            wanted = candidates(self.study, view.cfg)
        except ConfigError as error:
            return [html.P(str(error))]
        entries = view.runs
        switches = self._switches(entries, wanted)
        if not switches:
            return [html.P("No two points differ in one setting alone, so there is nothing to compare.")]
        clear = [one for one in switches if _is_clear(one)]
        rest = [one for one in switches if not _is_clear(one)]
        suspected = [one for one in rest if one.analysis.having(Outcome.SUSPECTED)]
        above = [*clear, *suspected] or rest[:1]
        parts: list[Node] = [html.Div([part for one in above for part in self._said(one)], className="verdict")]
        parts += [part for one in clear for part in self._section(one)]
        if rest:
            heading = f"Nothing worse or better is shown: {len(rest)} {plural(len(rest), 'comparison')}"
            heading += f", {len(suspected)} of them with suspected series" if suspected else ""
            hidden: list[Node] = []
            for one in rest:
                hidden += [] if any(one is each for each in above) else self._said(one)
                hidden += self._section(one)
            parts.append(html.Details([html.Summary(heading), *hidden], open=not clear or None))
        return [*parts, *self._order(switches), how_to_read(HOW_TO_READ)]

    def _order(self, switches: Sequence[Switch]) -> list[Node]:
        keys = dict.fromkeys(one.setting for one in switches if one.setting in self.workload.regression.comparison_keys)
        if not keys:
            return []
        problem = self.study.order_problem
        said = [problem] if problem else [sentence for key in keys for sentence in self.study.order.said(key)]
        return [html.P(" ".join(said), className="note")] if said else []

    def summary(self) -> str:
        if self.workload.headline is None:
            return "This workload defines no KPI."
        switches = self._switches(list(self.matrix), candidates(self.study, {}))
        return self._sentence(switches[0]) if switches else "There is nothing to compare."

    def _switches(self, entries: Sequence[Entry], wanted: Iterable[Candidate]) -> list[Switch]:
        """What can be compared, the clearest first, by the largest effect on the KPI that ranks most of the runs."""
        places = {kpi.name: place for place, kpi in enumerate(self.workload.headlines(one.settings for one in entries))}
        switches = []
        for setting, old, new in wanted:
            found = self._switch(entries, setting, old, new)
            if found is not None and any(effect.kpi.name in places for effect in found.effects):
                effects = sorted(found.effects, key=lambda effect: places.get(effect.kpi.name, len(places)))
                switches.append(dataclasses.replace(found, effects=tuple(effects)))
        return sorted(switches, key=lambda one: (not _is_clear(one), -abs(one.effects[0].judged.measure.value)))

    def _switch(self, entries: Sequence[Entry], setting: str, old: Scalar, new: Scalar) -> Switch | None:
        """By version as ``matbench compare`` has it, else at all points that differ in nothing else."""
        given = self.study.given
        known = known_alarms(one for one in given.events() if one.subject.workload == self.workload.name)
        analysis = self.study.analysis if self.study.has_analysis else None
        expected = {} if analysis is None else known_alarms(new_events(analysis, known))
        question = Question(self.study.data, self.study.blocks, self.study.minimum_effects, known, expected)
        if self.study.places(setting) and (self.study.order.axis or setting) == setting:
            selected = select(entries, self.workload, order=self.study.order)
            return switch_versions(selected, setting, old, new, question)
        return switch(entries, self.workload, setting, old, new, question)

    def _sentence(self, switch: Switch) -> str:
        """Whether to switch, by the headline KPI; then the verdict on all series."""
        effect = switch.effects[0]
        kpi, count = effect.kpi, len(effect.pairs)
        what = f"{value_label(switch.setting, switch.new)} instead of {value_label(switch.setting, switch.old)}"
        behind = f"{mean_label(effect.judged, count)}, {effect.judged.stands_on}"
        interval = interval_label(effect.judged, kpi)
        sure = "" if interval == UNKNOWN else f" (95 % interval {interval})"
        moved = f"{kpi.name} {difference_label(effect.judged, kpi)}{sure} {behind}"
        on_all = " ".join(verdicts.lead(switch.analysis))
        if effect.outcome not in _CLEAR:
            return f"{what}: {moved}; {_verdict(effect)}. {on_all}"
        gated = [one.entry.settings for one in self.study.best.excluded if one.cause is ExclusionCause.GATED]
        refused = sum(typed(settings.get(switch.setting, NOT_SET)) == typed(switch.new) for settings in gated)
        is_better = effect.outcome is Outcome.IMPROVEMENT
        advice = "Stay" if not is_better else "Don't switch" if refused else "Switch"
        against = effect.count(Outcome.REGRESSION if is_better else Outcome.IMPROVEMENT)
        other_way = f", {against} of them the other way" if against else ""
        why = (
            f" {refused} {plural(refused, 'run')} with it can't be the best: the answers are beyond a limit."
            if is_better and refused
            else ""
        )
        moved = moved.removeprefix(f"{kpi.name} ")
        return f"{advice}: {what} changes {kpi.name} by {moved}{other_way}.{why} {on_all}"

    def _said(self, switch: Switch) -> list[Node]:
        """The verdict, then what makes the numbers of its runs doubtful, and on which side."""
        pairs = [one for effect in switch.effects for one in effect.pairs]
        old, new = ({run.name: run for one in pairs for run in _runs(one, side)} for side in ("old", "new"))
        said: list[Node] = [html.P(self._sentence(switch))]
        for doubt, having in joined_warnings([*old.values(), *new.values()]):
            counts = [
                f"{sum(run.name in side for run in having)} of {len(side)} with {value_label(switch.setting, value)}"
                for side, value in ((old, switch.old), (new, switch.new))
            ]
            said.append(html.P(f"Doubtful: {doubt} (runs: {', '.join(counts)}).", className="warning"))
        return said

    def _section(self, switch: Switch) -> list[Node]:
        effect = switch.effects[0]
        pairs = len(effect.pairs)
        old, new = ([entry for one in effect.pairs for entry in _runs(one, side)] for side in ("old", "new"))
        heading = f"{value_label(switch.setting, switch.new)} instead of {value_label(switch.setting, switch.old)}"
        told = [one for one in switch.analysis.verdicts if one.outcome in (Outcome.REGRESSION, Outcome.SUSPECTED)]
        parts: list[Node] = [html.H2(heading), _effects_table(switch)]
        named = [
            " ".join([verdicts.sentence(one), *(f"Alarm {each.id}." for each in one.alarms if each.id)]) for one in told
        ]
        parts += [bullets(named[:NAMED])] if told else []
        parts += [html.P(f"And {len(told) - NAMED} more.")] if len(told) > NAMED else []
        title = html.Summary(f"{pairs} {plural(pairs, 'pair')} behind {effect.kpi.name}")
        hidden = html.Details([title, self._pairs_table(effect)])
        return [*parts, *environment_difference(old, new, self._environments), hidden]

    def _pairs_table(self, effect: Effect) -> Node:
        kpi = effect.kpi
        columns: Columns = [
            "At",
            Column("Old", unit=kpi.display_unit, numeric=True, help="mean of the runs, geometric for positive values"),
            Column("New", unit=kpi.display_unit, numeric=True, help="old and the difference"),
            Column("Difference", numeric=True, help="with its 95 % interval"),
            *("Verdict", "Runs"),
        ]
        pairs = {one.series.id: one for one in effect.pairs}
        rows = (self._pair_row(one, pairs[one.id]) for one in effect.verdicts)
        return table(columns, rows, caption=f"{kpi.name}, {kpi.direction}", limit=PAIRS_SHOWN)

    def _pair_row(self, verdict: SeriesVerdict, pair: Pair) -> Row:
        runs = [(entry, side) for side in ("old", "new") for entry in _runs(pair, side)]
        links = [part for entry, side in runs for part in (self.link(entry, side), " ")]
        levels = (verdict.old_level, verdict.new_level)
        shown = ("unknown" if level is None else kpi_cell(verdict.kpi, level) for level in levels)
        alarms = "".join(f" (alarm {one.id})" for one in verdict.alarms if one.id)
        said = f"{outcome_label(verdict.outcome, verdict.looks_worse)}{verdicts.shown(verdict)}{alarms}"
        return [verdict.name, *shown, size_cell(verdict), said, Cell(links)]


def _runs(pair: Pair, side: str) -> list[Entry]:
    places = pair.old if side == "old" else pair.new
    return [entry for place in places for entry in pair.series.points[place].entries]


def _is_clear(switch: Switch) -> bool:
    return switch.effects[0].outcome in _CLEAR or any(one.outcome in _CLEAR for one in switch.analysis.verdicts)


def _effects_table(switch: Switch) -> Node:
    mean = "over the pairs: the geometric mean of ratios, of positive values"
    columns: Columns = [
        "KPI",
        Column("Mean difference", numeric=True, help=mean),
        Column("95 % interval", numeric=True, help="of the mean, from the blocks in which it was measured"),
        "Verdict",
        Column("Pairs", numeric=True),
        Column("Worse", numeric=True, help="pairs"),
        Column("Better", numeric=True, help="pairs"),
        Column("Suspected", numeric=True, help="pairs, to be worse or better"),
    ]
    rows: list[Row] = []
    for effect in switch.effects:
        judged, kpi = effect.judged, effect.kpi
        counts = [len(effect.pairs), *map(effect.count, (*_CLEAR, Outcome.SUSPECTED))]
        difference = Cell(difference_label(judged, kpi), sort=judged.measure.value)
        rows.append([kpi.name, difference, interval_label(judged, kpi), _verdict(effect), *map(count_cell, counts)])
    return table(columns, rows, caption="What changes, KPI by KPI")


def _verdict(effect: Effect) -> str:
    if effect.outcome is None:
        return "not judged"
    return verdict_label(effect.judged, effect.outcome, effect.kpi, effect.minimum)


HOW_TO_READ = (
    "A pair is two points that differ in the named setting only; failed runs, and those with values that can't be, "
    "take no part.",
    "Means of positive values are geometric here: the old one times the mean ratio is the new one. Best configuration "
    "has plain means, which are a little larger.",
    "Runs of one round, or of one campaign, share a mood of the machine: rounds in which both sides were measured are "
    "compared one by one, else campaigns. At least two are needed.",
    "The interval of the mean is about the settings that were measured. It does not say that every setting gains; the "
    "pairs do.",
    "Of the pairs that are called worse or better, on average at most 5 % are neither; suspected ones would be called "
    "so if they stood alone, or if a second block said the same.",
)
