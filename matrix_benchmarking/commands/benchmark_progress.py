"""What a running benchmark shows on stderr: a bar over its points, or a plain line a point without a terminal."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..benchmark.campaign import Listener
from .benchmark_plan import duration
from .run import printable

if TYPE_CHECKING:
    from ..benchmark import search
    from ..benchmark.expand import Point, SearchCase
    from ..benchmark.plan import Group, Plan
    from ..benchmark.run_directory import Outcome


class Lines(Listener):
    """One line a point, with its place among all of them."""

    def __init__(self, plan: Plan) -> None:
        self._total, self._ended = len(plan.to_do()), 0
        self._searching = bool(plan.searches)

    def say(self, line: str) -> None:
        click.echo(f"{time.strftime('%H:%M:%S')} {printable(line)}", err=True)

    def note(self, sentence: str) -> None:
        self.say(sentence)

    def target_failed(self, group: Group, reason: str, points: int) -> None:
        self.say(f"target can't be used, {points} {'point is' if points == 1 else 'points are'} left out: {reason}")

    def point_ends(self, point: Point, path: Path, outcome: Outcome) -> None:
        self._ended += 1
        of = "" if self._searching else f"/{self._total}"
        self.say(f"[{self._ended}{of}] {path}: {told(outcome)}")

    def search_ends(self, case: SearchCase, answer: search.Answer | None, reason: str) -> None:
        self.say(f"search: {reason}")


class Bar(Lines):
    """A bar with the time left and the throughput of the moment, below the lines of what went wrong."""

    def __init__(self, plan: Plan, progress: Any) -> None:
        super().__init__(plan)
        self._plan, self._progress = plan, progress
        self._left_s = plan.estimate().seconds
        self._began = time.monotonic()
        self._task = progress.add_task("starting", total=None if plan.searches else self._total, left="")
        self._rate = ""

    def say(self, line: str) -> None:
        self._progress.console.print(printable(line))

    def target_starts(self, group: Group) -> None:
        self._show("starting the target")

    def point_starts(self, point: Point, path: Path) -> None:
        self._show(str(path))

    def point_ends(self, point: Point, path: Path, outcome: Outcome) -> None:
        self._rate = told(outcome)
        if outcome.exit_code:
            super().point_ends(point, path, outcome)
        else:
            self._ended += 1
        self._show(str(path))

    def rate(self, inputs_per_second: float) -> None:
        self._rate = f"{inputs_per_second:,.0f} inputs/s"

    def tick(self) -> None:
        self._progress.update(self._task, left=self._left())

    def _show(self, what: str) -> None:
        self._progress.update(self._task, description=printable(what), completed=self._ended, left=self._left())

    def _left(self) -> str:
        if self._left_s is None:
            return self._rate
        left_s = max(0.0, self._left_s - (time.monotonic() - self._began))
        return " · ".join(filter(None, [self._rate, f"{duration(left_s)} left"]))


@contextlib.contextmanager
def listening(plan: Plan) -> Iterator[Listener]:
    """The listener that suits stderr."""
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


def told(outcome: Outcome) -> str:
    """How a point ended, in a few words."""
    if outcome.exit_code:
        return f"failed ({outcome.problem or f'exit status {outcome.exit_code}'})"
    if outcome.throughput is None:
        return f"done in {outcome.wall_s:.1f} s" if outcome.wall_s is not None else "done"
    p95 = "" if outcome.p95_ms is None else f", p95 {outcome.p95_ms:.1f} ms"
    return f"{outcome.throughput:,.1f} inputs/s{p95}"
