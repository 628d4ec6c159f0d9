"""Report: is the new one worse, or should I switch? Two sides, each at the points that the other has too."""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Mapping, Sequence
from typing import ClassVar

from .. import filters
from ..analyze.check import AnswerKind
from ..analyze.points import ExclusionCause
from ..analyze.report.markdown import markdown
from ..analyze.select.versions import in_word
from ..analyze.verdict.model import Outcome, SeriesVerdict
from ..analyze.verdict.pairs import Switch
from ..analyze.verdict.sides import Pair
from ..analyze.wording import analyses, ranking
from ..analyze.wording import verdicts as wording
from ..analyze.wording.verdicts import (
    UNKNOWN,
    difference_label,
    interval_label,
    mean_label,
    outcome_label,
)
from ..analyze.words import count_of, is_or_are, named, plural, series_label, value_label
from ..errors import ConfigError, sentence
from ..filters import Scalar, show
from ..matrix import NOT_SET, TREE, Entry, typed
from . import compare_charts
from .base import Catalogue, Report, View
from .compare_answer import asked_for, why_none
from .compare_charts import CLEAR
from .compare_sides import (
    NEW,
    OLD,
    SETTING,
    SIDE,
    Candidate,
    as_selection,
    candidates,
    choices,
    is_place,
    narrowed,
    put_beside,
    versions_said,
)
from .controls import Control
from .environments import environment_difference, known_of, repeat_commands, settings_difference
from .series_tables import size_cell
from .tables import (
    Cell,
    Column,
    Columns,
    Node,
    Part,
    Row,
    bullets,
    command,
    graph,
    how_to_read,
    html,
    table,
)

PAIRS_SHOWN, NAMED = 100, 5
ONE_SIDED = 0.5
"""A doubt that so much more of one side's runs have than of the other's may be the difference itself."""
SECTION_PX = 600
Pairs = Mapping[str, Pair]
"""The pair of each series, by its id."""


class CompareReport(Report):
    """Effects with intervals, what is more than chance first; cfg ``setting``, ``old`` and ``new`` choose one."""

    name: ClassVar[str] = "report: Compare"
    description: ClassVar[str] = (
        "Is the new one worse, or better? Two sides, each at the points that the other has too."
    )
    answers = AnswerKind.PAIR

    def __init__(self, catalogue: Catalogue) -> None:
        super().__init__(catalogue)
        self._setting: str | None = None
        self._shown: Candidate | None = None
        self._unofficial: frozenset[Scalar] | None = None  # trees that somebody brought; but the first unless given

    def controls(self) -> Sequence[Control]:
        return choices(self.study, self._setting, self._shown)

    def draw(self, view: View) -> list[Node]:
        if self.workload.headline is None:
            return [html.P("This workload defines no KPI.")]
        self._setting = view.cfg.get(SETTING)
        texts = [str(view.cfg.get(name) or "") for name in (OLD, NEW)]
        if self._setting is None and any(texts):
            texts = [as_selection(self.study, text) for text in texts]
            view = view.choosing(**{name: text for name, text in zip((OLD, NEW), texts, strict=True) if text})
        if self._setting is None and any(map(is_place, texts)):
            return self._beside(view, (texts[0], texts[1]))
        try:
            if self._setting is None and all(texts):
                study, old, new = narrowed(self.study, *texts)
                if study is not self.study:
                    page = type(self)(dataclasses.replace(self.catalogue, study=study))
                    return page.draw(view.choosing(**{OLD: old, NEW: new}))
            switches, are_whole = asked_for(self.study, view.cfg)
        except ConfigError as error:
            return [html.P(str(error))]
        if not switches and len(self.study.runs) and not self.study.best.groups:
            return [html.P(str(verdict)) for verdict in ranking.verdict(self.study.best)]
        if not switches:
            asked = [(one.runs_of(self.study), one) for one in candidates(self.study, view.cfg)]
            said = [why_none(self.study, runs, one) for runs, one in asked] or [
                "No setting has two values, so there is nothing to compare."
            ]
            return [html.P(sentence) for sentence in dict.fromkeys(said)]
        first, *others = switches
        self._shown = Candidate(first.setting, first.old, first.new)
        parts: list[Node] = [self._verdict(first), *self._section(first), *self._order(switches)]
        if others:
            parts.append(html.H2(f"{len(others)} other {plural(len(others), 'comparison')}"))
            parts += [self._folded(one) for one in others] if are_whole else self._in_brief(others)
        return [*parts, how_to_read(compare_charts.HOW_TO_READ)]

    def _beside(self, view: View, sides: tuple[str, str]) -> list[Node]:
        """The page with a side that isn't among these runs: another directory, or a history."""
        if self.study.given.beside is None or not self.catalogue.may_open:
            return [html.P("Other directories and histories can be named on the machine that has them alone.")]
        try:
            study, candidate = put_beside(self.study, sides)
        except ConfigError as error:
            return [html.P(str(error))]

        own = {name for name, side in zip((candidate.old, candidate.new), sides, strict=True) if not is_place(side)}

        def href(run: Entry) -> str | None:
            return self.catalogue.href(run) if run.settings.get(TREE) in own else None

        page = type(self)(dataclasses.replace(self.catalogue, study=study, href=href))
        page._unofficial = frozenset({candidate.old, candidate.new} - own)
        said = versions_said(study, candidate)
        chosen = view.choosing(**{SETTING: TREE, OLD: candidate.old, NEW: candidate.new})
        return [*page.draw(chosen), *([html.P(said, className="note")] if said else [])]

    def _lead(self, switch: Switch, *, is_brief: bool = False) -> str:
        """``version 1.3.4 against 1.3.0: 4 worse, …``; a tree beside the first is one that somebody brought."""
        brought = self._unofficial
        if brought is None and switch.setting == TREE:
            brought = frozenset({switch.new, switch.old} - {self.matrix.entries[0].settings.get(TREE)})
        new, old = (" (unofficial)" if side in (brought or ()) else "" for side in (switch.new, switch.old))
        versus = f"{_side(switch, switch.new)}{new} against {in_word(switch.old)}{old}{self._at(switch)}"
        return f"{versus}: {compare_charts.counted(switch.analysis.verdicts, is_brief=is_brief)}"

    def _at(self, switch: Switch) -> str:
        """At which version, where there are several and it isn't about these."""
        newest = self.study.best.newest
        if newest is None or switch.setting == TREE or self.study.places(switch.setting):
            return ""
        if switch.setting == SIDE and newest.key in filters.parse(f"{switch.old},{switch.new}"):
            return ""
        version = newest.of_runs()
        return f" at the newest {newest.key}s" if version is NOT_SET else f" at {value_label(newest.key, version)}"

    def _folded(self, switch: Switch) -> Node:
        """A comparison as its verdict, which opens; in the application it is made when it is opened."""

        def made() -> Node:
            doubts = [node for node, _ in self._doubts(switch)]
            return html.Div([html.P(self._sentence(switch)), *doubts, *self._section(switch)])

        section = Part(self.name, made, SECTION_PX)
        return html.Details([html.Summary(self._lead(switch)), section], className="apart")

    def _in_brief(self, switches: Sequence[Switch]) -> list[Node]:
        """Comparisons of so many values that a page would wait for their verdicts: the mean of the KPI that ranks."""
        said = []
        for one in switches:
            chosen = {SETTING: one.setting, OLD: show(one.old), NEW: show(one.new)}
            old, new = _sides(one)
            address, what = self.catalogue.address_of(self.name, chosen), f"{new} against {old}"
            mean = f": on average {_mean(one)}, over {len(one.effects[0].pairs)} series."
            said.append([what if address is None else html.A(what, href=address), mean])
        note = "Judged series by series, and by all KPIs, when it is chosen: here, or with matbench compare OLD NEW."
        return [bullets(said), html.P(note, className="note")]

    def _verdict(self, switch: Switch) -> Node:
        """How many series are worse, what the headline KPI says, and behind a line that opens what else there is."""
        verdicts = switch.analysis.verdicts
        found = self._doubts(switch)
        said = [html.P(self._sentence(switch, is_brief=True)), *(node for node, is_one_sided in found if is_one_sided)]
        doubts = [node for node, is_one_sided in found if not is_one_sided]
        title = html.Summary(
            count_of(len(doubts), "doubt") if doubts else "What else", className="warning" if doubts else None
        )
        if switch.analysis.order and self.study.order.newer(switch.setting, (switch.old, switch.new)) == switch.old:
            said.append(html.P(f"The old side, {_side(switch, switch.old)}, is the newer one.", className="warning"))
        said += map(html.P, filter(None, (*switch.analysis.may_fail_more, switch.analysis.beside)))
        said += [html.P(sentence) for sentence in ranking.instead(self.study.unknown_headline, self.study.matrix)]
        told = [one for one in verdicts if one.outcome in (Outcome.REGRESSION, Outcome.SUSPECTED)]
        sentences = (
            " ".join([wording.sentence(one), *(f"Alarm {each.id}." for each in one.alarms if each.id)])
            for one in told[:NAMED]
        )
        named = [bullets(sentences, len(told) - NAMED)] if told else []
        rest = [self._sentence(switch), " ".join(analyses.lead(switch.analysis))]
        rest += [" ".join(map(sentence, switch.analysis.notes))]
        hidden = html.Details([title, *doubts, *named, *map(html.P, filter(None, rest))])
        fails = switch.analysis.fails_more
        failing = " failing" if fails or any(one.outcome is Outcome.REGRESSION for one in verdicts) else ""
        lead = [html.P(each, className="lead") for each in (*fails, self._lead(switch, is_brief=True))]
        return html.Div([*lead, *said, hidden], className=f"verdict{failing}")

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
        first = self._usual()
        if first is None:
            return "There is nothing to compare."
        analysis = first.analysis
        said = [*analysis.fails_more, self._lead(first), self._sentence(first)]
        return " ".join(filter(None, [*said, *analysis.may_fail_more, analysis.beside]))

    def instead(self) -> str:
        """What the newest version and the one before say by themselves, where their history is too short to tell."""
        analysis = self.study.analysis if self.study.has_versions else None
        first = None if analysis is None or not analyses.is_untold(analysis) else self._usual()
        is_one = first is not None and first.setting in self.workload.regression.comparison_keys
        is_one = is_one and first is not None and typed(first.new) == typed(self.study.order.newest)
        return f"By themselves, {self._lead(first, is_brief=True).rstrip('.')}." if first is not None and is_one else ""

    def box(self) -> Node:
        """The verdict on what is compared unless somebody chooses, for another page."""
        first = None if self.workload.headline is None else self._usual()
        return html.P(self.summary()) if first is None else self._verdict(first)

    def _usual(self) -> Switch | None:
        return next(iter(asked_for(self.study, {})[0]), None)

    def _sentence(self, switch: Switch, *, is_brief: bool = False) -> str:
        """Whether to switch, by the headline KPI; unless *is_brief* with what that stands on."""
        effect = switch.effects[0]
        kpi, count = effect.kpi, len(effect.pairs)
        old, new = _sides(switch)
        what = f"{new} instead of {old}{f' (with its {named([*switch.also])})' if switch.also else ''}"
        apart = wording.apart(effect.verdicts, effect.judged)
        behind = "" if is_brief else f" {mean_label(effect.judged, count)}{apart}, {effect.judged.stands_on}"
        moved = f"{_mean(switch)}{behind}"
        if effect.outcome not in CLEAR:
            told = [one for one in effect.verdicts if one.outcome in (*CLEAR, Outcome.SUSPECTED)] if count > 1 else []
            if told:  # what a mean over others hides
                more = f", and {len(told) - 1} more" if told[1:] else ""
                of = f"{kpi.name} of {told[0].name} {wording.size(told[0])}, {wording.verdict_text(told[0])}{more}"
                moved = f"{of}; over all {count} series {moved.removeprefix(f'{kpi.name} ')}"
            return f"{what}: {moved}; {compare_charts.verdict_on(effect)}."
        gated = [one.entry.settings for one in self.study.best.excluded if one.cause is ExclusionCause.GATED]
        values = collections.Counter(typed(settings.get(switch.setting, NOT_SET)) for settings in gated)
        before, refused = values[typed(switch.old)], values[typed(switch.new)]
        refused = refused if refused > before else 0  # what both sides have speaks against neither
        is_better = effect.outcome is Outcome.IMPROVEMENT
        advice = "Stay" if not is_better else "Don't switch" if refused else "Switch"
        against = effect.count(Outcome.REGRESSION if is_better else Outcome.IMPROVEMENT)
        advice = "It depends on where" if against and not refused else advice
        other_way = f", {against} of them the other way" if against else ""
        runs = f"{refused} {plural(refused, 'run')}"
        why = f" {runs} with it can't be the best: the answers are beyond a limit." if is_better and refused else ""
        moved = moved.removeprefix(f"{kpi.name} ")
        # What speaks against it by other KPIs: who reads the advice alone shall not miss that.
        opposite = Outcome.REGRESSION if is_better else Outcome.IMPROVEMENT
        others = sum(one.outcome is opposite and one.kpi.name != kpi.name for one in switch.analysis.verdicts)
        alone = f"By {kpi.name} alone, {advice[0].lower()}{advice[1:]}" if others else advice
        but = f"; {others} series of other KPIs {is_or_are(others)} {opposite.value}" if others else ""
        return f"{alone}: {what} changes {kpi.name} by {moved}{other_way}{but}.{why}"

    def _doubts(self, switch: Switch) -> list[tuple[Node, bool]]:
        """What makes the numbers of its runs doubtful, and on which side; and whether one side has much more of it."""
        said = [(wording.doubt(one, _sides(switch)), one.difference >= ONE_SIDED) for one in switch.analysis.doubts]
        return [(html.P(sentence, className="warning"), is_one_sided) for sentence, is_one_sided in said]

    def _section(self, switch: Switch) -> list[Node]:
        pairs = {one.series.id: one for effect in switch.effects for one in effect.pairs}
        verdicts = compare_charts.relevant(switch.analysis.verdicts, self.study.headline_name)
        drawn = compare_charts.drawable(verdicts)
        old, new = ([*{run.name: run for one in pairs.values() for run in one.sides[at]}.values()] for at in (0, 1))
        sides = _sides(switch)
        parts: list[Node] = []
        if drawn:
            figure = compare_charts.forest_figure(drawn, pairs)
            parts.append(graph(figure, f"Each series: {compare_charts.conclusion(verdicts)}"))
            parts.append(html.P(compare_charts.forest_text(verdicts), className="note"))
            shown = drawn[: compare_charts.MOST_SHOWN]
            joined = any(compare_charts.means_joined(pairs[one.id], self.study.blocks) for one in shown)
            lines = "; lines join those measured together" if joined else ""
            parts.append(html.P(f"The runs of both sides{lines}.", className="note"))
            parts.append(html.Div([self._runs(one, pairs[one.id], sides) for one in shown], className="pictures small"))
        parts.append(self._series_table(verdicts, pairs))
        if switch.setting == SIDE:  # whose runs lack the settings by which they were chosen
            old, new = ([self.study.run_called(run.name) or run for run in side] for side in (old, new))
        parts += settings_difference(sides, old, new, switch.also)
        environments = known_of(old), known_of(new)
        parts += environment_difference(sides, *environments) + repeat_commands(sides, environments)
        parts.append(compare_charts.effects_table(switch))
        written = [
            html.Summary("As Markdown, for a pull request"),
            command(markdown(switch.analysis, self._sentence(switch))),
        ]
        return [*parts, html.Details(written, className="apart")]  # which is printed if somebody has opened it

    def _runs(self, verdict: SeriesVerdict, pair: Pair, sides: tuple[str, str]) -> Node:
        figure = compare_charts.runs_figure(verdict, pair, self.study.blocks, sides)
        named = series_label(verdict.kpi.name, verdict.name)
        label = f"{named}, the runs of {sides[0]} beside those of {sides[1]}: {wording.size(verdict)}"
        return html.Div([html.P(named, className="note"), graph(figure, label)])

    def _series_table(self, verdicts: Sequence[SeriesVerdict], pairs: Pairs) -> Node:
        columns: Columns = [
            *(Column("KPI", setting=True), Column("At", setting=True)),
            Column("Difference", numeric=True, help="with its 95 % interval"),
            "Verdict",
            Column("Old", numeric=True, help="mean of the runs, geometric for positive values; leads to the first"),
            Column("New", numeric=True, help="old and the difference; leads to the first run"),
            Column("Seen from", numeric=True, help="how large a difference would at least be suspected"),
        ]
        rows = (self._pair_row(one, pairs[one.id]) for one in verdicts)
        return table(columns, rows, caption="The series, the most important first", limit=PAIRS_SHOWN)

    def _pair_row(self, verdict: SeriesVerdict, pair: Pair) -> Row:
        levels = zip((verdict.old_level, verdict.new_level), pair.sides, (False, True), strict=True)
        means = (
            Cell(self.link(runs[0], verdict.kpi.show(level, unit=unit)), sort=level) for level, runs, unit in levels
        )
        alarms = "".join(f" (alarm {one.id})" for one in verdict.alarms if one.id)
        said = f"{outcome_label(verdict.outcome, verdict.looks_worse)}{alarms}"
        seen_from = Cell(wording.seen_from(verdict), sort=verdict.would_show)
        return [verdict.kpi.name, verdict.name, size_cell(verdict), said, *means, seen_from]


def _side(switch: Switch, value: Scalar) -> str:
    said = in_word(value)
    return said if said != show(value) or switch.setting == SIDE else value_label(switch.setting, value)


def _mean(switch: Switch) -> str:
    """By how much the KPI that ranks differs over all series."""
    effect = switch.effects[0]
    interval = interval_label(effect.judged, effect.kpi)
    sure = "" if interval == UNKNOWN else f" (95 % interval {interval})"
    return f"{effect.kpi.name} {difference_label(effect.judged, effect.kpi)}{sure}"


def _sides(switch: Switch) -> tuple[str, str]:
    return _side(switch, switch.old), _side(switch, switch.new)
