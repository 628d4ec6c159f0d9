"""What the detector's thresholds give: false alarms by length, and by how much evidence exceeds them without a change.

    python benchmarks/detector_thresholds.py [--series 2000]

The second table is the one behind the p-values of `judge` (`_EXCESS`, `_CHANCE`).
"""

from __future__ import annotations

import argparse
import contextlib
import sys
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

REPOSITORY = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(REPOSITORY)]

from matrix_benchmarking.analyze.detect import change_points, evidence, splits  # noqa: E402

LENGTHS = (30, 100, 300, 1000, 10_000)
EXCESSES = (-2.5, -2.0, -1.5, -1.0, -0.75, -0.5, -0.25, 0.0, 0.25)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--series", type=int, default=2000, help="series of 100 points; fewer of longer ones")
    series = parser.parse_args().series
    print("points  series with a false alarm")
    for length in LENGTHS:
        count = max(50, min(series, series * 200 // length))
        print(f"{length:6,}  {_alarms(length, count):.2%} of {count:,}")
    print("\nexcess over the threshold, anywhere in 100 points  chance")
    for excess in EXCESSES:
        print(f"{excess:+.2f}  {_alarms(100, series, excess):.4f}")


def _alarms(length: int, count: int, excess: float = 0.0) -> float:
    """The share of normal series of *length* points that exceed the threshold by *excess*."""
    plain = evidence.threshold

    def raised(after: Any, points: Any) -> Any:
        return plain(after, points) + excess

    with contextlib.ExitStack() as patches:
        if excess:  # what else an alarm needs would hide weak evidence
            patches.enter_context(mock.patch.object(evidence, "threshold", raised))
            patches.enter_context(mock.patch.object(splits, "_WORTH_A_LOOK", 0.5))
            patches.enter_context(mock.patch.object(splits, "LESS_ON_LOGARITHMS", np.inf))
        found = [change_points(100.0 + np.random.default_rng([7, n]).standard_normal(length)) for n in range(count)]
    return sum(map(bool, found)) / count


if __name__ == "__main__":
    main()
