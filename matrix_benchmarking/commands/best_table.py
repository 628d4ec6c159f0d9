"""The best configurations as a table on the terminal, and the verdict in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from ..analyze import check, wording
from ..analyze.best import Best, Group, VariantBest, rank
from ..filters import show
from ..kpi import KPIDefinition
from .run import Run, findings, printable

if TYPE_CHECKING:
    from rich.table import Table

    from ..analyze.check import Finding

Line = list[str]


def print_best(run: Run) -> None:
    """Print the best point of each variant, then the verdict."""
    best = rank(run.matrix, run.workload)
    if best.kpi is not None:
        others = [
            kpi for kpi in run.workload.kpis.values() if kpi.name != best.kpi.name and not kpi.ignored_for_regression
        ]
        for group in best.groups:
            run.console.print(_table(group, best.kpi, others, run.console.width))
    print_verdict(best, findings(run))


def print_verdict(best: Best, found: Sequence[Finding]) -> None:
    """Print the verdict, what makes it doubtful, what takes no part in it, and what was found odd, a line each."""
    lines = [str(verdict) for verdict in wording.verdict(best)]
    lines += [f"Doubtful: {warning}" for group in best.groups for warning in group.warnings]
    left_out = wording.exclusions(best)
    if best.groups and left_out:
        lines.append(f"{left_out}.")
    for line in [*lines, check.about(found, check.Answer.BEST)]:
        click.echo(printable(line))


def _table(group: Group, kpi: KPIDefinition, others: Sequence[KPIDefinition], width: int) -> Table:
    """A rich table of at most *width* characters: KPIs that don't fit are left out, cells are folded."""
    from rich.table import Table
    from rich.text import Text

    headers, rows = _cells(group, kpi, others)
    fixed = len(headers) - len(others)
    while len(headers) > fixed and _width(headers, rows) > width:
        headers, rows = headers[:-1], [row[:-1] for row in rows]
    table = Table(title=Text(printable(wording.scope(group))) if group.settings else None)
    texts = len(group.variant_names) + bool(group.tuning_names)
    for index, header in enumerate(headers):
        table.add_column(Text(printable(header)), overflow="fold", justify="left" if index < texts else "right")
    for row in rows:
        table.add_row(*(Text(printable(cell)) for cell in row))
    return table


def _cells(group: Group, kpi: KPIDefinition, others: Sequence[KPIDefinition]) -> tuple[Line, list[Line]]:
    at = ["at"] if group.tuning_names else []
    headers = [*group.variant_names, *at, _title(kpi), "95 % interval", "difference", "runs"]
    rows = [_row(variant, group, kpi) + [_mean(variant, other) for other in others] for variant in group.variants]
    return [*headers, *(_title(other) for other in others)], rows


def _row(variant: VariantBest, group: Group, kpi: KPIDefinition) -> Line:
    point = variant.standing.point
    interval = "unknown" if point.interval is None else wording.interval_label(point.interval, kpi, unit=False)
    if point.interval is not None and point.interval.pooled:
        interval += " (pooled)"
    is_best = point is group.best
    return [
        *(show(value) for value in variant.variant.values()),
        *([wording.tuning_label(point.settings, group.tuning_names)] if group.tuning_names else []),
        kpi.show(point.value, unit=False),
        interval,
        "best" if is_best else wording.difference_label(variant.standing.difference, group.scale, kpi),
        str(point.sample.runs),
    ]


def _mean(variant: VariantBest, kpi: KPIDefinition) -> str:
    """Another KPI at the variant's best point, averaged over the same runs."""
    values = [entry.kpis[kpi.name] for entry in variant.standing.point.runs if kpi.name in entry.kpis]
    return kpi.show(sum(values) / len(values) if values else None, unit=False)


def _title(kpi: KPIDefinition) -> str:
    return f"{kpi.name} ({kpi.display_unit})" if kpi.display_unit else kpi.name


def _width(headers: Line, rows: Sequence[Line]) -> int:
    from rich.cells import cell_len

    columns = zip(headers, *rows, strict=True)
    return sum(max(cell_len(printable(cell)) for cell in column) + 3 for column in columns) + 1
