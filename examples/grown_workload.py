"""How fast OpenSSL hashes, and on which processor: a workload that uses all that docs/writing-a-workload.md names.

matbench parse --workload=examples/grown_workload.py --results-dirname=data/samples/openssl_speed
"""

import re
import types
from typing import Annotated

from annotated_types import Ge, Gt

from matrix_benchmarking import kpi, models
from matrix_benchmarking.errors import ArtifactError
from matrix_benchmarking.plotting import Plot, Report, template
from matrix_benchmarking.store import (
    BaseStore,
    KeyValueLayout,
    NativeLayout,
    ignore_file_not_found,
    read_json,
    read_text,
)
from matrix_benchmarking.workload import Gate, RegressionKeys, Workload

RESULT = re.compile(r"Doing \S+ for (?P<seconds>[\d.]+)s on (?P<bytes>\d+) size blocks: (?P<count>\d+)")

artifact_dirnames = types.SimpleNamespace()
artifact_dirnames.ENVIRONMENT_DIR = "*__environment"

IMPORTANT_FILES = ["speed.txt"]
OPTIONAL_FILES = [f"{artifact_dirnames.ENVIRONMENT_DIR}/cpu.json"]


def parse_once(results, test_dir):
    results.speed = _parse_speed(test_dir)
    results.cpu = _parse_cpu(test_dir)


@ignore_file_not_found
def _parse_speed(test_dir):
    path = test_dir / "speed.txt"
    found = RESULT.search(read_text(path))
    if found is None:
        raise ArtifactError(path, "has no line of the form 'Doing … for …s on … size blocks: …'")
    return types.SimpleNamespace(
        seconds=float(found["seconds"]), block_bytes=int(found["bytes"]), blocks=int(found["count"])
    )


@ignore_file_not_found
def _parse_cpu(test_dir):
    return read_json(test_dir.artifact_paths.ENVIRONMENT_DIR / "cpu.json")["model"]


BROKEN = {"md5", "sha1"}


def parse_always(results, test_dir, import_settings):
    results.collision_resistant = import_settings["algorithm"] not in BROKEN


def generate_lts_payload(results, import_settings):
    measured = dict.fromkeys(("seconds", "block_bytes", "blocks"))
    if results.speed is not None:
        measured |= vars(results.speed)
    return types.SimpleNamespace(
        results=types.SimpleNamespace(**measured, cpu=results.cpu, collision_resistant=results.collision_resistant)
    )


@kpi.HigherBetter
@kpi.FormatDivisor(1e6, unit="MB/s", format="{:,.0f}")
@kpi.KPIMetadata(help="Bytes hashed per second", unit="bytes/s")
def hash_rate(lts_payload):
    results = lts_payload.results
    if results.seconds is None:
        raise kpi.UnknownKPI("speed.txt was not read")
    return results.blocks * results.block_bytes / results.seconds


@kpi.LowerBetter
@kpi.Format("{:.2f}")
@kpi.KPIMetadata(name="1GB_time", help="Time to hash 10⁹ bytes", unit="s")
def time_for_a_gigabyte(lts_payload):
    return 1e9 / hash_rate(lts_payload)


@kpi.HigherBetter
@kpi.IgnoredForRegression
@kpi.KPIMetadata(help="1 if no collision is known, else 0", unit="")
def collision_resistant(lts_payload):
    return int(lts_payload.results.collision_resistant)


KPIS = kpi.collect([hash_rate, time_for_a_gigabyte, collision_resistant])


class Settings(models.ExclusiveModel):
    """The labels of each KPI."""

    kpi_settings_version: str
    algorithm: str
    block_bytes: int
    version: models.SemVer | None = None


class Results(models.ExclusiveModel):
    """What one run measured; ``seconds`` is the processor time that OpenSSL used."""

    seconds: Annotated[float, Gt(0)]
    block_bytes: Annotated[int, Gt(0)]
    blocks: Annotated[int, Ge(0)]
    cpu: str | None = None
    collision_resistant: bool


KPIs = models.getKPIsModel("KPIs", __name__, KPIS, Settings)


class Payload(models.ExclusiveModel):
    """The LTS payload of one run."""

    metadata: models.Metadata
    results: Results
    kpis: KPIs


get_kpi_labels = models.labels_from(Settings, kpi_settings_version="1.0")


def warnings(lts_payload):
    seconds = lts_payload.results.seconds
    if seconds is not None and seconds < 0.9:
        return [f"OpenSSL got the processor for only {seconds:.2f} s of one"]
    return []


def rates(entries):
    """One row a run: ``algorithm``, ``block size`` in bytes, ``MB/s``, ``run``."""
    import pandas

    rows = [
        {
            "algorithm": entry.settings["algorithm"],
            "block size": entry.settings["block_bytes"],
            "MB/s": entry.kpis["hash_rate"] / 1e6,
            "run": template.text(entry.name),
        }
        for entry in entries
        if not entry.failed and "hash_rate" in entry.kpis
    ]
    return pandas.DataFrame(rows, columns=["algorithm", "block size", "MB/s", "run"])


def rates_figure(frame, colours, log_y):
    import plotly.express as px

    figure = px.scatter(
        frame,
        x="block size",
        y="MB/s",
        color="algorithm",
        color_discrete_map=colours,
        hover_name="run",
        log_x=True,
        log_y=log_y,
        labels={"block size": "block size (bytes)", "MB/s": "hash rate (MB/s)"},
    )
    return template.apply(figure)


class RateOverBlockSize(Plot):
    """Every run's hash rate over the block size."""

    name = "Hash rate over block size"
    kpis = ("hash_rate",)

    def draw(self, view):
        frame = rates(view.runs)
        if frame.empty:
            return None, "No successful run has a hash rate."
        figure = rates_figure(frame, view.colours("algorithm"), view.cfg.get("log_y", False))
        gain = frame.groupby("block size")["MB/s"].median()
        return figure, f"The largest blocks hash {gain.iloc[-1] / gain.iloc[0]:.1f} times as fast as the smallest."


class HashReport(Report):
    """The page of this workload."""

    name = "report: Hash rate"
    description = "How the hash rate depends on the block size."
    plots = (RateOverBlockSize,)

    def draw(self, view):
        return self.each_plot(view.choosing(log_y=True))


workload = Workload(
    name="openssl_grown",
    store=BaseStore(
        cache_filename=".matbench_openssl_grown.cache",
        important_files=IMPORTANT_FILES,
        optional_files=OPTIONAL_FILES,
        artifact_dirnames=artifact_dirnames,
        layouts=(NativeLayout(), KeyValueLayout()),
        parse_once=parse_once,
        parse_always=parse_always,
        lts_payload_model=Payload,
        generate_lts_payload=generate_lts_payload,
        models_kpis=KPIS,
        get_kpi_labels=get_kpi_labels,
    ),
    headline_kpi="hash_rate",
    group_keys=["block_bytes"],
    variant_keys=["algorithm"],
    gates=[Gate(kpi="collision_resistant", minimum=1)],
    warnings=warnings,
    reports=[HashReport],
    regression=RegressionKeys(comparison_keys=["version"], sorting_keys=["algorithm", "block_bytes"]),
)
