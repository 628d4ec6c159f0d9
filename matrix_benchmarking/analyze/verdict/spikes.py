"""Runs far beyond the usual that come more often since a version, as of a lock that is met now and then."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import msgspec
import numpy as np

from .. import special
from ..detect.evidence import Floats, Integers
from ..intervals import MAD
from ..select.series import Series
from .model import NOW_AND_THEN
from .trend import WIDTH, Shape, Trend, of_campaigns

NEWEST, FEWEST = 30, 10
"""So many of the newest campaigns may have begun it, and at least so many are there before."""
AMONG = 200
"""How often it was before is asked of so many of the newest campaigns."""
AROUND = 10
"""The middle of so many campaigns before one, and of its own, is the usual."""
FAR, NOISES = 0.1, 5.0
"""A run is far beyond it by so much, and by so many times what runs usually are off."""
MOST = 0.5
"""Where more runs since are, medians show it."""
SPIKES = Shape(1.9, 1.0, NOW_AND_THEN)
_PARTS = 12  # the share of a campaign's runs that are far beyond is counted in such parts
_SEEN = 1.5  # standard deviations from which on the chance is reckoned
_LARGEST = 300.0


def spiked(series: Series) -> Trend | None:
    """Since when runs far worse than usual come more often, up to the newest campaign; the ends are means of runs.

    None where they don't, medians show it, values aren't all above 0, or there are too few campaigns.
    """
    middles, every = of_campaigns(series)
    middles, starts = middles[-AMONG:], every[-AMONG:]
    points = series.points[starts[0] :]
    least, most = min([point.minimum for point in points]), max([point.maximum for point in points])
    if len(starts) <= FEWEST or least <= 0.0:
        return None
    way, usual = (1.0, float(middles.min())) if series.kpi.lower_better else (-1.0, float(middles.max()))
    if (most / usual if way > 0.0 else usual / least) <= 1.0 + FAR:  # no run is far beyond any campaign
        return None
    values = series.values
    parts = zip(starts, [*starts[1:], len(values)], strict=True)
    counts = np.array([sum(map(len, values[start:end])) for start, end in parts])
    runs = np.log([*itertools.chain.from_iterable(values[starts[0] :])])
    middles = np.log(middles)
    found = _trend(runs, counts, middles, starts, way)
    last = -counts[-1]
    return found and msgspec.structs.replace(found, before=_trend(runs[:last], counts[:-1], middles[:-1], starts, way))


def _trend(runs: Floats, counts: Integers, middles: Floats, starts: Sequence[int], way: float) -> Trend | None:
    """The same of the logarithms of *runs*, so many a campaign; *way* is 1 where higher is worse, else -1.

    *middles* are those of the campaigns, and *starts* their first points.
    """
    if len(counts) <= FEWEST:
        return None
    ends = counts.cumsum()
    # What is usual is the middle of those before a campaign and of its own; of the first ones that of these.
    usual = np.median(np.lib.stride_tricks.sliding_window_view(middles, AROUND + 1), axis=1)
    usual = np.concatenate([usual[:1].repeat(AROUND), usual])
    off = runs - usual.repeat(counts)
    least = max(math.log1p(FAR), NOISES * MAD * float(np.median(np.abs(off))))
    far = np.add.reduceat((way * off > least).astype(np.int64), ends - counts)
    # Where each run is fast or slow, what is usual is now the one, now the other, and only beside the one runs are far.
    alike = np.abs(usual - usual[-1]) <= least
    far, of_alike, off = far[alike], counts[alike], off[alike.repeat(counts)]
    found = _since(far, of_alike) if far[-NEWEST:].any() and len(far) > FEWEST else None
    if found is None:
        return None
    at, chance = found
    place = int(np.flatnonzero(alike)[at])
    old, new = np.split(np.exp(np.clip(off, -_LARGEST, _LARGEST)), [int(of_alike[:at].sum())])
    seen, before = int(far[at:].sum()), int(far[:at].sum())
    if seen > MOST * len(new):
        return None
    level, wide = math.exp(usual[-1]), WIDTH * math.sqrt(float(old.var() / len(old) + new.var() / len(new)))
    first, last = float(old.mean()), float(new.mean())
    note = f"runs far beyond the usual: {seen} of {len(new)} since, {before} of {len(old)} before"
    levels = [level * one for one in (first, last, last - wide, last + wide)]
    score = -way * float(special.ndtri(max(chance, 1e-300)))
    return Trend(SPIKES, levels[0], levels[1], score, levels[2], levels[3], starts[place], note=note)


def _since(far: Integers, runs: Integers) -> tuple[int, float] | None:
    """The campaign with which runs begin to be *far* more often, of so many *runs* each, and the chance of it.

    Without a change k of the newest campaigns are as likely as any k of all to be those with so many; the chance counts
    that several k were looked at, each with a weight of 1 / (k (k + 1)), which add up to 1.
    """
    count = len(far)
    parts: Integers = np.rint(_PARTS * far / runs).astype(np.int64)
    sums = parts[::-1].cumsum()[: min(NEWEST, count - FEWEST)]
    news = np.arange(1, len(sums) + 1)
    spread = np.sqrt(news * parts.var() * (count - news) / (count - 1.0))
    if not (sums - news * parts.mean() > _SEEN * spread).any():
        return None
    ways = _ways(parts, len(sums))
    chances = [
        float(ways[new, total:].sum()) / math.comb(count, new) * new * (new + 1)
        for new, total in zip(news.tolist(), sums.tolist(), strict=True)
    ]
    best = int(np.argmin(chances))
    return count - 1 - best, min(chances[best], 1.0)


def _ways(parts: Integers, most: int) -> Floats:
    """By how many ways so many of *parts*, up to *most* of them, add up to each number."""
    ways = np.zeros((most + 1, _PARTS * most + 1))
    ways[0, 0] = 1.0
    for part in parts.tolist():
        ways[1:, part:] += ways[:-1, : ways.shape[1] - part]
    return ways
