"""The text embeddings endpoint as a LitServe API: request model, dynamic batching, answers.

Requests are validated by FastAPI in the web process, each on its own, so a bad one is answered with 422 and never
reaches a batch. Good ones wait in a queue from which the worker takes as many as it may at once.
"""

# LitServe reads the annotations of decode_request and encode_response at run time: no `from __future__` here.
from pathlib import Path
from typing import Annotated, Literal

import litserve
from answers import embeddings_body, json_response
from batching import MAX_INPUTS, BlockingBatchedLoop, Floats, call_in_batches
from fastapi import Response
from model import MODEL_NAME, Embedder
from pydantic import BaseModel, Field
from releases import as_released

MAX_CHARACTERS = 10_000

Text = Annotated[str, Field(min_length=1, max_length=MAX_CHARACTERS)]


class EmbeddingRequest(BaseModel):
    """Body of `POST /v1/embeddings`, as OpenAI defines it."""

    input: Text | Annotated[list[Text], Field(min_length=1, max_length=MAX_INPUTS)]
    model: Literal["all-MiniLM-L6-v2"] = "all-MiniLM-L6-v2"
    encoding_format: Literal["float"] = "float"


class EmbeddingAPI(litserve.LitAPI):  # type: ignore[misc]
    """LitServe's hooks around an `Embedder`.

    Args:
        image: which ONNX file answers, one of `model.IMAGES`.
        threads: ONNX Runtime threads of the one worker.
        cache: directory of the built ONNX files.
        max_batch_size: texts in one model call, at most.
        batch_timeout: seconds to wait for more requests while a batch isn't full.
        release: which release to play, see `releases`.
    """

    def __init__(
        self, image: str, threads: int, cache: Path, max_batch_size: int, batch_timeout: float, release: str
    ) -> None:
        batching = {"max_batch_size": max_batch_size, "batch_timeout": batch_timeout, "loop": BlockingBatchedLoop()}
        super().__init__(api_path="/v1/embeddings", **batching)
        self.image = image
        self.threads = threads
        self.cache = cache
        self.release = release

    def setup(self, device: str) -> None:
        self.embedder = Embedder(self.image, self.threads, self.cache)
        self.model = as_released(self.embedder.embed, self.image, self.release)
        self.embedder.embed(["The first call allocates memory, so it is made before the server says it is ready."])

    def decode_request(self, request: EmbeddingRequest) -> list[str]:
        return [request.input] if isinstance(request.input, str) else request.input

    def predict(self, requests: list[list[str]]) -> list[Floats]:
        """Return the embeddings of each request, shape (texts, 384)."""
        return call_in_batches(self.model, requests, self.max_batch_size)

    def encode_response(self, output: Floats) -> Response:
        return json_response(embeddings_body(output, MODEL_NAME))
