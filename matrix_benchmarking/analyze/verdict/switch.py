"""Two values of a setting against each other: is it worth to switch? By series, and each KPI over all of them."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from ...filters import Scalar, show
from ...kpi import KPIDefinition
from ...matrix import Entry, typed
from ...rows import Rows
from ...workload import Workload
from ..points import ranks
from ..select.labelled import ignored_by
from ..select.selection import Selection, is_named
from ..select.series import Series, SeriesPoint
from ..select.versions import against
from ..words import EVERYWHERE, tuning_label
from .model import Analysis
from .over_all import Effect
from .pairs import analysis_of, version_pairs
from .sides import Pair, Question


class Switch(msgspec.Struct, frozen=True):
    setting: str
    old: Scalar
    new: Scalar
    analysis: Analysis  # of all pairs of all KPIs, as a comparison of two builds gives it
    effects: tuple[Effect, ...]  # in the order of the KPIs
    also: Mapping[str, tuple[object, object]] = {}  # other settings in which the sides differ, from run to run alike


def switch(
    entries: Iterable[Entry],
    workload: Workload,
    setting: str,
    old: Scalar,
    new: Scalar,
    question: Question,
    kpi_filter: Sequence[str] = (),
) -> Switch | None:
    """The answer for *setting* going from *old* to *new*; None where no two points differ in it alone."""
    pairs = pairs_of(entries, workload, setting, old, new, kpi_filter)
    if not pairs:
        return None
    asked = f"{setting} {against(old, new)}"
    kpis = tuple(dict.fromkeys(one.series.kpi.name for one in pairs))
    nothing = Selection(workload.name, None, kpis, (), (), (), 0)
    return Switch(setting, old, new, *analysis_of(nothing, pairs, (), question, asked))


def pairs_of(
    entries: Iterable[Entry], workload: Workload, setting: str, old: Scalar, new: Scalar, kpi_filter: Sequence[str] = ()
) -> list[Pair]:
    """The pairs of points that differ in *setting* alone, KPI by KPI, of those that the filter's patterns name."""
    ignored = {setting, *workload.regression.ignored_keys}
    points = pair_up(itertools.filterfalse(ignored_by(workload), entries), setting, old, new, ignored)
    names = sorted({name for olds, _ in points for name in olds[0].settings} - ignored)
    kpis = [kpi for kpi in workload.kpis.values() if is_named(kpi.name, kpi_filter)]
    return [found for kpi in kpis for found in _of_kpi(points, kpi, setting, names)]


def switch_versions(selection: Selection, axis: str, old: Scalar, new: Scalar, question: Question) -> Switch | None:
    """The same for two versions, of which the series of *selection* are compared as ``matbench compare`` does it."""
    pairs, others = version_pairs(selection, show(old), show(new), axis)
    if not pairs:
        return None
    return Switch(axis, old, new, *analysis_of(selection, pairs, others, question, against(old, new)))


BothSides = tuple[list[Entry], list[Entry]]


def pair_up(
    entries: Iterable[Entry], setting: str, old: Scalar, new: Scalar, ignored: Iterable[str] = ()
) -> list[BothSides]:
    """The good runs with *old* and those with *new*, point by point where both are there, whatever is *ignored*."""
    wanted = {typed(old): 0, typed(new): 1}
    good = (entry for entry in entries if setting in entry.settings and not (entry.failed or entry.implausible))
    rows = Rows.of([entry for entry in good if typed(entry.settings[setting]) in wanted])
    points = ranks(rows, sorted(set(rows.names()) - {setting, *ignored}))
    sides: dict[tuple[int, ...], BothSides] = {}
    for place in sorted(range(len(rows)), key=points.__getitem__):
        side = wanted[typed(rows[place].settings[setting])]
        sides.setdefault(points[place], ([], []))[side].append(rows[place])
    return [both for both in sides.values() if all(both)]


def _of_kpi(points: Sequence[BothSides], kpi: KPIDefinition, setting: str, names: Sequence[str]) -> Iterable[Pair]:
    """The pairs of *points* at which both sides have the KPI."""
    differing = [name for name in names if len({typed(olds[0].settings.get(name, None)) for olds, _ in points}) > 1]
    for runs in points:
        olds, news = ([run for run in side if kpi.name in run.kpis] for side in runs)
        if not olds or not news:
            continue
        sides = [(side[0].settings[setting], side) for side in (olds, news)]
        settings = {name: value for name, value in olds[0].settings.items() if name in names}
        yield Pair(
            Series(
                id=f"{kpi.name} {settings!r}",
                kpi=kpi,
                labels=settings,
                name=tuning_label(settings, differing) or EVERYWHERE,
                points=tuple(SeriesPoint.of(kpi, {setting: value}, side) for value, side in sides),
                versions=tuple(show(value) for value, _ in sides),
                keys=("old", "new"),
            ),
            (0,),
            (1,),
        )
