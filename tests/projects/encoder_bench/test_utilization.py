"""Means over the load window, of the devices that were measured."""

from __future__ import annotations

import pytest

from projects.encoder_bench.visualizations.store.artifacts import parse_utilization

LOG = {
    "time": [10.0, 11.0, 12.0, 13.0],
    "cpus_load": [[1.0, 0.0], [0.5, 0.1], [0.7, 0.3], [1.0, 1.0]],
    "main_memory": [0.9, 0.2, 0.3, 0.1],
    "gpus_load": [],
    "gpus_memory": [],
    "processes": {"k6": [0.9, 0.1, 0.3, 0.9]},
    "load_window": {"start": 11.0, "end": 12.0},
}


def test_only_the_load_window_counts():
    log = parse_utilization(LOG)
    assert log.cpu_util == pytest.approx((0.5 + 0.1 + 0.7 + 0.3) / 4)
    assert log.main_memory_max == 0.3
    assert log.process_cores == {"k6": pytest.approx(0.2)}
    assert log.samples == 2


def test_what_other_processes_took_is_the_rest():
    log = parse_utilization(LOG | {"processes": {"k6": [0.2] * 4, "server": [0.4] * 4}})
    assert log.other_cores == pytest.approx((0.6 + 1.0) / 2 - 0.6)
    assert parse_utilization(LOG | {"processes": {}}).other_cores is None


def test_only_the_servers_cores_count_where_they_are_known():
    assert parse_utilization(LOG, [0]).cpu_util == pytest.approx(0.6)


def test_without_a_window_all_samples_count():
    content = {name: value for name, value in LOG.items() if name != "load_window"}
    assert parse_utilization(content).samples == 4


def test_a_device_that_was_not_measured_is_unknown_and_not_zero():
    log = parse_utilization(LOG)
    assert (log.gpu_util, log.gpu_memory_max) == (None, None)


def test_gpus_are_averaged_and_the_highest_memory_counts():
    gpus = {"gpus_load": [[0.2, 0.4]] * 4, "gpus_memory": [[0.1, 0.6], [0.1, 0.2], [0.3, 0.2], [0.9, 0.9]]}
    log = parse_utilization(LOG | gpus)
    assert (log.gpu_util, log.gpu_memory_max) == (pytest.approx(0.3), 0.3)


def test_a_gpu_is_held_back_in_the_samples_in_which_any_is():
    log = parse_utilization(LOG | {"gpus_held_back": [[0.0, 0.0], [0.0, 1.0], [0.0, 0.0], [1.0, 1.0]]})
    assert log.gpu_held_back == 0.5
    assert parse_utilization(LOG).gpu_held_back is None


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ([], "has no list 'time'"),
        ({"time": 3}, "has no list 'time'"),
        (LOG | {"cpus_load": [[1.0]]}, "'cpus_load' has 1 samples where 'time' has 4"),
        (LOG | {"main_memory": "x"}, "'main_memory' is not a list"),
        (LOG | {"cpus_load": [["a"], ["b"], ["c"], ["d"]]}, "something else than numbers: 'cpus_load'"),
        (LOG | {"processes": [1]}, "'processes' is not a mapping"),
        (LOG | {"load_window": {"start": 1}}, "'load_window' needs a start and an end"),
        (LOG | {"load_window": {"start": "a", "end": None}}, "something else than numbers: 'load_window'"),
        (LOG | {"time": ["a", "b", "c", "d"]}, "something else than numbers: 'time'"),
        (LOG | {"gpus_load": [[10**400]] * 4}, "something else than numbers"),
    ],
)
def test_a_damaged_log_is_refused_with_a_sentence(content, reason):
    with pytest.raises(ValueError, match=reason):
        parse_utilization(content)


def test_a_core_that_the_log_does_not_have_is_refused():
    with pytest.raises(ValueError, match="has 2 cores, and the server used core 7"):
        parse_utilization(LOG, [7])
