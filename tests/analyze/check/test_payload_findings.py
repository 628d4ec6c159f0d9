"""Payloads whose labels contradict their settings, or of a schema that the workload doesn't know yet."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import msgspec
import toy_runs

from matrix_benchmarking.analyze.check import Finding, findings
from matrix_benchmarking.matrix import Matrix
from matrix_benchmarking.workload import Workload


def said(workload: Workload, *others: Mapping[str, Any]) -> list[Finding]:
    """What is said of four runs on each of three hardwares, of the first of which the payloads say something else."""
    settings = [{"version": "1", "hw": hw, "users": users, "cost": 1.0} for hw in "abc" for users in (1, 2, 4, 8)]
    runs = [toy_runs.entry(one, number) for number, one in enumerate(settings)]
    for at, other in enumerate(others):
        facts = runs[at].facts
        assert facts is not None
        labels = {**(facts.labels or {}), **other}
        version = labels.pop("schema", None)
        runs[at].facts = msgspec.structs.replace(facts, labels=labels, schema_version=version)
    kinds = ("contradicted-label", "newer-schema")
    return [one for one in findings(Matrix(runs), workload) if one.kind in kinds]


def test_labels_that_contradict_the_settings_are_said() -> None:
    (one,) = said(toy_runs.workload(), {"hw": "b"}, {"hw": "c"})
    assert one.sentence == (
        "2 runs have the label 'hw', such as b, that its settings contradict, with a: was a payload changed by hand?"
    )
    assert (one.runs, bool(one.changes)) == (["run 0", "run 1"], True)
    assert said(toy_runs.workload(), {"users": 1.0}, {"other": 3}) == []


def test_labels_that_a_workload_makes_of_settings_are_no_contradiction() -> None:
    made = toy_runs.workload()
    made = dataclasses.replace(made, store=dataclasses.replace(made.store, get_kpi_labels=lambda lts: {}))
    assert said(made, *[{"hw": "A"}] * 4) == []
    assert len(said(made, {"hw": "A"})) == 1


def test_payloads_of_a_newer_schema_are_said() -> None:
    (one,) = said(toy_runs.workload(), {"schema": "1.0"}, {"schema": "3.0"})
    assert one.sentence == (
        "1 run has payloads of the schema's version 3.0, and the workload knows 1.0: their numbers may mean something "
        "else; update the workload."
    )
    assert (one.runs, bool(one.changes)) == (["run 1"], True)
    assert said(toy_runs.workload(), {"schema": "0.9"}, {"schema": "1.0.0"}) == []
