"""The plan of a benchmark, printed: how many points, which are done, what the rest will take and cost."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from . import run

if TYPE_CHECKING:
    from ..benchmark.plan import Plan


def print_plan(plan: Plan, again: Sequence[str]) -> None:
    """Print *plan* to standard output; *again* is the command line that runs it."""
    from rich.table import Table

    table = Table("experiment", "settings that vary", box=None, pad_edge=False, header_style="bold")
    for heading in ("points", "done", "failed", "interrupted", "to do"):
        table.add_column(heading, justify="right")
    names = dict.fromkeys([*(p.experiment for p in plan.points), *(c.experiment for c in plan.searches)])
    for name in names:
        table.add_row(*_row(plan, name))
    console = run.answer_console()
    console.print(table)
    to_do = len(plan.to_do())
    targets = {group.key for group in plan.groups() if group.target is not None}
    parts = [f"{to_do:,} of {len(plan.points):,} points to run"] if plan.points else []
    searches = "1 search" if len(plan.searches) == 1 else f"{len(plan.searches)} searches"
    parts += [f"{searches} of about 16 runs each"] if plan.searches else []
    parts += [f"on {len(targets)} {'target' if len(targets) == 1 else 'targets'}"] if targets else []
    click.echo(f"\n{', '.join(parts)}; into {plan.results}")
    estimate = plan.estimate()
    click.echo(f"time: {duration(estimate.seconds)}; cost: {_usd(estimate.usd, bool(targets))}")
    if to_do or plan.searches:
        click.echo(f"Nothing was started. Run it: {shlex.join(again)}")
    else:
        click.echo("Everything is done.")


def duration(seconds: float | None) -> str:
    """About how long, in words."""
    if seconds is None:
        return "unknown (a script's duration is known once it has run)"
    if seconds < 90:
        return f"about {seconds:.0f} s"
    if seconds < 90 * 60:
        return f"about {seconds / 60:.0f} min"
    return f"about {seconds / 3600:.1f} h"


def _row(plan: Plan, experiment: str) -> list[str]:
    points = [point for point in plan.points if point.experiment == experiment]
    searches = [case for case in plan.searches if case.experiment == experiment]
    statuses = [plan.status(point) for point in points]
    measured = sum(len(plan.measured(case)) for case in searches)
    counts = [statuses.count("done"), statuses.count("failed"), statuses.count("interrupted")]
    to_do = len(points) - counts[0]
    searching = f"{len(searches)} × search" if searches else ""
    varying = ", ".join(plan.varying(experiment)) or "none"
    shown = [" + ".join(filter(None, [f"{len(points):,}" if points else "", searching]))]
    shown += [f"{counts[0] + measured:,}", *(f"{count:,}" if count else "–" for count in counts[1:])]
    return [experiment, varying, *shown, " + ".join(filter(None, [f"{to_do:,}" if points else "", searching]))]


def _usd(usd: float | None, has_target: bool) -> str:
    if usd is not None and usd < 0.005:
        return "less than 0.01 USD"
    if usd is not None:
        return f"about {usd:,.2f} USD"
    return "unknown (give --price HW_TYPE=USD_PER_HOUR)" if has_target else "nothing that is paid for"
