"""pytest-benchmark --benchmark-json: seconds; with --benchmark-save-data the rounds of a test are its repeats."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from matrix_benchmarking.store import ArtifactPath, Part, read_json

from . import moment, number, parameters, repeats

UNVERSIONED = "unversioned"  # what it writes where there is no repository


def recognises(head: bytes, name: str) -> bool:
    return b'"benchmarks"' in head and (b'"machine_info"' in head or b'"fullname"' in head)


def read(file: ArtifactPath) -> Iterator[Part]:
    content = read_json(file)
    info = content.get("commit_info") or {}
    commit = info.get("id")
    machine = content.get("machine_info") or {}
    end = moment(content.get("datetime"))
    for benchmark in content["benchmarks"]:
        stats, full_name = benchmark["stats"], benchmark["fullname"]
        settings = {"tool": "pytest-benchmark", "benchmark": full_name}
        if commit and commit != UNVERSIONED:
            settings["version"] = f"{commit}-dirty" if info.get("dirty") else commit
        if name := _machine(machine):
            settings["machine"] = name
        if python := machine.get("python_version"):  # without the last part: no other speed is expected of that
            settings["python"] = ".".join(str(python).split(".")[:2])
        if (name := machine.get("python_implementation")) and name != "CPython":
            settings["python"] = f"{name} {settings.get('python', '')}".rstrip()
        params = {name: _lasting(value) for name, value in (benchmark.get("params") or {}).items()}
        known = parameters(params, settings, [value for value in params.values() if isinstance(value, str)])
        settings |= known or ({"parameter": benchmark["param"]} if benchmark.get("param") else {})
        results = {"end": end, "rounds": stats["rounds"]}
        results |= {"python": machine.get("python_version"), "node": machine.get("node")}
        if stats.get("data"):
            yield from repeats(full_name, settings, "time", stats["data"], results)
        else:
            yield full_name, settings, {**results, "time": number(stats["mean"])}


def _lasting(value: object) -> object:
    """A parameter; of a function or another object, without its address in that process."""
    match = re.fullmatch(r"UNSERIALIZABLE\[(.*)\]", value, re.DOTALL) if isinstance(value, str) else None
    return re.sub(r" at 0x[0-9a-fA-F]+", "", match[1]) if match else value


def _machine(info: Mapping[str, Any]) -> str | None:
    """The processor, since a hosted runner has another name each time; the name where no processor is told."""
    cpu = info["cpu"] if isinstance(info.get("cpu"), dict) else {}
    brand = cpu.get("brand_raw") or cpu.get("brand")
    return f"{brand}, {cpu.get('count')} cores" if brand and brand != "unknown" else info.get("node")
