"""From where runs are to a study of them: results trees, LTS payloads or a history, and the history beside them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import lts, store
from ..analyze.study import Given, Study
from ..errors import ConfigError, MatbenchError, did_you_mean
from ..history import open_history
from ..history import read as histories
from ..matrix import Matrix, joined

if TYPE_CHECKING:
    from ..filters import Filters
    from ..history import Location
    from ..history.alarms import AlarmEvent
    from ..workload import Workload

Progress = Callable[[int, int], None]


def _ignore(sentences: Sequence[str]) -> None:
    """Nobody is there to be warned."""


@dataclasses.dataclass(frozen=True, slots=True)
class Opening:
    """Where runs are, and how they are read.

    Attributes:
        workload: whose runs they are.
        directories: results trees, or directories of payloads, shown beside each other; none where the runs are those
            of the history.
        is_payloads: the directories hold LTS payloads; None for what is found in them.
        history: gives the location of the history that is read, too; raises HistoryError where there is none.
        is_required: a history that can't be read is an error, and no warning.
        past: a directory of LTS payloads that are the past of the runs, in a history's place.
        filters: which part of all that is meant.
        given: what the study takes besides; its place and its events are found here.
        options: what the workload's parsers are told.
        jobs: processes that parse; automatic for None.
        is_strict: a filter that nothing has is an error, and no warning.
        priced: hardware that has to be among the runs', since somebody gave a price for it.
        warn: gets sentences on what isn't as it should be.
    """

    workload: Workload
    directories: Sequence[Path] = ()
    is_payloads: bool | None = False
    history: Callable[[], Location] | None = None
    is_required: bool = True
    past: Path | None = None
    filters: Filters = dataclasses.field(default_factory=dict)
    given: Given = dataclasses.field(default_factory=Given)
    options: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    jobs: int | None = None
    is_strict: bool = True
    priced: Sequence[str] = ()
    warn: Callable[[Sequence[str]], None] = _ignore

    @property
    def place(self) -> str:
        """Where the runs are, as it was named."""
        if not self.directories and self.history is not None:
            return str(self.history())
        return " and ".join(map(str, self.directories))

    @property
    def data(self) -> str:
        """The same, and what lies beside."""
        if self.past is not None:
            return f"{self.past} and {self.place}"
        return f"{self.place} and its history" if self.history is not None and self.directories else self.place

    def study(self, progress: Progress | None = None) -> Study:
        """Read all of it.

        Raises:
            MatbenchError: a place can't be used; a filter or a price that names nothing; nothing is selected.
        """
        read = self.read(progress)
        past = self.read_past(read)
        whole = read if past is None else past
        self.check_names(whole)
        return Study.of(read, self.workload, filters=self.filters, past=past, given=self.context)

    @property
    def context(self) -> Given:
        """What a study takes besides the runs."""
        return dataclasses.replace(self.given, place=self.place, data=self.data, events=self._events)

    def read(self, progress: Progress | None = None) -> Matrix:
        """All runs of the directories, else of the history, without the filters."""
        if not self.directories:
            assert self.history is not None
            return histories.require_matrix(self.workload, self.history())
        trees = {name: self._read_directory(place, progress) for name, place in names_of(self.directories)}
        return joined(trees) if len(trees) > 1 else next(iter(trees.values()))

    def read_index(self) -> Matrix | None:
        """What the last parse left of all trees; None where one was never parsed so."""
        if self.is_payloads or not self.directories:
            return None

        trees = {}
        for name, place in names_of(self.directories):
            known = store.read_index(self.workload, place, options=self.options)
            if known is None:
                return None
            trees[name] = known.matrix
        return joined(trees) if len(trees) > 1 else next(iter(trees.values()))

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
        """Raise ConfigError for a value of a filter, or hardware with a price, that no run of *whole* has."""
        try:
            whole.check_values(self.filters)
        except ConfigError as error:
            if self.is_strict:
                raise
            self.warn([str(error)])
        check_prices([entry.settings for entry in whole], self.priced)

    def _read_directory(self, place: Path, progress: Progress | None) -> Matrix:
        if self.is_payloads:
            return lts.read_matrix(self.workload, place)
        try:
            return store.parse_tree(self.workload, place, jobs=self.jobs, options=self.options, progress=progress)
        except MatbenchError as error:
            if self.is_payloads is False:
                raise
            try:
                return lts.read_matrix(self.workload, place)
            except MatbenchError:
                raise error from None

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


def check_prices(runs: Sequence[Mapping[str, Any]], prices: Sequence[str]) -> None:
    """Raise ConfigError for a price of hardware that the settings of no run name; runs that name none may be on any."""
    on = [settings for settings in runs if "hw_type" in settings]
    known = {str(settings["hw_type"]) for settings in on}
    known |= {f"{settings['vendor']}/{settings['hw_type']}" for settings in on if "vendor" in settings}
    has_vendors = any("vendor" in settings for settings in on)
    for name in prices if known else ():
        if name not in known and (has_vendors or name.partition("/")[2] not in known):
            raise ConfigError(f"--price: no run is on hardware '{name}': {did_you_mean(name, known)}")


def names_of(directories: Sequence[Path]) -> list[tuple[str, Path]]:
    """The *directories*, each with a name of its own: the last parts that tell them apart.

    Raises:
        ConfigError: one is there twice.
    """
    for length in range(1, 1 + max(len(place.absolute().parts) for place in directories)):
        names = ["/".join(place.absolute().parts[-length:]) for place in directories]
        if len(set(names)) == len(names):
            return list(zip(names, directories, strict=True))
    raise ConfigError("--against names a directory that is shown already")
