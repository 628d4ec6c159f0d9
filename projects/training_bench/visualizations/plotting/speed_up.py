"""Speed-up: how many times as fast is an epoch as with the reference strategy, where all else is the same?"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

from matrix_benchmarking.analyze.detect import Estimate
from matrix_benchmarking.analyze.verdict.model import Outcome, SeriesVerdict
from matrix_benchmarking.analyze.verdict.pairs import Question
from matrix_benchmarking.analyze.verdict.switch import switch
from matrix_benchmarking.analyze.wording.verdicts import outcome_label, shown
from matrix_benchmarking.analyze.words import tuning_label
from matrix_benchmarking.filters import Scalar, show
from matrix_benchmarking.kpi import KPIDefinition
from matrix_benchmarking.matrix import NOT_SET, Entry
from matrix_benchmarking.plotting import Plot
from matrix_benchmarking.plotting.base import Arguments
from matrix_benchmarking.plotting.controls import Choice, Control
from matrix_benchmarking.plotting.tables import Cell, Column, Row, kpi_cell, table
from matrix_benchmarking.workload import Workload

from ..analyze.limits import speed_of
from .cases import DURATION, IO_SPEED, STRATEGY, speed_label

REFERENCE = "reference"
USUAL = ("plain", "original", "baseline")


@dataclasses.dataclass(frozen=True, slots=True)
class Ratio:
    """A strategy against the reference at one point.

    Attributes:
        settings: what both have in common.
        ratio: reference's duration / strategy's; above 1 the strategy is faster.
        duration: mean of *runs*, in the KPI's unit.
        interval: of the ratio, 95 %; None where that can't be told.
        outcome: the verdict on the duration.
        verdict: the same in words, with the difference that would have been shown.
    """

    strategy: Scalar
    settings: Mapping[str, Scalar]
    runs: tuple[Entry, ...]
    duration: float
    ratio: float
    interval: Estimate | None
    outcome: Outcome
    verdict: str


class SpeedUp(Plot):
    """A table; cfg ``reference`` is the strategy that others are compared with."""

    name: ClassVar[str] = "Speed-up against a reference"

    def controls(self) -> Sequence[Control]:
        strategies = [value for value in self.matrix.settings.get(STRATEGY, []) if value is not NOT_SET]
        if len(strategies) < 2:
            return ()
        default = next((name for name in USUAL if name in strategies), strategies[0])
        return [Choice(REFERENCE, "Reference strategy", strategies, default=default)]

    def draw(self, args: Arguments) -> tuple[Any, Any]:
        if not self.controls():
            return None, "There is one strategy: nothing to compare it with."
        reference = self.option(args.cfg, REFERENCE)
        found = self.against(reference, self.runs(args))
        if not found:
            return None, f"No strategy was run at the same settings as {show(reference)}."
        return None, [*conclusion(found, reference), self._table(found, reference, self.workload.kpis[DURATION]), NOTE]

    def against(self, reference: Scalar, runs: Iterable[Entry]) -> list[Ratio]:
        """Each other strategy of *runs* against *reference*."""
        question = Question("these runs", self.study.blocks)
        return speed_ups(runs, self.workload, reference, self.workload.kpis[DURATION], question)

    def _table(self, found: Sequence[Ratio], reference: Scalar, kpi: KPIDefinition) -> Any:
        others = sorted({name for one in found for name in one.settings if name != IO_SPEED})
        varied = [name for name in others if len({show(one.settings.get(name)) for one in found}) > 1]
        columns = [
            Column("Strategy"),
            Column("I/O speed"),
            *(Column(name) for name in varied),
            Column("Speed-up", unit="×", numeric=True, help=f"epochs of {show(reference)} in the time of one"),
            Column("95 % interval", unit="×", numeric=True),
            Column("Verdict"),
            Column(kpi.name, kpi.display_unit, numeric=True, help=kpi.help),
            Column("Runs", numeric=True),
        ]
        rows = [self._row(one, varied, kpi) for one in found]
        return table(columns, rows, caption=f"Speed-up against {show(reference)}, at the same settings")

    def _row(self, one: Ratio, varied: Sequence[str], kpi: KPIDefinition) -> Row:
        speed = one.settings.get(IO_SPEED)
        ends = "unknown" if one.interval is None else f"{one.interval.low:.2f} to {one.interval.high:.2f}"
        return [
            Cell(self.link(one.runs[0], show(one.strategy))),
            Cell(speed_label(speed), sort=speed_of(speed)),
            *(Cell(show(one.settings.get(name))) for name in varied),
            Cell(f"{one.ratio:.2f}", sort=one.ratio),
            Cell(ends, sort=None if one.interval is None else one.interval.low),
            one.verdict,
            kpi_cell(kpi, one.duration),
            Cell(str(len(one.runs)), sort=len(one.runs)),
        ]


NOTE = (
    "A speed-up is the ratio of the mean epoch durations. Rounds in which both were measured are compared one by one, "
    "else campaigns; at least two are needed to tell chance."
)


def speed_ups(
    entries: Iterable[Entry], workload: Workload, reference: Scalar, kpi: KPIDefinition, question: Question
) -> list[Ratio]:
    """Each other strategy against *reference*, point by point, by I/O speed and then the fastest first."""
    every = list(entries)
    others = {show(entry.settings[STRATEGY]): entry.settings[STRATEGY] for entry in every if STRATEGY in entry.settings}
    found = []
    for strategy in others.values():
        if strategy == reference:
            continue
        answer = switch(every, workload, STRATEGY, reference, strategy, question)
        effects = () if answer is None else answer.effects
        found += [_ratio(strategy, one) for effect in effects if effect.kpi.name == kpi.name for one in effect.verdicts]
    return sorted(found, key=lambda one: (speed_of(one.settings.get(IO_SPEED)) or 0.0, -one.ratio))


def _ratio(strategy: Scalar, verdict: SeriesVerdict) -> Ratio:
    """The verdict on the duration, turned into a speed-up."""
    slower = verdict.effect
    assert slower is not None  # durations are positive
    new = verdict.points[1]
    is_told = verdict.outcome is not Outcome.CANT_TELL
    ends = (slower.value, slower.high, slower.low)
    return Ratio(
        strategy=strategy,
        settings=verdict.labels,
        runs=new.entries,
        duration=new.mean,
        ratio=1 / (1 + slower.value),
        interval=Estimate(*(1 / (1 + end) for end in ends)) if is_told else None,
        outcome=verdict.outcome,
        verdict=f"{outcome_label(verdict.outcome, verdict.looks_worse)}{shown(verdict)}",
    )


def conclusion(found: Sequence[Ratio], reference: Scalar) -> list[str]:
    """At each I/O speed what gains most, and what loses."""
    sentences = []
    for settings in dict.fromkeys(_where(one) for one in found):
        there = [one for one in found if _where(one) == settings]
        best = there[0]
        behind = best.verdict
        if best.interval is not None:
            behind += f"; 95 % interval {best.interval.low:.2f} to {best.interval.high:.2f}"
        words = f"{settings}: {show(best.strategy)} is {best.ratio:.2f} times as fast as {show(reference)} ({behind})"
        worse = [show(one.strategy) for one in there if one.outcome is Outcome.REGRESSION]
        words += f"; worse than it: {', '.join(worse)}" if worse else ""
        sentences.append(f"{words}.")
    return sentences


def _where(one: Ratio) -> str:
    return (
        speed_label(one.settings.get(IO_SPEED)) if IO_SPEED in one.settings else tuning_label(one.settings, ["dataset"])
    )
