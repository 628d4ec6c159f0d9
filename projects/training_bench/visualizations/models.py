"""The LTS payload and the KPIs of training_bench: how long an epoch takes, and who waits for whom meanwhile."""

from __future__ import annotations

from typing import Annotated

from annotated_types import Ge, Gt, Le
from pydantic import Field

from matrix_benchmarking.kpi import (
    Format,
    FormatDivisor,
    HigherBetter,
    IgnoredForRegression,
    KPIMetadata,
    LowerBetter,
    UnknownKPI,
    collect,
    field_kpi,
)
from matrix_benchmarking.models import ExclusiveModel, SemVer, getKPIsModel
from matrix_benchmarking.models import Metadata as BaseMetadata

LTS_SCHEMA_VERSION = "1.0"
KPI_SETTINGS_VERSION = "1.0"

Fraction = Annotated[float, Ge(0), Le(1)]
NonNegative = Annotated[float, Ge(0)]
Positive = Annotated[float, Gt(0)]
Count = Annotated[int, Ge(0)]


class Settings(ExclusiveModel):
    """The labels of each KPI.

    Attributes:
        strategy: how the training loads its data.
        io_speed: the limit of the storage in MB/s, or ``unlimited``.
        name: what the runs belong to.
        model, dataset, batch_size: what is trained on what.
        hw_type: on which hardware.
        version: version of what is measured.
    """

    kpi_settings_version: str
    strategy: str
    io_speed: Annotated[int, Gt(0)] | Positive | str
    name: str | None = None
    model: str | None = None
    dataset: str | None = None
    batch_size: int | None = None
    hw_type: str | None = None
    version: SemVer | None = None
    urls: dict[str, str] | None = None


class Metadata(BaseMetadata):
    """The engine's metadata, and where and with which versions the run took place."""

    environment: dict[str, object] | None = None


class Results(ExclusiveModel):
    """What one run measured; means are over the epochs after the warm-up, loads and memories are fractions.

    Attributes:
        epochs, warm_up_epochs, counted_epochs: all, those that don't count, those that do.
        cpu_load, process_load: of all cores, by whatever ran, and by the training's process alone.
        other_cores: cores that other processes took meanwhile.
        gpu_epochs, cpu_epochs: counted epochs whose load is known from their start to their end.
        gpu_samples, cpu_samples: samples of the whole log; 0 where the device was not measured.
        read_s, decode_s, compute_s, wait_s: parts of an epoch, where the loop recorded them.
        read_bytes: read from storage in an epoch.
        device: what computed, as the loop calls it.
        doubts: what was left out, and why, a sentence each.
    """

    epochs: Count
    warm_up_epochs: Count
    counted_epochs: Count
    epoch_duration_s: Positive | None = None
    epoch_deviation_s: NonNegative | None = None
    gpu_load: Fraction | None = None
    cpu_load: Fraction | None = None
    process_load: Fraction | None = None
    other_cores: NonNegative | None = None
    gpu_epochs: Count = 0
    cpu_epochs: Count = 0
    gpu_samples: Count = 0
    cpu_samples: Count = 0
    gpu_memory: Fraction | None = None
    main_memory: Fraction | None = None
    read_s: NonNegative | None = None
    decode_s: NonNegative | None = None
    compute_s: NonNegative | None = None
    wait_s: NonNegative | None = None
    read_bytes: NonNegative | None = None
    samples_per_epoch: Count | None = None
    bytes_per_epoch: Count | None = None
    peak_rss_bytes: Count | None = None
    device: str | None = None
    page_cache: str | None = None
    doubts: list[str] = Field(default_factory=list)


@LowerBetter
@Format("{:,.2f}")
@KPIMetadata(help="Mean duration of the epochs after the warm-up", unit="s")
def epoch_duration(lts_payload: Payload) -> float:
    return _of_epochs(lts_payload.results, lts_payload.results.epoch_duration_s, "duration")


@HigherBetter
@Format("{:.1%}")
@KPIMetadata(help="Mean load of the GPUs during the epochs after the warm-up", unit="")
def gpu_load(lts_payload: Payload) -> float:
    return _load(lts_payload.results, lts_payload.results.gpu_load, "GPU")


@LowerBetter
@IgnoredForRegression
@Format("{:.1%}")
@KPIMetadata(help="Share of the time in which no kernel ran on the GPUs: 1 − gpu_load", unit="")
def gpu_wait(lts_payload: Payload) -> float:
    return 1.0 - gpu_load(lts_payload)


@LowerBetter
@Format("{:.1%}")
@KPIMetadata(help="Share of an epoch in which the training waited for its data, as its loop recorded it", unit="")
def data_wait(lts_payload: Payload) -> float:
    results = lts_payload.results
    duration = _of_epochs(results, results.epoch_duration_s, "duration")
    if results.wait_s is None:
        raise UnknownKPI("the loop did not record how long it waited (a column wait_s of timings.feather)")
    return float(results.wait_s / duration)


@HigherBetter
@IgnoredForRegression
@Format("{:.1%}")
@KPIMetadata(help="Mean load of all cores during the epochs after the warm-up", unit="")
def cpu_load(lts_payload: Payload) -> float:
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
def sample_rate(lts_payload: Payload) -> float:
    return _rate(lts_payload.results, lts_payload.results.samples_per_epoch, "samples")


@HigherBetter
@FormatDivisor(1e6, unit="MB/s", format="{:,.1f}")
@KPIMetadata(help="Bytes of decoded data that the training used, per second of an epoch", unit="bytes/s")
def data_rate(lts_payload: Payload) -> float:
    return _rate(lts_payload.results, lts_payload.results.bytes_per_epoch, "bytes")


@LowerBetter
@IgnoredForRegression
@FormatDivisor(1e6, unit="MB/s", format="{:,.1f}")
@KPIMetadata(help="Bytes that were read from storage, per second of an epoch", unit="bytes/s")
def read_rate(lts_payload: Payload) -> float:
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


def _rate(results: Results, per_epoch: float | None, what: str) -> float:
    duration = _of_epochs(results, results.epoch_duration_s, "duration")
    if per_epoch is None:
        raise UnknownKPI(f"the run does not say how many {what} an epoch has")
    return float(per_epoch / duration)


def _of_epochs(results: Results, value: float | None, what: str) -> float:
    """*value*, a mean over the counted epochs."""
    if value is not None:
        return value
    if not results.epochs:
        raise UnknownKPI(f"no epoch's {what} could be read from timings.feather")
    raise UnknownKPI(f"all {results.epochs} epochs are warm-up")


def _load(results: Results, value: float | None, device: str) -> float:
    if value is not None:
        return value
    _of_epochs(results, results.epoch_duration_s, "duration")
    samples = results.gpu_samples if device == "GPU" else results.cpu_samples
    if not samples:
        raise UnknownKPI(f"{device} load was not measured")
    raise UnknownKPI(f"no epoch after the warm-up lies wholly within the log of the {device} load")


KPIS = collect()
KPIs = getKPIsModel("KPIs", __name__, KPIS, Settings)


class Payload(ExclusiveModel):
    """The whole payload of one test."""

    metadata: Metadata
    results: Results
    kpis: KPIs  # type: ignore[valid-type]  # made at run time from the KPI functions
