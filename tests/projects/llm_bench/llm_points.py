"""A point as vLLM writes it, and how tests of llm_bench write and find points."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from matrix_benchmarking.matrix import Entry, Matrix

POINT: dict[str, Any] = {
    "date": "20260816-160853",
    "backend": "vllm",
    "model_id": "org/model-8b",
    "tokenizer_id": "org/model-8b",
    "num_prompts": 200,
    "request_rate": "inf",
    "burstiness": 1.0,
    "max_concurrency": 16,
    "duration": 10.0,
    "completed": 198,
    "failed": 2,
    "total_input_tokens": 198 * 512,
    "total_output_tokens": 198 * 100,
    "request_throughput": 19.8,
    "request_goodput": 15.5,
    "output_throughput": 1980.0,
    "total_token_throughput": 12117.6,
    "mean_ttft_ms": 60.0,
    "median_ttft_ms": 50.0,
    "p99_ttft_ms": 250.0,
    "mean_tpot_ms": 8.0,
    "median_tpot_ms": 7.5,
    "p99_tpot_ms": 12.0,
    "mean_itl_ms": 8.1,
    "median_itl_ms": 7.6,
    "p99_itl_ms": 30.0,
    "mean_e2el_ms": 900.0,
    "median_e2el_ms": 850.0,
    "p99_e2el_ms": 1500.0,
}


def write(directory: Path, name: str, *points: dict[str, Any]) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    (directory / name).write_text("\n".join(map(json.dumps, points)))


def only(matrix: Matrix, **settings: Any) -> Entry:
    """The one entry with these settings."""
    (found,) = [entry for entry in matrix if all(entry.settings.get(name) == value for name, value in settings.items())]
    return found
