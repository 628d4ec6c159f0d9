"""What an analysis looks at: each KPI's series with its points in order, what can't take part, and why.

Gets the runs of a history, those of the newest build among them; gives a :class:`Selection`. And what a ranking looks
at, the runs of the newest version: configurations are ranked within one, never across releases.
"""

from __future__ import annotations

import collections
import fnmatch
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import msgspec

from ... import lts
from ...errors import did_you_mean
from ...filters import show
from ...kpi import KPIDefinition
from ...matrix import NOT_SET, Entry, Matrix, typed
from ...plausible import DAY_US
from ...rows import Rows
from ...workload import Workload
from ..words import count_of, named, plural
from .labelled import LabelledRun, labelled
from .order import Order, OrderUnknown, axes
from .series import NotAnalysed, Series, series_of
from .versions import key, same_kind

NO_PART = "ignored by the workload, or without KPIs or labels"
NO_VALUE = "no value at"  # how the note on a series begins whose newest version is older than that of the others


class Selection(msgspec.Struct, frozen=True):
    """All that is to be judged."""

    workload: str  # its name
    newest: str | None  # the newest version in words; None where no version orders the runs
    kpis: tuple[str, ...]  # the names of the KPIs that are looked at
    series: tuple[Series, ...]  # in the order of the KPIs, then of the workload's sorting keys
    skipped: tuple[NotAnalysed, ...]
    notes: tuple[str, ...]  # sentences on the data
    runs: int  # successful ones
    order: str = ""  # where the order is from, as a sentence


def select(
    entries: Iterable[Entry],
    workload: Workload,
    *,
    order: Order | None = None,
    kpi_filter: Sequence[str] = (),
    since_us: int | None = None,
    now_us: int | None = None,
    noted: Callable[[Entry], bool] = lambda entry: True,
) -> Selection:
    """The series among *entries*.

    Args:
        order: of all runs that there are, of which *entries* may be a part; that of *entries* unless given.
        kpi_filter: names of KPIs, ``*`` and ``?`` for any characters; all that aren't ignored unless given.
        since_us: only runs from this time on, in microseconds since 1970; one of unknown time isn't known to be so new.
        now_us: the time of the analysis, likewise; runs from long after it are noted.
        noted: which of them the notes, and what is skipped, are about.

    Raises:
        OrderUnknown: nothing says which version, or run, came after which.
    """
    entries = list(entries)
    runs = labelled(entries, workload) if order is None else order.runs_of(entries)
    order = Order(runs, workload) if order is None else order
    notes = _about_entries([*filter(noted, entries)], [run for run in runs if noted(run.entry)], workload)
    if since_us is not None:
        every = len(runs)
        runs = [run for run in runs if (time_us := run.entry.time_us) is not None and time_us >= since_us]
        if early := every - len(runs):
            notes.append(f"{count_of(early, 'run')} left out: from before the time asked for, or of unknown time")
    said = [run for run in runs if noted(run.entry)]
    notes += _about_runs(said, workload, now_us)
    found = select_runs(runs, workload, order, notes, kpi_filter=kpi_filter)
    if len(said) < len(runs):
        skipped = select_runs(said, workload, order, kpi_filter=kpi_filter).skipped
        found = msgspec.structs.replace(found, skipped=skipped)
    return found


def select_runs(
    runs: Sequence[LabelledRun],
    workload: Workload,
    order: Order,
    notes: Sequence[str] = (),
    *,
    kpi_filter: Sequence[str] = (),
) -> Selection:
    """As :func:`select`, of runs that have their labels; *notes* come before those that are made here."""
    kpis, about_kpis = chosen_kpis(workload, kpi_filter)
    of_kpis = [series_of(runs, workload, kpi, order) for kpi in kpis]
    newest, series = _with_gaps([one for of_kpi in of_kpis for one in of_kpi.series], order)
    return Selection(
        workload=workload.name,
        newest=newest,
        kpis=tuple(kpi.name for kpi in kpis),
        series=tuple(series),
        skipped=tuple(one for of_kpi in of_kpis for one in of_kpi.skipped),
        notes=(*about_kpis, *notes, *order.notes),
        runs=len(runs),
        order=order.sentence,
    )


def chosen_kpis(workload: Workload, patterns: Sequence[str]) -> tuple[list[KPIDefinition], list[str]]:
    """The KPIs to look at, and a sentence on each pattern that names none of them."""
    offered = {name: kpi for name, kpi in workload.kpis.items() if not kpi.ignored_for_regression}
    notes = []
    for pattern in patterns:
        if fnmatch.filter(offered, pattern):
            continue
        if fnmatch.filter(workload.kpis, pattern):
            notes.append(f"'{pattern}' is left out of the regression analysis by its workload")
        else:
            notes.append(f"no KPI '{pattern}': {did_you_mean(pattern, offered)}")
    return [kpi for name, kpi in offered.items() if is_named(name, patterns)], notes


def is_named(kpi: str, patterns: Sequence[str]) -> bool:
    """Whether one of the *patterns* means the KPI of this name; all do where there is none."""
    return not patterns or any(fnmatch.fnmatchcase(kpi, one) for one in patterns)


def _about_entries(entries: Sequence[Entry], runs: Sequence[LabelledRun], workload: Workload) -> list[str]:
    """Sentences on the runs that can't take part at all."""
    notes = []
    failed = sum(entry.failed for entry in entries)
    if failed:
        notes.append(f"{failed} failed {plural(failed, 'run')} left out")
    if len(runs) < len(entries) and (without := not_judged(entries, workload)):
        notes.append(f"{named(without)}: no good run, so it was not judged")
    others = len(entries) - failed - len(runs)
    if others:
        notes.append(f"{count_of(others, 'run')} left out: {NO_PART}")
    return notes


def not_judged(entries: Sequence[Entry], workload: Workload) -> list[str]:
    """The versions, as ``version 1.4.0``, of which all runs among *entries* failed or have no KPI."""
    good, bad = good_and_bad(entries)
    return lts.versions_without(good, bad, workload) if bad else []


def newest_not_judged(entries: Sequence[Entry], workload: Workload) -> list[str]:
    """Those of them that are later, by the numbers or dates in them, than all that have a good run."""
    return [f"{name} {show(value)}" for name, value, is_later in _beyond(entries, workload) if is_later]


def _beyond(entries: Sequence[Entry], workload: Workload) -> Iterator[tuple[str, object, bool]]:
    """The versions without a good run that are later than all with one, or earlier: key, version, which it is."""
    for name, judged, without in judged_and_without(*good_and_bad(entries), workload):
        if judged and same_kind([*judged, *without]) is not None:
            first, last = min(map(key, judged)), max(map(key, judged))
            yield from ((name, value, key(value) > last) for value in without if not first <= key(value) <= last)


def judged_and_without(
    good: Iterable[Entry], bad: Sequence[Entry], workload: Workload
) -> Iterator[tuple[str, list[object], list[object]]]:
    """By comparison key its values among the *good* runs, and those that only *bad* ones have, as settings say them."""
    for name in workload.regression.comparison_keys if bad else ():
        judged, others = ({typed(value): value for run in runs if (value := run.settings.get(name)) is not None}
                          for runs in (good, bad))  # fmt: skip
        yield name, list(judged.values()), [value for item, value in others.items() if item not in judged]


def good_and_bad(entries: Iterable[Entry]) -> tuple[Rows, Rows]:
    """The runs that may be judged; and those that failed, or have no KPI where others have one."""
    rows = Rows.of(entries)
    is_bad = rows.failed()
    names, codes = rows.shared("kpi_names")
    if any(names[code] for code in set(codes)):
        in_other_units = [facts is not None and facts.other_units for facts in rows.values("facts")]
        has_kpis = [names[code] or others for code, others in zip(codes, in_other_units, strict=True)]
        is_bad = [failed or not has for failed, has in zip(is_bad, has_kpis, strict=True)]
    return rows.where(not bad for bad in is_bad), rows.where(is_bad)


def _about_runs(runs: Sequence[LabelledRun], workload: Workload, now_us: int | None) -> list[str]:
    """Sentences on what is strange about the runs."""
    notes = []
    if runs and workload.regression.comparison_keys and not axes(runs, workload):
        keys = " and ".join(workload.regression.comparison_keys)
        notes.append(f"all runs have the same {keys}: they are put in order run by run")
    sets = collections.Counter(frozenset(run.labels) for run in runs)
    if len(sets) > 1:  # such runs belong to different series
        apart = sorted(frozenset.union(*sets) - frozenset.intersection(*sets))
        counts = named([f"{name} in {sum(n for names, n in sets.items() if name in names)}" for name in apart])
        notes.append(f"not all of the {len(runs)} runs have the same labels ({counts}): those are different series")
    if now_us is not None:
        times = [time_us for run in runs if (time_us := run.entry.time_us) is not None]
        late = sum(time_us > now_us + DAY_US for time_us in times)
        if late:
            notes.append(f"{count_of(late, 'run')} dated in the future: a clock was wrong")
    return notes


def _with_gaps(found: Sequence[Series], order: Order) -> tuple[str | None, Sequence[Series]]:
    """The newest version as the series that have it call it, and the series: those without a value there say so."""
    axis = order.axis
    if axis is None:
        return None, found
    last = typed(order.newest)
    has_newest = [typed(one.points[-1].versions[axis]) == last for one in found]
    named = (one.versions[-1] for one, has in zip(found, has_newest, strict=True) if has)
    newest = next(named, show(order.newest))
    gap = f"{NO_VALUE} {newest}, the newest version: judged up to"
    return newest, [
        one if has else msgspec.structs.replace(one, notes=(*one.notes, f"{gap} {one.versions[-1]}"))
        for one, has in zip(found, has_newest, strict=True)
    ]


class Newest(msgspec.Struct, frozen=True):
    """Which versions a ranking is of, where there are several."""

    key: str  # the comparison key
    of: int  # how many versions were measured
    others: tuple[Entry, ...]  # runs of the other versions, which take no part
    versions: Mapping[int, object]  # of the successful runs that take part, by their identity

    def of_runs(self, runs: Iterable[Entry] | None = None) -> object:
        """The one version of *runs*, of all that take part unless given; NOT_SET where they have several."""
        kept = self.versions.values() if runs is None else [self.versions.get(id(run), NOT_SET) for run in runs]
        found = {typed(version): version for version in kept}
        return next(iter(found.values())) if len(found) == 1 else NOT_SET


def of_newest(matrix: Matrix, workload: Workload, order: Order | None) -> tuple[Matrix, Newest | None]:
    """The runs of the newest version of *matrix* that has a successful one, by *order*, and which version that is.

    Each group of the workload has its newest version, and so has each product that its keys name; where results lie
    beside a history, theirs. Everything and None where that leaves nothing out, or nothing says which version is the
    newest. Failed runs of a version of which nobody knows when it was stay.
    """
    axis = None if order is None else order.axis
    if order is None or axis is None:
        return matrix, None
    runs = labelled(matrix.entries, workload, by_settings=True)
    keys = axes(runs, workload)
    if not keys:
        return matrix, None
    key = axis if axis in keys else keys[0]
    try:
        steps, known = order.steps(runs, axis), order.of(key).places
    except OrderUnknown:
        return matrix, None
    names = (*workload.group_keys, *workload.regression.product_keys)

    def product(entry: Entry) -> object:
        return tuple(typed(entry.settings.get(name, NOT_SET)) for name in names)

    newest: dict[object, tuple[int, ...]] = {}
    versions: dict[object, object] = {}
    own = {product(run.entry) for run, step in zip(runs, steps, strict=True) if run.is_current and step is not None}
    for run, step in zip(runs, steps, strict=True):
        of = product(run.entry)
        if step is not None and run.is_current == (of in own) and step >= newest.get(of, step):
            newest[of], versions[of] = step, run.versions[key]
    is_newest = {id(run.entry): step == newest.get(product(run.entry)) for run, step in zip(runs, steps, strict=True)}

    def stays(entry: Entry) -> bool:
        version, of = typed(entry.settings.get(key, NOT_SET)), product(entry)
        return is_newest.get(id(entry), version not in known or of not in versions or version == typed(versions[of]))

    others = tuple(entry for entry in matrix if not stays(entry))
    if not others:
        return matrix, None
    kept = Matrix(filter(stays, matrix.entries), unfinished=filter(stays, matrix.unfinished), notes=matrix.notes)
    there = len({typed(run.versions[key]) for run in runs})
    return kept, Newest(key, there, others, {id(run.entry): run.versions[key] for run in runs if stays(run.entry)})


def runs_of_newest(matrix: Matrix, workload: Workload, order: Order | None) -> Rows:
    """The runs of :func:`of_newest`, without failed ones of versions that are earlier than all others by their numbers
    or dates.
    """
    kept = of_newest(matrix, workload, order)[0].entries
    earlier = {(name, typed(value)) for name, value, is_later in _beyond(kept, workload) if not is_later}
    if not earlier:
        return kept
    return kept.where(earlier.isdisjoint((name, typed(value)) for name, value in run.settings.items()) for run in kept)
