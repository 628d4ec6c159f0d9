"""A history on OpenSearch with an index a month: one record a run wherever its month is, and what is let go."""

from __future__ import annotations

import dataclasses
import datetime as dt
import threading

import pytest
from history_support.alarms import event
from history_support.payloads import payload, test_id
from history_support.uploads import kept_at, kpis_agree, payloads, values, writer
from opensearchpy import OpenSearch

from matrix_benchmarking import history
from matrix_benchmarking.history import HistoryError, delivery, record
from matrix_benchmarking.history import opensearch_indices as indices
from matrix_benchmarking.history.opensearch_indices import Expired, expire

pytestmark = pytest.mark.xdist_group("opensearch")

JANUARY, FEBRUARY, MARCH = (f"2026-{month:02}-15T12:00:00+00:00" for month in (1, 2, 3))
IN_APRIL = dt.datetime(2026, 4, 10, tzinfo=dt.UTC)


@pytest.fixture
def admin(opensearch):
    with OpenSearch([opensearch.url]) as client:
        yield client


@pytest.fixture
def single(at, opensearch):
    return at(opensearch.url)


@pytest.fixture
def monthly(single):
    return dataclasses.replace(single, is_monthly=True)


def opened(location, *, writable=True):
    return history.open_history(location, writable=writable)


def where(admin, location):
    """The months that have runs, with how many; of KPIs too, which have to be in the same ones."""

    def counted(index):
        admin.indices.refresh(index=f"{index}-all")
        found = admin.search(index=f"{index}-all", body={"size": 1000, "_source": False})["hits"]["hits"]
        names = [hit["_index"].removeprefix(index) for hit in found]
        return {name: names.count(name) for name in names}

    runs = counted(location.index)
    assert counted(location.kpi_index) == runs  # each run here has one KPI
    return runs


def test_runs_are_in_the_index_of_their_month_and_those_of_unknown_time_in_the_first_one(admin, monthly):
    with opened(monthly) as kept:
        pushed = [payload(1, time=JANUARY), payload(2, time=FEBRUARY), payload(3, time=FEBRUARY), payload(4, time=None)]
        assert kept.push(map(record, pushed)).added == 4
        assert payloads(kept) == [
            pushed[3],
            *sorted(pushed[1:3], key=lambda each: each["metadata"]["test_uuid"]),
            pushed[0],
        ]
    assert where(admin, monthly) == {"-month-2026-01": 1, "-month-2026-02": 2, "": 1}
    mapping = admin.indices.get_mapping(index=f"{monthly.index}-month-2026-02")
    assert next(iter(mapping.values()))["mappings"]["dynamic"] == "strict"


def test_a_run_that_is_pushed_again_months_later_stays_one_record(admin, monthly):
    first = record(payload(1, time=JANUARY))
    with opened(monthly) as kept:
        kept.push([first])
    with opened(monthly) as kept:
        kept.push([record(payload(2, time=MARCH))])
        assert kept.push([first]) == history.Pushed(unchanged=1)
    assert where(admin, monthly) == {"-month-2026-01": 1, "-month-2026-03": 1}


def test_a_run_of_another_time_than_its_first_copy_is_a_conflict_and_replaces_it_where_that_is(admin, monthly):
    other = record(payload(1, {"speed": 5.0}, time=MARCH))
    with opened(monthly) as kept:
        kept.push([record(payload(1, time=JANUARY))])
        assert len(kept.push([other]).conflicts) == 1
        assert where(admin, monthly) == {"-month-2026-01": 1}
        assert kept.push([other], replace=True).replaced == 1
        assert (values(kept), [run.time_us for run in kept.runs()]) == ([5.0], [other.time_us])
    assert where(admin, monthly) == {"-month-2026-01": 1}


def test_what_a_history_had_before_it_had_months_is_read_and_is_not_doubled(admin, single, monthly):
    with opened(single) as kept:
        kept.push([record(payload(number, time=JANUARY)) for number in range(3)])
        kept.record_alarms([event(1)])
    with opened(monthly) as kept:
        again = [payload(0, time=JANUARY), payload(1, {"speed": 7.0}, time=JANUARY), payload(9, time=JANUARY)]
        pushed = kept.push(map(record, again), replace=True)
        assert (pushed.unchanged, pushed.replaced, pushed.added) == (1, 1, 1)
        assert len(kept.alarm_events()) == 1
    assert where(admin, monthly) == {"": 3, "-month-2026-01": 1}


def test_a_configuration_without_months_goes_on_with_those_that_are_there(admin, single, monthly):
    with opened(monthly) as kept:
        kept.push([record(payload(1, time=JANUARY))])
    with opened(single, writable=False) as kept:
        assert values(kept) == [11.0]
    with opened(single) as kept:
        assert kept.push([record(payload(1, time=JANUARY)), record(payload(2, time=MARCH))]).added == 1
    assert where(admin, monthly) == {"-month-2026-01": 1, "-month-2026-03": 1}


def test_a_matbench_that_knows_no_months_is_refused(admin, monthly, monkeypatch):
    with opened(monthly):
        pass
    monkeypatch.setattr(indices, "MONTHLY", indices.SINGLE)
    for writable in (True, False):
        with pytest.raises(HistoryError, match=r"newer matbench \(mapping 5; this one knows 4\): update matbench"):
            opened(monthly, writable=writable)


def test_runs_are_removed_from_whichever_month_they_are_in(admin, monthly):
    with opened(monthly) as kept:
        kept.push([record(payload(number, time=time)) for number, time in enumerate((JANUARY, FEBRUARY, MARCH))])
        assert kept.delete([test_id(0), test_id(2), test_id(77)]) == 2
    assert where(admin, monthly) == {"-month-2026-02": 1}


def test_uploads_of_one_run_at_once_with_times_in_different_months_keep_one_of_them_whole(admin, monthly, tmp_path):
    with opened(monthly):
        pass
    barrier, outcomes, count = threading.Barrier(3), {}, 60

    def upload(number):
        time = (JANUARY, FEBRUARY, MARCH)[number]
        write = writer(*range(count), values={"speed": float(number)}, time=time)
        barrier.wait()
        outcomes[number] = delivery.upload(write, monthly, tmp_path / f"machine{number}").pushed

    threads = [threading.Thread(target=upload, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(outcomes) == 3
    assert sum(where(admin, monthly).values()) == count
    assert kept_at(monthly) == (count, count)
    assert kpis_agree(monthly)


def test_copies_of_a_run_in_two_months_count_once_and_are_one_after_the_next_push(admin, monthly):
    with opened(monthly) as kept:
        kept.push([record(payload(1, time=JANUARY)), record(payload(2, time=FEBRUARY))])
        one, two = (f"{monthly.index}-month-2026-0{month}" for month in (1, 2))
        document = admin.get(index=one, id=test_id(1))["_source"]
        document["matbench"]["recorded_us"] += 1
        admin.index(index=two, id=test_id(1), body=document, params={"refresh": "true"})
        assert kept.push([record(payload(1, {"speed": 3.0}, time=JANUARY))], replace=True).replaced == 1
        assert sorted(values(kept)) == [3.0, 12.0]


def test_months_go_only_where_the_configuration_says_so_and_alarms_and_what_has_no_month_stay(admin, monthly):
    times = [JANUARY, JANUARY, FEBRUARY, MARCH, None]
    with opened(monthly) as kept:
        kept.push([record(payload(number, time=time)) for number, time in enumerate(times)])
        kept.record_alarms([event(1)])
    assert expire(monthly, delete=True, now=IN_APRIL) == []
    keeping = dataclasses.replace(monthly, keep_months=2)
    assert expire(keeping, delete=False, now=IN_APRIL) == [Expired("2026-01", 2, False)]
    assert where(admin, monthly)["-month-2026-01"] == 2
    assert expire(keeping, delete=True, now=IN_APRIL) == [Expired("2026-01", 2, False)]
    assert where(admin, monthly) == {"-month-2026-02": 1, "-month-2026-03": 1, "": 1}
    assert not admin.indices.exists(index=f"{monthly.kpi_index}-month-2026-01")
    with opened(monthly) as kept:
        assert (len(list(kept.runs())), len(kept.alarm_events())) == (3, 1)


def test_a_clock_in_the_future_takes_none_of_the_newest_months_and_one_in_the_past_none_at_all(monthly):
    with opened(monthly) as kept:
        kept.push([record(payload(number, time=time)) for number, time in enumerate((JANUARY, FEBRUARY, MARCH))])
    keeping = dataclasses.replace(monthly, keep_months=3)
    assert expire(keeping, delete=True, now=dt.datetime(2099, 1, 1, tzinfo=dt.UTC)) == []
    keeping = dataclasses.replace(monthly, keep_months=1)
    assert expire(keeping, delete=True, now=dt.datetime(1970, 1, 1, tzinfo=dt.UTC)) == []


def test_a_month_that_holds_a_run_of_later_stays(monthly):
    with opened(monthly) as kept:
        kept.push([record(payload(number, time=time)) for number, time in enumerate((JANUARY, FEBRUARY, MARCH))])
        kept.push([record(payload(0, time=MARCH))], replace=True)
    keeping = dataclasses.replace(monthly, keep_months=1)
    gone = [Expired("2026-01", 1, True), Expired("2026-02", 1, False)]
    assert expire(keeping, delete=True, now=IN_APRIL) == gone
    assert kept_at(monthly) == (2, 2)
