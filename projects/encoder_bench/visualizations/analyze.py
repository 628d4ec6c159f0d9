"""What hardware costs: the dated table of this workload, or what the user gives; and the regression keys."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from pathlib import Path

from matrix_benchmarking.store import load_yaml
from matrix_benchmarking.workload import MinimumEffect, RegressionKeys

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


def price_of(vendor: object, hw_type: object, given: Mapping[str, float] | None = None) -> Price | None:
    """The price of *hw_type* at *vendor*; None if it is unknown.

    Args:
        given: USD per hour by ``vendor/hw_type`` or, for any vendor, by ``hw_type``; it goes first.
    """
    for key in (f"{vendor}/{hw_type}", f"{hw_type}"):
        if given and key in given:
            return Price(given[key], "given by the user", None)
    return table().get((str(vendor), str(hw_type)))


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
