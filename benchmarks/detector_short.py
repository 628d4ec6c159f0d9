"""Short histories: how often `judge` sees a regression at the first or second bad version, and one that isn't there.

    python benchmarks/detector_short.py [--series 400] [--seed 1]

Runs of a version differ by a run-to-run noise, versions by a version-to-version noise that their runs share; both are
normal and relative. The share of series in which the verdict is a regression that begins at the first bad version is
given for the version at which it appeared, and for the one after it. The last column is the share of histories of
fifteen equal versions that are called a regression at any of them.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

REPOSITORY = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(REPOSITORY)]

from matrix_benchmarking.analyze.detect import Kind, judge  # noqa: E402

REPEATS = (1, 3, 5)
NOISES = ((0.03, 0.01), (0.03, 0.02), (0.06, 0.01), (0.06, 0.02))
SHIFTS = (0.05, 0.10, 0.20)
FIRST_BAD = (6, 8, 10, 12)
LENGTH = 15


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--series", type=int, default=400, help="histories in each cell")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    versions = " | ".join(f"version {version}" for version in FIRST_BAD)
    print(f"| repeats | noise of runs, versions | slower by | {versions} | false |")
    print("|---" * (4 + len(FIRST_BAD)) + "|")
    for repeats in REPEATS:
        for noise in NOISES:
            false = np.mean([_ever_worse(_history(rng, repeats, noise, LENGTH)) for _ in range(options.series)])
            for shift in SHIFTS:
                cells = [_seen(rng, repeats, noise, shift, version, options.series) for version in FIRST_BAD]
                shown = " | ".join(f"{first:.0%}, {second:.0%}" for first, second in cells)
                print(
                    f"| {repeats} | {noise[0]:.0%}, {noise[1]:.0%} | {shift:.0%} | {shown} | {false:.1%} |", flush=True
                )


def _history(rng: np.random.Generator, repeats: int, noise: tuple[float, float], count: int) -> list[list[float]]:
    versions = 1.0 + noise[1] * rng.standard_normal((count, 1))
    runs = 100.0 * versions * (1.0 + noise[0] * rng.standard_normal((count, repeats)))
    return [[float(run) for run in version] for version in runs]


def _ever_worse(values: list[list[float]]) -> bool:
    return any(
        judge(values[:count], lower_is_better=True).kind is Kind.REGRESSION for count in range(2, len(values) + 1)
    )


def _seen(
    rng: np.random.Generator, repeats: int, noise: tuple[float, float], shift: float, version: int, series: int
) -> tuple[float, float]:
    """The share of series of which the first bad version, and of which the second, is called one."""
    hits = np.zeros(2)
    for _ in range(series):
        values = _history(rng, repeats, noise, version + 1)
        worse = [
            [run * (1.0 + shift) for run in runs] if place >= version - 1 else runs for place, runs in enumerate(values)
        ]
        hits += [_names(worse[:version], version), _names(worse, version)]
    return float(hits[0] / series), float(hits[1] / series)


def _names(values: list[list[float]], version: int) -> bool:
    verdict = judge(values, lower_is_better=True)
    return verdict.kind is Kind.REGRESSION and verdict.first_bad == version - 1


if __name__ == "__main__":
    main()
