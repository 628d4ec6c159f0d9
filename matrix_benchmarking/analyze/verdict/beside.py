"""What a history says of series of which two sides were compared.

Both are right, and may look like a contradiction: a history has more runs behind it than two of its versions, and two
versions that are both on a new level show no difference.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence

from .lifecycle import Known
from .model import Outcome, SeriesVerdict, Status
from .sides import Pair, by_series
from .wording import CAUSES_NAMED, is_or_are


class _Place(enum.Enum):
    """Where the first bad version of an alarm lies; between the sides, what they show of it."""

    BEFORE = "both sides are"
    HIDDEN = "the two sides alone don't show it"
    SUSPECTED = "by the two sides alone it is suspected"
    SHOWN = "the two sides show it too"
    AFTER = "after both sides"


def of_history(pairs: Sequence[Pair], verdicts: Sequence[SeriesVerdict], known: Mapping[str, Known]) -> str:
    """What the alarms of a history say of the series that were compared and the verdicts don't; empty for nothing."""
    alarms = by_series(known.values())
    of = {verdict.id: verdict for verdict in verdicts}
    shown = {alarm.id for verdict in verdicts for alarm in verdict.alarms}
    counts: dict[tuple[str, _Place], set[str]] = {}
    for one in pairs:
        for alarm in alarms.get(one.series.id, ()):
            place = _place(one, alarm, of.get(one.series.id))
            if place is not None and alarm.id not in shown and alarm.status is not Status.RESOLVED:
                counts.setdefault((alarm.subject.first_bad, place), set()).add(one.series.id)
    said = [
        f"{len(ids)} of these series {is_or_are(len(ids))} worse since {version}: {place.value}"
        for (version, place), ids in counts.items()
    ]
    more = f"; and so on for {len(said) - CAUSES_NAMED} more" if len(said) > CAUSES_NAMED else ""
    return f"The history says that {'; '.join(said[:CAUSES_NAMED])}{more}." if said else ""


def _place(one: Pair, alarm: Known, verdict: SeriesVerdict | None) -> _Place | None:
    """None for a version that the series has no longer."""
    first_bad = alarm.subject.first_bad
    if first_bad not in one.series.versions:
        return None
    place = max(at for at, version in enumerate(one.series.versions) if version == first_bad)
    old, new = max(one.old), max(one.new)
    if place <= min(old, new):
        return _Place.BEFORE
    if place > max(old, new):
        return _Place.AFTER
    # Asked the other way round, what got worse since is better.
    if verdict is None or verdict.looks_worse != (old < new):
        return _Place.HIDDEN
    is_clear = verdict.outcome in (Outcome.REGRESSION, Outcome.IMPROVEMENT)
    suspected = _Place.SUSPECTED if verdict.outcome is Outcome.SUSPECTED else _Place.HIDDEN
    return _Place.SHOWN if is_clear else suspected
