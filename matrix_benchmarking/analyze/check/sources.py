"""Findings on points that were measured in several places: files, directories and campaigns that differ."""

from __future__ import annotations

import itertools
import re
import statistics
from collections.abc import Collection, Iterator, Mapping, Sequence

from ...filters import show
from ...grouped import grouped
from ...matrix import typed
from ..words import count_of, named
from .finding import NONE, OF_HISTORY, Finding
from .measured import Measured

CAMPAIGNS_DIFFER, FEWEST_TOGETHER = 1.2, 2
"""How many times as large as in another campaign the values of a point may be, and of how many runs that is asked."""
FILES_DIFFER, VERSIONS_DIFFER = 1.5, 1.05
"""How many times as large as of what lies beside it the values of a file or directory may be, that are taken for
repeats of one point; and those of directories that are called as versions are."""
_VERSION = re.compile(
    r"(?!.*20\d\d[-.]?\d\d)(?!.*\d\.20\d\d)"  # no date
    r"(?:.*[- ](?=v|\d+\.\d+\.))?(v\d+(?:\.\d+)*|\d+\.\d+(?:\.\d+)?(?!\.?\d))\b.*/",
    re.IGNORECASE | re.DOTALL,
)
Repeats = Sequence[tuple[int, float]]
"""Of runs the repeat and the value."""


def file_findings(measured: Measured) -> Iterator[Finding]:
    """Repeats out of files or directories side by side of which each has values of its own: of two builds, say."""
    good, kpi = measured.runs, measured.workload.headline
    if kpi is None or any(good.values("facts")):  # a history knows no directories
        return
    values, repeats = good.kpi(kpi.name), good.values("repeat")
    files = [*map(_file, good.values("name"), good.values("part"))]
    several, differing, found = 0, list[Sequence[int]](), dict[str, int]()
    most = 0.0
    for places in measured.points:
        of_files = grouped(
            (files[place], (repeats[place], value))
            for place in (places if len(places) > 1 else ())
            if (value := values[place]) and value > 0
        )
        several += len(of_files) > 1
        apart = [one for depth, beside in _beside(of_files) for one in _apart(depth, beside)]
        differing += [places] if apart else []
        found |= {name: depth for _, depth, pair in apart for name in pair}
        most = max([most, *(ratio for ratio, *_ in apart)])
    if differing:
        at = f"At {len(differing)} of {count_of(several, 'point')} with runs out of several files"
        ratio = f"{kpi.name} is up to {most:.3g} times as high in one as in another ({named([*found])})"
        untold = (key for key in measured.workload.regression.comparison_keys if key not in good.names())
        pattern = f"{'{}/' * min(found.values())}{{{next(untold, 'machine')}}}"
        way = f"are they of two builds, or machines? --settings-from='{pattern}' or a settings.yaml above them says it"
        what = f"{at}, which are taken for repeats, {ratio}: {way}."
        yield Finding.of("files-differ", what, good.at(itertools.chain(*differing)))


def _file(name: str, part: str | None) -> str:
    """The file that holds the run of that *name*; of a test directory the one above."""
    return f"{name.rpartition('/')[0] or '.'}/" if part is None else name.removesuffix(f"#{part}")


def _beside(of_files: Mapping[str, Repeats]) -> Iterator[tuple[int, Mapping[str, Repeats]]]:
    """The runs of the files and directories that lie side by side, by their names, and how deep in the tree."""
    below: dict[tuple[str, ...], dict[str, list[tuple[int, float]]]] = {}
    for file, runs in of_files.items():
        *above, last = file.split("/")
        for depth, name in enumerate([*(f"{directory}/" for directory in above), *filter(None, [last])]):
            below.setdefault(tuple(above[:depth]), {}).setdefault(name, []).extend(runs)
    return ((len(above), beside) for above, beside in below.items() if len(beside) > 1)


def _apart(depth: int, beside: Mapping[str, Repeats]) -> Iterator[tuple[float, int, tuple[str, str]]]:
    """The names of neighbours by their values that lie apart, and how far; a person may have counted repeats through.

    Single runs of which the names only count them scatter.
    """
    values = {name: [value for _, value in runs] for name, runs in beside.items()}
    for pair in itertools.pairwise(sorted(values, key=lambda name: statistics.median(values[name]))):
        if not _is_apart(*(values[name] for name in pair), times=VERSIONS_DIFFER):
            continue
        less, more = (beside[name] for name in pair)
        is_told = {repeat for repeat, _ in less}.isdisjoint(repeat for repeat, _ in more)
        are_counted = len(less) == len(more) == 1 and len({re.sub(r"\d+", "", name) for name in pair}) == 1
        are_versions = len({version[1] for name in pair if (version := _VERSION.fullmatch(name))}) > 1
        low, high = (statistics.median(values[name]) for name in pair)
        if not is_told and (are_versions or (high >= FILES_DIFFER * low and not are_counted)):
            yield high / low, depth, pair


def _is_apart(less: Sequence[float], more: Sequence[float], *, times: float) -> bool:
    return min(more) > max(less) and statistics.median(more) >= times * statistics.median(less)


def campaign_findings(measured: Measured, newest: Collection[object]) -> Iterator[Finding]:
    """Points of which one campaign measured quite another value than another: one of these isn't the point's.

    That changes what is said of a history where they are of its *newest* version, by typed value.
    """
    good, workload, kpi = measured.runs, measured.workload, measured.workload.headline
    if kpi is None:
        return
    values = good.kpi(kpi.name)
    several = list[tuple[Sequence[int], list[float]]]()
    for places in measured.points:
        known = [value for place in places if (value := values[place]) is not None and value > 0]
        if len(known) == len(places) >= 2 * FEWEST_TOGETHER:
            several.append((places, known))
    if not any(max(known) >= CAMPAIGNS_DIFFER * min(known) for _, known in several):
        return  # to know the campaigns takes a while
    count, differing, versions = 0, list[Sequence[int]](), dict[tuple[str, object], object]()
    for places, known in several:
        of_each = zip(places, known, strict=True)
        of_campaigns = grouped((measured.blocks[place].campaign, value) for place, value in of_each)
        together = sorted(
            (each for each in of_campaigns.values() if len(each) >= FEWEST_TOGETHER), key=statistics.median
        )
        count += len(together) > 1
        if any(_is_apart(*pair, times=CAMPAIGNS_DIFFER) for pair in itertools.pairwise(together)):
            differing.append(places)
            settings = good[places[0]].settings
            there = (settings[key] for key in workload.regression.comparison_keys if key in settings)
            versions |= {typed(version): version for version in there}
    if differing:
        at = f"At {len(differing)} of {count_of(count, 'point')} with runs of several campaigns"
        which = f" ({named([*map(show, versions.values())])})" if versions else ""
        changes = NONE if versions.keys().isdisjoint(newest) else OF_HISTORY
        ratio = f"{kpi.name} is {CAMPAIGNS_DIFFER:g} times as high or more in one as in another"
        way = "was it another machine, or something else that was measured?"
        yield Finding.of(
            "campaigns-differ", f"{at}{which}, {ratio}: {way}", good.at(itertools.chain(*differing)), changes
        )
