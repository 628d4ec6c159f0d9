"""Series of known truth for the detector's benchmark: noise without a change, shifts, and some like real ones.

The noise of each family has a standard deviation near 1 and lies around LEVEL, if it isn't positive by itself.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Noise = Callable[[np.random.Generator, int], Floats]
LEVEL = 100.0


def normal(rng: np.random.Generator, count: int) -> Floats:
    return rng.standard_normal(count)


def autoregressive(correlation: float) -> Noise:
    """AR(1) noise of variance 1."""

    def noise(rng: np.random.Generator, count: int) -> Floats:
        shocks = rng.standard_normal(count + 60) * np.sqrt(1 - correlation**2)
        values = np.zeros(count + 60)
        for place in range(1, len(values)):
            values[place] = correlation * values[place - 1] + shocks[place]
        return values[60:]

    return noise


def spikes(rng: np.random.Generator, count: int) -> Floats:
    """2 % of the points lie 10 standard deviations higher."""
    return rng.standard_normal(count) + 10.0 * (rng.random(count) < 0.02)


def spikes_both_ways(rng: np.random.Generator, count: int) -> Floats:
    return rng.standard_normal(count) + 10.0 * (rng.random(count) < 0.02) * rng.choice([-1.0, 1.0], count)


def lognormal(spread: float) -> Noise:
    return lambda rng, count: np.exp(spread * rng.standard_normal(count)) / spread


# The families that the targets name; the method was tuned on these.
NAMED: dict[str, Noise] = {
    "normal": normal,
    "lognormal 0.3": lognormal(0.3),
    "2 % spikes of 10 sigma, up": spikes,
    "2 % spikes, up and down": spikes_both_ways,
    "AR(1) 0.3": autoregressive(0.3),
    "AR(1) 0.6": autoregressive(0.6),
}
# These were held out while tuning.
HELD_OUT: dict[str, Noise] = {
    "lognormal 1": lognormal(1.0),
    "Student t, 3 degrees": lambda rng, count: rng.standard_t(3, count),
    "Laplace": lambda rng, count: rng.laplace(size=count),
    "exponential": lambda rng, count: rng.exponential(size=count),
    "uniform": lambda rng, count: rng.random(count),
    "two modes (30 % higher)": lambda rng, count: 0.3 * rng.standard_normal(count) + 2.0 * (rng.random(count) < 0.3),
    "rounded to whole sigmas": lambda rng, count: np.round(rng.standard_normal(count)),
    "rounded, mostly equal": lambda rng, count: np.round(0.4 * rng.standard_normal(count)),
    "moving average": lambda rng, count: np.convolve(rng.standard_normal(count + 3), [1, 0.6, 0.3, 0.1], "valid"),
    "AR(1) 0.4, lognormal": lambda rng, count: np.exp(0.4 * autoregressive(0.4)(rng, count)) / 0.4,
    "weekly rhythm": lambda rng, count: rng.standard_normal(count) + np.sin(np.arange(count) * 2 * np.pi / 7),
}


def noise(family: Noise, seed: int, number: int, count: int) -> list[float]:
    """Series *number* of a family."""
    return [float(value) for value in LEVEL + family(np.random.default_rng([seed, number]), count)]


def shifted(size: float, seed: int, number: int, before: int = 40, after: int = 60) -> list[float]:
    """Normal noise that rises by *size* standard deviations after *before* points."""
    values = np.random.default_rng([seed, number]).standard_normal(before + after)
    values[before:] += size
    return [float(value) for value in LEVEL + values]


def there_and_back(seed: int, number: int) -> list[float]:
    """4 sigma higher from point 40 to 54."""
    values = np.random.default_rng([seed, number]).standard_normal(100)
    values[40:55] += 4.0
    return [float(value) for value in LEVEL + values]


def drifting(seed: int, number: int) -> list[float]:
    """5 sigma higher at the end than at the beginning, little by little."""
    return [
        float(v) for v in LEVEL + np.random.default_rng([seed, number]).standard_normal(100) + np.linspace(0, 5, 100)
    ]


def restless(seed: int, number: int) -> list[float]:
    """Twice as noisy from the middle on."""
    factor = np.where(np.arange(100) < 50, 1.0, 2.0)
    return [float(v) for v in LEVEL + np.random.default_rng([seed, number]).standard_normal(100) * factor]


def rerun(size: float, seed: int, number: int) -> list[float | list[float]]:
    """Thirty versions of one run each, and one of three runs, *size* sigma higher."""
    values = LEVEL + np.random.default_rng([seed, number]).standard_normal(33)
    return [*[float(value) for value in values[:30]], [float(value) + size for value in values[30:]]]


def tigerbeetle(samples: Path) -> dict[str, list[float]]:
    """The metrics of 365 nightly runs of a database, oldest first."""
    runs = sorted(json.loads((samples / "tigerbeetle.json").read_text()), key=lambda run: run["timestamp"])
    series: dict[str, list[float]] = {}
    for run in runs:
        for metric in run["metrics"]:
            series.setdefault(metric["name"], []).append(float(metric["value"]))
    return series
