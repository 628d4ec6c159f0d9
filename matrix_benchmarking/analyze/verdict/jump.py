"""A version far beyond those just before it, as no other was: where levels move, the spread of all hides it."""

from __future__ import annotations

import dataclasses

import numpy as np

from ..detect.evidence import Flags, Floats

BESIDE = 5  # points just before one, from the middle of which it is seen
AMONG, FEWEST = 20, 15  # points before it that are seen so, too, at most and at least
SINCE = 20  # so many of the newest points are asked
NOISES = 8.0
RATIO = 2.0  # times as far as any of those before
TAIL = 3.0  # the chance of a value so many times as far falls by this power, as that of Student's t of 3 degrees does
_MAD = 1.4826


@dataclasses.dataclass(frozen=True, slots=True)
class Jump:
    place: int  # of the first point
    chance: float
    old: float  # the middle of the points just before it
    new: float  # that of those since
    error: float  # of their difference


def may_jump(points: Floats) -> Flags:
    """In which series, one a row, one of the newest points lies twice as far from those just before it as any did."""
    off = _off(points)
    if off.shape[1] <= FEWEST:
        return np.zeros(len(points), dtype=bool)
    found = np.zeros(len(points), dtype=bool)
    for each in (off, -off):
        before = np.pad(np.maximum(each, 0.0), ((0, 0), (AMONG, 0)))
        highest = np.lib.stride_tricks.sliding_window_view(before, AMONG, axis=1)[:, -1 - SINCE : -1].max(axis=2)
        found |= (each[:, -highest.shape[1] :] > RATIO * highest)[:, -(off.shape[1] - FEWEST) :].any(axis=1)
    return found


def jump(points: Floats) -> Jump | None:
    """The surest jump upwards of the newest *points*, in whose level they stayed, the last too; None for none.

    Of a point how far it lies above the middle of the five before it is held against the same of the 20 before it.
    """
    (off,) = _off(points[None])
    found: list[Jump] = []
    for at in range(max(FEWEST, len(off) - SINCE), len(off)):
        others, far = off[max(0, at - AMONG) : at], float(off[at])
        highest = max(float(others.max()), 0.0)
        if far <= RATIO * highest:
            continue
        noise = _MAD * float(np.median(np.abs(others)))
        old, new = float(points[at + BESIDE] - far), float(np.median(points[at + BESIDE :]))
        usual = max(highest, noise)  # 0 where all before are equal: the first other one says nothing
        stays = min(new, float(points[-1])) - old >= far / 2.0
        if stays and usual > 0.0 and far >= NOISES * noise:
            error = noise * (1.0 / BESIDE + 1.0 / (len(off) - at)) ** 0.5
            found.append(Jump(at + BESIDE, (far / usual) ** -TAIL / len(others), old, new, error))
    return min(found, key=lambda one: one.chance, default=None)


def _off(points: Floats) -> Floats:
    """How far each point of series, one a row, lies from the middle of those just before it; of the first ones not."""
    if points.shape[1] <= BESIDE:
        return points[:, :0]
    before = np.lib.stride_tricks.sliding_window_view(points, BESIDE, axis=1)[:, :-1]
    return np.asarray(points[:, BESIDE:] - np.median(before, axis=2))
