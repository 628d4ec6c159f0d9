"""Findings on the order of versions, and for which runs there is one."""

from __future__ import annotations

import dataclasses
from typing import Any

import toy_runs

from matrix_benchmarking.analyze.check import AnswerKind, Finding
from matrix_benchmarking.analyze.check import order_findings as findings
from matrix_benchmarking.analyze.study import Study
from matrix_benchmarking.matrix import Entry, Matrix


def entries(*runs: dict[str, Any], **changes: Any) -> list[Entry]:
    return [
        dataclasses.replace(toy_runs.entry({"cost": 1.0, **run}, number), **changes) for number, run in enumerate(runs)
    ]


def found(*runs: dict[str, Any]) -> list[Finding]:
    order = Study(Matrix(entries(*runs)), toy_runs.workload()).order_at_hand
    assert order is not None
    return list(findings(order))


def test_results_at_hand_of_one_version_have_no_order() -> None:
    two = ({"version": "1"}, {"version": "2"})
    for runs, kept_in, is_there in ((two[:1], None, False), (two, None, True), (two[:1], "sqlite:///x.db", True)):
        order = Study(Matrix(entries(*runs, kept_in=kept_in)), toy_runs.workload()).order_at_hand
        assert (order is not None) == is_there
    here, kept = entries(two[0], kept_in=None), entries(two[0])
    assert Study(Matrix([*here, *kept]), toy_runs.workload()).order_at_hand is not None


def test_an_order_of_results_at_hand_loads_no_payload() -> None:
    toy = toy_runs.workload()
    toy = dataclasses.replace(toy, store=dataclasses.replace(toy.store, get_kpi_labels=lambda lts: {}))
    of_tree = {"kept_in": None, "facts": None, "span_us": (None, None), "load_lts": lambda: 1 / 0}
    runs = entries({"version": "1"}, {"version": "2"}, **of_tree)
    order = Study(Matrix(runs), toy).order_at_hand
    assert order is not None
    assert order.newest == "2"


def test_an_order_that_is_unknown_changes_what_is_said_of_a_history() -> None:
    (finding,) = found({"version": "main", "day": None}, {"version": "next", "day": None})
    assert (finding.kind, finding.changes) == ("order-unknown", {AnswerKind.HISTORY})
    assert finding.sentence.startswith(
        "The order of version is unknown: nothing says which of main, next is the newest"
    )
    assert finding.sentence.endswith(".")


def test_what_an_order_leaves_out_changes_what_is_said_of_a_history_and_a_contradiction_does_not() -> None:
    assert found({"version": "1"}, {"version": "2"}) == []
    assert found({"version": "1", "day": 2}, {"version": "2", "day": 1}) == [
        Finding("order", "The other way round by the times: 1 of 1 pair, 2 before 1.")
    ]
    (finding,) = found({"version": "main"}, {"version": "next"}, {"version": "old", "day": None})
    assert finding.sentence == "1 version with 1 run left out (old): without a place in the order of the times."
    assert finding.changes == {AnswerKind.HISTORY}
