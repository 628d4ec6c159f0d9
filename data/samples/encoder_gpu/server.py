"""An encoder of BERT-large's shape with random weights on a GPU, behind `POST /v1/embeddings` on 127.0.0.1.

It answers nonsense at an honest speed: what a forward pass costs doesn't depend on what the weights are. It needs
PyTorch with CUDA, and aiohttp.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import zlib
from typing import Any

import torch
from aiohttp import web

DTYPES = {"torch-fp32": torch.float32, "torch-bf16": torch.bfloat16}
VOCABULARY, SIZE, MAX_TOKENS = 30_522, 1024, 256


class Encoder:
    """The model on the GPU; texts become ids by their words' checksums."""

    def __init__(self, image: str) -> None:
        torch.manual_seed(0)
        layer = torch.nn.TransformerEncoderLayer(SIZE, 16, 4 * SIZE, activation="gelu", batch_first=True)
        layers = torch.nn.TransformerEncoder(layer, 24, enable_nested_tensor=False)
        self._words = torch.nn.Embedding(VOCABULARY, SIZE).to("cuda", DTYPES[image])
        self._layers = layers.eval().to("cuda", DTYPES[image])

    @torch.inference_mode()
    def embed(self, texts: list[str]) -> list[list[float]]:
        """Return unit-length embeddings, texts × 1024, computed in one pass."""
        rows = [[1 + zlib.crc32(word.encode()) % (VOCABULARY - 1) for word in text.split()] for text in texts]
        length = min(MAX_TOKENS, -(-max(map(len, rows)) // 16) * 16)
        ids = torch.tensor([(row + [0] * length)[:length] for row in rows], device="cuda")
        hidden = self._layers(self._words(ids), src_key_padding_mask=ids == 0).float()
        known = (ids > 0)[..., None]
        mean = (hidden * known).sum(1) / known.sum(1)
        embeddings: list[list[float]] = torch.nn.functional.normalize(mean, dim=1).cpu().tolist()
        return embeddings

    def warm_up(self, batch_size: int) -> None:
        """Load the kernels of batches and texts of all sizes."""
        for length in (16, 32):
            for size in range(1, batch_size + 1):
                self.embed(["word " * length] * size)


async def work(encoder: Encoder, waiting: asyncio.Queue[tuple[str, asyncio.Future[Any]]], batch_size: int) -> None:
    """Take whatever waits, `batch_size` texts at most, and answer it in one pass."""
    while True:
        batch = [await waiting.get()]
        while len(batch) < batch_size and not waiting.empty():
            batch.append(waiting.get_nowait())
        answers = await asyncio.to_thread(encoder.embed, [text for text, _ in batch])
        for (_, future), answer in zip(batch, answers, strict=True):
            if not future.done():
                future.set_result(answer)


def application(encoder: Encoder, batch_size: int) -> web.Application:
    """The routes, and the task that makes batches."""
    waiting: asyncio.Queue[tuple[str, asyncio.Future[Any]]] = asyncio.Queue()

    async def answer(request: web.Request) -> web.Response:
        asked = (await request.json())["input"]
        futures = []
        for text in [asked] if isinstance(asked, str) else asked:
            futures.append(asyncio.get_running_loop().create_future())
            waiting.put_nowait((text, futures[-1]))
        vectors = await asyncio.gather(*futures)
        data = [{"object": "embedding", "index": at, "embedding": vector} for at, vector in enumerate(vectors)]
        return web.Response(
            text=json.dumps({"object": "list", "data": data, "model": "bert-large-random"}),
            content_type="application/json",
        )

    async def start(app: web.Application) -> None:
        await asyncio.to_thread(encoder.warm_up, batch_size)
        app["work"] = asyncio.create_task(work(encoder, waiting, batch_size))

    async def health(request: web.Request) -> web.Response:
        return web.Response(text="ok")

    app = web.Application()
    app.on_startup.append(start)
    app.add_routes([web.post("/v1/embeddings", answer), web.get("/health", health)])
    return app


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--image", choices=DTYPES, required=True)
    parser.add_argument("--max-batch-size", type=int, required=True)
    parser.add_argument("--port", type=int, required=True)
    options = parser.parse_args()
    web.run_app(application(Encoder(options.image), options.max_batch_size), host="127.0.0.1", port=options.port)


if __name__ == "__main__":
    main()
