"""Runs in a virtual environment of its own, since other detectors pin old libraries: one JSON request a line.

A request names a method and either series (all of each is analysed) or series and *since* (each prefix of at least so
many points is analysed). The answer holds, for each series or prefix, the indices at which a new level starts, and
whether the last level is higher than the one before it. Of series *timed* it holds the median of the seconds that each
takes, of those under *processor* the processor's seconds for all of them.
"""

from __future__ import annotations

import itertools
import json
import sys
import time
from collections.abc import Callable
from typing import Any

Found = tuple[list[int], bool]


def otava(**options: Any) -> Callable[[list[float]], Found]:
    from otava.analysis import compute_change_points

    def detect(values: list[float]) -> Found:
        points, _ = compute_change_points(list(values), **options)
        return [int(point.index) for point in points], bool(
            points and points[-1].stats.mean_2 > points[-1].stats.mean_1
        )

    return detect


def pelt(values: list[float]) -> Found:
    """Least squares with the penalty of BIC, of which the noise is estimated from successive differences."""
    import numpy as np
    import ruptures

    signal = np.asarray(values)
    spread = float(np.median(np.abs(np.diff(signal)))) / 0.954
    if len(signal) < 6 or spread == 0:
        return [], False
    penalty = 2 * spread**2 * np.log(len(signal))
    ends = ruptures.Pelt(model="l2", min_size=2, jump=1).fit(signal).predict(pen=penalty)
    return _levels(signal, ends[:-1])


def kernel(values: list[float]) -> Found:
    """Gaussian kernel (PELT in C), with a penalty of 2 log n."""
    import numpy as np
    import ruptures

    signal = np.asarray(values)
    if len(signal) < 6:
        return [], False
    ends = ruptures.KernelCPD(kernel="rbf", min_size=2).fit(signal).predict(pen=2 * np.log(len(signal)))
    return _levels(signal, ends[:-1])


def _levels(signal: Any, points: list[int]) -> Found:
    edges = [0, *points, len(signal)]
    means = [float(signal[low:high].mean()) for low, high in itertools.pairwise(edges)]
    return [int(point) for point in points], bool(points and means[-1] > means[-2])


def method(name: str) -> Callable[[list[float]], Found]:
    if name == "otava":
        return otava()
    if name == "otava tuned":
        return otava(max_pvalue=0.0001)
    return {"pelt": pelt, "kernel": kernel}[name]


def answer(request: dict[str, Any]) -> dict[str, Any]:
    detect = method(request["method"])
    if "timed" in request:
        seconds = []
        for values in request["timed"]:
            began = time.perf_counter()
            detect(values)
            seconds.append(time.perf_counter() - began)
        return {"seconds": sorted(seconds)[len(seconds) // 2]}
    if "processor" in request:
        before = time.process_time()
        for values in request["processor"]:
            detect(values)
        return {"seconds": time.process_time() - before}
    since = request.get("since")
    if since is None:
        return {"found": [detect(values) for values in request["series"]]}
    return {
        "found": [[detect(values[:count]) for count in range(since, len(values) + 1)] for values in request["series"]]
    }


if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), flush=True)
