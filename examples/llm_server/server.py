"""An example server that streams OpenAI chat completions from a small decoder with random weights: nonsense, in time.

    python server.py --port 8000 --max-batch-size 8

It answers ``/v1/chat/completions`` (streaming or not), ``/v1/models`` and ``/health``. A token is a byte of text, as in
the tokenizer beside it; an answer has as many as were asked for.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
import uuid
from collections.abc import AsyncIterator
from typing import Any

import numpy as np
import uvicorn
from batching import Batcher, Request
from decoder import SHAPE, Decoder, Tokens
from releases import CURRENT, page_of
from starlette.applications import Starlette
from starlette.requests import Request as HTTPRequest
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

LETTERS = "abcdefghijklmnopqrstuvwxyz etaoin"
MODEL = "random-decoder"
DEFAULT_TOKENS = 16


class BadRequest(ValueError):
    """What was asked for makes no sense; the message says why."""


def text_of(token: int) -> str:
    """One letter, which is one token again."""
    return LETTERS[token % len(LETTERS)]


def tokens_of(messages: object) -> Tokens:
    """The bytes of all messages. Raises BadRequest: they are no messages."""
    if not isinstance(messages, list) or not messages:
        raise BadRequest("'messages' is no list of messages")
    texts = []
    for message in messages:
        content = message.get("content") if isinstance(message, dict) else None
        parts = content if isinstance(content, list) else [{"text": content}]
        found = [part.get("text") for part in parts if isinstance(part, dict)]
        if not found or not all(isinstance(text, str) for text in found):
            raise BadRequest("a message has no text as its 'content'")
        texts += found
    data = "".join(texts).encode()
    if not data:
        raise BadRequest("the prompt is empty")
    return np.frombuffer(data, np.uint8).astype(np.int64)


def understood(body: object) -> tuple[Tokens, int, bool, bool]:
    """Prompt, tokens that are wanted, whether they are streamed, and whether usage is told. Raises BadRequest."""
    if not isinstance(body, dict):
        raise BadRequest("the body is no JSON object")
    prompt = tokens_of(body.get("messages"))
    wanted = next((body[name] for name in ("max_completion_tokens", "max_tokens") if body.get(name)), DEFAULT_TOKENS)
    if isinstance(wanted, bool) or not isinstance(wanted, int) or wanted < 1:
        raise BadRequest("'max_tokens' is no number from 1 on")
    if len(prompt) + wanted > SHAPE.window:
        raise BadRequest(f"{len(prompt)} and {wanted} tokens are more than the window of {SHAPE.window}")
    options = body.get("stream_options")
    usage = bool(options.get("include_usage")) if isinstance(options, dict) else False
    return prompt, wanted, bool(body.get("stream")), usage


async def answer(batcher: Batcher, prompt: Tokens, wanted: int) -> AsyncIterator[str]:
    """The letters of the answer, as they are made; a client that leaves ends it."""
    loop, queue = asyncio.get_running_loop(), asyncio.Queue[int | None]()
    request = Request(prompt, wanted, lambda token: loop.call_soon_threadsafe(queue.put_nowait, token) and None)
    batcher.submit(request)
    try:
        while (token := await queue.get()) is not None:
            yield text_of(token)
    finally:
        request.cancelled = True


def application(batcher: Batcher) -> Starlette:
    async def chat(request: HTTPRequest) -> Response:
        try:
            prompt, wanted, is_streamed, tells_usage = understood(json.loads(await request.body()))
        except (ValueError, RecursionError) as error:
            said = {"message": str(error) or "too deep", "type": "invalid_request_error"}
            return JSONResponse({"error": said}, status_code=400)
        about: dict[str, Any] = {"id": f"chatcmpl-{uuid.uuid4().hex}", "created": int(time.time()), "model": MODEL}
        usage = {"prompt_tokens": len(prompt), "completion_tokens": wanted, "total_tokens": len(prompt) + wanted}
        if not is_streamed:
            text = "".join([letter async for letter in answer(batcher, prompt, wanted)])
            choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "length"}
            return JSONResponse({**about, "object": "chat.completion", "choices": [choice], "usage": usage})

        async def events() -> AsyncIterator[str]:
            made = 0
            async for letter in answer(batcher, prompt, wanted):
                made += 1
                end = "length" if made == wanted else None
                choice = {"index": 0, "delta": {"content": letter}, "finish_reason": end}
                yield _event({**about, "object": "chat.completion.chunk", "choices": [choice]})
            if tells_usage:
                yield _event({**about, "object": "chat.completion.chunk", "choices": [], "usage": usage})
            yield "data: [DONE]\n\n"

        return StreamingResponse(events(), media_type="text/event-stream")

    async def models(request: HTTPRequest) -> Response:
        return JSONResponse({"object": "list", "data": [{"id": MODEL, "object": "model", "owned_by": "matbench"}]})

    async def health(request: HTTPRequest) -> Response:
        return JSONResponse({"status": "ok"})

    return Starlette(
        routes=[
            Route("/v1/chat/completions", chat, methods=["POST"]),
            Route("/v1/models", models),
            Route("/health", health),
        ]
    )


def _event(content: object) -> str:
    return f"data: {json.dumps(content)}\n\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--max-batch-size", type=int, default=8, help="sequences that are decoded together")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--release", default=CURRENT, help="the release to play; from 0.3.0 on it is slower")
    given = parser.parse_args()
    if given.max_batch_size < 1:
        parser.error("--max-batch-size is 1 at least")
    try:
        page = page_of(given.release)
    except ValueError as error:
        parser.error(str(error))
    slots = given.max_batch_size
    batcher = Batcher(Decoder(slots, given.threads, page=page), slots)
    batcher.start()
    uvicorn.run(
        application(batcher), host="127.0.0.1", port=given.port, log_level="warning", timeout_graceful_shutdown=1
    )


if __name__ == "__main__":
    main()
