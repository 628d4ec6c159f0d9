"""What judging many series costs beside apache-otava, which goes along them one by one: processor time, in turns."""

from __future__ import annotations

import datetime as dt
import functools
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

REPOSITORY = Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(REPOSITORY), str(REPOSITORY / "tests"), str(REPOSITORY / "benchmarks")]

import detector  # noqa: E402

from matrix_benchmarking import kpi  # noqa: E402
from matrix_benchmarking.analyze.detect import judge, judge_all  # noqa: E402
from matrix_benchmarking.analyze.select.selection import Selection, select  # noqa: E402
from matrix_benchmarking.analyze.verdict.analyse import analyse  # noqa: E402
from matrix_benchmarking.matrix import Entry, Facts  # noqa: E402
from matrix_benchmarking.workload import BaseStore, RegressionKeys, Workload  # noqa: E402

from .row import Row  # noqa: E402

POINTS = 100
AT_ONCE = 1000
KPIS = 20
NOISE = 0.01
STEP = 0.05
TIMES_FASTER = 10.0
DAY_US = 24 * 3600 * 10**6
Series = list[list[float]]


def rows(seed: int, replications: int) -> Iterable[Row]:
    """Of ten series a replication; the methods take turns, so that what else the machine does slows all of them."""
    rng = np.random.default_rng(seed)
    peers = detector.Peers(REPOSITORY / "build" / "peers")
    for share in (0.0, 0.02):
        yield from _rows(_made(rng, 10 * replications, share), peers, f"a step of 5 sigma in {share:.0%} of them")


def _one_by_one(series: Series) -> None:
    for one in series:
        judge(one, lower_is_better=True)


def _rows(series: Series, peers: detector.Peers, what: str) -> Iterator[Row]:
    seconds = dict.fromkeys(("otava", "together", "one by one", "analysis"), 0.0)
    for some in _parts(series):
        selection = _selection(some)
        seconds["otava"] += float(peers.ask(method="otava", processor=some)["seconds"])
        seconds["together"] += _processor(functools.partial(judge_all, some, lower_is_better=True))
        few = some[: len(some) // 10]
        seconds["one by one"] += 10.0 * _processor(functools.partial(_one_by_one, few))
        seconds["analysis"] += _processor(functools.partial(_analysed, selection))
    case = f"{len(series):,} series of {POINTS} points, {what}: "
    for name, answer, before in (
        ("together", "the detector over all of them", ""),
        ("one by one", "the detector, one by one", "1.7 ×"),
        ("analysis", "a whole analysis, selected before", ""),
    ):
        ratio = seconds["otava"] / seconds[name]
        aim = f"≥ {TIMES_FASTER:g} ×" if name == "together" else ""
        figure = f"{ratio:.1f} × ({1e6 * seconds[name] / len(series):.0f} against "
        figure += f"{1e6 * seconds['otava'] / len(series):.0f} µs)"
        yield Row("speed", case + answer, figure, before, aim, ratio >= TIMES_FASTER if aim else None)


def _made(rng: np.random.Generator, count: int, share: float) -> Series:
    values = 100.0 * (1.0 + NOISE * rng.standard_normal((count, POINTS)))
    first = rng.integers(10, POINTS, count)
    stepped = rng.permutation(count) < round(share * count)
    values[stepped] += 100.0 * STEP * (np.arange(POINTS) >= first[stepped, None])
    found: Series = values.tolist()
    return found


def _parts(series: Series) -> list[Series]:
    return [series[start : start + AT_ONCE] for start in range(0, len(series), AT_ONCE)]


def _processor(call: Callable[[], object]) -> float:
    before = time.process_time()
    call()
    return time.process_time() - before


def _selection(series: Sequence[Sequence[float]]) -> Selection:
    """Series of a workload of twenty KPIs, measured once at each of a hundred versions, a night each."""
    workload = _workload()
    names = list(workload.kpis)
    groups = [series[start : start + KPIS] for start in range(0, len(series), KPIS)]
    entries = [
        _entry({"version": f"1.{version}.0", "configuration": place}, version,
               dict(zip(names, (one[version] for one in group), strict=False)))
        for version in range(POINTS)
        for place, group in enumerate(groups)
    ]  # fmt: skip
    return select(entries, workload)


def _workload() -> Workload:
    def of_number(number: int) -> Callable[[object], object]:
        def measured(lts: object) -> object:
            return None

        measured.__name__ = f"kpi_{number}"
        described: Callable[[object], object] = kpi.LowerBetter(kpi.KPIMetadata(help="made up", unit="s")(measured))
        return described

    store = BaseStore(parse_once=lambda results, test_dir: None, models_kpis=kpi.collect(map(of_number, range(KPIS))))
    return Workload(name="made up", store=store, regression=RegressionKeys(comparison_keys=["version"]))


def _entry(labels: dict[str, object], day: int, kpis: dict[str, float]) -> Entry:
    name = " ".join(map(str, labels.values()))
    return Entry(
        settings=labels,  # type: ignore[arg-type]
        repeat=0,
        location=Path("/nowhere"),
        name=name,
        exit_code=0,
        test_uuid=name,
        kpis=kpis,
        span_us=(None, day * DAY_US),
        facts=Facts(labels),
        recorded=None,
        kept_in="",
    )


def _analysed(selection: Selection) -> None:
    now = dt.datetime(2400, 1, 1, tzinfo=dt.UTC)
    analyse(selection, data="made up", minimum_effects={}, events=(), now=now)
