"""The store: readers of the tools' files, the prices of the day, and what makes a number doubtful or impossible."""

from __future__ import annotations

import collections
import math
import types
from collections.abc import Mapping, Sequence
from typing import Any

from matrix_benchmarking import kpi, plausible, prices
from matrix_benchmarking.analyze.words import as_percent, count_of
from matrix_benchmarking.filters import Scalar
from matrix_benchmarking.matrix import Entry
from matrix_benchmarking.models import Payload
from matrix_benchmarking.plausible import is_number
from matrix_benchmarking.settings import SETTINGS_FROM, matches
from matrix_benchmarking.store import TestDirectory, reader_store

from ..benchmark_report import report
from . import kpis, places
from .readers.every import READERS
from .vocabulary import COUNTS, LATENCIES, MEASURES, UNLIMITED, renamed

GROUPS = ("model", "tokenizer", "dataset", "input_length", "output_length", "tool", "load_tool", "scenario", "purpose")
"""Other tokens, other prompts, tools that count tokens or warm-up differently (load_tool is the one behind a Benchmark
Report), and MLPerf's scenarios and compliance runs are not compared."""
OPTIONS: Mapping[str, Scalar] = {"input_per_output": 3.0, "output_weight": 4.0}
"""For the price of a mix: input tokens to one output token, and how many input tokens an output token is worth."""

_NONE = object()
FEW_REQUESTS = 100
LATE_SHARE = 0.1
BEHIND, HALF, TURNS = 0.95, 0.5, 3
COLD = 5.0
UNASKED = {"output_length": ("answers", 0.9, 1.25), "input_length": ("prompts", 2 / 3, 1.5)}
"""Of the lengths that were asked for, below and above what share of which what was measured is worth a warning.

Templates of chats add to prompts.
"""
PARTS = 1.5
"""How many times as long as the times of its tokens an answer may take, or the other way round."""
COUNTED = {"input_length": "tokens", "output_length": "tokens", "concurrency": "requests"}


def parse_always(results: types.SimpleNamespace, test_dir: TestDirectory, settings: Mapping[str, Scalar]) -> None:
    """Add the price of one accelerator and hour, the mix that a blend is of, and where each setting comes from."""
    offers = prices.offers(settings, test_dir.options.get("prices") or {}, places.accelerator)
    results.price = min(offers, key=offers.__getitem__, default=None)
    results.other_prices = sorted(name for name in offers if name != results.price)
    results.usd_per_hour = None if results.price is None else offers[results.price]
    for name, default in OPTIONS.items():
        setattr(results, name, test_dir.options.get(name, default))
    own: dict[str, list[Scalar]] = getattr(results, "sources", {})
    named = places.guessed(test_dir.path, {name: value for name, (_, value) in own.items()})
    pattern = test_dir.options.get(SETTINGS_FROM)
    path = test_dir.path.with_suffix("")
    said = [renamed(each) for each in matches(str(pattern), path.parts)] if pattern else []
    results.settings_from = {}
    for name, value in settings.items():
        if any(each.get(name, _NONE) == value for each in said):
            results.settings_from[name] = "--settings-from"
        elif name in own and own[name][1] == value:
            results.settings_from[name] = own[name][0]
        elif name == "gpus" and value == places.gpus_of(settings) and "gpus" in named:
            results.settings_from[name] = "tp, pp and dp"
        elif named.get(name, _NONE) == value:
            results.settings_from[name] = "a name"
        elif name != "tool":
            results.settings_from[name] = "settings.yaml"
    results.contradicted = {
        name: value for name, (_, value) in own.items() if name in settings and settings[name] != value
    }


def warnings(lts_payload: Payload) -> list[str]:
    """What makes the numbers of a run doubtful, a sentence each."""
    results: Any = lts_payload.results
    settings = lts_payload.metadata.settings
    return [
        *getattr(results, "told", ()),
        *_of_settings(settings),
        *_of_price(results, settings),
        *_of_load(results, settings),
        *_of_client(results, settings),
        *_of_requests(results),
        *_of_lengths(results, settings),
        *(
            f"the file says {name} {value}, and the settings {settings.get(name)}"
            for name, value in (getattr(results, "contradicted", None) or {}).items()
        ),
    ]


def _of_settings(settings: Mapping[str, Scalar]) -> list[str]:
    """Numbers that nobody can have asked for; a word may be meant."""
    wrong = {name: f"number of {what}" for name, what in COUNTED.items() if _is_below(settings.get(name), 1)}
    if kpis.no_number_of_gpus(settings.get("gpus", 1)):
        wrong["gpus"] = "number of GPUs"
    rate = settings.get("request_rate")
    if rate == 0 or _is_below(rate, 0):
        wrong["request_rate"] = "rate"
    return [f"the setting {name} is {settings[name]}, which is no {what}" for name, what in wrong.items()]


def _of_price(results: Any, settings: Mapping[str, Scalar]) -> list[str]:
    """Signs that the deployment costs something else: other numbers of GPUs, and prices of other vendors."""
    contradiction = kpis.too_few_gpus(settings)
    found = [f"{contradiction}: costs and rates per GPU aren't known"] if contradiction else []
    if others := getattr(results, "other_prices", None):
        found.append(
            f"the settings name no vendor, and the price is the least that fits, of {results.price}; there are those "
            f"of {' and '.join(others)}"
        )
    return found


def _is_below(value: object, least: float) -> bool:
    return is_number(value) and value < least


def _counted(requests: float, of_one: str, of_more: str) -> str:
    """``1 request was``, ``2 requests were``."""
    return f"{requests:,.0f} requests {of_more}" if requests != 1 else f"1 request {of_one}"


def _of_load(results: Any, settings: Mapping[str, Scalar]) -> list[str]:
    """Signs that not as many requests were in flight as the settings say; at a rate they may be fewer."""
    least = HALF if settings.get("request_rate", UNLIMITED) == UNLIMITED else 0.0
    found = [*_in_flight(results, settings, least=least, most=plausible.CROWDED)]
    asked, requests = settings.get("concurrency"), getattr(results, "requests", None)
    if least and is_number(asked) and is_number(requests) and 0 < requests < TURNS * asked:
        few = f"{_counted(requests, 'was', 'were')} answered, fewer than "
        of_all = f"{few}{TURNS} for each of a concurrency of {asked:,.0f}: start and end are much of the run"
        found.append(f"{few}a concurrency of {asked:,.0f} takes" if requests < asked else of_all)
    rate, answered = settings.get("request_rate"), getattr(results, "requests_per_s", None)
    if is_number(rate) and is_number(answered) and answered < HALF * rate:
        found.append(f"{answered:.3g} requests/s were answered where {rate:.4g} were asked for: it isn't at that load")
    parts = _known(results, "ttft_mean", "tpot_mean", "output_length_mean", "e2e_mean")
    if parts is not None and min(parts) >= 0:
        first, each, length, whole = parts
        tokens = first + each * max(0.0, length - 1)
        if not whole / PARTS <= tokens <= whole * PARTS:
            found.append(
                f"a whole answer takes {whole:.3g} s, the mean, and by ttft and tpot its tokens take {tokens:.3g} s: "
                "one of these is something else than its name says"
            )
    return found


def _of_client(results: Any, settings: Mapping[str, Scalar]) -> list[str]:
    """Signs that the client, and not the server, was the limit.

    Without a rate that was asked for, a request waits for another one to end, and is not late.
    """
    found = []
    asked, reached = getattr(results, "request_rate_asked", None), getattr(results, "request_rate_reached", None)
    if is_number(asked) and is_number(reached) and 0 < reached < BEHIND * asked:
        found.append(
            f"the client may have been the limit: it sent {reached:.4g} requests/s where {asked:.4g} were asked for"
        )
    delay, latency = getattr(results, "schedule_delay_mean", None), getattr(results, "e2e_mean", None)
    has_rate = settings.get("request_rate") != UNLIMITED
    if has_rate and is_number(delay) and is_number(latency) and latency > 0 and delay > LATE_SHARE * latency:
        found.append(
            f"the client may have been the limit: it sent requests {delay:.3g} s late, the mean, and an answer took "
            f"{latency:.3g} s"
        )
    return found


def _of_requests(results: Any) -> list[str]:
    found = []
    requests = getattr(results, "requests", None)
    if is_number(requests) and 0 < requests < FEW_REQUESTS and any(_p99s(results)):
        stand = _counted(requests, "stands", "stand")
        found.append(f"{stand} behind the 99th percentiles, which want {FEW_REQUESTS} at least")
    ratio = getattr(results, "first_ttft_ratio", None)
    if is_number(ratio) and ratio > COLD:
        found.append(f"the first request was cold: its first token took {ratio:.3g} times the median")
    kept, answered = _known(results, "goodput", "requests_per_s") or (1.0, 0.0)
    if kept < HALF * answered:
        found.append(f"goodput is {kept:.3g} of {answered:.3g} requests/s: most missed the goals that were given")
    share = getattr(results, "error_share", None)
    if is_number(share) and 0 < share < 1:
        found.append(f"{as_percent(share, digits=2)} of the requests failed, and the latencies are of the others")
    return found


def _p99s(results: Any) -> list[bool]:
    return [is_number(getattr(results, f"{name}_p99", None)) for name in LATENCIES]


def _of_lengths(results: Any, settings: Mapping[str, Scalar]) -> list[str]:
    found = []
    for name, (what, short, long) in UNASKED.items():
        asked, made = settings.get(name), getattr(results, f"{name}_mean", None)
        if settings.get("range_ratio") not in (None, 1) or not (is_number(asked) and is_number(made) and made > 0):
            continue
        said = f"{made:,.4g} tokens, the mean, where {asked:,.4g} were asked for"
        if made < short * asked:
            found.append(f"{what} are shorter than asked: {said}")
        elif made > long * asked > 0:
            found.append(f"{what} are longer than asked: {said}: are tokens counted otherwise?")
    return found


def exchange(lts_payload: Payload) -> dict[str, dict[str, Any]]:
    """The run as a Benchmark Report; none where nothing of the vocabulary is known."""
    results, metadata = lts_payload.results, lts_payload.metadata
    found = {name: getattr(results, name, None) for name in (*MEASURES, *COUNTS)}
    measures = {name: float(value) for name, value in found.items() if is_number(value)}
    if not measures:
        return {}
    settings = {name: value for name, value in metadata.settings.items() if value is not None}
    times, campaign = {"start": metadata.start, "end": metadata.end}, getattr(metadata, "campaign", None)
    uid, repeat = str(metadata.test_uuid), metadata.repeat
    return {"": report(uid, settings, measures, repeat=repeat, campaign=campaign, **times)}


UNLIKE = {"input_length_mean": 1.25, "output_length_mean": 1.25, "requests": 20.0}
"""How many times as large as the least the largest of a group may be, until it is said."""


def differences(entries: Sequence[Entry]) -> list[str]:
    """Why runs of one group, which are compared, may not be alike."""
    groups: dict[tuple[object, ...], list[Entry]] = {}
    for entry in entries:
        if not entry.failed:
            groups.setdefault(tuple((name, repr(entry.settings.get(name))) for name in GROUPS), []).append(entry)
    found = []
    for runs in groups.values():
        for name, factor in UNLIKE.items():
            values = [run.kpis[name] for run in runs if run.kpis.get(name, 0) > 0]
            if values and max(values) > factor * min(values):
                of = f" of {runs[0].settings['model']}" if "model" in runs[0].settings else ""
                found.append(
                    f"{count_of(len(values), 'run')}{of} are compared, and their {name} is {min(values):,.4g} to "
                    f"{max(values):,.4g}: {MEASURES[name].help.lower()}."
                )
    return [*found, *_other_names(entries)]


def _other_names(entries: Sequence[Entry]) -> list[str]:
    """Hardware that goes by its plain name in some runs and by a longer one in others."""
    counts = collections.Counter(str(entry.settings["hw_type"]) for entry in entries if "hw_type" in entry.settings)
    of: dict[str, list[str]] = {}
    for name in counts:
        of.setdefault((places.accelerator(name) or name).upper(), []).append(name)
    return [
        f"'hw_type' is {', '.join(f'{name} in {counts[name]}' for name in names)} runs: is it the same hardware?"
        for plain, names in of.items()
        if plain in map(str.upper, names) and len(set(map(str.upper, names))) > 1
    ]


ROUNDED = 1.01  # a part may be so many times the whole, by rounding and by how tools take their durations
WINDOW = 2.0  # of how many times the run a latency may be: some tools' run is a window that requests reach out of
_SAID = {"mean": "mean", "p50": "median", "p90": "p90", "p95": "p95", "p99": "p99"}
NEVER_NEGATIVE = [name for name in MEASURES if not name.startswith("schedule_delay")]


def implausible(lts_payload: Payload) -> list[str]:
    """Values that can't be, a sentence each."""
    results: Any = lts_payload.results
    settings = lts_payload.metadata.settings
    known = {name: value for name in NEVER_NEGATIVE if is_number(value := getattr(results, name, None))}
    found = [f"{name} is {value:.6g}, and it can't be below 0" for name, value in known.items() if value < 0]
    if known.get("output_tokens_per_s") == 0 < known.get("requests", 0):
        found.append(f"no output token was counted, though {_counted(known['requests'], 'was', 'were')} answered")
    made, together = known.get("output_tokens_per_s", 0), known.get("total_tokens_per_s", math.inf)
    if made > ROUNDED * together:  # input alone some tools count by the time that prompts took
        found.append(f"output_tokens_per_s is {made:,.4g}, and of all tokens together it is {together:,.4g}")
    duration = getattr(results, "duration", None)
    if duration == 0 < known.get("requests", 0):
        found.append(f"{_counted(known['requests'], 'took', 'took')} no time")
    run = WINDOW * duration if is_number(duration) and duration > 0 else None
    for name in LATENCIES:
        told = {said: known.get(f"{name}_{each}") for each, said in _SAID.items()}
        found += plausible.latencies(**told, run=run, unit="s", rounding=1e-5, what=name)
    first, whole = known.get("ttft_mean"), known.get("e2e_mean")
    if first is not None and whole is not None and whole < 0.99 * first:
        found.append(
            f"a whole answer takes {whole:.3g} s, the mean, and its first token {first:.3g} s: a unit is wrong"
        )
    found += [f"{each}: a unit is wrong" for each in _in_flight(results, settings, most=plausible.OF_UNITS)]
    found += _disagreeing(known)
    shares = ("error_share", "cache_hit_share", "acceptance_rate", "gpu_utilization")
    found += plausible.shares(**{name: known.get(name) for name in shares})
    return found


def _known(results: Any, *names: str) -> list[float] | None:
    """The numbers of these *names*; None unless all are known."""
    found = [value for name in names if is_number(value := getattr(results, name, None))]
    return found if len(found) == len(names) else None


def _in_flight(results: Any, settings: Mapping[str, Scalar], **limits: float) -> list[str]:
    per_s, mean_s = _known(results, "requests_per_s", "e2e_mean") or (None, None)
    parts = _known(results, "requests_per_s", "ttft_mean", "tpot_mean", "output_length_mean")
    if per_s is None and parts is not None:  # as long as a whole answer takes, where that isn't told
        per_s, first, each, length = parts
        mean_s = first + each * max(0.0, length - 1)
    allowed = settings.get("concurrency")
    return plausible.in_flight(per_s=per_s, mean_s=mean_s, allowed=allowed, name="concurrency", **limits)


def _disagreeing(known: Mapping[str, float]) -> list[str]:
    """Tokens per second that aren't those of the requests; input alone some tools count by the time of prompts."""
    found = []
    for name, lengths in (("output", ["output"]), ("total", ["input", "output"])):
        parts = [known.get(f"{each}_length_mean") for each in lengths]
        rate, told = known.get("requests_per_s"), known.get(f"{name}_tokens_per_s")
        if rate and told and None not in parts:
            worked_out = rate * sum(part for part in parts if part is not None)
            if not worked_out / plausible.OF_UNITS <= told <= worked_out * plausible.OF_UNITS:
                of = "their lengths" if len(lengths) > 1 else f"{name}_length_mean"
                found.append(f"{name}_tokens_per_s is {told:,.4g}, and requests_per_s by {of} are {worked_out:,.4g}")
    return found


local_store = reader_store(
    READERS,
    complete=places.complete,
    parse_always=parse_always,
    models_kpis=kpi.collect([*kpis.MEASURED, *kpis.DERIVED]),
)
