"""Which settings failed tests share by more than chance."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from scipy import stats

from matrix_benchmarking.analyze.failures import MOST_VALUES, Prone, prone_values
from matrix_benchmarking.matrix import Entry

MakeEntries = Callable[..., list[Entry]]


def test_a_value_that_all_failed_tests_have_is_named_with_its_rate(entries: MakeEntries) -> None:
    tests = [
        test
        for engine in ("int8", "fp32", "fp16", "bf16")
        for vus in range(9)
        for test in entries({"engine": engine, "vus": vus}, 1.0, exit_code=int(engine == "int8" and vus < 6))
    ]
    (one,) = prone_values(tests)
    assert str(one) == "All 6 failed tests have engine=int8; of the 9 with it 6 failed."
    assert one.p_value < 0.05


def test_a_value_is_not_named_where_it_may_be_chance(entries: MakeEntries) -> None:
    tests = [
        test for vus in range(8) for test in entries({"vus": vus % 2, "n": vus}, 1.0, exit_code=int(vus in (0, 2)))
    ]
    assert prone_values(tests) == []


def test_random_failures_are_rarely_blamed_on_a_setting(entries: MakeEntries) -> None:
    blamed = 0
    for seed in range(60):
        rng = random.Random(seed)
        tests = [
            test
            for number in range(60)
            for test in entries({name: (number * step) % 7 for name, step in (("a", 1), ("b", 2), ("c", 3))}, 1.0)
        ]
        for test in rng.sample(tests, 15):
            test.exit_code = 1
        blamed += bool(prone_values(tests))
    assert blamed <= 6  # 5 % are 3 of 60


def test_where_none_or_all_failed_there_is_nothing_to_compare(entries: MakeEntries) -> None:
    assert prone_values([]) == []
    assert prone_values(entries({"vus": 1}, 1.0, 2.0)) == []
    assert prone_values(entries({"vus": 1}, 1.0, 2.0, exit_code=1)) == []


def test_types_are_kept_and_a_setting_that_names_tests_is_not_looked_at(entries: MakeEntries) -> None:
    rows = [(value, number) for value in (1, "1", True) for number in range(30)]
    tests = [test for value, n in rows for test in entries({"x": value, "n": n * 3}, 1.0, exit_code=int(value is True))]
    assert [(one.setting, one.value) for one in prone_values(tests)] == [("x", True)]
    named = [test for n in range(100) for test in entries({"n": n}, 1.0, exit_code=int(n == 3))]
    assert prone_values(named) == []


@pytest.mark.parametrize(
    ("failed_with", "tests_with", "failed", "said"),
    [
        (4, 9, 4, "All 4 failed tests have x=a; of the 9 with it 4 failed."),
        (4, 4, 4, "All 4 failed tests have x=a; of the 4 with it all failed."),
        (4, 9, 5, "4 of 5 failed tests have x=a; of the 9 with it 4 failed."),
        (4, 4, 5, "4 of 5 failed tests have x=a; of the 4 with it all failed."),
    ],
)
def test_how_many_failed_is_said_of_both(failed_with: int, tests_with: int, failed: int, said: str) -> None:
    assert str(Prone("x", "a", failed_with, tests_with, failed, 0.01)) == said


def test_the_chance_is_that_of_fishers_test_times_the_number_of_values(entries: MakeEntries) -> None:
    tests = [
        test
        for x, bad, good in (("a", 7, 2), ("b", 1, 8), ("c", 1, 9))
        for n in range(bad + good)
        for test in entries({"x": x, "same": 1}, 1.0, exit_code=int(n < bad))
    ]
    (one,) = prone_values(tests)
    assert (one.setting, one.value, one.failed_with, one.tests_with, one.failed) == ("x", "a", 7, 9, 9)
    chance = sum(stats.hypergeom.pmf(number, 28, 9, 9) for number in (7, 8, 9))
    assert one.p_value == pytest.approx(3 * chance)


def test_a_setting_of_sixty_values_is_looked_at_and_one_of_more_is_not(entries: MakeEntries) -> None:
    assert MOST_VALUES == 60
    for values, named in ((60, [59]), (61, [])):
        tests = [t for n in range(values) for t in entries({"n": n}, 1.0, 1.0, 1.0, exit_code=int(n == 59))]
        assert [one.value for one in prone_values(tests)] == named
