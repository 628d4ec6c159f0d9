"""The verdict says what the data supports, and nothing more."""

from __future__ import annotations

from collections.abc import Callable

from matrix_benchmarking.analyze import wording
from matrix_benchmarking.analyze.best import rank
from matrix_benchmarking.matrix import Entry, Matrix
from matrix_benchmarking.workload import Workload

MakeEntries = Callable[..., list[Entry]]


def test_single_runs_are_ranked_but_no_difference_is_claimed(workload: Workload, entries: MakeEntries) -> None:
    points = [(256, 409.44), (512, 412.70), (384, 416.31)]
    matrix = Matrix([entry for vus, cost in points for entry in entries({"hw_type": "l4", "vus": vus}, cost)])
    (verdict,) = wording.verdict(rank(matrix, workload))
    assert verdict.lead == "Cheapest by cost: l4 at vus 256: 409.44 USD (one run: no interval)."
    assert verdict.rest == (
        "Next: vus 512 (412.70 USD, +0.8 %); vus 384 (416.31 USD, +1.7 %). No point was repeated, so whether "
        "such differences are more than chance isn't known."
    )


def test_repeats_give_an_interval_and_name_what_cannot_be_told_apart(workload: Workload, entries: MakeEntries) -> None:
    matrix = Matrix(
        [
            *entries({"hw_type": "a", "vus": 1}, 100.0, 104.0, 96.0),
            *entries({"hw_type": "b", "vus": 2}, 103.0),
        ]
    )
    (verdict,) = wording.verdict(rank(matrix, workload))
    assert verdict.lead == "Cheapest by cost: a at vus 1: 100.00 USD (3 runs; 95 % interval 90.54 to 115.35 USD)."
    assert verdict.rest == (
        "Can't be told apart from it: b at vus 2 (103.00 USD, +3.0 %). "
        "The best of 2 points looks better than it is, by about 1.9 % on average."
    )


def test_a_difference_beyond_the_noise_is_said(workload: Workload, entries: MakeEntries) -> None:
    matrix = Matrix([*entries({"vus": 1}, 1.0, 1.01, 0.99), *entries({"vus": 2}, 2.0, 2.01, 1.99)])
    (verdict,) = wording.verdict(rank(matrix, workload))
    assert verdict.rest == (
        "It differs from every other point by more than chance explains; next: vus 2 (2.00 USD, +100.0 %)."
    )


def test_where_nothing_can_be_ranked_the_reasons_are_counted(workload: Workload, entries: MakeEntries) -> None:
    matrix = Matrix([*entries({"vus": 1}, None, None), *entries({"vus": 2}, 1.0, exit_code=1)])
    (verdict,) = wording.verdict(rank(matrix, workload))
    assert str(verdict) == (
        "No configuration can be ranked by cost: 3 runs can't take part "
        "(2 × cost is unknown: no price is known; 1 × failed with exit code 1)."
    )


def test_a_setting_is_named_unless_its_value_is_a_word() -> None:
    settings = {"image": "default", "gpus": 2, "version": "1.2", "spot": True}
    assert wording.variant_label(settings, [*settings, "zone"]) == (
        "default · gpus 2 · version 1.2 · spot true · zone not set"
    )


def test_other_kpis_are_named_by_their_direction(workload: Workload) -> None:
    assert wording.superlative(workload.kpis["speed"]) == "Highest speed"
    assert wording.superlative(workload.kpis["cost"]) == "Cheapest by cost"
