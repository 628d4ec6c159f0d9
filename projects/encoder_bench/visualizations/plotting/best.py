"""Report: the best configuration, with the curves from which it stands out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from matrix_benchmarking.matrix import SettingLists, Variables
from matrix_benchmarking.plotting.report_best import BestReport

from .latency import LatencyAgainstThroughput
from .over_vus import CostOverVUs, ThroughputOverVUs


class BestConfiguration(BestReport):
    """The built-in report and three plots."""

    description: ClassVar[str] = (
        "The cheapest configuration, how many runs stand behind it, which others can't be told apart from "
        "it, and how cost, throughput and latency depend on the load."
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

        args = (ordered_vars, settings, setting_lists, variables, cfg)
        parts = super().do_plot(*args)
        note = "Lines go through the means of the repeats; bars reach from the smallest to the largest of them."
        parts += [html.H2("Over the load"), html.P(note, className="note")]
        for plot in (CostOverVUs, ThroughputOverVUs, LatencyAgainstThroughput):
            parts += self.Plot_and_Text(plot.name, args)
        return parts
