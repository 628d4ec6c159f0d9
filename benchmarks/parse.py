"""How fast a parse is, as a ratio to its floor: reading and decoding the same bytes, nothing else.

Builds a tree of test directories with realistic artifacts (about 44 KB each), and measures the floor,
a cold parse (no caches), a warm one (fresh caches) and reading the tree's index in turn, in one run, at
each size. The files are in the operating system's page cache throughout: "cold" is about matbench's
caches, not about the disk.

    python benchmarks/parse.py [--tests 1000 10000] [--rounds 3] [--jobs N]
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import yaml

from matrix_benchmarking import store
from matrix_benchmarking.cli import garbage_is_rare
from matrix_benchmarking.files import INDEX_PREFIX
from matrix_benchmarking.workload import Workload, load

SAMPLES = 600
HELP_RUNS = 21
LOG_LINE = "INFO request {} answered in {} ms with status 200\n"


def main() -> None:
    options = _options()
    workload = load("encoder_bench")
    print("  tests  KB/test     floor      cold      warm  cold/floor  warm/floor     index  warm/index  peak memory")
    times_per_test: dict[int, tuple[float, float]] = {}
    index_sizes: dict[int, float] = {}
    for count in sorted(options.tests):
        with tempfile.TemporaryDirectory(prefix="matbench-parse-") as directory:
            tree = Path(directory)
            paths = build(tree, count)
            kilobytes = sum(path.stat().st_size for path in paths) / count / 1000
            with garbage_is_rare():  # as in a command
                floor, cold, warm, index = measure(workload, tree, paths, options.rounds, options.jobs)
            megabytes = sum(path.stat().st_size for path in tree.glob(f"{INDEX_PREFIX}*")) / 1e6
        times_per_test[count] = cold / count, warm / count
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        print(
            f"{count:>7,}  {kilobytes:>7.1f}  {floor:>6.2f} s  {cold:>6.2f} s  {warm:>6.2f} s"
            f"  {cold / floor:>10.2f}  {warm / floor:>10.2f}  {index:>6.3f} s  {warm / index:>10.1f}  {peak:>7} MiB",
            flush=True,
        )
        index_sizes[count] = megabytes
    small, large = min(times_per_test), max(times_per_test)
    cold, warm = (times_per_test[large][kind] / times_per_test[small][kind] for kind in (0, 1))
    print(f"time per test at {large:,} against {small:,} tests: cold × {cold:.2f}, warm × {warm:.2f}")
    sizes = ", ".join(f"{size:.2f} MB for {count:,} tests" for count, size in index_sizes.items())
    print(f"size of the index: {sizes}")
    help_s, python_s = time_help()
    print(f"matbench --help: {help_s:.3f} s (python -c pass: {python_s:.3f} s), medians of {HELP_RUNS}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tests", type=int, nargs="+", default=[1000, 10_000], help="sizes of the tree")
    parser.add_argument("--rounds", type=int, default=3, help="measurements of which the median counts")
    parser.add_argument("--jobs", type=int, help="processes of the parse (the floor has one); default: automatic")
    return parser.parse_args()


def measure(
    workload: Workload, tree: Path, paths: list[Path], rounds: int, jobs: int | None
) -> tuple[float, float, float, float]:
    """Medians of floor, cold parse, warm parse and reading the index in seconds, measured in turn."""
    times: dict[str, list[float]] = {"floor": [], "cold": [], "warm": [], "index": []}
    for _ in range(rounds):
        times["floor"].append(seconds(lambda: read_and_decode(paths)))
        store.clean(workload, tree)
        for kind in ("cold", "warm"):
            times[kind].append(seconds(lambda: store.parse_tree(workload, tree, jobs=jobs)))
        times["index"].append(seconds(lambda: store.read_index(workload, tree)))
    floor, cold, warm, index = (statistics.median(values) for values in times.values())
    return floor, cold, warm, index


def read_and_decode(paths: list[Path]) -> None:
    """The floor: each file read whole, and decoded by the fastest decoder of its kind."""
    decode_json, loader = msgspec.json.Decoder().decode, getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    for path in paths:
        with open(path, "rb", buffering=0) as stream:
            content = stream.read()
        if path.suffix == ".json":
            decode_json(content)
        elif path.suffix == ".yaml":
            yaml.load(content, loader)
        else:
            content.decode()


def seconds(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def build(tree: Path, count: int) -> list[Path]:
    """A tree of *count* test directories with four hw_types; gives the paths of all files."""
    rng = random.Random(count)
    paths = []
    for index in range(count):
        directory = tree / f"cpu-{index % 4}" / f"batch_{index // 4 % 64}" / f"run_{index}"
        for name, content in _artifacts(rng, index).items():
            path = directory / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, encoding="utf-8")
            paths.append(path)
    return paths


def _artifacts(rng: random.Random, index: int) -> dict[str, str]:
    settings = {
        "task": "embedding",
        "model": "all-MiniLM-L6-v2",
        "vendor": "local",
        "hw_type": f"cpu-{index % 4}",
        "image": "onnx-fp32",
        "engine": "onnxruntime",
        "batch_size": index // 4 % 64,
        "vus": index // 256,
        "repeat": 0,
        "version": "1.0.0",
    }
    uuid = f"{rng.getrandbits(128):032x}"
    log = "".join(LOG_LINE.format(number, rng.randint(5, 900)) for number in range(240))
    return {
        "settings.yaml": "".join(f"{name}: {value}\n" for name, value in settings.items()),
        "exit_code": "0\n",
        ".uuid": f"{uuid}\n",
        "test_start_end.json": '{"start": "2026-01-01T10:00:00+00:00", "end": "2026-01-01T10:01:00+00:00"}',
        "000__server/server.json": json.dumps({"cpus": [0, 1], "threads": 2, "command": ["server"] * 12}),
        "000__server/server.log": log,
        "001__monitor/utilization.json": json.dumps(_utilization(rng)),
        "002__k6__run/summary.json": json.dumps(_summary(rng)),
        "002__k6__run/load_generator.json": json.dumps({"cpus": [0, 1], "competes_with_server": True}),
        "003__fidelity/fidelity.json": json.dumps({"mean": 0.9934, "minimum": 0.9781, "count": 64}),
    }


def _utilization(rng: random.Random) -> dict[str, object]:
    start = 1_790_000_000.0
    return {
        "time": [round(start + index / 10, 3) for index in range(SAMPLES)],
        "cpus_load": [[round(rng.random(), 4), round(rng.random(), 4)] for _ in range(SAMPLES)],
        "main_memory": [round(rng.random(), 4) for _ in range(SAMPLES)],
        "gpus_load": [],
        "gpus_memory": [],
        "processes": {"k6": [round(rng.random(), 4) for _ in range(SAMPLES)]},
        "load_window": {"start": start, "end": start + SAMPLES / 10},
    }


def _summary(rng: random.Random) -> dict[str, object]:
    values = sorted(rng.uniform(20, 30) for _ in range(7))  # in the order in which a measurement gives them
    trend = dict(zip(("min", "med", "avg", "p(90)", "p(95)", "p(99)", "max"), values, strict=True))
    trends = ("blocked", "connecting", "duration", "receiving", "sending", "tls_handshaking", "waiting")
    metrics: dict[str, object] = {
        f"http_req_{name}": {"type": "trend", "contains": "time", "values": trend} for name in trends
    }
    metrics["http_req_duration{expected_response:true}"] = {"type": "trend", "values": trend}
    metrics["http_reqs"] = {"type": "counter", "values": {"count": 6000 + rng.randint(0, 99), "rate": 100.5}}
    metrics["http_req_failed"] = {"type": "rate", "values": {"rate": 0, "passes": 0, "fails": 6000}}
    return {
        "root_group": {"name": "", "groups": []},
        "state": {"testRunDurationMs": 60_000.5},
        "metrics": metrics,
    }


def time_help() -> tuple[float, float]:
    """Medians of starting ``matbench --help`` and of starting Python alone, in seconds, in turn."""
    commands = ([str(Path(sys.executable).with_name("matbench")), "--help"], [sys.executable, "-c", "pass"])
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(HELP_RUNS):
        for command, values in zip(commands, times, strict=True):
            values.append(seconds(lambda c=command: subprocess.run(c, stdout=subprocess.DEVNULL, check=True)))
    return statistics.median(times[0]), statistics.median(times[1])


if __name__ == "__main__":
    main()
