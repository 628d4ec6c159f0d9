"""hyperfine --export-json: seconds; the commands of a file are compared, and the runs of a command are its repeats."""

from collections.abc import Iterator

from matrix_benchmarking.store import ArtifactPath, Part, read_json

from . import number, parameters, repeats


def recognises(head: bytes, name: str) -> bool:
    return all(key in head for key in (b'"results"', b'"command"', b'"stddev"', b'"times"'))


def read(file: ArtifactPath) -> Iterator[Part]:
    for index, result in enumerate(read_json(file)["results"]):
        settings = {"tool": "hyperfine", "benchmark": file.path.stem, "command": result["command"]}
        settings |= parameters(result.get("parameters"), settings)
        results = {
            "cpu_time": (number(result.get("user")) or 0) + (number(result.get("system")) or 0),
            "exit_codes": result.get("exit_codes"),
        }
        samples = result.get("times")
        if samples:
            yield from repeats(f"{index}", settings, "time", samples, results)
        else:  # --export-json of a tool that keeps no samples
            yield f"{index}", settings, {**results, "time": number(result["mean"])}
