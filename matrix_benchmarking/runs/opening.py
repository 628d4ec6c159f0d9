"""From where runs are to a study of them: results trees, LTS payloads or a history, and the history beside them."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import os
import sys
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import pydantic

from .. import config, lts, store
from .. import filters as filtering
from .. import workload as workloads
from ..analyze.select.labelled import labelled
from ..analyze.study import Given, Study
from ..analyze.verdict.pairs import unknown_labels
from ..bucket import BucketPath
from ..errors import ClusterError, ConfigError, MatbenchError, did_you_mean, os_reason
from ..filters import Filters
from ..history import Location, SQLiteLocation, location, open_history
from ..history import read as histories
from ..history.alarms import AlarmEvent
from ..history.location import is_export
from ..matrix import Matrix, joined
from ..named_cluster import NamedCluster
from ..plausible import is_number
from ..prices import unused_prices
from ..settings import SETTINGS_FROM, steps
from ..validation import mismatches
from ..workload import MinimumEffect, Workload
from .versions import read_order

Progress = Callable[[int, int], None]
_ENGINE = str(Path(__file__).parents[1])


def warn(sentences: Sequence[str]) -> None:
    """Each as a warning of Python's at the line that called matbench, which a notebook shows once."""
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_ENGINE):
        frame, level = frame.f_back, level + 1
    for sentence in sentences:
        warnings.warn(sentence, stacklevel=level)


@dataclasses.dataclass(frozen=True)
class Opening:
    """Where runs are and how they are read, as :func:`.open` has it; a mistake is an error once it is asked for."""

    of: str | Workload
    directories: Sequence[Path] = ()  # results trees, or directories of payloads; none where all is in the history
    is_payloads: bool = False  # the directories hold LTS payloads; else artifacts, or payloads where there is none
    history: Callable[[], Location] | None = None  # of the one that is read, too; HistoryError where there is none
    is_required: bool = True  # a history that can't be read is an error, and no warning
    past: Path | None = None  # a directory of payloads in a history's place
    filters: str = ""
    order: str | None = None
    prices: Mapping[str, float] = dataclasses.field(default_factory=dict)
    minimum_effects: Mapping[str, float | MinimumEffect | config.MinimumEffect] = dataclasses.field(
        default_factory=dict
    )
    is_of_all: bool = False  # these are for several workloads: a KPI that this one hasn't is a warning
    settings_from: str | None = None
    options: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    options_of_all: Mapping[str, Any] = dataclasses.field(default_factory=dict)  # what this one hasn't is another's
    views: Mapping[str, Mapping[str, Any]] = dataclasses.field(default_factory=dict)
    has_views_file: bool = False
    jobs: int | None = None
    cluster: NamedCluster | None = None
    headline: str | None = None
    ignored: Sequence[str] = ()
    tolerated: Collection[str] = ()  # filters, ignored_keys: names in them that nothing has are no error, but a warning
    priced: Sequence[str] = ()  # hardware that has to be there, since somebody gave a price for it
    warn: Callable[[Sequence[str]], None] = warn

    @functools.cached_property
    def workload(self) -> Workload:
        found = workloads.load(self.of) if isinstance(self.of, str) else self.of
        found = found.ignoring(self.ignored) if self.ignored else found
        return found if self.headline is None else found.ranked_by(self.headline)

    @functools.cached_property
    def parsed_filters(self) -> Filters:
        return filtering.parse(self.filters)

    @functools.cached_property
    def given(self) -> Given:
        return Given(
            self.place,
            self.data,
            self._effects(),
            self._events,
            prices=self.prices,
            order=read_order(self.order),
            ignored=self.ignored,
            options=self.parser_options,
            opened=self._opened,
            history="" if self.history is None else str(self.history()),
            views=self.views,
            has_views_file=self.has_views_file,
            beside=self.read_beside,
        )

    @property
    def _opened(self) -> str:
        """The arguments of :func:`.open` but for filters and prices, which are said where the runs are known."""
        history = "" if self.history is None else str(self.history())
        places = [str(each) for each in self.directories] or [history]
        known = self.workload.options
        named = {
            "workload": self.workload.spec or self.workload.name,
            "history": history if self.directories else "",
            "order": self.order,
            "settings_from": self.settings_from,
            "options": {name: value for name, value in self.parser_options.items() if value != known.get(name, value)},
            "headline": self.headline,
            "ignoring": [*self.ignored],
        }
        return ", ".join([*map(repr, places), *(f"{name}={value!r}" for name, value in named.items() if value)])

    @functools.cached_property
    def parser_options(self) -> Mapping[str, Any]:
        """What the parsers get as ``test_dir.options``."""
        known = self.workload.options
        told: dict[str, Any] = {"prices": self.prices, **known}
        if self.settings_from:
            told[SETTINGS_FROM] = self.settings_from
            steps(self.settings_from)
        given = {name: value for name, value in self.options_of_all.items() if name in known} | dict(self.options)
        for name, value in given.items():
            if name not in known:
                meant = did_you_mean(name, known) if known else "it has none"
                raise ConfigError(f"workload '{self.workload.name}' has no option '{name}': {meant}")
            told[name] = _like(known[name], value, name)
        return told

    @property
    def place(self) -> str:
        if not self.directories and self.history is not None:
            return str(self.history())
        return " and ".join(map(str, self.directories))

    @property
    def data(self) -> str:
        if self.past is not None:
            return f"{self.past} and {self.place}"
        return f"{self.place} and its history" if self.history is not None and self.directories else self.place

    def study(self, progress: Progress | None = None) -> Study:
        """Read all of it."""
        self.validate()
        read = self.read(progress)
        past = self.read_past(read)
        self.check_names(read if past is None else past)
        return Study.of(read, self.workload, filters=self.parsed_filters, past=past, given=self.given)

    def validate(self) -> None:
        """Raise MatbenchError for a mistake that shows before anything is read."""
        _ = self.workload, self.given, self.parsed_filters, self.parser_options

    def trees(self, progress: Progress | None = None) -> Mapping[str, Matrix]:
        return {name: self._read_directory(place, progress) for name, place in names_of(self.directories)}

    def read(self, progress: Progress | None = None) -> Matrix:
        """All runs of the directories, else of the history, without the filters."""
        if not self.directories:
            assert self.history is not None
            return histories.require_matrix(self.workload, self.history())
        return _beside(self.trees(progress))

    def read_beside(self, place: str) -> Matrix:
        """The runs of another directory or history of the same workload.

        Raises:
            MatbenchError: there is none, or nothing in it that can be read.
        """
        if "://" in place or is_export(place):
            return histories.require_matrix(self.workload, located(place))
        directory = os.path.expanduser(place)  # unlike Path's, no name at all is an error of these two
        if "\0" in place or not os.path.isdir(directory):
            raise MatbenchError(f"there is no directory '{filtering.show(place)}'")
        return self._read_directory(Path(directory), None)

    def read_index(self) -> Matrix | None:
        """What the last parse left of all trees; None where one was never parsed so."""
        if self.is_payloads or not self.directories:
            return None
        trees = {}
        for name, place in names_of(self.directories):
            known = store.read_index(self.workload, place, options=self.parser_options)
            if known is None:
                return None
            trees[name] = known
        return _beside(trees)

    def state(self) -> object:
        """What changes where runs or alarms come, or go; of a server's history, not where runs go.

        Raises:
            MatbenchError: a directory or the history can't be reached.
        """
        found: list[object] = [_state_of(directory) for directory in self.directories]
        if self.history is not None:
            kept = self.history()
            if isinstance(kept, SQLiteLocation):
                paths = (kept.path, kept.path.with_name(f"{kept.path.name}-wal"))
                found.append([path.stat().st_mtime_ns if path.exists() else 0 for path in paths])
                if not kept.path.exists() and self.is_required:
                    raise MatbenchError(f"the history {kept} is away")
            else:
                with open_history(kept, writable=False) as history:
                    found += [history.last_recorded(), [event.id for event in history.alarm_events()]]
        return found

    def read_past(self, read: Matrix) -> Matrix | None:
        """All known runs, those that were *read* among them; None without a history.

        They are read without a filter: the order of the versions is that of all runs.
        """
        if self.past is not None:
            past = lts.read_matrix(self.workload, self.past)
        elif self.history is None or not self.directories:
            return None if self.history is None else read
        else:
            try:
                past = histories.read_matrix(self.workload, self.history())
            except MatbenchError as error:
                if self.is_required:
                    raise
                reason = f"the history can't be read: {error}"
                self.warn([reason])
                return Matrix(read.entries, unfinished=read.unfinished, notes=[reason])
        self.warn(past.notes)
        return histories.with_past(read, past)

    def check_names(self, whole: Matrix) -> None:
        """Raise ConfigError for what was named, and no run of *whole* has: values of filters, settings, hardware.

        A price that changes nothing, since all runs are payloads, is a warning.
        """
        try:
            whole.check_values(self.parsed_filters)
        except ConfigError as error:
            if "filters" not in self.tolerated:
                raise
            self.warn([str(error)])
        others = [name for name in self.ignored if name not in whole.settings]  # which are labels, or nothing
        unknown = unknown_labels(others, self.workload, labelled(whole.entries, self.workload)) if others else []
        if unknown and "ignored_keys" not in self.tolerated:
            raise ConfigError("; ".join(unknown))
        self.warn(unknown)
        check_prices([entry.settings for entry in whole], self.priced, self.workload)
        if self.priced and len(whole) and None not in whole.entries.values("facts"):
            self.warn(["`prices` changes nothing here: payloads keep the price with which they were made"])

    def _read_directory(self, place: Path, progress: Progress | None) -> Matrix:
        if self.is_payloads:
            return lts.read_matrix(self.workload, place)
        try:
            return store.parse_tree(
                self.workload,
                place,
                jobs=self.jobs,
                cluster=self.cluster,
                options=self.parser_options,
                progress=progress,
                say=lambda sentence: self.warn([sentence]),
            )
        except ClusterError:
            raise
        except MatbenchError as error:
            try:
                return lts.read_matrix(self.workload, place)
            except MatbenchError:
                raise error from None

    def _effects(self) -> Mapping[str, MinimumEffect]:
        kpis, effects = self.workload.kpis, dict(self.workload.regression.minimum_effects)
        for name, value in self.minimum_effects.items():
            if name not in kpis:
                meant = did_you_mean(name, kpis)
                sentence = f"minimum_effects: workload '{self.workload.name}' has no KPI '{name}': {meant}"
                if self.is_of_all:
                    self.warn([sentence])
                    continue
                raise ConfigError(sentence)
            if isinstance(value, MinimumEffect):
                effects[name] = value
                continue
            if isinstance(value, (int, float)):
                given = {"relative": float(amounts("minimum_effects", {name: value})[name])}
            else:
                given = value.model_dump(exclude_none=True)
            try:
                effects[name] = dataclasses.replace(effects.get(name, MinimumEffect()), **given)
            except ConfigError as error:
                raise ConfigError(f"minimum_effects: {name}: {error}") from None
        return effects

    def _events(self) -> Sequence[AlarmEvent]:
        """The events of the history; one that isn't required may be away, which is a warning."""
        if self.history is None:
            return ()
        try:
            with open_history(self.history(), writable=False) as history:
                return history.alarm_events(self.workload.name)
        except MatbenchError as error:
            if self.is_required:
                raise
            self.warn([f"the alarms of the history can't be read: {error}"])
            return ()


MOST_WATCHED = 500


def _state_of(directory: Path) -> object:
    """When something in *directory*, or in its first few hundred folders, last came or went; of a bucket unknown."""
    if isinstance(directory, BucketPath):
        return None
    try:
        found, folders = [directory.stat().st_mtime_ns], [directory]
        while folders and len(found) < MOST_WATCHED:
            with os.scandir(folders.pop(0)) as entries:
                for entry in itertools.islice(entries, MOST_WATCHED):
                    found.append(entry.stat(follow_symlinks=False).st_mtime_ns)
                    folders += [Path(entry.path)] if entry.is_dir(follow_symlinks=False) else []
    except OSError as error:
        missing = isinstance(error, FileNotFoundError) and not directory.exists()
        why = "does not exist" if missing else f"can't be reached: {os_reason(error)}"
        raise MatbenchError(f"results directory '{directory}' {why}") from error
    return found


def _beside(trees: Mapping[str, Matrix]) -> Matrix:
    return joined(trees) if len(trees) > 1 else next(iter(trees.values()))


def _like(default: Any, value: Any, name: str) -> Any:
    """*value*, which may be the text of a flag, as what its *default* is."""
    wanted: Any = type(default)
    if is_number(default) and default >= 0:  # an amount: finite, and not below 0
        wanted = Annotated[wanted, pydantic.Field(ge=0, allow_inf_nan=None if wanted is int else False)]
    try:
        return pydantic.TypeAdapter(wanted).validate_python(value, strict=not isinstance(value, str))
    except pydantic.ValidationError as error:
        (wrong,) = mismatches(error, value)
        raise ConfigError(
            f"the workload's option {name}: {wrong.reason}; its default is {filtering.show(default)}"
        ) from error


def located(history: str) -> Location:
    """The location that a notebook names; what is to be said of it is a warning."""
    found, said = location.parse(history, os.environ)
    warn(said)
    return found


def amounts(what: str, given: Mapping[str, float] | None) -> Mapping[str, float]:
    """What was *given* of each name.

    Raises:
        ConfigError: an amount of these isn't a finite number from 0 on.
    """
    for name, amount in (given or {}).items():
        if not is_number(amount) or amount < 0:
            raise ConfigError(f"`{what}`: of '{name}' it is {amount!r}, which is no number from 0 on")
    return given or {}


def check_prices(runs: Sequence[Mapping[str, Any]], prices: Sequence[str], workload: Workload | None) -> None:
    """Raise ConfigError for a price of hardware that the settings of no run name; runs that name none may be on any."""
    on = {(settings.get("vendor"), str(settings["hw_type"])) for settings in runs if "hw_type" in settings}
    known = {hardware for _, hardware in on} | {f"{vendor}/{hardware}" for vendor, hardware in on if vendor is not None}
    unused = unused_prices(runs, prices, None if workload is None else workload.shorter_hardware) if known else []
    for name in unused:
        others = known.difference(set(prices).difference(unused))
        raise ConfigError(f"`prices`: no run is on hardware '{name}': {did_you_mean(name, others)}")


def names_of(directories: Sequence[Path]) -> list[tuple[str, Path]]:
    """The *directories*, each with a name of its own: the last parts that tell them apart."""
    if len(set(map(os.path.realpath, directories))) < len(directories):
        raise ConfigError(f"{' and '.join(map(str, directories))}: a directory is there twice")
    parts = [Path(os.path.abspath(place)).parts for place in directories]
    for length in range(1, 1 + max(map(len, parts))):
        names = ["/".join(each[-length:]) for each in parts]
        if len(set(names)) == len(names):
            break
    return list(zip(names, directories, strict=True))
