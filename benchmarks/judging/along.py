"""What others say along a series of releases, of which each is the median of its runs.

The tests compare the newest dozen releases with the dozen before, as Mozilla's detector does, after each release;
apache-otava is given the series up to each release.
"""

from __future__ import annotations

import functools

import numpy as np
import numpy.typing as npt

from . import peers

Floats = npt.NDArray[np.float64]
WINDOW = 12
FEW = 25
"""Of so many series, since some are slow."""


def told_along(random: np.random.Generator, runs: Floats, at: int | None = None) -> dict[str, str]:
    """How often others say that a series of *runs*, shape (series, releases, repeats), is worse somewhere.

    Or how many releases they need to say so of a step *at* a release, the median.
    """
    medians = np.median(runs[:FEW], axis=-1)
    windows = np.lib.stride_tricks.sliding_window_view(medians, 2 * WINDOW, axis=1)
    sides = [side.reshape(-1, WINDOW) for side in (windows[..., :WINDOW], windows[..., WINDOW:])]
    higher = sides[1].mean(axis=1) > sides[0].mean(axis=1)
    told = {name: (ask(*sides) < peers.RATE) & higher for name, ask in _tests(random).items()}
    told["vote of six"] = peers.vote(*sides)
    firsts = {name: _firsts(answers.reshape(len(medians), -1), 2 * WINDOW - 1, at) for name, answers in told.items()}
    since = WINDOW if at is None else at
    found = peers.otava_along(medians, since + 1)
    if found is not None:
        firsts["apache-otava"] = _firsts(found, since, at)
    return {name: _said(first, at) for name, first in firsts.items()}


def _tests(random: np.random.Generator) -> dict[str, peers.Test]:
    return {"Welch": peers.welch, "bootstrap": functools.partial(peers.bootstrap, random)}


def _firsts(told: npt.NDArray[np.bool_], since: int, at: int | None) -> Floats:
    """The first release, from the one *at* which a step is on, after which it was told; columns begin with *since*."""
    begin = 0 if at is None else max(at - since, 0)
    return np.where(told[:, begin:].any(axis=1), since + begin + told[:, begin:].argmax(axis=1), np.inf)


def _said(first: Floats, at: int | None) -> str:
    if at is None:
        return f"{np.isfinite(first).mean():.2f}"
    return f"{np.median(first) - at + 1:g}".replace("inf", "never")
