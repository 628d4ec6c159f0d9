"""Report: the best configuration, what stands behind it, and what can't be told apart from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from ..analyze import wording
from ..analyze.best import Group, Standing, VariantBest
from ..analyze.points import Excluded, Point
from ..filters import show
from ..kpi import KPIDefinition
from ..matrix import NOT_SET, SettingLists, Variables
from .base import Arguments, Report
from .catalogue import Catalogue
from .repeating import repeat_section
from .tables import Cell, Column, Row, table


class BestReport(Report):
    """The best point of each variant by the workload's headline KPI."""

    name: ClassVar[str] = "report: Best configuration"
    description: ClassVar[str] = (
        "The best configuration, how many runs stand behind it, and which others can't be told apart from it."
    )

    def do_plot(
        self,
        ordered_vars: list[str],
        settings: dict[str, Any],
        setting_lists: SettingLists,
        variables: Variables,
        cfg: Mapping[str, Any],
    ) -> list[Any]:
        from dash import html

        best = self.catalogue.best
        parts: list[Any] = [] if self.catalogue.has_verdict_above else [verdict_box(self.catalogue)]
        for group in best.groups:
            parts += [html.H2(_heading("Best of each variant", group)), variants_table(group, self.catalogue)]
            parts += repeat_section(group.best.runs, self.catalogue, _heading("Repeat the best", group))
        parts += self.figures((ordered_vars, settings, setting_lists, variables, cfg))
        for group in best.groups:
            parts += [html.H2(_heading("All points, the best first", group)), self._ranking(group)]
        if best.excluded:
            parts += [html.H2("Runs that take no part"), self._excluded(best.excluded)]
        if best.groups:
            parts.append(how_to_read(self.catalogue))
        return parts

    def summary(self) -> str:
        groups = self.catalogue.best.groups
        points = sum(len(group.standings) for group in groups)
        variants = sum(len(group.variants) for group in groups)
        return f"{points} {wording.plural(points, 'point')} of {variants} {wording.plural(variants, 'variant')}."

    def figures(self, args: Arguments) -> list[Any]:
        """What a workload shows between the best of each variant and the list of all points."""
        return []

    def _ranking(self, group: Group) -> Any:
        kpi = self.catalogue.best.kpi
        assert kpi is not None
        names = [*group.variant_names, *group.tuning_names]
        columns = [*setting_columns(names, group), *value_columns(kpi)]
        rows = (
            [*setting_cells(one.point.settings, names), *value_cells(one, group, kpi, self.catalogue)]
            for one in group.standings
        )
        return table(columns, rows, caption=f"All points by {kpi.name}, {kpi.direction}")

    def _excluded(self, excluded: Sequence[Excluded]) -> Any:
        rows: list[Row] = [[Cell(self.link(one.entry)), one.cause.value, one.reason] for one in excluded]
        return table([Column("Test"), Column("State"), Column("Reason")], rows, caption="Left out of the ranking")


def verdict_box(catalogue: Catalogue, more: Sequence[Any] = ()) -> Any:
    """The verdict in sentences, with the best point's warnings, and *more* lines."""
    from dash import html

    best = catalogue.best
    lines: list[Any] = []
    for verdict in wording.verdict(best):
        lines.append(html.P(verdict.lead, className="lead"))
        if verdict.rest:
            lines.append(html.P(verdict.rest))
    if best.groups and best.excluded:
        lines.append(html.P(f"{wording.exclusions(best)}."))
    for group in best.groups:
        lines += [html.P(f"Doubtful: {warning}", className="warning") for warning in group.warnings]
    return html.Div([*lines, *more], className="verdict")


def variants_table(group: Group, catalogue: Catalogue) -> Any:
    """The best point of each variant of *group*."""
    kpi = catalogue.best.kpi
    assert kpi is not None
    columns = [
        *setting_columns(group.variant_names, group),
        *([Column("At")] if group.tuning_names else []),
        *value_columns(kpi),
        Column("Warnings"),
    ]
    rows = [_variant_row(variant, group, kpi, catalogue) for variant in group.variants]
    return table(columns, rows, caption=_heading(f"Best {kpi.name} of each variant, {kpi.direction}", group))


def setting_columns(names: Sequence[str], group: Group) -> list[Column]:
    values = [one.point.settings.get(name) for name in names for one in group.standings]
    per_name = len(group.standings)
    return [
        Column(
            name,
            numeric=all(_is_number(value) for value in values[index * per_name : (index + 1) * per_name]),
        )
        for index, name in enumerate(names)
    ]


def setting_cells(settings: Mapping[str, object], names: Sequence[str]) -> list[Cell | str]:
    return [setting_cell(settings.get(name, NOT_SET)) for name in names]


def setting_cell(value: Any) -> Cell | str:
    return Cell(show(value), sort=float(value)) if _is_number(value) else show(value)


def value_columns(kpi: KPIDefinition) -> list[Column]:
    return [
        Column(kpi.name, unit=kpi.display_unit, numeric=True, help=f"{kpi.help}; {kpi.direction}"),
        Column("95 % interval", unit=kpi.display_unit, numeric=True, help="of the mean, over the repeats"),
        Column("Difference", numeric=True, help="from the best point of all"),
        Column("More than chance", help="whether the difference from the best can be told from chance, at 95 %"),
        Column("Runs", help="the runs behind the value, each a link to its test directory"),
    ]


def value_cells(standing: Standing, group: Group, kpi: KPIDefinition, catalogue: Catalogue) -> list[Cell | str]:
    point = standing.point
    is_best = point is group.best
    difference = wording.difference_label(standing.against_best, kpi)
    return [
        Cell(kpi.show(point.value, unit=False), sort=point.value, mark=is_best),
        interval_cell(point, kpi),
        Cell("best" if is_best else difference, sort=standing.against_best.difference),
        "" if is_best else wording.apart_label(standing.against_best),
        runs_cell(point, catalogue),
    ]


def interval_cell(point: Point, kpi: KPIDefinition) -> Cell | str:
    if point.interval is None:
        return "unknown"
    label = wording.interval_label(point.interval, kpi, unit=False)
    return Cell(f"{label} *" if point.interval.pooled else label, sort=point.interval.low)


def runs_cell(point: Point, catalogue: Catalogue) -> Cell:
    """The number of runs, and a link to the test directory of each."""
    from dash import html

    count = len(point.runs)
    links: list[Any] = [] if count == 1 else [f"{count} runs: "]
    for number, entry in enumerate(point.runs, 1):
        label = "1 run" if count == 1 else str(number)
        links += [html.A(label, href=catalogue.href(entry), title=entry.name), " "]
    return Cell(links, sort=count)


def how_to_read(catalogue: Catalogue) -> Any:
    """What the numbers of the tables mean."""
    from dash import html

    spreads = [group.spread for group in catalogue.best.groups if group.spread is not None]
    items = [
        "A value is the mean of the runs at one setting. Its 95 % interval is Student's t interval of the "
        "logarithm of the mean (of the mean itself where some values aren't positive).",
        "More than chance: Welch's t-test if both points were repeated, else a t-test with the pooled spread "
        "of the points that were; 95 % for one comparison, not corrected for making many. The best of many "
        "points tends to look better than it is: repeat it before a decision hangs on it.",
    ]
    if spreads:
        items.append("* One run: the interval's width is taken from the repeats of other points.")
    else:
        items.append("No point was repeated, so intervals are unknown: run some points three times.")
    return html.Section([html.H2("How to read this"), html.Ul([html.Li(item) for item in items])])


def _variant_row(variant: VariantBest, group: Group, kpi: KPIDefinition, catalogue: Catalogue) -> Row:
    settings = variant.standing.point.settings
    at = [wording.tuning_label(settings, group.tuning_names)] if group.tuning_names else []
    return [
        *setting_cells(variant.variant, group.variant_names),
        *at,
        *value_cells(variant.standing, group, kpi, catalogue),
        "; ".join(dict.fromkeys(warning.partition(":")[0] for warning in variant.warnings)) or "none",
    ]


def _heading(text: str, group: Group) -> str:
    return f"{text}: {wording.scope(group)}" if group.settings else text


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
