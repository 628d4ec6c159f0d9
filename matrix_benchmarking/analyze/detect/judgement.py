"""What can be said of the newest version of a series: the words of the answer."""

from __future__ import annotations

import dataclasses
import enum


class Kind(enum.Enum):
    """The verdict on a series."""

    REGRESSION = "regression"
    IMPROVEMENT = "improvement"
    CHANGE = "change"
    NO_CHANGE = "no change"
    NOT_ENOUGH_HISTORY = "not enough history"


@dataclasses.dataclass(frozen=True, slots=True)
class Estimate:
    """A value with its confidence interval; a bound that isn't known is infinite."""

    value: float
    low: float
    high: float


@dataclasses.dataclass(frozen=True, slots=True)
class LevelChange:
    """A new level in a series. Indices are those of the versions that were passed.

    Attributes:
        first: the first version on the new level: the identity of the change, which never moves.
        seen: the version at which the change could first be told.
        last_before: the last version on the old level that has a value.
        old_level, new_level: in the KPI's unit.
        worse: True for a regression, False for an improvement; None if the direction isn't known.
    """

    first: int
    seen: int
    last_before: int
    old_level: float
    new_level: float
    worse: bool | None


@dataclasses.dataclass(frozen=True, slots=True)
class Suspicion:
    """A new level that one block alone speaks for: another block, the next version's or a repetition, confirms it.

    Attributes:
        first: the first version on it; index of the versions that were passed.
        last_before: the last version on the old level that has a value.
        old_level, new_level: in the KPI's unit.
        effect, difference: as those of a :class:`Judgement`.
        runs_before, runs_after: number of runs behind both levels.
        worse: as that of a :class:`Change`.
    """

    first: int
    last_before: int
    old_level: float
    new_level: float
    effect: Estimate | None
    difference: Estimate
    runs_before: int
    runs_after: int
    worse: bool | None


@dataclasses.dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict on the newest version of a series.

    After a change the verdict is about the last one, for as long as the series stays on its level: a regression that
    nobody repaired is one on each later version, with the same `first_bad`. Without a change the levels and the effect
    are those of the newest points against the points before them, where they look different most.

    Attributes:
        kind: the verdict; `Kind.CHANGE` is one of a series whose direction isn't known.
        effect: new level / old level − 1; None if the old level isn't positive, or there is no new one.
        difference: new level − old level, in the KPI's unit; None if there is no new level.
        old_level, new_level: in the KPI's unit; the new one is None where nothing follows the old level.
        first_bad: index of the first version on the new level; None without a change.
        last_good: index of the last version with a value before it; None without a change.
        p_value: the chance that a series of 100 versions without any change looks like this anywhere; None without
            enough history.
        runs_before, runs_after: number of runs behind the old and the new level, repeats included.
        reruns: in a case of doubt, how many more runs would settle it if the newest ones are right; without enough
            history, how many more versions the first verdict takes; else None.
        changes: all changes of the series that reach the minimum effect, in order.
        suspicion: what the newest block alone shows beside that; None for nothing.
        would_show: the smallest further step that would have been seen by now in four of five cases, in the KPI's
            unit, and the number of versions since it; None where that isn't known.
        is_one_block: whether only one block speaks for each new level that there could be.
    """

    kind: Kind
    effect: Estimate | None
    difference: Estimate | None
    old_level: float | None
    new_level: float | None
    first_bad: int | None
    last_good: int | None
    p_value: float | None
    runs_before: int
    runs_after: int
    reruns: int | None
    changes: tuple[LevelChange, ...]
    suspicion: Suspicion | None = None
    would_show: tuple[float, int] | None = None
    is_one_block: bool = False
