"""The plan: which points there are, which are done, in which order the rest is run, and what it will take."""

from __future__ import annotations

import dataclasses
import functools
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from .. import filters as _filters
from ..bucket import BucketPath
from ..config import Section
from ..errors import ConfigError, did_you_mean
from ..filters import Filters, Scalar, exact
from ..matrix import typed
from ..prices import offers
from ..workload import Workload
from . import measured_with, run_directory, schema
from .command_driver import CommandDriver
from .expand import (
    SEARCHABLE,
    SearchCase,
    check_distinct,
    default_template,
    directory,
    expand,
    in_order,
    varying,
)
from .file import BenchmarkFile
from .load_driver import LoadDriver
from .run_directory import FoundRun, Outcome, Point, PointKey, point_key
from .schema import Command, LoadSection, Script, fill_model, named_in

START_S = {"process": 5.0, "hf_endpoint": 300.0, "existing_hf_endpoint": 60.0}  # about how long a target takes to start
USUAL_SEARCH = 16  # measurements of a search, for the estimate

Status = Literal["new", "done", "failed", "interrupted"]


@dataclasses.dataclass(frozen=True, slots=True)
class Group:
    """Points and searches that one target serves, one after the other; *target* is None for scripts alone.

    The points belong to the pass *round* over all of them, from 1; None where the order is not interleaved. The
    measurements of a search follow each other, and belong to none. *requires* is what a host of a cluster has to have
    for it, as Dask's resources.
    """

    target: schema.Target | None
    settings: Mapping[str, Scalar]
    points: Sequence[Point]
    searches: Sequence[SearchCase]
    round: int | None
    requires: Mapping[str, float] = dataclasses.field(default_factory=dict)

    @property
    def key(self) -> str:
        return target_key(self.target)

    def samples(self) -> list[Point]:
        """Its points, and one of each search."""
        return [*self.points, *(case.first for case in self.searches)]

    @property
    def exclusive(self) -> str | None:
        """What no two hosts may load at once: a server that runs somewhere, or a paid one of a given name."""
        if self.target is None or self.target.process is not None:
            return None
        endpoint = self.target.hf_endpoint
        return None if endpoint is not None and endpoint.name is None else self.key


class Plan:
    """A benchmark file, its paths relative to *base*, expanded, and compared with what is in the results directory.

    Args:
        root: the results directory, which may not exist yet.
        results: what the user calls it; a bucket, where finished runs go there.
        filters, experiments: what is selected.
        price_of: from settings to USD per hour, for targets whose price the file doesn't tell.
        keep_failed: failed points count as done.
        found: what is in the results directory, where that is known.

    Raises:
        ConfigError: the file can't be carried out: no points, paths that collide, settings that are missing.
    """

    def __init__(
        self,
        file: BenchmarkFile,
        base: Path,
        root: Path,
        *,
        filters: Filters | None = None,
        experiments: Sequence[str] = (),
        price_of: Callable[[Mapping[str, Scalar]], float | None] = lambda settings: None,
        keep_failed: bool = False,
        found: Mapping[PointKey, FoundRun] | None = None,
        results: Path | None = None,
    ) -> None:
        self.driver, self.load = measured_by(file)
        check_parts(file, self.driver)
        # Absolute, since what is started runs in other directories.
        self.file, self.base, self.root, self.results = file, base.absolute(), root.absolute(), results or root
        self.bucket = results if isinstance(results, BucketPath) else None
        self._price_of, self._keep_failed = price_of, keep_failed
        expansion = expand(file, filters or {}, experiments)
        self.points, self.searches, self.notes = expansion.points, expansion.searches, list(expansion.notes)
        self._everything = expansion if not filters and not experiments else expand(file, {}, ())
        everything = [point.settings for point in self._everything.points]
        everything += [case.settings for case in self._everything.searches]
        searched = [SEARCHABLE] if self._everything.searches else []
        self.template = file.path_tpl or default_template(everything, searched)
        check_distinct(self.template, self.samples())
        if found is None:
            found = run_directory.scan(self.root) if self.bucket is None else run_directory.scan_bucket(self.bucket)
        self.found: dict[PointKey, FoundRun] = dict(found)
        self._check_places()
        self.notes += self._named_otherwise()
        for point in self.samples():
            describe_point(self, point)  # whatever can't be filled in is better said now than after an hour
        _check_reach(self)

    @property
    def target(self) -> schema.Target | None:
        return self.file.target

    def section(self, name: str) -> Section | None:
        found: Section | None = getattr(self.file, name)
        return found

    def samples(self) -> list[Point]:
        """All points, and one of each search."""
        return [*self.points, *(case.first for case in self.searches)]

    def path_of(self, point: Point) -> PurePosixPath:
        """The point's test directory, relative to the results directory."""
        return directory(self.template, point)

    def context(self, point: Point) -> dict[str, Scalar]:
        """What templates may name: the point's settings, its repeat, and what is derived from them."""
        context = point.all_settings
        for name, values in self.file.derived.items():
            context |= values.get(exact(point.settings.get(name)), {})
        return context

    def status(self, point: Point) -> Status:
        run = self.found.get(point.key)
        if run is None:
            return "new"
        if run.exit_code is None:
            return "interrupted"
        return "done" if run.done or self._keep_failed else "failed"

    def note(self, point: Point, directory: Path, outcome: Outcome) -> None:
        """*point* was just run: a search at the same settings, or a later round, need not run it again."""
        self.found[point.key] = FoundRun(directory, point.settings, point.repeat, outcome.exit_code, outcome)

    def to_do(self) -> list[Point]:
        return [point for point in self.points if self.status(point) != "done"]

    def measured_with(self, point: Point, since_ns: float = float("inf")) -> dict[str, str]:
        """Digests of what the file says of how *point* is measured, and of files in it, older than *since_ns*."""
        load, target = self.load_of(point), self.target_of(point)
        runs_in = load.directory if isinstance(load, Command) else ""  # None: in its test directory
        found = measured_with.of_section(load, "", None if runs_in is None else self.base / runs_in, since_ns)
        for name in self.driver.sections:
            if name != "load" and (section := self.section(name)) is not None:
                found |= measured_with.of_section(section, name, self.base, since_ns)
        if target is not None:
            runs_in = target.process.directory if target.process is not None else None
            found |= measured_with.of_section(target, "target", self.base / (runs_in or ""), since_ns)
        return found

    def measured_otherwise(self) -> dict[str, list[Path]]:
        """The directories of done runs that were measured with something else than now, by the names of that."""
        done = [(point, self.found[point.key]) for point in self.points if self.status(point) == "done"]
        for case in self.searches:
            runs = [run for run in self.measured(case) if run.done]
            done += [(case.point(run.settings[SEARCHABLE], run.repeat), run) for run in runs]
        found: dict[str, list[Path]] = {}
        for point, run in done:
            then = run.outcome.measured_with if run.outcome else None  # None: nothing says how it was measured
            if isinstance(then, Mapping) and (names := measured_with.differing(then, self.measured_with(point))):
                found.setdefault(", ".join(names), []).append(run.path)
        return found

    def measured(self, case: SearchCase) -> list[FoundRun]:
        """The finished runs of a search; the failed ones not if they leave it without an answer, to be run again."""
        wanted = point_key(case.settings, 0)[0]
        known = [({pair for pair in key if pair[0] == SEARCHABLE}, key, run) for (key, _), run in self.found.items()]
        runs = [run for vus, key, run in known if run.exit_code is not None and vus and key - vus == wanted]
        runs, good = in_order(runs), [run for run in runs if run.done]
        is_kept = len(runs) == len(good) or self._keep_failed
        answer = None if is_kept else case.answer(self.driver, runs)
        return in_order(good) if answer and "error" in answer else runs

    @functools.cached_property
    def answers(self) -> list[dict[str, Any] | None]:
        """What runs that were there say of each search: its answer, or why there is none; None where it is to go on."""
        return [case.answer(self.driver, self.measured(case)) for case in self.searches]

    def open_searches(self) -> list[SearchCase]:
        return [case for case, answer in zip(self.searches, self.answers, strict=True) if answer is None]

    def groups(self) -> Iterator[Group]:
        """What is to be run, in its order: by target, and, interleaved, by repeat before that.

        Every second repeat goes backwards, so that what drifts within them is in no difference.
        """
        to_do, searches, target = self.to_do(), self.open_searches(), self.file.target
        order = self.file.order or ("grouped" if target is not None and target.is_paid else "interleaved")
        is_interleaved = order == "interleaved"
        repeats = sorted({point.repeat for point in to_do}) if is_interleaved else []
        rounds = [
            [point for point in to_do[:: -1 if repeat % 2 else 1] if point.repeat == repeat] for repeat in repeats
        ] or [to_do]
        for number, points in enumerate(rounds, start=1):
            by_target: dict[str, tuple[list[Point], list[SearchCase]]] = {}
            for point in points:
                by_target.setdefault(target_key(self.target_of(point)), ([], []))[0].append(point)
            for case in searches:
                by_target.setdefault(target_key(self.target_of(case.first)), ([], []))[1].append(case)
            searches = []
            for of_target, cases in by_target.values():
                first = of_target[0] if of_target else cases[0].first
                yield Group(self.target_of(first), first.settings, of_target, cases, number if is_interleaved else None)

    def target_of(self, point: Point) -> schema.Target | None:
        """The point's target, its settings filled in; ``{port}`` is left for the start."""
        if self.file.target is None:
            return None
        filled = fill_model(self.file.target, self.context(point), "target", keep=("port",))
        if filled.is_paid and SEARCHABLE in named_in(self.file.target.model_dump(by_alias=True)):
            raise ConfigError(f"target names {{{SEARCHABLE}}}: each number of virtual users would pay for its own")
        return filled

    def load_of(self, point: Point) -> LoadSection:
        """How the point is measured, its settings filled in."""
        where = "load" if self.file.script_tpl is None else "script_tpl"
        load = fill_model(self.load, self.context(point), where, keep=self.driver.later)
        load.check()
        return load

    def usd_per_hour(self, target: schema.Target | None, settings: Mapping[str, Scalar]) -> float | None:
        """The price of a running target; None where it is unknown."""
        if target is None:
            return None
        price = self._price_of(settings) if target.usd_per_hour is None else float(target.usd_per_hour)
        replicas = int(target.hf_endpoint.max_replica) if target.hf_endpoint is not None else 1
        return None if price is None else price * replicas

    def charged_per_hour(self, group: Group) -> float | None:
        """What somebody pays while *group* runs: nothing for a process of ours, unless the file says what it costs."""
        target = group.target
        is_charged = target is not None and (target.is_paid or target.usd_per_hour is not None)
        return self.usd_per_hour(target, group.settings) if is_charged else None

    def point_s(self, point: Point) -> float | None:
        """About how long a point takes, its target's start not counted; None where nothing tells."""
        expected = self.load_of(point).expected_s()
        if expected is not None:
            return expected
        known = [run.outcome.wall_s for run in self.found.values() if run.done and run.outcome and run.outcome.wall_s]
        return sum(known) / len(known) if known else None

    def estimate(self) -> tuple[float | None, float | None]:
        """What all that is to be done will take in seconds, and cost in USD; None where it can't be told."""
        seconds, usd = 0.0, 0.0
        known = priced = True
        for group in self.groups():
            known = known and None not in map(self.point_s, group.samples())
            group_s = self.group_s(group)
            price = self.usd_per_hour(group.target, group.settings)
            priced = priced and price is not None
            seconds, usd = seconds + group_s, usd + group_s / 3600 * (price or 0.0)
        return seconds if known else None, usd if known and priced else None

    def group_s(self, group: Group, unknown_s: float = 0.0) -> float:
        """About how long *group* takes, its target's start included; a point *unknown_s* where nothing tells."""
        usual = [case.first for case in group.searches for _ in range(self.usual(case))]
        durations = [self.point_s(point) or unknown_s for point in (*group.points, *usual)]
        return sum(durations) + sum(START_S[kind] for kind in START_S if getattr(group.target, kind, None) is not None)

    def usual(self, case: SearchCase) -> int:
        """About how many measurements a search still takes."""
        most = min(USUAL_SEARCH, case.range.max_measurements or USUAL_SEARCH)
        return max(1, most - len(self.measured(case)))

    def varying(self, experiment: str) -> list[str]:
        """The settings with more than one value in *experiment*: those that tell its points apart."""
        settings = [point.settings for point in self._everything.points if point.experiment == experiment]
        searched = [case for case in self._everything.searches if case.experiment == experiment]
        names = varying([*settings, *(case.settings for case in searched)])
        return names + ([SEARCHABLE] if searched and SEARCHABLE not in names else [])

    def filter_of(self, point: Point) -> str:
        """The filter that selects *point* alone in its experiment."""
        names = [name for name in self.varying(point.experiment) if name in point.settings]
        parts = [f"{name}={_filters.write(point.settings[name])}" for name in names]
        return ",".join([*parts, f"repeat={point.repeat}"])

    def _named_otherwise(self) -> Iterator[str]:
        """A sentence on done runs that have not the settings' names of any point, but some of them."""
        kinds = {frozenset(point.settings) for point in self._everything.points}
        kinds |= {frozenset(case.first.settings) for case in self._everything.searches}
        done = Counter(frozenset(run.settings) for run in self.found.values() if run.done)
        for names, count in done.items():
            nearest = min(kinds, key=lambda kind: (len(kind ^ names), sorted(kind)), default=names)
            if names != nearest and names & nearest:
                parts = (("have", names - nearest), ("lack", nearest - names))
                differ = " and ".join(f"{what} {', '.join(sorted(which))}" for what, which in parts if which)
                yield (
                    f"of the done runs {count} {differ}, unlike the file's points: both are among the results; if only "
                    "a name has changed, change it in their settings.yaml"
                )

    def _check_places(self) -> None:
        """Raise ConfigError where a point's directory holds a finished run of other settings."""
        finished = {run.path: run for run in self.found.values() if run.exit_code is not None}
        for point in self.to_do():
            run = finished.get(self.root / self.path_of(point))
            if run is not None and (run.settings, run.repeat) != (point.settings, point.repeat):
                names = sorted({*run.settings, *point.settings})
                other = [n for n in names if run.settings.get(n) != point.settings.get(n)]
                place = self.results / self.path_of(point)
                raise ConfigError(
                    f"{place} holds a finished run with another {', '.join(other) or 'repeat'}: choose another results "
                    f"directory, or add {', '.join(f'{{{name}}}' for name in other)} to path_tpl"
                )


def price_of(workload: Workload | None, given: Mapping[str, float]) -> Callable[[Mapping[str, Scalar]], float | None]:
    """From settings to USD per hour: a price that was *given* for the hardware, else the workload's."""

    def price(settings: Mapping[str, Scalar]) -> float | None:
        if found := offers(settings, given, None if workload is None else workload.shorter_hardware):
            own = str(settings.get("hw_type"))
            usd = {found[own]} if own in found else {*found.values()}
            return usd.pop() if len(usd) == 1 else None  # which vendor's isn't known
        return None if workload is None or workload.price is None else workload.price(settings)

    return price


def target_key(target: schema.Target | None) -> str:
    """What makes two targets the same one."""
    return "" if target is None else json.dumps(target.model_dump(mode="json"), sort_keys=True)


def measured_by(file: BenchmarkFile) -> tuple[type[LoadDriver], LoadSection]:
    """Who measures the file's points, and how; ConfigError where it says too much or too little."""
    if file.load is not None and file.script_tpl is not None:
        raise ConfigError("the file has both load and script_tpl: which of them measures a point?")
    if file.load is not None:
        return file.driver, file.load
    if file.script_tpl is None:
        raise ConfigError("the file has neither load (on a target) nor script_tpl (any command)")
    given = file.script_tpl
    return CommandDriver, given if isinstance(given, Script) else Script(command=given)


def check_parts(file: BenchmarkFile, driver: type[LoadDriver]) -> None:
    """Raise ConfigError where the file says too much or too little to be run."""
    if driver.needs_target and file.target is None:
        raise ConfigError(
            "the file has a load and no target to put it on: add url, process, hf_endpoint or existing_hf_endpoint"
        )
    for name in file.derived:
        if name not in file.names:
            raise ConfigError(f"derived.{name} is no setting of the file: {did_you_mean(name, file.names)}")
    for name in file.driver.sections:
        if getattr(file, name) is not None and file.load is None:
            raise ConfigError(f"the file has {name} and no load")
    searched = any(isinstance(value, schema.Search) for expe in file.expe.values() for value in expe.settings.values())
    if searched and not driver.finds_throughput:
        raise ConfigError("a search needs a load that tells its throughput: a command tells none")


def _check_reach(plan: Plan) -> None:
    """Raise ConfigError where settings that reach nothing are all that tells points apart."""
    file, points = plan.file, {point.key[0]: point for point in reversed(plan.samples())}
    names = dict.fromkeys(name for point in points.values() for name in point.settings)
    for name in file.unused_settings:
        if name not in {*names, *file.names}:
            raise ConfigError(f"unused_settings: the file has no setting '{name}': {did_you_mean(name, names)}")
    read = plan.driver.reads(plan)
    parts = [part.model_dump(by_alias=True) for part in (file.target, plan.load) if part is not None]
    reaching = {*read, *named_in(parts), *file.unused_settings, SEARCHABLE if plan.searches else ""}
    if reaching.issuperset(varying([point.settings for point in points.values()])):
        return
    alike: dict[str, list[Mapping[str, Scalar]]] = {}
    for point in points.values():
        given = [typed(point.settings[name]) if name in point.settings else None for name in sorted(read)]
        key = json.dumps([target_key(plan.target_of(point)), plan.load_of(point).model_dump(mode="json"), given])
        alike.setdefault(key, []).append(point.settings)
    for settings in alike.values():
        if found := [name for name in varying(settings) if name not in file.unused_settings]:
            means = "the command" if plan.driver is CommandDriver else "the load"
            reaches, their = ("reaches", "its") if len(found) == 1 else ("reach", "their")
            nowhere = f"{reaches} neither the server nor {means}" if file.target else f"never {reaches} {means}"
            raise ConfigError(
                f"{', '.join(found)} {nowhere}: {their} points would measure the same thing; name "
                f"{{{found[0]}}} there, or say that it is meant so: unused_settings: [{', '.join(found)}]"
            )


def describe_point(plan: Plan, point: Point) -> dict[str, Any]:
    """A point as ``--generate`` writes it: its settings, its directory and its command."""
    described: dict[str, Any] = {
        "experiment": point.experiment,
        "settings": point.all_settings,
        "directory": str(plan.path_of(point)),
        "status": plan.status(point),
    }
    described |= plan.driver.describe(plan, point)
    target = plan.target_of(point)
    if target is not None:
        described["target"] = target.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    return described
