"""A matrix as points: the repeats at one setting together, and the runs that can't take part."""

from __future__ import annotations

import dataclasses
import enum
import operator
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from ..filters import show
from ..kpi import KPIDefinition
from ..matrix import DID_NOT_FINISH, NOT_SET, Entry, Matrix, order, typed
from ..settings import EXIT_CODE_FILE, SETTINGS_FILE
from ..workload import Gate, Workload
from .intervals import Interval, Sample

T = TypeVar("T")
Key = tuple[tuple[str, object], ...]


class ExclusionCause(enum.Enum):
    """Why a run can't be the best."""

    FAILED = "failed"
    UNFINISHED = DID_NOT_FINISH
    UNREADABLE = "can't be read"
    UNKNOWN = "unknown"
    IMPOSSIBLE = "impossible"
    GATED = "beyond a limit"


@dataclasses.dataclass(frozen=True, slots=True)
class Excluded:
    """A run that takes no part in the ranking."""

    entry: Entry
    cause: ExclusionCause
    reason: str  # why, as a sentence without its end
    kind: str  # the reason without this run's own values, by which runs are counted


@dataclasses.dataclass(frozen=True, slots=True)
class Point:
    """The runs at one setting that have the KPI's value."""

    settings: Mapping[str, object]
    runs: tuple[Entry, ...]  # by repeat
    sample: Sample
    interval: Interval | None  # of the mean; None where no point was repeated, or so few that it would say nothing

    @property
    def value(self) -> float:
        """The mean of the runs, in the KPI's unit."""
        return self.sample.mean

    @property
    def warnings(self) -> tuple[str, ...]:
        """What makes its numbers doubtful, with which of several runs have it: ``… (2 of 3 runs: repeats 0, 2)``."""
        if len(self.runs) == 1:
            return tuple(dict.fromkeys(self.runs[0].warnings))
        return tuple(f"{said} ({_which(having, self.runs)})" for said, having in joined_warnings(self.runs))


@dataclasses.dataclass(frozen=True, slots=True)
class Bounded:
    """What is known of a limited KPI at a point, in that KPI's unit."""

    point: Point
    runs: int  # how many have the value
    mean: float | None  # over these runs; None where none has it
    bound: float | None  # what the mean is within, with 95 %; None where that isn't known
    limit: (
        float  # the tightest that it keeps: its bound, or where no point of its group has one its mean; else infinite
    )


def key(settings: Mapping[str, object], names: Iterable[str]) -> Key:
    """What identifies *settings* among those with the same values of *names*."""
    get = settings.get
    return tuple([typed(get(name, NOT_SET)) for name in names])


def sorting_key(settings: Mapping[str, object], names: Iterable[str]) -> tuple[tuple[int, float, str], ...]:
    """Puts settings in order of their values."""
    return tuple(order(settings.get(name, NOT_SET)) for name in names)


def part(settings: Mapping[str, object], names: Iterable[str]) -> dict[str, object]:
    """The values of *names*, NOT_SET among them."""
    return {name: settings.get(name, NOT_SET) for name in names}


def varying(settings: Iterable[Mapping[str, object]]) -> list[str]:
    """Names of the settings that differ, in the order of their first appearance."""
    everything = list(settings)
    return list(_columns(everything, _names(everything)))


def keys(settings: Sequence[Mapping[str, object]], names: Iterable[str]) -> list[tuple[object, ...]]:
    """What identifies each of *settings* among these: alike where :func:`key` is, and faster for many."""
    return _rows(list(_columns(settings, names).values()), len(settings))


def ranks(settings: Sequence[Mapping[str, object]], names: Iterable[str]) -> list[tuple[int, ...]]:
    """For each of *settings* a short sorting key: among these it puts them in the order of :func:`sorting_key`."""
    columns = []
    for column in _columns(settings, names).values():
        orders = {one: order(one[1] if isinstance(one, tuple) else one) for one in set(column)}
        places = {one: place for place, one in enumerate(sorted(set(orders.values())))}
        columns.append([places[orders[one]] for one in column])
    return _rows(columns, len(settings))


def by_point(entries: Iterable[Entry]) -> list[list[Entry]]:
    """The entries with the same settings together, by repeat, in the order of their settings."""
    entries = list(entries)
    settings = [entry.settings for entry in entries]
    names = _names(settings)
    points: dict[tuple[object, ...], list[Entry]] = {}
    for point, entry in zip(keys(settings, names), entries, strict=True):
        points.setdefault(point, []).append(entry)
    runs = list(points.values())
    places = ranks([point[0].settings for point in runs], names)
    in_order = sorted(range(len(runs)), key=places.__getitem__)
    return [sorted(runs[index], key=_BY_REPEAT) for index in in_order]


_BY_REPEAT = operator.attrgetter("repeat", "name")


def _columns(settings: Sequence[Mapping[str, object]], names: Iterable[str]) -> dict[str, Sequence[object]]:
    """The values of each of *names* that differ; where their types do, with these as :func:`typed` has it.

    Setting by setting, since a matrix has many points and few settings.
    """
    columns: dict[str, Sequence[object]] = {}
    for name in names:
        values = [one.get(name, NOT_SET) for one in settings]
        column: list[object] = values if len(set(map(type, values))) == 1 else [typed(value) for value in values]
        if len(set(column)) > 1:
            columns[name] = column
    return columns


def _names(settings: Iterable[Mapping[str, object]]) -> list[str]:
    alike = dict.fromkeys(map(tuple, settings))
    return list(dict.fromkeys(name for names in alike for name in names))


def _rows(columns: Sequence[Sequence[T]], length: int) -> list[tuple[T, ...]]:
    """*columns* of *length* as rows, even if there is no column."""
    return list(zip(*columns, strict=True)) if columns else [()] * length


NOTHING_APPLIES = "no KPI that can be better applies to its settings"


def select(matrix: Matrix, workload: Workload) -> tuple[list[list[Entry]], list[Excluded]]:
    """The runs that can be ranked by the headline of their settings, point by point, and those that can't.

    A failed run, one without the value or with values that can't be is left out by itself; a run beyond a gate takes
    its point with it, because the best of several answers to a wrong question isn't right.
    """
    excluded = [_unfinished(entry) for entry in matrix.unfinished]
    ranked: list[list[Entry]] = []
    for runs in by_point(matrix.entries):
        refused = _refusal(runs, workload.gates)
        good: list[Entry] = []
        kpi = workload.headline_at(runs[0].settings)
        for entry in runs:
            exclusion = _exclusion(entry, kpi, refused, workload.kpis)
            if exclusion is None:
                good.append(entry)
            else:
                excluded.append(exclusion)
        if good:
            ranked.append(good)
    return ranked, excluded


def _unfinished(entry: Entry) -> Excluded:
    if not entry.is_unreadable:
        return Excluded(entry, ExclusionCause.UNFINISHED, DID_NOT_FINISH, DID_NOT_FINISH)
    problem = next(each for each in entry.problems if not each.reason.startswith(DID_NOT_FINISH))
    what = "settings" if SETTINGS_FILE in problem.reason else "a file"
    what = EXIT_CODE_FILE if problem.reason.startswith(EXIT_CODE_FILE) else what
    return Excluded(entry, ExclusionCause.UNREADABLE, problem.reason, f"{what} can't be read")


def _refusal(runs: Sequence[Entry], gates: Sequence[Gate]) -> tuple[Gate, float] | None:
    """A gate that one of a point's runs misses, with the value of the first that does."""
    believed = [entry for entry in runs if not entry.implausible]
    for gate in gates:
        values = (entry.kpis.get(gate.kpi) for entry in believed)
        missed = next((value for value in values if value is not None and gate.refuses(value)), None)
        if missed is not None:
            return gate, missed
    return None


def _exclusion(
    entry: Entry, kpi: KPIDefinition | None, refused: tuple[Gate, float] | None, kpis: Mapping[str, KPIDefinition]
) -> Excluded | None:
    if entry.failed:
        failed = f"failed with exit code {show(entry.exit_code)}"
        return Excluded(entry, ExclusionCause.FAILED, failed, failed)
    if entry.implausible:
        kind = "values that can't be"
        return Excluded(entry, ExclusionCause.IMPOSSIBLE, f"it has {kind}: {entry.implausible[0]}", kind)
    if refused is not None:
        return _gated(entry, *refused, kpis)
    if kpi is None:
        return Excluded(entry, ExclusionCause.UNKNOWN, NOTHING_APPLIES, NOTHING_APPLIES)
    if kpi.name not in entry.kpis:
        reason = entry.missing_kpis.get(kpi.name, "not known for this test")
        unknown = f"{kpi.name} is unknown: {reason}"
        return Excluded(entry, ExclusionCause.UNKNOWN, unknown, unknown)
    return None


def _gated(entry: Entry, gate: Gate, missed: float, kpis: Mapping[str, KPIDefinition]) -> Excluded:
    """A run whose own value, or else that of another run of its point, misses *gate*."""
    show_value, own = kpis[gate.kpi].show, entry.kpis.get(gate.kpi)
    low = "" if gate.minimum is None else f" at least {show_value(gate.minimum)}"
    high = "" if gate.maximum is None else f" at most {show_value(gate.maximum)}"
    limits = " and".join(limit for limit in (low, high) if limit)
    is_low = gate.minimum is not None and missed < gate.minimum
    kind = f"{gate.kpi} {f'below {show_value(gate.minimum)}' if is_low else f'above {show_value(gate.maximum)}'}"
    misses = own is not None and gate.refuses(own)
    value = show_value(own) if misses else f"{show_value(missed)} in another run of its point"
    return Excluded(entry, ExclusionCause.GATED, f"{gate.kpi} is {value}, asked for is{limits}", kind)


_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")
_GAP = "\0"
_RUNS_NAMED = 5


def joined_warnings(runs: Iterable[Entry]) -> list[tuple[str, list[Entry]]]:
    """The warnings of *runs*, each with the runs that have it; those that differ in their numbers alone are one.

    The numbers become a range: ``they took 57 to 80 % of a core``.
    """
    found: dict[str, list[tuple[Entry, list[str]]]] = {}
    for run in runs:
        for warning in run.warnings:
            found.setdefault(_NUMBER.sub(_GAP, warning), []).append((run, _NUMBER.findall(warning)))
    return [
        (_filled(template, [numbers for _, numbers in of]), list({id(run): run for run, _ in of}.values()))
        for template, of in found.items()
    ]


def _filled(template: str, numbers: Sequence[Sequence[str]]) -> str:
    parts, ranges = template.split(_GAP), [_range(texts) for texts in zip(*numbers, strict=True)]
    return "".join(part + number for part, number in zip(parts, [*ranges, ""], strict=True))


def _range(texts: Sequence[str]) -> str:
    ordered = sorted(texts, key=lambda text: float(text.replace(",", "")))
    return ordered[0] if ordered[0] == ordered[-1] else f"{ordered[0]} to {ordered[-1]}"


def _which(having: Sequence[Entry], runs: Sequence[Entry]) -> str:
    if len(having) == len(runs):
        return f"all {len(runs)} runs"
    is_known = len({run.repeat for run in runs}) == len(runs)
    names = [str(run.repeat) if is_known else run.name for run in having[:_RUNS_NAMED]]
    rest = [f"and {len(having) - _RUNS_NAMED} more"] if len(having) > _RUNS_NAMED else []
    what = ("repeat " if len(having) == 1 else "repeats ") if is_known else ""
    return f"{len(having)} of {len(runs)} runs: {what}{', '.join([*names, *rest])}"
