"""The store of encoder_bench: artifact files in, namespaces and the LTS payload out. What is unknown is None."""

from __future__ import annotations

import statistics
import types
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from matrix_benchmarking import plausible
from matrix_benchmarking.analyze.words import as_percent
from matrix_benchmarking.errors import ArtifactError
from matrix_benchmarking.filters import Scalar, show
from matrix_benchmarking.models import labels_from
from matrix_benchmarking.moments import of_seconds
from matrix_benchmarking.plausible import is_number
from matrix_benchmarking.store import (
    ArtifactPath,
    BaseStore,
    NativeLayout,
    ReaderLayout,
    TestDirectory,
    ignore_file_not_found,
    parse_test_config,
    parse_test_start_end,
    read_json,
    read_namespace,
    register_important_file,
    understood,
)

from .. import analyze, models
from . import artifacts
from .artifacts import EncoderAnalysisLayout, StudyTable

STUDY_TABLES = ReaderLayout([StudyTable()])

artifact_dirnames = types.SimpleNamespace()
artifact_dirnames.SERVER_DIR = "*__server"
artifact_dirnames.MONITOR_DIR = "*__monitor"
artifact_dirnames.K6_RUN_DIR = "*__k6__run"
artifact_dirnames.FIDELITY_DIR = "*__fidelity"

IMPORTANT_FILES = [
    ".uuid",
    "test_start_end.json",
    f"{artifact_dirnames.SERVER_DIR}/server.json",
    f"{artifact_dirnames.MONITOR_DIR}/utilization.json",
    f"{artifact_dirnames.K6_RUN_DIR}/summary.json",
    f"{artifact_dirnames.K6_RUN_DIR}/load_generator.json",
    f"{artifact_dirnames.FIDELITY_DIR}/fidelity.json",
]
OPTIONAL_FILES = ["config.yaml", "environment.json", f"{artifact_dirnames.K6_RUN_DIR}/timeseries.json"]


def parse_once(results: types.SimpleNamespace, test_dir: TestDirectory) -> None:
    """Read all artifacts; what is missing or damaged becomes None."""
    if test_dir.is_file():
        if test_dir.path.suffix == ".parquet":
            STUDY_TABLES.parse_file(results, test_dir)
        else:
            results.study = artifacts.parse_run(test_dir)
        return
    directories = test_dir.artifact_paths
    results.test_config = parse_test_config(test_dir)
    results.times = parse_test_start_end(test_dir)
    results.environment = _parse_environment(test_dir)
    results.server = _parse_server(test_dir)
    cpus = getattr(results.server, "cpus", None)
    results.load_generator = _parse_load_generator(test_dir)
    results.k6 = _parsed(directories.K6_RUN_DIR, "summary.json", artifacts.parse_summary)
    results.timeseries = _parsed(directories.K6_RUN_DIR, "timeseries.json", artifacts.parse_timeseries)
    results.utilization = _parsed(
        directories.MONITOR_DIR, "utilization.json", lambda content: artifacts.parse_utilization(content, cpus)
    )
    results.fidelity = _parse_fidelity(test_dir)


def parse_always(
    results: types.SimpleNamespace, test_dir: TestDirectory, import_settings: Mapping[str, Scalar]
) -> None:
    """Look up today's price: it belongs to the analysis, not to the run."""
    results.price = analyze.price_of(import_settings, test_dir.options.get("prices"))


@ignore_file_not_found
def _parsed(
    directory: ArtifactPath, name: str, parse: Callable[[object], types.SimpleNamespace]
) -> types.SimpleNamespace:
    """What *parse* makes of the JSON file *name*."""
    path = directory / name
    return understood(path, parse, read_json(path))


@ignore_file_not_found
def _parse_server(test_dir: TestDirectory) -> types.SimpleNamespace:
    """What is known of the server; of one whose file is damaged, not even that the monitor saw its machine."""
    path = test_dir.artifact_paths.SERVER_DIR / "server.json"
    try:
        server = read_namespace(path)
    except ArtifactError as error:
        path.note_problem(error.reason)
        return types.SimpleNamespace(local=False)
    if not isinstance(getattr(server, "local", True), bool):
        path.note_problem(f"'local' is neither true nor false: {server.local!r:.80}")
        server.local = False
    return _with_cores(path, server)


@ignore_file_not_found
def _parse_environment(test_dir: TestDirectory) -> types.SimpleNamespace:
    return read_namespace(register_important_file(test_dir, test_dir / "environment.json"))


@ignore_file_not_found
def _parse_load_generator(test_dir: TestDirectory) -> types.SimpleNamespace:
    path = test_dir.artifact_paths.K6_RUN_DIR / "load_generator.json"
    return _with_cores(path, read_namespace(path))


@ignore_file_not_found
def _parse_fidelity(test_dir: TestDirectory) -> types.SimpleNamespace:
    """Whether the answers are right: cosines to those of the reference, or the accuracy on a labelled set."""
    path = test_dir.artifact_paths.FIDELITY_DIR / "fidelity.json"
    check = read_namespace(path)
    of_labels = getattr(check, "metric", "cosine") == "accuracy"
    known = _LABEL_NUMBERS if of_labels else _COSINE_NUMBERS
    for name in known:
        if name == "mean" and not hasattr(check, name):
            raise ArtifactError(path, "holds no number 'mean'")
        value = getattr(check, name, None)
        if value is not None and not is_number(value):
            raise ArtifactError(path, f"holds something else than a number as '{name}'")
        setattr(check, name, value)
    return check


_SHAPE = ("embedding_size", "vectors_per_input", "vectors_per_input_least", "vectors_per_input_most", "other_shapes")
_COSINE_NUMBERS = ("mean", "minimum", "vectors", "invalid", *_SHAPE)
_LABEL_NUMBERS = ("accuracy", "reference_accuracy", "standard_error", "agreement", "invalid")


def _with_cores(path: ArtifactPath, content: types.SimpleNamespace) -> types.SimpleNamespace:
    """*content*, in which ``cpus`` are numbers of cores; none where it is something else, so that nothing follows."""
    cpus = getattr(content, "cpus", None)
    if cpus is not None and not (isinstance(cpus, list) and all(type(cpu) is int and cpu >= 0 for cpu in cpus)):
        path.note_problem(f"'cpus' is no list of core numbers: {cpus!r:.80}")
        content.cpus = []
    return content


COMPETING_CORES = 0.05
"""Share of a core from which a load generator on the server's cores is worth a warning."""
BUSY_SHARE = 0.8
"""Share of the load generator's cores from which it may be the limit."""
CLOCK_S = 60.0
"""So many seconds a clock may be set within a run."""
CUT_SHORT = 0.8
"""Share of the planned duration below which the load was cut short."""
LONGER, WAITED_S = 1.2, 0.5
"""Times the planned duration, and so many seconds, beyond which last requests were waited for."""
LATE_MS = 50.0
"""Lag behind the schedule of the open model that is worth a warning."""
MOST_IN_FLIGHT = 1.5
"""Requests in flight for each virtual user, which has one at most, above which they can't be: times are rounded."""
ANSWERS, FAST = 5, 0.5
"""Answers in an interval, and share of it that one takes, from and up to which an interval without any is a stop."""
_SHARES = (
    "cpu_util",
    "gpu_util",
    "gpu_memory",
    "gpu_held_back",
    "main_memory",
    "accuracy",
    "reference_accuracy",
    "label_agreement",
)
DISTURBING_CORES = 0.25
"""Share of a core from which what other processes took is worth a warning."""


def generate_lts_payload(
    results: types.SimpleNamespace, import_settings: Mapping[str, Scalar]
) -> types.SimpleNamespace:
    """``metadata`` and ``results``; the engine completes the metadata and adds the KPIs."""
    inputs_per_request = _inputs_per_request(import_settings) or 1
    study = getattr(results, "study", None)
    measured = _from_study(study, inputs_per_request) if study else _from_k6(results, inputs_per_request)
    kept = types.SimpleNamespace(**_EMPTY | measured | _price(results))
    kept.doubts = _of_the_load(results, import_settings)
    others = _other_latencies(getattr(results, "k6", None))
    kept.contradictions = [*_of_another_run(results), *_wrong_latencies(kept, **others)]
    return types.SimpleNamespace(metadata=_metadata(results), results=kept)


get_kpi_labels = labels_from(models.Settings, kpi_settings_version=models.KPI_SETTINGS_VERSION, inputs_per_request=1)
"""The labels of all KPIs of a run: the settings that the model knows."""


def warnings(lts_payload: models.Payload) -> list[str]:
    """What makes the numbers of a run doubtful, a sentence each."""
    results = lts_payload.results
    sentences = []
    if results.failed_requests:
        sentences.append(f"{results.failed_requests:,} of {results.requests:,} requests failed")
    elif results.error_rate:
        sentences.append(
            f"{as_percent(results.error_rate, digits=1)} of the inputs were not answered in the right shape"
        )
    sentences += [*results.doubts, *_load_generator_limits(results)]
    if results.schedule_lag_p95_ms is None:  # at a rate, users wait for their turn
        sentences += [
            f"{each}: users paused, or a unit is wrong" for each in _in_flight(lts_payload, least=plausible.LAZY)
        ]
    sentences += _in_flight(lts_payload, most=plausible.CROWDED)
    if results.invalid_answers:
        sentences.append(f"{results.invalid_answers:,} of the answers that were checked were invalid")
    if results.other_shapes:
        what = "the length or number of vectors isn't that of the reference"
        sentences.append(f"in {results.other_shapes:,} of the embeddings that were checked {what}")
    cores = results.load_generator_cpu
    if results.load_generator_competes and (cores is None or cores > COMPETING_CORES):
        share = "an unknown share" if cores is None else as_percent(cores)
        sentences.append(f"k6 competed with the server for its cores: it took {share} of one")
    if results.other_cpu is not None and results.other_cpu > DISTURBING_CORES:
        sentences.append(f"other processes disturbed the run: they took {as_percent(results.other_cpu)} of a core")
    return sentences + plausible.held_back(results.gpu_held_back)


def implausible(lts_payload: models.Payload) -> list[str]:
    """Values that can't be, a sentence each."""
    results = lts_payload.results
    settings = lts_payload.metadata.settings
    per_request = _inputs_per_request(settings)
    if per_request is None:
        return [f"inputs_per_request is {show(settings['inputs_per_request'])}, which is no number of inputs"]
    sent = None if results.requests is None else results.requests * per_request
    sentences = plausible.counts(requests=results.requests, failed=results.failed_requests)
    sentences += plausible.counts(requests=sent, answered=results.answered_inputs, noun="inputs")
    if not sentences:
        sentences = plausible.shares(error_rate=results.error_rate)
    if results.requests and results.duration_s == 0:
        sentences.append(f"{results.requests:,} requests took no time")
    sentences += results.contradictions or _wrong_latencies(results)
    wrong = "a count, a time or a unit is wrong"
    sentences += [f"{each}: {wrong}" for each in _in_flight(lts_payload, most=MOST_IN_FLIGHT)]
    return sentences + plausible.shares(**{name: getattr(results, name) for name in _SHARES})


def _in_flight(lts_payload: models.Payload, **limits: float) -> list[str]:
    results, vus = lts_payload.results, lts_payload.metadata.settings.get("vus")
    if not results.requests or not results.duration_s or results.avg_latency_ms is None:
        return []
    answered = results.requests - (results.failed_requests or 0)
    per_s, mean_s = answered / results.duration_s, results.avg_latency_ms / 1000
    return plausible.in_flight(per_s=per_s, mean_s=mean_s, allowed=vus, name="vus", **limits)


def _inputs_per_request(settings: Mapping[str, Scalar]) -> int | None:
    """None where the settings have something that isn't a whole number above 0."""
    given = settings.get("inputs_per_request", 1)
    return given if type(given) is int and given > 0 else None


def _wrong_latencies(results: models.Results | types.SimpleNamespace, **others: Any) -> list[str]:
    """What can't be about the latencies that a payload keeps, and the *others* that k6 told."""
    run = results.duration_s * 1000 if results.duration_s else None
    return plausible.latencies(mean=results.avg_latency_ms, p95=results.p95_latency_ms, run=run, **others)


def _other_latencies(summary: types.SimpleNamespace | None) -> dict[str, float | None]:
    if summary is None:
        return {}
    quantiles, (minimum, maximum) = summary.latency_quantiles_ms, summary.latency_range_ms
    names = {"median": "50", "p90": "90", "p99": "99"}
    return {"minimum": minimum, "maximum": maximum, **{name: quantiles.get(at) for name, at in names.items()}}


def _of_another_run(results: types.SimpleNamespace) -> list[str]:
    """That k6's summary was left by a run of another day; of the same one a clock or a zone may be wrong."""
    times, began_s = getattr(results, "times", None), getattr(getattr(results, "k6", None), "began_s", None)
    if not times or not began_s or not plausible.of_another_run(of_seconds(began_s), times.start, times.end):
        return []
    return ["k6's load didn't begin on a day of the run: its summary is that of another run"]


def _of_the_load(results: types.SimpleNamespace, settings: Mapping[str, Scalar]) -> list[str]:
    """In what k6 tells of its load otherwise than the settings and its record do, and what its script found wrong."""
    summary, vus = getattr(results, "k6", None), settings.get("vus")
    if summary is None:
        return []
    planned = getattr(getattr(results, "load_generator", None), "load_model", None)
    said, (failed, checks) = [], summary.checks
    is_closed = summary.vus_max is not None and summary.schedule_lag_p95_ms is None
    if is_closed and is_number(vus) and vus != summary.vus_max:
        said.append(f"k6 had {summary.vus_max:g} virtual users, and the settings say {vus:g}")
    said += _of_its_time(summary.duration_s, planned if isinstance(planned, dict) else {})
    said += _silence(getattr(results, "timeseries", None), planned if isinstance(planned, dict) else {})
    times, began_s = getattr(results, "times", None), summary.began_s
    if times and began_s and not times.start.timestamp() - CLOCK_S < began_s < times.end.timestamp() + CLOCK_S:
        said.append("k6's load didn't begin while the run lasted: is its summary that of another run?")
    if failed and summary.answered_inputs is None:  # else the script counts what wasn't answered rightly
        said.append(f"{failed:,} of {checks:,} checks of the k6 script failed: all answers count all the same")
    return [*said, *(f"k6's threshold {limit} was crossed" for limit in summary.crossed)]


def _of_its_time(duration_s: float, planned: Mapping[str, object]) -> Iterator[str]:
    """That the load was shorter than *planned*, or longer, so that throughput, a mean over all of it, is too low."""
    planned_s, most_s = planned.get("duration_s"), planned.get("duration_s", planned.get("max_duration_s"))
    if is_number(planned_s) and duration_s < CUT_SHORT * planned_s:
        yield f"the load took {duration_s:.3g} s of the {planned_s:g} s that were planned"
    if is_number(most_s) and most_s > 0 and duration_s > LONGER * most_s + WAITED_S:
        yield (
            f"the load of {most_s:g} s took {duration_s:.3g} s, as its last requests were waited for: throughput is a "
            f"mean over all of it, and too low by up to {as_percent(1 - most_s / duration_s)}"
        )


def _silence(series: types.SimpleNamespace | None, planned: Mapping[str, object]) -> Iterator[str]:
    """That in seconds of the load nothing was answered, where others had several answers, and fast ones."""
    most_s = planned.get("duration_s", planned.get("max_duration_s"))
    if series is None or not is_number(most_s):
        return
    counts = series.requests[:-1][: int(most_s / series.interval_s)]
    busy, latencies = [count for count in counts if count], [each for each in series.p50_ms if each is not None]
    is_busy = bool(busy and latencies) and statistics.median(busy) >= ANSWERS
    if 0 in counts and is_busy and statistics.median(latencies) < FAST * 1000 * series.interval_s:
        said = f"nothing was answered in {counts.count(0)} of {len(counts)} seconds of the load"
        yield f"{said}: the server stood still"


def _load_generator_limits(results: models.Results) -> list[str]:
    """Signs that the load generator, not the server, was the limit."""
    sentences = []
    if results.dropped_iterations:
        why = "it could not keep up the load"
        if results.schedule_lag_p95_ms is None:  # not our script's rate, but a number of requests
            why = "duration_s was over before them, or it could not keep up a rate of the script's own"
        sentences.append(f"k6 dropped {results.dropped_iterations:,} iterations: {why}")
    if results.schedule_lag_p95_ms is not None and results.schedule_lag_p95_ms > LATE_MS:
        sentences.append(
            f"k6 sent requests late, 5 % of them by more than {results.schedule_lag_p95_ms:,.0f} ms: latencies don't "
            "tell what users at this rate would wait"
        )
    cores, used = results.load_generator_cores, results.load_generator_cpu
    if cores is not None and used is not None and used > BUSY_SHARE * cores:
        sentences.append(f"k6 used {as_percent(used)} of a core, and had {cores}: it may be the limit, not the server")
    return sentences


_EMPTY: dict[str, object] = dict.fromkeys(models.Results.model_fields)


def _metadata(results: types.SimpleNamespace) -> types.SimpleNamespace:
    times, config = getattr(results, "times", None), getattr(results, "test_config", None)
    price, environment = getattr(results, "price", None), getattr(results, "environment", None)
    return types.SimpleNamespace(
        lts_schema_version=models.LTS_SCHEMA_VERSION,
        start=times.start if times else None,
        end=times.end if times else None,
        config=config.text if config else None,
        price_source=price.source if price else None,
        environment=vars(environment) if environment else None,
    )


def _price(results: types.SimpleNamespace) -> dict[str, object]:
    price = getattr(results, "price", None)
    return {"price_usd_per_hour": price.usd_per_hour if price else None}


def _from_study(run: types.SimpleNamespace, inputs_per_request: int) -> dict[str, object]:
    answered = run.answered_requests * inputs_per_request
    unseen = {"failed_requests": not run.counts_failures, "error_rate": not run.counts_wrong}
    unknown = {name: None for name, is_unseen in unseen.items() if is_unseen}
    failed = {"failed_requests": run.requests - run.answered_requests}
    return _same(run) | failed | _rates(answered, run.requests * inputs_per_request, run.duration_s) | unknown


def _from_k6(results: types.SimpleNamespace, inputs_per_request: int) -> dict[str, object]:
    summary, measured = getattr(results, "k6", None), _around(results)
    if summary is None:
        return measured
    sent, answered = summary.sent_inputs, summary.answered_inputs
    if sent is None:
        sent = summary.requests * inputs_per_request
    if answered is None:
        answered = (summary.requests - summary.failed_requests) * inputs_per_request
    return measured | _same(summary) | _rates(answered, sent, summary.duration_s)


def _same(parsed: types.SimpleNamespace) -> dict[str, object]:
    """What the payload calls as the parser does."""
    return {name: value for name, value in vars(parsed).items() if name in _EMPTY}


def _rates(answered: int, sent: int, duration_s: float | None) -> dict[str, object]:
    return {
        "answered_inputs": answered,
        "throughput": answered / duration_s if duration_s else None,
        "error_rate": 1 - answered / sent if sent else None,
    }


def _around(results: types.SimpleNamespace) -> dict[str, object]:
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
        "gpu_held_back": of_server.gpu_held_back if of_server else None,
        "main_memory": of_server.main_memory_max if of_server else None,
        "load_generator_cpu": log.process_cores.get("k6") if log else None,
        "load_generator_cores": len(cpus) if isinstance(cpus, list) and cpus else None,
        "other_cpu": log.other_cores if log else None,
        "monitor_cpu": log.monitor_cores if log else None,
        "load_generator_competes": getattr(generator, "competes_with_server", None),
        **_check_of_answers(getattr(results, "fidelity", None)),
    }


def _check_of_answers(check: types.SimpleNamespace | None) -> dict[str, object]:
    names = {name: name for name in (*_SHAPE, "accuracy", "reference_accuracy")}
    names |= {"fidelity_mean": "mean", "fidelity_minimum": "minimum", "accuracy_standard_error": "standard_error"}
    names |= {"label_agreement": "agreement", "invalid_answers": "invalid"}
    return {result: getattr(check, name, None) for result, name in names.items()}


local_store = BaseStore(
    cache_filename=".matbench_encoder_bench.cache",
    important_files=IMPORTANT_FILES,
    optional_files=OPTIONAL_FILES,
    artifact_dirnames=artifact_dirnames,
    layouts=(NativeLayout(), EncoderAnalysisLayout(), STUDY_TABLES),
    parse_always=parse_always,
    parse_once=parse_once,
    lts_payload_model=models.Payload,
    generate_lts_payload=generate_lts_payload,
    models_kpis=models.KPIS,
    get_kpi_labels=get_kpi_labels,
)
