"""Runs that are compared were loaded with the same inputs, and their answers held against the same reference."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from matrix_benchmarking import store
from matrix_benchmarking.workload import load


@pytest.mark.parametrize(
    ("file", "before", "after", "said"),
    [
        (
            "load_generator.json",
            "fee87792",
            "aaaaaaaa",
            "Runs that are compared were loaded with other inputs: digits.jsonl, 360 of them, sha256 aaaaaaaa | "
            "digits.jsonl, 360 of them, sha256 fee87792.",
        ),
        (
            "fidelity.json",
            "image onnx-fp32, batch_size 1",
            "image onnx-int8, batch_size 1, hw_type cpu-1",
            "Answers of runs that are compared were held against several references, as fidelity is: "
            "image onnx-fp32, batch_size 1 | image onnx-int8, batch_size 1.",
        ),
    ],
)
def test_what_one_image_was_measured_with_and_others_were_not_is_said(
    repository: Path, tmp_path: Path, file: str, before: str, after: str, said: str
) -> None:
    tree = shutil.copytree(repository / "data/samples/encoder_digits", tmp_path / "tree")
    workload = load("encoder_bench")
    assert workload.differences is not None
    assert workload.differences(store.parse_tree(workload, tree).entries) == []
    for path in tree.glob(f"**/onnx-int8/**/{file}"):
        path.write_text(path.read_text().replace(before, after))
    assert workload.differences(store.parse_tree(workload, tree).entries) == [said]
