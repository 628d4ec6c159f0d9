"""guidellm, all generations: a file is a sweep, and each benchmark in it a point.

Its inter token latency is a mean over a request, so it is the TPOT here; its time per output token counts the first
one, too, and has no place. Whole answers are in s, the rest in ms. Source: vllm-project/guidellm, benchmark schemas.
"""

from __future__ import annotations

import collections
import datetime as dt
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import Any

from matrix_benchmarking.errors import ArtifactError
from matrix_benchmarking.store import ArtifactPath, Part, read_yaml

from . import MS, OF_COUNTS, Field, at, counted, field, limit, measured, number, objects, point, statistics
from .without import without_values

TOOL = "guidellm"
FORMAT = "guidellm, JSON or YAML"
file_names = ("*.json", "*.yaml", "*.yml")
STATISTICS = {"mean": "mean", "p50": "percentiles.p50", "p90": "percentiles.p90", "p95": "percentiles.p95"}
STATISTICS |= {"p99": "percentiles.p99"}


def _good(metric: str, statistic: str = "mean") -> tuple[str, str]:
    return f"metrics.{metric}.successful.{statistic}", f"{metric}.successful.{statistic}"


def _latency(name: str, metric: str, unit: float) -> dict[str, Field]:
    return {f"{name}_{what}": field(*_good(metric, path), unit=unit) for what, path in STATISTICS.items()}


FIELDS: Mapping[str, Field] = {
    "requests_per_s": field(*_good("requests_per_second")),
    "output_tokens_per_s": field(*_good("output_tokens_per_second")),
    "input_tokens_per_s": field(*_good("prompt_tokens_per_second")),
    "total_tokens_per_s": field(*_good("tokens_per_second")),
    **_latency("e2e", "request_latency", 1.0),
    **_latency("ttft", "time_to_first_token_ms", MS),
    **_latency("tpot", "inter_token_latency_ms", MS),
    "goodput": field(*_good("request_goodput")),
    "concurrency_reached": field(*_good("request_concurrency")),
    "input_length_mean": field(*_good("prompt_token_count")),
    "output_length_mean": field(*_good("output_token_count")),
    "schedule_delay_mean": field(
        *("scheduler_metrics.request_targeted_start_delay_avg", "run_stats.request_targeted_start_delay_avg"),
        *("run_stats.request_start_time_targeted_delay_avg", *_good("request_dispatch_delay")),
    ),
    "schedule_delay_p99": field(*_good("request_dispatch_delay", "percentiles.p99")),
}
DERIVED: Sequence[str] = [*OF_COUNTS, *(f"itl_{statistic}" for statistic in STATISTICS)]
_TOTALS = ("metrics.request_totals", "request_totals", "scheduler_metrics.requests_made", "run_stats.requests_made")
COUNTS = {
    "requests": field(*(f"{path}.successful" for path in _TOTALS)),
    "failed_requests": field(*(f"{path}.errored" for path in _TOTALS)),
    "duration": field("duration", "run_duration"),
}
_FIRST = re.compile(rb'\s*\{\s*"benchmarks"\s*:\s*\[\s*\{\s*"benchmarks"\s*:')


def recognises(head: bytes, name: str) -> bool:
    if name.endswith((".yaml", ".yml")):
        return b"benchmarks:" in head and any(key in head for key in (b"guidellm", b"strategy", b"backend_type"))
    is_later = any(key in head for key in (b"guidellm", b'"type_"', b'"strategy_index"'))
    return b'"benchmarks"' in head and (is_later or _FIRST.match(head) is not None)


def belongs_to_another(path: Path, names: Set[str]) -> bool:
    """The YAML of a run whose JSON lies beside it, as guidellm leaves them if it is asked for both."""
    return path.suffix in (".yaml", ".yml") and path.stem.endswith("benchmarks") and f"{path.stem}.json" in names


def read(file: ArtifactPath) -> Iterator[Part]:
    document = read_yaml(file) if file.path.suffix in (".yaml", ".yml") else _json(file)
    benchmarks = document.get("benchmarks") if isinstance(document, dict) else None
    if not isinstance(benchmarks, list):
        raise ArtifactError(file, "holds no list of benchmarks")
    names: collections.Counter[str] = collections.Counter()
    for (settings, name), results in _points(document, benchmarks):
        part = f"{name} {names[name]}" if name in names else name
        names[name] += 1
        yield point(part, TOOL, {**settings, "repeat": None}, results)


def _points(
    document: Mapping[str, Any], benchmarks: Sequence[Any]
) -> Iterator[tuple[tuple[dict[str, object], str], dict[str, Any]]]:
    for one in benchmarks:
        if isinstance(sweep := at(one, "benchmarks"), list):  # of the first generation
            for each in objects(sweep):
                strategy = {"type_": each.get("mode"), "rate": each.get("rate")}
                yield _settings(one, {"args": {"strategy": strategy}}), _of_first(each)
        elif isinstance(one, dict):
            yield _settings(document, one), _results(one)


def _json(file: ArtifactPath) -> Any:
    """The document without its single requests, which may be many times as large as the rest."""
    with file.open("rb") as stream:
        try:
            return json.loads(without_values(stream, b"requests", within=b"{[{"))
        except (ValueError, RecursionError) as error:
            raise ArtifactError(file, f"is not valid JSON: {error}") from error


def _settings(document: Mapping[str, Any], one: Mapping[str, Any]) -> tuple[dict[str, object], str]:
    """The settings of a benchmark, and the name of its strategy."""
    strategy: Any = next((each for path in ("config.strategy", "args.strategy") if (each := at(one, path))), {})
    kind = str(at(strategy, "type_") or at(strategy, "kind") or "benchmark")
    rate, streams = (
        next((value for key in keys if (value := at(strategy, key)) is not None), None)
        for keys in (("rate", "rate_per_second"), ("streams", "max_concurrency", "concurrency"))
    )
    settings: dict[str, object] = {"strategy": kind}
    if kind == "synchronous":
        settings |= {"concurrency": 1, "request_rate": "unlimited"}
    elif kind in ("concurrent", "throughput"):
        settings |= {"concurrency": limit(streams) if kind == "concurrent" or streams else "unlimited"}
        settings["request_rate"] = "unlimited"
    else:
        settings |= {"request_rate": limit(rate)}
    models = ("config.backend.model", "worker.backend_model", "benchmarker.backend.model")
    whole = ("config.spec.backend.model", "args.model", "args.backend_kwargs.model", "args.backend_args.model")
    settings["model"] = next((v for path in models if (v := at(one, path))), None) or next(
        (v for path in whole if (v := at(document, path))), None
    )
    settings |= _data(document, one)
    labels = at(document, "config.metadata.labels") or at(document, "args.labels") or at(one, "extras")
    if isinstance(labels, dict):
        settings = {**labels, **{name: value for name, value in settings.items() if value is not None}}
    asked = streams if kind == "concurrent" else rate if kind not in ("synchronous", "throughput") else None
    return settings, kind if (known := number(asked)) is None else f"{kind} {known:g}"


def _data(document: Mapping[str, Any], one: Mapping[str, Any]) -> dict[str, object]:
    """Where the prompts come from, and the lengths that a synthetic text was asked to have."""
    given = at(document, "config.spec.data") or at(document, "args.data") or at(one, "request_loader.data")
    first = given[0] if isinstance(given, list) and given else given
    if isinstance(first, str):
        text = first
        try:
            first = json.loads(text)
        except ValueError:
            first = dict(re.findall(r"(\w+)=([^,\s]+)", text)) or {"path": text}
    if not isinstance(first, dict):
        return {}
    lengths = {
        name: int(value) if (value := number(_float(first.get(key)))) else None
        for name, key in (("input_length", "prompt_tokens"), ("output_length", "output_tokens"))
    }
    source = (
        first.get("path")
        or first.get("source")
        or first.get("kind")
        or ("synthetic" if any(lengths.values()) else None)
    )
    return {**lengths, "dataset": str(source).rpartition("/")[2] if source else None}


def _float(value: object) -> object:
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return None


def _results(one: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {**measured(one, {**FIELDS, **COUNTS})}
    for name, paths in (("start", ("start_time", "run_stats.start_time")), ("end", ("end_time", "run_stats.end_time"))):
        value = next((known for path in paths if (known := number(at(one, path))) is not None), None)
        if value is not None and 0 < value < 4e9:
            found[name] = dt.datetime.fromtimestamp(value, dt.UTC)
    if "start" in found and "end" in found:
        found.setdefault("duration", (found["end"] - found["start"]).total_seconds())
    if found.get("schedule_delay_mean", 0.0) > found.get("duration", math.inf):
        del found["schedule_delay_mean"]  # some versions take requests that never had a time for ones of 1970
    found["campaign"] = True
    warned = [f"guidellm warned: {said}" for each in objects(one.get("warnings")) if (said := each.get("message"))]
    found["told"] = [*found.get("told", ()), *warned]
    return counted(found)


def _of_first(one: Mapping[str, Any]) -> dict[str, Any]:
    """What the single requests give, which is all that the first generation writes; its times are in s."""
    requests, errors = objects(one.get("results")), objects(one.get("errors"))
    samples: dict[str, list[float]] = {"e2e": [], "ttft": [], "tpot": [], "itl": []}
    times, tokens = [], {"prompt": 0.0, "output": 0.0}
    for request in requests:
        start, first, last, end = (
            number(request.get(f"{name}_time")) for name in ("start", "first_token", "last_token", "end")
        )
        counts = {kind: number(request.get(f"{kind}_token_count")) or 0.0 for kind in tokens}
        tokens = {kind: tokens[kind] + count for kind, count in counts.items()}
        if start is None or end is None:
            continue
        times += [start, end]
        samples["e2e"].append(end - start)
        if first is not None:
            samples["ttft"].append(first - start if first >= start else first)
        waits = at(request, "decode_times.data")
        gaps = [known for gap in waits if (known := number(gap)) is not None] if isinstance(waits, list) else []
        samples["itl"] += gaps
        decoding = sum(gaps) if gaps else last - first if first is not None and last is not None else None
        if decoding is not None and counts["output"] > 1:
            samples["tpot"].append(decoding / (counts["output"] - 1))
    found: dict[str, Any] = {f"{name}_{w}": v for name in samples for w, v in statistics(samples[name]).items()}
    found |= {"requests": float(len(requests)), "failed_requests": float(len(errors)), "campaign": True}
    found |= {"input_tokens": tokens["prompt"], "output_tokens": tokens["output"]}
    if times and 0 < min(times) <= max(times) < 4e9:
        found["duration"] = max(times) - min(times)
        found["start"], found["end"] = (dt.datetime.fromtimestamp(each, dt.UTC) for each in (min(times), max(times)))
    return counted(found)
