"""What limits each case, in a table with the numbers from which it was concluded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from matrix_benchmarking.analyze.verdict.model import Outcome, SeriesVerdict
from matrix_benchmarking.analyze.verdict.pairs import Question
from matrix_benchmarking.analyze.verdict.switch import switch
from matrix_benchmarking.matrix import Entry, typed
from matrix_benchmarking.plotting import Plot
from matrix_benchmarking.plotting.base import Arguments
from matrix_benchmarking.plotting.tables import Cell, Column, Row, table
from matrix_benchmarking.workload import Workload

from ..analyze.limits import Case, Conclusion, Limit, conclude, speed_of
from .cases import DURATION, IO_SPEED, TrainingCase, cases_of, label_names, left_out, on_cpu

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

    def draw(self, args: Arguments) -> tuple[Any, Any]:
        runs = [*self.runs(args)]
        cases = cases_of(runs, label_names(self.study.read))
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
    return Case(
        io_speed_mb_s=speed or 0.0,
        epoch_s=case.duration.mean,
        gpu_load=None if all(map(on_cpu, case.runs)) else mean("gpu_load"),
        cpu_load=mean("cpu_load"),
        read_s=mean("read_s"),
        decode_s=mean("decode_s"),
        wait_s=mean("wait_s"),
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


def _but_speed(settings: Mapping[str, Any]) -> object:
    return frozenset((name, typed(value)) for name, value in settings.items() if name != IO_SPEED)
