"""A results tree as large as wanted: a full matrix whose artifacts are those of one measured run, with other numbers.

Throughput saturates with the users and grows with batch size and hardware; repeats differ by noise of 3 %.
"""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

SAMPLE = Path(__file__).resolve().parent.parent / "data" / "samples" / "encoder_bench"
TEMPLATE = SAMPLE / "cpu-1" / "onnx-int8" / "batch_8" / "vus_8__repeat_0"
HARDWARE = {
    ("aws", "nvidia-l4"): 90.0,
    ("aws", "nvidia-t4"): 45.0,
    ("gcp", "nvidia-l4"): 84.0,
    ("gcp", "nvidia-t4"): 44.0,
    ("local", "cpu-1"): 1.0,
    ("local", "cpu-2"): 1.7,
}
IMAGES = {"onnx-fp32": 1.0, "onnx-int8": 1.9, "torch-fp32": 0.8, "torch-fp16": 1.4, "tei": 2.1}
BATCH_SIZES = (1, 2, 4, 8, 16, 32, 64, 128)
USERS = (1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256)
REPEATS = 3
MODEL = "all-MiniLM-L6-v2"
FILES = (
    *("exit_code", "test_start_end.json", "000__server/server.json", "003__fidelity/fidelity.json"),
    *("002__k6__run/load_generator.json", "environment.json", "001__monitor/utilization.json"),
)
SCALED = ("http_reqs", "iterations", "answered_inputs", "sent_inputs", "checks", "http_req_failed")


def build(tree: Path, count: int, files: Sequence[str] = FILES) -> int:
    """Write the first *count* runs of the matrix; how many there are.

    A matrix is 10,080 runs; more than these are those of another model. *files* are copied as they are.
    """
    rng = random.Random(7)
    summary = json.loads((TEMPLATE / "002__k6__run" / "summary.json").read_text())
    plain = {name: (TEMPLATE / name).read_bytes() for name in files}
    written = 0
    for settings, rate in itertools.islice(_points(rng), count):
        names = ("model", "vendor", "hw_type", "image", "batch_size", "vus", "repeat")
        name = "/".join(str(settings[key]) for key in names[settings["model"] == MODEL :])
        directory = tree / name
        for file, content in plain.items():
            path = directory / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        text = "".join(f"{key}: {value}\n" for key, value in settings.items())
        (directory / "settings.yaml").write_text(text)
        (directory / ".uuid").write_text(f"{rng.getrandbits(128):032x}\n")
        (directory / "002__k6__run" / "summary.json").write_text(json.dumps(_scaled(summary, rate, settings["vus"])))
        written += 1
    return written


def _points(rng: random.Random) -> Iterator[tuple[dict[str, Any], float]]:
    """Settings, and the throughput in requests a second."""
    models = itertools.chain([MODEL], (f"model-{number}" for number in itertools.count(2)))
    matrix = itertools.product(HARDWARE.items(), IMAGES.items(), BATCH_SIZES, USERS, range(REPEATS))
    points = ((model, point) for points in [list(matrix)] for model in models for point in points)
    for model, (((vendor, hardware), power), (image, speed), batch, users, repeat) in points:
        capacity = 180.0 * power * speed * (1 + 0.35 * batch.bit_length())
        rate = capacity * users / (users + 2.0 * batch.bit_length() * power**0.5) * rng.gauss(1, 0.03)
        settings = {
            "task": "embedding",
            "model": model,
            "vendor": vendor,
            "engine": "onnxruntime",
            "version": "1.1.0",
            "hw_type": hardware,
            "image": image,
            "batch_size": batch,
            "vus": users,
            "repeat": repeat,
        }
        yield settings, rate


def _scaled(summary: dict[str, Any], rate: float, users: int) -> dict[str, Any]:
    """The summary of a run that made *rate* requests a second with *users* users."""
    metrics = {name: dict(metric, values=dict(metric["values"])) for name, metric in summary["metrics"].items()}
    factor = rate / metrics["http_reqs"]["values"]["rate"]
    latency = (1000 * users / rate) / metrics["http_req_duration"]["values"]["avg"]
    for name, metric in metrics.items():
        values = metric["values"]
        if name in SCALED:
            for key in ("count", "passes", "fails"):
                if key in values:
                    values[key] = round(values[key] * factor)
        elif metric["type"] == "trend":
            metric["values"] = {key: value if key == "count" else value * latency for key, value in values.items()}
    return {**summary, "metrics": metrics}
