"""The KPIs: the measures of the vocabulary as they are, per GPU, per user, and what tokens cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from matrix_benchmarking.filters import Scalar
from matrix_benchmarking.kpi import (
    Format,
    HigherBetter,
    IgnoredForRegression,
    KPIFunction,
    KPIMetadata,
    LowerBetter,
    UnknownKPI,
    field_kpi,
    known,
)
from matrix_benchmarking.models import Payload
from matrix_benchmarking.plausible import is_number

from . import places
from .readers.every import READERS
from .vocabulary import MEASURES

MILLION = 10**6
SECONDS_PER_HOUR = 3600


def _tools(measure: str) -> list[str]:
    return [reader.TOOL for reader in READERS if measure in reader.FIELDS or measure in reader.DERIVED]


MEASURED: list[KPIFunction] = [
    field_kpi(
        name,
        help=measure.help,
        unit=measure.unit,
        better=measure.better,
        format=measure.format,
        ignored_for_regression=not measure.judged,
        applies_to={"tool": tools},
        unknown=f"the file doesn't say {name}",
    )
    for name, measure in MEASURES.items()
    if (tools := _tools(name))
]


def _gpus(lts_payload: Payload) -> float:
    count = lts_payload.metadata.settings.get("gpus")
    if count is None:
        raise UnknownKPI("the number of GPUs is unknown; say it as the setting gpus, in a settings.yaml")
    if no_number_of_gpus(count):
        raise UnknownKPI(f"the setting gpus is {count}, which is no number of GPUs")
    if contradiction := too_few_gpus(lts_payload.metadata.settings):
        raise UnknownKPI(contradiction)
    return float(count)


def too_few_gpus(settings: Mapping[str, Scalar]) -> str:
    """That there are fewer GPUs than one engine takes; empty where there are enough, or it isn't known."""
    gpus, takes = settings.get("gpus"), places.gpus_of({**settings, "dp": 1})
    is_less = takes is not None and is_number(gpus) and 0 < gpus < takes
    return f"gpus is {gpus}, and tp × pp take {takes}" if is_less else ""


def no_number_of_gpus(count: object) -> bool:
    return not is_number(count) or count <= 0


def _measure(lts_payload: Payload, name: str) -> float:
    value = getattr(lts_payload.results, name, None)
    return float(known(value, f"'{name}'"))


@HigherBetter
@Format("{:,.4g}")
@KPIMetadata(help="Output tokens per second and GPU", unit="tokens/s/GPU")
def output_tokens_per_s_per_gpu(lts_payload: Payload) -> float:
    return _measure(lts_payload, "output_tokens_per_s") / _gpus(lts_payload)


@HigherBetter
@IgnoredForRegression
@Format("{:,.4g}")
@KPIMetadata(help="Input and output tokens per second and GPU", unit="tokens/s/GPU")
def total_tokens_per_s_per_gpu(lts_payload: Payload) -> float:
    return _measure(lts_payload, "total_tokens_per_s") / _gpus(lts_payload)


@HigherBetter
@IgnoredForRegression
@Format("{:,.4g}")
@KPIMetadata(
    help="Output tokens per second that one user sees: 1 / TPOT, by the median or else the mean", unit="tokens/s"
)
def tokens_per_s_per_user(lts_payload: Payload) -> float:
    for name in ("tpot_p50", "tpot_mean"):
        value = getattr(lts_payload.results, name, None)
        if value is not None and value > 0:
            return 1 / float(value)
    raise UnknownKPI("the time per output token is unknown")


def _usd_per_hour(lts_payload: Payload) -> float:
    """The price of the whole deployment."""
    price = getattr(lts_payload.results, "usd_per_hour", None)
    if price is None:
        vendor, hardware = map(lts_payload.metadata.settings.get, ("vendor", "hw_type"))
        if hardware is None:
            raise UnknownKPI("no price is known: nothing says on which hardware (hw_type) it ran")
        hardware = hardware if vendor is None else f"{vendor}/{hardware}"
        raise UnknownKPI(
            f"no price is known for {hardware}; give one of a single GPU: --price '{hardware}=USD_PER_HOUR'"
        )
    return float(price) * _gpus(lts_payload)


def _cost_of_a_million(lts_payload: Payload, rate: str) -> float:
    tokens = _measure(lts_payload, rate)
    if tokens <= 0:
        raise UnknownKPI("no token was made")
    return MILLION / tokens * _usd_per_hour(lts_payload) / SECONDS_PER_HOUR


@LowerBetter
@Format("{:,.4g}")
@KPIMetadata(name="1M_output_cost", help="Cost of 10⁶ output tokens, if these pay for everything", unit="USD")
def cost_of_output(lts_payload: Payload) -> float:
    """``10⁶ / output tokens per second × USD per hour and GPU × GPUs / 3600``."""
    return _cost_of_a_million(lts_payload, "output_tokens_per_s")


@LowerBetter
@IgnoredForRegression
@Format("{:,.4g}")
@KPIMetadata(name="1M_input_cost", help="Cost of 10⁶ input tokens, if these pay for everything", unit="USD")
def cost_of_input(lts_payload: Payload) -> float:
    return _cost_of_a_million(lts_payload, "input_tokens_per_s")


@LowerBetter
@IgnoredForRegression
@Format("{:,.4g}")
@KPIMetadata(name="1M_total_cost", help="Cost of 10⁶ tokens, input and output alike", unit="USD")
def cost_of_all(lts_payload: Payload) -> float:
    return _cost_of_a_million(lts_payload, "total_tokens_per_s")


@LowerBetter
@IgnoredForRegression
@Format("{:,.4g}")
@KPIMetadata(
    name="1M_blended_cost",
    help="Cost of 10⁶ tokens of a mix, with output tokens worth several input tokens (options input_per_output, "
    "output_weight)",
    unit="USD",
)
def blended_cost(lts_payload: Payload) -> float:
    """At prices ``i`` of an input and ``w·i`` of an output token, where ``input rate × i + output rate × w·i`` is the
    cost of a second, a mix of ``r`` input tokens to one output token costs ``(r·i + w·i) / (r + 1)`` a token.
    """
    results: Any = lts_payload.results
    ratio, weight = results.input_per_output, results.output_weight
    if ratio < 0 or weight <= 0:
        raise UnknownKPI("the options input_per_output and output_weight say no mix: they can't be below 0")
    rates = _measure(lts_payload, "input_tokens_per_s") + weight * _measure(lts_payload, "output_tokens_per_s")
    if rates <= 0:
        raise UnknownKPI("no token was made")
    input_token = _usd_per_hour(lts_payload) / SECONDS_PER_HOUR / rates
    return float(MILLION * input_token * (ratio + weight) / (ratio + 1))


DERIVED: list[KPIFunction] = [
    output_tokens_per_s_per_gpu,
    total_tokens_per_s_per_gpu,
    tokens_per_s_per_user,
    cost_of_output,
    cost_of_input,
    cost_of_all,
    blended_cost,
]
