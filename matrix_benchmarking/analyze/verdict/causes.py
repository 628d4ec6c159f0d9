"""What got worse together: alarms that share their first bad version are one cause, shown and counted as one.

One slow commit shows in each series and KPI that it touches. Each keeps its alarm; what is said of the cause is
written to each.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from ...history.records import digest
from .alarms import ID_LENGTH
from .lifecycle import Known
from .model import Alarm, Analysis, Status


@dataclasses.dataclass(frozen=True, slots=True)
class Cause:
    """Alarms that nobody dealt with and that begin with the same version, the largest first.

    Attributes:
        id: of the workload and the first bad version; the same in each analysis and on each machine.
        first_bad: the version in words.
        alarms: at least one.
    """

    id: str
    first_bad: str
    alarms: tuple[Alarm, ...]


def cause_id(workload: str, first_bad: str) -> str:
    """The id of the cause behind the alarms of *workload* that begin with the version *first_bad*, in words."""
    return digest([ascii(workload), "cause", ascii(first_bad)])[:ID_LENGTH]


def causes(analysis: Analysis) -> list[Cause]:
    """The causes of the alarms that make *analysis* fail: those of most alarms first.

    An alarm without an id is a comparison's own, of which no history knows since when.
    """
    found: dict[str, list[Alarm]] = {}
    for _, alarm in analysis.alarms(Status.OPEN):
        if alarm.id:
            found.setdefault(alarm.first_bad, []).append(alarm)
    made = [Cause(cause_id(analysis.workload, version), version, tuple(alarms)) for version, alarms in found.items()]
    return sorted(made, key=lambda cause: -len(cause.alarms))


def of_cause(known: Mapping[str, Known]) -> dict[str, list[Known]]:
    """The alarms of a history by the id of their cause."""
    found: dict[str, list[Known]] = {}
    for alarm in known.values():
        found.setdefault(cause_id(alarm.subject.workload, alarm.subject.first_bad), []).append(alarm)
    return found
