"""The endpoints of digits-mlp as LitServe APIs, in the shapes of Infinity: `POST /classify` and `POST /embeddings`.

The images are decoded in the web process as part of validating a request, so a bad one is answered with 422 and never
reaches a batch, and the worker gets pixels.
"""

# LitServe reads the annotations of decode_request and encode_response at run time: no `from __future__` here.
from pathlib import Path
from typing import Annotated, Any, Literal

import litserve
import numpy as np
from answers import embeddings_body, json_response, rounded
from batching import MAX_INPUTS, BlockingBatchedLoop, Floats, call_in_batches
from digits_images import SIDE, pixels_of
from digits_model import LABELS, MODEL_NAME, DigitModel
from fastapi import Response
from pydantic import BaseModel, BeforeValidator, Field

Pixels = Annotated[bytes, BeforeValidator(pixels_of, json_schema_input_type=str)]
"""Sent as a data URI, kept as 64 grey values."""
Pictures = Annotated[list[Pixels], Field(min_length=1, max_length=MAX_INPUTS)]


class ClassifyRequest(BaseModel):
    """Body of `POST /classify`."""

    input: Pictures
    model: Literal["digits-mlp"] = "digits-mlp"
    raw_scores: bool = False


class ImageEmbeddingRequest(BaseModel):
    """Body of `POST /embeddings`; `modality` has to be said, because Infinity takes its absence for text."""

    input: Pixels | Pictures
    modality: Literal["image"]
    model: Literal["digits-mlp"] = "digits-mlp"
    encoding_format: Literal["float"] = "float"


class DigitAPI(litserve.LitAPI):  # type: ignore[misc]
    """What both endpoints share: a worker with a `DigitModel`.

    Args:
        image: which ONNX file answers, one of `digits_model.IMAGES`.
        threads: ONNX Runtime threads of the one worker.
        cache: directory of the built ONNX files.
        max_batch_size: pictures in one model call, at most.
        batch_timeout: seconds to wait for more requests while a batch isn't full.
    """

    path: str

    def __init__(self, image: str, threads: int, cache: Path, max_batch_size: int, batch_timeout: float) -> None:
        batching = {"max_batch_size": max_batch_size, "batch_timeout": batch_timeout, "loop": BlockingBatchedLoop()}
        super().__init__(api_path=self.path, **batching)
        self.image = image
        self.threads = threads
        self.cache = cache

    def setup(self, device: str) -> None:
        self.model = DigitModel(self.image, self.threads, self.cache)
        blank = bytes(SIDE * SIDE)
        self.model.classify([blank])
        self.model.embed([blank])


class ClassificationAPI(DigitAPI):
    """Answers which digit a picture shows."""

    path = "/classify"

    def decode_request(self, request: ClassifyRequest) -> ClassifyRequest:
        return request

    def predict(self, requests: list[ClassifyRequest]) -> list[Floats]:
        """Return for each request the scores, or logits where raw scores are asked for, shape (pictures, 10)."""
        both = call_in_batches(self.model.classify, [request.input for request in requests], self.max_batch_size)
        count = len(LABELS)
        return [
            rows[:, count:] if request.raw_scores else rows[:, :count]
            for request, rows in zip(requests, both, strict=True)
        ]

    def encode_response(self, output: Floats) -> Response:
        data = [ranking(scores) for scores in output]
        return json_response({"object": "classify", "data": data, "model": MODEL_NAME, "usage": usage(len(data))})


class VisionEmbeddingAPI(DigitAPI):
    """Answers with the embedding of a picture."""

    path = "/embeddings"

    def decode_request(self, request: ImageEmbeddingRequest) -> list[bytes]:
        return [request.input] if isinstance(request.input, bytes) else request.input

    def predict(self, requests: list[list[bytes]]) -> list[Floats]:
        """Return the embeddings of each request, shape (pictures, 64)."""
        return call_in_batches(self.model.embed, requests, self.max_batch_size)

    def encode_response(self, output: Floats) -> Response:
        return json_response(embeddings_body(output, MODEL_NAME) | {"usage": usage(len(output))})


def ranking(scores: Floats) -> list[dict[str, Any]]:
    """Return labels with their scores, the best first; `scores` has shape (10,)."""
    values = rounded(scores)
    return [{"label": LABELS[at], "score": values[at]} for at in np.argsort(-scores, kind="stable")]


def usage(pictures: int) -> dict[str, int]:
    """Return Infinity's account of a request; pictures have no tokens, so each counts as one."""
    return {"prompt_tokens": pictures, "total_tokens": pictures}
