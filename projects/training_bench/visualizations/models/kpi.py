"""The KPIs of training_bench: how long an epoch takes, and who waits for whom meanwhile."""

from __future__ import annotations

from typing import Any

from matrix_benchmarking.kpi import (
    Format,
    FormatDivisor,
    HigherBetter,
    IgnoredForRegression,
    KPIMetadata,
    LowerBetter,
    UnknownKPI,
    field_kpi,
)


@LowerBetter
@Format("{:,.2f}")
@KPIMetadata(help="Mean duration of the epochs after the warm-up", unit="s")
def epoch_duration(lts_payload: Any) -> Any:
    return _of_epochs(lts_payload.results, lts_payload.results.epoch_duration_s, "duration")


@HigherBetter
@Format("{:.1%}")
@KPIMetadata(help="Mean load of the GPUs during the epochs after the warm-up", unit="")
def gpu_load(lts_payload: Any) -> Any:
    return _load(lts_payload.results, lts_payload.results.gpu_load, "GPU")


@LowerBetter
@IgnoredForRegression
@Format("{:.1%}")
@KPIMetadata(help="Share of the time in which no kernel ran on the GPUs: 1 − gpu_load", unit="")
def gpu_wait(lts_payload: Any) -> Any:
    return 1.0 - gpu_load(lts_payload)


@LowerBetter
@Format("{:.1%}")
@KPIMetadata(help="Share of an epoch in which the training waited for its data, as its loop recorded it", unit="")
def data_wait(lts_payload: Any) -> float:
    results = lts_payload.results
    duration = _of_epochs(results, results.epoch_duration_s, "duration")
    if results.wait_s is None:
        raise UnknownKPI("the loop did not record how long it waited (a column wait_s of timings.feather)")
    return float(results.wait_s / duration)


@HigherBetter
@IgnoredForRegression
@Format("{:.1%}")
@KPIMetadata(help="Mean load of all cores during the epochs after the warm-up", unit="")
def cpu_load(lts_payload: Any) -> Any:
    return _load(lts_payload.results, lts_payload.results.cpu_load, "CPU")


process_load = field_kpi(
    "process_load",
    help="Mean load of all cores by the training's own process",
    better="higher",
    format="{:.1%}",
    ignored_for_regression=True,
    unknown="the load by the training's own process was not measured",
)


@HigherBetter
@Format("{:,.1f}")
@KPIMetadata(help="Samples that the training used, per second of an epoch", unit="samples/s")
def sample_rate(lts_payload: Any) -> float:
    return _rate(lts_payload.results, lts_payload.results.samples_per_epoch, "samples")


@HigherBetter
@FormatDivisor(1e6, unit="MB/s", format="{:,.1f}")
@KPIMetadata(help="Bytes of decoded data that the training used, per second of an epoch", unit="bytes/s")
def data_rate(lts_payload: Any) -> float:
    return _rate(lts_payload.results, lts_payload.results.bytes_per_epoch, "bytes")


@LowerBetter
@IgnoredForRegression
@FormatDivisor(1e6, unit="MB/s", format="{:,.1f}")
@KPIMetadata(help="Bytes that were read from storage, per second of an epoch", unit="bytes/s")
def read_rate(lts_payload: Any) -> float:
    return _rate(lts_payload.results, lts_payload.results.read_bytes, "bytes read from storage")


peak_memory = field_kpi(
    "main_memory", help="Highest share of the machine's memory in use", better="lower", format="{:.1%}"
)


peak_gpu_memory = field_kpi(
    "gpu_memory",
    help="Highest share of the GPUs' memory in use",
    better="lower",
    format="{:.1%}",
    unknown="GPU memory was not measured",
)


process_memory = field_kpi(
    "peak_rss_bytes",
    help="Largest resident set of the training's process",
    unit="bytes",
    better="lower",
    divisor=1e6,
    display_unit="MB",
    format="{:,.0f}",
    unknown="the process's memory was not measured",
)


def _rate(results: Any, per_epoch: float | None, what: str) -> float:
    duration = _of_epochs(results, results.epoch_duration_s, "duration")
    if per_epoch is None:
        raise UnknownKPI(f"the run does not say how many {what} an epoch has")
    return float(per_epoch / duration)


def _of_epochs(results: Any, value: float | None, what: str) -> float:
    """*value*, a mean over the counted epochs."""
    if value is not None:
        return value
    if not results.epochs:
        raise UnknownKPI(f"no epoch's {what} was recorded in timings.feather")
    raise UnknownKPI(f"all {results.epochs} epochs are warm-up")


def _load(results: Any, value: float | None, device: str) -> float:
    if value is not None:
        return value
    _of_epochs(results, results.epoch_duration_s, "duration")
    samples = results.gpu_samples if device == "GPU" else results.cpu_samples
    if not samples:
        raise UnknownKPI(f"{device} load was not measured")
    raise UnknownKPI(f"no epoch after the warm-up lies wholly within the log of the {device} load")
