"""What hardware costs, by the dated table or what the user gives; why runs may not be alike; the regression keys."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from matrix_benchmarking.analyze.points import keys
from matrix_benchmarking.analyze.words import count_of
from matrix_benchmarking.errors import MatbenchError
from matrix_benchmarking.filters import Scalar, show
from matrix_benchmarking.matrix import NOT_SET, TREE, Entry
from matrix_benchmarking.prices import offers
from matrix_benchmarking.rows import Rows
from matrix_benchmarking.store import load_yaml
from matrix_benchmarking.workload import MinimumEffect, RegressionKeys

from . import models

_HARDWARE = re.compile(r", (?:hw_type|vendor) [^,]*")
_TABLE = Path(__file__).parent.with_name("prices.yaml")


@dataclasses.dataclass(frozen=True, slots=True)
class Price:
    """What an hour of one kind of hardware costs, in USD, since when, and who says so."""

    usd_per_hour: float
    source: str
    as_of: str | None


@functools.cache
def table() -> Mapping[tuple[str, str], Price]:
    """The price table by vendor and hw_type."""
    rows = load_yaml(_TABLE.read_bytes())
    return {(row["vendor"], row["hw_type"]): Price(row["usd_per_hour"], row["source"], row["as_of"]) for row in rows}


def price_of(settings: Mapping[str, Scalar], given: Mapping[str, float] | None = None) -> Price | None:
    """The price of the hardware that *settings* name, None if it is unknown; one that was *given* goes first."""
    if own := offers(settings, given or {}):
        return Price(min(own.values()), "given by the user", None)
    return table().get((str(settings.get("vendor")), str(settings.get("hw_type"))))


KEYS = RegressionKeys(
    comparison_keys=["version"],
    ignored_keys=["urls"],
    sorting_keys=["task", "model", "hw_type", "image", "batch_size", "vus"],
    # A tenth of a percent of failed requests, and a cosine that differs in the third digit, are worth a look.
    minimum_effects={
        "error_rate": MinimumEffect(relative=0.01, absolute=0.001),
        "accuracy": MinimumEffect(relative=0.0, absolute=0.005),
        "fidelity": MinimumEffect(relative=0.0, absolute=0.001),
    },
)


GROUPS, VARIANTS = ("task", "model", "inputs_per_request"), ("vendor", "hw_type", "image", "engine")
LOOKED_INTO = 50
"""How many runs' artifacts are looked into at most: what a campaign does, it does in all its runs."""


def differences(entries: Sequence[Entry]) -> list[str]:
    """Why runs that are compared may not be alike: other prices, other inputs, other references of their answers."""
    rows = Rows.of(entries)
    return [*_prices(rows), *_circumstances(rows)]


def _circumstances(rows: Rows) -> Iterator[str]:
    """Inputs and references that differ within a group, by one run of each campaign, variant and version."""
    is_kept = [facts is not None for facts in rows.values("facts")]  # in a history, which knows neither
    rows = rows.where(not (kept or failed) for kept, failed in zip(is_kept, rows.failed(), strict=True))
    names = [name for name in (*GROUPS, *VARIANTS, *KEYS.comparison_keys, TREE) if name in rows.names()]
    firsts: dict[object, int] = {}
    for place, of in enumerate(zip(keys(rows, names), rows.values("campaign"), strict=True)):
        firsts.setdefault(of, place)
    found: dict[tuple[object, str], dict[str, str]] = {}
    for place in list(firsts.values())[:LOOKED_INTO]:
        run = rows[place]
        group = tuple(show(run.settings.get(name)) for name in GROUPS)
        with contextlib.suppress(MatbenchError):  # gone since
            results = run.results
            for what, read in _ALIKE.items():
                found.setdefault((group, what), {}).update(read(results))
    for (_, what), known in found.items():
        if len(known) > 1:
            yield f"{what}: {' | '.join(sorted(known.values())[:3])}."


def _inputs(results: Any) -> dict[str, str]:
    """By their digest ``texts.jsonl, 300 of them, sha256 897f2a55``; nothing where none was recorded."""
    said = getattr(getattr(results, "load_generator", None), "inputs", None)
    digest = said.get("sha256") if isinstance(said, dict) else None
    if not isinstance(said, dict) or not isinstance(digest, str):
        return {}
    return {digest: f"{said.get('file')}, {said.get('count')} of them, sha256 {digest[:8]}"}


def _reference(results: Any) -> dict[str, str]:
    """What the answers were held against, whatever hardware it ran on; nothing where they weren't."""
    said = getattr(getattr(results, "fidelity", None), "reference", None)
    text = _HARDWARE.sub("", said) if isinstance(said, str) else ""
    return {text: text} if text else {}


_ALIKE: Mapping[str, Callable[[Any], dict[str, str]]] = {
    "Runs that are compared were loaded with other inputs": _inputs,
    "Answers of runs that are compared were held against several references, as fidelity is": _reference,
}


def _prices(rows: Rows) -> list[str]:
    """One hardware that was counted at several prices, as runs of a history may have been."""
    columns = [rows.setting(name) for name in ("vendor", "hw_type")]
    alike = zip(*(codes for _, codes in columns), strict=True)
    prices: dict[tuple[int, ...], Counter[str]] = {}
    for of_hardware, cost, throughput in zip(alike, rows.kpi("1B_cost"), rows.kpi("throughput"), strict=True):
        if cost and throughput:
            usd = cost * throughput * models.SECONDS_PER_HOUR / models.BILLION
            prices.setdefault(of_hardware, Counter())[f"{usd:.4g}"] += 1
    hardware = {
        codes: "/".join(
            show(value)
            for code, (values, _) in zip(codes, columns, strict=True)
            if (value := values[code]) is not NOT_SET
        )
        for codes in prices
    }
    return [
        f"{hardware[codes]} was counted at several prices, in which costs differ, too: "
        + ", ".join(f"{usd} USD per hour in {count_of(count, 'run')}" for usd, count in counts.most_common())
        + "."
        for codes, counts in prices.items()
        if len(counts) > 1
    ]
