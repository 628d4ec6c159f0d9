"""What k6, the monitor and the encoder-analysis study wrote: decoded JSON in, numbers out."""

from __future__ import annotations

import itertools
import re
import types
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from matrix_benchmarking.errors import ArtifactError, SettingsError, explained, failing, needing
from matrix_benchmarking.files import read_regular
from matrix_benchmarking.plausible import is_number
from matrix_benchmarking.store import (
    ArtifactPath,
    FoundTest,
    Listing,
    Part,
    ignore_file_not_found,
    load_json,
    read_json,
)

if TYPE_CHECKING:
    from pyarrow import RecordBatch

Values = Mapping[str, object]
T = TypeVar("T")

_ANSWERED = "http_req_duration{expected_response:true}"


def parse_summary(content: object) -> types.SimpleNamespace:
    """What a k6 run did.

    Returns:
        Counts, a duration, and latencies of the answered requests: quantiles by percent, those that the summary holds,
        and the lowest and the highest. ``schedule_lag_p95_ms`` is how late requests of the open model were sent. None
        is what isn't known, or wasn't counted by the script. ``checks`` are how many failed and how many there were,
        ``crossed`` the thresholds that were crossed, ``vus_max`` how many virtual users there were, ``began_s`` when
        our script began the load, since the epoch.

    Raises:
        ValueError: it is not a k6 summary, or one of a run without HTTP requests.
    """
    try:
        metrics, duration_s = _metrics(content)
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"is not a k6 summary: {explained(error)}") from error
    if "http_reqs" not in metrics:
        raise ValueError("is a k6 summary without any HTTP request")
    requests = _count(metrics, "http_reqs")
    failed = _failed_requests(metrics, requests)
    latency = metrics.get(_ANSWERED)
    if latency is None and failed == 0:
        latency = metrics.get("http_req_duration")
    if not duration_s:
        rate = _statistic(metrics["http_reqs"], "rate")
        if not rate:
            raise ValueError("is a k6 summary that doesn't tell how long the run was")
        duration_s = requests / rate
    counted = "answered_inputs" in metrics or "sent_inputs" in metrics
    return types.SimpleNamespace(
        requests=requests,
        failed_requests=failed,
        duration_s=duration_s,
        avg_latency_ms=_statistic(latency, "avg"),
        p95_latency_ms=_statistic(latency, "p(95)", "p95"),
        latency_quantiles_ms=_quantiles(latency),
        latency_range_ms=(_statistic(latency, "min"), _statistic(latency, "max")),
        dropped_iterations=_count(metrics, "dropped_iterations"),
        schedule_lag_p95_ms=_statistic(metrics.get("schedule_lag"), "p(95)", "p95"),
        sent_inputs=_count(metrics, "sent_inputs") if counted else None,
        answered_inputs=_count(metrics, "answered_inputs") if counted else None,
        vus_max=_statistic(metrics.get("vus_max"), "max", "value"),
        checks=_checks(content, metrics),
        crossed=_crossed(content),
        began_s=_began_s(content),
    )


def _began_s(content: Any) -> float | None:
    setup_data = content.get("setup_data")
    began_ms = _number(setup_data.get("load_start_ms")) if isinstance(setup_data, dict) else None
    return None if began_ms is None else began_ms / 1000


def _checks(content: Any, metrics: Mapping[str, Values]) -> tuple[int, int]:
    """How many of the script's checks failed, and how many there were."""
    results = content.get("results")
    if not isinstance(results, dict):
        failed, passed = (_statistic(metrics.get("checks"), name) or 0 for name in ("fails", "passes"))
        return int(failed), int(failed + passed)
    try:
        failing = next(one["values"] for one in results["checks"]["metrics"] if one["name"] == "checks_failed")
        return int(failing["matches"]), int(failing["total"])
    except (KeyError, OverflowError, StopIteration, TypeError, ValueError):
        return 0, 0


def _crossed(content: Any) -> list[str]:
    """``p(95)<500 of http_req_duration``; an export has true for a threshold that was crossed, a summary ``ok``."""
    metrics = content.get("metrics")
    found = []
    for name, metric in metrics.items() if isinstance(metrics, dict) else ():
        thresholds = metric.get("thresholds")
        for limit, state in thresholds.items() if isinstance(thresholds, dict) else ():
            if state is True or (isinstance(state, dict) and state.get("ok") is False):
                found.append(f"{limit} of {name}")
    return found


def _metrics(content: object) -> tuple[dict[str, Values], float | None]:
    """The statistics of each metric by its name, and the run's duration in seconds where it is told.

    k6 has three forms: ``handleSummary`` (``metrics.NAME.values``), ``--summary-export`` (``metrics.NAME``) and the
    machine-readable one of k6 1.5 and later (``results.metrics``, a list).
    """
    if not isinstance(content, dict):
        raise ValueError("is not a k6 summary: it is no JSON object")
    if isinstance(content.get("results"), dict):
        listed = content["results"].get("metrics")
        duration = _number(content.get("config", {}).get("duration"))
        if not isinstance(listed, list):
            raise ValueError("is not a k6 summary: its 'results' have no list 'metrics'")
        return {metric["name"]: metric.get("values", {}) for metric in listed}, duration
    metrics = content.get("metrics")
    if not isinstance(metrics, dict) or not all(isinstance(metric, dict) for metric in metrics.values()):
        raise ValueError("is not a k6 summary: it has no 'metrics'")
    duration_ms = _number(content.get("state", {}).get("testRunDurationMs"))
    if duration_ms is not None and duration_ms < 0:
        raise ValueError("is a k6 summary whose duration is below 0")
    values = {name: metric.get("values", metric) for name, metric in metrics.items()}
    return values, None if duration_ms is None else duration_ms / 1000


def _failed_requests(metrics: Mapping[str, Values], requests: int) -> int:
    rate = metrics.get("http_req_failed", {})  # of failures; failed requests count in http_reqs, too
    for name in ("passes", "matches"):
        failed = _number(rate.get(name))
        if failed is not None:
            return int(failed)
    share = _statistic(rate, "rate", "value")
    if share is None:
        raise ValueError("is a k6 summary that doesn't tell how many requests failed")
    return round(share * requests)


def _count(metrics: Mapping[str, Values], name: str) -> int:
    """The value of a counter; k6 leaves out counters that were never added to: 0, which unknown is not."""
    count = _number((metrics.get(name) or {}).get("count", 0))
    if count is None or count < 0:
        raise ValueError(f"is a k6 summary whose count of '{name}' is no number of 0 or more")
    return int(count)


def _statistic(values: Values | None, *names: str) -> float | None:
    """The first of the statistics that is there and a finite number."""
    for name in names:
        number = _number((values or {}).get(name))
        if number is not None:
            return number
    return None


def _quantiles(latency: Values | None) -> dict[str, float]:
    """The quantiles that the summary holds, by percent: ``50``, ``90``, ``95``, ``99``."""
    names = {"50": ("med", "p(50)", "p50"), "90": ("p(90)", "p90"), "95": ("p(95)", "p95"), "99": ("p(99)", "p99")}
    found = {percent: _statistic(latency, *alternatives) for percent, alternatives in names.items()}
    return {percent: value for percent, value in found.items() if value is not None}


def _number(value: object) -> float | None:
    return value if is_number(value) else None


SERIES = ("requests", "failed", "answered_inputs", "p50_ms", "p95_ms")


def parse_timeseries(content: object) -> types.SimpleNamespace:
    """``start`` (seconds since the epoch), ``interval_s``, ``last_interval_s``, and a list for each of :data:`SERIES`.

    Latencies are None in an interval without an answer.

    Raises:
        ValueError: it is not such a time series, or its lists are of unequal length.
    """
    if not isinstance(content, dict):
        raise ValueError("is not a time series: it is no JSON object")
    series = {name: content.get(name) for name in SERIES}
    for name, values in series.items():
        if not isinstance(values, list) or not all(value is None or is_number(value) for value in values):
            raise ValueError(f"is not a time series: '{name}' is no list of numbers")
    lengths = {len(values or []) for values in series.values()}
    if len(lengths) != 1:
        raise ValueError("has lists of unequal length")
    numbers = {name: content.get(name) for name in ("start", "interval_s", "last_interval_s")}
    if not all(is_number(value) for value in numbers.values()) or not content["interval_s"] > 0:
        raise ValueError("is not a time series: start, interval_s and last_interval_s have to be numbers")
    return types.SimpleNamespace(**numbers, **series)


Samples = Sequence[Sequence[float]]


def parse_utilization(content: object, server_cpus: Sequence[int] | None = None) -> types.SimpleNamespace:
    """The samples, and what they say of the load window; an empty list is a device that was not measured.

    Args:
        content: the decoded ``utilization.json``.
        server_cpus: numbers of the cores that the server may use; None means all.

    Raises:
        ValueError: it is not a utilisation log, or its vectors are of unequal length.
    """
    if not isinstance(content, dict) or not isinstance(content.get("time"), list):
        raise ValueError("is not a utilisation log: it has no list 'time'")
    names = ("cpus_load", "main_memory", "gpus_load", "gpus_memory", "gpus_held_back")
    series = {name: content.get(name) or [] for name in names}
    processes = content.get("processes") or {}
    if not isinstance(processes, dict):
        raise ValueError("'processes' is not a mapping")
    parts = series | {f"processes.{name}": values for name, values in processes.items()}
    for name, values in parts.items():
        if not isinstance(values, list):
            raise ValueError(f"'{name}' is not a list")
        if values and len(values) != len(content["time"]):
            raise ValueError(f"'{name}' has {len(values)} samples where 'time' has {len(content['time'])}")
    log = types.SimpleNamespace(time=content["time"], **series, processes=processes)
    log.load_window, gpus = content.get("load_window"), content.get("gpus")
    log.gpus = gpus if isinstance(gpus, list) and all(type(gpu) is int and 0 <= gpu < 1000 for gpu in gpus) else None
    own = content.get("monitor_cores")
    log.monitor_cores = own if is_number(own) else None
    try:
        inside = _window(content["time"], content.get("load_window"))
        log.samples = len(inside)
        log.cpu_util = mean_of_devices(_pick(series["cpus_load"], inside), server_cpus)
        log.gpu_util = mean_of_devices(_pick(series["gpus_load"], inside))
        log.gpu_memory_max = max((max(row) for row in _pick(series["gpus_memory"], inside) if row), default=None)
        log.gpu_held_back = mean([max(row) for row in _pick(series["gpus_held_back"], inside) if row])
        log.main_memory_max = max(_pick(series["main_memory"], inside), default=None)
        log.process_cores = {name: mean(_pick(values, inside)) for name, values in processes.items()}
        log.other_cores = _other_cores(_pick(series["cpus_load"], inside), log.process_cores)
    except (TypeError, IndexError, OverflowError) as error:
        there = {**parts, "time": content["time"]}
        odd = next((name for name, values in there.items() if not _holds_numbers(values)), "load_window")
        raise ValueError(f"holds something else than numbers: '{odd}'") from error
    return log


def _holds_numbers(values: object) -> bool:
    if isinstance(values, list):
        return all(map(_holds_numbers, values))
    return is_number(values)


def mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def mean_of_devices(samples: Samples, devices: Sequence[int] | None = None) -> float | None:
    """Mean over samples and *devices* (all where None); None without a sample."""
    if not samples or not samples[0]:
        return None
    count, flat = len(samples[0]), list(itertools.chain.from_iterable(samples))
    if len(flat) != count * len(samples):
        raise ValueError("has samples of different numbers of devices")
    if devices is None:
        return sum(flat) / len(flat)
    if max(devices, default=0) >= count:
        raise ValueError(f"has {count} cores, and the server used core {max(devices)}")
    chosen = [sum(flat[device::count]) for device in devices]
    return sum(chosen) / (len(chosen) * len(samples)) if chosen else None


def _other_cores(cpus_load: Samples, process_cores: dict[str, float | None]) -> float | None:
    """Load by processes that are not watched, in cores; None unless some are watched."""
    known = [cores for cores in process_cores.values() if cores is not None]
    load = mean_of_devices(cpus_load)
    return None if load is None or not known else max(0.0, load * len(cpus_load[0]) - sum(known))


def _window(times: Sequence[float], window: dict[str, float] | None) -> Sequence[int]:
    if not window:
        return range(len(times))
    try:
        start, end = window["start"], window["end"]
    except (KeyError, TypeError):
        raise ValueError("'load_window' needs a start and an end") from None
    if times and start <= min(times) and max(times) <= end:
        return range(len(times))
    return [index for index, moment in enumerate(times) if start <= moment <= end]


def _pick(values: Sequence[T], inside: Sequence[int]) -> Sequence[T]:
    """The values inside the window, without copying where that is all of them."""
    return values if not values or len(inside) == len(values) else [values[index] for index in inside]


_FILE_NAME = re.compile(r".+_[0-9]+_[0-9]+\.json")
_TASK_FIELDS = {
    "accuracy_percentage": "classification",
    "avg_embedding_size": "embedding",
    "avg_num_vectors": "vision_embedding",
}
_STUDY_SETTINGS = ("vendor", "hw_type", "image", "engine", "batch_size", "vus")
_WHOLE = {
    *("batch_size", "vus", "total_requests", "successful_requests", "invalid_embeddings", "avg_embedding_size"),
    *("min_num_vectors", "max_num_vectors"),
}
_STUDY_NUMBERS = ("total_requests", "successful_requests", "test_duration_sec")


class EncoderAnalysisLayout:
    """A flat tree of one JSON file a run, nothing else: no times, ids or exit codes. Any folder of it can be given."""

    looks_for = "files <vendor>_<hw>_<image>_<engine>_<batch>_<vus>.json"

    def find(self, listing: Listing) -> Sequence[FoundTest]:
        return [FoundTest(listing.path / name) for name in listing.files if _FILE_NAME.fullmatch(name)]

    def settings_files(self, test: Path, root: Path) -> Sequence[Path]:
        return [test]

    def read_settings(self, test: Path, root: Path) -> dict[str, object]:
        try:
            with failing("can't be read", SettingsError):
                content = load_json(read_regular(test))
        except ValueError as error:
            raise SettingsError(str(error)) from error
        if not isinstance(content, dict):
            raise SettingsError("not a result of an encoder run: it is no JSON object")
        return settings_of(content)

    def read_exit_code(self, test: Path) -> int | None:
        return None


def settings_of(content: dict[str, Any]) -> dict[str, Any]:
    """The settings of a run, from its result fields; SettingsError where they are not those of the study."""
    tasks = [task for field, task in _TASK_FIELDS.items() if field in content]
    absent = [field for field in (*_STUDY_SETTINGS[1:], *_STUDY_NUMBERS) if field not in content and field != "image"]
    if not tasks or absent:
        fields = ", ".join(absent) or " or ".join(_TASK_FIELDS)
        raise SettingsError(f"not a result of an encoder run: it has no {fields}")
    settings = {name: content[name] for name in _STUDY_SETTINGS if name in content}
    return {"task": tasks[0], **settings, "image": short_image(content.get("image", "default"))}


def short_image(image: object) -> object:
    """The study's name of an image: ``trt-onnx`` or ``default`` for Infinity's, else as it is."""
    if not isinstance(image, str) or ":" not in image:
        return image
    name, _, tag = image.rpartition(":")
    if tag.endswith("trt-onnx"):
        return "trt-onnx"
    return "default" if name.endswith("/infinity") else image


class StudyTable:
    """A reader of the study's published table: Parquet with the fields of its files as columns, one row a run."""

    name = "the encoder-analysis study's table"
    file_names = ("*.parquet",)

    def recognises(self, head: bytes, name: str) -> bool:
        if not head.startswith(b"PAR1"):
            return True  # damaged: said by :meth:`read`
        with needing("a table in Parquet", "parquet"):
            from pyarrow import ArrowException, parquet
        try:
            return not {*_STUDY_NUMBERS, *_TASK_FIELDS}.isdisjoint(parquet.read_schema(name).names)
        except (ArrowException, OSError):
            return True

    def read(self, file: ArtifactPath) -> Iterator[Part]:
        from pyarrow import ArrowException, parquet

        counts: Counter[tuple[object, ...]] = Counter()
        try:
            with file.open("rb") as stream:
                rows = parquet.ParquetFile(stream).iter_batches(1024)
                for number, row in enumerate(itertools.chain.from_iterable(map(_rows, rows)), 1):
                    settings = settings_of(row)
                    key = tuple(settings.items())
                    yield f"row {number}", {**settings, "repeat": counts[key]}, {"study": run_of(row, file)}
                    counts[key] += 1
        except ArrowException as error:
            raise ArtifactError(file, f"is no Parquet that can be read: {error}") from error
        except SettingsError as error:
            raise ArtifactError(file, f"row {number}: {error}") from error


def _rows(batch: RecordBatch) -> list[dict[str, object]]:
    """Rows as the files have them: without empty cells, and counts whole, which a column with empty cells hasn't."""
    return [
        {
            name: int(cell) if name in _WHOLE and isinstance(cell, float) and cell.is_integer() else cell
            for name, cell in row.items()
            if cell is not None and cell == cell
        }
        for row in batch.to_pylist()
    ]


@ignore_file_not_found
def parse_run(test_file: ArtifactPath) -> types.SimpleNamespace:
    return run_of(read_json(test_file), test_file)


def run_of(content: dict[str, Any], test_file: ArtifactPath) -> types.SimpleNamespace:
    """One run: counts, duration, latencies, and what the task adds (fractions, None where unknown)."""
    for name in _STUDY_NUMBERS:
        if not is_number(content.get(name)) or content[name] < 0:
            raise ArtifactError(test_file, f"'{name}' is {content.get(name)!r}, not a number of at least 0")
    invalid = content.get("invalid_embeddings") or 0
    accuracy = content.get("accuracy_percentage")
    # The study's script asked k6 for a field that it doesn't have: where all requests are said to have succeeded, it
    # could not tell. Answers of the wrong shape are known for vision embeddings, of at least so many inputs.
    counts_failures = content["successful_requests"] != content["total_requests"]
    return types.SimpleNamespace(
        requests=content["total_requests"],
        answered_requests=max(0, content["successful_requests"] - invalid),
        counts_failures=counts_failures,
        counts_wrong=counts_failures or invalid > 0,
        duration_s=content["test_duration_sec"],
        avg_latency_ms=content.get("avg_latency_ms"),
        p95_latency_ms=content.get("p95_latency_ms"),
        accuracy=accuracy / 100 if is_number(accuracy) else None,
        embedding_size=content.get("avg_embedding_size"),
        vectors_per_input=content.get("avg_num_vectors"),
        vectors_per_input_least=content.get("min_num_vectors"),
        vectors_per_input_most=content.get("max_num_vectors"),
    )
