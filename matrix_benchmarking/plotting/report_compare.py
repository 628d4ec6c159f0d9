"""Report: should I switch? One value of a setting against another, at all points that differ in nothing else."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

from ..analyze.compare import Effect, Pair, effect_of, pair_up
from ..analyze.intervals import Scale
from ..analyze.points import Cause
from ..analyze.wording import plural, tuning_label, value_label
from ..errors import ConfigError
from ..kpi import KPIDefinition
from ..matrix import NOT_SET, Entry, SettingLists, Variables, typed
from .base import Report
from .catalogue import Catalogue
from .compare_choice import SETTING, Candidate, candidates, choices
from .controls import Control
from .environment_table import Environments, environment_difference
from .tables import Cell, Column, Row, kpi_cell, table

PAIRS_SHOWN = 30


@dataclasses.dataclass(frozen=True, slots=True)
class Switch:
    """One value of a setting in place of another.

    Attributes:
        setting, old, new: what changes.
        effects: what each KPI does, the headline KPI first.
        refused: how many runs at the new value can't be the best, because their answers are not right.
    """

    setting: str
    old: Any
    new: Any
    effects: tuple[Effect, ...]
    refused: int

    @property
    def headline(self) -> Effect:
        return self.effects[0]


class CompareReport(Report):
    """Effects with intervals, what is more than chance first; cfg ``setting``, ``old`` and ``new`` choose one."""

    name: ClassVar[str] = "report: Compare"
    description: ClassVar[str] = (
        "Should I switch? One value of a setting against another, at all points that differ in nothing else."
    )

    def __init__(self, catalogue: Catalogue) -> None:
        super().__init__(catalogue)
        self._setting: str | None = None
        self._environments = Environments()

    def controls(self) -> Sequence[Control]:
        """Setting, old and new value: of the setting that was drawn last, or of all."""
        return choices(self.matrix, self._setting, self.catalogue.places)

    def do_plot(
        self,
        ordered_vars: list[str],
        settings: dict[str, Any],
        setting_lists: SettingLists,
        variables: Variables,
        cfg: Mapping[str, Any],
    ) -> list[Any]:
        from dash import html

        if self.workload.headline is None:
            return [html.P("This workload defines no KPI.")]
        self._setting = cfg.get(SETTING)
        try:
            wanted = candidates(self.matrix, self.workload, cfg, self.catalogue.places)
        except ConfigError as error:
            return [html.P(str(error))]
        entries = list(self.matrix.all_records(settings, setting_lists))
        switches = self._switches(entries, wanted)
        if not switches:
            return [html.P("No two points differ in one setting alone, so there is nothing to compare.")]
        clear = [one for one in switches if one.headline.apart]
        rest = [one for one in switches if not one.headline.apart]
        parts: list[Any] = [html.Div([html.P(_sentence(one)) for one in clear or rest[:1]], className="verdict")]
        parts += [part for one in clear for part in self._section(one)]
        if rest:
            heading = f"No difference that is more than chance: {len(rest)} {plural(len(rest), 'comparison')}"
            hidden = [part for one in rest for part in [html.P(_sentence(one)), *self._section(one)]]
            parts.append(html.Details([html.Summary(heading), *hidden], open=not clear or None))
        return [*parts, *self._order(switches), _how_to_read()]

    def _order(self, switches: Sequence[Switch]) -> list[Any]:
        """Where the order of the versions is from that are compared."""
        from dash import html

        keys = dict.fromkeys(one.setting for one in switches if one.setting in self.workload.regression.comparison_keys)
        if not keys:
            return []
        problem = self.catalogue.order_problem
        said = [problem] if problem else [sentence for key in keys for sentence in self.catalogue.order.said(key)]
        return [html.P(" ".join(said), className="note")] if said else []

    def summary(self) -> str:
        entries = list(self.matrix)
        if self.workload.headline is None:
            return "This workload defines no KPI."
        switches = self._switches(entries, candidates(self.matrix, self.workload, {}, self.catalogue.places))
        clear = [one for one in switches if one.headline.apart]
        return _sentence(clear[0]) if clear else "No difference that is more than chance."

    def _switches(self, entries: Sequence[Entry], wanted: Iterable[Candidate]) -> list[Switch]:
        """What can be compared, the largest effect on the headline KPI first, what is chance behind what isn't."""
        headline = self.workload.headline
        assert headline is not None
        kpis = [headline, *(kpi for kpi in self.workload.kpis.values() if kpi.name != headline.name)]
        switches = []
        for setting, old, new in wanted:
            pairs = pair_up(entries, setting, old, new)
            effects = [found for kpi in kpis if (found := effect_of(pairs, setting, kpi)) is not None]
            if effects and effects[0].kpi is headline:
                switches.append(Switch(setting, old, new, tuple(effects), self._refused(setting, new)))
        return sorted(switches, key=lambda one: (not one.headline.apart, -abs(one.headline.difference)))

    def _refused(self, setting: str, value: Any) -> int:
        return sum(
            one.cause is Cause.GATED and typed(one.entry.settings.get(setting, NOT_SET)) == typed(value)
            for one in self.catalogue.best.excluded
        )

    def _section(self, switch: Switch) -> list[Any]:
        from dash import html

        pairs = len(switch.headline.pairs)
        heading = f"{value_label(switch.setting, switch.new)} instead of {value_label(switch.setting, switch.old)}"
        return [
            html.H2(heading),
            _effects_table(switch),
            *self._environment(switch),
            html.Details(
                [
                    html.Summary(f"{pairs} {plural(pairs, 'pair')} behind {switch.headline.kpi.name}"),
                    self._pairs_table(switch),
                ]
            ),
        ]

    def _environment(self, switch: Switch) -> list[Any]:
        """What else differs between the runs behind the pairs."""
        old = [entry for pair in switch.headline.pairs for entry in pair.old_runs]
        new = [entry for pair in switch.headline.pairs for entry in pair.new_runs]
        return environment_difference(old, new, self._environments)

    def _pairs_table(self, switch: Switch) -> Any:
        effect = switch.headline
        kpi = effect.kpi
        differing = [
            name
            for name in dict.fromkeys(name for pair in effect.pairs for name in pair.settings)
            if len({typed(pair.settings.get(name, NOT_SET)) for pair in effect.pairs}) > 1
        ]
        columns = [
            Column("At"),
            Column(value_label(switch.setting, switch.old), unit=kpi.display_unit, numeric=True),
            Column(value_label(switch.setting, switch.new), unit=kpi.display_unit, numeric=True),
            Column("Difference", numeric=True),
            Column("More than chance"),
            Column("Runs"),
        ]
        rows = (self._pair_row(pair, effect, differing) for pair in effect.pairs)
        return table(columns, rows, caption=f"{kpi.name}, {kpi.direction}", limit=PAIRS_SHOWN)

    def _pair_row(self, pair: Pair, effect: Effect, differing: Sequence[str]) -> Row:
        kpi, comparison = effect.kpi, pair.comparison
        runs = [*(self.link(entry, "old") for entry in pair.old_runs), *(self.link(e, "new") for e in pair.new_runs)]
        return [
            tuning_label(pair.settings, differing) or "everywhere",
            kpi_cell(kpi, pair.old.mean),
            kpi_cell(kpi, pair.new.mean),
            Cell(_amount(comparison.difference, effect.scale, kpi), sort=comparison.difference),
            {True: "yes", False: "no", None: "unknown"}[comparison.apart],
            Cell([part for link in runs for part in (link, " ")]),
        ]


def _effects_table(switch: Switch) -> Any:
    columns = [
        Column("KPI"),
        Column(
            "Difference", numeric=True, help="mean over the pairs; for positive values the geometric mean of ratios"
        ),
        Column("95 % interval", numeric=True, help="of the mean, over the pairs"),
        Column("More than chance"),
        Column("Better"),
        Column("Pairs", numeric=True),
        Column("Pairs against it", numeric=True, help="pairs that differ, by more than chance, in the other direction"),
    ]
    rows: list[Row] = []
    for effect in switch.effects:
        kpi = effect.kpi
        verdict = {True: "yes", False: "no", None: "unknown"}[effect.apart]
        rows.append(
            [
                kpi.name,
                Cell(_amount(effect.difference, effect.scale, kpi), sort=effect.difference),
                _interval(effect),
                verdict,
                {True: "new", False: "old", None: "not judged"}[effect.is_better] if effect.apart else "can't tell",
                Cell(str(len(effect.pairs)), sort=len(effect.pairs)),
                Cell(str(effect.disagreeing), sort=effect.disagreeing),
            ]
        )
    return table(columns, rows, caption="What changes, KPI by KPI")


def _sentence(switch: Switch) -> str:
    effect = switch.headline
    kpi, pairs = effect.kpi, len(effect.pairs)
    what = f"{value_label(switch.setting, switch.new)} instead of {value_label(switch.setting, switch.old)}"
    amount = _amount(effect.difference, effect.scale, kpi)
    interval = f" (95 % interval {_interval(effect)})" if effect.interval is not None else ""
    behind = f"over {pairs} {plural(pairs, 'pair')} of points"
    if effect.apart is None:
        return f"{what}: {kpi.name} {amount} {behind}; nothing was repeated, so whether that is chance isn't known."
    if not effect.apart:
        return f"{what}: {kpi.name} {amount}{interval} {behind}; that includes no difference."
    advice = "Switch" if effect.is_better else "Stay"
    if effect.is_better and switch.refused:
        advice = "Don't switch"
    against = f", {effect.disagreeing} of them the other way" if effect.disagreeing else ""
    refused = (
        f" {switch.refused} {plural(switch.refused, 'run')} with it can't be the best: the answers are beyond a limit."
        if switch.refused
        else ""
    )
    return f"{advice}: {what} changes {kpi.name} by {amount}{interval} {behind}{against}.{refused}"


def _interval(effect: Effect) -> str:
    if effect.interval is None:
        return "unknown"
    low, high = (_amount(end, effect.scale, effect.kpi) for end in (effect.interval.low, effect.interval.high))
    return f"{low} to {high}"


def _amount(difference: float, scale: Scale, kpi: KPIDefinition) -> str:
    sign = "+" if difference >= 0 else "−"
    if scale is Scale.DIFFERENCE:
        return f"{sign}{kpi.show(abs(difference))}"
    percent = abs(difference) * 100
    return f"{sign}{percent:.1f} %" if percent < 1000 else f"× {difference + 1:.3g}"


def _how_to_read() -> Any:
    from dash import html

    items = [
        "A pair is two points that differ in the named setting only; failed runs take no part.",
        "The interval is Student's t interval over the pairs: what to expect at settings such as these. It does not "
        "say that every setting gains; the pairs do.",
        "Each comparison is at 95 % by itself, not corrected for making many.",
    ]
    return html.Section([html.H2("How to read this"), html.Ul([html.Li(item) for item in items])])
