"""Which version came after which; of runs without versions, which run: one order for a whole analysis.

Gets the labelled runs of the whole analysis, before any filter; gives an :class:`Order`. It is that of the first source
that places all of them: one that somebody gave, the workload's, the numbers or dates in the versions, the times, the
order in which a history first saw the runs, the directories' numbers. Nothing else is a reason to put one version
before another: neither their names nor the order in which they were read.
"""

from __future__ import annotations

import collections
import functools
from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from ...errors import ConfigError, WorkloadError
from ...filters import Filters, matches
from ...matrix import NOT_SET, Entry, typed
from ...settings import is_nearly
from ...workload import Workload
from ..words import count_of, named
from .labelled import LabelledRun, labelled, run_id, unknown_names
from .order_sources import Explicit, Extents, Item, Source, contradiction, declared, given, levels, of_names, of_runs
from .versions import in_word, in_words

_WHAT_TO_DO = (
    "name the order by `order` FILE (one version a line, the oldest first) or `order` git:DIR (a checkout), or let the "
    "workload's payload say when a test ended"
)


class OrderUnknown(ConfigError):
    """Nothing says which of several versions, or runs, is the newest."""


class Placed(msgspec.Struct, frozen=True):
    """The values of one comparison key, or the runs, in their order."""

    sentence: str  # where the order is from, as ``Versions in the order of their numbers.``; empty where one needs none
    places: Mapping[Item, int]  # of each value (or run), 0 for the oldest; runs that nothing tells apart share one
    leaves_out: bool  # whether one has no place
    notes: tuple[str, ...]  # sentences on what is left out, merged or contradicted
    since: str = ""  # that another one was measured after the newest


class Order:
    """One order for a whole analysis. What isn't asked for is not computed.

    Attributes:
        axis: the first comparison key that has several values; None where the runs stand one by one.
    """

    def __init__(
        self,
        runs: Sequence[LabelledRun],
        workload: Workload,
        explicit: Explicit | None = None,
        *,
        axis: str | None = None,
        part: Sequence[LabelledRun] | None = None,
    ) -> None:
        """*runs* are all that there are, of which a *part* is analysed; *explicit* is what somebody gave."""
        self._runs = runs
        self._part = runs if part is None else part
        self._workload = workload
        self._explicit = explicit
        self._axis = axis
        self._placed: dict[str | None, Placed] = {}

    def chosen_by(self, filters: Filters) -> Order:
        """The same order, for an analysis of the runs that *filters* leave.

        The newest version stays what it is, unless the filters choose versions: then it is one of those.
        """
        if not any(name in filters for name in self._workload.regression.comparison_keys):
            return self
        part = [run for run in self._part if matches(filters, run.entry.settings, run.entry.repeat)]
        other = Order(self._runs, self._workload, self._explicit, axis=self._axis, part=part)
        other._placed = self._placed
        return other

    def runs_of(self, entries: Sequence[Entry]) -> list[LabelledRun]:
        """The runs of *entries* as :func:`.labelled.labelled` gives them; those that it knows already as they are."""
        known = {id(run.entry): run for run in self._runs}
        rest = [entry for entry in entries if id(entry) not in known]
        known |= {id(run.entry): run for run in labelled(rest, self._workload)}
        return [known[id(entry)] for entry in entries if id(entry) in known]

    @functools.cached_property
    def keys(self) -> list[str]:
        """The comparison keys that have several values, in the workload's order."""
        return axes(self._part, self._workload)

    @property
    def axis(self) -> str | None:
        return self._axis or next(iter(self.keys), None)

    @functools.cached_property
    def _first_axis(self) -> str | None:
        return next(iter(axes(self._runs, self._workload)), None)

    @functools.cached_property
    def newest(self) -> object:
        """The newest version of all; NOT_SET where the runs stand one by one, or no version has a place.

        Raises:
            OrderUnknown: as :meth:`of`.
        """
        axis = self.axis
        if axis is None:
            return NOT_SET
        places = self.of(axis).places
        there: Iterable[Item] = places
        if self._part is not self._runs:
            there = places.keys() & {typed(run.versions[axis]) for run in self._part}
        return max(there, key=places.__getitem__)[1] if there else NOT_SET

    @property
    def sentence(self) -> str:
        placed = self.of(self.axis)
        is_newest = not placed.since or self.newest == max(placed.places, key=placed.places.__getitem__)[1]
        return f"{placed.sentence} {placed.since}".rstrip() if is_newest else placed.sentence

    @property
    def known_places(self) -> dict[str, Mapping[Item, int]]:
        """The places of the values of each comparison key that has an order."""
        return {key: places for key in self.keys if (places := self.places(key))}

    @property
    def notes(self) -> tuple[str, ...]:
        """What is to be said of the order of the axis and, where it has others beside it, of those."""
        keys = dict.fromkeys([self.axis, *self.keys])
        return tuple(note for key in keys for note in self.of(key).notes)

    def said(self, key: str | None) -> list[str]:
        """Where the order of a comparison key, or of the runs, is from, and what is to be said of it, as sentences."""
        placed = self.of(key)
        return [one for one in (placed.sentence, *(f"{note[:1].upper()}{note[1:]}." for note in placed.notes)) if one]

    def newer(self, key: str, versions: Sequence[object]) -> object:
        """The newer one of two *versions*; NOT_SET where nothing says it, which a comparison can do without."""
        known = self.places(key)
        places = {known[typed(one)]: one for one in versions if typed(one) in known}
        return places[max(places)] if len(places) == 2 else NOT_SET

    def newer_said(self, key: str, versions: Sequence[object]) -> str:
        """Which one that is, and where the order is from, as a sentence; empty where nothing says it."""
        found = self.newer(key, versions)
        return "" if found is NOT_SET else f"{self.of(key).sentence} {in_word(found)} is the newer one."

    def of(self, key: str | None) -> Placed:
        """The order of the values of a comparison key; of the runs for None.

        Raises:
            OrderUnknown: nothing says which of them is the newest.
            ConfigError: the order that was given lacks some.
            WorkloadError: the workload's ``version_order`` fails, or a comparison key is no name of anything.
        """
        if not self._placed and self._axis is None:
            check_keys(self._workload, self._runs)
        if key not in self._placed:
            self._placed[key] = self._order_of_runs() if key is None else self._order_of_versions(key)
        return self._placed[key]

    def places(self, key: str | None) -> Mapping[Item, int]:
        """Those of :meth:`of`; none where nothing says the order."""
        try:
            return self.of(key).places
        except OrderUnknown:
            return {}

    def steps(self, runs: Sequence[LabelledRun], axis: str | None) -> list[tuple[int, ...] | None]:
        """The place of each of *runs* by *axis* first, then by the other comparison keys; None where one lacks it."""
        if not runs:
            return []
        if axis is None:
            places = self.of(None).places
            return [(places[item],) if (item := run_id(run.entry)) in places else None for run in runs]
        keys = [axis, *(name for name in self._workload.regression.comparison_keys if name != axis)]
        tables = [(key, self.of(key).places) for key in keys]

        def step(run: LabelledRun) -> tuple[int, ...] | None:
            try:
                return tuple([places[typed(run.versions[key])] for key, places in tables])
            except KeyError:
                return None

        return list(map(step, runs))

    def _order_of_versions(self, key: str) -> Placed:
        versions: dict[Item, object] = {typed(one): one for one in (run.versions[key] for run in self._runs)}
        sources, texts = self._sources(key, versions), dict(zip(versions, in_words([*versions.values()]), strict=True))
        tied: Sequence[Item] = ()
        for source in sorted(sources, key=lambda one: -len(one.extents)):
            others = [one for one in sources if one is not source]
            found = levels(list(source.extents), [source, *others])
            if len(found[-1]) > 1:
                tied = tied or found[-1]
                continue
            unset = self._count(key, [typed(NOT_SET)]) if source.is_of_names else 0
            notes = [f"{count_of(unset, 'run')} without a version put before the others"] if unset else []
            unplaced = [item for item in versions if item not in source.extents]
            notes += self._left_out(key, texts, unplaced, f"without a place in {_order_of(source)}")
            alike = [item for level in found if len(level) > 1 for item in level]
            notes += self._left_out(key, texts, alike, "nothing says which of them is the newer one")
            kept = [level for level in found if len(level) == 1]
            claims = {level[0]: source.extents[level[0]] for level in kept if versions[level[0]] is not NOT_SET}
            if key == self._first_axis:  # the others are compared within a version only
                notes += _against(claims, others, lambda: texts)
            placed = _placed("Versions", source, kept, notes, len(versions))
            since = _measured_since(list(claims), others, texts) if source.is_of_names else ""
            return msgspec.structs.replace(placed, since=since)
        which = named(sorted(texts[item] for item in tied or texts))
        raise OrderUnknown(f"the order of {key} is unknown: nothing says which of {which} is the newest; {_WHAT_TO_DO}")

    def _left_out(self, key: str, texts: Mapping[Item, str], items: Sequence[Item], reason: str) -> list[str]:
        if not items:
            return []
        what = f"{count_of(len(items), 'version')} with {count_of(self._count(key, items), 'run')} left out"
        return [f"{what} ({named([texts[item] for item in items])}): {reason}"]

    def _count(self, key: str, items: Sequence[Item]) -> int:
        """How many runs have one of these values of *key*."""
        wanted = set(items)
        return sum(typed(run.versions[key]) in wanted for run in self._runs)

    def _sources(self, key: str, versions: Mapping[Item, object]) -> list[Source]:
        if len(versions) < 2:
            return [_nothing_to_order(versions)]
        is_axis = key == self._first_axis
        told = None if self._explicit is None else given(self._explicit, versions, is_required=is_axis)
        names = of_names(versions) or (of_names(versions, build) if (build := self._build(key)) else None)
        found = [told, declared(self._workload, versions) if is_axis else None, names]
        sources = [source for source in found if source is not None]
        is_enough = any(len(set(source.extents.values())) == len(versions) for source in sources)
        return [*sources, *of_runs(self._runs, lambda run: typed(run.versions[key]), dated=not is_enough)]

    def _build(self, key: str) -> Item | None:
        """The version of the results at hand, where it is one, and new."""
        current, kept = ({typed(run.versions[key]) for run in self._runs if run.is_current is is_one}
                         for is_one in (True, False))  # fmt: skip
        return next(iter(current)) if len(current) == 1 and not current & kept else None

    def _order_of_runs(self) -> Placed:
        items = [run_id(run.entry) for run in self._runs]
        series = dict(zip(items, (run.key for run in self._runs), strict=True))
        sources = of_runs(self._runs, lambda run: run_id(run.entry))
        if not sources and len(set(series.values())) == len(items):
            sources = [_nothing_to_order(items)]
        if not sources:
            raise OrderUnknown(
                f"the order of {count_of(len(items), 'run')} is unknown: they have no time, come from no "
                "history, and their directories begin with no number; let the workload's payload say when a test ended"
            )
        source = max(sources, key=lambda one: len(one.extents))
        others = [one for one in sources if one is not source]
        found = levels(list(source.extents), [source, *others])
        missing = len(items) - len(source.extents)
        notes = [f"{count_of(missing, 'run')} left out: without a place in {_order_of(source)}"] if missing else []
        counts = collections.Counter((place, series[item]) for place, level in enumerate(found) for item in level)
        alike = sum(count for count in counts.values() if count > 1)  # that share a place with one of their series
        notes += [f"{alike} runs that nothing puts in order stand as repeats of one point"] if alike else []
        notes += _against(source.extents, others, lambda: {run_id(run.entry): run.entry.name for run in self._runs})
        return _placed("Runs", source, found, notes, len(items))


def check_keys(workload: Workload, runs: Sequence[LabelledRun], *, are_needed: bool = True) -> None:
    """Raise WorkloadError for a comparison key that is neither a label of the workload's model nor known to any run.

    Where they aren't *needed*, since something else tells the sides apart, for one that looks misspelt only.
    """
    known = set[str]() if are_needed else {name for run in runs for name in (*run.names, *run.entry.settings)}
    keys = workload.regression.comparison_keys
    meant = [key for key in keys if are_needed or any(is_nearly(key, name) for name in known)]
    for unknown in unknown_names(meant, workload, runs):
        raise WorkloadError(
            f"workload '{workload.name}' has a comparison key that is neither a label of its model nor a setting of "
            f"any of {len(runs)} runs, {unknown}"
        )


def axes(runs: Sequence[LabelledRun], workload: Workload) -> list[str]:
    """The comparison keys that have several values among *runs*, in the workload's order."""
    return [
        name
        for name in workload.regression.comparison_keys
        if runs and any(typed(run.versions[name]) != typed(runs[0].versions[name]) for run in runs)
    ]


def _nothing_to_order(items: Iterable[Item]) -> Source:
    return Source("", dict.fromkeys(items, (0, 0)))


def _order_of(source: Source) -> str:
    return source.name if source.name.startswith("the order ") else f"the order of {source.name}"


def _placed(what: str, source: Source, found: Sequence[Sequence[Item]], notes: Sequence[str], items: int) -> Placed:
    """*what* there is so many *items* of, in the order that was *found*."""
    places = {item: place for place, level in enumerate(found) for item in level}
    sentence = f"{what} in {_order_of(source)}." if source.name else ""
    return Placed(sentence, places, len(places) < items, tuple(notes))


def _measured_since(in_order: Sequence[Item], others: Sequence[Source], texts: Mapping[Item, str]) -> str:
    """That another version was measured after all runs of the newest one, as a fix of an old release is.

    The first of *others* that knows of all says it: old runs that a history saw late were not measured then.
    """
    ones = (one.extents for one in others if not one.is_of_names and one.extents.keys() >= set(in_order))
    extents = next(ones, None)
    if extents is None or not (since := [one for one in in_order if extents[one][0] > extents[in_order[-1]][1]]):
        return ""
    last = max(since, key=extents.__getitem__)
    before = [texts[one] for one in in_order[: in_order.index(last)] if one not in since][-1:]
    way = "".join(f": 'matbench compare {one} {texts[last]}' does it" for one in before)
    return f"{texts[last]} was measured after {texts[in_order[-1]]}, and is not judged{way}."


def _against(chosen: Extents, others: Sequence[Source], in_text: Callable[[], Mapping[Item, str]]) -> list[str]:
    """A sentence for each of *others* that says otherwise."""
    notes = []
    for other in others:
        found = contradiction(chosen, other.extents)
        if found is not None:
            count, first, second = found
            items = sum(item in other.extents for item in chosen)
            of, texts = count_of(items * (items - 1) // 2, "pair"), in_text()
            notes.append(f"the other way round by {other.name}: {count} of {of}, {texts[first]} before {texts[second]}")
    return notes
