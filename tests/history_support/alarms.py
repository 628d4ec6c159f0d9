"""Events of alarms for tests of the history and of the commands."""

from __future__ import annotations

from typing import Any

from matrix_benchmarking.history.alarms import Action, AlarmEvent, AlarmSubject

AT_US = 1_772_366_400_000_000  # 2026-03-01T12:00:00Z


def subject(**changes: Any) -> AlarmSubject:
    """What an alarm of the workload ``speed`` is about."""
    about: dict[str, Any] = {
        "workload": "speed",
        "kpi": "p95_latency",
        "unit": "ms",
        "lower_better": True,
        "labels": {"image": "onnx-fp32", "batch_size": 8},
        "series": "onnx-fp32 · batch_size 8",
        "first_bad": "1.3.0",
        "last_good": "1.2.10",
        "old_level": 20.0,
        "new_level": 22.5,
    }
    return AlarmSubject(**{**about, **changes})


def event(
    number: int = 0, action: Action = Action.RAISED, *, alarm: str = "", about: AlarmSubject | None = None, **more: Any
) -> AlarmEvent:
    """An event, *number* seconds after noon; of an alarm of its own unless *alarm* says which."""
    said: dict[str, Any] = {"author": "matbench" if action in (Action.RAISED, Action.FIXED) else "ann", **more}
    return AlarmEvent(
        alarm=alarm or f"{number:08x}{'0' * 24}",
        action=action,
        at_us=said.pop("at_us", AT_US + number * 1_000_000),
        subject=about or subject(),
        **said,
    )
