"""The successful runs point by point, and what several findings ask of them: it takes a while, and is found once."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping, Sequence

from ...grouped import grouped
from ...rows import Rows
from ...workload import Workload
from ..blocks import Block, blocks_of
from ..points import keys, places_by_point

_A_MEASURE = re.compile(r"[\d.]+\s*[A-Za-z]*")
Points = Sequence[Sequence[int]]
"""Of the runs of each point their places among all."""


class Measured:
    """Successful *runs* of a *workload*, and their points: of each the places of its runs, by repeat."""

    def __init__(self, runs: Rows, workload: Workload) -> None:
        self.runs, self.workload = runs, workload
        self.points: Points = places_by_point(runs)
        self._alike: dict[str, list[Mapping[int, int]]] = {}

    @functools.cached_property
    def firsts(self) -> Rows:
        """The first run of each point."""
        return self.runs.at(places[0] for places in self.points)

    @functools.cached_property
    def groups(self) -> Sequence[Sequence[int]]:
        """The numbers of the points that may be compared with each other."""
        of_each = keys(self.firsts, self.workload.group_keys)
        return list(grouped((group, at) for at, group in enumerate(of_each)).values())

    @functools.cached_property
    def starts(self) -> Sequence[int | None]:
        """In microseconds since 1970; None where unknown."""
        return [start for start, _ in self.runs.values("span_us")]

    @functools.cached_property
    def in_time(self) -> Points:
        """The points with their runs in the order of their starts; by repeat where these aren't known."""
        times = [-1 if start is None else start for start in self.starts]
        return [sorted(places, key=times.__getitem__) for places in self.points]

    @functools.cached_property
    def blocks(self) -> Sequence[Block]:
        return blocks_of(self.runs)

    def by_setting(self, *, of_words: bool) -> Iterator[tuple[str, Sequence[object], list[Mapping[int, int]]]]:
        """The name of a setting, its values, and of points that are alike in the rest the place by the value's code.

        *of_words*: of versions, and of settings that are words and are compared: of numbers a value may well be a
        thousand times higher.
        """
        names = self.firsts.names()
        for name in names:
            values, codes = self.firsts.setting(name)
            there = set(codes)
            are_words = name not in self.workload.group_keys and all(
                isinstance(values[each], str) and not _A_MEASURE.fullmatch(values[each]) for each in there
            )
            is_compared = are_words or name in self.workload.regression.comparison_keys
            if len(there) < 2 or (of_words and not is_compared):
                continue
            if name not in self._alike:
                alike: dict[object, dict[int, int]] = {}
                rests = keys(self.firsts, [each for each in names if each != name])
                for place, (rest, code) in enumerate(zip(rests, codes, strict=True)):
                    alike.setdefault(rest, {})[code] = place
                self._alike[name] = [*alike.values()]
            yield name, values, self._alike[name]
