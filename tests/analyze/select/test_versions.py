"""The order of versions: cases that anybody can extend, and that it is an order at all."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from matrix_benchmarking.analyze.select.versions import in_order, key, needs_time
from matrix_benchmarking.matrix import NOT_SET, typed

CASES = yaml.safe_load((Path(__file__).parent / "version_cases.yaml").read_text(encoding="utf-8"))

PARTS = st.sampled_from(
    [
        *"0129.-+_ vabcrg",
        "10",
        "rc",
        "beta",
        "alpha",
        "dev",
        "post",
        "20260131",
        "2026-01-31",
        "T12",
        "-g3f2a9bc",
        "é",
        "٣",
    ]
)
LABELS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=12), st.lists(PARTS).map("".join)
)


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_versions_are_in_the_order_of_the_case(case: dict[str, Any]) -> None:
    wanted = case["order"]
    appearances = [case["appeared"]] if "appeared" in case else [wanted, wanted[::-1]]
    for appeared in appearances:
        assert [typed(label) for label in in_order(appeared)] == [typed(label) for label in wanted]
    if "appeared" not in case:
        for older, newer in itertools.combinations(wanted, 2):
            assert key(older) < key(newer)


@settings(deadline=None)
@given(st.lists(LABELS, max_size=12), st.randoms())
def test_it_is_one_order_however_the_labels_come(labels: list[Any], random: Any) -> None:
    ordered = in_order(labels)
    assert sorted(map(repr, ordered)) == sorted(map(repr, {typed(label): label for label in labels}.values()))
    assert [repr(label) for label in in_order(ordered)] == [repr(label) for label in ordered]
    shuffled = list(ordered)
    random.shuffle(shuffled)
    if not needs_time(ordered):
        assert [repr(label) for label in in_order(shuffled)] == [repr(label) for label in ordered]


@settings(deadline=None)
@given(LABELS, LABELS, LABELS)
def test_the_order_is_transitive_and_knows_equals(first: Any, second: Any, third: Any) -> None:
    one, two, three = key(first), key(second), key(third)
    assert (one < two) + (one == two) + (two < one) == 1
    if one <= two <= three:
        assert one <= three
    if one == two and one[0] != 3:
        assert repr(first) == repr(second)


def test_a_label_of_nothing_but_digits_has_no_limit() -> None:
    assert in_order(["9" * 5000, "1" * 5000, "2"]) == ["2", "1" * 5000, "9" * 5000]


def test_a_setting_that_is_not_there_is_the_oldest_version() -> None:
    assert in_order(["1.0", NOT_SET, "0.9"]) == [NOT_SET, "0.9", "1.0"]


@pytest.mark.parametrize("label", ["a_" * 200, "1-" * 200, "-" * 400, "v" * 400, "0" * 400, "1.2.3-" + "rc" * 200])
def test_a_long_label_takes_no_time(label: str) -> None:
    assert in_order([label, "1.0"]) != []
