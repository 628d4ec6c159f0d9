"""Series of many kinds for the detector, near its limits: each is values, blocks, and options of `judge`."""

from __future__ import annotations

from typing import Any

import numpy as np

from matrix_benchmarking.analyze.detect import Minimum
from matrix_benchmarking.analyze.detect.evidence import Floats
from matrix_benchmarking.analyze.detect.series import Blocks

Case = tuple[Any, Blocks | None, dict[str, Any]]
LOWER: dict[str, Any] = {"lower_is_better": True}
HIGHER: dict[str, Any] = {"lower_is_better": False}


def singles(seed: int, count: int, *steps: tuple[int, float], correlation: float = 0.0) -> Floats:
    """Around 100 with a standard deviation of 1; a step of so many from each place on."""
    points = np.random.default_rng([31, seed]).standard_normal(count)
    for place in range(1, count):
        points[place] = correlation * points[place - 1] + np.sqrt(1.0 - correlation**2) * points[place]
    for place, size in steps:
        points[place:] += size
    return np.asarray(100.0 + points)


def repeated(seed: int, count: int, *steps: tuple[int, float], repeats: int = 3, between: float = 0.5) -> Floats:
    """Runs of versions that differ by so much between them, too."""
    numbers = np.random.default_rng([32, seed])
    runs = 100.0 + between * numbers.standard_normal((count, 1)) + numbers.standard_normal((count, repeats))
    for place, size in steps:
        runs[place:] += size
    return np.asarray(runs)


def uneven(seed: int, runs: Floats) -> list[list[float]]:
    numbers = np.random.default_rng([33, seed])
    return [of[: int(numbers.integers(1, len(of) + 1))].tolist() for of in runs]


def of_single_runs() -> dict[str, Case]:
    spiked, twice = singles(5, 60, (46, 3.5)), singles(6, 50, (40, 2.0))
    spiked[[7, 21, 22, 33]] += [9.0, -8.0, 11.0, 7.0]
    twice[[40, 41]] += 6.0
    gaps: list[Any] = singles(8, 50, (36, 3.0)).tolist()
    gaps[0] = gaps[12] = gaps[38] = gaps[43] = None
    wild = singles(9, 44, (30, 4.0))
    wild[[3, 20, 34]] = [1e12, -1e11, 1e10]
    return {
        "quiet": (singles(1, 60), None, LOWER),
        "quiet and short": (singles(2, 16), None, HIGHER),
        "a step up": (singles(3, 60, (46, 2.5)), None, LOWER),
        "a step down": (singles(4, 56, (44, -3.0)), None, HIGHER),
        "a small step": (singles(41, 90, (60, 1.4)), None, LOWER),
        "a step within spikes": (spiked, None, LOWER),
        "two glitches": (twice, None, LOWER),
        "gaps": (gaps, None, {}),
        "values beyond reason": (wild, None, LOWER),
        "no direction": (singles(10, 40, (31, 4.0)), None, {}),
        "correlated": (singles(11, 80, (60, 2.5), correlation=0.6), None, LOWER),
        "negatively correlated": (singles(12, 60, (45, 2.0), correlation=-0.5), None, LOWER),
        "around zero": (singles(13, 60, (46, 3.0)) - 100.0, None, LOWER),
        "negative": (-singles(14, 60, (46, 3.0)), None, LOWER),
        "rounded": (np.round(singles(15, 60, (46, 2.5))), None, LOWER),
        "skewed": (np.exp(singles(16, 60, (47, 2.5)) - 100.0), None, LOWER),
        "skewed downwards": (300.0 - np.exp(singles(42, 60, (47, -2.5)) - 100.0), None, LOWER),
        "twenty times as much": (np.exp(0.1 * (singles(17, 13, (10, 30.0)) - 100.0)), None, LOWER),
        "a third": (np.exp(0.2 * (singles(18, 30, (24, -5.5)) - 100.0)), None, HIGHER),
        "twice, negative": (-np.exp(0.25 * (singles(43, 30, (25, 3.2)) - 100.0)), None, LOWER),
        "three steps": (singles(19, 140, (40, 4.0), (70, -3.0), (128, 4.0)), None, LOWER),
        "steps soon after each other": (singles(20, 40, (14, 9.0), (21, -9.0), (31, 9.0)), None, LOWER),
        "a drift": (singles(21, 110) + 0.15 * np.arange(110), None, LOWER),
        "a drift, then a step": (singles(22, 120, (100, 8.0)) + 0.15 * np.minimum(np.arange(120), 60), None, LOWER),
        "an episode": (singles(23, 90, (50, 4.0), (70, -4.0)), None, LOWER),
        "long": (singles(24, 420, (230, 1.2), (402, -2.0)), None, LOWER),
        "exact": (np.repeat([4096.0, 4160.0, 4100.0], [14, 9, 5]), None, LOWER),
        "zero, then little": (np.array([0.0] * 16 + [0.02, 0.03, 0.02, 0.02, 0.03]), None, LOWER),
        "steps that add up": (100.0 + 0.05 * (singles(25, 120) - 100.0) + np.repeat([0.0, 0.6, 1.2], 40), None, LOWER),
        "an absolute minimum": (singles(26, 56, (45, 4.0)), None, {**LOWER, "minimum": Minimum(0.01, 3.5)}),
        "too small a step": (singles(27, 56, (45, 4.0)), None, {**LOWER, "minimum": Minimum(0.3)}),
        "any size": (singles(44, 56, (45, 3.0)), None, {**LOWER, "minimum": Minimum(0.0)}),
    }


def of_repeats() -> dict[str, Case]:
    otherwise = repeated(7, 40, (33, 3.0))
    otherwise[0] *= 3.0
    wide = repeated(8, 44, (40, 6.0))
    wide[32:40] = 100.0 + 3.5 * (wide[32:40] - 100.0)
    wild = repeated(9, 36, (30, 4.0), repeats=5)
    wild[30:] += 2.0 * (wild[30:] - wild[30:].mean())
    equal = np.repeat(singles(45, 40, (34, 3.0))[:, None], 3, axis=1)
    equal[36:] += [-0.5, 0.0, 0.7]
    moods = np.exp(repeated(10, 13, (10, 40.0), repeats=5, between=3.0) / 30.0)
    outliers = repeated(11, 40, (33, 2.5), repeats=5)
    outliers[[2, 12, 34], 0] += [30.0, -20.0, 25.0]
    return {
        "three runs": (repeated(1, 36, (30, 2.2)).tolist(), None, LOWER),
        "five runs, downwards": (repeated(2, 36, (30, -2.0), repeats=5).tolist(), None, HIGHER),
        "two runs": (repeated(3, 40, (33, 3.0), repeats=2).tolist(), None, LOWER),
        "uneven runs": (uneven(4, repeated(4, 50, (40, 3.0), repeats=5)), None, LOWER),
        "a short history": (repeated(5, 9, (6, 5.0)).tolist(), None, LOWER),
        "a collapse": (repeated(6, 6, (3, -30.0)).tolist(), None, HIGHER),
        "versions that differ": (repeated(12, 40, (33, 9.0), between=3.0).tolist(), None, LOWER),
        "a first version measured otherwise": (otherwise.tolist(), None, LOWER),
        "a spread that grew": (wide.tolist(), None, LOWER),
        "new runs that vary more": (wild.tolist(), None, LOWER),
        "equal runs, then others": (equal.tolist(), None, LOWER),
        "moods": (moods.tolist(), None, LOWER),
        "outliers among runs": (outliers.tolist(), None, LOWER),
        "creeping": (repeated(13, 80, (30, 0.7), repeats=5).tolist(), None, LOWER),
        "creeping fast": (repeated(309, 70, (40, 1.2)).tolist(), None, LOWER),
        "creeping downwards": (repeated(14, 90, (40, -0.8), repeats=3).tolist(), None, LOWER),
        "a drift of runs": ((repeated(15, 60) + 0.06 * np.arange(60)[:, None]).tolist(), None, LOWER),
        "a relapse": (repeated(16, 70, (30, 4.0), (50, -4.0), (63, 4.0), repeats=5).tolist(), None, LOWER),
    }


def of_blocks() -> dict[str, Case]:
    nights: Blocks = [[(place // 3, None)] * 3 for place in range(45)]
    common: Blocks = [[(0, 1), (0, 2), (0, 3)]] * 30
    in_turn: Blocks = [[(place // 15, -1 - place)] * 3 for place in range(45)]
    hosts: Blocks = [[(2 * place, None), (2 * place + 1, None), (2 * place + 1, None)] for place in range(36)]
    two: Blocks = [[(min(place, 40 if place < 60 else 60), None)] * 3 for place in range(80)]
    mood = repeated(25, 45, (30, 6.0))
    return {
        "campaigns of three versions": (repeated(21, 45, (36, 3.0)).tolist(), nights, LOWER),
        "common rounds": (repeated(22, 30, (29, 5.0)).tolist(), common, LOWER),
        "a newest campaign alone": (repeated(23, 42, (39, 6.0)).tolist(), nights[:42], LOWER),
        "versions in turn": (repeated(24, 45, (38, 4.0)).tolist(), in_turn, LOWER),
        "the mood of versions in turn": (mood.tolist(), in_turn, LOWER),
        "one campaign": (repeated(26, 30, (24, 6.0)).tolist(), [[(0, None)] * 3] * 30, LOWER),
        "two hosts": (repeated(27, 36, (34, 5.0)).tolist(), hosts, LOWER),
        "creeping in campaigns": (
            repeated(28, 81, (36, 1.0)).tolist(),
            [[(n // 3, None)] * 3 for n in range(81)],
            LOWER,
        ),
        "creeping in two campaigns": (repeated(107, 80, (40, 0.9)).tolist(), two, LOWER),
        "single runs of campaigns": (singles(29, 45, (36, 4.0)), [[(n // 3, None)] for n in range(45)], LOWER),
        "single runs in turn": (singles(30, 45, (37, 4.0)), [[(n // 15, -1 - n)] for n in range(45)], LOWER),
    }


CASES = {**of_single_runs(), **of_repeats(), **of_blocks()}
