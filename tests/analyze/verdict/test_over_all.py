"""What a KPI does over all its series is said beside a verdict by which none of them is worse."""

from __future__ import annotations

import dataclasses
import json
import math
from typing import Any

import msgspec
import toy_runs

from matrix_benchmarking.analyze.report.json_report import json_report
from matrix_benchmarking.analyze.study import Study
from matrix_benchmarking.analyze.verdict.model import Analysis, Outcome
from matrix_benchmarking.analyze.wording import analyses
from matrix_benchmarking.matrix import Matrix
from matrix_benchmarking.runs.judging import compare


def compared(change: float, series: int = 12) -> Analysis:
    """Two versions in three common rounds: of each series by as much, and with noise of 8 % that is no round's."""
    runs = []
    for size in range(series):
        for number in range(3):
            for side, version in enumerate(("1.0", "1.1")):
                noise = 0.08 * math.cos(2.0 * math.pi * (size / series + number / 3)) + 0.004 * number
                cost = 100.0 * (1.0 + change * side) * math.exp(noise * side)
                run: dict[str, Any] = {"version": version, "size": size, "cost": cost}
                found = toy_runs.entry(run, len(runs))
                runs.append(dataclasses.replace(found, campaign="night", round=number))
    return compare(Study(Matrix(runs), toy_runs.workload()), "1.0", "1.1")[1]


def test_what_no_series_shows_by_itself_is_said_over_all_of_them() -> None:
    analysis = compared(0.05)
    assert not analysis.having(Outcome.REGRESSION)
    (one,) = analysis.over_all
    assert (one.kpi.name, one.series, one.outcome) == ("cost", 12, Outcome.REGRESSION)
    assert analyses.headline(analysis) == (
        "None of 12 series of 1 KPI is worse by itself, and over all 1 KPI is: 1.1 against 1.0."
    )
    said = next(
        each for each in analyses.lead(analysis) if each.startswith("Over its 12 series together cost is worse")
    )
    assert json.loads(json_report(analysis))["verdict"].count(said) == 1
    assert not analysis.failed
    assert msgspec.structs.replace(analysis, fails_on_suspected=True).failed


def test_where_series_show_it_or_nothing_changed_no_more_is_said() -> None:
    for analysis in (compared(0.5), compared(0.0), compared(0.05, series=1)):
        assert analysis.over_all == ()
    assert compared(0.5).failed
