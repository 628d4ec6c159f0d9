"""Trees of training runs for tests: timings and a system log, in the public layout and in matbench's own."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow
import yaml
from pyarrow import feather

START = 1_700_000_000.0
INTERVAL_S = 0.5

Load = Callable[[float], float]


def feather_bytes(rows: Sequence[dict[str, Any]]) -> bytes:
    """A feather file as pandas writes one: compressed."""
    stream = io.BytesIO()
    feather.write_feather(pyarrow.Table.from_pylist(list(rows)), stream)
    return stream.getvalue()


def epochs(durations: Sequence[float], **others: Sequence[float]) -> list[dict[str, Any]]:
    """Rows of timings, one epoch after the other from START on, with further columns."""
    rows, start = [], START
    for index, duration in enumerate(durations):
        extra = {name: values[index] for name, values in others.items()}
        rows.append(
            {"epoch_index": index, "time": duration, "start_time": start, "end_time": start + duration, **extra}
        )
        start += duration
    return rows


def log(duration: float, gpu: Load | None = None, cpu: Load = lambda moment: 0.5, **others: Any) -> dict[str, Any]:
    """A system log from a second before START to a second after *duration*, twice a second, on two cores."""
    moments = [-1.0 + INTERVAL_S * at for at in range(int((duration + 2) / INTERVAL_S) + 1)]
    return {
        "time": [START + moment for moment in moments],
        "main_memory": [0.25] * len(moments),
        "cpus_load": [[cpu(moment), cpu(moment)] for moment in moments],
        "gpus_load": [] if gpu is None else [[gpu(moment)] for moment in moments],
        "gpus_memory": [] if gpu is None else [[0.75] for _ in moments],
    } | others


def write_public(
    root: Path, name: str, rows: Sequence[dict[str, Any]], content: dict[str, Any] | None, **training: Any
) -> Path:
    """A run directory of the public layout."""
    fold = root / name / "fold_all"
    fold.mkdir(parents=True)
    (fold / "timings.feather").write_bytes(feather_bytes(rows))
    if content is not None:
        (fold / "system_log_2023-02-08_14-48-03.json").write_text(json.dumps(content))
    if training:
        (fold / "training.json").write_text(json.dumps(training))
    return root / name


def write_native(
    directory: Path, settings: dict[str, Any], rows: Sequence[dict[str, Any]], content: dict[str, Any], **training: Any
) -> Path:
    """A test directory of matbench's own layout."""
    (directory / "001__monitor").mkdir(parents=True)
    (directory / "settings.yaml").write_text(yaml.safe_dump(settings))
    (directory / "timings.feather").write_bytes(feather_bytes(rows))
    (directory / "001__monitor" / "utilization.json").write_text(json.dumps(content))
    (directory / "training.json").write_text(json.dumps(training))
    (directory / "exit_code").write_text("0\n")
    return directory
