"""What makes an analysis fail, series by series, in words: the rows of every text report."""

from __future__ import annotations

import dataclasses
import math

from ..verdict.model import Alarm, Analysis, Outcome, SeriesVerdict
from ..wording import verdicts
from ..words import percent, plural

ACCEPT = "matbench alarms ack {id} --reason …"
"""How a change that is meant is accepted, where the runs are in a history."""


@dataclasses.dataclass(frozen=True, slots=True)
class Worse:
    """A series that makes an analysis fail, by the newest of its alarms that nobody dealt with.

    Attributes:
        verdict: on the series.
        alarm: the alarm.
        others: how many more of the series' alarms nobody dealt with.
        size: with its interval, where the verdict is about this alarm.
        levels: old and new, with the unit.
        fraction: new level / old level − 1; None where that is unknown, or no number.
    """

    verdict: SeriesVerdict
    alarm: Alarm
    others: int
    size: str
    levels: str
    fraction: float | None

    @property
    def accept(self) -> str:
        """How to accept it if it is meant, as a sentence without its end; empty where no history keeps the alarm."""
        return f"If it is meant: {ACCEPT.format(id=self.alarm.id)}" if self.alarm.id else ""

    @property
    def sentence(self) -> str:
        """All of it: what, since when, how much, and behind which alarm it is kept."""
        alarm = self.alarm
        if _is_about(self.verdict, alarm):
            said = verdicts.sentence(self.verdict)
        else:
            of = f"{alarm.kpi} of {self.verdict.name}"
            said = f"{of} is worse since {alarm.first_bad} (last good {alarm.last_good}): {self.size}, {self.levels}."
        known = f"Alarm {alarm.id}{_others(self.others)}." if alarm.id else ""
        return " ".join(filter(None, [said, alarm.note and f"{alarm.note.rstrip('.')}.", known]))


def worse(analysis: Analysis) -> list[Worse]:
    """One for each series that fails, in the order of the analysis."""
    return [_worse(verdict) for verdict in analysis.failing]


def _worse(verdict: SeriesVerdict) -> Worse:
    failing = [alarm for alarm in verdict.alarms if alarm.fails]
    alarm = failing[-1]
    if _is_about(verdict, alarm):
        size, levels = verdicts.size(verdict), verdicts.levels(verdict.kpi, verdict)
        fraction = None if verdict.effect is None else verdict.effect.value
    else:
        fraction = alarm.new_level / alarm.old_level - 1.0 if alarm.old_level > 0 else None
        size = "of unknown size" if fraction is None else percent(fraction)
        levels = verdicts.levels(verdict.kpi, alarm)
    known = fraction is not None and math.isfinite(fraction)
    return Worse(verdict, alarm, len(failing) - 1, size, levels, fraction if known else None)


def _is_about(verdict: SeriesVerdict, alarm: Alarm) -> bool:
    """Whether the sizes of the verdict, which is about two sides or the last change, are those of *alarm*."""
    is_last = bool(verdict.stands_on) or verdict.first_bad_version == alarm.first_bad
    return verdict.outcome is Outcome.REGRESSION and is_last


def _others(count: int) -> str:
    return f", and {count} more {plural(count, 'alarm')} of this series" if count else ""
