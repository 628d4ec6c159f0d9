"""criterion.rs: a folder a benchmark; sample.json has nanoseconds for so many iterations, and each sample is a repeat.

``base`` holds the samples of an earlier run, which are not read again.
"""

from collections.abc import Iterator, Set
from pathlib import Path

from matrix_benchmarking.errors import ArtifactError
from matrix_benchmarking.filters import Scalar
from matrix_benchmarking.store import ArtifactPath, Part, read_json

from . import number, repeats, scalar


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
    pairs = zip(map(number, sample["times"]), map(number, sample["iters"]), strict=True)
    samples = [total / count * 1e-9 if total is not None and count else None for total, count in pairs]
    for part, known, results in repeats(benchmark["full_id"], settings, "time", samples, {}):
        done = benchmark.get("throughput") or {}
        if results["time"]:
            each = {"bandwidth": number(done.get("Bytes")), "rate": number(done.get("Elements"))}
            results = {**results, **{name: of / results["time"] for name, of in each.items() if of is not None}}
        yield part, known, results
