"""criterion.rs: a folder a benchmark; sample.json has nanoseconds for so many iterations, and each sample is a repeat.

``base`` holds the samples of an earlier run, which are not read again.
"""

from collections.abc import Iterator, Set
from pathlib import Path

from matrix_benchmarking.errors import ArtifactError
from matrix_benchmarking.filters import Scalar
from matrix_benchmarking.store import ArtifactPath, Part, read_json

from . import repeats, scalar


def recognises(head: bytes, name: str) -> bool:
    return name.endswith("/new/sample.json") and b'"sampling_mode"' in head


def belongs_to_another(path: Path, names: Set[str]) -> bool:
    return path.parent.name == "base" and "sample.json" in names


def read(file: ArtifactPath) -> Iterator[Part]:
    sample, benchmark = read_json(file), read_json(file / "../benchmark.json")
    if len(sample["iters"]) != len(sample["times"]) or 0 in sample["iters"]:
        raise ArtifactError(file, "has not as many times as numbers of iterations")
    settings: dict[str, Scalar] = {"tool": "criterion", "benchmark": benchmark["full_id"]}
    if benchmark.get("value_str") is not None:
        settings["value"] = scalar(benchmark["value_str"])
    samples = [total / count * 1e-9 for total, count in zip(sample["times"], sample["iters"], strict=True)]
    for part, known, results in repeats(benchmark["full_id"], settings, "time", samples, {}):
        done = benchmark.get("throughput") or {}
        if "Bytes" in done:
            results = {**results, "bandwidth": done["Bytes"] / results["time"]}
        if "Elements" in done:
            results = {**results, "rate": done["Elements"] / results["time"]}
        yield part, known, results
