"""What the plots of serving_bench share: they show steps, whose names and colours are the same on all pages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from matrix_benchmarking.analyze.study import Study
from matrix_benchmarking.plotting import Plot, Report, View, template
from matrix_benchmarking.plotting.clicks import not_shown

from ..steps import Step, steps

NOTHING = "No successful run has a curve: its benchmark.log is missing, or holds no line that can be read."


class StepPlot(Plot):
    """A plot of steps."""

    def steps(self, view: View) -> list[Step]:
        """The steps of a selection."""
        return steps(view.runs, self.workload, self.study.read, self.study.best)

    def left_out(self, view: View, shown: Iterable[Step]) -> list[str]:
        """How many runs of a selection are in none of the steps that are *shown*."""
        runs = [run for step in shown for run in step.runs]
        return not_shown(view.runs, runs, lambda run: "without a curve that can be read")

    def step_colours(self) -> dict[str, str]:
        """The colour of each step, by its label as plotly writes it."""
        return template.colours_of(_labels(self.study))

    def step_symbols(self) -> dict[str, str]:
        """The marker of each step."""
        return template.symbols_of(_labels(self.study))


def _labels(study: Study) -> list[str]:
    return [template.text(step.label) for step in steps(study.read, study.workload, ranking=study.best)]


def steps_of(report: Report) -> Sequence[Step]:
    """The steps of all that a report shows."""
    return steps(report.matrix, report.workload, report.study.read, report.study.best)
