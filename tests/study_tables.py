"""The encoder-analysis study's results as it published them: Parquet with one row a run, and its costs beside."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas

TABLE = Path("data", "train-00000-of-00001.parquet")
VISION_COSTS = {4: 44496.51, 1: 46021.58}
"""The study's, in USD, by batch size."""
_VISION = [
    # batch size, requests, duration, mean and p95 latency, mean number of vectors
    (4, 301, 60.270528, 709.554817, 1222.00, 365.445183),
    (1, 292, 60.472359, 736.383562, 1260.35, 365.832192),
]
_NAMES = ("batch_size", "total_requests", "test_duration_sec", "avg_latency_ms", "p95_latency_ms", "avg_num_vectors")


def published(rows: Sequence[dict[str, object]], directory: Path) -> pandas.DataFrame:
    """Write *rows* below *directory*, with the costs at 0.8 USD an hour, in another order."""
    frame = pandas.DataFrame(rows)
    frame["seconds_per_billion"] = 1e9 / frame["throughput_req_per_sec"]
    frame["cost_per_sec"] = 0.8 / 3600
    frame["1B_cost"] = frame["seconds_per_billion"] * frame["cost_per_sec"]
    (directory / TABLE).parent.mkdir(parents=True)
    frame.sort_values("1B_cost").to_parquet(directory / TABLE)  # which keeps the rows' numbers in a column too
    return frame


def vision_rows() -> list[dict[str, object]]:
    """The two best runs of colqwen2 on images."""
    where = {
        "hw_type": "nvidia-l4",
        "image": "michaelf34/infinity:0.0.75",
        "engine": "torch",
        "vendor": "aws",
        "vus": 4,
    }
    answers = {"min_num_vectors": 81, "max_num_vectors": 779, "invalid_embeddings": 0}
    return [
        {**dict(zip(_NAMES, run, strict=True)), **answers, **where}
        | {"successful_requests": run[1], "throughput_req_per_sec": run[1] / run[2]}
        for run in _VISION
    ]
