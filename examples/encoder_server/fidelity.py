"""Compare the answers of a running server with the exact model: cosine to fp32 embeddings made one text at a time."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import numpy as np
from model import MODEL_NAME, Embedder
from numpy.typing import NDArray

REFERENCE_IMAGE = "onnx-fp32"
TEXTS = 64


def fidelity_texts() -> list[str]:
    lines = (Path(__file__).resolve().parent / "texts.txt").read_text(encoding="utf-8").splitlines()
    return lines[:TEXTS]


def reference_embeddings(texts: Sequence[str], cache: Path) -> NDArray[np.float32]:
    """Return fp32 embeddings, shape (texts, 384), computed in this process, unbatched."""
    embedder = Embedder(REFERENCE_IMAGE, threads=1, cache=cache)
    return np.concatenate([embedder.embed([text]) for text in texts])


def measure_fidelity(
    url: str, texts: Sequence[str], reference: NDArray[np.float32], concurrency: int
) -> dict[str, Any]:
    """Ask the server for each text, `concurrency` at a time so that it batches as under load, and compare.

    Raises:
        httpx.HTTPError: an answer was missing or not 200.
    """
    with httpx.Client(base_url=url, timeout=30.0) as client, ThreadPoolExecutor(concurrency) as threads:
        answers = np.array(list(threads.map(lambda text: _ask(client, text), texts)))
    norms = np.linalg.norm(answers, axis=1) * np.linalg.norm(reference, axis=1)
    cosines = (answers * reference).sum(axis=1) / norms
    return {
        "metric": "cosine",
        "reference": REFERENCE_IMAGE,
        "mean": round(float(cosines.mean()), 6),
        "minimum": round(float(cosines.min()), 6),
        "count": len(cosines),
    }


def _ask(client: httpx.Client, text: str) -> list[float]:
    response = client.post("/v1/embeddings", json={"model": MODEL_NAME, "input": text})
    response.raise_for_status()
    embedding: list[float] = response.json()["data"][0]["embedding"]
    return embedding
