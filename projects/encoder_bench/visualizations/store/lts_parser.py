"""From the parsers' results to the LTS payload of one run, leniently: what is unknown is None."""

from __future__ import annotations

import types
from collections.abc import Mapping
from typing import Any

from matrix_benchmarking import plausible
from matrix_benchmarking.analyze.words import as_percent
from matrix_benchmarking.models import labels_from

from ..models import lts as models_lts

COMPETING_CORES = 0.05
"""Share of a core from which a load generator on the server's cores is worth a warning."""
BUSY_SHARE = 0.8
"""Share of the load generator's cores from which it may be the limit."""
LATE_MS = 50.0
"""Lag behind the schedule of the open model that is worth a warning."""
_SHARES = ("cpu_util", "gpu_util", "gpu_memory", "main_memory", "accuracy", "reference_accuracy", "label_agreement")
DISTURBING_CORES = 0.25
"""Share of a core from which what other processes took is worth a warning."""


def generate_lts_payload(results: types.SimpleNamespace, import_settings: Mapping[str, Any]) -> types.SimpleNamespace:
    """``metadata`` and ``results``; the engine completes the metadata and adds the KPIs.

    ``other_latencies`` has what else k6 tells of them, to be held against the mean and the p95; no payload keeps it.
    """
    inputs_per_request = import_settings.get("inputs_per_request", 1)
    study = getattr(results, "study", None)
    measured = _from_study(study, inputs_per_request) if study else _from_k6(results, inputs_per_request)
    return types.SimpleNamespace(
        metadata=_metadata(results),
        results=types.SimpleNamespace(**_EMPTY | measured | _price(results)),
        other_latencies=_other_latencies(getattr(results, "k6", None)),
    )


get_kpi_labels = labels_from(
    models_lts.Settings, kpi_settings_version=models_lts.KPI_SETTINGS_VERSION, inputs_per_request=1
)
"""The labels of all KPIs of a run: the settings that the model knows."""


def warnings(lts_payload: Any) -> list[str]:
    """What makes the numbers of a run doubtful, a sentence each."""
    results = lts_payload.results
    sentences = []
    if results.failed_requests:
        sentences.append(f"{results.failed_requests:,} of {results.requests:,} requests failed")
    elif results.error_rate:
        sentences.append(
            f"{as_percent(results.error_rate, digits=1)} of the inputs were not answered in the right shape"
        )
    sentences += _load_generator_limits(results)
    if results.invalid_answers:
        sentences.append(f"{results.invalid_answers:,} of the answers that were checked were invalid")
    cores = results.load_generator_cpu
    if results.load_generator_competes and (cores is None or cores > COMPETING_CORES):
        share = "an unknown share" if cores is None else as_percent(cores)
        sentences.append(f"k6 competed with the server for its cores: it took {share} of one")
    if results.other_cpu is not None and results.other_cpu > DISTURBING_CORES:
        sentences.append(f"other processes disturbed the run: they took {as_percent(results.other_cpu)} of a core")
    return sentences


def implausible(lts_payload: Any) -> list[str]:
    """Values that can't be, a sentence each."""
    results = lts_payload.results
    per_request = lts_payload.metadata.settings.get("inputs_per_request", 1)
    sent = None if results.requests is None else results.requests * per_request
    sentences = plausible.counts(requests=results.requests, failed=results.failed_requests)
    sentences += plausible.counts(requests=sent, answered=results.answered_inputs, noun="inputs")
    if not sentences:
        sentences = plausible.shares(error_rate=results.error_rate)
    if results.requests and results.duration_s == 0:
        sentences.append(f"{results.requests:,} requests took no time")
    others = getattr(lts_payload, "other_latencies", {})
    sentences += plausible.latencies(mean=results.avg_latency_ms, p95=results.p95_latency_ms, unit="ms", **others)
    return sentences + plausible.shares(**{name: getattr(results, name) for name in _SHARES})


def _other_latencies(summary: types.SimpleNamespace | None) -> dict[str, float | None]:
    if summary is None:
        return {}
    quantiles, (minimum, maximum) = summary.latency_quantiles_ms, summary.latency_range_ms
    names = {"median": "50", "p90": "90", "p99": "99"}
    return {"minimum": minimum, "maximum": maximum, **{name: quantiles.get(at) for name, at in names.items()}}


def _load_generator_limits(results: Any) -> list[str]:
    """Signs that the load generator, not the server, was the limit."""
    sentences = []
    if results.dropped_iterations:
        sentences.append(f"k6 dropped {results.dropped_iterations:,} iterations: it could not keep up the load")
    if results.schedule_lag_p95_ms is not None and results.schedule_lag_p95_ms > LATE_MS:
        sentences.append(
            f"k6 sent requests late, 5 % of them by more than {results.schedule_lag_p95_ms:,.0f} ms: latencies don't "
            "tell what users at this rate would wait"
        )
    cores, used = results.load_generator_cores, results.load_generator_cpu
    if cores is not None and used is not None and used > BUSY_SHARE * cores:
        sentences.append(f"k6 used {as_percent(used)} of a core, and had {cores}: it may be the limit, not the server")
    return sentences


_EMPTY: dict[str, Any] = dict.fromkeys(models_lts.Results.model_fields)


def _metadata(results: types.SimpleNamespace) -> types.SimpleNamespace:
    times, config = getattr(results, "times", None), getattr(results, "test_config", None)
    price, environment = getattr(results, "price", None), getattr(results, "environment", None)
    return types.SimpleNamespace(
        lts_schema_version=models_lts.LTS_SCHEMA_VERSION,
        start=times.start if times else None,
        end=times.end if times else None,
        config=config.text if config else None,
        price_source=price.source if price else None,
        environment=vars(environment) if environment else None,
    )


def _price(results: types.SimpleNamespace) -> dict[str, Any]:
    price = getattr(results, "price", None)
    return {"price_usd_per_hour": price.usd_per_hour if price else None}


def _from_study(run: types.SimpleNamespace, inputs_per_request: int) -> dict[str, Any]:
    answered = run.answered_requests * inputs_per_request
    unseen = {"failed_requests": not run.counts_failures, "error_rate": not run.counts_wrong}
    unknown = {name: None for name, is_unseen in unseen.items() if is_unseen}
    return {
        "requests": run.requests,
        "failed_requests": run.requests - run.answered_requests,
        "duration_s": run.duration_s,
        **_rates(answered, run.requests * inputs_per_request, run.duration_s),
        "avg_latency_ms": run.avg_latency_ms,
        "p95_latency_ms": run.p95_latency_ms,
        "accuracy": run.accuracy,
        "embedding_size": run.embedding_size,
        "vectors_per_input": run.vectors_per_input,
        **unknown,
    }


def _from_k6(results: types.SimpleNamespace, inputs_per_request: int) -> dict[str, Any]:
    summary, measured = getattr(results, "k6", None), _around(results)
    if summary is None:
        return measured
    sent, answered = summary.sent_inputs, summary.answered_inputs
    if sent is None:
        sent = summary.requests * inputs_per_request
    if answered is None:
        answered = (summary.requests - summary.failed_requests) * inputs_per_request
    return measured | {
        "requests": summary.requests,
        "failed_requests": summary.failed_requests,
        "duration_s": summary.duration_s,
        **_rates(answered, sent, summary.duration_s),
        "avg_latency_ms": summary.avg_latency_ms,
        "p95_latency_ms": summary.p95_latency_ms,
        "dropped_iterations": summary.dropped_iterations,
        "schedule_lag_p95_ms": summary.schedule_lag_p95_ms,
    }


def _rates(answered: int, sent: int, duration_s: float | None) -> dict[str, Any]:
    return {
        "answered_inputs": answered,
        "throughput": answered / duration_s if duration_s else None,
        "error_rate": 1 - answered / sent if sent else None,
    }


def _around(results: types.SimpleNamespace) -> dict[str, Any]:
    """What the monitor, the check of the answers and the load generator's record say."""
    log = getattr(results, "utilization", None)
    generator = getattr(results, "load_generator", None)
    cpus = getattr(generator, "cpus", None)
    # The monitor sees the machine of the load generator; of a server that runs elsewhere nothing is known.
    of_server = log if getattr(getattr(results, "server", None), "local", True) else None
    return {
        "cpu_util": of_server.cpu_util if of_server else None,
        "gpu_util": of_server.gpu_util if of_server else None,
        "gpu_memory": of_server.gpu_memory_max if of_server else None,
        "main_memory": of_server.main_memory_max if of_server else None,
        "load_generator_cpu": log.process_cores.get("k6") if log else None,
        "load_generator_cores": len(cpus) if isinstance(cpus, list) and cpus else None,
        "other_cpu": log.other_cores if log else None,
        "monitor_cpu": log.monitor_cores if log else None,
        "load_generator_competes": getattr(generator, "competes_with_server", None),
        **_check_of_answers(getattr(results, "fidelity", None)),
    }


def _check_of_answers(check: types.SimpleNamespace | None) -> dict[str, Any]:
    names = {
        "fidelity_mean": "mean",
        "fidelity_minimum": "minimum",
        "embedding_size": "embedding_size",
        "accuracy": "accuracy",
        "reference_accuracy": "reference_accuracy",
        "accuracy_standard_error": "standard_error",
        "label_agreement": "agreement",
        "invalid_answers": "invalid",
    }
    return {result: getattr(check, name, None) for result, name in names.items()}
