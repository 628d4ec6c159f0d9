"""Which changes repair which alarms, which levels a machine has, and whose id an alarm keeps: limits on both sides."""

from __future__ import annotations

import datetime as dt
from typing import Any

import msgspec
import pytest
from toy_runs import entry, workload

from matrix_benchmarking.analyze.detect import Change
from matrix_benchmarking.analyze.select.selection import select
from matrix_benchmarking.analyze.select.series import Series
from matrix_benchmarking.analyze.verdict import alarms as of
from matrix_benchmarking.analyze.verdict.alarms import Raised, alarm_id, alarms_of
from matrix_benchmarking.analyze.verdict.lifecycle import ANALYSIS, Known, known_alarms
from matrix_benchmarking.analyze.verdict.model import Status
from matrix_benchmarking.history.alarms import Action, AlarmEvent, AlarmSubject
from matrix_benchmarking.workload import MinimumEffect

NOTHING = MinimumEffect(0.0, 0.0)
NOW = dt.datetime(2026, 6, 1, tzinfo=dt.UTC)


def change(first: int, old: float, new: float, *, worse: bool = True, **more: Any) -> Change:
    return Change(first, first - 1, first + 1, old, new, worse, **more)


@pytest.mark.parametrize(
    ("sign", "left", "minimum", "is_repaired"),
    [
        (1, 2.0, NOTHING, True),
        (1, 2.01, NOTHING, False),
        (-1, 2.0, NOTHING, True),
        (-1, 2.01, NOTHING, False),
        (1, -50.0, NOTHING, True),
        (-1, -50.0, NOTHING, True),
        (1, 3.0, MinimumEffect(0.0, 3.0), True),
        (1, 3.01, MinimumEffect(0.0, 3.0), False),
        (1, 3.0, MinimumEffect(0.03, 0.0), True),
    ],
)
def test_a_quarter_of_a_step_may_be_left_for_it_to_be_repaired_or_the_minimum(
    sign: int, left: float, minimum: MinimumEffect, is_repaired: bool
) -> None:
    worse = change(10, 100.0, 100.0 + sign * 8.0)
    better = change(20, 100.0 + sign * 8.0, 100.0 + sign * left, worse=False)
    assert of._repairs([worse, better], 0, minimum) == ([1] if is_repaired else [])
    if minimum is NOTHING:
        small = [msgspec.structs.replace(one, old_level=one.old_level / 1024, new_level=one.new_level / 1024)
                 for one in (worse, better)]  # fmt: skip
        assert of._repairs(small, 0, minimum) == ([1] if is_repaired else [])


def test_what_repairs_comes_later_and_leads_the_other_way_or_takes_the_change_back() -> None:
    up, down, up_again = change(10, 100.0, 108.0), change(20, 108.0, 100.0, worse=False), change(30, 100.0, 101.0)
    assert of._repairs([down, up, up_again, down], 1, NOTHING) == [3]
    assert of._repairs([up, up_again], 0, NOTHING) == []
    half = change(20, 108.0, 106.0, worse=False, takes_back=10)
    assert of._repairs([up, half, down], 0, NOTHING) == [1, 2]
    assert of._repairs([up, change(20, 108.0, 106.0, worse=False, takes_back=11)], 0, NOTHING) == []


@pytest.mark.parametrize(
    ("old", "away", "new", "minimum", "is_better"),
    [
        (100.0, 110.0, 99.0, MinimumEffect(0.01, 0.0), False),
        (100.0, 110.0, 98.99, MinimumEffect(0.01, 0.0), True),
        (100.0, 110.0, 101.5, MinimumEffect(0.01, 0.0), False),
        (100.0, 90.0, 101.0, MinimumEffect(0.01, 0.0), False),
        (100.0, 90.0, 101.01, MinimumEffect(0.01, 0.0), True),
        (100.0, 90.0, 98.5, MinimumEffect(0.01, 0.0), False),
    ],
)
def test_a_repair_is_an_improvement_where_it_is_better_than_before_by_more_than_the_minimum(
    old: float, away: float, new: float, minimum: MinimumEffect, is_better: bool
) -> None:
    changes = [change(5, 300.0, old), change(10, old, away), change(20, away, new, worse=False)]
    assert of._better_than_before(changes, 1, minimum) is is_better


def went(*levels: tuple[float, int]) -> list[list[float]]:
    return [[level] for level, count in levels for _ in range(count)]


def test_a_level_that_was_left_twice_before_is_one_of_the_machines() -> None:
    values = went((100.0, 5), (110.0, 3), (100.0, 4), (110.0, 3), (100.0, 4), (110.0, 4))
    third = change(19, 100.0, 110.0)
    assert of.levels_known([change(12, 100.0, 110.0), third], values) == {1}
    assert of.levels_known([change(12, 100.0, 110.0)], values[:15]) == set()
    ended = [*values[:19], [100.0]]  # its newest point is that which shows the change
    assert of.levels_known([Change(18, 17, 18, 100.0, 110.0, True)], ended) == {0}
    assert of.levels_known([change(19, 100.0, 110.0, worse=False)], values) == set()
    assert of.levels_known([change(0, 100.0, 110.0)], values) == set()
    assert of.levels_known([change(1, 100.0, 110.0)], values) == set()


@pytest.mark.parametrize(("lasted", "known"), [(2, {0}), (54, {0}), (55, set())])
def test_a_level_is_the_machines_own_while_it_lasts_no_longer_than_it_does(lasted: int, known: set[int]) -> None:
    values = went((100.0, 4), (110.0, 3), (100.0, 3), (110.0, 3), (100.0, 5), (110.0, lasted))
    assert of.levels_known([Change(18, 17, 19, 100.0, 110.0, True)], values) == known


def test_levels_on_which_nothing_stays_are_not_the_machines_own() -> None:
    values = went(*[(100.0, 1), (110.0, 1)] * 9, (110.0, 2))
    assert of.levels_known([Change(18, 17, 19, 100.0, 110.0, True)], values) == set()


def test_of_the_past_so_many_points_tell_the_machines_levels(monkeypatch: pytest.MonkeyPatch) -> None:
    values = went((100.0, 5), (110.0, 3), (100.0, 4), (110.0, 3), (100.0, 4), (110.0, 4))
    for furthest, known in ((15, {0}), (10, set())):
        monkeypatch.setattr(of, "FURTHEST", furthest)
        assert of.levels_known([change(19, 100.0, 110.0)], values) == known


def selected(values: list[list[float]]) -> Series:
    runs = [entry({"version": f"1.{n}.0", "cost": one[0], "day": n}, n) for n, one in enumerate(values)]
    return select(runs, workload(), kpi_filter=["cost"]).series[0]


def raised(changes: list[Change], known: dict[str, Known] | None = None, *, passes: list[bool] | None = None) -> Raised:
    """The alarms of a series of 30 versions of which nothing but the changes counts."""
    series = selected([[100.0]] * 30)
    return alarms_of(series, changes, NOTHING, known or {}, NOW, passes or [True] * len(changes))


def known_at(
    place: int,
    action: Action = Action.RAISED,
    *,
    labels: dict[str, Any] | None = None,
    by: str = "ada",
    **said: Any,
) -> Any:
    """What the history knows of an alarm of the series since this version, by its id."""
    series = selected([[100.0]] * 30)
    subject = AlarmSubject(
        workload="toy", kpi="cost", unit="USD", lower_better=True, labels=labels or {}, series="all runs",
        first_bad=f"1.{place}.0", last_good=f"1.{place - 1}.0", old_level=100.0, new_level=110.0,
    )  # fmt: skip
    name = alarm_id(series.id, series.keys[place])
    events = [AlarmEvent(alarm=name, action=Action.RAISED, at_us=1, author="matbench", subject=subject)]
    if action is not Action.RAISED:
        events.append(AlarmEvent(alarm=name, action=action, at_us=2, author=by, subject=subject, **said))
    return known_alarms(events)


UP, DOWN = change(10, 100.0, 110.0), change(20, 110.0, 100.0, worse=False)
END = Change(28, 27, 29, 100.0, 110.0, True)


def test_an_id_has_twelve_digits() -> None:
    assert len(alarm_id("series", "point")) == 12


def test_a_series_without_changes_raises_nothing() -> None:
    assert raised([]) == Raised()


def test_changes_that_are_set_aside_are_counted_in_one_and_many() -> None:
    why = "left out: so many series show as much by chance"
    assert raised([UP, DOWN]).notes == ()
    one, both = raised([UP, END], passes=[True, False]), raised([UP, END], passes=[False, False])
    as_measured = msgspec.structs.replace(UP, new_level=100.0)  # with what is left out: up to the end
    assert (one.changes, one.notes, one.worst) == ((as_measured,), (f"1 change is {why}",), 0)
    assert (both.changes, both.notes, both.worst, both.is_back) == ((), (f"2 changes are {why}",), None, False)


def test_a_way_back_is_no_discovery_and_is_seen_by_less() -> None:
    """Where it was left out as one of so many series, what was repaired long ago was worse for ever."""
    back = raised([UP, DOWN], passes=[True, False])
    assert (back.changes, back.worst, back.is_back, back.notes) == ((UP, DOWN), None, True, ())
    assert [one.status for one in back.alarms] == [Status.FIXED]
    beyond = change(20, 110.0, 90.0, worse=False)  # better than before is a claim of its own
    assert (raised([UP, beyond], passes=[True, False]).worst, raised([UP, beyond]).is_back) == (None, False)
    assert raised([UP, beyond], passes=[True, False]).is_back is True
    first, more = change(15, 110.0, 101.0, worse=False), change(20, 101.0, 97.0, worse=False)
    assert [one.first for one in raised([UP, first, more], passes=[True, True, False]).changes] == [10, 15]
    assert [one.first for one in raised([UP, first, more], passes=[True, False, False]).changes] == [10, 15]
    half = change(20, 110.0, 105.0, worse=False)
    assert raised([UP, half], passes=[True, False]).worst == 0
    assert raised([UP, DOWN], passes=[False, False]).changes == ()


def test_what_took_a_change_back_repairs_nothing_where_a_worse_level_followed_that_is_left_out() -> None:
    """A dip of three versions closed an alarm of +10 %, since its end was one of so many series."""
    back, again = change(14, 110.0, 100.0, worse=False, takes_back=10), change(17, 100.0, 109.0)
    values = [[100.0]] * 10 + [[110.0]] * 4 + [[100.0]] * 3 + [[109.0]] * 13
    alarms = alarms_of(selected(values), [UP, back, again], NOTHING, {}, NOW, [True, True, False])
    assert ([one.status for one in alarms.alarms], alarms.worst) == ([Status.OPEN], 0)
    sure = alarms_of(selected(values[:17]), [UP, back], NOTHING, {}, NOW, [True, True])
    assert ([one.status for one in sure.alarms], sure.worst) == ([Status.FIXED], None)


def test_an_alarm_that_was_raised_stays_and_what_took_it_back_goes_with_it() -> None:
    back = change(14, 110.0, 100.0, worse=False, takes_back=10)
    assert raised([UP, back], passes=[False, False]).changes == ()
    assert raised([UP, back], known_at(10), passes=[False, False]).changes == (UP, back)
    assert raised([UP, back, END], known_at(10), passes=[False, True, False]).changes == (UP, back)
    assert raised([UP, back, END], passes=[False, True, True]).changes == (END,)


def test_the_last_alarm_that_holds_is_the_worst_and_a_last_repair_is_a_way_back() -> None:
    assert (raised([UP, DOWN]).worst, raised([UP, DOWN]).is_back) == (None, True)
    assert (raised([UP, DOWN, END]).worst, raised([UP, DOWN, END]).is_back) == (2, False)
    further = change(20, 110.0, 121.0)
    assert (raised([UP, further]).worst, raised([UP, further]).is_back) == (1, False)
    better = change(20, 110.0, 90.0, worse=False)
    assert (raised([UP, better]).worst, raised([UP, better]).is_back) == (None, False)
    assert raised([change(10, 100.0, 90.0, worse=False)]).is_back is False
    taken = change(14, 90.0, 100.0, worse=False, takes_back=10)
    assert raised([change(10, 100.0, 90.0, worse=False), taken]).is_back is True


def test_an_alarm_is_new_where_it_or_its_repair_was_seen_at_the_newest_version() -> None:
    assert [one.is_new for one in raised([UP, END]).alarms] == [False, True]
    (fixed,) = raised([UP, DOWN]).alarms
    assert (fixed.status, fixed.fixed_by, fixed.is_new) == (Status.FIXED, "1.20.0", False)
    (just,) = raised([UP, Change(28, 27, 29, 110.0, 100.0, False)]).alarms
    assert (just.status, just.is_new) == (Status.FIXED, True)
    (before,) = raised([Change(28, 27, 28, 100.0, 110.0, True)]).alarms
    assert (before.is_new, before.first_bad, before.last_good) == (False, "1.28.0", "1.27.0")


def test_an_alarm_two_versions_away_is_the_one_that_was_raised() -> None:
    for place, is_same in ((8, True), (12, True), (7, False), (13, False)):
        known = known_at(place)
        (alarm,) = raised([UP], known).alarms
        assert (alarm.id in known) is is_same
    nearest = {**known_at(8), **known_at(11)}
    assert raised([UP], nearest).alarms[0].id == next(iter(known_at(11)))
    own = {**known_at(10), **known_at(11)}
    assert raised([UP], own).alarms[0].id == next(iter(known_at(10)))
    other = known_at(11, labels={"image": "b"})
    assert raised([UP], other).alarms[0].id not in other
    two = raised([UP, change(12, 110.0, 120.0)], {**known_at(9), **known_at(12)})
    assert [one.id for one in two.alarms] == [next(iter(known_at(9))), next(iter(known_at(12)))]
    falls = raised([change(10, 110.0, 100.0, worse=False), change(11, 100.0, 110.0)], known_at(12))
    assert [one.id for one in falls.alarms] == [next(iter(known_at(12)))]


def test_how_far_an_alarm_may_have_moved_is_two_versions() -> None:
    assert (of.NEARBY, of.RETURNS) == (2, 2)
    own, near = known_at(10), known_at(12)
    both = raised([UP, change(12, 110.0, 100.0, worse=False), change(13, 100.0, 110.0)], {**own, **near})
    assert [one.id in {**own, **near} for one in both.alarms] == [True, False]  # the nearer one is another change's


def test_what_became_of_an_alarm_before_is_noted() -> None:
    (held,) = raised([UP], known_at(10, Action.ACKNOWLEDGED, reason="meant", until="1.29.0")).alarms
    assert (held.status, held.author, held.note) == (Status.ACKNOWLEDGED, "ada", "")
    assert held.at == dt.datetime(1970, 1, 1, 0, 0, 0, 2, tzinfo=dt.UTC)
    (over,) = raised([UP], known_at(10, Action.ACKNOWLEDGED, reason="meant", until="1.20.0")).alarms
    assert (over.status, over.note) == (Status.OPEN, "the acknowledgement until 1.20.0 has run out")
    (again,) = raised([UP], known_at(10, Action.FIXED, version="1.15.0")).alarms
    assert (again.status, again.note) == (Status.OPEN, "it was fixed by 1.15.0, and is not any more")
    (judged,) = raised([UP], known_at(10, Action.RESOLVED, by=ANALYSIS, reason="cost was left out")).alarms
    assert (judged.status, judged.note) == (
        Status.OPEN,
        "it was closed because cost was left out, and is judged again",
    )
    (resolved,) = raised([UP], known_at(10, Action.RESOLVED, reason="cost was left out")).alarms
    assert (resolved.status, resolved.note) == (Status.RESOLVED, "")


@pytest.mark.parametrize(
    ("until", "is_over"),
    [("1.29.0", False), ("1.28.0", True), ("1.30.0", False), ("9.0", False), ("8.0", True), ("2.0", False)],
)
def test_an_acknowledgement_up_to_a_version_looks_at_one_comparison_key(until: str, is_over: bool) -> None:
    runs = [
        entry({"version": f"1.{number}.0", "engine": "9.0" if number > 20 else "8.0", "os": "2", "cost": 100.0}, number)
        for number in range(30)
    ]
    toy = workload(comparison_keys=["os", "version", "engine"])
    (series,) = select(runs, toy, kpi_filter=["cost"]).series
    acknowledged = known_at(10, Action.ACKNOWLEDGED, reason="meant", until=until)
    mine = {alarm_id(series.id, series.keys[10]): alarm for alarm in acknowledged.values()}
    (alarm,) = alarms_of(series, [UP], NOTHING, mine, NOW, [True]).alarms
    assert alarm.status is (Status.OPEN if is_over else Status.ACKNOWLEDGED)
