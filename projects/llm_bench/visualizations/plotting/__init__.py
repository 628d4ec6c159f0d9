"""The plots and reports of llm_bench: what to rent, at which load and price, and whether requests are answered."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from matrix_benchmarking.plotting import PlotsReport, View
from matrix_benchmarking.plotting.report_best import BestReport

from .limits import HighestLoad, Reliability
from .pareto import AtAUsersSpeed, ParetoFront
from .prices import PriceDial
from .sources import WhereSettingsComeFrom

if TYPE_CHECKING:
    from matrix_benchmarking.plotting.tables import Node


class BestConfiguration(BestReport):
    """The built-in report and the Pareto front."""

    plots = (ParetoFront,)

    def figures(self, view: View) -> list[Node]:
        return self.each_plot(view)


class Serving(PlotsReport):
    """What to rent for users who want an answer in time."""

    name: ClassVar[str] = "report: Serving"
    description: ClassVar[str] = (
        "What the hardware yields against what a user feels: who is best at a user's speed, and which load keeps "
        "limits on the latency."
    )
    plots = (ParetoFront, AtAUsersSpeed, HighestLoad)


class Prices(PlotsReport):
    """What tokens cost."""

    name: ClassVar[str] = "report: Prices"
    description: ClassVar[str] = "What a million tokens cost with each variant, at a price and for a mix of your own."
    plots = (PriceDial,)


class ReliabilityReport(PlotsReport):
    """Whether requests are answered."""

    name: ClassVar[str] = "report: Reliability"
    description: ClassVar[str] = (
        "Which share of the runs, and of their requests, succeeded with each variant, and where settings come from."
    )
    plots = (Reliability, WhereSettingsComeFrom)


REPORTS = (BestConfiguration, Serving, Prices, ReliabilityReport)
