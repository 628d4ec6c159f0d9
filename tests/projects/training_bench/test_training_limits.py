"""What limits a training, case by case."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

import pytest
import yaml

from projects.training_bench.visualizations.analyze import Case, conclude, speed_of

CASES = yaml.safe_load(Path(__file__).with_name("training_limit_cases.yaml").read_text(encoding="utf-8"))


def made(described: dict[str, Any]) -> Case:
    speed = speed_of(described.get("io_speed", "unlimited"))
    assert speed is not None
    others = {name: value for name, value in described.items() if name not in ("epoch_s", "io_speed")}
    return Case(io_speed_mb_s=speed, epoch_s=statistics.fmean(described["epoch_s"]), **others)


def longer(slower: Case, faster: Case) -> float:
    return slower.epoch_s / faster.epoch_s - 1


def no_difference_shown(slower: Case, faster: Case) -> float:
    return 0.0


@pytest.mark.parametrize("described", CASES, ids=[case["name"] for case in CASES])
def test_the_limit_is_concluded_from_the_numbers(described):
    others = [made(other) for other in described.get("others", [])]
    found = conclude(made(described["case"]), others, no_difference_shown if described.get("may_be_chance") else longer)
    assert found.limit.value == described["limit"]
    assert described.get("reason", "") in found.reason


@pytest.mark.parametrize("value", [None, True, "fast", 0, -1, "50"])
def test_what_is_no_speed_is_unknown(value):
    assert speed_of(value) is None
