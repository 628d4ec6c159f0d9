"""Which labels a workload's model defines."""

from __future__ import annotations

from builders import speed_workload

from projects.encoder_bench.visualizations import workload as encoder_bench


def test_the_labels_of_a_model_are_known_by_name() -> None:
    assert {"version", "image", "hw_type"} <= encoder_bench.label_names


def test_a_workload_that_takes_any_label_names_none() -> None:
    assert speed_workload().label_names == frozenset()
