"""Histories with known changes, and the analysis of them."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from matrix_benchmarking import kpi
from matrix_benchmarking.analyze.verdict.analyse import analyse_runs
from matrix_benchmarking.analyze.verdict.lifecycle import subject_of
from matrix_benchmarking.analyze.verdict.model import Analysis
from matrix_benchmarking.history.alarms import Action, AlarmEvent
from matrix_benchmarking.matrix import Entry, Facts
from matrix_benchmarking.workload import BaseStore, RegressionKeys, Workload

START_US, DAY_US = 1_760_000_000_000_000, 86_400_000_000
NOW = dt.datetime(2027, 1, 1, tzinfo=dt.UTC)


@kpi.LowerBetter
@kpi.Format("{:.2f}")
@kpi.KPIMetadata(help="How long an answer takes", unit="ms")
def latency(lts: Any) -> Any:
    return lts.latency


@kpi.HigherBetter
@kpi.KPIMetadata(help="How fast it is", unit="1/s")
def throughput(lts: Any) -> Any:
    return lts.throughput


def toy_workload() -> Workload:
    """Two KPIs, ordered by ``version``."""
    store = BaseStore(parse_once=lambda results, test_dir: None, models_kpis=kpi.collect([latency, throughput]))
    return Workload(name="toy", store=store, regression=RegressionKeys(comparison_keys=("version",)))


def run(version: str, image: str, value: float, *, place: int = 0, repeat: int = 0, **more: Any) -> Entry:
    """A successful run whose KPIs are *value*; of two names of one version the longer one is measured later."""
    known = {"image": image, "version": version, **more}
    name = f"{image[:40]}-{version[:40]}-{repeat}"
    return Entry(
        settings=known,
        repeat=repeat,
        location=Path("/results") / name.replace("/", "_"),
        name=name,
        exit_code=0,
        test_uuid=f"id-{image[:30]}-{place}-{repeat}",
        kpis={"latency": value},
        span_us=(None, START_US + place * DAY_US + len(version)),
        facts=Facts(known),
    )


def series(
    image: str,
    versions: Sequence[str],
    steps: Mapping[int, float] | None = None,
    *,
    level: float = 20.0,
    noise: float = 0.01,
    repeats: int = 3,
    spikes: Iterable[int] = (),
) -> list[Entry]:
    """Runs of *image* at each version; from the places in *steps* on, the level is multiplied by a factor."""
    source = random.Random(ascii(image))
    entries, factor = [], 1.0
    for place, version in enumerate(versions):
        factor *= (steps or {}).get(place, 1.0)
        for repeat in range(repeats):
            value = level * factor * (1 + noise * source.gauss(0, 1)) * (6.0 if place in spikes else 1.0)
            entries.append(run(version, image, value, place=place, repeat=repeat))
    return entries


def versions(count: int) -> list[str]:
    """``1.0``, ``1.1`` …"""
    return [f"1.{number}" for number in range(count)]


def analysis_of(entries: Iterable[Entry], events: Iterable[AlarmEvent] = ()) -> Analysis:
    """The analysis of a history of the toy workload."""
    return analyse_runs(entries, toy_workload(), data="a history of the tests", events=events, now=NOW)


def event(analysis: Analysis, place: int, action: Action, **said: Any) -> AlarmEvent:
    """What somebody said of the alarm of the verdict at *place*."""
    alarm = analysis.verdicts[place].alarms[-1]
    subject = subject_of(analysis.workload, analysis.verdicts[place], alarm)
    at_us = int(NOW.timestamp() * 1e6) - DAY_US
    return AlarmEvent(alarm=alarm.id, action=action, at_us=at_us, subject=subject, **{"author": "Ada", **said})
