"""What limits each case, and how many times as fast it is as with the reference strategy: tables of verdicts."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from matrix_benchmarking.analyze.detect import Estimate
from matrix_benchmarking.analyze.verdict.model import Outcome, SeriesVerdict
from matrix_benchmarking.analyze.verdict.pairs import switch
from matrix_benchmarking.analyze.verdict.sides import Question
from matrix_benchmarking.analyze.wording.verdicts import outcome_label, shown
from matrix_benchmarking.analyze.words import tuning_label
from matrix_benchmarking.filters import Scalar, show
from matrix_benchmarking.kpi import KPIDefinition
from matrix_benchmarking.matrix import NOT_SET, Entry, typed
from matrix_benchmarking.plotting import Plot, View
from matrix_benchmarking.plotting.controls import Choice, Control
from matrix_benchmarking.plotting.tables import Cell, Column, Row, kpi_cell, table
from matrix_benchmarking.workload import Workload

from ..analyze import Case, Conclusion, Limit, conclude, speed_of
from .cases import DURATION, IO_SPEED, STRATEGY, WAIT, TrainingCase, cases_in, left_out, on_cpu, speed_label

if TYPE_CHECKING:
    from matrix_benchmarking.plotting import Drawn
    from matrix_benchmarking.plotting.tables import Node

_ADVICE = {
    Limit.IO: "smaller files (compression, half precision), faster storage, or a larger cache",
    Limit.DECODING: "cheaper decoding, more cores for it, or to decode while the step before computes",
    Limit.DATA: "to record read_s, decode_s and wait_s in the loop, which tells the two apart",
    Limit.GPU: "a faster step; loading is good enough",
    Limit.COMPUTE: "a faster step; loading is good enough",
}


class WhatLimits(Plot):
    """A row for each strategy and I/O speed."""

    name: ClassVar[str] = "What limits each case"

    def draw(self, view: View) -> Drawn:
        runs = view.runs
        cases = cases_in(self.study, runs)
        found = conclusions(cases, self.workload, Question("these runs", self.study.blocks))
        if not found:
            return None, "No successful run has an I/O speed and an epoch that counts."
        rows: list[Row] = [
            [
                Cell(self.link(case.runs[0], case.label)),
                Cell(case.speed, sort=speed_of(case.settings[IO_SPEED])),
                Cell(concluded.limit.value, mark=concluded.limit in (Limit.IO, Limit.DECODING, Limit.DATA)),
                concluded.reason,
            ]
            for case, concluded in found
        ]
        columns = [Column("Strategy"), Column("I/O speed"), Column("Limited by"), Column("Because")]
        hidden = left_out(runs, [case for case, _ in found], "an I/O speed")
        return None, [*summary(found), *hidden, table(columns, rows, caption="What an epoch waits for")]


def conclusions(
    cases: Sequence[TrainingCase], workload: Workload, question: Question
) -> list[tuple[TrainingCase, Conclusion]]:
    """What limits each case that has an I/O speed, compared with the same settings at other speeds."""
    known = [(case, measured(case)) for case in cases if speed_of(case.settings.get(IO_SPEED)) is not None]
    of = {id(its): case for case, its in known}
    alike: dict[object, list[Case]] = {}
    for case, its in known:
        alike.setdefault(_but_speed(case.settings), []).append(its)
    storage = _Storage([run for case, _ in known for run in case.runs], workload, question)

    def longer(slower: Case, faster: Case) -> float:
        return storage.longer(of[id(slower)], of[id(faster)])

    return [
        (case, conclude(its, [each for each in alike[_but_speed(case.settings)] if each is not its], longer))
        for case, its in known
    ]


class _Storage:
    """What another I/O speed does to each case, as a comparison of the two speeds has it."""

    def __init__(self, runs: Sequence[Entry], workload: Workload, question: Question) -> None:
        self._runs, self._workload, self._question = runs, workload, question
        self._verdicts: dict[tuple[object, object], dict[object, SeriesVerdict]] = {}

    def longer(self, slower: TrainingCase, faster: TrainingCase) -> float:
        """By which fraction an epoch of *slower* takes longer; 0 where no difference is shown."""
        speeds = faster.settings[IO_SPEED], slower.settings[IO_SPEED]
        if speeds not in self._verdicts:
            found = switch(self._runs, self._workload, IO_SPEED, *speeds, self._question)
            effects = () if found is None else found.effects
            self._verdicts[speeds] = {
                _but_speed(one.labels): one
                for effect in effects
                if effect.kpi.name == DURATION
                for one in effect.verdicts
            }
        verdict = self._verdicts[speeds][_but_speed(slower.settings)]
        assert verdict.effect is not None  # durations are positive
        return 0.0 if verdict.outcome is Outcome.NO_CHANGE else verdict.effect.value


def measured(case: TrainingCase) -> Case:
    """The numbers of *case*, each a mean over the runs that have it."""
    results = [run.lts.results for run in case.runs]

    def mean(name: str) -> float | None:
        values = [value for each in results if (value := getattr(each, name, None)) is not None]
        return sum(values) / len(values) if values else None

    speed = speed_of(case.settings.get(IO_SPEED))
    waits = [run.kpis[WAIT] for run in case.runs if WAIT in run.kpis]
    return Case(
        io_speed_mb_s=speed or 0.0,
        epoch_s=case.duration.mean,
        gpu_load=None if all(map(on_cpu, case.runs)) else mean("gpu_load"),
        cpu_load=mean("cpu_load"),
        read_s=mean("read_s"),
        decode_s=mean("decode_s"),
        data_wait=sum(waits) / len(waits) if waits else None,
        on_gpu=any(getattr(each, "device", None) not in (None, "cpu") for each in results),
    )


def summary(found: Sequence[tuple[TrainingCase, Conclusion]]) -> list[str]:
    """Which cases each limit has, and what helps against it."""
    by_limit: dict[Limit, list[str]] = {}
    for case, concluded in found:
        by_limit.setdefault(concluded.limit, []).append(f"{case.label} at {case.speed}")
    sentences = []
    for limit in Limit:
        if limit in by_limit:
            helps = f" What helps: {_ADVICE[limit]}." if limit in _ADVICE else ""
            sentences.append(f"Limited by {limit.value}: {', '.join(by_limit[limit])}.{helps}")
    return sentences


def _but_speed(settings: Mapping[str, object]) -> object:
    return frozenset((name, typed(value)) for name, value in settings.items() if name != IO_SPEED)


REFERENCE = "reference"
USUAL = ("plain", "original", "baseline")


@dataclasses.dataclass(frozen=True, slots=True)
class Ratio:
    """A strategy against the reference, at *settings* that both have; above a ratio of 1 the strategy is faster.

    The interval is None where that can't be told; the verdict is the outcome in words.
    """

    strategy: Scalar
    settings: Mapping[str, object]
    runs: tuple[Entry, ...]
    duration: float
    ratio: float
    interval: Estimate | None
    outcome: Outcome
    verdict: str


class SpeedUp(Plot):
    """A table; cfg ``reference`` is the strategy that others are compared with."""

    name: ClassVar[str] = "Speed-up against a reference"
    kpis = (DURATION,)

    def controls(self) -> Sequence[Control]:
        strategies = [value for value in self.matrix.settings.get(STRATEGY, []) if value is not NOT_SET]
        if len(strategies) < 2:
            return ()
        default = next((name for name in USUAL if name in strategies), strategies[0])
        return [Choice(REFERENCE, "Reference strategy", strategies, default=default)]

    def draw(self, view: View) -> Drawn:
        if not self.controls():
            return None, "There is one strategy: nothing to compare it with."
        reference = view.option(REFERENCE)
        found = self.against(reference, view.runs)
        if not any(view.kpis[0].name in run.kpis for run in view.runs):
            return None, f"{view.kpis[0].name} is not known of any run: the error report says why."
        if not found:
            return None, f"No strategy was run at the same settings as {show(reference)}."
        said = speed_ups_conclusion(found, reference)
        return None, [*said, self._table(found, reference, *view.kpis), NOTE]

    def against(self, reference: Scalar, runs: Iterable[Entry]) -> list[Ratio]:
        """Each other strategy of *runs* against *reference*."""
        question = Question("these runs", self.study.blocks)
        return speed_ups(runs, self.workload, reference, self.workload.kpis[DURATION], question)

    def _table(self, found: Sequence[Ratio], reference: Scalar, kpi: KPIDefinition) -> Node:
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
    is_told = verdict.p_value is not None
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


def speed_ups_conclusion(found: Sequence[Ratio], reference: Scalar) -> list[str]:
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
