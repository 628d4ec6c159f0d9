"""One module a tool: ``TOOL``, ``FIELDS`` (which measure is where in its file), ``recognises`` and ``read``.

A reader yields each point by :func:`point`; everything else that readers share is here, too.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeGuard

from matrix_benchmarking.errors import ArtifactError, shortened
from matrix_benchmarking.filters import Scalar
from matrix_benchmarking.store import ArtifactPath, Part, read_text

from ..vocabulary import LATENCIES, MEASURES, STATISTICS, UNLIMITED, renamed

S, MS, US, NS = 1.0, 1e-3, 1e-6, 1e-9


OF_REQUESTS = tuple(f"{name}_{what}" for name in LATENCIES for what in STATISTICS)
"""What :func:`of_requests` works out of the latencies of single requests."""
OF_COUNTS = (
    *("requests", "input_length_mean", "output_length_mean", "error_share"),
    *("requests_per_s", "input_tokens_per_s", "output_tokens_per_s", "total_tokens_per_s"),
)
"""What :func:`counted` and :func:`point` work out of numbers of requests and tokens."""


@dataclasses.dataclass(frozen=True, slots=True)
class Field:
    """Where a measure is in a tool's document: the dotted paths of which the first counts that is there; *unit* makes
    the measure's unit of it.
    """

    paths: tuple[str, ...]
    unit: float = 1.0


def field(*paths: str, unit: float = 1.0) -> Field:
    return Field(paths, unit)


def latencies(template: Mapping[str, str], names: Mapping[str, str], unit: float) -> dict[str, Field]:
    """The fields of latencies: *template* has for each statistic a path with ``{}`` where a latency's name goes.

    Alternative paths, and alternative names, are separated by ``|``.
    """
    return {
        f"{ours}_{statistic}": Field(
            tuple(path.format(name) for name in theirs.split("|") for path in paths.split("|")), unit
        )
        for ours, theirs in names.items()
        for statistic, paths in template.items()
    }


def holds(document: object, fields: Mapping[str, Field]) -> TypeGuard[dict[str, Any]]:
    """Whether *document* is an object in which one of *fields* is."""
    return isinstance(document, dict) and any(path in document for each in fields.values() for path in each.paths)


def measured(document: object, fields: Mapping[str, Field]) -> dict[str, Any]:
    """The measures of *document* in their units; what isn't there, or is no finite number, is left out.

    What is there and no number is said in ``told``.
    """
    found: dict[str, Any] = {}
    odd = []
    for name, where in fields.items():
        for path in where.paths:
            said = at(document, path)
            value = number(said, where.unit)
            if value is not None:
                found[name] = value
                break
            if said is not None:
                odd.append(no_measure(path, said))
    return {**found, "told": odd} if odd else found


def no_measure(path: str, said: object, why: str = "no number") -> str:
    """The doubt about a value of the file that can't be taken."""
    return f"the file's {path} is {shortened(repr(said), 30)}, which is {why}"


def at(document: object, path: str) -> Any:
    """What is at the dotted *path*; None where nothing is. Keys may have dots; a number is a list's place."""
    if isinstance(document, list) and path.partition(".")[0].isdigit():
        place, _, rest = path.partition(".")
        inner = document[int(place)] if int(place) < len(document) else None
        return at(inner, rest) if rest else inner
    if not isinstance(document, dict):
        return None
    if path in document:
        return document[path]
    steps = path.split(".")
    for count in range(1, len(steps)):
        key = ".".join(steps[:count])
        if key in document and (found := at(document[key], ".".join(steps[count:]))) is not None:
            return found
    return None


def objects(value: object) -> list[Mapping[str, Any]]:
    """The objects of what should be a list of such."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def number(value: object, unit: float = 1.0) -> float | None:
    """*value* times *unit*; None where it is no finite number."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        found = float(value) * unit
    except OverflowError:
        return None
    return found if math.isfinite(found) else None


def limit(value: object) -> Scalar:
    """A rate or a concurrency that was asked for: ``inf`` and ``Infinity``, as numbers or texts, are no limit; another
    text is what it is.
    """
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return scalar(value)
    if isinstance(value, float) and math.isinf(value):
        return UNLIMITED
    known = number(value)
    return int(known) if known is not None and known == int(known) else known


def point(
    part: str, tool: str, settings: Mapping[str, object], results: Mapping[str, Any], **config: Mapping[str, object]
) -> Part:
    """The part of one measured point.

    Args:
        settings: as the file says them, in the names of :data:`..vocabulary.SETTINGS`; None is left out.
        results: measures and counts, ``start`` and ``end`` if known.
        config: settings that a file beside it says, such as ``manifests.yaml`` with its dots written as ``__``; the
            results file goes first.
    """
    sources: dict[str, list[Scalar]] = {}
    merged: dict[str, Scalar] = {"tool": tool}
    for source, given in {"the file": settings, **config}.items():
        for name, value in renamed({name: value for name, value in given.items() if value is not None}).items():
            if name not in merged and (known := scalar(model_name(value) if name == "model" else value)) is not None:
                merged[name], sources[name] = known, [source.replace("__", "."), known]
    return part, merged, {**without_lies(results), "sources": sources}


_IN_CACHE = re.compile(
    r".*/?models--([^/]+?)--([^/]+)/snapshots/[^/]+/?|.*/modelscope/(?:hub/)?(?:models/)?([^/]+)/([^/]+)/?"
)


def model_name(value: object) -> object:
    """*value*, or of a model's directory in the cache of the Hugging Face Hub or of ModelScope its name there."""
    match = _IN_CACHE.fullmatch(value) if isinstance(value, str) else None
    return "/".join(filter(None, match.groups())).replace("___", ".") if match else value


def moment(seconds: object) -> dt.datetime | None:
    """The time *seconds* after 1970; None for what can't be one."""
    known = number(seconds)
    return dt.datetime.fromtimestamp(known, dt.UTC) if known is not None and 0 < known < 4e9 else None


def without_lies(results: Mapping[str, Any]) -> dict[str, Any]:
    """*results*; of a run in which no request succeeded all measures are unknown, and it failed.

    The error share is worked out where only the counts are there.
    """
    found = dict(results)
    done, failed = found.get("requests"), found.get("failed_requests")
    if done is not None and failed is not None and done + failed > 0:
        found.setdefault("error_share", failed / (done + failed))
    if done == 0:
        for name in MEASURES:
            if name not in ("error_share", "requests"):
                found.pop(name, None)
        found["exit_code"] = 1
    elif done is not None:
        # 0 s is what tools write for a latency that they didn't measure, such as TTFT without streaming.
        for name in OF_REQUESTS:
            if found.get(name) == 0:
                del found[name]
    return found


def as_number(value: object) -> Scalar:
    """*value* as a setting; a number where a text is written as one, as in what a person gave on a command line."""
    if isinstance(value, str) and re.fullmatch(r"-?(0|[1-9]\d{0,14})(\.\d{1,15})?", value):
        return scalar(float(value))
    return scalar(value)


def scalar(value: object) -> Scalar:
    """*value* as a setting; None for what is none, such as a list, NaN or an empty text."""
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else UNLIMITED
    if isinstance(value, float) and value == int(value) and abs(value) < 1e15:
        return int(value)
    if isinstance(value, str):
        return value.strip() or None
    return value if isinstance(value, (bool, int, float)) else None


def documents(file: ArtifactPath) -> Iterable[tuple[str, Any]]:
    """The JSON values of *file* with their names: one value, or one a line, as tools write that append.

    ``Infinity`` and ``NaN``, which aren't JSON, are read. Several values are called ``line N``, one has no name.

    Raises:
        ArtifactError: it is not JSON, or ends within a value.
    """
    text = read_text(file).removeprefix("\ufeff")
    try:
        yield "", json.loads(text)
        return
    except (ValueError, RecursionError) as error:
        whole = error
    lines = [(place, line) for place, line in enumerate(text.splitlines(), start=1) if line.strip()]
    if not lines:
        raise ArtifactError(file, "is empty") from whole
    for count, (place, line) in enumerate(lines):
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:
            if count == 0:
                raise ArtifactError(file, f"is not valid JSON: {whole}") from whole
            raise ArtifactError(file, f"line {place} is not valid JSON: {error}") from error
        yield f"line {place}", value


def of_requests(document: Mapping[str, Any]) -> dict[str, float]:
    """What the latencies of single requests, in s, allow to compute: ``ttfts`` and ``itls``, of detailed files; and
    ``latencies`` of whole answers, 0 where there was none, which vLLM writes since 2026.

    The percentiles of TTFT, ITL, TPOT (of answers with at least two tokens) and of whole answers; and how many times as
    long as the median TTFT the very first one took, ``first_ttft_ratio``.
    """
    firsts, gaps = document.get("ttfts"), document.get("itls")
    errors = document.get("errors")
    errors = errors if isinstance(errors, list) else []
    whole = document.get("latencies")
    answers = [known for each in whole if (known := number(each))] if isinstance(whole, list) else []
    e2e = {f"e2e_{what}": value for what, value in statistics(answers).items()}
    if not isinstance(firsts, list) or not isinstance(gaps, list) or len(firsts) != len(gaps) or not firsts:
        return e2e
    lengths = document.get("output_lens")
    lengths = lengths if isinstance(lengths, list) and len(lengths) == len(firsts) else [None] * len(firsts)
    samples: dict[str, list[float]] = {name: [] for name in LATENCIES}
    for place, (first, between, length) in enumerate(zip(firsts, gaps, lengths, strict=True)):
        if (errors[place : place + 1] or [""])[0] or number(first) is None or not isinstance(between, list):
            continue
        rest = math.fsum(known for gap in between if (known := number(gap)) is not None)
        samples["ttft"].append(first)
        samples["itl"] += [gap for gap in between if number(gap) is not None]
        samples["e2e"].append(first + rest)
        if isinstance(length, int) and length > 1:
            samples["tpot"].append(rest / (length - 1))
    found = {f"{name}_{what}": value for name in samples for what, value in statistics(samples[name]).items()}
    if len(samples["ttft"]) > 1 and (median := found["ttft_p50"]) > 0:
        found["first_ttft_ratio"] = samples["ttft"][0] / median
    return {**found, **e2e}


def statistics(samples: Sequence[float]) -> dict[str, float]:
    """Mean and percentiles, interpolated as numpy does by default; empty for no samples."""
    if not samples:
        return {}
    import numpy as np

    shares = {"p50": 50, "p90": 90, "p95": 95, "p99": 99}
    values = np.percentile(np.asarray(samples, dtype=float), list(shares.values()))
    return {"mean": math.fsum(samples) / len(samples), **dict(zip(shares, map(float, values), strict=True))}


def counted(results: dict[str, Any]) -> dict[str, Any]:
    """*results* with the lengths and rates that the counts of tokens and requests give, where the file has none."""
    requests, duration = results.get("requests"), results.get("duration")
    for name, tokens in (("input", results.get("input_tokens")), ("output", results.get("output_tokens"))):
        if tokens is not None and requests:
            results.setdefault(f"{name}_length_mean", tokens / requests)
        if tokens is not None and duration:
            results.setdefault(f"{name}_tokens_per_s", tokens / duration)
    if requests and duration:
        results.setdefault("requests_per_s", requests / duration)
    length, answered = results.get("input_length_mean"), results.get("requests_per_s")
    if length is not None and answered is not None:
        results.setdefault("input_tokens_per_s", length * answered)
    rates = [results.get(f"{kind}_tokens_per_s") for kind in ("input", "output")]
    if None not in rates:
        results.setdefault("total_tokens_per_s", sum(rate for rate in rates if rate is not None))
    return results


def checked(results: dict[str, Any], asked: object = None) -> dict[str, Any]:
    """*results* with a doubt where rates aren't the counts by the duration, or requests not as many as were *asked*
    for; only of tools that take all rates over the duration that they write.
    """
    told, duration, counts = [], results.get("duration"), dict(results)
    if {"input_tokens", "output_tokens"} <= results.keys():
        counts["total_tokens"] = results["input_tokens"] + results["output_tokens"]
    for name in ("requests", "input_tokens", "output_tokens", "total_tokens"):
        if duration and name in counts and f"{name}_per_s" in results:
            rate, worked_out = results[f"{name}_per_s"], counts[name] / duration
            if abs(rate - worked_out) > max(0.01, 0.01 * rate):
                told.append(f"{name}_per_s is {rate:,.4g}, and {name} by the duration are {worked_out:,.4g}")
    if number(asked) is not None and {"requests", "failed_requests"} <= results.keys():
        done, failed = results["requests"], results["failed_requests"]
        if done + failed != asked:
            told.append(f"{done:,.0f} requests were answered and {failed:,.0f} failed, and num_prompts is {asked:,}")
    return {**results, "told": [*results.get("told", ()), *told]} if told else results


_BACKENDS = {each: each for each in ("vllm", "sglang", "tgi", "lmdeploy", "scalellm", "llama.cpp", "gserver", "truss")}
_BACKENDS |= {"sgl": "sglang", "deepspeed": "deepspeed-mii", **dict.fromkeys(("trt", "trtllm", "tensorrt"), "trtllm")}


def engine_of(backend: object) -> str | None:
    """The server that a client's *backend* names, such as ``vllm-chat``; None where that is only a protocol."""
    return _BACKENDS.get(re.split("[-_]", str(backend).lower())[0])


_SERVERS = "tensorrt[-_]?llm|trtllm|vllm|sglang|text-generation-inference|tgi|lmdeploy|llama\\.cpp|llm-d|atom"
_SPELT = {"text-generation-inference": "tgi"}
_RELEASE = r"v?(\d+\.\d+(?:\.\d+)*(?:[.\-]?(?:rc|post|dev|pre|alpha|beta)[.\-]?\d+)*)"


def of_image(image: object) -> dict[str, Scalar]:
    """The engine, and its version, that a container's *image* names; empty where it names none.

    In ``rocm/vllm:rocm7.0_vllm_0.10.1`` the version stands behind the engine, in ``vllm/vllm-openai:v0.11.0`` it is the
    tag's beginning.
    """
    if not isinstance(image, str):
        return {}
    tag = re.split(r"[/#]", image)[-1].partition(":")[2]
    behind = re.search(rf"({_SERVERS})[-_]?{_RELEASE}", tag, re.IGNORECASE)
    name = behind or re.search(_SERVERS, tag, re.IGNORECASE) or re.search(_SERVERS, image, re.IGNORECASE)
    if name is None:
        return {}
    spelt = (name[1] if behind else name[0]).lower()
    engine = "trtllm" if spelt.startswith(("tensorrt", "trt")) else _SPELT.get(spelt, spelt)
    release = behind[2] if behind else found[1] if (found := re.match(_RELEASE, tag)) else None
    return {"engine": engine, "version": release} if release else {"engine": engine}
