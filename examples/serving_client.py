"""A client of the example encoder server: what the model does by itself, and what of it gets through the API.

It writes `benchmark.log` (a line for each batch size and each concurrency) and `client.json` (its own load) into the
test directory. `matbench benchmark examples/serving_cpu.yaml --run` starts it for each configuration of the server.

    python serving_client.py --url http://127.0.0.1:8000 --image onnx-fp32 --server-cpus 0 --cpus 1
"""

from __future__ import annotations

import argparse
import http.client
import itertools
import json
import os
import statistics
import sys
import threading
import time
import urllib.parse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from matrix_benchmarking.benchmark.monitor import Monitor

SERVER = Path(__file__).resolve().parent / "encoder_server"
ROUTE, EMBEDDING_SIZE = "/v1/embeddings", 384
WARM_UP_S = 0.5
REQUEST_TIMEOUT_S = 30.0


class Load:
    """Clients that each send one text after the other until they are told to stop.

    Args:
        url: the server's address.
        texts: what is sent, by all clients in turns.
        concurrency: how many clients.
    """

    def __init__(self, url: str, texts: Sequence[str], concurrency: int) -> None:
        self.answered: list[float] = []  # when; appending is atomic
        self.failures: list[str] = []
        self._address = urllib.parse.urlsplit(url)
        self._bodies = [json.dumps({"input": text}).encode() for text in texts]
        self._next = itertools.count()
        self._stopped = threading.Event()
        self._threads = [threading.Thread(target=self._send, daemon=True) for _ in range(concurrency)]

    def run(self, seconds: float) -> None:
        for thread in self._threads:
            thread.start()
        self._stopped.wait(seconds)
        self._stopped.set()
        for thread in self._threads:
            thread.join()

    def _send(self) -> None:
        connection = http.client.HTTPConnection(
            str(self._address.hostname), self._address.port, timeout=REQUEST_TIMEOUT_S
        )
        while not self._stopped.is_set():
            body = self._bodies[next(self._next) % len(self._bodies)]
            try:
                connection.request("POST", ROUTE, body, {"Content-Type": "application/json"})
                answer = connection.getresponse()
                content = answer.read()
            except (OSError, http.client.HTTPException) as error:
                self.failures.append(f"{type(error).__name__}: {error}")
                return
            # Parsing every answer would make the client the limit: an embedding is some 4 kB of digits and commas.
            if answer.status != 200 or content.count(b",") < EMBEDDING_SIZE:
                self.failures.append(f"status {answer.status}: {content[:80]!r}")
                return
            self.answered.append(time.time())
        connection.close()


def measure_api(options: argparse.Namespace, texts: Sequence[str], concurrency: int) -> tuple[str, float]:
    """The log's line of one concurrency, and the load of the client's cores meanwhile.

    Raises:
        RuntimeError: a request failed.
    """
    load = Load(options.url, texts, concurrency)
    with Monitor({"server": options.server_processes, "client": [os.getpid()]}) as monitor:
        start = time.time() + WARM_UP_S
        load.run(WARM_UP_S + options.seconds)
    if load.failures:
        raise RuntimeError(f"{len(load.failures)} clients failed; the first: {load.failures[0]}")
    end = start + options.seconds
    seen = monitor.utilization({"start": start, "end": end})
    rate = sum(start <= moment < end for moment in load.answered) / options.seconds
    parts = [f"Concurrency {concurrency}: {rate:.2f} reqs/sec"]
    if "server" in seen["processes"]:
        parts.append(f"CPU: {100 * share(seen, 'server', options.server_cpus):.1f}%")
    if seen["gpus_load"]:
        parts.append(f"GPU: {100 * statistics.fmean(itertools.chain.from_iterable(seen['gpus_load'])):.1f}%")
    return ", ".join(parts), share(seen, "client", options.cpus)


def share(seen: dict[str, Any], processes: str, cpus: Sequence[int]) -> float:
    """What *processes* used of the cores that they may use, whatever else is done there."""
    return min(1.0, statistics.fmean(seen["processes"][processes]) / (len(cpus) or os.cpu_count() or 1))


def measure_baseline(options: argparse.Namespace, texts: Sequence[str]) -> Iterator[str]:
    """The log's line of each batch size: the model in this process, on the server's cores, without a server."""
    sys.path.insert(0, str(SERVER))
    from model import Embedder
    from onnx_files import default_cache_directory

    embedder = Embedder(options.image, 1, options.cache_dir or default_cache_directory())
    for size in options.batch_sizes:
        batches = itertools.cycle([texts[at : at + size] for at in range(0, len(texts) - size + 1, size)])
        embedder.embed(next(batches))
        start, done = time.perf_counter(), 0
        while (elapsed := time.perf_counter() - start) < options.baseline_seconds:
            embedder.embed(next(batches))
            done += size
        yield f"Batch size {size}: {done / elapsed:.2f} reqs/sec"


def numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",") if part]


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", required=True, help="address of the server")
    parser.add_argument("--image", default="onnx-fp32", help="the server's ONNX file, for the baseline")
    parser.add_argument("--batch-sizes", type=numbers, default=[1, 4, 8, 16, 32], help="batch sizes of the baseline")
    parser.add_argument("--concurrencies", type=numbers, default=[1, 4, 8, 16, 32], help="numbers of clients")
    parser.add_argument("--baseline-seconds", type=float, default=1.0, help="time for each batch size")
    parser.add_argument("--seconds", type=float, default=2.5, help="time for each concurrency")
    parser.add_argument(
        "--server-cpus", type=numbers, default=[], help="the server's cores, such as 0,1; all if left out"
    )
    known = os.environ.get("MATBENCH_TARGET_PROCESSES", "")
    parser.add_argument(
        "--server-processes", type=numbers, default=numbers(known), help="their ids; without them its load is unknown"
    )
    parser.add_argument("--cpus", type=numbers, default=[], help="the cores that this client may use")
    parser.add_argument("--cache-dir", type=Path, help="where the server keeps its ONNX files")
    here = Path(os.environ.get("MATBENCH_TEST_DIR", "."))
    parser.add_argument("--directory", type=Path, default=here, help="where the files are written")
    return parser.parse_args()


def main() -> None:
    options = parse_options()
    everywhere = os.sched_getaffinity(0)
    texts = (SERVER / "texts.txt").read_text(encoding="utf-8").splitlines()
    client: dict[str, float] = {}
    with open(options.directory / "benchmark.log", "w", encoding="utf-8") as log:
        print("Running baseline throughput tests...", file=log)
        os.sched_setaffinity(0, options.server_cpus or everywhere)
        for line in measure_baseline(options, texts):
            print(line, file=log, flush=True)
        print("Running API benchmarks...", file=log)
        os.sched_setaffinity(0, options.cpus or everywhere)
        for concurrency in options.concurrencies:
            line, load = measure_api(options, texts, concurrency)
            print(line, file=log, flush=True)
            client[str(concurrency)] = round(load, 4)
    (options.directory / "client.json").write_text(json.dumps({"cpu": client}) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
