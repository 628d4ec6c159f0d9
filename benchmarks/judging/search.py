"""The search for saturation on ten kinds of curves, each drawn afresh, against what else spends the measurements."""

from __future__ import annotations

import dataclasses
import functools
import math
import statistics
from collections.abc import Callable, Iterable, Mapping

import numpy as np

from matrix_benchmarking.benchmark.search import Answer, Measurement, SearchSpec, next_step

from .row import Row
from .servers import (
    BROKEN,
    DOUBLINGS,
    MAXIMUM,
    NOISE,
    USERS,
    WITHIN,
    Curve,
    Draw,
    by_littles_law,
    even,
    growing,
    in_two_states,
    limited,
    lognormal,
    place,
)


def plateau(rng: np.random.Generator) -> Curve:
    return _knee(place(rng, 4, 128), rng.uniform(2, 8))


def retrograde(rng: np.random.Generator) -> Curve:
    """Gunther's universal scalability law: what users wait for each other makes the throughput fall."""
    contention, peak = rng.uniform(0, 0.1), place(rng, 8, 256)
    coherency = (1 - contention) / peak**2
    return USERS / (1 + contention * (USERS - 1) + coherency * USERS * (USERS - 1))


def collapse_by_60(rng: np.random.Generator) -> Curve:
    return _collapse(rng, 0.6)


def collapse_by_70(rng: np.random.Generator) -> Curve:
    return _collapse(rng, 0.7)


def gentle_fall(rng: np.random.Generator) -> Curve:
    at = place(rng, 4, 64)
    return _knee(at, 6) * (1 - rng.uniform(0.02, 0.06)) ** np.maximum(0, DOUBLINGS - np.log2(at))


def first_hump_higher(rng: np.random.Generator) -> Curve:
    return _humps(rng, 1.0, rng.uniform(0.7, 0.92))


def second_hump_higher(rng: np.random.Generator) -> Curve:
    return _humps(rng, rng.uniform(0.7, 0.92), 1.0)


def sawtooth(rng: np.random.Generator) -> Curve:
    """A server of batches: the last one of a wave is as slow as a full one."""
    batch = int(rng.integers(6, 65))
    full = USERS / (batch * np.ceil(USERS / batch))
    return full * (1 - rng.uniform(0, 0.03)) ** np.maximum(0, DOUBLINGS - np.log2(batch))


def still_rising(rng: np.random.Generator) -> Curve:
    return USERS / (USERS + place(rng, 100, 600))


def falling_from_two(rng: np.random.Generator) -> Curve:
    falling = (1 - rng.uniform(0.06, 0.25)) ** (DOUBLINGS - 1)
    return np.where(USERS < 2, rng.uniform(0.55, 0.95), falling)


def collapse_after_peak(rng: np.random.Generator) -> Curve:
    """In proportion to the users up to the edge, which is the peak: what is a tenth below it is a tenth too slow."""
    edge = place(rng, 4, 128)
    return _knee(edge * rng.uniform(0.8, 1.0), 12) * np.where(edge > USERS, 1.0, rng.uniform(0.2, 0.5))


def cliff_between_steps(rng: np.random.Generator) -> Curve:
    """Rises slowly past its knee up to an edge, which lies where no power of two is near."""
    edge = float(rng.choice([2, 4, 8, 16, 32, 64])) * rng.uniform(1.15, 1.85)
    rising = (USERS / edge) ** rng.uniform(0.05, 0.25) * _knee(edge / place(rng, 1.5, 6), 3)
    return rising * np.where(edge > USERS, 1.0, rng.uniform(0.4, 0.75))


def even_humps_first_higher(rng: np.random.Generator) -> Curve:
    return _humps(rng, 1.0, rng.uniform(0.93, 0.96))


def even_humps_second_higher(rng: np.random.Generator) -> Curve:
    return _humps(rng, rng.uniform(0.93, 0.96), 1.0)


def _knee(at: float, sharpness: float) -> Curve:
    """In proportion to the users, then flat at 1."""
    return np.asarray((1 + (USERS / at) ** -sharpness) ** (-1 / sharpness))


def _collapse(rng: np.random.Generator, by: float) -> Curve:
    knee = place(rng, 4, 64)
    edge = knee * place(rng, 0.3, 3)
    return _knee(knee, rng.uniform(1, 6)) * np.where(edge > USERS, 1.0, 1 - by)


def _humps(rng: np.random.Generator, first: float, second: float) -> Curve:
    low = place(rng, 4, 16)
    places, heights = np.log2([low, low * place(rng, 8, 24)]), (first, second)
    valley = min(heights) * rng.uniform(0.5, 0.85)
    bumps = [
        (height - valley) * np.exp(-0.5 * ((DOUBLINGS - place) / rng.uniform(0.3, 0.7)) ** 2)
        for place, height in zip(places, heights, strict=True)
    ]
    return np.asarray(_knee(low / 2, 6) * (valley + sum(bumps)))


CURVES: dict[str, Callable[[np.random.Generator], Curve]] = {
    "plateau": plateau,
    "retrograde": retrograde,
    "collapse by 60 %": collapse_by_60,
    "collapse by 70 %": collapse_by_70,
    "gentle fall": gentle_fall,
    "two humps, first higher": first_hump_higher,
    "two humps, second higher": second_hump_higher,
    "sawtooth": sawtooth,
    "still rising": still_rising,
    "falling from two on": falling_from_two,
}
HARDER = {
    **{name: CURVES[name] for name in ("plateau", "retrograde", "gentle fall", "sawtooth", "still rising")},
    "falling from two on": falling_from_two,
    "collapse right after the peak": collapse_after_peak,
    "cliff between powers of two": cliff_between_steps,
    "humps 5 % apart, first higher": even_humps_first_higher,
    "humps 5 % apart, second higher": even_humps_second_higher,
}
"""As hard as the words allow: where the cliffs of the others leave a plateau before them, these are the peak."""


@dataclasses.dataclass(slots=True)
class Bench:
    """A server with a known curve under a load generator whose runs are noisy."""

    curve: Curve
    rng: np.random.Generator
    runs: dict[int, list[float]] = dataclasses.field(default_factory=dict)

    @property
    def count(self) -> int:
        return sum(map(len, self.runs.values()))

    def run(self, users: int) -> float:
        self.runs.setdefault(users, []).append(float(self.curve[users - 1]) * lognormal(self.rng, NOISE))
        return self.runs[users][-1]

    def best(self) -> int:
        """The number of users with the highest mean."""
        return max(self.runs, key=lambda users: statistics.fmean(self.runs[users]))

    def is_right(self, users: int) -> bool:
        return bool(self.curve[users - 1] >= (1 - WITHIN) * self.curve.max())


def matbench(bench: Bench) -> Answer:
    measurements: list[Measurement] = []
    while isinstance(step := next_step(SearchSpec(max=MAXIMUM), measurements), int):
        measurements.append(Measurement(step, bench.run(step)))
    return step


def powers_of_two(bench: Bench, budget: int) -> None:
    """A full grid of powers of two, again and again."""
    grid = [2**exponent for exponent in range(int(math.log2(MAXIMUM)) + 1)]
    for index in range(budget):
        bench.run(grid[index % len(grid)])


def golden_section(bench: Bench, budget: int) -> None:
    """Kiefer (1953), on the logarithmic scale; what is left when it ends goes to repeats of its best."""
    _narrow(bench, budget, 1.0, float(MAXIMUM))


def doubling_then_golden_section(bench: Bench, budget: int) -> None:
    """Doubles until throughput stops rising, then golden sections around the best."""
    users, last = 1, bench.run(1)
    while users < MAXIMUM and bench.count < budget:
        users *= 2
        previous, last = last, bench.run(users)
        if last <= previous:
            break
    _narrow(bench, budget, max(1.0, bench.best() / 2), min(2.0 * bench.best(), float(MAXIMUM)))


def _narrow(bench: Bench, budget: int, low: float, high: float) -> None:
    golden = (math.sqrt(5) - 1) / 2
    while bench.count < budget:
        first, second = (round(low * (high / low) ** share) for share in (1 - golden, golden))
        if first == second or (first, second) == (low, high):
            bench.run(bench.best())
            continue
        for users in (first, second):
            if users not in bench.runs and bench.count < budget:
                bench.run(users)
        if first not in bench.runs or second not in bench.runs:
            return
        low, high = (low, second) if bench.runs[first][0] >= bench.runs[second][0] else (first, high)


SHARE = 40
"""A search takes a fifth of a second, so one of this many replications is made on each kind of curve of a family."""

PEERS = (powers_of_two, golden_section, doubling_then_golden_section)


def rows(seed: int, replications: int) -> Iterable[Row]:
    """Searches on each kind of curve; peers spend as many measurements on the same curve."""
    yield from _of_family("", CURVES, seed, max(1, replications // SHARE))
    yield from _of_family("harder: ", HARDER, seed + 1, max(1, replications // SHARE))
    every = max(1, replications // SHARE)
    curves = {**CURVES, **HARDER}
    yield from _of_servers(
        "under a limit: ", {name: by_littles_law(of) for name, of in CURVES.items()}, seed + 2, every
    )
    for noise in (0.05, 0.1):
        servers = {name: limited(noise, of) for name, of in curves.items()}
        yield from _of_servers(f"under a limit, other p95 with noise of {noise:.0%}: ", servers, seed + 3, every)
    kinds = {f"noise of {noise:.0%}": functools.partial(even, noise) for noise in (0.01, 0.03, 0.1)}
    for words, kind in (kinds | {"noise that grows to 10 %": growing, "in two states": in_two_states}).items():
        servers = {shape.__name__.replace("_", " "): kind(shape) for shape in BROKEN}
        yield from _of_servers(f"cliffs and dips, {words}: ", servers, seed + 4, every)


def _of_family(
    family: str, curves: dict[str, Callable[[np.random.Generator], Curve]], seed: int, replications: int
) -> Iterable[Row]:
    right, settled, count = (np.zeros((len(curves), replications)) for _ in range(3))
    peers = np.zeros((len(PEERS), len(curves), replications))
    for kind, draw in enumerate(curves.values()):
        for index in range(replications):
            rng = np.random.default_rng([seed, kind, index])
            bench = Bench(draw(rng), rng)
            found = matbench(bench)
            right[kind, index], settled[kind, index] = bench.is_right(found.vus), found.settled
            count[kind, index] = bench.count
            for number, peer in enumerate(PEERS):
                other = Bench(bench.curve, rng)
                peer(other, bench.count)
                peers[number, kind, index] = other.is_right(other.best())
    trusted = float(right[settled > 0].mean()) if settled.any() else math.nan
    words = [name.__name__.replace("_", " ") for name in PEERS]
    beside = {name: f"{of_peer.mean():.3f}" for name, of_peer in zip(words, peers, strict=True)}
    yield _row(f"{family}right within 5 %", right.mean(), 0.87, ".77", beside)
    yield _row(f"{family}settled", settled.mean(), 0.5, "")
    yield _row(f"{family}settled and right, of those settled", trusted, 0.95, ".82")
    spent = float(count.mean())
    yield Row("search", f"{family}measurements on average", f"{spent:.1f}", "", "≤ 18", spent <= 18)
    for kind, name in enumerate(curves):
        figure = f"{right[kind].mean():.2f}, {settled[kind].mean():.2f} settled, {count[kind].mean():.1f} measurements"
        yield Row("search", f"{family}right within 5 %, {name}", figure)


def _of_servers(family: str, servers: Mapping[str, Draw], seed: int, replications: int) -> Iterable[Row]:
    """Whether answers are right and settled, and with a limit how often what is said to keep it does."""
    right, settled, count, claims, keeps = (np.zeros((len(servers), replications)) for _ in range(5))
    for kind, draw in enumerate(servers.values()):
        for index in range(replications):
            rng = np.random.default_rng([seed, kind, index])
            server, runs = draw(rng), list[Measurement]()
            limit = server.limit_ms if math.isfinite(server.limit_ms) else None
            while isinstance(step := next_step(SearchSpec(max=MAXIMUM, p95_ms=limit), runs), int):
                runs.append(server.run(step, rng))
            right[kind, index], settled[kind, index] = server.is_right(step.vus), step.settled
            count[kind, index] = len(runs)
            claims[kind, index], keeps[kind, index] = step.keeps_limit, server.keeps(step.vus)
    has_limit = family.startswith("under")
    yield _row(f"{family}right within 5 %", right.mean(), 0.87)
    yield _row(f"{family}settled", settled.mean(), 0.5)
    of_settled = f"{family}settled and right, of {settled.sum():g} settled"
    yield _row(of_settled, right[settled > 0].mean() if settled.any() else math.nan, 0.95)
    if has_limit:
        yield _row(f"{family}keeps the limit, of {claims.mean():.2f} that claim it", keeps[claims > 0].mean(), 0.95)
    spent = float(count.mean())
    yield Row("search", f"{family}measurements on average", f"{spent:.1f}", "", "≤ 18", spent <= 18)
    for kind, name in enumerate(servers):
        trusted = right[kind][settled[kind] > 0]
        figure = f"{right[kind].mean():.2f}, {settled[kind].mean():.2f} settled"
        figure += f" ({trusted.mean():.2f} of them right)" if len(trusted) else ""
        yield Row("search", f"{family}right within 5 %, {name}", f"{figure}, {count[kind].mean():.1f} measurements")


def _row(case: str, figure: float, least: float, before: str = "", peers: Mapping[str, str] | None = None) -> Row:
    return Row("search", case, f"{figure:.3f}", before, f"≥ {least:g}", bool(figure >= least), peers or {})
