"""From experiments to points: all combinations of their settings' values, the searches, the points' directories.

What finished runs of a search say, is here, too: what to measure next, or its answer.
"""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from .. import filters as _filters
from ..errors import ConfigError, did_you_mean
from ..filters import Filters, Scalar, exact
from ..matrix import typed
from ..settings import check_settings, is_nearly, misspelt
from .file import Additional, BenchmarkFile, Experiment
from .load_driver import LoadDriver
from .run_directory import FoundRun, Outcome, Point, PointKey
from .schema import Search, SearchRange, fill

MOST_POINTS = 100_000
SEARCHABLE = "vus"


@dataclasses.dataclass(frozen=True, slots=True)
class SearchCase:
    """A search over the setting ``vus`` at otherwise fixed *settings*."""

    experiment: str
    settings: Mapping[str, Scalar]
    range: SearchRange

    def point(self, vus: int, repeat: int) -> Point:
        return Point(self.experiment, {**self.settings, SEARCHABLE: vus}, repeat)

    @property
    def first(self) -> Point:
        return self.point(self.range.start, 0)

    def next_step(self, driver: type[LoadDriver], measured: Iterable[tuple[int, Outcome]]) -> int | dict[str, Any]:
        """The number of virtual users to measure next, or the answer as it is kept, be it why there is none."""
        from . import search  # numpy and scipy, which points alone don't need

        asked = self.range.model_dump(exclude_none=True)
        spec = search.SearchSpec(**asked, unit=driver.unit, most_failed=driver.most_failed)
        known = [(vus, run, run.throughput if run.exit_code == 0 else None) for vus, run in measured]
        runs = [search.Measurement(vus, rate, run.p95_ms, run.error_rate) for vus, run, rate in known]
        answer: dict[str, Any]
        try:
            step = search.next_step(spec, runs)
        except search.SearchError as error:
            answer = {"error": str(error)}
        else:
            if isinstance(step, int):
                return step
            answer = dataclasses.asdict(step)
        return {"experiment": self.experiment, "settings": dict(self.settings), **answer}

    def answer(self, driver: type[LoadDriver], runs: Iterable[FoundRun]) -> dict[str, Any] | None:
        """The answer that *runs* give, be it why there is none; None where more are to be measured."""
        measured = [(int(run.settings[SEARCHABLE]), run.outcome) for run in runs if run.outcome]
        step = self.next_step(driver, measured) if measured else self.range.start
        return None if isinstance(step, int) else step


def in_order(runs: Sequence[FoundRun]) -> list[FoundRun]:
    """Finished runs of a search about as they were made: by repeat.

    What failed once is measured again at once: where it wasn't, nothing came after it.
    """
    ordered = sorted(runs, key=lambda run: run.repeat)
    failures = Counter(run.settings[SEARCHABLE] for run in runs if not run.done)
    last = {run.settings[SEARCHABLE]: run for run in ordered}
    alone = [run for vus, run in last.items() if not run.done and failures[vus] == 1]
    return [*(run for run in ordered if run not in alone), *alone]


@dataclasses.dataclass(frozen=True, slots=True)
class Expansion:
    """All points and searches of a file, in its order; *notes* say what was left out as the same again."""

    points: Sequence[Point]
    searches: Sequence[SearchCase]
    notes: Sequence[str]


def expand(file: BenchmarkFile, filters: Filters, experiments: Sequence[str] = ()) -> Expansion:
    """The points of the *experiments* (all where empty) that the *filters* select; ConfigError if none or too many."""
    for name in experiments:
        if name not in file.expe:
            raise ConfigError(f"there is no experiment '{name}': {did_you_mean(name, file.expe)}")
    _check_reserved(file)
    chosen = {name: expe for name, expe in file.expe.items() if not experiments or name in experiments}
    _check_size(file, chosen)
    points: dict[PointKey, Point] = {}
    searches: list[SearchCase] = []
    twice = 0
    values: dict[str, dict[tuple[str, object], Scalar]] = {"repeat": {}}
    for name, experiment in chosen.items():
        for settings, repeats in _grids(file, experiment):
            checked, search = _checked(name, settings)
            for key in settings:
                values.setdefault(key, {}).update({typed(checked[key]): checked[key]} if key in checked else {})
            for case in _cases(name, checked, search, repeats, filters):
                if isinstance(case, SearchCase):
                    searches.append(case)
                elif case.key in points:
                    twice += 1
                else:
                    points[case.key] = case
    _filters.check_names(filters, values)
    _filters.check_values(filters, {k: each.values() for k, each in values.items() if k not in ("repeat", SEARCHABLE)})
    if not points and not searches:
        raise ConfigError("no point of the benchmark file matches the filter")
    notes = [f"{twice} points are in the file more than once; each is run once"] if twice else []
    for name, meant in misspelt(frozenset(point.settings) for point in points.values()).items():
        notes.append(f"some points have '{name}' and no '{meant}', which the others have: is it misspelt?")
    return Expansion(list(points.values()), searches, notes)


def _check_reserved(file: BenchmarkFile) -> None:
    """Refuse what would silently become a setting: ``repeat`` and ``extra`` where they aren't read, or misspelt."""
    for name in file.common_settings:
        if (meant := _reserved(name)) is not None:
            what = "" if name == meant else " is not a setting"
            raise ConfigError(f"common_settings.{name}{what}: {meant} belongs to an experiment, below expe")
    for name, experiment in file.expe.items():
        below = [(name, experiment.settings), *((f"{name}.extra", each.settings) for each in experiment.extra)]
        for where, settings in below:
            for setting in settings:
                if (meant := _reserved(setting)) is not None:
                    raise ConfigError(f"expe.{where}.{setting} is not a setting: did you mean '{meant}'?")


def _reserved(name: str) -> str | None:
    """The key of an experiment that *name* is or is meant to be; None for the name of a setting."""
    return next((key for key in ("repeat", "extra") if is_nearly(name, key)), None)


def _cases(
    experiment: str, settings: Mapping[str, Scalar], search: SearchRange | None, repeats: int, filters: Filters
) -> Iterator[Point | SearchCase]:
    """The points at *settings*, or the search; with a filter on ``vus`` the points that the search may ask for."""
    if search is None:
        wanted = (Point(experiment, settings, repeat) for repeat in range(repeats))
        yield from (point for point in wanted if _filters.matches(filters, point.settings, point.repeat))
        return
    case = SearchCase(experiment, settings, search)
    rest = {name: values for name, values in filters.items() if name not in (SEARCHABLE, "repeat")}
    if not _filters.matches(rest, settings):
        return
    if SEARCHABLE not in filters:
        yield case
        return
    given = [int(value.text) for value in filters.get("repeat", ()) if value.text.isdigit()]
    for value in filters[SEARCHABLE]:
        vus = int(value.text) if value.text.isdigit() else 0
        if not search.start <= vus <= search.max:
            raise ConfigError(f"the filter vus={value.text} is outside the search from {search.start} to {search.max}")
        yield from (case.point(vus, repeat) for repeat in given or range(repeats))


def _grids(file: BenchmarkFile, experiment: Experiment) -> Iterator[tuple[dict[str, Any], int]]:
    """The settings of each combination, unchecked, and how often it is repeated."""
    for values, repeats in _values(file, experiment):
        lists = [value if isinstance(value, list) else [value] for value in values.values()]
        for combination in itertools.product(*lists):
            yield dict(zip(values, combination, strict=True)), repeats


def _values(file: BenchmarkFile, experiment: Experiment) -> list[tuple[dict[str, Any], int]]:
    """The values of each setting of the experiment's grid and of its further ones, and how often these are repeated."""
    parts: list[Experiment | Additional] = [experiment, *experiment.extra]
    return [({**file.common_settings, **part.settings}, part.repeat or experiment.repeat) for part in parts]


def _checked(experiment: str, settings: Mapping[str, Any]) -> tuple[Mapping[str, Scalar], SearchRange | None]:
    """The settings without the one that is searched for, and its range."""
    searched = {name: value.search for name, value in settings.items() if isinstance(value, Search)}
    for name in settings:
        if "{" in name or "}" in name:
            raise ConfigError(f"expe.{experiment}: the setting '{name}' has a brace in its name")
        if name in searched and name != SEARCHABLE:
            raise ConfigError(f"expe.{experiment}.{name}: only {SEARCHABLE} can be searched for")
    rest, _ = check_settings({name: value for name, value in settings.items() if name not in searched})
    return rest, searched.get(SEARCHABLE)


def _check_size(file: BenchmarkFile, experiments: Mapping[str, Experiment]) -> None:
    """Refuse a matrix that nobody means, before it is expanded."""
    for name, experiment in experiments.items():
        grids = _values(file, experiment)
        sizes = [{key: len(each) for key, each in values.items() if isinstance(each, list)} for values, _ in grids]
        count = sum(math.prod(each.values()) * repeat for each, (_, repeat) in zip(sizes, grids, strict=True))
        if count > MOST_POINTS:
            factors = [
                *(f"{size} of {key}" for key, size in sizes[0].items() if size > 1),
                f"repeat {experiment.repeat}",
            ]
            more = ", and those of extra" if experiment.extra else ""
            raise ConfigError(
                f"expe.{name} has {count:,} points ({' × '.join(factors)}{more}); more "
                f"than {MOST_POINTS:,} are taken for a mistake: split it into several experiments or files"
            )


LONGEST_NAME = 120
_UNSAFE = re.compile(r"[^\w.+,=@-]+")


def varying(points: Sequence[Mapping[str, Scalar]]) -> list[str]:
    """The settings with more than one value among those of *points*, or that only some of them have."""
    names = dict.fromkeys(name for settings in points for name in settings)
    return [name for name in names if len({typed(each[name]) if name in each else None for each in points}) > 1]


def default_template(points: Sequence[Mapping[str, Scalar]], searched: Iterable[str] = ()) -> str:
    """``{experiment}``, then the settings that vary, then the repeat."""
    names = [name for name in varying(points) if all(name in settings for settings in points)]
    names += [name for name in searched if name not in names]
    names = [name for name in names if "{" not in name and "}" not in name]
    steps = [f"{_UNSAFE.sub('-', name)}_{{{name}}}" for name in names]
    return "/".join(["{experiment}", *steps[:-1], "__".join([*steps[-1:], "repeat_{repeat}"])])


def directory(template: str, point: Point) -> PurePosixPath:
    """The test directory of *point* in the results directory; ConfigError where the template leads out of that."""
    names = {name: _safe(value) for name, value in point.all_settings.items()}
    path = PurePosixPath(fill(template, {"experiment": _safe(point.experiment), **names}))
    if path.is_absolute() or ".." in path.parts or not path.parts or any(part.startswith(".") for part in path.parts):
        raise ConfigError(f"path_tpl '{template}' gives '{path}', which is no directory inside the results directory")
    return PurePosixPath(*(_short(part) for part in path.parts))


def check_distinct(template: str, points: Iterable[Point]) -> None:
    """Raise ConfigError where two points would share a directory. All are of one depth: values hold no slashes."""
    seen: dict[PurePosixPath, Point] = {}
    for point in points:
        path = directory(template, point)
        other = seen.setdefault(path, point)
        if other is not point:
            names = [*point.all_settings, *(name for name in other.all_settings if name not in point.all_settings)]
            differing = [n for n in names if point.all_settings.get(n) != other.all_settings.get(n)]
            alike = next((name for name in differing if f"{{{name}}}" in template), None)
            if alike is not None:
                values = " and ".join(repr(each.all_settings.get(alike)) for each in (other, point))
                raise ConfigError(f"{alike} {values} give two points the directory '{path}': write one otherwise")
            hint = ", ".join(f"{{{name}}}" for name in differing) or "{experiment}"
            raise ConfigError(f"path_tpl '{template}' gives two points the directory '{path}': add {hint} to it")


def _safe(value: Scalar) -> str:
    """*value* as part of a file name; one that loses more than a separator gets a digest, so that it stays itself."""
    text = exact(value)
    plain = re.sub(r"[/:\s]", "-", text)
    safe = _UNSAFE.sub("-", plain).strip("-.")
    return safe if safe and safe == plain else f"{safe}-{_digest(text)}".lstrip("-")


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]


def _short(name: str) -> str:
    if len(name.encode()) <= LONGEST_NAME:
        return name
    return f"{name.encode()[: LONGEST_NAME - 9].decode(errors='ignore')}-{_digest(name)}"
