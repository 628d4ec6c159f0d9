"""Whether levels that follow each other are steps, or what a drift looks like to a detector of steps: pure formulas."""

from __future__ import annotations

import numpy as np

from matrix_benchmarking.analyze.detect.evidence import Floats

FEWEST = 6


def is_drift(points: Floats, split: int) -> bool:
    """Whether a straight line fits *points* better than two levels do, of which the second begins at *split*."""
    if len(points) < FEWEST or not 0 < split < len(points):
        return False
    return _squares_about_line(points) < _squares(points[:split]) + _squares(points[split:])


def slope(points: Floats) -> float:
    """By how much *points*, at least two, rise from one to the next: that of the line of least squares."""
    places = np.arange(len(points)) - (len(points) - 1) / 2.0
    return float((places * (points - points.mean())).sum() / (places * places).sum())


def _squares(points: Floats) -> float:
    return float(((points - points.mean()) ** 2).sum())


def _squares_about_line(points: Floats) -> float:
    places = np.arange(len(points)) - (len(points) - 1) / 2.0
    return _squares(points - slope(points) * places)
