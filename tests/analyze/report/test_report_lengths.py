"""How much of a long text from artifacts stands in each place of a report."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable

import pytest
from report_support import analyses

from matrix_benchmarking.analyze.report.ci import code_quality, error_lines, junit, openmetrics, summary
from matrix_benchmarking.analyze.report.markdown import markdown
from matrix_benchmarking.analyze.verdict.model import Analysis, Outcome

REPORTS: dict[str, tuple[Callable[[Analysis], str], list[int]]] = {
    "Markdown": (
        markdown,
        [
            *(120, 467, 283),
            *(120, 120, 64, 59, 60, 60),  # the row of a series that is worse
            *(120, 120, 65, 59),  # better
            *(120, 120, 59, 60, 60),  # fixed
            *(120, 120, 59, 64, 200, 60, 60, 120),  # acknowledged
            *(120, 120),  # no difference shown yet
            *(400, 150, 300),  # on the data
        ],
    ),
    "JUnit": (
        junit,
        [
            *(490, 490),
            *(250, 250, 450, 2000, 1964, 2000),
            *(250, 250, 12, 2000, 1994, 2000),  # of the same name: with its id
            *(250, 250, 12, 2000, 2000) * 2,
            *(250, 250, 12, 2000, 1994, 2000),
            *(250, 250, 12),
            *(250, 250, 486) * 2,
        ],
    ),
    "annotations": (lambda analysis: "".join(error_lines(analysis)), [60, 60, 1000, 64]),
    "code quality": (code_quality, [1000, 1000]),
    "summary": (lambda analysis: str(summary(analysis)["message"]), [1467]),
    "OpenMetrics": (openmetrics, [200] * 8 + [200, 200, 200, 200, 5000] * 9 + [200]),
}


@pytest.mark.parametrize("name", REPORTS)
def test_a_long_text_is_cut(name: str) -> None:
    report, lengths = REPORTS[name]
    text = report(analyses.hostile("x" * 5000))
    assert [len(found) for found in re.findall("x{9,}…?", text)] == lengths


def test_a_size_in_a_long_unit_is_cut() -> None:
    of = dataclasses.replace(analyses.LATENCY, display_unit="u" * 200)
    text = markdown(
        analyses.analysis(
            analyses.regression(of=of, effect=None),
            analyses.verdict(Outcome.IMPROVEMENT, of=of, effect=None, is_new=True, labels={"n": 1}),
            analyses.verdict(of=of, reruns=2, difference=analyses.Estimate(1, 0.5, 2), labels={"n": 2}),
        )
    )
    assert [len(found) for found in re.findall(r"[+−][0-9.]+ u+…", text)] == [80, 80, 80]
