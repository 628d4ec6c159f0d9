"""Points that were measured again with quite another result."""

from __future__ import annotations

import dataclasses

import pytest
import toy_runs

from matrix_benchmarking.analyze.check import AnswerKind, Finding, findings
from matrix_benchmarking.analyze.select.labelled import labelled
from matrix_benchmarking.analyze.select.order import Order
from matrix_benchmarking.matrix import Matrix


def said(*runs: tuple[str, str, float | None]) -> list[Finding]:
    """What is said of runs of a version, a campaign and a cost."""
    entries = [
        dataclasses.replace(toy_runs.entry({"version": version, "cost": cost}, number), campaign=campaign)
        for number, (version, campaign, cost) in enumerate(runs)
    ]
    workload = toy_runs.workload()
    order = Order(labelled(entries, workload), workload)
    return [one for one in findings(Matrix(entries), workload, in_order=order) if one.kind == "campaigns-differ"]


ONCE = [(version, "monday", 100.0 + number) for version in "123" for number in range(2)]


@pytest.mark.parametrize(("version", "changes"), [("2", set()), ("3", {AnswerKind.HISTORY})])
def test_a_version_that_was_measured_again_with_quite_another_result_is_named(
    version: str, changes: set[AnswerKind]
) -> None:
    (found,) = said(*ONCE, (version, "friday", 130.0), (version, "friday", 131.0))
    assert found.sentence == (
        f"At 1 of 1 point with runs of several campaigns ({version}), cost is 1.2 times as high or more in one as in "
        "another: was it another machine, or something else that was measured?"
    )
    assert (found.changes, len(found.runs)) == (changes, 4)


@pytest.mark.parametrize(
    "again",
    [
        [],
        [("3", "friday", 110.0), ("3", "friday", 112.0)],  # less than a fifth more
        [("3", "friday", 130.0)],  # a single run
        [("3", "friday", 130.0), ("3", "friday", 100.5)],  # nor apart from the others
        [("3", "monday", 130.0), ("3", "monday", 131.0)],  # of one campaign: they scatter
        [("3", "friday", 130.0), ("3", "friday", 131.0), ("3", "friday", None)],
        [("3", "friday", 130.0), ("3", "friday", 131.0), ("3", "friday", -1.0)],
    ],
)
def test_what_scatters_or_is_one_run_is_not(again: list[tuple[str, str, float | None]]) -> None:
    assert said(*ONCE, *again) == []
