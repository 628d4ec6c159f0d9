"""The store of serving_bench: the client's log and its own load, and the roofline of the day.

The log is text, of which come two curves:

    Batch size 8: 297.16 reqs/sec
    Concurrency 8: 82.58 reqs/sec, CPU: 43.6%, GPU: 38.2%

A batch size is a measurement of the model by itself, a concurrency one through the server. The parts after the
throughput may be missing, which makes them unknown. Other lines say nothing.
"""

from __future__ import annotations

import math
import re
import types
from collections.abc import Mapping
from typing import Any

from matrix_benchmarking import plausible
from matrix_benchmarking.analyze.words import as_percent
from matrix_benchmarking.errors import ArtifactError
from matrix_benchmarking.plausible import is_number
from matrix_benchmarking.store import BaseStore, TestDirectory, ignore_file_not_found, read_json, read_text, understood

from ...llm_bench.benchmark_report import report
from ..roofline import roofline
from . import models

_LINE = re.compile(
    r"(?P<kind>Batch size|Concurrency) (?P<at>\d+): (?P<rate>[-+.\w]+) reqs/sec(?P<rest>(?:, *\w+: *[-+.\w]+ *%)*)"
)
_POINT = re.compile(r"^(Batch size|Concurrency) |\b(Batch size|Concurrency) \d+:")
_FORMS = "of the form 'Batch size N: … reqs/sec' or 'Concurrency N: … reqs/sec'"
_LOAD = re.compile(r"(\w+): *([-+.\w]+) *%")


def parse_log(text: str) -> types.SimpleNamespace:
    """``baseline`` and ``api``, lists of records, by batch size and by concurrency.

    A record of ``baseline`` has ``batch_size`` and ``throughput`` (requests/s), one of ``api`` ``concurrency``,
    ``throughput``, ``cpu`` and ``gpu`` (0 to 1, None where the line doesn't say).

    Raises:
        ValueError: a line of these forms that can't be understood, a point that was measured twice, or no line at all.
    """
    baseline: dict[int, types.SimpleNamespace] = {}
    api: dict[int, types.SimpleNamespace] = {}
    for number, line in enumerate(map(str.strip, text.splitlines()), start=1):
        if not _POINT.search(line):
            continue
        found = _LINE.fullmatch(line)
        if found is None:
            raise ValueError(f"line {number} is not {_FORMS}: {line[:80]!r}")
        at, rate = int(found["at"]), _number(found["rate"], number)
        if found["kind"] == "Batch size":
            _add(baseline, at, number, types.SimpleNamespace(batch_size=at, throughput=rate))
        else:
            loads = {name.lower(): _share(value, number) for name, value in _LOAD.findall(found["rest"])}
            record = types.SimpleNamespace(concurrency=at, throughput=rate, cpu=loads.get("cpu"), gpu=loads.get("gpu"))
            _add(api, at, number, record)
    if not baseline and not api:
        raise ValueError(f"holds no line {_FORMS}")
    return types.SimpleNamespace(baseline=_in_order(baseline), api=_in_order(api))


def _add(points: dict[int, types.SimpleNamespace], at: int, line: int, record: types.SimpleNamespace) -> None:
    if at < 1:
        raise ValueError(f"line {line} measures at {at}, which is nothing")
    if at in points:
        raise ValueError(f"line {line} measures {at} again")
    points[at] = record


def _in_order(points: dict[int, types.SimpleNamespace]) -> list[types.SimpleNamespace]:
    return [points[at] for at in sorted(points)]


def _share(text: str, line: int) -> float:
    share = _number(text, line) / 100
    if share > 1:
        raise ValueError(f"line {line} has a load of {text} %")
    return share


def _number(text: str, line: int) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        raise ValueError(f"line {line} has {text!r} where a number should be")
    return value


IMPORTANT_FILES = ["benchmark.log"]
OPTIONAL_FILES = ["client.json"]
BUSY_CLIENT = 0.9
"""Share of the client's cores from which the client may be the limit."""
BEYOND = 1.1
"""How many times the throughput of the model by itself is worth a warning, through the API."""


def parse_once(results: types.SimpleNamespace, test_dir: TestDirectory) -> None:
    """Read the curves; what is missing or damaged becomes None."""
    log = _parse_log(test_dir)
    results.baseline, results.api = (log.baseline, log.api) if log else (None, None)
    results.client_cpu = _parse_client(test_dir)


def parse_always(results: types.SimpleNamespace, test_dir: TestDirectory, import_settings: Mapping[str, Any]) -> None:
    """Look up the theoretical maximum: it belongs to the table of devices, not to the run."""
    found = roofline(import_settings)
    results.theoretical_max = found.requests_per_s
    results.theoretical_max_source = found.source
    results.theoretical_max_unknown = found.reason


def warnings(lts_payload: models.Payload) -> list[str]:
    """What makes the numbers of a run doubtful, a sentence each."""
    results = lts_payload.results
    api, baseline = results.api or [], results.baseline or []
    rates = [point.throughput for point in api]
    sentences = []
    if results.client_cpu is not None and results.client_cpu >= BUSY_CLIENT:
        sentences.append(f"the client was the limit: it used up to {as_percent(results.client_cpu)} of its cores")
    nothing = [f"{point.concurrency:,}" for point in api if not point.throughput]
    if nothing:
        sentences.append(
            f"the log says 0 requests/s at concurrency {', '.join(nothing)}: look whether any was answered"
        )
    if len(rates) > 1 and rates[-1] == max(rates) > 0.0:
        clients = api[-1].concurrency
        sentences.append(f"throughput was best at the most clients that were tried ({clients}): more may do better")
    own = max((point.throughput for point in baseline), default=0)
    if own and rates and max(rates) > BEYOND * own:
        sentences.append(
            f"throughput through the API is {max(rates) / own:,.3g} times the best of the model by itself: several "
            "answer, the best batch size wasn't tried, or it is another model"
        )
    maximum = results.theoretical_max
    if maximum is not None and max([*rates, own]) > maximum:
        sentences.append(
            "throughput is beyond the theoretical maximum: device, precision or model_flops is not what ran"
        )
    return sentences


def implausible(lts_payload: models.Payload) -> list[str]:
    """Values that can't be, a sentence each."""
    results = lts_payload.results
    sentences = plausible.shares(client_cpu=results.client_cpu)
    for point in results.api or []:
        found = plausible.shares(cpu=point.cpu, gpu=point.gpu)
        sentences += [f"at concurrency {point.concurrency:,}: {sentence}" for sentence in found]
    return sentences


def exchange(lts_payload: models.Payload) -> dict[str, dict[str, Any]]:
    """A Benchmark Report for each concurrency of the curve through the API."""
    metadata, count = lts_payload.metadata, lts_payload.metadata.settings.get("num_requests")
    found = {}
    for at in lts_payload.results.api or []:
        settings = {name: value for name, value in metadata.settings.items() if value is not None}
        settings |= {"concurrency": at.concurrency, "tool": "serving_bench"}
        measures = {"requests_per_s": at.throughput, "gpu_utilization": at.gpu}
        measures["requests"] = float(count) if is_number(count) else None
        known = {name: value for name, value in measures.items() if value is not None}
        name = f"-concurrency-{at.concurrency}"
        campaign = getattr(metadata, "campaign", None)
        uid = f"{metadata.test_uuid}{name}"
        found[name] = report(uid, settings, known, repeat=metadata.repeat, campaign=campaign)
    return found


@ignore_file_not_found
def _parse_log(test_dir: TestDirectory) -> types.SimpleNamespace:
    path = test_dir / "benchmark.log"
    return understood(path, parse_log, read_text(path))


@ignore_file_not_found
def _parse_client(test_dir: TestDirectory) -> float | None:
    """The most that the client used of its own cores at any concurrency."""
    path = test_dir / "client.json"
    content = read_json(path)
    loads = content.get("cpu") if isinstance(content, dict) else None
    if not isinstance(loads, dict) or not all(is_number(load) and 0 <= load <= 1 for load in loads.values()):
        raise ArtifactError(path, 'holds no loads from 0 to 1 as {"cpu": {CONCURRENCY: LOAD, …}}')
    return max(loads.values(), default=None)


local_store = BaseStore(
    cache_filename=".matbench_serving_bench.cache",
    important_files=IMPORTANT_FILES,
    optional_files=OPTIONAL_FILES,
    parse_always=parse_always,
    parse_once=parse_once,
    lts_payload_model=models.Payload,
    models_kpis=models.KPIS,
    get_kpi_labels=models.get_kpi_labels,
)
