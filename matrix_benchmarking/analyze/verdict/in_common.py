"""What the series of a KPI do together along a history: a change that is too small to show in any of them by itself."""

from __future__ import annotations

import dataclasses
import graphlib
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from ...workload import MinimumEffect
from ..detect.evidence import Floats
from ..detect.series import Blocks
from ..intervals import summarise
from ..select.series import Series, SeriesPoint
from .levels import middle_of_each

FEWEST = 3
"""So many series are worth a look at what they do together."""
_MAD = 1.4826
_MOST_GAPS = 4  # so many times as many versions as the series have points of
_FARTHEST = 2.5  # in noises of a series: what lies farther from what the others do at a version is its own


@dataclasses.dataclass(frozen=True, slots=True)
class Common(Series):
    """Several series as one, whose level is 1: at each version the mean of what they are of their usual values."""

    ratios: tuple[float, ...] = ()
    of: int = 0  # how many series
    level: float = 1.0  # that of the middle one, in the KPI's unit
    blocks: Blocks = ()

    @property
    def values(self) -> list[list[float]]:
        return [[one] for one in self.ratios]

    def of_its_level(self, minimum: MinimumEffect) -> MinimumEffect:
        """*minimum*, whose absolute part is in the KPI's unit, as one of what this is in."""
        return MinimumEffect(minimum.relative, minimum.absolute / self.level)


def in_common(unchanged: Iterable[Series], blocks: Callable[[Series], Blocks]) -> Iterator[Common]:
    """Of each KPI the series that don't change by themselves, as one; of some KPIs there are too few."""
    by_kpi: dict[str, list[Series]] = {}
    for one in unchanged:
        if all(point.minimum > 0.0 for point in one.points):
            by_kpi.setdefault(one.kpi.name, []).append(one)
    for series in by_kpi.values():
        if len(series) >= FEWEST and (common := _common(series, blocks)) is not None:
            yield common


def _common(series: Sequence[Series], blocks: Callable[[Series], Blocks]) -> Common | None:
    """*series* as one, at the versions at which most of them have a value; None where they share no order of versions.

    Each counts by the inverse of its variance, at most as the middle one does.
    """
    keys = _in_order(series)
    if len(series) * len(keys) > _MOST_GAPS * sum(len(one.keys) for one in series):
        return None  # as runs without versions, each of which is a point of its own
    place = {key: at for at, key in enumerate(keys)}
    logs = np.full((len(series), len(keys)), np.nan)
    first = dict[str, tuple[Series, int]]()  # of each version a series that has it, and where
    for row, one in zip(logs, series, strict=True):
        row[[place[key] for key in one.keys]] = np.log(middle_of_each(one))
        first.update({key: (one, at) for at, key in enumerate(one.keys) if key not in first})
    levels = np.nanmedian(logs, axis=1)
    moved = logs - levels[:, None]
    noise = np.array([noise_of(row[~np.isnan(row)]) for row in moved])
    noise = np.maximum(noise, np.median(noise))
    of_each = 1.0 / np.square(noise) if noise.all() else np.ones(len(noise))
    weights = np.where(np.isnan(moved), 0.0, of_each[:, None])
    there = weights.sum(axis=0)
    most = there >= of_each.sum() / 2.0
    if most.sum() < 2 or not most[-1]:
        return None
    middle = np.nanmedian(moved, axis=0)
    own = np.clip(moved - middle, -_FARTHEST * noise[:, None], _FARTHEST * noise[:, None])
    together = middle + np.nansum(weights * own, axis=0) / there
    kept = [first[key] for key, is_in in zip(keys, most.tolist(), strict=True) if is_in]
    ratios = np.exp(together[most]).tolist()
    return Common(
        id=f"{series[0].kpi.name} over all",
        kpi=series[0].kpi,
        labels={},
        name="",
        points=tuple([_point(one.points[at], ratio) for (one, at), ratio in zip(kept, ratios, strict=True)]),
        versions=tuple([one.versions[at] for one, at in kept]),
        keys=tuple([one.keys[at] for one, at in kept]),
        ratios=tuple(ratios),
        of=len(series),
        level=float(np.exp(np.median(levels))),
        blocks=[blocks(one)[at][:1] for one, at in kept],
    )


def _point(at: SeriesPoint, ratio: float) -> SeriesPoint:
    return dataclasses.replace(at, sample=summarise([ratio]), minimum=ratio, maximum=ratio)


def _in_order(series: Sequence[Series]) -> list[str]:
    """The versions of all, in the order that each of them has."""
    known = graphlib.TopologicalSorter[str]()
    for keys in dict.fromkeys(one.keys for one in series):
        known.add(keys[0])
        for before, after in itertools.pairwise(keys):
            known.add(after, before)
    return list(known.static_order())


def noise_of(points: Floats) -> float:
    """The deviation of a point, by what neighbours differ by; 0 of fewer than two."""
    return _MAD * float(np.median(np.abs(np.diff(points)))) / 2.0**0.5 if len(points) > 1 else 0.0
