"""The theoretical maximum: the device's operations over those of a request, and unknown where one of the two is."""

from __future__ import annotations

from typing import Any

import pytest

from projects.serving_bench.roofline import devices, roofline

T4: dict[str, Any] = {"gpu": "nvidia-t4", "precision": "float32", "model_flops": 4.45e9}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, 1820.2),
        ({"precision": "float16"}, 14606.7),
        ({"precision": "fp16"}, 14606.7),
        ({"gpu": None, "device": "NVIDIA-L4"}, 6809.0),
        ({"device": "nvidia-a100", "precision": "bfloat16"}, 70112.4),
        ({"gpu": "of-my-own", "device_flops": 4.45e12}, 1000.0),
    ],
)
def test_the_maximum_is_the_devices_operations_over_those_of_a_request(
    changes: dict[str, Any], expected: float
) -> None:
    found = roofline(T4 | changes)
    assert found.requests_per_s == pytest.approx(expected, rel=1e-4)
    assert found.source
    assert found.reason is None


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"model_flops": None}, "model_flops"),
        ({"model_flops": 0}, "model_flops"),
        ({"model_flops": True}, "model_flops"),
        ({"gpu": None}, "no setting names the device"),
        ({"gpu": "nvidia-t400"}, "the peak arithmetic of nvidia-t400 is not known"),
        ({"precision": None}, "no setting 'precision'"),
        ({"precision": "fp8"}, "the data sheet of NVIDIA T4 says nothing of precision fp8"),
    ],
)
def test_without_one_of_the_two_there_is_no_maximum_but_a_reason(changes: dict[str, Any], reason: str) -> None:
    found = roofline(T4 | changes)
    assert found.requests_per_s is None
    assert reason in str(found.reason)


def test_every_device_has_a_source_and_is_faster_the_fewer_bits_it_computes_with() -> None:
    for device in devices().values():
        assert "data sheet" in device.source
        assert device.flops["float32"] < device.flops["float16"] < device.flops["int8"]
