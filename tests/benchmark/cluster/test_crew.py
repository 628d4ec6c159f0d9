"""Which hosts are said to be slow."""

from __future__ import annotations

from matrix_benchmarking.benchmark.cluster.dealing import Measured, slow_hosts, speed_of
from matrix_benchmarking.benchmark.run_directory import Outcome


def measured(host: str, machine: str, speeds: list[float]) -> list[Measured]:
    return [Measured(host, machine, point, speed) for point, speed in enumerate(speeds)]


def test_a_host_that_is_slower_than_its_equals_at_every_point_is_named_with_how_much():
    same = [100.0, 50.0, 200.0, 80.0, 120.0]
    runs = measured("a", "m", same) + measured("b", "m", [speed * 1.01 for speed in same])
    runs += measured("c", "m", [speed * 0.8 for speed in same])
    (sentence,) = slow_hosts(runs)
    assert sentence.startswith("c was slower than its equals at 5 of 5 points, by 20% in the median")


def test_other_hardware_and_small_differences_are_nobodys_fault():
    same = [100.0, 50.0, 200.0, 80.0, 120.0]
    slow = [speed * 0.8 for speed in same]
    assert slow_hosts(measured("a", "m", same) + measured("c", "another", slow)) == []
    assert slow_hosts(measured("a", "m", same) + measured("c", "m", [speed * 0.97 for speed in same])) == []


def test_too_few_points_that_equals_measured_too_are_said_in_one_sentence():
    same = [100.0, 50.0, 200.0, 80.0]
    (sentence,) = slow_hosts(measured("a", "m", same) + measured("c", "m", [speed * 0.5 for speed in same]))
    assert sentence == (
        "can't tell whether a or c was slower than its equals: it takes 5 points that an equal measured, too, in "
        "this start (more repeats give more)"
    )
    apart = [Measured(f"n{number}", "m", number, 100.0) for number in range(6)]
    (sentence,) = slow_hosts([*apart, *measured("alone", "another", same)])
    assert "whether each of 6 hosts was" in sentence


def test_hosts_of_which_enough_is_known_are_judged_beside_one_of_which_it_is_not():
    same = [100.0, 50.0, 200.0, 80.0, 120.0]
    runs = measured("a", "m", same) + measured("b", "m", [speed * 0.8 for speed in same]) + measured("c", "m", same[:2])
    slow, unknown = slow_hosts(runs)
    assert slow.startswith("b was slower than its equals at 5 of 5 points")
    assert "whether c was" in unknown


def test_a_host_without_an_equal_and_nothing_measured_need_no_sentence():
    assert slow_hosts([]) == []
    assert slow_hosts(measured("a", "m", [1.0, 2.0]) + measured("b", "another", [1.0, 2.0])) == []


def test_a_point_that_failed_says_nothing_of_its_host():
    assert speed_of(Outcome(exit_code=1, wall_s=1.0)) is None
    assert speed_of(Outcome(exit_code=0, wall_s=4.0)) == 0.25
    assert speed_of(Outcome(exit_code=0, wall_s=4.0, throughput=7.0)) == 7.0
