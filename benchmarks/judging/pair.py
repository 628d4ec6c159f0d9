"""A against B: how often "worse" is said without a change, and how often a change is found.

Noise is lognormal with mean 1; the moods of rounds and campaigns too. All series of an analysis are of one KPI.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from matrix_benchmarking.analyze import pair, weigh
from matrix_benchmarking.analyze.detect import q_values
from matrix_benchmarking.analyze.noise import correlation_of
from matrix_benchmarking.analyze.pair import NO_ROUND, OTHER, Ground
from matrix_benchmarking.analyze.verdict.sides import Judged
from matrix_benchmarking.analyze.weigh import NEW, OLD
from matrix_benchmarking.workload import MinimumEffect

from . import peers
from .row import Row

Floats = npt.NDArray[np.float64]
MINIMUM, RATE, MIXED, ODD = 0.01, 0.05, "1–9 %", "1 %, the last 10 %"
COUNTS, SERIES = (2, 3, 5, 10), (1, 10, 40)


@dataclasses.dataclass(frozen=True, slots=True)
class Said:
    """Per replication and series."""

    worse: npt.NDArray[np.bool_]
    suspected: npt.NDArray[np.bool_]

    @property
    def any_worse(self) -> float:
        return float(self.worse.any(axis=1).mean())


@dataclasses.dataclass(frozen=True, slots=True)
class Case:
    """What is drawn: as many *blocks* a side of so many *series*; *noise* of a run; *mood* of what blocks share.

    The new side may have another number of blocks, and be so many times as noisy. Of all runs a share may take another
    *path*, which is slower by so much.
    """

    series: int
    blocks: int
    noise: float | str
    is_round: bool
    mood: float = 0.0
    change: float = 0.0
    new_blocks: int | None = None
    louder: float = 1.0
    path: tuple[float, float] = (0.0, 0.0)

    def draw(self, random: np.random.Generator, replications: int) -> tuple[Floats, Floats]:
        """Logarithms of both sides, of which the first series changed."""
        noise: Floats | float
        if self.noise == ODD:
            noise = np.where(np.arange(self.series)[:, None] == self.series - 1, 0.1, 0.01)
        elif isinstance(self.noise, str):
            noise = np.exp(random.uniform(math.log(0.01), math.log(0.09), (replications, self.series, 1)))
        else:
            noise = self.noise
        counts = self.blocks, self.new_blocks or self.blocks
        old, new = (
            _lognormal(random, (replications, self.series, count), noise * louder)
            for count, louder in zip(counts, (1.0, self.louder), strict=True)
        )
        new[:, 0] += math.log1p(self.change)
        if self.path[0]:
            for side in (old, new):
                side += (random.uniform(size=side.shape) < self.path[0]) * math.log1p(self.path[1])
        sides = counts[:1] if self.is_round else counts
        moods = [_lognormal(random, (replications, 1, count), self.mood) for count in sides]
        return old + moods[0], new + moods[-1]

    def ask(self, random: np.random.Generator, replications: int) -> Said:
        return judged(*self.draw(random, replications), is_round=self.is_round)


def _lognormal(random: np.random.Generator, shape: tuple[int, ...], noise: Floats | float) -> Floats:
    sigma = np.sqrt(np.log1p(np.square(noise)))
    return np.asarray(random.normal(size=shape) * sigma - sigma * sigma / 2)


def judged(old: Floats, new: Floats, *, is_round: bool) -> Said:
    """What the engine says."""
    if is_round:
        weighed, deviations = weigh.weigh_shared(new - old), _centred(new - old)
    else:
        weighed = weigh.weigh_apart(old, new)
        deviations = np.concatenate([_centred(old), _centred(new)], axis=-1)
    told = weigh.tell(weigh.lend_to(weighed, correlation_of(deviations)))
    return _said(np.asarray(weighed.difference), told.p_value)


def _centred(values: Floats) -> Floats:
    return np.asarray(values - values.mean(axis=-1, keepdims=True))


def _said(difference: Floats, p_value: Floats) -> Said:
    q = np.array([q_values(row) for row in p_value.tolist()], dtype=np.float64)
    counts = np.abs(np.expm1(difference)) >= MINIMUM
    told = counts & (p_value <= pair.SIGNIFICANT)
    return Said(told & (q <= RATE) & (difference > 0), told & (q > RATE))


def rows(seed: int, replications: int) -> Iterator[Row]:
    """The rows of pairs."""
    random = np.random.default_rng([seed, 17])
    yield from _false_alarms(random, replications)
    yield from _shared_moods(random, replications)
    yield from _odd_series(random, replications)
    yield from _two_paths(np.random.default_rng([seed, 18]), replications)
    yield from _unequal_sides(random, replications)
    yield from _one_block(random, min(replications, 300))
    yield from _power(random, 4 * replications)
    yield from _on_few_steps(np.random.default_rng([seed, 20]), min(replications, 400))
    yield from _beside_a_history(np.random.default_rng([seed, 19]), min(replications, 400))


def _false_alarms(random: np.random.Generator, replications: int) -> Iterator[Row]:
    for noise in (0.03, MIXED):
        for is_round in (False, True):
            how = "in rounds of 8 %" if is_round else "each run its own block"
            of = noise if isinstance(noise, str) else f"{noise:.0%}"
            for series in SERIES:
                cases = [Case(series, n, noise, is_round, 0.08 if is_round else 0.0) for n in COUNTS]
                found = [case.ask(random, replications) for case in cases]
                limits = [0.1 if noise == MIXED and n <= 3 else 0.055 for n in COUNTS]
                yield Row(
                    "pair",
                    f"any worse without a change; {of}, {how}, {series} series, n = 2, 3, 5, 10 (suspected series)",
                    ", ".join(f"{one.any_worse:.3f} ({one.suspected.mean():.3f})" for one in found),
                    "up to .13",
                    "≤ .055" if noise != MIXED else "≤ .10 up to n = 3, then ≤ .055",
                    all(one.any_worse <= limit for one, limit in zip(found, limits, strict=True)),
                    _peers(random, *cases[1].draw(random, replications), n=3),
                )


def _peers(random: np.random.Generator, old: Floats, new: Floats, n: int | None = None) -> dict[str, str]:
    """How often others call any series worse; given no *n*, the first one.

    P-values go through the same false discovery rate as ours; the others judge each series by itself.
    """
    few = max(1, peers.CASES // old.shape[1])
    said = []
    for name, ask in {"Welch": peers.welch, "bootstrap": functools.partial(peers.bootstrap, random)}.items():
        p_value = np.stack([ask(*sides) for sides in zip(old[:few], new[:few], strict=True)])
        difference = (new[:few] - old[:few]).mean(axis=-1)
        said.append((name, _said(difference, p_value).worse))
    for name, told in (("vote of six", peers.vote), ("apache-otava", peers.otava)):
        found = told(*(side[:few].reshape(-1, side.shape[-1]) for side in (old, new)))
        if found is not None:
            said.append((name, found.reshape(-1, old.shape[1])))
    shares = ((name, worse[:, 0] if n is None else worse.any(axis=1)) for name, worse in said)
    when = "" if n is None else f" (n = {n})"
    return {name: f"{share.mean():.3f}{when}" for name, share in shares}


def _shared_moods(random: np.random.Generator, replications: int) -> Iterator[Row]:
    """What all series of a campaign share may not be counted once a series."""
    found = [Case(10, n, 0.005, is_round=False, mood=0.02).ask(random, replications) for n in (2, 3, 5)]
    yield Row(
        "pair",
        "any worse without a change; campaigns with moods of 2 %, noise of .5 %, 10 series, n = 2, 3, 5",
        ", ".join(f"{one.any_worse:.3f}" for one in found),
        to_reach="≤ .055",
        reached=all(one.any_worse <= 0.055 for one in found),
    )


def _odd_series(random: np.random.Generator, replications: int) -> Iterator[Row]:
    """One that is ten times as noisy as the others may not be judged by their noise."""
    found = [Case(10, n, ODD, is_round=True, mood=0.08).ask(random, replications) for n in (3, 5, 15)]
    yield Row(
        "pair",
        "any worse without a change; 1 %, one of 10 series 10 %, in rounds of 8 %, n = 3, 5, 15",
        ", ".join(f"{one.any_worse:.3f}" for one in found),
        to_reach="≤ .055",
        reached=all(one.any_worse <= 0.055 for one in found),
    )


def _two_paths(random: np.random.Generator, replications: int) -> Iterator[Row]:
    """Each run takes one of two paths, by chance: that all of a side but one took the same is no change."""
    for share, size in ((0.2, 0.075), (0.5, 0.1)):
        for is_round in (False, True):
            counts = (3, 5, 10)
            cases = [Case(10, n, 0.003, is_round, path=(share, size)) for n in counts]
            found = [case.ask(random, replications).any_worse for case in cases]
            noise = (
                f".3 %, {share:.0%} of the runs {size:.1%} slower, {'in rounds' if is_round else 'each its own block'}"
            )
            yield Row(
                "pair",
                f"any worse without a change; {noise}, 10 series, n = 3, 5, 10",
                ", ".join(f"{each:.3f}" for each in found),
                to_reach="≤ .055",
                reached=all(each <= 0.055 for each in found),
            )


def _unequal_sides(random: np.random.Generator, replications: int) -> Iterator[Row]:
    """Ten or five campaigns against two or three, whose noise may have grown."""
    counts = ((10, 2), (10, 3), (5, 2), (10, 5))
    said = ", ".join(f"{old}:{new}" for old, new in counts)
    for louder in (1.0, 2.0, 3.0):
        for series in SERIES:
            cases = [Case(series, old, 0.03, False, new_blocks=new, louder=louder) for old, new in counts]
            found = [case.ask(random, replications).any_worse for case in cases]
            noise = "equal noise" if louder == 1.0 else f"new side {louder:.0f} times as noisy"
            case = f"any worse without a change; 3 %, each run its own block, {series} series, {noise}, {said}"
            shown, reached = ", ".join(f"{each:.3f}" for each in found), all(each <= 0.055 for each in found)
            yield Row("pair", case, shown, to_reach="≤ .055", reached=reached)
    cases = [Case(10, old, 0.03, False, change=0.1, new_blocks=new) for old, new in counts]
    found = [float(case.ask(random, replications).worse[:, 0].mean()) for case in cases]
    case = f"10% found in one of 10 series of 3 %, each run its own block, {said}"
    yield Row("pair", case, ", ".join(f"{each:.3f}" for each in found), to_reach="≥ .60", reached=min(found) >= 0.6)


def _one_block(random: np.random.Generator, replications: int) -> Iterator[Row]:
    sides, rounds = np.repeat([OLD, NEW], 5), np.full(10, NO_ROUND)
    told = 0
    for _ in range(replications):
        moods = np.repeat(_lognormal(random, (2,), 0.02), 5)
        values = np.exp(moods + _lognormal(random, (10,), 0.03))
        told += pair.evidence([pair.runs_of(values.tolist(), sides, sides, rounds)])[0].ground is not Ground.NONE
    case = "any worse, one block a side, moods of 2 %, nothing known; told at all"
    yield Row("pair", case, f"{told / replications:.3f}", ".13–.71", "≤ .05", told / replications <= 0.05)


def _beside_a_history(random: np.random.Generator, replications: int) -> Iterator[Row]:
    """One campaign each, beside others that tell how campaigns differ; also where most of these are equal."""

    def some(often: float, size: float) -> Callable[[tuple[int, ...]], Floats]:
        return lambda shape: np.where(random.random(shape) < often, math.log1p(size), 0.0)

    noises: dict[str, Callable[[tuple[int, ...]], Floats]] = {
        "noise of 3 %": lambda shape: _lognormal(random, shape, 0.03),
        "noise of 3 %, one run of seven × 1.4": lambda shape: _lognormal(random, shape, 0.03) + some(1 / 7, 0.4)(shape),
        "one run of twenty × 1.125, the others equal": some(0.05, 0.125),
        "three runs of ten × 1.25, the others equal": some(0.3, 0.25),
    }
    for name, draw in noises.items():
        found = []
        for others, runs in ((13, 1), (13, 3), (28, 5)):
            campaigns = np.repeat(np.arange(others + 2), runs)
            sides = np.where(campaigns < others, OTHER + campaigns, campaigns - others)
            told = 0
            for values in np.exp(draw((replications, len(sides)))):
                known = pair.runs_of(values.tolist(), sides, campaigns, np.full(len(sides), NO_ROUND))
                weighed = pair.evidence([known])[0].weighed
                is_large = abs(math.expm1(float(weighed.difference))) >= MINIMUM
                told += is_large and float(weigh.tell(weighed).p_value) <= pair.SIGNIFICANT
            found.append(told / replications)
        case = f"one campaign each, {name}; 13 others, of one and of three runs, and 28 of five: a series is suspected"
        yield Row("pair", case, ", ".join(f"{each:.3f}" for each in found), "", "≤ .10", max(found) <= 0.1)


def _on_few_steps(random: np.random.Generator, replications: int) -> Iterator[Row]:
    """Where values are bounds of a histogram: how often a change shows of which it is said that it would have, and how
    often an interval has the true one; none is claimed where each side has one value alone."""
    minimum = MinimumEffect(relative=MINIMUM)

    def told(change: float, level: float, noise: float, bound: float, n: int = 5) -> Judged:
        sides, campaigns = np.repeat([OLD, NEW], n), np.arange(2 * n)
        values = level * np.where(sides == NEW, 1.0 + change, 1.0) * np.exp(_lognormal(random, (2 * n,), noise))
        bounded = bound ** np.ceil(np.log(values) / math.log(bound))
        runs = pair.runs_of(bounded.tolist(), sides, campaigns, np.full(2 * n, NO_ROUND))
        found = pair.evidence([runs])[0]
        return Judged(runs, found, weigh.tell(found.weighed))

    for bound in (1.02, 1.1, 1.25):
        for noise in (0.01, 0.03):
            seen = []
            levels = np.exp(random.uniform(0.0, math.log(4.0), replications))
            for level in levels:
                size = told(0.0, level, noise, bound).would_show(minimum)
                if size is not None:
                    seen.append((told(size, level, noise, bound).p_value or 0.0) <= pair.SIGNIFICANT)
            case = f"bounds {bound} times apart, noise of {noise:.0%}"
            share = float(np.mean(seen)) if seen else 1.0
            what = f"{case}, five runs a side: what would have shown, shows"
            yield Row("pair", what, f"{share:.3f} of {len(seen)}", "", "≥ .70", share >= 0.7)
            for n in (3, 10):
                changes = random.choice([0.0, 0.03, 0.1, 0.3], replications)
                effects = [told(*each, noise, bound, n).effect for each in zip(changes, levels, strict=True)]
                covers = [
                    one.low - 1e-9 <= change <= one.high + 1e-9
                    for one, change in zip(effects, changes, strict=True)
                    if one is not None and one.low < one.high
                ]
                share = float(np.mean(covers)) if covers else 1.0
                what = f"{case}, {n} runs a side: intervals with the true change"
                yield Row("pair", what, f"{share:.3f} of {len(covers)}", "", "≥ .85", share >= 0.85)


def _power(random: np.random.Generator, replications: int) -> Iterator[Row]:
    for is_round, reach, before in ((False, (0.75, 0.75), (".45", ".70")), (True, (0.6, 0.75), ("–", "–"))):
        for n, change, least, was in zip((3, 10), (0.1, 0.05), reach, before, strict=True):
            case = Case(10, n, 0.03, is_round, 0.08 if is_round else 0.0, change)
            old, new = case.draw(random, replications)
            power = float(judged(old, new, is_round=is_round).worse[:, 0].mean())
            how = "in rounds of 8 %" if is_round else "each run its own block"
            what = f"{change:.0%} found in one of 10 series of 3 %, {how}, n = {n}"
            yield Row("pair", what, f"{power:.3f}", was, f"≥ {least:.2f}", power >= least, _peers(random, old, new))
