"""Ask a server for answers, several requests at a time, so that it batches as it does under load."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ..load.tasks import Task
from .answer import Answer, read_answers


def ask(
    url: str,
    route: str,
    task: Task,
    model: str,
    inputs: Sequence[str],
    *,
    inputs_per_request: int = 1,
    concurrency: int = 1,
    headers: Mapping[str, str] | None = None,
    timeout_s: float = 60.0,
) -> list[Answer]:
    """One answer an input, in their order. A server that doesn't answer makes invalid answers, not an error."""
    import httpx

    chunks = [inputs[at : at + inputs_per_request] for at in range(0, len(inputs), inputs_per_request)]
    # The benchmark's traffic goes where the file says, never through a proxy of the environment.
    with (
        httpx.Client(headers=dict(headers or {}), timeout=timeout_s, trust_env=False) as client,
        ThreadPoolExecutor(max(1, min(concurrency, len(chunks)))) as threads,
    ):
        answered = threads.map(
            lambda chunk: _ask(client, f"{url}{route}", task, task.body(model, chunk), len(chunk)), chunks
        )
        return [answer for answers in answered for answer in answers]


def _ask(client: Any, url: str, task: Task, body: Mapping[str, Any], count: int) -> list[Answer]:
    import httpx

    try:
        response = client.post(url, json=body)
        if response.status_code != 200:
            return [Answer(invalid=f"the status is {response.status_code}")] * count
        return read_answers(response.json(), count, task.name == "classification")
    except httpx.HTTPError as error:
        return [Answer(invalid=f"no answer ({type(error).__name__})")] * count
    except (ValueError, RecursionError):
        return [Answer(invalid="the body is not JSON")] * count
