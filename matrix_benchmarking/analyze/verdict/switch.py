"""Two values of a setting against each other: is it worth to switch? By series, and each KPI over all of them."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from ...filters import Scalar, show
from ...kpi import KPIDefinition
from ...matrix import Entry, typed
from ...rows import Rows
from ...workload import Workload
from ..points import ranks
from ..select.labelled import Labels, ignored_by
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
    if workload.regression.ignored_entries:
        entries = itertools.filterfalse(ignored_by(workload), entries)
    points = pair_up(entries, setting, old, new, ignored)
    names = sorted({name for olds, _ in points for name in olds[0].settings} - ignored)
    kpis = [kpi for kpi in workload.kpis.values() if is_named(kpi.name, kpi_filter)]
    labels = [{name: value for name, value in olds[0].settings.items() if name in names} for olds, _ in points]
    differing = [name for name in names if len({typed(one.get(name)) for one in labels}) > 1]
    series = [(repr(one), one, tuning_label(one, differing) or EVERYWHERE) for one in labels]
    return [
        one
        for kpi in kpis
        for sides, named in zip(points, series, strict=True)
        if (one := _pair(kpi, sides, setting, (old, new), named)) is not None
    ]


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
    rows = Rows.of(entries).successful
    values, codes = rows.setting(setting)
    is_wanted = [typed(value) in wanted for value in values]
    rows = rows.where(map(is_wanted.__getitem__, codes))
    rows = rows.where(map(operator.not_, rows.values("implausible")))
    values, codes = rows.setting(setting)
    points = ranks(rows, sorted(set(rows.names()) - {setting, *ignored}))
    sides: dict[tuple[int, ...], BothSides] = {}
    for place in sorted(range(len(rows)), key=points.__getitem__):
        sides.setdefault(points[place], ([], []))[wanted[typed(values[codes[place]])]].append(rows[place])
    return [both for both in sides.values() if all(both)]


def _pair(
    kpi: KPIDefinition, sides: BothSides, setting: str, values: tuple[Scalar, Scalar], named: tuple[str, Labels, str]
) -> Pair | None:
    """That of a KPI at a point, whose series is *named* by an id, labels and words; None where a side has no value."""
    olds, news = ([run for run in side if kpi.name in run.kpis] for side in sides)
    if not olds or not news:
        return None
    of, labels, name = named
    points = [SeriesPoint.of(kpi, {setting: value}, side) for value, side in zip(values, (olds, news), strict=True)]
    return Pair(
        Series(
            id=f"{kpi.name} {of}",
            kpi=kpi,
            labels=labels,
            name=name,
            points=tuple(points),
            versions=(show(values[0]), show(values[1])),
            keys=("old", "new"),
        ),
        (0,),
        (1,),
    )
