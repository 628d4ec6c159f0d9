"""An application that shows a history looks again and again whether runs came, or what people did to alarms."""

from __future__ import annotations

import itertools

from builders import speed_workload
from history_support.alarms import event
from history_support.payloads import payload

from matrix_benchmarking import history
from matrix_benchmarking.history import record
from matrix_benchmarking.runs.opening import Opening


def test_what_is_known_changes_with_new_runs_and_events_and_not_by_itself(place: history.Location) -> None:
    opening = Opening(speed_workload(), history=lambda: place)
    found = []
    for number in range(2):
        with history.open_history(place, writable=True) as kept:
            kept.push([record(payload(number))])
        found.append(opening.state())
    with history.open_history(place, writable=True) as kept:
        kept.record_alarms([event()])
    found.append(opening.state())
    assert all(one != other for one, other in itertools.pairwise(found))
    assert opening.state() == found[-1]
