"""The three tasks of an encoder server: over which route they are asked, and what an answer looks like.

``embedding`` is OpenAI's embeddings route, as Infinity, text-embeddings-inference and vLLM have it;
``classification`` and ``vision_embedding`` are Infinity's.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any


@dataclasses.dataclass(frozen=True, slots=True)
class Task:
    """One kind of request.

    Attributes:
        name: value of the setting ``task``.
        route: where it is posted to, unless the benchmark file says otherwise.
        modality: ``image`` where inputs are images as data URIs.
    """

    name: str
    route: str
    modality: str | None = None

    def body(self, model: str, inputs: Sequence[str]) -> dict[str, Any]:
        """The JSON body of a request for *inputs*."""
        extra = {"modality": self.modality} if self.modality else {}
        return {"model": model, "input": list(inputs), **extra}


TASKS: Mapping[str, Task] = {
    task.name: task
    for task in (
        Task("embedding", "/v1/embeddings"),
        Task("classification", "/classify"),
        Task("vision_embedding", "/embeddings", modality="image"),
    )
}
