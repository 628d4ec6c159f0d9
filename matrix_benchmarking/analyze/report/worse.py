"""What makes an analysis fail, series by series, in words: the rows of every text report."""

from __future__ import annotations

import dataclasses
import math

from ..verdict.model import Alarm, Analysis, Outcome, SeriesVerdict
from ..wording import verdicts
from ..words import percent, plural

ACCEPT = "matbench alarms ack {id} --reason …"  # how a change that is meant is accepted, where a history keeps it


@dataclasses.dataclass(frozen=True, slots=True)
class Worse:
    """A series that makes an analysis fail, by the newest of its alarms that nobody dealt with."""

    verdict: SeriesVerdict
    alarm: Alarm
    others: int  # how many more of the series' alarms nobody dealt with

    @property
    def _is_about(self) -> bool:
        """Whether the sizes of the verdict, which is about two sides or the last change, are those of the alarm."""
        is_last = bool(self.verdict.stands_on) or self.verdict.first_bad_version == self.alarm.first_bad
        return self.verdict.outcome is Outcome.REGRESSION and is_last

    @property
    def fraction(self) -> float | None:
        """New level / old level − 1; None where that is unknown, or no number."""
        effect, alarm = self.verdict.effect, self.alarm
        known = alarm.new_level / alarm.old_level - 1.0 if alarm.old_level > 0 else None
        if self._is_about:
            known = None if effect is None else effect.value
        return known if known is not None and math.isfinite(known) else None

    @property
    def size(self) -> str:
        """With its interval, where the verdict is about this alarm."""
        if self._is_about:
            return verdicts.size(self.verdict)
        return "of unknown size" if self.fraction is None else percent(self.fraction)

    @property
    def levels(self) -> str:
        """Old and new, with the unit."""
        return verdicts.levels(self.verdict.kpi, self.verdict if self._is_about else self.alarm)

    @property
    def accept(self) -> str:
        """How to accept it if it is meant, as a sentence without its end; empty where no history keeps the alarm."""
        return f"If it is meant: {ACCEPT.format(id=self.alarm.id)}" if self.alarm.id else ""

    @property
    def sentence(self) -> str:
        """All of it: what, since when, how much, and behind which alarm it is kept."""
        alarm, since = self.alarm, f"since {self.alarm.first_bad} (last good {self.alarm.last_good})"
        said = f"{alarm.kpi} of {self.verdict.name} is worse {since}: {self.size}, {self.levels}."
        if self._is_about:
            said = verdicts.sentence(self.verdict)
        more = f", and {self.others} more {plural(self.others, 'alarm')} of this series" if self.others else ""
        known = f"Alarm {alarm.id}{more}." if alarm.id else ""
        return " ".join(filter(None, [said, alarm.note and f"{alarm.note.rstrip('.')}.", known]))


def worse(analysis: Analysis) -> list[Worse]:
    """One for each series that fails, in the order of the analysis."""
    failing = [(verdict, [alarm for alarm in verdict.alarms if alarm.fails]) for verdict in analysis.failing]
    return [Worse(verdict, alarms[-1], len(alarms) - 1) for verdict, alarms in failing]
