"""asv's results directory: a file a commit, machine and environment; benchmarks.json above says units and parameters.

A run starts when its commit was made, so that series are in the order of commits. What was measured before a
benchmark's own code changed, which asv shows no more, is another series.
"""

import itertools
import json
from collections.abc import Iterator
from typing import Any

from matrix_benchmarking.errors import ArtifactError
from matrix_benchmarking.store import ArtifactPath, Part, read_json, read_text

from . import SECONDS, number, parameters, repeats, since_1970


def recognises(head: bytes, name: str) -> bool:
    return b'"commit_hash"' in head and (b'"benchmark_version"' in head or b'"env_name"' in head)


def read(file: ArtifactPath) -> Iterator[Part]:
    content, described = _json(file), file / "../../benchmarks.json"
    benchmarks = read_json(described) if described.is_file() else {}
    start = since_1970(content.get("date"), 1e-3)
    environment = content.get("env_name") or file.path.stem.partition("-")[2]
    common = {"tool": "asv", "version": content["commit_hash"], "environment": environment}
    if machine := content.get("params", {}).get("machine"):
        common["machine"] = machine
    columns = content.get("result_columns")  # of version 2
    for benchmark, result in content["results"].items():
        about = benchmarks.get(benchmark) or {}
        name, unit = _unit(benchmark, str(about.get("unit", "")))
        fields = result if columns is None else dict(zip(columns, result or (), strict=False))
        code = content.get("benchmark_version", {}).get(benchmark, None if columns is None else fields.get("version"))
        old = f" (code {str(code)[:8]})" if code not in (None, about.get("version", code)) else ""
        for part, given, value, samples in _points(fields, about):
            settings = {**common, "benchmark": f"{benchmark}{part}{old}", "measure": name}
            settings |= parameters(given, settings)
            if samples:
                scaled = [number(sample, unit) for sample in samples]
                yield from repeats(f"{benchmark}{part}", settings, name, scaled, {"start": start})
            elif value is None:
                yield f"{benchmark}{part}", settings, {"exit_code": 1, "start": start}
            elif number(value) is not None:  # else it was skipped
                yield f"{benchmark}{part}", settings, {name: number(value, unit), "start": start}


def _json(file: ArtifactPath) -> Any:
    """The document; NaN, which isn't JSON, stands for what was skipped."""
    try:
        return json.loads(read_text(file))
    except (ValueError, RecursionError) as error:
        raise ArtifactError(file, f"is not valid JSON: {error}") from error


def _unit(benchmark: str, unit: str) -> tuple[str, float]:
    """Which result a value is, and what makes base units of it."""
    function = benchmark.rpartition(".")[2]
    if unit == "bytes" or (not unit and function.startswith(("mem", "peakmem"))):
        return "memory", 1.0
    if unit == "seconds" or unit in SECONDS or (not unit and function.startswith("time")):
        return "time", SECONDS.get(unit, 1.0)
    return "tracked", 1.0


def _points(result: Any, about: dict[str, Any]) -> Iterator[tuple[str, dict[str, object], object, Any]]:
    """Of each combination of parameters: its name, the parameters, the value and its samples."""
    if not isinstance(result, dict):
        yield "", {}, result, None
        return
    values, samples, lists = (result.get(name) or [] for name in ("result", "samples", "params"))
    names = about.get("param_names") or [f"param{at + 1}" for at in range(len(lists))]
    for combination, value, raw in itertools.zip_longest(itertools.product(*lists), values, samples):
        if combination is not None:
            part = f"({', '.join(map(str, combination))})" if combination else ""
            yield part, dict(zip(names, combination, strict=False)), value, raw
