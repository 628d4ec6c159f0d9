"""The highest load that keeps limits on latencies, and how reliably requests were answered."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from matrix_benchmarking.analyze.best import Group
from matrix_benchmarking.analyze.limits import bounded, keeps
from matrix_benchmarking.analyze.points import Bounded
from matrix_benchmarking.analyze.words import as_percent, count_of
from matrix_benchmarking.kpi import KPIDefinition
from matrix_benchmarking.matrix import Entry
from matrix_benchmarking.plotting import Plot, View
from matrix_benchmarking.plotting.controls import Choice, Control, Number
from matrix_benchmarking.plotting.tables import Cell, Column, Columns, Row, table

from .spots import group_choice, known, label_of, names_of_variants, of_versions, shown_group

if TYPE_CHECKING:
    from matrix_benchmarking.plotting import Drawn

LATENCIES = tuple(f"{name}_{what}" for name in ("ttft", "tpot", "e2e") for what in ("p50", "p90", "p95", "p99", "mean"))
LOADS = ("output_tokens_per_s", "total_tokens_per_s", "requests_per_s", "goodput")
FIRST, FIRST_LIMIT, SECOND, SECOND_LIMIT, LOAD = "first", "first_limit", "second", "second_limit", "load"
DEFAULTS = {"ttft": 2.0, "tpot": 0.05, "e2e": 10.0}
"""In s: limits to begin with, which nobody has to agree to."""


@dataclasses.dataclass(frozen=True, slots=True)
class Kept:
    """A variant under limits: the highest load that keeps them for sure, and the highest whose means keep them."""

    variant: str
    sure: Bounded | None
    by_means: Bounded | None
    load: float | None
    load_by_means: float | None
    points: int


class HighestLoad(Plot):
    """A table: for each variant the highest load under two limits."""

    name: ClassVar[str] = "Highest load under limits"
    how_to_read: ClassVar[str] = (
        "A point keeps a limit for sure if the one-sided 95 % bound of its mean does; of a point that was measured "
        "once only the value is known."
    )
    kpis = (*LATENCIES, *LOADS)

    def height_px(self) -> int:
        return 260

    def controls(self) -> Sequence[Control]:
        latencies, loads = (known(self.workload, self.matrix, names) for names in (LATENCIES, LOADS))
        found: list[Control] = [*group_choice(self.study)]
        if not latencies or not loads:
            return found
        second = [name for name in latencies if not name.startswith(latencies[0].split("_")[0])] or latencies
        limits = (("first", FIRST, FIRST_LIMIT, _worst(latencies)), ("second", SECOND, SECOND_LIMIT, _worst(second)))
        for place, name, limit, one in limits:
            found.append(Choice(name, f"Highest load: {place} limit on", tuple(latencies), default=one))
            found.append(Number(limit, "at most", DEFAULTS[one.split("_")[0]], minimum=0, unit="s"))
        return [*found, Choice(LOAD, "Highest load: counted in", tuple(loads), default=loads[0])]

    def draw(self, view: View) -> Drawn:
        if LOAD not in {control.name for control in self.controls()}:
            return None, "No run has both a latency and a throughput."
        load = view.kpi(view.option(LOAD))
        limits = [
            (view.kpi(view.option(name)), float(view.option(limit)))
            for name, limit in ((FIRST, FIRST_LIMIT), (SECOND, SECOND_LIMIT))
        ]
        _, runs, which = shown_group(view)
        wanted = {id(run) for run in runs}
        # Ranked by the load itself: what has no price takes part.
        by_load = dataclasses.replace(self.workload, headline_kpi=load.name, headline_fallbacks=())
        groups = self.study.of_workload(by_load).of_all_versions.groups
        rows = highest_loads(groups, limits, load, wanted, names_of_variants(runs, self.workload))
        if not rows:
            return None, [*which, f"No point can be ranked, so none has a load and {limits[0][0].name}."]
        said = of_versions(self.study, limits_conclusion(rows, limits, load))
        return None, [said, *which, self.table(rows, load, limits)]

    def table(self, rows: Sequence[Kept], load: KPIDefinition, limits: Sequence[tuple[KPIDefinition, float]]) -> Any:
        columns: Columns = [
            "Variant",
            Column(f"Highest {load.name} sure to keep them", unit=load.display_unit, numeric=True),
            "At",
            Column("Highest by the means alone", unit=load.display_unit, numeric=True),
            "At",
            Column("Points", numeric=True),
        ]

        def cells(value: float | None, found: Bounded | None) -> list[Cell | str]:
            if value is None or found is None:
                return ["none", "–"]
            return [Cell(load.show(value, unit=False), sort=value), _load_of(found)]

        body: list[Row] = [
            [one.variant, *cells(one.load, one.sure), *cells(one.load_by_means, one.by_means), Cell(str(one.points))]
            for one in rows
        ]
        said = " and ".join(f"{kpi.name} at most {kpi.show_bound(limit)}" for kpi, limit in limits)
        return table(columns, body, caption=f"Under {said}")


def _worst(names: Sequence[str]) -> str:
    """The 99th percentile if it is there."""
    return next((name for name in names if name.endswith("p99")), names[0])


def _load_of(found: Bounded) -> str:
    settings = found.point.settings
    said = [f"{name} {settings[name]}" for name in ("concurrency", "request_rate") if name in settings]
    return ", ".join(said) or "–"


def highest_loads(
    groups: Sequence[Group],
    limits: Sequence[tuple[KPIDefinition, float]],
    load: KPIDefinition,
    wanted: set[int] | None,
    names: Sequence[str],
) -> list[Kept]:
    """For each variant the points with the highest *load* that keep all *limits*, the best first.

    Args:
        limits: KPIs with what they may be at most, in the KPI's unit.
        wanted: the runs, by identity, that may take part; all for None.
        names: the settings that name a variant.
    """
    found: dict[str, list[Kept]] = {}
    for group in groups:
        columns = [bounded(group, kpi) for kpi, _ in limits]
        variants: dict[str, list[tuple[Bounded, float, bool, bool]]] = {}
        for row in zip(*columns, strict=True):
            runs = row[0].point.runs
            if wanted is not None and id(runs[0]) not in wanted:
                continue
            values = [run.kpis[load.name] for run in runs if load.name in run.kpis]
            if not values:
                continue
            sure = all(keeps(kpi, one.limit, limit) for one, (kpi, limit) in zip(row, limits, strict=True))
            means = all(keeps(kpi, one.mean, limit) for one, (kpi, limit) in zip(row, limits, strict=True))
            of = variants.setdefault(label_of(runs[0].settings, names), [])
            of.append((row[0], math.fsum(values) / len(values), sure and means, means))
        for variant, points in variants.items():
            sure_ones = max((one for one in points if one[2]), key=lambda one: one[1], default=None)
            mean_ones = max((one for one in points if one[3]), key=lambda one: one[1], default=None)
            kept = Kept(
                variant,
                sure_ones and sure_ones[0],
                mean_ones and mean_ones[0],
                sure_ones and sure_ones[1],
                mean_ones and mean_ones[1],
                len(points),
            )
            found.setdefault(variant, []).append(kept)
    return sorted(
        (one for ones in found.values() for one in ones), key=lambda one: (one.load is None, -(one.load or 0.0))
    )


def limits_conclusion(rows: Sequence[Kept], limits: Sequence[tuple[KPIDefinition, float]], load: KPIDefinition) -> str:
    said = " and ".join(f"{kpi.name} at most {kpi.show_bound(limit)}" for kpi, limit in limits)
    best = rows[0]
    if best.load is None or best.sure is None:
        near = [one for one in rows if one.load_by_means is not None]
        more = f" By their means alone {count_of(len(near), 'variant')} would." if near else ""
        return f"No variant is sure to keep {said}.{more}"
    is_single = best.sure.bound is None
    how = "one run, so its value alone says so" if is_single else "by the 95 % bound"
    start = f"Under {said} the highest {load.name} is that of {best.variant}"
    return f"{start}: {load.show(best.load)} at {_load_of(best.sure)} ({how})."


class Reliability(Plot):
    """A table: which share of runs and of requests succeeded."""

    name: ClassVar[str] = "Reliability"
    how_to_read: ClassVar[str] = "Runs that failed count, and requests of the runs whose files say how many there were."
    kpis = ("error_share",)

    def height_px(self) -> int:
        return 220

    def draw(self, view: View) -> Drawn:
        names = names_of_variants(view.runs, self.workload)
        rows = reliability([*view.runs, *self.matrix.unfinished], names)
        if not rows:
            return None, "No run is selected."
        columns: Columns = [
            "Variant",
            Column("Runs", numeric=True),
            Column("Runs that succeeded", numeric=True),
            Column("Requests", numeric=True, help="of runs whose files say how many failed"),
            Column("Requests that succeeded", numeric=True),
            Column("Most that failed in a run", numeric=True),
        ]
        return None, [reliability_conclusion(rows), table(columns, [_row(one) for one in rows], caption="By variant")]


@dataclasses.dataclass(frozen=True, slots=True)
class Reliable:
    """How many runs and requests of a variant there were, and how many succeeded; None where no file says it."""

    variant: str
    runs: int
    good_runs: int
    requests: float | None
    good_requests: float | None
    worst_share: float | None


def reliability(runs: Sequence[Entry], names: Sequence[str]) -> list[Reliable]:
    """Variant by variant, the least reliable first."""
    variants: dict[str, list[Entry]] = {}
    for run in runs:
        variants.setdefault(label_of(run.settings, names), []).append(run)
    found = []
    for variant, ones in variants.items():
        counts = [pair for run in ones if (pair := _requests(run)) is not None]
        total = math.fsum(good + bad for good, bad in counts) if counts else None
        good = math.fsum(good for good, _ in counts) if counts else None
        worst = max((bad / (good + bad) for good, bad in counts if good + bad > 0), default=None)
        good_runs = sum(run.finished and not run.failed for run in ones)
        found.append(Reliable(variant, len(ones), good_runs, total, good, worst))
    return sorted(found, key=lambda one: (one.good_runs / one.runs, -(one.worst_share or 0.0), one.variant))


def _requests(run: Entry) -> tuple[float, float] | None:
    results = run.results
    good, bad = getattr(results, "requests", None), getattr(results, "failed_requests", None)
    return None if good is None or bad is None else (float(good), float(bad))


def _row(one: Reliable) -> Row:
    share = "unknown"
    if one.requests and one.good_requests is not None:
        share = as_percent(one.good_requests / one.requests, digits=2)
    return [
        one.variant,
        Cell(str(one.runs), sort=one.runs),
        Cell(as_percent(one.good_runs / one.runs), sort=one.good_runs / one.runs),
        "unknown" if one.requests is None else Cell(f"{one.requests:,.0f}", sort=one.requests),
        share,
        "unknown" if one.worst_share is None else Cell(as_percent(one.worst_share, digits=2), sort=one.worst_share),
    ]


def reliability_conclusion(rows: Sequence[Reliable]) -> str:
    runs, good = sum(one.runs for one in rows), sum(one.good_runs for one in rows)
    said = f"{good} of {count_of(runs, 'run')} succeeded."
    known_ones = [one for one in rows if one.requests is not None and one.good_requests is not None]
    total = math.fsum(one.requests or 0.0 for one in known_ones)
    failed = total - math.fsum(one.good_requests or 0.0 for one in known_ones)
    if known_ones and total:
        said += f" Of {total:,.0f} requests {failed:,.0f} failed."
    untold = len(rows) - len(known_ones)
    return said + (f" The files of {count_of(untold, 'variant')} don't say how many requests failed." if untold else "")
