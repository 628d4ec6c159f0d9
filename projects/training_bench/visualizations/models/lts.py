"""The LTS payload of training_bench. What only some loops and layouts tell is optional."""

from __future__ import annotations

from typing import Annotated, Any

from annotated_types import Ge, Gt, Le
from pydantic import Field

from matrix_benchmarking import kpi as kpis_of
from matrix_benchmarking.models import ExclusiveModel, SemVer, getKPIsModel
from matrix_benchmarking.models import Metadata as BaseMetadata

from . import kpi

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

    environment: dict[str, Any] | None = None


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


KPIS = kpis_of.collect(kpi)
KPIs = getKPIsModel("KPIs", __name__, KPIS, Settings)


class Payload(ExclusiveModel):
    """The whole payload of one test."""

    metadata: Metadata
    results: Results
    kpis: KPIs  # type: ignore[valid-type]  # made at run time from the KPI functions
