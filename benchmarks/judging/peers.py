"""What others say of two groups of runs, of which the second may be higher; rows of arrays (cases × runs)."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from scipy import stats

if TYPE_CHECKING:
    from detector import Peers

Floats = npt.NDArray[np.float64]
Answers = npt.NDArray[np.bool_]
RATE = 0.05
RESAMPLES = 400
VOTES = 3
"""So many of Mozilla's six tests have to agree."""
CASES = 1000
"""Tests one by one are slow, so they get so many of the cases."""


Test = Callable[[Floats, Floats], Floats]


def welch(old: Floats, new: Floats) -> Floats:
    """Two-sided p-values."""
    return np.asarray(stats.ttest_ind(new, old, axis=-1, equal_var=False).pvalue)


def bootstrap(random: np.random.Generator, old: Floats, new: Floats) -> Floats:
    """Two-sided p-values by the percentiles of the difference of means over resampled runs."""
    resampled = []
    for side in (old, new):
        chosen = random.integers(0, side.shape[-1], (len(side), RESAMPLES, side.shape[-1]))
        resampled.append(np.take_along_axis(side[:, None, :], chosen, axis=-1).mean(axis=-1))
    below = (resampled[1] <= resampled[0]).mean(axis=1)
    return np.asarray(2 * np.minimum(below, 1 - below))


def vote(old: Floats, new: Floats) -> Answers:
    """Is it higher by Mozilla's: Student, Welch, Mann-Whitney, Kolmogorov-Smirnov, Cramér-von Mises and Levene."""
    said = [stats.ttest_ind(new, old, axis=-1, equal_var=equal).pvalue < RATE for equal in (True, False)]
    tests = (stats.mannwhitneyu, stats.ks_2samp, stats.cramervonmises_2samp, stats.levene)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of an exact value that is hard to compute; another is taken
        said += [np.array([test(*pair).pvalue < RATE for pair in zip(new, old, strict=True)]) for test in tests]
    return np.asarray((new.mean(axis=-1) > old.mean(axis=-1)) & (np.sum(said, axis=0) >= VOTES))


def otava(old: Floats, new: Floats) -> Answers | None:
    """The runs of the one side and then those of the other as a series: does apache-otava find a rise between them?

    None where its environment can't be made.
    """
    process = otavas_environment()
    if process is None:
        return None
    found = process.ask(method="otava", series=np.concatenate([old, new], axis=-1).tolist())["found"]
    return np.array([old.shape[-1] in points and up for points, up in found])


def otava_along(series: Floats, since: int) -> Answers | None:
    """Whether apache-otava finds that the last level of each series up to each release is a rise: (series, releases).

    Asked with *since* releases first. None where its environment can't be made.
    """
    process = otavas_environment()
    if process is None:
        return None
    found = process.ask(method="otava", series=series.tolist(), since=since)["found"]
    return np.array([[bool(points) and up for points, up in prefixes] for prefixes in found])


@functools.cache
def otavas_environment() -> Peers | None:
    """Its process, in an environment that is made at the first call and kept; None where it can't be."""
    import subprocess

    from detector import Peers

    try:
        return Peers(Path(__file__).parents[2] / "build" / "peers")
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"apache-otava can't be installed: {error}")
        return None
