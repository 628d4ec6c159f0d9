"""The embeddings endpoint as a LitServe API: request model, dynamic batching, answers.

Requests are validated by FastAPI in the web process, each on its own, so a bad one is answered with 422 and never
reaches a batch. Good ones wait in a queue from which the worker takes as many as it may at once.
"""

# LitServe reads the annotations of decode_request and encode_response at run time: no `from __future__` here.
import contextlib
import json
from pathlib import Path
from queue import Empty
from typing import Annotated, Any, Literal

import litserve
import numpy as np
from fastapi import Response
from litserve.loops.base import _SENTINEL_VALUE, _StopLoopError
from litserve.loops.simple_loops import BatchedLoop
from model import MODEL_NAME, Embedder
from numpy.typing import NDArray
from pydantic import BaseModel, Field

MAX_INPUTS = 64
MAX_CHARACTERS = 10_000

Text = Annotated[str, Field(min_length=1, max_length=MAX_CHARACTERS)]
Embeddings = NDArray[np.float32]


class EmbeddingRequest(BaseModel):
    """Body of `POST /v1/embeddings`, as OpenAI defines it."""

    input: Text | Annotated[list[Text], Field(min_length=1, max_length=MAX_INPUTS)]
    model: Literal["all-MiniLM-L6-v2"] = "all-MiniLM-L6-v2"
    encoding_format: Literal["float"] = "float"


class BlockingBatchedLoop(BatchedLoop):  # type: ignore[misc]
    """Sleeps until a request arrives, then takes whatever else is already waiting.

    LitServe's own loop polls its queue without a pause and burns a core while idle.
    """

    def get_batch_requests(
        self, lit_api: litserve.LitAPI, request_queue: Any, transport: Any
    ) -> tuple[list[tuple[int, str, EmbeddingRequest]], list[tuple[int, str]]]:
        waiting = [request_queue.get()]
        with contextlib.suppress(Empty):
            while len(waiting) < lit_api.max_batch_size:
                waiting.append(request_queue.get_nowait())
        if _SENTINEL_VALUE in waiting:
            raise _StopLoopError
        return [(consumer, uid, request) for consumer, uid, _, request in waiting], []


class EmbeddingAPI(litserve.LitAPI):  # type: ignore[misc]
    """LitServe's hooks around an `Embedder`.

    Args:
        image: which ONNX file answers, one of `model.IMAGES`.
        threads: ONNX Runtime threads of the one worker.
        cache: directory of the built ONNX files.
        max_batch_size: texts in one model call, at most.
    """

    def __init__(self, image: str, threads: int, cache: Path, max_batch_size: int) -> None:
        super().__init__(max_batch_size=max_batch_size, api_path="/v1/embeddings", loop=BlockingBatchedLoop())
        self.image = image
        self.threads = threads
        self.cache = cache

    def setup(self, device: str) -> None:
        self.embedder = Embedder(self.image, self.threads, self.cache)
        self.embedder.embed(["The first call allocates memory, so it is made before the server says it is ready."])

    def decode_request(self, request: EmbeddingRequest) -> list[str]:
        return [request.input] if isinstance(request.input, str) else request.input

    def predict(self, requests: list[list[str]]) -> list[Embeddings]:
        """Return the embeddings of each request; a request may hold several texts, a model call at most a batch."""
        texts = [text for request in requests for text in request]
        calls = range(0, len(texts), self.max_batch_size)
        embeddings = np.concatenate([self.embedder.embed(texts[at : at + self.max_batch_size]) for at in calls])
        ends = np.cumsum([len(request) for request in requests])
        return np.split(embeddings, ends[:-1])

    def encode_response(self, output: Embeddings) -> Response:
        # Seven decimals are float32's precision here; encoded by hand because FastAPI's encoder walks every number.
        rounded = np.round(output.astype(np.float64), 7).tolist()
        data = [{"object": "embedding", "index": at, "embedding": vector} for at, vector in enumerate(rounded)]
        body = json.dumps({"object": "list", "data": data, "model": MODEL_NAME})
        return Response(content=body, media_type="application/json")
