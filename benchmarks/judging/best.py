"""How often the best configuration is in the named set, its value in its interval, and a limit kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
from scipy import special

from matrix_benchmarking.analyze.best_of import Estimates, estimate, intervals, may_be_best, optimism
from matrix_benchmarking.analyze.bounds import bounds_of
from matrix_benchmarking.analyze.check.repeats import uneven_findings
from matrix_benchmarking.analyze.noise import Floats, Spreads, inverse_trigamma, moderated
from matrix_benchmarking.matrix import Entry
from matrix_benchmarking.rows import Rows

from . import peers
from .history import cost
from .row import Row

Draw = Callable[[np.random.Generator], tuple[Floats, Floats]]
"""True means, and the values of the runs (points × repeats)."""


def rows(seed: int, replications: int) -> Iterator[Row]:
    """The rows on the best configuration and on limits."""
    rng = np.random.default_rng(seed)
    for count in (10, 50):
        for runs in (3, 5):
            for noise in (0.03, 0.18, None):
                for is_dense in (True, False):
                    yield from _set_and_interval(rng, replications, count, runs, noise, is_dense)
    yield from _in_rounds(rng, replications)
    for nights in (2, 3):
        for are_shared in (True, False):
            yield from _in_campaigns(rng, replications, nights, are_shared)
    for count in (2, 5, 10):
        yield _not_in_turn(np.random.default_rng([seed, count]), replications, count)
    for noise, dearest in ((0.05, 0.07), (0.10, 0.10), (0.18, 0.14)):
        for is_even in (True, False):
            yield from _limit(rng, replications, noise, dearest, is_even)
    for runs in (3, 5, 10):
        yield _now_and_then(np.random.default_rng([seed, runs]), replications, runs)
    for noise in (0.1, 0.2):
        yield _flat(np.random.default_rng([seed, round(100 * noise)]), replications, noise)


def dense(count: int) -> Floats:
    """The best is 1, the others 1.005 + 0.25·u^1.5."""
    return np.concatenate([[1.0], 1.005 + 0.25 * np.linspace(0, 1, count - 1) ** 1.5])


def measure(rng: np.random.Generator, means: Floats, runs: int, noise: float | None) -> Floats:
    """Values with lognormal noise of mean 1; without *noise* each point has its own, log-uniform from 1 to 9 %."""
    count = len(means)
    spread = np.exp(rng.uniform(np.log(0.01), np.log(0.09), count)) if noise is None else np.full(count, noise)
    sigma = np.sqrt(np.log1p(spread**2))[:, None]
    return np.asarray(means[:, None] * np.exp(sigma * rng.standard_normal((count, runs)) - sigma**2 / 2))


def _found(values: Floats, rounds: bool = False) -> Estimates:
    numbers = [list(range(values.shape[1]))] * len(values)
    return estimate(values.tolist(), numbers if rounds else None)


def _set_and_interval(
    rng: np.random.Generator, replications: int, count: int, runs: int, noise: float | None, is_dense: bool
) -> Iterator[Row]:
    """Where all are equal, any may be designated best: the share of all of them in the set says it most exactly."""
    means = dense(count) if is_dense else np.ones(count)
    drawn = [measure(rng, means, runs, noise) for _ in range(replications)]
    named, sizes, covered, widths, said, true = [], [], [], [], [], []
    for values in drawn:
        found = _found(values)
        inside, (low, high) = may_be_best(found, lower_better=True), intervals(found, lower_better=True)
        chosen = int(found.values.argmin())
        named.append(inside[0] if is_dense else inside.mean())
        sizes.append(inside.sum())
        covered.append(low[chosen] <= means[chosen] <= high[chosen])
        widths.append(np.log(high[chosen] / low[chosen]) / _max_t_width(values, chosen))
        said.append(optimism(found, lower_better=True))
        true.append(means[chosen] / np.exp(found.values[chosen]) - 1)
    case = f"{count} points × {runs} runs, {'1–9 % mixed' if noise is None else f'{noise:.0%}'}, "
    case += "dense" if is_dense else "all equal"
    hit, error = float(np.mean(named)), float(np.std(named) / np.sqrt(replications))
    figure = f"{hit:.3f} ± {error:.3f}, a set of {np.mean(sizes):.1f}"
    beside = _peers(rng, drawn)
    yield Row("best", f"in the named set: {case}", figure, ".75–.98", "≥ .95", hit >= 0.95, beside)
    covers, width = float(np.mean(covered)), float(np.mean(widths))
    least = 0.91 if noise is None and not is_dense else 0.93
    figure = f"{covers:.3f}, width {width:.2f} × max-t; bias said {np.mean(said):.1%}, true {np.mean(true):.1%}"
    reached = covers >= least and width <= 1.2
    beside = _plain_intervals(rng, np.stack(drawn), means)
    yield Row("best", f"the winner's interval: {case}", figure, ".53–.94", f"≥ {least}, ≤ 1.2 ×", reached, beside)


def _plain_intervals(rng: np.random.Generator, drawn: Floats, means: Floats) -> dict[str, str]:
    """How often intervals that don't allow for the choice cover it: Student's, and percentiles of resampled means."""
    every = np.arange(len(drawn))
    chosen = drawn.mean(axis=2).argmin(axis=1)
    values, true = drawn[every, chosen], means[chosen]
    runs = values.shape[1]
    reach = special.stdtrit(runs - 1, 0.975) * values.std(axis=1, ddof=1) / np.sqrt(runs)
    resampled = values[every[:, None, None], rng.integers(0, runs, (len(drawn), peers.RESAMPLES, runs))].mean(axis=2)
    low, high = np.quantile(resampled, (0.025, 0.975), axis=1)
    covered = {"Welch": abs(values.mean(axis=1) - true) <= reach, "bootstrap": (low <= true) & (true <= high)}
    return {name: f"{hits.mean():.3f}" for name, hits in covered.items()}


def _peers(rng: np.random.Generator, drawn: Sequence[Floats]) -> dict[str, str]:
    """How often others don't tell the first point from the one with the lowest mean."""
    best = [int(values.mean(axis=1).argmin()) for values in drawn]
    pairs = [(values[at], values[0]) for values, at in zip(drawn, best, strict=True) if at]
    if not pairs:
        return {"others": "all 1.000"}
    low, first = (np.array(side) for side in zip(*pairs, strict=True))
    few = slice(peers.CASES)
    answers = {
        "Welch": peers.welch(low, first) < peers.RATE,
        "bootstrap": peers.bootstrap(rng, low, first) < peers.RATE,
        "vote of six": peers.vote(low[few], first[few]),
        "apache-otava": peers.otava(low[few], first[few]),
    }
    share = len(pairs) / len(drawn)
    return {name: f"{1 - share * told.mean():.3f}" for name, told in answers.items() if told is not None}


def _in_rounds(rng: np.random.Generator, replications: int) -> Iterator[Row]:
    means, hits, sizes, without = dense(25), [], [], []
    for _ in range(replications):
        values = measure(rng, means, 3, 0.03) * measure(rng, np.ones(1), 3, 0.08)
        inside = may_be_best(_found(values, rounds=True), lower_better=True)
        hits.append(inside[0])
        sizes.append(inside.sum())
        without.append(may_be_best(_found(values), lower_better=True).sum())
    hit, size = float(np.mean(hits)), float(np.mean(sizes))
    case = f"set of 25, dense, rounds of 8 %, 3 runs, 3 % (rounds left in: {np.mean(without):.1f})"
    yield Row("best", case, f"{size:.1f}, {hit:.3f}", "18.7", "≤ 10, ≥ .95", size <= 10 and hit >= 0.95)


def _in_campaigns(rng: np.random.Generator, replications: int, nights: int, are_shared: bool) -> Iterator[Row]:
    """10 points in two runs of 1 % a night, all of a night in a mood of 3 %; a night of all points, or of one."""
    campaigns = [
        [night if are_shared else nights * point + night for night in range(nights)] * 2 for point in range(10)
    ]
    rounds = [[*range(2 * nights)]] * 10 if are_shared else None
    means, limited, hits, covered, kept = dense(10), np.linspace(36.0, 50.0, 10), [], [], []
    for _ in range(replications):
        shape = (2, 1 if are_shared else 10, nights)
        of_cost, of_p95 = (
            np.tile(measure(rng, np.ones(one.size), 1, 0.03).reshape(one.shape), 2) for one in np.ones(shape)
        )
        values = measure(rng, means, 2 * nights, 0.01) * of_cost
        found = estimate(values.tolist(), rounds, campaigns)
        chosen, (low, high) = int(found.values.argmin()), intervals(found, lower_better=True)
        hits.append(may_be_best(found, lower_better=True)[0])
        covered.append(low[chosen] <= means[chosen] <= high[chosen] or not found.knows_moods)
        slow = (measure(rng, limited, 2 * nights, 0.01) * of_p95).tolist()
        keeping = np.flatnonzero(np.array(bounds_of(slow, (-limited).tolist(), campaigns, lower_better=True)) <= 43)
        kept += [limited[keeping.max()] <= 43] if len(keeping) else []
    hit, covers, keeps = (float(np.mean(each)) for each in (hits, covered, kept))
    case = f"10 points, dense, {nights} nights of {'all' if are_shared else 'each'} in a mood of 3 %, 1 %"
    figure = f"{hit:.3f}, {f'{covers:.3f}' if found.knows_moods else 'said to be of these nights alone'}"
    yield Row(
        "best", f"the set, the winner's interval: {case}", figure, "–", "≥ .95, ≥ .93", hit >= 0.95 and covers >= 0.93
    )
    share = len(kept) / replications
    yield Row("limit", f"the named point keeps it: {case}", f"{keeps:.3f} of {share:.2f}", "–", "≥ .95", keeps >= 0.95)


def _not_in_turn(rng: np.random.Generator, replications: int, count: int) -> Row:
    """Equal points in three nights, each four times on end: in the mood of the night, and in one of that hour."""
    nights = [[night for night in range(3) for _ in range(4)]] * count
    any_left_out, given = 0, 0
    for _ in range(replications):
        moods = measure(rng, np.ones(1), 3, 0.03) * measure(rng, np.ones(count), 3, 0.03)
        values = np.repeat(moods, 4, axis=1) * measure(rng, np.ones(count), 12, 0.01)
        found = estimate(values.tolist(), [[None] * 12] * count, nights)
        inside = may_be_best(found, lower_better=True)
        any_left_out += not inside.all()
        given += inside[0]
    hit, left_out = given / replications, any_left_out / replications
    case = f"{count} equal points, 4 runs on end in 3 nights, moods of 3 % of night and of hour, 1 %"
    figure = f"{hit:.3f}, one left out in {left_out:.3f}"
    return Row("best", f"a given one is in the set: {case}", figure, "–", "≥ .95", hit >= 0.95)


COSTS: dict[str, Callable[[Floats], Floats]] = {
    "200 − p95": lambda means: 200 - means,
    "1/p95": lambda means: 1e4 / means,
    "e^(−p95/100)": lambda means: np.exp(-means / 100),
}


def _limit(rng: np.random.Generator, replications: int, noise: float, dearest: float, is_even: bool) -> Iterator[Row]:
    """25 points, the cheaper the slower; dearer than the cheapest one that keeps the limit in truth."""
    cases = [
        _campaign(rng, noise, is_even, cost)
        for _ in range(max(1, replications // len(COSTS)))
        for cost in COSTS.values()
    ]
    right, naive = (np.array([one[at] for one in cases]) for at in (0, 1))
    more = {
        name: float(np.mean([one[2] for one in cases[at :: len(COSTS)] if one[0]])) for at, name in enumerate(COSTS)
    }
    share = float(right.mean())
    before = {0.05: ".87", 0.10: ".59", 0.18: ".27"}[noise]
    drawn = "even from 60 to 140" if is_even else "drawn between 60 and 140"
    case = f"the named point keeps it, {noise:.0%}, p95 {drawn}; dearer where the cost is {', '.join(COSTS)}"
    figure = f"{share:.3f}; {', '.join(f'{one:.1%}' for one in more.values())}"
    reached = share >= 0.95 and max(more.values()) <= dearest
    aim, beside = f"≥ .95, dearer ≤ {dearest:.0%}", {"by the mean": f"{naive.mean():.3f}"}
    yield Row("limit", case, figure, before, aim, reached, beside)


def _campaign(
    rng: np.random.Generator, noise: float, is_even: bool, cost: Callable[[Floats], Floats]
) -> tuple[bool, bool, float]:
    """Does the named point keep 100, does the cheapest whose mean does, and by how much is the named one dearer?"""
    means = np.linspace(60.0, 140.0, 25) if is_even else np.sort(rng.uniform(60.0, 140.0, 25))
    costs, keeps = cost(means), means < 100.001
    values = measure(rng, means, 3, noise)
    kept = np.flatnonzero(np.array(bounds_of(values.tolist(), costs.tolist(), lower_better=True)) <= 100)
    naive = np.flatnonzero(values.mean(axis=1) <= 100)
    chosen = kept.max(initial=0)
    is_right = bool(len(kept) and keeps[chosen])
    return is_right, bool(len(naive) and keeps[naive.max()]), float(costs[chosen] / costs[keeps].min() - 1)


def _now_and_then(rng: np.random.Generator, replications: int, runs: int) -> Row:
    """The winner's interval where one run in ten meets a pause that others don't, and how often a finding says so."""
    means, covered, said = dense(25), [], []
    entries = [Entry({}, 0, Path(), str(place), 0) for place in range(len(means) * runs)]
    points = [range(at * runs, (at + 1) * runs) for at in range(len(means))]
    for _ in range(replications):
        values = measure(rng, means, runs, 0.01) * np.where(rng.random((len(means), runs)) < 0.1, 2.0, 1.0)
        found = _found(values)
        low, high = intervals(found, lower_better=True)
        chosen = int(found.values.argmin())
        covered.append(low[chosen] <= 1.1 * means[chosen] <= high[chosen])
        findings = uneven_findings(Rows.of(entries), points, values.ravel().tolist(), cost())
        said.append(any(one.changes for one in findings))
    case = (
        f"the winner's interval: 25 points × {runs} runs, 1 %, one run in ten twice as long; a finding beside the best"
    )
    return Row("best", case, f"{np.mean(covered):.3f}; {np.mean(said):.3f}")


def _flat(rng: np.random.Generator, replications: int, noise: float) -> Row:
    """A limit that all points but the two dearest are just beyond, whatever they cost."""
    means, named = np.append(np.full(38, 105.0), [75.0, 60.0]), []
    for _ in range(replications):
        values = measure(rng, means, 3, noise)
        bounds = bounds_of(values.tolist(), (1 / np.linspace(10.0, 1.0, len(means))).tolist(), lower_better=True)
        kept = np.flatnonzero(np.array(bounds) <= 100)
        named.append(bool(len(kept)) and means[kept.min()] > 100)
    return Row(
        "limit",
        f"40 points × 3 runs, {noise:.0%}, p95 105 at all but the two dearest: one is named",
        f"{np.mean(named):.3f}",
    )


def _max_t_width(values: Floats, chosen: int) -> float:
    """Width of the interval that all points' errors stay within with 95 %, variances moderated as limma does."""
    count, runs = values.shape
    variances = (values / values.mean(axis=1, keepdims=True)).var(axis=1, ddof=1)
    found, degrees = moderated(variances, np.full(count, runs - 1.0), _limma_prior(variances, runs - 1.0))
    freedom = min(float(degrees[chosen]), count * (runs - 1.0))
    level = (1 + 0.95 ** (1 / count)) / 2
    return float(2 * special.stdtrit(freedom, level) * np.sqrt(found[chosen] / runs))


def _limma_prior(variances: Floats, degrees: float) -> Spreads:
    """Smyth's (2004) estimate of how the *variances* are distributed, each with as many *degrees* of freedom."""
    half = degrees / 2
    logs = np.log(variances) - special.digamma(half) + np.log(half)
    excess = float(np.var(logs, ddof=1) - special.polygamma(1, half))
    if excess <= 0:
        return Spreads(float(variances.mean()), 1e9)
    worth = 2 * float(inverse_trigamma(np.array(excess)))
    return Spreads(float(np.exp(logs.mean() + special.digamma(worth / 2) - np.log(worth / 2))), worth)
