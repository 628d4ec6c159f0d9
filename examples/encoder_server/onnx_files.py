"""ONNX files and sessions, whatever the model: a cache directory of built files, quantisation, ONNX Runtime's settings.

A file is built once, under a name that holds a version, and is never seen half written.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnxruntime


def default_cache_directory() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "matbench-encoder-server"


def build_once(path: Path, build: Callable[[Path], None]) -> Path:
    """Return `path`; if it doesn't exist, let `build` write a temporary file beside it first, then rename that."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent) as directory:
            unfinished = Path(directory) / path.name
            build(unfinished)
            os.replace(unfinished, path)
    return path


def quantize_per_channel(source: Path, target: Path) -> None:
    """Quantise the weights to signed bytes with a scale for each column, the activations at run time."""
    from onnxruntime.quantization import QuantType, quantize_dynamic  # a server whose files are built needs no tools

    quantize_dynamic(source, target, per_channel=True, weight_type=QuantType.QInt8)


def quantize_per_tensor(source: Path, target: Path) -> None:
    """Quantise as ONNX Runtime does it by default: one scale for a whole weight matrix."""
    from onnxruntime.quantization import quantize_dynamic

    quantize_dynamic(source, target)


def open_session(path: Path, threads: int) -> Any:
    """Return an ONNX Runtime session on the CPU that uses `threads` threads within one model call."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # A spinning thread looks busy while it only waits, which spoils every CPU reading.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
