"""From the parsers' results to the LTS payload of one run, leniently."""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence
from typing import Any

from matrix_benchmarking import plausible
from matrix_benchmarking.analyze.words import as_percent
from matrix_benchmarking.filters import Scalar
from matrix_benchmarking.models import labels_from

from .. import models
from . import logs
from .logs import PARTS, highest

DISTURBING_CORES = 0.25
"""Share of a core from which what other processes took is worth a warning."""
_COUNTS = ("samples_per_epoch", "bytes_per_epoch", "peak_rss_bytes")
_WORDS = ("device", "page_cache")
_SHARES = ("gpu_load", "cpu_load", "process_load", "gpu_memory", "main_memory")


def generate_lts_payload(
    results: types.SimpleNamespace, import_settings: Mapping[str, Scalar]
) -> types.SimpleNamespace:
    """``metadata`` and ``results``; the engine completes the metadata and adds the KPIs."""
    every = getattr(results, "epochs", None) or []
    warm_up = getattr(results, "warm_up_epochs", 0)
    epochs, log = logs.counted(every, warm_up), getattr(results, "system_log", None)
    durations = [epoch.duration_s for epoch in epochs]
    measured: dict[str, Any] = {
        "epochs": len(every),
        "warm_up_epochs": min(warm_up, len(every)),
        "counted_epochs": len(epochs),
        "epoch_duration_s": logs.mean(durations),
        "epoch_deviation_s": logs.deviation(durations),
        **{name: _mean_of_part(epochs, name) for name in PARTS},
        **_facts(getattr(results, "training", None)),
        "doubts": logs.doubts_of(every),
    }
    if log is not None:
        measured |= _of_log(epochs, log, measured["doubts"])
    return types.SimpleNamespace(
        metadata=_metadata(results),
        results=types.SimpleNamespace(**_EMPTY | measured),
    )


def warnings(lts_payload: models.Payload) -> list[str]:
    """What makes the numbers of a run doubtful, a sentence each."""
    results = lts_payload.results
    sentences = list(results.doubts)
    if 0 < results.counted_epochs < 2:
        sentences.append("only one epoch counts after the warm-up")
    if results.other_cores is not None and results.other_cores > DISTURBING_CORES:
        sentences.append(f"other processes disturbed the run: they took {as_percent(results.other_cores)} of a core")
    return sentences


def implausible(lts_payload: models.Payload) -> list[str]:
    """Values that can't be, a sentence each."""
    results = lts_payload.results
    sentences = plausible.shares(**{name: getattr(results, name) for name in _SHARES})
    waited, epoch = results.wait_s, results.epoch_duration_s
    if waited is not None and epoch is not None and waited > epoch * (1 + plausible.RELATIVE_ROUNDING):
        sentences.append(f"an epoch of {epoch:,.6g} s waited {waited:,.6g} s for its data")
    return sentences


get_kpi_labels = labels_from(models.Settings, kpi_settings_version=models.KPI_SETTINGS_VERSION)

_EMPTY: dict[str, object] = {
    name: None if field.is_required() else field.get_default(call_default_factory=True)
    for name, field in models.Results.model_fields.items()
}


def _metadata(results: types.SimpleNamespace) -> types.SimpleNamespace:
    """Where and when; times are those of the test, else of its first and last epoch."""
    times, config = getattr(results, "times", None), getattr(results, "test_config", None)
    moments = [] if times else logs.moments(getattr(results, "epochs", None) or [])
    start, end = (times.start, times.end) if times else (moments[0], moments[-1]) if moments else (None, None)
    return types.SimpleNamespace(
        lts_schema_version=models.LTS_SCHEMA_VERSION,
        start=start,
        end=end,
        config=config.text if config else None,
        environment=_environment(results),
    )


def _environment(results: types.SimpleNamespace) -> dict[str, object] | None:
    """The machine, with the versions that the loop told beside the others."""
    environment, training = getattr(results, "environment", None), getattr(results, "training", None)
    of_loop = getattr(training, "versions", None)
    known = dict(vars(environment)) if environment else {}
    if isinstance(of_loop, dict):
        given = known.get("versions")
        known["versions"] = {**(given if isinstance(given, dict) else {}), **of_loop}
    return known or None


def _mean_of_part(epochs: Sequence[types.SimpleNamespace], name: str) -> float | None:
    """The mean of a part over the epochs; None unless all of them have it."""
    values = [getattr(epoch, name) for epoch in epochs]
    return None if None in values else logs.mean(values)


def _facts(training: types.SimpleNamespace | None) -> dict[str, object]:
    """What the loop says of itself, where it is of the kind that it should be."""
    counts = {name: getattr(training, name, None) for name in _COUNTS}
    words = {name: getattr(training, name, None) for name in _WORDS}
    return {name: value for name, value in counts.items() if type(value) is int and value >= 0} | {
        name: value for name, value in words.items() if isinstance(value, str)
    }


def _of_log(
    epochs: Sequence[types.SimpleNamespace], log: types.SimpleNamespace, doubts: Sequence[str]
) -> dict[str, object]:
    """Loads within the epochs, memories over the whole log, and, after other *doubts*, what did not fit together."""
    found: dict[str, Any] = {"doubts": [*doubts, *log.doubts]}
    for device, values in (("gpu", log.gpu), ("cpu", log.cpu)):
        loads = logs.loads(epochs, log.time, values)
        found |= {
            f"{device}_load": logs.mean(loads),
            f"{device}_epochs": len(loads),
            f"{device}_samples": len(values),
        }
        left_out = len(epochs) - len(loads)
        if values and left_out:
            word = "epoch is" if left_out == 1 else "epochs are"
            found["doubts"].append(
                f"{left_out} of {len(epochs)} {word} not used for the {device.upper()} load: samples are missing at "
                "the start or the end"
            )
    process = logs.mean(logs.loads(epochs, log.time, log.process))
    known = process is not None and found["cpu_load"] is not None and log.cores
    return found | {
        "process_load": process,
        "other_cores": max(0.0, found["cpu_load"] - process) * log.cores if known else None,
        "gpu_memory": highest(log.gpu_memory),
        "main_memory": highest(log.main_memory),
    }
