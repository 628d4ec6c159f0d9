"""The system log: devices in one number a sample, and what doesn't fit is said."""

from __future__ import annotations

import pytest
from training_trees import log

from projects.training_bench.visualizations.store.logs import highest, parse_system_log


def test_each_sample_is_the_mean_over_its_devices_and_memory_their_maximum():
    content = log(1.0) | {
        "time": [1.0, 2.0],
        "main_memory": [0.2, 0.3],
        "cpus_load": [[0.0, 1.0], [0.5, 0.5]],
        "gpus_load": [[0.2, 0.4], [1.0, 0.0]],
        "gpus_memory": [[0.1, 0.9], [0.2, 0.3]],
        "processes": {"script": [1.0, 0.5]},
    }
    seen = parse_system_log(content)
    assert seen.cpu == [0.5, 0.5]
    assert seen.gpu == pytest.approx([0.3, 0.5])
    assert seen.gpu_memory == [0.9, 0.3]
    assert seen.process == [0.5, 0.25]
    assert (seen.cores, highest(seen.main_memory), seen.doubts) == (2, 0.3, [])


def test_a_gpu_that_heat_slowed_is_said():
    content = {"time": [1.0, 2.0, 3.0, 4.0], "gpus_load": [[0.9, 0.8]] * 4}
    seen = parse_system_log(content | {"gpus_held_back": [[0.0, 0.0], [1.0, 0.0], [0.0, 0.0], [0.0, 0.0]]})
    assert seen.doubts == ["heat or its power supply slowed the GPU in 25 % of the run"]
    assert parse_system_log(content | {"gpus_held_back": [[0.0, 0.0]] * 4}).doubts == []


@pytest.mark.parametrize("gpus", [[], [[], [], []], None])
def test_a_device_that_is_not_there_is_unknown_and_not_idle(gpus):
    content = {"time": [1.0, 2.0, 3.0], "main_memory": [0.5] * 3, "cpus_load": [[0.1]] * 3, "gpus_load": gpus}
    seen = parse_system_log(content)
    assert seen.gpu == []
    assert highest(seen.gpu_memory) is None
    assert seen.doubts == []


def test_a_vector_that_is_shorter_than_the_time_is_reported_and_unknown_beyond_its_end():
    seen = parse_system_log(log(3.0, gpu=lambda moment: 0.5) | {"gpus_load": [[0.5]] * 4})
    assert seen.gpu == [0.5] * 4
    assert len(seen.cpu) == len(seen.time) == 11
    assert seen.doubts == ["the log's 'gpus_load' has 4 samples where 'time' has 11: what is beyond its end is unknown"]


def test_a_vector_that_is_longer_than_the_time_is_reported_and_cut():
    seen = parse_system_log(log(3.0) | {"main_memory": [0.5] * 12})
    assert len(seen.main_memory) == 11
    assert seen.doubts == ["the log's 'main_memory' has 12 samples where 'time' has 11: the rest is left out"]


def test_samples_without_a_device_beside_some_with_one_are_left_out_and_reported():
    content = {"time": [1.0, 2.0, 3.0], "cpus_load": [[0.5]] * 3, "gpus_load": [[0.5], [], [0.7]]}
    seen = parse_system_log(content)
    assert seen.gpu == [0.5, None, 0.7]
    assert seen.doubts == ["1 of 3 samples of the log's 'gpus_load' are empty, and left out"]


def test_samples_of_different_numbers_of_devices_are_reported():
    content = {"time": [1.0, 2.0], "cpus_load": [[0.5], [0.1, 0.3]]}
    seen = parse_system_log(content)
    assert seen.cpu == pytest.approx([0.5, 0.2])
    assert "1 or 2 devices" in seen.doubts[0]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ([], "no JSON object"),
        ({}, "'time' is no list"),
        ({"time": [1.0, "x"]}, "'time' is no list of numbers"),
        ({"time": [2.0, 1.0]}, "go backwards"),
        ({"time": [1.0], "cpus_load": [0.5]}, "'cpus_load' is no list of lists"),
        ({"time": [1.0], "cpus_load": [[50.0]]}, "fractions from 0 to 1"),
        ({"time": [1.0], "gpus_load": [[True]]}, "fractions from 0 to 1"),
        ({"time": [1.0], "main_memory": [-0.5]}, "fractions from 0 to 1"),
        ({"time": [1.0], "processes": {"script": [-1.0]}}, "numbers of cores"),
    ],
)
def test_what_is_no_system_log_is_refused_in_a_sentence(content, said):
    with pytest.raises(ValueError, match=said):
        parse_system_log(content)
