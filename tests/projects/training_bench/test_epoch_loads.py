"""Epochs against the system log, with values computed by hand; the curve as the public benchmark computes it."""

from __future__ import annotations

import types

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from projects.training_bench.visualizations.store import logs as of_epochs


def epoch(start: float, end: float) -> types.SimpleNamespace:
    return types.SimpleNamespace(start=start, end=end, duration_s=end - start)


TIME = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
LOAD = [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]


def test_the_load_of_an_epoch_is_the_mean_of_the_samples_from_its_start_to_its_end():
    assert of_epochs.within(epoch(1.0, 3.0), TIME, LOAD) == [0.2, 0.4, 0.6]
    assert of_epochs.within(epoch(0.5, 3.5), TIME, LOAD) == [0.2, 0.4, 0.6]
    assert of_epochs.loads([epoch(1.0, 3.0), epoch(2.5, 4.5)], TIME, LOAD) == pytest.approx([0.4, 0.7])


@pytest.mark.parametrize("missing", [epoch(-0.5, 3.0), epoch(3.0, 5.5), epoch(6.0, 7.0)])
def test_an_epoch_with_samples_missing_at_either_end_is_not_used(missing):
    assert of_epochs.within(missing, TIME, LOAD) is None
    assert of_epochs.loads([missing], TIME, LOAD) == []


def test_an_epoch_beyond_the_end_of_a_shorter_vector_is_not_used():
    assert of_epochs.within(epoch(1.0, 3.5), TIME, LOAD[:4]) is None
    assert of_epochs.within(epoch(1.0, 2.5), TIME, LOAD[:4]) == [0.2, 0.4]


def test_a_log_without_the_device_gives_nothing():
    assert of_epochs.loads([epoch(1.0, 3.0)], TIME, []) == []
    assert of_epochs.loads([epoch(1.0, 3.0)], [], []) == []


def test_the_curve_is_a_moving_mean_over_five_samples_brought_to_one_length():
    curve = of_epochs.curve([0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0])
    assert curve is not None
    assert len(curve) == of_epochs.CURVE_POINTS
    assert [curve[0], curve[50], curve[100]] == pytest.approx([0.2, 0.4, 0.6])
    assert curve[25] == pytest.approx(0.3)


def test_an_epoch_of_fewer_than_five_samples_has_no_curve():
    assert of_epochs.curve([0.5] * 4) is None
    assert of_epochs.curve([0.5] * 5) == pytest.approx([0.5] * 101)


@given(samples=st.lists(st.floats(min_value=0, max_value=1), min_size=5, max_size=60))
def test_a_curve_stays_within_its_samples_and_begins_and_ends_with_their_means(samples):
    curve = of_epochs.curve(samples)
    assert curve is not None
    assert min(samples) - 1e-9 <= min(curve)
    assert max(curve) <= max(samples) + 1e-9
    assert curve[0] == pytest.approx(numpy.mean(samples[:5]))
    assert curve[-1] == pytest.approx(numpy.mean(samples[-5:]))
