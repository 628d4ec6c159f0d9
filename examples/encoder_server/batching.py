"""Dynamic batching: the worker's loop, and how requests of several inputs share model calls."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from queue import Empty
from typing import Any, TypeVar

import litserve
import numpy as np
from litserve.loops.base import _SENTINEL_VALUE, _StopLoopError
from litserve.loops.simple_loops import BatchedLoop
from numpy.typing import NDArray

MAX_INPUTS = 64

Floats = NDArray[np.float32]
Input = TypeVar("Input")


class BlockingBatchedLoop(BatchedLoop):  # type: ignore[misc]
    """Sleeps until a request arrives, then takes whatever else is already waiting.

    With a batch timeout it waits for more, at most so long, while the batch isn't full. LitServe's own loop polls its
    queue without a pause and burns a core while idle.
    """

    def get_batch_requests(
        self, lit_api: litserve.LitAPI, request_queue: Any, transport: Any
    ) -> tuple[list[tuple[int, str, Any]], list[tuple[int, str]]]:
        waiting = [request_queue.get()]
        deadline = time.monotonic() + lit_api.batch_timeout
        with contextlib.suppress(Empty):
            while len(waiting) < lit_api.max_batch_size:
                left_s = deadline - time.monotonic()
                waiting.append(request_queue.get(timeout=left_s) if left_s > 0 else request_queue.get_nowait())
        if _SENTINEL_VALUE in waiting:
            raise _StopLoopError
        return [(consumer, uid, request) for consumer, uid, _, request in waiting], []


def call_in_batches(
    model: Callable[[Sequence[Input]], Floats], requests: Sequence[Sequence[Input]], batch_size: int
) -> list[Floats]:
    """Return the model's rows for each request; a request may hold several inputs, a call at most `batch_size`."""
    inputs = [item for request in requests for item in request]
    calls = range(0, len(inputs), batch_size)
    rows = np.concatenate([model(inputs[at : at + batch_size]) for at in calls])
    ends = np.cumsum([len(request) for request in requests])
    return np.split(rows, ends[:-1])
