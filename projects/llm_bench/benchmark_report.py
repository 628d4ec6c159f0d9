"""Runs as llm-d Benchmark Reports 0.2.1, the format that several tools share.

What its fields can't hold, such as a percentile without a mean or a setting of one's own, stands in the native
configuration of the component, so that nothing is lost when a report is read again. Schema: llm-d/llm-d-benchmark.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from collections.abc import Mapping
from typing import Any

VERSION = "0.2.1"
LATENCIES = {
    "ttft": ("time_to_first_token", "s"),
    "tpot": ("time_per_output_token", "s/token"),
    "itl": ("inter_token_latency", "s/token"),
    "e2e": ("request_latency", "s"),
}
RATES = {
    "requests_per_s": ("request_rate", "queries/s"),
    "output_tokens_per_s": ("output_token_rate", "tokens/s"),
    "input_tokens_per_s": ("input_token_rate", "tokens/s"),
    "total_tokens_per_s": ("total_token_rate", "tokens/s"),
}
UNKNOWN = "unknown"
_SIZES = ("tp", "pp", "dp", "ep")


def report(
    uid: str,
    settings: Mapping[str, Any],
    measures: Mapping[str, float],
    *,
    start: dt.datetime | None = None,
    end: dt.datetime | None = None,
    repeat: int = 0,
    campaign: str | None = None,
) -> dict[str, Any]:
    """The report of one run, valid by the schema.

    Args:
        uid: an id of this report.
        settings: in the names of ``llm_bench``: ``model``, ``engine``, ``hw_type`` …
        measures: by the names and in the units of the vocabulary of ``llm_bench``: s, tokens/s, shares.
        repeat: index among the runs at the same settings.
        campaign: the same text for what was measured together.
    """
    aggregate = {"requests": _requests(measures), "latency": _latency(measures), "throughput": _throughput(measures)}
    time = {"start": start and start.isoformat(), "end": end and end.isoformat(), "duration": _duration(measures)}
    observed = _observed(measures)
    results: dict[str, Any] = {"request_performance": {"aggregate": _known(aggregate)}}
    if observed:
        results["observability"] = {"components": [{"component_label": "server", "aggregate": observed}]}
    run: dict[str, Any] = {"uid": uid, "eid": _digest(settings)}
    if any(time.values()):
        run["time"] = _known(time)
    native = {"tool": "matbench", "settings": dict(settings), "measures": dict(measures)}
    native |= _known({"repeat": repeat or None, "campaign": campaign})
    scenario = {"stack": [_component(settings, native)], "load": _load(settings, measures)}
    return {"version": VERSION, "run": run, "scenario": _known(scenario), "results": results}


def _known(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _digest(value: object) -> str:
    return hashlib.blake2b(json.dumps(value, sort_keys=True, default=str).encode(), digest_size=16).hexdigest()


def _duration(measures: Mapping[str, float]) -> str | None:
    duration = measures.get("duration")
    return None if duration is None else f"PT{duration:.6f}S"


def _requests(measures: Mapping[str, float]) -> dict[str, Any] | None:
    done, failed = measures.get("requests"), measures.get("failed_requests")
    if done is None:
        return None
    lengths = {
        f"{kind}_length": {"units": "count", "mean": mean}
        for kind in ("input", "output")
        if (mean := measures.get(f"{kind}_length_mean")) is not None
    }
    counts = {"total": int(done + (failed or 0)), "failures": None if failed is None else int(failed)}
    return {**_known(counts), **lengths}


def _latency(measures: Mapping[str, float]) -> dict[str, Any] | None:
    """Latencies whose means are known, since the schema asks for these."""
    found = {}
    for name, (theirs, unit) in LATENCIES.items():
        values = {each: measures.get(f"{name}_{each}") for each in ("mean", "p50", "p90", "p95", "p99")}
        if values["mean"] is not None:
            found[theirs] = {"units": unit, **_known(values)}
    return found or None


def _throughput(measures: Mapping[str, float]) -> dict[str, Any] | None:
    found = {
        theirs: {"units": unit, "mean": measures[name]}
        for name, (theirs, unit) in RATES.items()
        if measures.get(name) is not None
    }
    return found or None


def _observed(measures: Mapping[str, float]) -> dict[str, Any]:
    units = {"gpu_utilization": ("gpu_utilization", "percent", 100.0), "gpu_power": ("power_consumption", "Watts", 1.0)}
    return {
        theirs: {"units": unit, "mean": measures[name] * factor}
        for name, (theirs, unit, factor) in units.items()
        if measures.get(name) is not None
    }


def _component(settings: Mapping[str, Any], native: Mapping[str, Any]) -> dict[str, Any]:
    """The server: an inference engine where all is known that the schema asks of one, since a guess would be read as
    known; else a generic component.
    """
    engine, version = settings.get("engine"), settings.get("version")
    names = (engine, version, settings.get("model"), settings.get("hw_type"))
    gpus, sizes = settings.get("gpus"), {name: settings.get(name) for name in _SIZES}
    whole = all(isinstance(size, int) and not isinstance(size, bool) and size > 0 for size in _known(sizes).values())
    if all(isinstance(name, str) for name in names) and isinstance(gpus, int) and gpus > 0 and sizes["tp"] and whole:
        standardized: dict[str, Any] = {
            "kind": "inference_engine",
            "tool": engine,
            "tool_version": version,
            "role": "replica",
            "replicas": 1,
            "model": {"name": settings["model"]},
            "accelerator": {"model": settings["hw_type"], "count": gpus, "parallelism": _known(sizes)},
        }
    else:
        known = {name: settings.get(name) for name in ("model", "hw_type", "gpus", *_SIZES)}
        standardized = {
            "kind": "generic",
            "tool": str(engine or UNKNOWN),
            "tool_version": str(version or UNKNOWN),
            **_known(known),
        }
    return {
        "metadata": {"label": "server", "cfg_id": _digest(standardized)},
        "standardized": standardized,
        "native": {"config": dict(native)},
    }


def _load(settings: Mapping[str, Any], measures: Mapping[str, float]) -> dict[str, Any] | None:
    """What was sent; nothing where the length of the prompts isn't known, which the schema asks for."""
    lengths = {}
    for kind, name in (("input", "input_seq_len"), ("output", "output_seq_len")):
        asked, made = settings.get(f"{kind}_length"), measures.get(f"{kind}_length_mean")
        if isinstance(asked, (int, float)) and not isinstance(asked, bool):
            lengths[name] = {"distribution": "fixed" if asked == made else "other", "value": asked}
        elif made is not None:
            lengths[name] = {"distribution": "other", "value": made}
    if "input_seq_len" not in lengths:
        return None
    rate, concurrency = settings.get("request_rate"), settings.get("concurrency")
    dataset = str(settings.get("dataset") or "").lower()
    source = "random" if dataset in ("random", "synthetic") else "sampled" if dataset else UNKNOWN
    loads = {
        "rate_qps": rate if isinstance(rate, (int, float)) else None,
        "concurrency": concurrency if isinstance(concurrency, int) else None,
    }
    standardized = {
        "tool": str(settings.get("tool") or UNKNOWN),
        "tool_version": str(settings.get("tool_version") or UNKNOWN),
        "source": source,
        **lengths,
        **_known(loads),
    }
    return {"metadata": {"cfg_id": _digest(standardized)}, "standardized": standardized, "native": {}}
