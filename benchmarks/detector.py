"""Change detection: ours beside apache-otava, ruptures and an oracle, on the same series, in one table.

    python benchmarks/detector.py [--quick] [--peers build/peers] [--no-peers]

The peers get a virtual environment of their own, made the first time. `benchmarks/answers.md` says what the rows mean.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
import venv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

REPOSITORY = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(REPOSITORY), str(REPOSITORY / "benchmarks")]

import detector_series as made  # noqa: E402

from matrix_benchmarking.analyze.detect import Kind, Minimum, change_points, judge  # noqa: E402

SEED = 271828
BEFORE, SINCE = 40, 10
WITHIN = 10
SHIFTS = {5.0: 2, 3.0: 3, 2.0: 6, 1.5: 10}
PEERS = ("otava", "otava tuned", "pelt", "kernel")
# Of what is analysed again after each point, slow methods get only this fraction of the series.
SLOWER = {"pelt": 8, "kernel": 8}
MORE = "ours, 10 ×"  # on ten times as many series, of which the others' are the first: chance decides less
TIMES_MORE = 10
LOCAL = ("ours", MORE, "oracle")
OTHER_PLACES = ((20, 5.0), (20, 3.0), (80, 3.0), (80, 1.5))
REQUIREMENTS = ("apache-otava==0.8.0", "ruptures==1.1.10")
Prefixes = list[list[tuple[list[int], bool]]]


def main() -> None:
    options = _options()
    local = tuple(method for method in LOCAL if method != MORE or not options.quick)
    table = Table(local if options.no_peers else (*local, *PEERS))
    peers = None if options.no_peers else Peers(options.peers)
    methods = Methods(peers, oracle_threshold(200 if options.quick else 4000))
    series, shifts = (2, 1) if options.quick else (options.series, options.shifts)
    began = time.perf_counter()
    if not options.only_times:
        false_alarms(table, methods, series)
        over_time(table, methods, series)
        delays(table, methods, shifts)
        lifelike(table, methods, shifts)
        real(table, methods)
    times(table, methods, 1 if options.quick else 25)
    table.show()
    print(f"\n{series} series without a change a row, {shifts} with each shift, {TIMES_MORE} times that for {MORE};")
    print(f"{time.perf_counter() - began:.0f} s")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--series", type=int, default=400, help="series without a change, each family")
    parser.add_argument("--shifts", type=int, default=100, help="series with a shift, each size")
    parser.add_argument("--peers", type=Path, default=REPOSITORY / "build" / "peers", help="the peers' environment")
    parser.add_argument("--no-peers", action="store_true", help="ours and the oracle only")
    parser.add_argument("--only-times", action="store_true", help="the rows on time only")
    parser.add_argument("--quick", action="store_true", help="few series: does it run at all?")
    return parser.parse_args()


class Table:
    """Rows of measures, a column for each method."""

    def __init__(self, methods: tuple[str, ...]) -> None:
        self.methods = methods
        self.rows: list[list[str]] = []

    def add(self, measure: str, target: str, cell: Callable[[str], str | None]) -> None:
        self.rows.append([measure, target, *[cell(method) or "–" for method in self.methods]])
        print(" | ".join(self.rows[-1]), file=sys.stderr, flush=True)

    def show(self) -> None:
        rows = [["measure", "to reach", *self.methods], *self.rows]
        widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
        for place, row in enumerate(rows):
            print("| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |")
            if not place:
                print("|" + "|".join("-" * (width + 2) for width in widths) + "|")


class Peers:
    """The process that runs other people's detectors."""

    def __init__(self, directory: Path) -> None:
        python = directory / "bin" / "python"
        if not (directory / "installed").exists():
            venv.create(directory, with_pip=True)
            command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *REQUIREMENTS]
            subprocess.run(command, check=True)
            (directory / "installed").touch()
        script = str(REPOSITORY / "benchmarks" / "detector_peers.py")
        self.process = subprocess.Popen([str(python), script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, **request: Any) -> Any:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit("The peers' process ended; its error is above.")
        return json.loads(line)


class Methods:
    """All methods behind one interface: the change points of series, or of each of their prefixes."""

    def __init__(self, peers: Peers | None, threshold: float) -> None:
        self.peers = peers
        self.threshold = threshold

    def whole(self, method: str, series: list[list[float]]) -> list[list[int]]:
        if method in ("ours", MORE):
            return [change_points(values) for values in series]
        if method == "oracle":
            return [[seen[1]] if (seen := oracle(values, self.threshold)) else [] for values in series]
        assert self.peers is not None
        return [found[0] for found in self.peers.ask(method=method, series=series)["found"]]

    def prefixes(self, method: str, series: list[list[float]], since: int) -> Prefixes:
        """Change points of each prefix of at least *since* points, and whether its last level is higher."""
        if method in ("ours", MORE):
            return [
                [(change_points(values[:count]), False) for count in range(since, len(values) + 1)] for values in series
            ]
        assert self.peers is not None
        found = self.peers.ask(method=method, series=series, since=since)["found"]
        return [[(points, up) for points, up in prefixes] for prefixes in found]

    def seconds(self, method: str, series: list[list[float]]) -> float | None:
        """The median over the series."""
        if method in (MORE, "oracle"):
            return None
        if method != "ours":
            assert self.peers is not None
            return float(self.peers.ask(method=method, timed=series)["seconds"])
        taken = []
        for values in series:
            began = time.perf_counter()
            change_points(values)
            taken.append(time.perf_counter() - began)
        return float(np.median(taken))


def oracle(values: list[float], threshold: float, since: int = SINCE) -> tuple[int, int] | None:
    """A likelihood-ratio test that is told the noise (variance 1): after how many points it sees a shift, and where."""
    sums = np.concatenate([[0.0], np.cumsum(np.asarray(values) - made.LEVEL)])
    for count in range(since, len(values) + 1):
        split = np.arange(1, count)
        shift = (sums[count] - sums[split]) / (count - split) - sums[split] / split
        ratio = np.abs(shift) * np.sqrt(split * (count - split) / count)
        if ratio.max() >= threshold:
            return count, int(split[ratio.argmax()])
    return None


def oracle_threshold(series: int) -> float:
    """The threshold with which the oracle alarms in 1 % of series of 100 points without a change."""
    sums = np.cumsum(np.random.default_rng(SEED).standard_normal((series, 100)), axis=1)
    highest = np.zeros(series)
    for count in range(SINCE, 101):
        split = np.arange(1, count)
        shift = (sums[:, [count - 1]] - sums[:, split - 1]) / (count - split) - sums[:, split - 1] / split
        highest = np.maximum(highest, (np.abs(shift) * np.sqrt(split * (count - split) / count)).max(axis=1))
    return float(np.quantile(highest, 0.99))


def false_alarms(table: Table, methods: Methods, count: int) -> None:
    """Series of 100 points without a change, analysed once."""
    allowed = {"AR(1) 0.3": 0.03, "AR(1) 0.6": 0.05}
    for held_out, families in ((False, made.NAMED), (True, made.HELD_OUT)):
        for name, family in families.items():
            series = [made.noise(family, SEED, number, 100) for number in range(count * TIMES_MORE)]

            def cell(method: str, series: list[list[float]] = series, name: str = name) -> str | None:
                if method == "oracle" and name != "normal":
                    return None
                asked = series if method == MORE else series[:count]
                return _share(sum(bool(points) for points in methods.whole(method, asked)), len(asked))

            target = "" if held_out else f"≤ {allowed.get(name, 0.015):.1%}"
            table.add(f"false alarms, {name}" + (" (held out)" if held_out else ""), target, cell)


def over_time(table: Table, methods: Methods, count: int) -> None:
    """A false regression in 100 points, asked after each point from the 10th on."""
    series = [made.noise(made.normal, SEED + 1, number, 100) for number in range(count)]

    def cell(method: str) -> str | None:
        if method == "ours":
            return _share(sum(_ever_regressed(values) for values in series), count)
        if method in (MORE, "oracle"):
            return None
        few = series[: max(1, count // SLOWER.get(method, 4))]
        found = methods.prefixes(method, few, SINCE)
        return _share(sum(any(points and up for points, up in prefixes) for prefixes in found), len(few))

    table.add("false regression in 100 points, judged after each (normal)", "≤ 2.0%", cell)


def _ever_regressed(values: list[float]) -> bool:
    counts = range(SINCE, len(values) + 1)
    return any(judge(values[:c], lower_is_better=True, minimum=Minimum(0.0)).kind is Kind.REGRESSION for c in counts)


def delays(table: Table, methods: Methods, count: int) -> None:
    """A shift after 40 points: how many points until it is seen, and what becomes of the alarm. And one elsewhere."""
    fate: dict[str, list[tuple[bool, bool]]] = {method: [] for method in table.methods}
    for size, target in SHIFTS.items():
        name = f"points until a shift of {size:g} sigma is seen, median"
        _delay(table, methods, (size, BEFORE, count), (name, f"≤ {target}"), fate)
    for before, size in OTHER_PLACES:
        name = f"the same, {size:g} sigma after {before} points"
        _delay(table, methods, (size, before, count), (name, ""), {method: [] for method in table.methods})
    for place, word in enumerate(("moved", "vanished")):
        table.add(
            f"alarms that {word} later, all shifts",
            "≤ 2.0%",
            lambda method, place=place: (  # type: ignore[misc]
                f"{np.mean([f[place] for f in fate[method]]):.1%}" if fate[method] else None
            ),
        )


def _delay(
    table: Table,
    methods: Methods,
    shift: tuple[float, int, int],
    names: tuple[str, str],
    fate: dict[str, list[tuple[bool, bool]]],
) -> None:
    """One size of shift, after so many points, in so many series."""
    size, before, count = shift
    series = [made.shifted(size, SEED + 2, number, before) for number in range(count * TIMES_MORE)]

    def cell(method: str) -> str:
        if method == "oracle":
            seen = [oracle(values, methods.threshold) for values in series[:count]]
            needed = [found[0] - before if found and found[0] > before else np.inf for found in seen]
            return f"{np.median(needed):.1f}"
        few = series if method == MORE else series[: max(1, count // SLOWER.get(method, 1))]
        followed = [_follow(prefixes, before) for prefixes in methods.prefixes(method, few, before + 1)]
        fate[method].extend((moved, vanished) for needed, moved, vanished in followed if needed < np.inf)
        return f"{np.median([needed for needed, _, _ in followed]):.1f}"

    table.add(*names, cell)


def _follow(prefixes: list[tuple[list[int], bool]], before: int) -> tuple[float, bool, bool]:
    """Points needed until the first alarm near the shift; whether it ever moved, or vanished, in later prefixes."""
    near = [[point for point in points if abs(point - before) <= WITHIN] for points, _ in prefixes]
    first = next((place for place, points in enumerate(near) if points), None)
    if first is None:
        return np.inf, False, False
    alarm = near[first][-1]
    moved = any(points and alarm not in points for points in near[first:])
    return first + 1.0, moved, not all(near[first:])


def lifelike(table: Table, methods: Methods, count: int) -> None:
    """Series that look like real ones."""
    back = [made.there_and_back(SEED + 3, number) for number in range(count)]
    drift = [made.drifting(SEED + 4, number) for number in range(count)]
    restless = [made.restless(SEED + 5, number) for number in range(count)]

    def both(method: str) -> str | None:
        if method in (MORE, "oracle"):
            return None
        found = methods.whole(method, back)
        right = [len(p) == 2 and abs(p[0] - 40) <= 2 and abs(p[1] - 55) <= 2 for p in found]
        return _share(sum(right), count)

    def steps(method: str) -> str | None:
        return None if method in (MORE, "oracle") else f"{np.mean([len(p) for p in methods.whole(method, drift)]):.1f}"

    def noisier(method: str) -> str | None:
        return (
            None if method in (MORE, "oracle") else _share(sum(bool(p) for p in methods.whole(method, restless)), count)
        )

    table.add("4 sigma up for 15 points and back: exactly both steps, ± 2", "", both)
    table.add("drift of 5 sigma in 100 points: change points, mean", "", steps)
    table.add("noise doubles, no shift: series with an alarm", "", noisier)
    for size, word in ((5.0, "found"), (0.0, "false")):
        rerun = [made.rerun(size, SEED + 6, number) for number in range(count)]
        caught = [judge(values, lower_is_better=True).kind is Kind.REGRESSION for values in rerun]
        table.add(
            f"30 versions of 1 run, then one of 3 runs, {size:g} sigma: {word}",
            "",
            lambda method, caught=caught: _share(sum(caught), count) if method == "ours" else None,  # type: ignore[misc]
        )


def times(table: Table, methods: Methods, rounds: int) -> None:
    """Milliseconds for a series, median over several series."""
    for shift in (0.0, 5.0):
        for count in (50, 500, 5000):
            number = max(3, rounds if count < 1000 else rounds // 5)
            series = [made.shifted(shift, SEED + 7, each, count // 2, count - count // 2) for each in range(number)]

            def cell(method: str, series: list[list[float]] = series) -> str | None:
                if method == "pelt" and len(series[0]) > 1000:
                    return None
                seconds = methods.seconds(method, series)
                return None if seconds is None else f"{seconds * 1000:.2f} ms"

            name = "no shift" if not shift else "a shift of 5 sigma"
            table.add(f"time for {count:,} points, {name}", "≤ otava", cell)


def real(table: Table, methods: Methods) -> None:
    """Change points in the samples of other projects, whose truth nobody knows."""
    for name, values in made.tigerbeetle(REPOSITORY / "tests" / "data" / "elsewhere").items():

        def cell(method: str, values: list[float] = values) -> str | None:
            return None if method in (MORE, "oracle") else str(len(methods.whole(method, [values])[0]))

        table.add(f"change points in tigerbeetle's {name}, {len(values)} runs", "", cell)


def _share(hits: int, count: int) -> str:
    return f"{hits / count:.1%}"


if __name__ == "__main__":
    main()
