"""A matrix as points: the repeats at one setting together, and the runs that can't take part."""

from __future__ import annotations

import enum
import functools
import itertools
import operator
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from ..errors import INSTALL
from ..filters import show
from ..grouped import grouped
from ..kpi import KPIDefinition
from ..matrix import DID_NOT_FINISH, NOT_SET, Entry, Matrix, order, typed
from ..rows import Column, Rows
from ..settings import EXIT_CODE_FILE, SETTINGS_FILE
from ..workload import Gate, Workload
from .intervals import Interval
from .words import Texts, count_of, number_free, with_ranges

Key = tuple[tuple[str, object], ...]
Settings = Rows | Iterable[Mapping[str, object]]


class ExclusionCause(enum.Enum):
    """Why a run can't be the best."""

    FAILED = "failed"
    UNFINISHED = DID_NOT_FINISH
    UNREADABLE = "can't be read"
    UNKNOWN = "unknown"
    IMPOSSIBLE = "impossible"
    GATED = "beyond a limit"


class Excluded(msgspec.Struct, frozen=True):
    """A run that takes no part in the ranking."""

    entry: Entry
    cause: ExclusionCause
    reason: str  # why, as a sentence without its end
    kind: str  # the reason without this run's own values, by which runs are counted


class Point(msgspec.Struct, frozen=True):
    """The runs at one setting that have the KPI's value."""

    settings: Mapping[str, object]
    runs: Sequence[Entry]  # by repeat
    value: float  # the mean of the runs, in the KPI's unit
    interval: Interval | None  # of the mean; None where no point was repeated, or so few that it would say nothing

    def values_of(self, kpi: str) -> Sequence[float | None]:
        """The value of a KPI of each run; None where one has none."""
        return Rows.of(self.runs).kpi(kpi)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What makes its numbers doubtful, with which of several runs have it: ``… (2 of 3 runs: repeats 0, 2)``."""
        if len(self.runs) == 1:
            return tuple(dict.fromkeys(self.runs[0].warnings))
        return tuple(f"{said} ({_which(having, self.runs)})" for said, having in joined_warnings(self.runs))


class Bounded(msgspec.Struct, frozen=True):
    """What is known of a limited KPI at a point, in that KPI's unit."""

    point: Point
    runs: int  # how many have the value
    mean: float | None  # over these runs; None where none has it
    bound: float | None  # what the mean is within, with 95 %; None where that isn't known
    # The tightest that it keeps: its bound, or where no point of its group has one its mean; else infinite.
    limit: float


def key(settings: Mapping[str, object], names: Iterable[str]) -> Key:
    """What identifies *settings* among those with the same values of *names*."""
    get = settings.get
    return tuple([typed(get(name, NOT_SET)) for name in names])


def part(settings: Mapping[str, object], names: Iterable[str]) -> dict[str, object]:
    """The values of *names*, NOT_SET among them."""
    return {name: settings.get(name, NOT_SET) for name in names}


def varying(settings: Settings) -> list[str]:
    """Names of the settings that differ, in the order of their first appearance."""
    everything = _by_name(settings)
    return list(_columns(everything, everything.names()))


def keys(settings: Rows | Sequence[Mapping[str, object]], names: Iterable[str]) -> list[tuple[int, ...]]:
    """What identifies each of *settings* among these: alike where :func:`key` is, and faster for many."""
    return _rows([codes for _, codes in _columns(_by_name(settings), names).values()], len(settings))


def ranks(settings: Rows | Sequence[Mapping[str, object]], names: Iterable[str]) -> list[tuple[int, ...]]:
    """For each of *settings* a short sorting key: it puts them in the order of the values of *names*, one by one."""
    columns = []
    for values, codes in _columns(_by_name(settings), names).values():
        orders = {code: order(values[code]) for code in set(codes)}
        places = {one: place for place, one in enumerate(sorted(set(orders.values())))}
        of_code = {code: places[one] for code, one in orders.items()}
        columns.append(list(map(of_code.__getitem__, codes)))
    return _rows(columns, len(settings))


def by_point(entries: Iterable[Entry]) -> list[Rows]:
    """The entries with the same settings together, by repeat, in the order of their settings."""
    rows = Rows.of(entries)
    return [rows.at(places) for places in places_by_point(rows)]


def places_by_point(rows: Rows) -> list[list[int]]:
    """As :func:`by_point`, of each entry its place in *rows*."""
    names = rows.names()
    found = list(grouped((point, place) for place, point in enumerate(keys(rows, names))).values())
    repeats = rows.values("repeat")
    for places in found:
        if len({repeats[place] for place in places}) == len(places):
            places.sort(key=repeats.__getitem__)
        else:
            places.sort(key=lambda place: (repeats[place], rows[place].name))
    in_order = ranks(rows.at(places[0] for places in found), names)
    return [found[index] for index in sorted(range(len(found)), key=in_order.__getitem__)]


def values_at(points: Sequence[Sequence[Entry]], kpi: str) -> list[list[float]]:
    """The values of a KPI at each of *points*, those of runs that have one."""
    rows = list(map(Rows.of, points))
    if len({id(one.table) for one in rows}) == 1:  # many points are read at once
        places = [one.places for one in rows]
        found = iter(rows[0].table.kpi(kpi, itertools.chain.from_iterable(places)))
        return [[value for value in itertools.islice(found, len(of)) if value is not None] for of in places]
    return [[value for value in one.kpi(kpi) if value is not None] for one in rows]


class SettingsOf(tuple[Mapping[str, object], ...]):
    """The settings of many points, in which those with some values are found without a look into each."""

    @functools.cached_property
    def _known(self) -> dict[str, Column]:
        return {}

    def values(self, name: str, places: Iterable[int] | None = None) -> list[object]:
        """The values of a setting, each once; those at some *places* alone where these are given."""
        values, codes = self.setting(name)
        return list(values) if places is None else [values[code] for code in {codes[place] for place in places}]

    def like(self, settings: Mapping[str, object], names: Iterable[str]) -> list[int]:
        """The places of those that have the same :func:`key` as *settings*."""
        found: Sequence[int] = range(len(self))
        for name in names:
            values, codes = self.setting(name)
            wanted = typed(settings.get(name, NOT_SET))
            alike = {code for code, value in enumerate(values) if typed(value) == wanted}
            found = [place for place in found if codes[place] in alike]
        return list(found)

    def names(self) -> list[str]:
        """As :meth:`.Rows.names`."""
        return list(dict.fromkeys(name for names in dict.fromkeys(map(tuple, self)) for name in names))

    def setting(self, name: str) -> Column:
        """As :meth:`.Rows.setting`."""
        if name not in self._known:
            values = [one.get(name, NOT_SET) for one in self]
            alike = values if len(set(map(type, values))) == 1 else list(map(typed, values))
            numbers = {one: number for number, one in enumerate(dict.fromkeys(alike))}
            distinct = list(dict(zip(alike, values, strict=True)).values())
            self._known[name] = distinct, list(map(numbers.__getitem__, alike))
        return self._known[name]


def _by_name(settings: Settings) -> Rows | SettingsOf:
    return settings if isinstance(settings, (Rows, SettingsOf)) else SettingsOf(settings)


def _columns(settings: Rows | SettingsOf, names: Iterable[str]) -> dict[str, Column]:
    """The values of each of *names* that differ, each value once: types count, as :func:`typed` has them.

    Setting by setting, since a matrix has many points and few settings.
    """
    columns: dict[str, Column] = {}
    for name in names:
        values, codes = settings.setting(name)
        numbers: dict[tuple[str, object], int] = {}
        of_value = [numbers.setdefault(typed(value), place) for place, value in enumerate(values)]
        if len(numbers) < len(values):  # some are equal, such as 0.0 and -0.0
            codes = list(map(of_value.__getitem__, codes))
        if len(set(codes)) > 1:
            columns[name] = values, codes
    return columns


def _rows(columns: Sequence[Sequence[int]], length: int) -> list[tuple[int, ...]]:
    """*columns* of *length* as rows, even if there is no column."""
    return list(zip(*columns, strict=True)) if columns else [()] * length


NOTHING_APPLIES = "no KPI that can be better applies to its settings"


def select(matrix: Matrix, workload: Workload) -> tuple[list[tuple[Rows, KPIDefinition]], list[Excluded]]:
    """The runs that can be ranked, point by point, each with the headline of its settings, and those that can't.

    A failed run, one without the value or with values that can't be is left out by itself; a run beyond a gate takes
    its point with it, because the best of several answers to a wrong question isn't right.
    """
    excluded = [_unfinished(entry) for entry in matrix.unfinished if entry not in matrix.damaged_files]
    rows, ranked = matrix.entries, list[tuple[Rows, KPIDefinition]]()
    impossible = list(map(bool, rows.values("implausible")))
    is_out = list(map(operator.or_, rows.failed(), impossible))
    missed = _missed(rows, workload.gates, impossible)
    known: dict[str, Sequence[object]] = {}
    for places in places_by_point(rows):
        refused = next((of[place] for of in missed for place in places if place in of), None)
        kpi = workload.headline_at(rows[places[0]].settings)
        good: list[int] = []
        if kpi is not None and refused is None:
            if kpi.name not in known:
                known[kpi.name] = rows.kpi(kpi.name)
            values = known[kpi.name]
            good = [place for place in places if values[place] is not None and not is_out[place]]
            if good:
                ranked.append((rows.at(good), kpi))
        if len(good) < len(places):
            there = set(good)
            left = (rows[place] for place in places if place not in there)
            excluded += [_exclusion(entry, kpi, refused, workload.kpis) for entry in left]
    return ranked, excluded


def _unfinished(entry: Entry) -> Excluded:
    if not entry.is_unreadable:
        return Excluded(entry, ExclusionCause.UNFINISHED, DID_NOT_FINISH, DID_NOT_FINISH)
    what, reason = _lost(entry)
    return Excluded(entry, ExclusionCause.UNREADABLE, reason, f"{what} can't be read")


def _lost(entry: Entry) -> tuple[str, str]:
    """What of an unreadable test can't be read, and why."""
    reason = next(each.reason for each in entry.problems if not each.reason.startswith(DID_NOT_FINISH))
    what = "settings" if SETTINGS_FILE in reason else "a file"
    return EXIT_CODE_FILE if reason.startswith(EXIT_CODE_FILE) else what, reason


def runs_and_files(entries: Sequence[Entry]) -> str:
    """How many runs, and how many files that can't be read, of which nobody knows how many runs they hold."""
    files = sum(one.is_unreadable and one.part is None and _lost(one)[0] == "a file" for one in entries)
    counts = {"run": len(entries) - files, "file": files}
    return " and ".join(count_of(count, word) for word, count in counts.items() if count)


Refusals = dict[int, tuple[Gate, float]]


def _missed(rows: Rows, gates: Sequence[Gate], impossible: Sequence[bool]) -> list[Refusals]:
    """By gate the places of the runs that miss it, those with values that can't be left out, and the value of each."""
    found = []
    for gate in gates:
        values = enumerate(rows.kpi(gate.kpi))
        misses = ((place, value) for place, value in values if value is not None and gate.refuses(value))
        found.append({place: (gate, value) for place, value in misses if not impossible[place]})
    return list(filter(None, found))


def _exclusion(
    entry: Entry, kpi: KPIDefinition | None, refused: tuple[Gate, float] | None, kpis: Mapping[str, KPIDefinition]
) -> Excluded:
    """Why *entry* can't be ranked."""
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
    unknown = f"{kpi.name} is unknown: {entry.missing_kpis.get(kpi.name, 'not known for this test')}"
    if lacking := next((problem.reason for problem in entry.problems if INSTALL in problem.reason), ""):
        unknown = f"{unknown}; {lacking}"
    return Excluded(entry, ExclusionCause.UNKNOWN, unknown, unknown)


def _gated(entry: Entry, gate: Gate, missed: float, kpis: Mapping[str, KPIDefinition]) -> Excluded:
    """A run whose own value, or else that of another run of its point, misses *gate*."""
    show_value, own = kpis[gate.kpi].show, entry.kpis.get(gate.kpi)
    low = "" if gate.minimum is None else f" at least {show_value(gate.minimum)}"
    high = "" if gate.maximum is None else f" at most {show_value(gate.maximum)}"
    limits = " and".join(limit for limit in (low, high) if limit)
    is_low = gate.minimum is not None and missed < gate.minimum
    kind = f"{gate.kpi} {f'below {show_value(gate.minimum)}' if is_low else f'above {show_value(gate.maximum)}'}"
    misses = own is not None and gate.refuses(own)
    where = "" if misses else " in another run of its point"
    reason = f"{gate.kpi} is {show_value(own if own is not None and misses else missed)}{where}, asked for is{limits}"
    return Excluded(entry, ExclusionCause.GATED, reason, f"{kind}{where}")


_RUNS_NAMED = 5


def joined_warnings(runs: Iterable[Entry]) -> list[tuple[str, Rows]]:
    """The warnings of *runs*, each with the runs that have it; those that differ in their numbers alone are one.

    The numbers become a range: ``they took 57 to 80 % of a core``.
    """
    rows = Rows.of(runs)
    alike, which = rows.shared("warnings")
    numbers, having = dict[Texts, list[Texts]](), dict[Texts, set[int]]()
    for code in dict.fromkeys(which):
        for warning in alike[code]:
            rest, own = number_free(warning)
            numbers.setdefault(rest, []).append(own)
            having.setdefault(rest, set()).add(code)
    return [(with_ranges(rest, of), rows.where(map(having[rest].__contains__, which))) for rest, of in numbers.items()]


def among_others(point: Point, others: Sequence[Entry]) -> list[str]:
    """The warnings of *point*, each with how many of the *others* have it: ``… (all 3 runs; of the others 9 of 9)``."""
    is_one, warnings = len(point.runs) == 1, point.warnings
    every = warnings if is_one else (warning for run in point.runs for warning in run.warnings)
    rests = [number_free(warning)[0] for warning in every]
    said = []
    for warning, rest in zip(warnings, rests if is_one else dict.fromkeys(rests), strict=True):
        count = sum(any(number_free(each)[0] == rest for each in run.warnings) for run in others)
        share = f"of the others {f'{count} of {len(others)}' if count else 'none'}"
        said.append(f"{warning} ({share})" if is_one else f"{warning.removesuffix(')')}; {share})")
    return said


def _which(having: Sequence[Entry], runs: Sequence[Entry]) -> str:
    if len(having) == len(runs):
        return f"all {len(runs)} runs"
    is_known = len({run.repeat for run in runs}) == len(runs)
    names = [str(run.repeat) if is_known else run.name for run in having[:_RUNS_NAMED]]
    rest = [f"and {len(having) - _RUNS_NAMED} more"] if len(having) > _RUNS_NAMED else []
    what = ("repeat " if len(having) == 1 else "repeats ") if is_known else ""
    return f"{len(having)} of {len(runs)} runs: {what}{', '.join([*names, *rest])}"
