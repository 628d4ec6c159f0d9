"""Which labels a workload's model defines."""

from __future__ import annotations

from builders import speed_workload

from matrix_benchmarking import lts
from projects.encoder_bench.visualizations import workload as encoder_bench


def test_the_labels_of_a_model_are_known_by_name() -> None:
    assert {"version", "image", "hw_type"} <= lts.label_names(encoder_bench)


def test_a_workload_that_takes_any_label_names_none() -> None:
    assert lts.label_names(speed_workload()) == frozenset()
