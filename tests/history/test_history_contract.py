"""What every history has to do: the same tests on SQLite and on the genuine OpenSearch."""

from __future__ import annotations

import json
import random

import msgspec
import pytest
from history_support.payloads import payload, test_id
from history_support.uploads import payloads, series, values

from matrix_benchmarking import filters, history
from matrix_benchmarking.history import HistoryError, Query, record
from matrix_benchmarking.history.plan import twins


def records(*payloads):
    return [record(each) for each in payloads]


def as_text(payloads):
    """Payloads with the order of their names, as text that can be compared and sorted."""
    return [json.dumps(each, ensure_ascii=False) for each in payloads]


def ids(kept, **query):
    return [run.id for run in kept.runs(Query(**query))]


def numbers(kept, **query):
    return [each["results"]["number"] for each in payloads(kept, Query(**query))]


def test_what_was_pushed_comes_back_unchanged(kept):
    pushed = [payload(1), payload(2, {"speed": 3}, note="ünï ☃ 漢字 \U0001f600 \x00 \x1b <script>"), payload(3, {})]
    assert kept.push(records(*pushed)) == history.Pushed(added=3)
    assert as_text(payloads(kept)) == as_text(reversed(pushed))


def in_block(number, campaign, of_round=None, **more):
    """A payload of a run that says what it was measured together with."""
    made = payload(number, **more)
    made["metadata"] |= {"campaign": campaign, "round": of_round}
    return made


def test_what_a_run_was_measured_together_with_is_kept_beside_runs_that_do_not_say_it(kept):
    pushed = [payload(1), in_block(2, "night"), in_block(3, "night", 2)]
    kept.push(records(*pushed))
    assert as_text(payloads(kept)) == as_text(reversed(pushed))


@pytest.mark.parametrize(
    ("campaign", "of_round"), [(3, 1), ("night", "1"), ("night", True), ("night", -1), ("night", 2**31 + 1)]
)
def test_a_campaign_or_a_round_of_another_type_is_no_payload(campaign, of_round):
    with pytest.raises(HistoryError, match=r"at `metadata\.(campaign|round)`"):
        record(in_block(1, campaign, of_round))


def test_the_same_content_again_changes_nothing(kept):
    kept.push(records(payload(1), payload(2)))
    assert kept.push(records(payload(2), payload(1))) == history.Pushed(unchanged=2)
    reordered = {name: payload(1)[name] for name in ("kpis", "results", "metadata")}
    assert kept.push(records(reordered)) == history.Pushed(unchanged=1)
    assert kept.summary().workloads[0].runs.count == 2
    assert kept.summary().workloads[0].values == 2


def test_twice_in_one_push_is_once(kept):
    assert kept.push(records(payload(1), payload(1))) == history.Pushed(added=1, unchanged=1)
    assert numbers(kept) == [1]


def test_another_content_under_one_id_is_a_conflict_and_changes_nothing(kept):
    kept.push(records(payload(1)))
    pushed = kept.push(records(payload(1, {"speed": 99.0}), payload(2)))
    assert (pushed.added, [each.id for each in pushed.conflicts]) == (1, [test_id(1)])
    assert as_text(payloads(kept)) == as_text([payload(2), payload(1)])
    assert values(kept)[0] == 11.0


def test_new_runs_with_the_settings_the_repeat_and_the_time_of_another_one_are_its_twins(kept):
    def run(number, **described):
        made = payload(number, time="2026-03-01T12:00:00+00:00")
        made["metadata"].update({"repeat": 0, **described})
        return made

    kept.push(records(run(1), run(2, settings={"vus": 8.0}), run(3, exit_code=1), payload(4)))
    pushed = kept.push(records(run(5), run(6, settings={"vus": 8}), run(7, repeat=1), payload(8, time=None), run(1)))
    assert {run for run, _ in pushed.new} == {test_id(number) for number in (5, 6, 7)}
    assert sorted(twins(kept.runs, dict(pushed.new))) == sorted([test_id(1), test_id(5)])
    alike = dict(kept.push(records(run(9, repeat=9), run(10, repeat=9))).new)
    assert list(twins(kept.runs, alike)) == [test_id(9), test_id(10)]


def test_two_contents_under_one_id_in_one_push_are_a_conflict(kept):
    pushed = kept.push(records(payload(1), payload(1, {"speed": 99.0})))
    assert (pushed.added, len(pushed.conflicts)) == (1, 1)
    assert values(kept)[0] == 11.0


def test_a_conflicting_content_replaces_the_old_one_where_that_is_wanted(kept):
    kept.push(records(payload(1, {"speed": 1.0, "height": 2.0}), payload(2)))
    new = payload(1, {"speed": 5.0, "width": 3.0}, time="2026-03-02T12:00:00+00:00")
    assert kept.push(records(new, payload(2)), replace=True) == history.Pushed(replaced=1, unchanged=1)
    assert as_text(payloads(kept)) == as_text([new, payload(2)])
    assert series(kept) == {"speed": 2, "width": 1}
    assert values(kept) == [12.0, 5.0]


def test_payloads_come_by_id_in_the_order_in_which_they_are_asked_for(kept):
    kept.push(records(*(payload(number) for number in range(4))))
    wanted = [test_id(number) for number in (2, 99, 0, 3)]
    assert [each.payload["results"]["number"] for each in kept.records_of(wanted)] == [2, 0, 3]
    assert list(kept.records_of([])) == []


def test_a_run_says_what_a_series_needs_without_its_payload(kept):
    made = payload(1, {"speed": 3, "gone": None, "height": -0.5}, labels={"x": 1.0, "urls": {"log": "https://x"}})
    made["metadata"] |= {"campaign": "night", "round": 2, "measurement": "m", "missing_kpis": {"gone": "no gauge"}}
    made["metadata"]["environment"] = {"cpu_model": "Xeon", "gpus": [{"model": "H200"}]}
    kept.push(records(made))
    (run,) = kept.runs()
    assert (run.id, run.workload, run.digest, run.measurement) == (test_id(1), "speed", record(made).digest, "m")
    assert (run.settings, run.repeat, run.head.exit_code, run.recorded[0]) == ({"hw_type": "cpu-1", "vus": 8}, 1, 0, 1)
    head = run.head
    assert (head.campaign, head.round, head.host, head.start) == ("night", 2, "Xeon, H200", None)
    assert (head.labels, head.missing_kpis) == (made["kpis"]["speed"]["labels"], {"gone": "no gauge"})
    assert list(map(repr, head.values)) == ["3", "-0.5"]
    assert [(each.name, each.unit, each.help, each.lower_better) for each in run.kpis] == [
        ("speed", "m/s", "How fast it is", False),
        ("height", "m/s", "How fast it is", False),
    ]


def test_runs_share_what_their_payloads_say_of_the_kpis(kept):
    kept.push(records(payload(1), payload(2), payload(3, unit="km/h"), payload(4)))
    first, other, *same = [run.kpis for run in kept.runs()]
    assert other[0].unit == "km/h"
    assert all(each is first for each in same)


def at_minute(number, minute):
    """The record of a run without a time that was first seen at that *minute*; None for one that nobody knows."""
    seen = None if minute is None else record(payload(minute)).time_us
    return record(payload(number, time=None), None if seen is None else (1, seen))


def test_runs_come_newest_first_by_when_they_were_first_seen_where_they_have_no_time(kept):
    kept.push([*records(payload(3), payload(1)), at_minute(10, 2), at_minute(11, 4), at_minute(12, 0)])
    kept.push([msgspec.structs.replace(at_minute(13, None), recorded=(0, 5))])  # by a matbench that noted places only
    expected = [test_id(number) for number in (11, 3, 10, 1, 12, 13)]
    assert ids(kept) == expected
    assert ids(kept, limit=3) == expected[:3]
    assert kept.prunable(None, keep=4) == expected[4:]


def test_runs_without_a_time_of_one_upload_are_pruned_together(kept):
    kept.push([at_minute(number, number % 2) for number in range(6)])
    assert kept.prunable(None, keep=1) == sorted(test_id(number) for number in (0, 2, 4))
    assert kept.prunable(None, keep=4) == []
    assert len(kept.prunable(None, keep=0)) == 6


def test_runs_of_one_moment_come_in_the_order_of_their_ids(kept):
    moment = "2026-03-01T12:00:00+00:00"
    kept.push(records(*(payload(number, time=moment) for number in range(10))))
    assert ids(kept) == sorted(test_id(number) for number in range(10))


def test_moments_are_ordered_to_the_microsecond(kept):
    moments = [f"2026-03-01T12:00:00.{number:06d}+00:00" for number in (1, 2, 3, 999, 1000, 1001)]
    shuffled = list(enumerate(moments))
    random.Random(1).shuffle(shuffled)
    kept.push(records(*(payload(number, time=moment) for number, moment in shuffled)))
    assert numbers(kept) == [5, 4, 3, 2, 1, 0]
    assert values(kept) == [10.0, 11.0, 12.0, 13.0, 14.0, 15.0]


def test_moments_are_compared_across_time_zones_and_kept_as_written(kept):
    east, utc = "2026-03-01T13:30:00+02:00", "2026-03-01T12:00:00Z"
    kept.push(records(payload(1, time=utc), payload(2, time=east)))
    assert numbers(kept) == [1, 2]
    assert [each["metadata"]["end"] for each in payloads(kept)] == [utc, east]


def test_since_leaves_out_what_is_older_and_what_has_no_time(kept):
    kept.push(records(payload(1), payload(2), payload(3), payload(4, time=None)))
    second = record(payload(2)).time_us
    assert numbers(kept, since_us=second) == [3, 2]


def test_the_limit_takes_the_newest(kept):
    kept.push(records(*(payload(number) for number in range(8))))
    assert numbers(kept, limit=3) == [7, 6, 5]
    assert numbers(kept, limit=0) == []
    assert numbers(kept, limit=100) == [7, 6, 5, 4, 3, 2, 1, 0]


def test_only_one_workload(kept):
    kept.push(records(payload(1), payload(2, workload='Écran :\\"')))
    assert numbers(kept, workload="speed") == [1]
    assert numbers(kept, workload='Écran :\\"') == [2]
    assert numbers(kept, workload="spee") == []
    assert {each.workload for each in kept.summary().series} == {"speed", 'Écran :\\"'}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("x=1", [1, 2]),
        ('x="1"', [2]),
        ("x=1.0", [3]),
        ("x=true", [4, 5]),
        ('x="true"', [5]),
        ("x=null", [6, 7]),
        ("x=1:1.0", [1, 2, 3]),
        ("x=1,repeat=2", [2]),
        ("repeat=3:4", [3, 4]),
        ("x=long:1.0", [3]),
        (f"x={'long' * 500}", [8]),
        ("x=a\\,b\\:c", [9]),
        ("x=nothing", []),
    ],
)
def test_filters_select_by_settings_and_know_their_types(kept, text, found):
    values = [1, "1", 1.0, True, "true", None]
    pushed = [payload(number, settings={"x": value}) for number, value in enumerate(values, start=1)]
    pushed.append(payload(7, settings={"y": 1}))
    pushed.append(payload(8, settings={"x": "long" * 500}))
    pushed.append(payload(9, settings={"x": "a,b:c"}))
    kept.push(records(*pushed))
    assert sorted(numbers(kept, filters=filters.parse(text))) == found
    assert numbers(kept, filters=filters.parse(text), limit=1) == found[-1:]


def test_series_are_told_apart_by_the_types_of_their_labels(kept):
    labels = [1, "1", 1.0, True, None, "", "é"]
    kept.push(records(*(payload(number, labels={"x": value}) for number, value in enumerate(labels))))
    found = kept.summary().series
    assert sorted(map(repr, (each.labels["x"] for each in found))) == sorted(map(repr, labels))


def test_labels_of_any_name_and_shape_are_kept(kept):
    labels = {
        "a.b": 1,
        "a": "x",
        "": "empty",
        "list": [1, "2"],
        "object": {"deep": {"er": None}},
        "long": "l" * 40000,
        "urls": {"log": "https://example.org/1"},
        "value": 3,
        "@timestamp": "no date",
    }
    other = {**labels, "urls": {"log": "https://example.org/2"}, "object": {"deep": "er"}}
    kept.push(records(payload(1, labels=labels), payload(2, labels=labels | {"urls": None}), payload(3, labels=other)))
    found = kept.summary().series
    assert sorted(each.span.count for each in found) == [1, 2]
    identity = {name: value for name, value in labels.items() if name != "urls"}
    assert [each.labels for each in found if each.span.count == 2] == [identity]
    assert payloads(kept, Query(limit=1))[0]["kpis"]["speed"]["labels"] == other


def test_values_come_oldest_first_with_their_runs(kept):
    kept.push(records(payload(3, {"speed": 3}), payload(1, {"speed": 1.5}), payload(2, {"speed": -2}, time=None)))
    assert values(kept) == [1.5, 3, -2]
    assert [type(value) for value in values(kept)] == [float, int, int]
    (one,) = kept.summary().series
    assert one.span == history.Span(3, record(payload(1)).time_us, record(payload(3)).time_us)


def test_values_of_any_size_are_kept(kept):
    sizes = [0.0, -0.0, 1e-300, 1.7976931348623157e308, 0.1 + 0.2, 2**53 + 1, -(2**63)]
    kept.push(records(*(payload(number, {"speed": size}) for number, size in enumerate(sizes))))
    assert list(map(repr, values(kept))) == list(map(repr, sizes))


def test_a_kpi_without_a_value_is_none(kept):
    kept.push(records(payload(1, {"speed": None, "height": 1.0})))
    assert series(kept) == {"height": 1}
    assert payloads(kept)[0]["kpis"]["speed"] is None


def test_another_unit_is_another_series(kept):
    kept.push(records(payload(1), payload(2, unit="km/h")))
    assert sorted(each.unit for each in kept.summary().series) == ["km/h", "m/s"]


def test_a_kpi_of_which_neither_direction_is_better_is_kept_as_such(kept):
    old, new = payload(1), payload(2)
    new["kpis"]["speed"]["lower_better"] = None
    kept.push(records(old))
    kept.push(records(new))
    assert [run.kpis[0].lower_better for run in kept.runs()] == [None, False]


def test_two_contents_under_one_id_in_one_push_are_a_conflict_even_if_they_may_replace(kept):
    kept.push(records(payload(1)))
    twice = records(payload(1, {"speed": 5.0}), payload(1, {"speed": 6.0}), payload(1, {"speed": 5.0}))
    pushed = kept.push(twice, replace=True)
    assert (pushed.replaced, pushed.unchanged) == (1, 1)
    assert [each.reason for each in pushed.conflicts] == ["it came twice in this upload, with different contents"]
    assert values(kept) == [5.0]
    pushed = kept.push(twice, replace=True)
    assert (pushed.replaced, pushed.unchanged, len(pushed.conflicts)) == (0, 2, 1)


def test_a_run_without_kpis_is_a_run(kept):
    kept.push(records(payload(1, {})))
    assert (kept.summary().workloads[0].runs.count, kept.summary().workloads[0].series) == (1, 0)


def test_an_empty_history_has_nothing(kept):
    assert (list(kept.runs()), payloads(kept), kept.summary().series, kept.summary().workloads) == ([], [], [], [])
    assert kept.push([]) == history.Pushed()
    assert kept.delete([test_id(1)]) == 0


def test_deleted_runs_are_gone_with_their_kpis(kept):
    kept.push(records(payload(1), payload(2), payload(3, {"height": 1.0}), payload(4, {"speed": 1.0}, time=None)))
    assert kept.delete([test_id(1), test_id(3), test_id(4), test_id(99)]) == 3
    assert numbers(kept) == [2]
    assert series(kept) == {"speed": 1}
    assert kept.push(records(payload(1))) == history.Pushed(added=1)
    assert values(kept) == [11.0, 12.0]


def test_the_summary_tells_workloads_times_and_size(kept):
    kept.push(records(payload(1), payload(2, {"speed": 1.0, "height": 2.0}), payload(3, workload="b", time=None)))
    summary = kept.summary()
    assert summary.size_bytes > 100  # an OpenSearch looks anew after ten seconds: until then an empty index has 208
    assert list(summary.workloads) == [
        history.WorkloadSummary("b", history.Span(1, None, None), 1, 1),
        history.WorkloadSummary("speed", history.Span(2, record(payload(1)).time_us, record(payload(2)).time_us), 2, 3),
    ]


def test_many_more_than_a_page_come_back_complete_and_in_order(kept):
    count = 2345
    order = list(range(count))
    random.Random(2).shuffle(order)
    progress = []
    pushed = kept.push((record(payload(number)) for number in order), progress=progress.append)
    assert pushed.added == progress[-1] == count
    assert numbers(kept) == list(range(count))[::-1]
    assert values(kept) == [10.0 + number for number in range(count)]
    assert numbers(kept, limit=1200) == list(range(count))[::-1][:1200]
    assert kept.delete([test_id(number) for number in range(1000)]) == 1000
    assert series(kept) == {"speed": count - 1000}


def test_a_kpi_that_can_not_be_kept_is_rejected_and_the_others_are_not(kept):
    broken = payload(2)
    broken["kpis"]["speed"]["value"] = "fast"
    pushed = kept.push(records(payload(1), broken, payload(3)))
    assert (pushed.added, [each.id for each in pushed.rejected]) == (2, [test_id(2)])
    assert "'speed'" in pushed.rejected[0].reason
    assert numbers(kept) == [3, 1]
    assert series(kept) == {"speed": 2}


def test_what_was_pushed_is_there_after_opening_again(place):
    with history.open_history(place, writable=True) as kept:
        kept.push(records(payload(1)))
    with history.open_history(place, writable=False) as kept:
        assert numbers(kept) == [1]


def test_reading_where_there_is_nothing_says_what_makes_one(place):
    with pytest.raises(HistoryError, match="matbench upload_lts"):
        history.open_history(place, writable=False)


@pytest.mark.parametrize(
    "changes",
    [
        {"unit": None},
        {"help": None},
        {"unit": {}},
        {"lower_better": "no"},
        {"value": float("inf")},
        {"value": 10**400},
        {"value": True},
        {"@timestamp": "yesterday"},
        {"@timestamp": "9999-12-31T23:59:59-12:00"},
        {"labels": [1]},
    ],
)
def test_a_kpi_that_is_none_is_named_and_the_others_are_kept(kept, changes):
    broken = payload(2)
    broken["kpis"]["speed"].update(changes)
    try:
        bad = record(broken)
    except HistoryError:
        return  # what JSON can't hold is no payload at all
    pushed = kept.push([*records(payload(1)), bad, *records(payload(3))])
    assert (pushed.added, [each.id for each in pushed.rejected]) == (2, [test_id(2)])
    assert series(kept) == {"speed": 2}
