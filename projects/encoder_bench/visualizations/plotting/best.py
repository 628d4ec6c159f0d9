"""Report: the best configuration, with the curves from which it stands out."""

from __future__ import annotations

from typing import Any, ClassVar

from matrix_benchmarking.plotting import View
from matrix_benchmarking.plotting.report_best import BestReport

from .latency import LatencyAgainstThroughput
from .over_vus import CostOverVUs, ThroughputOverVUs


class BestConfiguration(BestReport):
    """The built-in report and three plots."""

    description: ClassVar[str] = (
        "The cheapest configuration, how many runs stand behind it, which others can't be told apart from "
        "it, and how cost, throughput and latency depend on the load."
    )

    def figures(self, view: View) -> list[Any]:
        from dash import html

        note = "Lines go through the means of the repeats; bars reach from the smallest to the largest of them."
        parts: list[Any] = [html.H2("Over the load"), html.P(note, className="note")]
        for plot in (CostOverVUs, ThroughputOverVUs, LatencyAgainstThroughput):
            parts += self.Plot_and_Text(plot.name, view)
        return parts
