"""How often the best configuration is in the named set, its value in its interval, and a limit kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from scipy import special, stats

from matrix_benchmarking.analyze.best_of import Estimates, estimate, intervals, may_be_best, optimism
from matrix_benchmarking.analyze.bounds import bounds
from matrix_benchmarking.analyze.lending import inverse_trigamma
from matrix_benchmarking.analyze.noise import Floats, Prior, moderated

from .row import Row

Draw = Callable[[np.random.Generator], tuple[Floats, Floats]]
"""True means, and the values of the runs (points × repeats)."""
RESAMPLES = 200


def rows(seed: int, replications: int) -> Iterator[Row]:
    """The rows on the best configuration and on limits."""
    rng = np.random.default_rng(seed)
    for count in (10, 50):
        for runs in (3, 5):
            for noise in (0.03, 0.18, None):
                for is_dense in (True, False):
                    yield from _set_and_interval(rng, replications, count, runs, noise, is_dense)
    yield from _in_rounds(rng, replications)
    for noise, dearest in ((0.05, 0.07), (0.10, 0.10), (0.18, 0.14)):
        yield from _limit(rng, replications, noise, dearest)


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
    found = estimate(values.tolist(), numbers if rounds else None)
    assert found is not None
    return found


def _set_and_interval(
    rng: np.random.Generator, replications: int, count: int, runs: int, noise: float | None, is_dense: bool
) -> Iterator[Row]:
    means = dense(count) if is_dense else np.ones(count)
    named, sizes, welch, resampled, covered, widths, said, true = [], [], [], [], [], [], [], []
    for _ in range(replications):
        values = measure(rng, means, runs, noise)
        found = _found(values)
        inside, (low, high) = may_be_best(found, lower_better=True), intervals(found, lower_better=True)
        chosen = int(found.values.argmin())
        named.append(inside[0])
        sizes.append(inside.sum())
        welch.append(_by_welch(values))
        resampled.append(_by_bootstrap(rng, values))
        covered.append(low[chosen] <= means[chosen] <= high[chosen])
        widths.append(np.log(high[chosen] / low[chosen]) / _max_t_width(values, chosen))
        said.append(optimism(found, lower_better=True))
        true.append(means[chosen] / np.exp(found.values[chosen]) - 1)
    shape = "dense" if is_dense else "all equal"
    case = f"{count} points × {runs} runs, {'1–9 % mixed' if noise is None else f'{noise:.0%}'}, {shape}"
    hit, covers, width = float(np.mean(named)), float(np.mean(covered)), float(np.mean(widths))
    least = 0.91 if noise is None and not is_dense else 0.93
    beside = f"Welch {np.mean(welch):.3f}, bootstrap {np.mean(resampled):.3f}; a set of {np.mean(sizes):.1f}"
    yield Row("best", f"in the named set: {case} ({beside})", f"{hit:.3f}", ".75–.98", "≥ .95", hit >= 0.95)
    reached = covers >= least and width <= 1.2
    figure = f"{covers:.3f}, width {width:.2f} × max-t"
    yield Row("best", f"the winner's interval: {case}", figure, ".53–.94", f"≥ {least}, ≤ 1.2 ×", reached)
    yield Row("best", f"its bias as said, and as it is: {case}", f"{np.mean(said):.1%}, {np.mean(true):.1%}")


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


def _limit(rng: np.random.Generator, replications: int, noise: float, dearest: float) -> Iterator[Row]:
    """25 points, the cheaper the slower: the cost falls linearly, by as much as p95 rises, and is known."""
    means = np.linspace(60.0, 140.0, 25)
    costs = 200.0 - means
    right, naive, dearer, inverse = [], [], [], []
    for _ in range(replications):
        values = measure(rng, means, 3, noise)
        kept = np.flatnonzero(bounds(_found(values), lower_better=True) <= 100)
        chosen = kept.max(initial=-1)
        right.append(chosen >= 0 and means[chosen] <= 100)
        naive.append(means[np.flatnonzero(values.mean(axis=1) <= 100).max(initial=0)] <= 100)
        if right[-1]:
            dearer.append(costs[chosen] / 100 - 1)
            inverse.append(100 / means[chosen] - 1)
    share, more = float(np.mean(right)), float(np.mean(dearer))
    beside = f"by the mean {np.mean(naive):.2f}; were the cost 1/p95, dearer by {np.mean(inverse):.1%}"
    before = {0.05: ".87", 0.10: ".59", 0.18: ".27"}[noise]
    target, reached = f"≥ .95, dearer ≤ {dearest:.0%}", share >= 0.95 and more <= dearest
    yield Row(
        "limit",
        f"the named point keeps it, {noise:.0%} ({beside})",
        f"{share:.3f}, {more:.1%}",
        before,
        target,
        reached,
    )


def _by_welch(values: Floats) -> bool:
    """Is the first point told apart from the one with the lowest mean by Welch's t-test at 5 %?"""
    best = int(values.mean(axis=1).argmin())
    return best == 0 or bool(stats.ttest_ind(values[0], values[best], equal_var=False).pvalue >= 0.05)


def _by_bootstrap(rng: np.random.Generator, values: Floats) -> bool:
    """Is the first point no worse than the one with the lowest mean in more than 2.5 % of resamples?"""
    best = int(values.mean(axis=1).argmin())
    runs = values.shape[1]
    first, other = (values[at][rng.integers(runs, size=(RESAMPLES, runs))].mean(axis=1) for at in (0, best))
    return best == 0 or bool(np.mean(first <= other) > 0.025)


def _max_t_width(values: Floats, chosen: int) -> float:
    """Width of the interval that all points' errors stay within with 95 %, variances moderated as limma does."""
    count, runs = values.shape
    variances = (values / values.mean(axis=1, keepdims=True)).var(axis=1, ddof=1)
    found, degrees = moderated(variances, np.full(count, runs - 1.0), _limma_prior(variances, runs - 1.0))
    freedom = min(float(degrees[chosen]), count * (runs - 1.0))
    level = (1 + 0.95 ** (1 / count)) / 2
    return float(2 * special.stdtrit(freedom, level) * np.sqrt(found[chosen] / runs))


def _limma_prior(variances: Floats, degrees: float) -> Prior:
    """Smyth's (2004) estimate of how the *variances* are distributed, each with as many *degrees* of freedom."""
    half = degrees / 2
    logs = np.log(variances) - special.digamma(half) + np.log(half)
    excess = float(np.var(logs, ddof=1) - special.polygamma(1, half))
    if excess <= 0:
        return Prior(float(variances.mean()), 1e9)
    worth = 2 * float(inverse_trigamma(np.array(excess)))
    return Prior(float(np.exp(logs.mean() + special.digamma(worth / 2) - np.log(worth / 2))), worth)
