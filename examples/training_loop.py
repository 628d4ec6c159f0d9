"""A small real training, to see whether it waits for its data: a network that names the material of each pixel.

On the CPU it is two layers in numpy; on a GPU (``--device=cuda``, with PyTorch) it looks at a pixel's surroundings too.

The data set is made when it is first needed: cubes of PIXELS × PIXELS spectra as a 12-bit camera would give them, in
one file each, in three formats. An epoch reads all of them in a new order, through a cache that is much smaller than
they are, at a limited rate or as fast as the disk gives them. Strategies:

* ``plain``: float32 arrays, read and decoded between two steps;
* ``blosc2``: the same, compressed without loss;
* ``float16``: half precision arrays;
* ``ring-buffer``: half precision arrays, read ahead by a thread into the slots of a ring.

It writes ``timings.feather`` (a row an epoch) and ``training.json`` (what an epoch holds). Try it:

    python examples/training_loop.py --strategy=ring-buffer --io-speed=40 --output=.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import importlib.metadata
import itertools
import json
import os
import queue
import resource
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # one core computes, so that one is left to read and decode

import numpy as np

PIXELS, CHANNELS, CLASSES = 64, 32, 8
SHAPE = (PIXELS, PIXELS, CHANNELS)
LABELS = PIXELS * PIXELS  # a byte a pixel, before the spectra
FORMATS = {"plain": "float32", "blosc2": "blosc2", "float16": "float16", "ring-buffer": "float16"}
HIDDEN, LEARNING_RATE = 64, 0.5
SLOTS, CHUNK = 4, 128 << 10
UNLIMITED = "unlimited"


class TokenBucket:
    """Lets bytes through at a rate; what it saves while nobody asks is one chunk, as a disk saves nothing."""

    def __init__(self, bytes_per_s: float | None) -> None:
        self.bytes_per_s, self.tokens, self.filled = bytes_per_s, 0.0, time.monotonic()

    def take(self, count: int) -> None:
        """Wait until *count* bytes may pass."""
        if self.bytes_per_s is None:
            return
        now = time.monotonic()
        self.tokens = min(CHUNK, self.tokens + (now - self.filled) * self.bytes_per_s) - count
        self.filled = now
        if self.tokens < 0:
            time.sleep(-self.tokens / self.bytes_per_s)


class Reader:
    """Reads whole files through a bucket and a cache of the last ones, and counts what it did."""

    def __init__(self, bucket: TokenBucket, cache_bytes: int) -> None:
        self.bucket, self.limit, self.used = bucket, cache_bytes, 0
        self.cache: collections.OrderedDict[Path, bytes] = collections.OrderedDict()
        self.read_bytes = self.hits = 0
        self.read_s = 0.0
        self.drops_pages = hasattr(os, "posix_fadvise")

    def read(self, path: Path) -> bytes:
        started = time.perf_counter()
        content = self.cache.pop(path, None)
        if content is None:
            content = self._from_disk(path)
            self.used += len(content)
        else:
            self.hits += 1
        self.cache[path] = content
        while self.used > self.limit:
            self.used -= len(self.cache.popitem(last=False)[1])
        self.read_s += time.perf_counter() - started
        return content

    def _from_disk(self, path: Path) -> bytes:
        parts = []
        with path.open("rb", buffering=0) as stream:
            while part := stream.read(CHUNK):
                self.bucket.take(len(part))
                parts.append(part)
            if self.drops_pages:
                try:  # the next epoch shall read from the disk again, not from the system's memory
                    os.posix_fadvise(stream.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
                except OSError:
                    self.drops_pages = False
        content = b"".join(parts)
        self.read_bytes += len(content)
        return content


class Loader:
    """Reads and decodes batches: cubes as float32 and the label of each pixel."""

    def __init__(self, files: list[Path], strategy: str, batch_size: int, reader: Reader, seed: int) -> None:
        self.files, self.kind, self.batch_size, self.reader = files, FORMATS[strategy], batch_size, reader
        self.random = np.random.default_rng(seed)
        self.decode_s = 0.0

    def order(self) -> list[list[Path]]:
        """The files of an epoch, batch by batch."""
        files = [self.files[at] for at in self.random.permutation(len(self.files))]
        return [files[at : at + self.batch_size] for at in range(0, len(files), self.batch_size)]

    def fill(self, batch: list[Path], cubes: Any, labels: Any) -> int:
        """Put a *batch* into arrays that are there already; gives the number of its samples."""
        for at, path in enumerate(batch):
            content = self.reader.read(path)
            started = time.perf_counter()
            labels[at] = np.frombuffer(content, np.uint8, LABELS)
            cubes[at] = self._decoded(content[LABELS:])
            self.decode_s += time.perf_counter() - started
        return len(batch)

    def _decoded(self, content: bytes) -> Any:
        if self.kind == "blosc2":
            import blosc2

            return np.frombuffer(blosc2.decompress2(content), np.float32).reshape(SHAPE)
        return np.frombuffer(content, self.kind).reshape(SHAPE)


def buffers(slots: int, batch_size: int) -> list[tuple[Any, Any]]:
    """Arrays for batches that are used again and again."""
    return [
        (np.empty((batch_size, *SHAPE), np.float32), np.empty((batch_size, LABELS), np.uint8)) for _ in range(slots)
    ]


def in_turn(loader: Loader) -> Iterator[tuple[Any, Any]]:
    """The batches of an epoch, each loaded when it is asked for."""
    ((cubes, labels),) = buffers(1, loader.batch_size)
    for batch in loader.order():
        count = loader.fill(batch, cubes, labels)
        yield cubes[:count], labels[:count]


def ahead(loader: Loader) -> Iterator[tuple[Any, Any]]:
    """The batches of an epoch, loaded by a thread into a ring of slots while the batches before them are used."""
    slots = buffers(SLOTS, loader.batch_size)
    free: queue.Queue[int] = queue.Queue()
    full: queue.Queue[tuple[int, int] | BaseException | None] = queue.Queue()
    for slot in range(SLOTS):
        free.put(slot)

    def load() -> None:
        try:
            for batch in loader.order():
                slot = free.get()
                full.put((slot, loader.fill(batch, *slots[slot])))
            full.put(None)
        except BaseException as error:  # noqa: BLE001  raised again where the batches are used
            full.put(error)

    threading.Thread(target=load, daemon=True).start()
    while (filled := full.get()) is not None:
        if isinstance(filled, BaseException):
            raise filled
        slot, count = filled
        cubes, labels = slots[slot]
        yield cubes[:count], labels[:count]
        free.put(slot)


class Network:
    """Two layers on each pixel, trained by gradient descent on the cross entropy."""

    def __init__(self, seed: int) -> None:
        random = np.random.default_rng(seed)
        self.first = random.normal(0, CHANNELS**-0.5, (CHANNELS, HIDDEN)).astype(np.float32)
        self.second = random.normal(0, HIDDEN**-0.5, (HIDDEN, CLASSES)).astype(np.float32)

    def step(self, cubes: Any, labels: Any) -> float:
        """Learn from a batch; its mean loss before that."""
        spectra, wanted = cubes.reshape(-1, CHANNELS), labels.reshape(-1)
        hidden = np.maximum(spectra @ self.first, 0)
        scores = hidden @ self.second
        scores -= scores.max(axis=1, keepdims=True)
        shares = np.exp(scores)
        shares /= shares.sum(axis=1, keepdims=True)
        rows = np.arange(len(wanted))
        loss = float(-np.log(shares[rows, wanted] + 1e-9).mean())
        shares[rows, wanted] -= 1
        shares /= len(wanted)
        back = (shares @ self.second.T) * (hidden > 0)
        self.second -= LEARNING_RATE * (hidden.T @ shares)
        self.first -= LEARNING_RATE * (spectra.T @ back)
        return loss


class GpuNetwork:
    """Convolutions over the pixels in bfloat16, on a GPU; a step ends when the GPU has ended it."""

    def __init__(self, seed: int, width: int = 512, layers: int = 7) -> None:
        import torch

        torch.manual_seed(seed)
        torch.backends.cudnn.benchmark = True
        sizes = [CHANNELS, *[width] * layers]
        convolutions = [
            (torch.nn.Conv2d(fan_in, fan_out, 3, padding=1), torch.nn.ReLU())
            for fan_in, fan_out in itertools.pairwise(sizes)
        ]
        parts = [part for pair in convolutions for part in pair]
        network = torch.nn.Sequential(*parts, torch.nn.Conv2d(width, CLASSES, 1))
        self.network = network.to("cuda", memory_format=torch.channels_last)
        self.optimizer = torch.optim.SGD(self.network.parameters(), LEARNING_RATE / 10)
        self.torch = torch

    def step(self, cubes: Any, labels: Any) -> float:
        """Learn from a batch; its mean loss before that."""
        torch = self.torch
        images = torch.from_numpy(cubes).to("cuda").permute(0, 3, 1, 2)  # in memory the channels stay last
        wanted = torch.from_numpy(labels).to("cuda").long().reshape(-1, PIXELS, PIXELS)
        with torch.autocast("cuda", torch.bfloat16):
            loss = torch.nn.functional.cross_entropy(self.network(images), wanted)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()
        return float(loss.detach())


def train(arguments: argparse.Namespace) -> None:
    """Train for some epochs, and write after each what it took."""
    files = data_set(arguments.data, FORMATS[arguments.strategy], arguments.samples)
    limit = None if arguments.io_speed == UNLIMITED else float(arguments.io_speed) * 1e6
    reader = Reader(TokenBucket(limit), int(arguments.cache_mb * 1e6))
    loader = Loader(files, arguments.strategy, arguments.batch_size, reader, arguments.seed)
    batches = ahead if arguments.strategy == "ring-buffer" else in_turn
    network = GpuNetwork(arguments.seed) if arguments.device == "cuda" else Network(arguments.seed)
    rows: list[dict[str, Any]] = []
    for epoch in range(arguments.epochs):
        reader.read_bytes, reader.hits, reader.read_s, loader.decode_s = 0, 0, 0.0, 0.0
        start_time, started, computed, losses = time.time(), time.perf_counter(), 0.0, []
        for cubes, labels in batches(loader):
            before = time.perf_counter()
            losses.append(network.step(cubes, labels))
            computed += time.perf_counter() - before
        elapsed = time.perf_counter() - started
        rows.append(
            {
                "epoch_index": epoch,
                "time": elapsed,
                "start_time": start_time,
                "end_time": time.time(),
                "read_s": reader.read_s,
                "decode_s": loader.decode_s,
                "compute_s": computed,
                "wait_s": elapsed - computed,
                "read_bytes": reader.read_bytes,
                "cache_hits": reader.hits,
                "loss": float(np.mean(losses)),
            }
        )
        write(arguments, rows, len(files), reader)
        print(f"epoch {epoch}: {elapsed:.2f} s, {elapsed - computed:.2f} s of it waiting, loss {rows[-1]['loss']:.3f}")
    time.sleep(arguments.rest_s)


def write(arguments: argparse.Namespace, rows: list[dict[str, Any]], samples: int, reader: Reader) -> None:
    """``timings.feather`` and ``training.json``."""
    import pyarrow
    from pyarrow import feather

    feather.write_feather(pyarrow.Table.from_pylist(rows), str(arguments.output / "timings.feather"))
    facts = {
        "device": arguments.device,
        "samples_per_epoch": samples,
        "bytes_per_epoch": samples * int(np.prod(SHAPE)) * 4,
        "cache_bytes": reader.limit,
        "page_cache": "dropped" if reader.drops_pages else "kept",
        "peak_rss_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "versions": {name: version for name in ("numpy", "blosc2", "torch") if (version := _version(name))},
    }
    (arguments.output / "training.json").write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")


def data_set(directory: Path, kind: str, samples: int) -> list[Path]:
    """The files of a format, made where they are not there yet."""
    place = directory / f"{kind}-{samples}"
    if not place.is_dir():
        directory.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(dir=directory))
        try:
            for at in range(samples):
                _make_file(made / f"{at:05d}", kind, np.random.default_rng(at))
            made.rename(place)
        finally:
            shutil.rmtree(made, ignore_errors=True)
    return sorted(place.iterdir())


def _make_file(path: Path, kind: str, random: Any) -> None:
    """A cube of patches of materials: each has a smooth spectrum, and the camera counts photons."""
    axis = np.linspace(0, 1, CHANNELS)
    peaks = np.linspace(0.1, 0.9, CLASSES)[:, None]
    spectra = 0.25 + 0.5 * np.exp(-(((axis - peaks) / 0.15) ** 2))
    patches = random.integers(0, CLASSES, (PIXELS // 8, PIXELS // 8))
    labels = np.kron(patches, np.ones((8, 8), np.int64))
    light = random.uniform(0.5, 1.2, (PIXELS // 8, PIXELS // 8, 1)).repeat(8, 0).repeat(8, 1)
    counts = random.poisson(spectra[labels] * light * 1500).clip(0, 4095)
    cube = (counts / np.float32(2048)).astype(np.float32)
    if kind == "blosc2":
        import blosc2

        packed = blosc2.compress2(
            cube.tobytes(), typesize=4, codec=blosc2.Codec.ZSTD, clevel=5, filters=[blosc2.Filter.BITSHUFFLE]
        )
    else:
        packed = cube.astype(kind).tobytes()
    with path.open("wb") as stream:
        stream.write(labels.astype(np.uint8).tobytes() + packed)
        stream.flush()
        os.fsync(stream.fileno())  # only what is on the disk can leave the system's memory


def _version(name: str) -> str | None:
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        return importlib.metadata.version(name)
    return None


def main() -> None:
    parser = argparse.ArgumentParser(description="Train a small network, and time its epochs.")
    parser.add_argument("--strategy", choices=sorted(FORMATS), default="plain")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--io-speed", default=UNLIMITED, help="MB/s, or unlimited")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--samples", type=int, default=450)
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--cache-mb", type=float, default=24)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rest-s", type=float, default=0.3, help="rest at the end, so that a monitor sees it")
    parser.add_argument("--data", type=Path, default=Path(tempfile.gettempdir()) / "training_loop")
    parser.add_argument("--output", type=Path, default=Path())
    train(parser.parse_args())


if __name__ == "__main__":
    main()
