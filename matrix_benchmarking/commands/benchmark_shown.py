"""What ``matbench benchmark`` shows: the plan, and the progress, as a bar or as a line a point without a terminal."""

from __future__ import annotations

import contextlib
import shlex
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..benchmark.campaign import Listener
from ..benchmark.plan import Group, Plan
from ..benchmark.run_directory import Outcome
from ..named_cluster import NamedCluster
from .printing import answer_console, printable

if TYPE_CHECKING:
    from rich.progress import Progress


def print_plan(plan: Plan, again: Sequence[str]) -> None:
    from rich.table import Table

    table = Table("experiment", "settings that vary", box=None, pad_edge=False, header_style="bold")
    for heading in ("points", "done", "failed", "interrupted", "to do"):
        table.add_column(heading, justify="right")
    names = dict.fromkeys([*(p.experiment for p in plan.points), *(c.experiment for c in plan.searches)])
    for name in names:
        table.add_row(*_row(plan, name))
    console = answer_console()
    console.print(table)
    to_do = len(plan.to_do())
    targets = {group.key for group in plan.groups() if group.target is not None}
    parts = [f"{to_do:,} of {len(plan.points):,} points to run"] if plan.points else []
    searches = "1 search" if len(plan.searches) == 1 else f"{len(plan.searches)} searches"
    parts += [f"{searches} of about 16 runs each"] if plan.searches else []
    parts += [f"on {len(targets)} {'target' if len(targets) == 1 else 'targets'}"] if targets else []
    click.echo(f"\n{', '.join(parts)}; into {plan.results}")
    seconds, usd = plan.estimate()
    cost = "unknown (give --price HW_TYPE=USD_PER_HOUR)" if targets else "nothing that is paid for"
    if usd is not None:
        cost = "less than 0.01 USD" if usd < 0.005 else f"about {usd:,.2f} USD"
    click.echo(f"time: {duration(seconds)}; cost: {cost}")
    if to_do or plan.searches:
        click.echo(f"Nothing was started. Run it: {shlex.join(again)}")
    else:
        click.echo("Everything is done.")


def print_shares(plan: Plan, named: NamedCluster, shares: Mapping[str, Sequence[Group]]) -> None:
    """What each host of a cluster would measure."""
    at_a_time = "one point" if named.points_per_host == 1 else f"{named.points_per_host} points"
    where = "to the shared results directory" if named.results == "share" else "back to this machine"
    where = where if plan.bucket is None else f"to {plan.bucket}"
    click.echo(f"\nOn {named}, {at_a_time} at a time on a host; runs go {where}:")
    for host, pieces in shares.items():
        points = sum(len(piece.points) for piece in pieces)
        rounds = sorted({piece.round for piece in pieces if piece.round is not None})
        parts = [f"{points:,} {'point' if points == 1 else 'points'}"]
        parts += [f"of round {', '.join(map(str, rounds))}"] if rounds else []
        searches = sum(len(piece.searches) for piece in pieces)
        parts += [f"and {searches} × search"] if searches else []
        needs = sorted({name for piece in pieces for name in piece.requires})
        parts += [f"for its {', '.join(needs)}"] if needs else []
        click.echo(f"  {host}: {' '.join(parts)}")


def duration(seconds: float | None) -> str:
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


class Lines(Listener):
    """A line for each point that has ended."""

    def __init__(self, plan: Plan) -> None:
        self._total, self._ended = len(plan.to_do()), 0
        self._searching, self._unit = bool(plan.searches), plan.driver.unit

    def say(self, line: str) -> None:
        click.echo(f"{time.strftime('%H:%M:%S')} {printable(line)}", err=True)

    def note(self, sentence: str) -> None:
        self.say(sentence)

    def point_ends(self, path: Path, outcome: Outcome, host: str = "") -> None:
        self._ended += 1
        of = "" if self._searching else f"/{self._total}"
        self.say(f"[{self._ended}{of}] {path}{f' on {host}' if host else ''}: {told(outcome, self._unit)}")


class Bar(Lines):
    """A bar with the time left and the throughput of the moment, below the lines of what went wrong."""

    def __init__(self, plan: Plan, progress: Progress) -> None:
        super().__init__(plan)
        self._plan, self._progress = plan, progress
        self._left_s, _ = plan.estimate()
        self._now, self._hosts, self._standing, self._rate = time.monotonic(), 1, "", ""
        self._task = progress.add_task("starting", total=None if plan.searches else self._total, left="")

    def say(self, line: str) -> None:
        self._progress.console.print(printable(line))

    def starts(self, what: str) -> None:
        self._show(what)

    def point_ends(self, path: Path, outcome: Outcome, host: str = "") -> None:
        self._rate = told(outcome, self._unit)
        if outcome.exit_code:
            super().point_ends(path, outcome, host)
        else:
            self._ended += 1
        if self._left_s is None:  # a script's duration is known now
            self._left_s, _ = self._plan.estimate()
        self._show(str(path))

    def rate(self, throughput: float) -> None:
        self._rate = f"{throughput:,.0f} {self._unit}"

    def tick(self) -> None:
        self._progress.update(self._task, left=self._left())

    def standing(self, hosts: int, spent_usd: float) -> None:
        at_work = f"{hosts} {'host' if hosts == 1 else 'hosts'}"
        self._standing = " · ".join([at_work, *([f"{spent_usd:.2f} USD"] if spent_usd >= 0.005 else [])])
        self._left()  # what was done until now is the work of those who were there
        self._hosts = hosts
        self.tick()

    def _show(self, what: str) -> None:
        self._progress.update(self._task, description=printable(what), completed=self._ended, left=self._left())

    def _left(self) -> str:
        """The standing, and what is left to do in the time of one host, shared by those that are at work."""
        before, self._now = self._now, time.monotonic()
        shown = [self._standing or self._rate]
        if self._left_s is not None:
            self._left_s = max(0.0, self._left_s - (self._now - before) * self._hosts)
            shown.append(f"{duration(self._left_s / max(1, self._hosts))} left")
        return " · ".join(filter(None, shown))


@contextlib.contextmanager
def listening(plan: Plan) -> Iterator[Listener]:
    if not sys.stderr.isatty():
        yield Lines(plan)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[left]}", markup=False),
    )
    with Progress(*columns, console=Console(stderr=True, markup=False, highlight=False), transient=True) as progress:
        yield Bar(plan, progress)


def told(outcome: Outcome, unit: str) -> str:
    if outcome.exit_code:
        return f"failed ({outcome.problem or f'exit status {outcome.exit_code}'})"
    if outcome.throughput is None:
        return f"done in {outcome.wall_s:.1f} s" if outcome.wall_s is not None else "done"
    p95 = "" if outcome.p95_ms is None else f", p95 {outcome.p95_ms:.1f} ms"
    return f"{outcome.throughput:,.1f} {unit}{p95}"
