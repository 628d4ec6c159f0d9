"""A series of an analysis as data frames, for its chart: its points, its levels, where it changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..analyze.detect import Change
from ..analyze.select.series import SeriesPoint, time_text, value_text
from ..analyze.verdict.model import Outcome, SeriesVerdict
from ..analyze.wording import verdicts
from ..analyze.words import cut_inside, difference, percent
from ..kpi import KPIDefinition
from .template import COLOURS, text

if TYPE_CHECKING:
    import pandas

MOST_POINTS = 400
NEWEST_KEPT = 20
LONGEST_VERSION = 20
WORSE, BETTER, DOUBTFUL, OTHER = "worse", "better", "suspected", ""
"""What a newest level is."""
LOOKS = {
    BETTER: (COLOURS[2], "star"),
    WORSE: (COLOURS[1], "x"),
    DOUBTFUL: (COLOURS[4], "diamond"),
    OTHER: (COLOURS[0], "circle"),
}


def kind_of(verdict: SeriesVerdict) -> str:
    if verdict.outcome is Outcome.REGRESSION:
        return WORSE
    if verdict.outcome is Outcome.SUSPECTED:
        return DOUBTFUL
    if verdict.outcome is Outcome.IMPROVEMENT or verdict.changes:
        return BETTER  # without a regression, the last change of a series is for the better: at least back
    is_doubtful = bool(verdict.reruns) and verdict.outcome is Outcome.NO_CHANGE
    return DOUBTFUL if is_doubtful else OTHER


def points_frame(verdict: SeriesVerdict) -> pandas.DataFrame:
    """A row for each point that is drawn: ``place`` in the series, its values, whether it ``is_new``, ``hover``."""
    import pandas

    new = start_of_new_level(verdict)
    rows = []
    for place in drawn_places(verdict):
        point = verdict.points[place]
        rows.append(
            {
                "place": place,
                **point_values(point, verdict.kpi),
                "hover": _hover(verdict.versions[place], point, verdict.kpi),
                "is_new": new is not None and place >= new,
            }
        )
    return pandas.DataFrame(rows)


def point_values(point: SeriesPoint, kpi: KPIDefinition) -> dict[str, object]:
    values = {name: getattr(point, name) / kpi.divisor for name in ("mean", "minimum", "maximum")}
    return {**values, "runs": point.count, "uuid": point.entries[0].test_uuid or ""}


def drawn_places(verdict: SeriesVerdict) -> list[int]:
    """Which points are drawn: all where they are few enough.

    Of many, those around the changes, the newest ones, and the least and the largest of each stretch of equal length.
    """
    count = len(verdict.points)
    if count <= MOST_POINTS:
        return list(range(count))
    around = {place for change in verdict.changes[-20:] for place in (change.first, change.last_before)}
    found = {0, *around, *range(count - NEWEST_KEPT, count)}
    length = -(-2 * count // (MOST_POINTS - len(found)))
    for start in range(0, count, length):
        stretch = range(start, min(start + length, count))
        found.add(min(stretch, key=lambda place: verdict.points[place].mean))
        found.add(max(stretch, key=lambda place: verdict.points[place].mean))
    return sorted(found)


def start_of_new_level(verdict: SeriesVerdict) -> int | None:
    """The first point on the newest level; of a doubtful one, where it would begin; None without one."""
    if verdict.first_bad is not None:
        return verdict.first_bad
    if verdict.changes:
        return verdict.changes[-1].first
    if kind_of(verdict) != DOUBTFUL or verdict.new_level is None or not verdict.runs_after:
        return None
    runs = 0
    for place in range(len(verdict.points) - 1, 0, -1):
        runs += verdict.points[place].count
        if runs >= verdict.runs_after:
            return place
    return None


def levels_frame(verdict: SeriesVerdict) -> pandas.DataFrame:
    """A row for each level: ``start`` and ``end`` (its first and last point), ``level`` in the KPI's display unit, and
    ``role``: ``new`` (the newest), ``old`` (the one that the verdict compares it with), or ``earlier``.
    """
    import pandas

    changes, last, new = verdict.changes, len(verdict.points) - 1, start_of_new_level(verdict)
    rows: list[tuple[int, int, float | None, str]] = []
    if not changes and new is not None:
        rows = [(0, new - 1, verdict.old_level, "old"), (new, last, verdict.new_level, "new")]
    for number, change in enumerate(changes):
        start, level = 0, change.old_level
        if number:
            start, level = changes[number - 1].first, changes[number - 1].new_level
        elif change.last_before < change.first - 1:  # against one version, not against all before
            start = change.last_before
        is_old = change.first == verdict.first_bad
        rows.append((start, change.last_before, change.old_level if is_old else level, "old" if is_old else "earlier"))
    if changes and verdict.outcome is Outcome.SUSPECTED and new is not None:
        rows.append((changes[-1].first, new - 1, verdict.old_level, "old"))
        rows.append((new, last, verdict.new_level, "new"))
    elif changes:
        rows.append((changes[-1].first, last, changes[-1].new_level, "new"))
    divisor = verdict.kpi.divisor
    known = [
        (start, end, level / divisor, role) for start, end, level, role in rows if level is not None and start <= end
    ]
    return pandas.DataFrame(known, columns=["start", "end", "level", "role"])


def changes_frame(verdict: SeriesVerdict) -> pandas.DataFrame:
    """A row for each change: ``place`` (between the last point before and the first after), ``is_worse``,
    ``is_open`` (a regression that nobody dealt with) and ``label``.
    """
    import pandas

    alarms = {alarm.first_bad: alarm for alarm in verdict.alarms}
    rows = []
    for change in verdict.changes:
        alarm = alarms.get(verdict.versions[change.first]) if change.is_worse else None
        state = "" if alarm is None or alarm.fails else f", {alarm.status.value}"
        is_open = change.is_worse and (alarm is None or alarm.fails)
        label = f"{change_text(verdict, change)}{state}"
        rows.append((change.first - 0.5, change.is_worse, is_open, label))
    return pandas.DataFrame(rows, columns=["place", "is_worse", "is_open", "label"])


def change_text(verdict: SeriesVerdict, change: Change) -> str:
    """A change in a few words: ``▲ +10.3 %, worse since 1.3.3``."""
    is_newest = change.first == verdict.first_bad
    step = change.new_level - change.old_level
    if is_newest:
        size = verdicts.short_size(verdict)
    elif change.old_level > 0:
        size = percent(step / change.old_level)
    else:
        size = difference(verdict.kpi, step)
    since = cut_inside(verdict.versions[change.first], LONGEST_VERSION)
    return f"{'▲' if step > 0 else '▼'} {size}, {'worse' if change.is_worse else 'better'} since {since}"


def _hover(version: str, point: SeriesPoint, kpi: KPIDefinition) -> str:
    when = time_text(point)
    lines = [text(cut_inside(version, 60)), f"<b>{text(value_text(kpi, point))}</b>"]
    return "<br>".join([*lines, *([when] if when and when != version else [])])
