"""Google Benchmark --benchmark_format=json: each with its own unit; repetitions are repeats, aggregates are not."""

import collections
from collections.abc import Iterator
from typing import Any

from matrix_benchmarking.errors import MatbenchError
from matrix_benchmarking.filters import Scalar
from matrix_benchmarking.store import ArtifactPath, Part, read_json

from . import SECONDS, moment, note_others, number, scalar

_AGGREGATES = {"mean", "median", "stddev", "cv", "BigO", "RMS"}
_DEBUG = ("library_build_type", "debug"), "the benchmark library was built for debugging: times may be too long"
_SCALING = ("cpu_scaling_enabled", True), "the processor scaled its clock meanwhile"
_NUMBERS = ("_index", "_time", "_per_second", "_per_iter", "_used", "_bytes", "_growth", "tions", "threads")
_FLAGS, _OWN = {"real_time", "process_time", "manual_time"}, ("date", "host_name", "executable", "library_", "json_")


def recognises(head: bytes, name: str) -> bool:
    return b'"benchmarks"' in head and any(key in head for key in (b'"real_time"', b'"run_type"', b'"run_name"'))


def read(file: ArtifactPath) -> Iterator[Part]:
    context = (content := read_json(file)).get("context") or {}
    doubts = [said for (name, value), said in (_DEBUG, _SCALING) if context.get(name) == value]
    common = {"start": moment(context.get("date"))} | ({"doubts": doubts} if doubts else {})
    given = {name: text for name, text in context.items() if isinstance(text, str) and not name.startswith(_OWN)}
    rows = [row for row in content["benchmarks"] if row.keys() & {"real_time", "error_occurred"}]
    _name(rows := [row for row in rows if not row.get("skipped")])  # its times are 0
    note_others(file, {key for row in rows for key in row if number(row[key]) and not key.endswith(_NUMBERS)})
    single = [row for row in rows if row.get("run_type", "iteration") == "iteration"]
    measured = {row["run_name"] for row in single}
    # --benchmark_report_aggregates_only: one run, which is no repeat of measured ones
    single += [row for row in rows if row.get("aggregate_name") == "mean" and row["run_name"] not in measured]
    families = collections.Counter(name for name, _ in {(row["run_name"], row.get("family_index")) for row in single})
    counts = collections.Counter[str]()
    for row in single:
        run_name, settings = row["run_name"], {**given, "tool": "google-benchmark", **_named(row["run_name"])}
        if families[run_name] > 1:  # registered twice: the label tells them apart, where they have any
            settings["label"] = row.get("label") or row.get("family_index")
            run_name += f"/{settings['label']}"
        repeat = settings["repeat"] = counts[run_name]
        counts[run_name] += 1
        settings |= {"aggregate": "mean"} if row.get("run_type") == "aggregate" else {}
        settings |= {"machine": context["host_name"]} if context.get("host_name") else {}
        yield f"{run_name}/{repeat}", settings, _results(row) | common


def _name(rows: list[dict[str, Any]]) -> None:
    """Say of all *rows* of which run they are; before 1.5 the name alone tells aggregates, which no repetition is."""
    names = {row["name"] for row in rows}
    for row in rows:
        row["run_name"] = str(row.get("run_name") or row["name"])
        of, _, kind = str(row["name"]).rpartition("_")
        if "run_type" not in row and kind in _AGGREGATES and {f"{of}_mean", f"{of}_stddev"} <= names:
            row |= {"run_type": "aggregate", "aggregate_name": kind, "run_name": of}


def _named(run_name: str) -> dict[str, Scalar]:
    """``BM_Sort/size:100/8/threads:2`` as settings."""
    settings: dict[str, Scalar] = {"benchmark": run_name}
    plain = []
    for step in run_name.split("/")[1:]:
        name, separator, value = step.partition(":")
        if separator and name not in settings and name not in ("tool", "repeat", "repeats"):
            settings[name] = scalar(value)
        elif step not in _FLAGS and name != "repeats":
            plain.append(step)
    return settings | ({"arguments": scalar("/".join(plain))} if plain else {})


def _results(row: dict[str, Any]) -> dict[str, Any]:
    if row.get("error_occurred"):
        return {"error": row.get("error_message"), "exit_code": 1, "campaign": True}
    if (unit := SECONDS.get(str(row.get("time_unit", "ns")))) is None:
        raise MatbenchError(f"a time_unit '{row['time_unit']}' is not known")
    times = {"time": number(row["real_time"], unit), "cpu_time": number(row.get("cpu_time"), unit)}
    rates = {"bandwidth": number(row.get("bytes_per_second")), "rate": number(row.get("items_per_second"))}
    return {**times, **rates, "iterations": row.get("iterations"), "campaign": True}
