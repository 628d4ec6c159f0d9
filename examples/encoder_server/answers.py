"""What the endpoints answer, as JSON: embeddings, and what is wrong with a request."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from batching import Floats
from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError


def rounded(values: Floats) -> Any:
    """Return `values` as (nested) lists of floats with seven decimals, which is float32's precision around 1."""
    return np.round(values.astype(np.float64), 7).tolist()


def embeddings_body(embeddings: Floats, model: str) -> dict[str, Any]:
    """Return the answer to a request for embeddings, shape (inputs, size), as OpenAI defines it."""
    data = [{"object": "embedding", "index": at, "embedding": vector} for at, vector in enumerate(rounded(embeddings))]
    return {"object": "list", "data": data, "model": model}


def json_response(body: dict[str, Any], status: int = 200) -> Response:
    """Encode by hand, because FastAPI's encoder walks every number."""
    return Response(content=json.dumps(body), status_code=status, media_type="application/json")


async def invalid_request(request: Request, error: RequestValidationError) -> Response:
    """Answer 422 as FastAPI does, but without repeating the input: NaN or broken Unicode in it would make it a 500."""
    detail = [{"type": each["type"], "loc": each["loc"], "msg": each["msg"]} for each in error.errors()]
    return json_response({"detail": detail}, status=422)
