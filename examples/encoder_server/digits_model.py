"""digits-mlp on ONNX Runtime: gets an image name and pictures of digits, gives scores of the ten digits or embeddings.

A perceptron with one hidden layer of 64, trained on four fifths of scikit-learn's handwritten digits (1,797 pictures
of 8 × 8 pixels); the fifth that it has never seen is what `write_digits.py` writes. Training takes a second, and
scikit-learn is needed for that alone. The ONNX files are kept in a cache directory: `onnx-fp32` and `onnx-int8`
(dynamic quantisation per channel).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx_files import build_once, open_session, quantize_per_channel

MODEL_NAME = "digits-mlp"
LABELS = tuple("0123456789")
HIDDEN = 64
IMAGES = ("onnx-fp32", "onnx-int8")
MODEL_VERSION = 1  # part of the cache's file names: raise it when training, graph or quantisation changes
SEED = 0

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Digits:
    """Pictures of shape (pictures, 64), uint8 from 0 (background) to 255 (ink), and the digits they show."""

    pixels: NDArray[np.uint8]
    labels: NDArray[np.int64]


def train_and_held_out() -> tuple[Digits, Digits]:
    """Return the pictures for training and the 360 held out, each digit with the same share in both."""
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    shades, labels = load_digits(return_X_y=True)
    pixels = np.round(shades * (255 / 16)).astype(np.uint8)
    train, held_out, train_labels, held_out_labels = train_test_split(
        pixels, labels, test_size=0.2, random_state=SEED, stratify=labels
    )
    return Digits(train, train_labels), Digits(held_out, held_out_labels)


def image_file(image: str, cache: Path) -> Path:
    """Return the ONNX file of `image`, built first if the cache doesn't have it.

    Raises:
        ValueError: the image is not one of `IMAGES`.
    """
    if image not in IMAGES:
        raise ValueError(f"There is no image {image!r}; choose one of {', '.join(IMAGES)}.")
    path = cache / f"{MODEL_NAME}.{image}.v{MODEL_VERSION}.onnx"
    if image == "onnx-fp32":
        return build_once(path, _build_fp32)
    return build_once(path, lambda target: quantize_per_channel(image_file("onnx-fp32", cache), target))


class DigitModel:
    """An ONNX Runtime session.

    Args:
        image: one of `IMAGES`.
        threads: ONNX Runtime threads within one model call.
        cache: directory of the built ONNX files.
    """

    def __init__(self, image: str, threads: int, cache: Path) -> None:
        self._session = open_session(image_file(image, cache), threads)

    def classify(self, pictures: Sequence[bytes]) -> Floats:
        """Return scores and logits of `pictures` (64 grey values each) side by side, shape (pictures, 20).

        The first ten columns are the shares of the digits 0 to 9, of sum 1; the other ten are their logits.
        """
        return np.concatenate(self._run(["scores", "logits"], pictures), axis=1)

    def embed(self, pictures: Sequence[bytes]) -> Floats:
        """Return the unit-length embeddings of `pictures` (64 grey values each), shape (pictures, 64)."""
        return self._run(["embedding"], pictures)[0]

    def _run(self, outputs: list[str], pictures: Sequence[bytes]) -> list[Floats]:
        pixels = np.frombuffer(b"".join(pictures), dtype=np.uint8).reshape(len(pictures), -1)
        results: list[Floats] = self._session.run(outputs, {"pixels": _scaled(pixels)})
        return results


def _scaled(pixels: NDArray[np.uint8]) -> Floats:
    return pixels.astype(np.float32) / np.float32(255)


def _build_fp32(target: Path) -> None:
    import onnx
    from digits_graph import classifier_graph
    from sklearn.neural_network import MLPClassifier

    train, _ = train_and_held_out()
    trained: Any = MLPClassifier(hidden_layer_sizes=(HIDDEN,), alpha=0.01, max_iter=500, random_state=SEED)
    trained.fit(_scaled(train.pixels), train.labels)
    weights = [array.astype(np.float32) for array in trained.coefs_]
    biases = [array.astype(np.float32) for array in trained.intercepts_]
    hidden, output = zip(weights, biases, strict=True)
    onnx.save(classifier_graph(hidden, output), str(target))
