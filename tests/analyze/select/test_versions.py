"""The order of versions: cases that anybody can extend, and that it is an order at all."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from matrix_benchmarking.analyze.select.versions import DATED, NUMBERED, against, in_words, key, same_kind
from matrix_benchmarking.matrix import NOT_SET

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
    levels = [level if isinstance(level, list) else [level] for level in case["order"]]
    for level in levels:
        assert len({key(label) for label in level}) == 1
    for older, newer in itertools.combinations(levels, 2):
        assert key(older[0]) < key(newer[0])


@pytest.mark.parametrize(
    "labels",
    [
        ["main", "baseline"],
        ["main", "2.10"],
        ["9e1f2ab", "1234567"],
        [True, False],
        [-1, 3],
        ["a-1.0", "b-1.0"],
        ["sha-9f2a1b1", "sha-7c0ffee"],
        ["3f2a1b9-dirty", "9f2a1b1-dirty"],
        ["main-3f2a1b9", "main-1f00000"],
        ["11-2026", "01-2027"],
        ["31.01.2026", "01.02.2026"],
        ["31-01-26", "01-02-26"],
        ["31.01.26", "01.02.26"],
        ["31/01/2026", "01/02/2026"],
        ["1/31/2026", "2/1/2026"],
        ["31_01_2026", "01_02_2026"],
        ["sha-9f2", "sha-7c1"],
        [None],
        ["12a4567", "13b4568"],
        ["29.10.25", "31.10.25", "2.11.25", "3.1.26"],
    ],
)
def test_names_commits_and_versions_of_several_kinds_have_no_order_of_their_own(labels: list[Any]) -> None:
    assert same_kind(labels) is None


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        (["2.10"], NUMBERED),
        ([1, "v2", "2.10-rc1"], NUMBERED),
        (["a-1.0", "a-2.0"], NUMBERED),
        (["nightly-20260203", "2026-01-31"], DATED),
        (["25.10.21", "25.11.22", "26.1.21"], NUMBERED),  # a year first
        (["1.2.25", "2.1.25", "13.0.25"], NUMBERED),
        (["14.1.20", "14.2.21", "15.1.22", "16.0.23"], NUMBERED),
    ],
)
def test_versions_of_one_name_and_dates_have_an_order_of_their_own(labels: list[Any], kind: int) -> None:
    assert same_kind(labels) == kind


def test_full_commits_are_cut_to_ten_digits_or_as_many_as_tell_them_apart() -> None:
    one, other, third = "0123456789abcdef" * 4, "0123456789abcdef" * 3 + "0123456789abcdee", "f" * 64
    assert in_words([one, "f" * 40, 1, "main", one]) == ["0123456789", "f" * 10, "1", "main", "0123456789"]
    assert in_words([third, "f" * 10 + "0" * 54]) == ["f" * 11, "f" * 10 + "0"]
    assert in_words([one, third, other, "f" * 41]) == [one, third, other, "f" * 41]
    assert in_words([]) == []


@settings(deadline=None)
@given(LABELS, LABELS, LABELS)
def test_the_order_is_transitive_and_knows_equals(first: Any, second: Any, third: Any) -> None:
    one, two, three = key(first), key(second), key(third)
    assert (one < two) + (one == two) + (two < one) == 1
    if one <= two <= three:
        assert one <= three


def test_a_label_of_nothing_but_digits_has_no_limit() -> None:
    assert sorted(["9" * 5000, "1" * 5000, "2"], key=key) == ["2", "1" * 5000, "9" * 5000]


def test_a_setting_that_is_not_there_is_the_oldest_version() -> None:
    assert sorted(["1.0", NOT_SET, "0.9"], key=key) == [NOT_SET, "0.9", "1.0"]


@pytest.mark.parametrize("label", ["a_" * 200, "1-" * 200, "-" * 400, "v" * 400, "0" * 400, "1.2.3-" + "rc" * 200])
def test_a_long_label_takes_no_time(label: str) -> None:
    assert key(label)


def test_two_full_commits_are_compared_by_their_first_digits() -> None:
    old, new = "0716d9708d321ffb6a00818614779e779925365c", "0ade7c2cf97f75d009975f4d720d1fa6c19f4897"
    assert against(old, new) == "0ade7c2cf9 against 0716d9708d"
    assert against(old, f"{old[:10]}0{new[11:]}") == "0716d9708d0 against 0716d9708d3"
    assert against("1.3.0", "1.3.1") == "1.3.1 against 1.3.0"
