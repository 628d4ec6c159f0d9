"""A run that says another one's settings stands at that one's point, where its repeat is there twice."""

from __future__ import annotations

import dataclasses
import itertools
from pathlib import Path

import pytest
import toy_runs

from matrix_benchmarking.analyze.check.matched import misplaced
from matrix_benchmarking.analyze.check.measured import Measured
from matrix_benchmarking.matrix import Entry
from matrix_benchmarking.rows import Rows

IMAGES, VUS = ("fp16", "fp32", "int8"), (1, 2, 4, 8)


def run(image: str, vus: int, repeat: int) -> Entry:
    name = f"{image} {vus} {repeat}"
    return Entry({"image": image, "vus": vus, "model": "m"}, repeat, Path(name), name, 0)


def found(runs: list[Entry]) -> list[tuple[str, list[str]]]:
    rows = Rows.of(runs)
    return [(one.sentence, [*one.runs]) for one in misplaced(Measured(rows, toy_runs.workload()))]


RUNS = [run(*one) for one in itertools.product(IMAGES, VUS, range(3))]


@pytest.mark.parametrize("repeats", [(1,), (0, 1, 2)])
def test_runs_that_say_another_image_are_at_its_point_and_missing_at_theirs(repeats: tuple[int, ...]) -> None:
    moved = [
        dataclasses.replace(one, settings={**one.settings, "image": "int8"})
        if one.settings == {"image": "fp32", "vus": 4, "model": "m"} and one.repeat in repeats
        else one
        for one in RUNS
    ]
    ((said, names),) = found(moved)
    assert said == (
        f"{2 * len(repeats)} runs share repeats of one point ({', '.join(map(str, repeats))}), just those that are "
        "missing where 'image' is fp32: do some of them say a wrong 'image'?"
    )
    assert sorted(names) == sorted(f"{image} 4 {repeat}" for image in ("fp32", "int8") for repeat in repeats)


@pytest.mark.parametrize(
    "runs",
    [
        RUNS,
        [*RUNS, *RUNS],  # measured again, all of it
        [*RUNS, *RUNS[:9]],  # or some of it
        [*RUNS, RUNS[4]],  # one run twice, and none is missing
        [*RUNS[:-1], RUNS[4]],  # one is missing elsewhere, in two settings
        RUNS[:-3],
        [*RUNS[:-3], *[dataclasses.replace(one, repeat=0) for one in RUNS[-3:]]],  # nobody counted them
        [dataclasses.replace(one, repeat=0) for one in [*RUNS[:-1], RUNS[-4]]],
        [],
    ],
)
def test_points_measured_again_and_runs_that_are_missing_are_honest(runs: list[Entry]) -> None:
    assert found(runs) == []
