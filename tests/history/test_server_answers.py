"""Answers with status 200 that OpenSearch doesn't give: nothing is believed, and nothing is lost."""

from __future__ import annotations

import msgspec
import pytest
from history_support.alarms import event
from history_support.fault_proxy import FaultProxy
from history_support.payloads import payload, test_id
from history_support.uploads import kept_at, writer

from matrix_benchmarking import history
from matrix_benchmarking.history import HistoryError, delivery, record
from matrix_benchmarking.history.delivery import Outbox

pytestmark = pytest.mark.xdist_group("opensearch")

NO_ANSWERS = [b"{}", b"[]", b"null", b'"yes"', b"<html>Log in</html>"]
IS_NOT = "is not OpenSearch, or something answers in its place"


@pytest.fixture
def faulty(opensearch):
    with FaultProxy(opensearch.port) as proxy:
        yield proxy


def items(*ids: str, status: int = 201) -> bytes:
    """A bulk request's answer with an item for each of *ids*."""
    return msgspec.json.encode({"errors": False, "items": [{"index": {"_id": each, "status": status}} for each in ids]})


def test_a_document_is_delivered_when_its_own_item_says_so(faulty, at, outboxes, impatient):
    location = at(faulty.url)
    first, second, third = (f"{test_id(number)}:speed" for number in (1, 2, 3))
    Outbox(outboxes, str(location)).add(writer(1, 2))
    for answer in [
        *NO_ANSWERS,
        b'{"errors":false}',
        b'{"errors":false,"items":null}',
        b'{"errors":false,"items":[]}',
        b'{"errors":true,"items":[]}',
        b'{"errors":false,"items":[{},{}]}',
        items(first),
        items(second, first),
        items(first, second, third),
    ]:
        faulty.instead = {"_bulk": answer}
        with pytest.raises(HistoryError, match=IS_NOT):
            delivery.flush(location, outboxes)
        assert Outbox(outboxes, str(location)).pending() == 2, answer
    faulty.instead = {}
    assert kept_at(location) == (0, 0)
    assert delivery.flush(location, outboxes).added == 2
    assert kept_at(location) == (2, 2)


def test_an_item_of_its_own_that_is_no_success_is_no_delivery(faulty, at, outboxes, impatient):
    location = at(faulty.url)
    faulty.instead = {"_bulk": items(f"{test_id(1)}:speed", status=302)}
    assert delivery.upload(writer(1), location, outboxes).pushed.added == 0
    assert Outbox(outboxes, str(location)).pending() == 1


@pytest.mark.parametrize("request_part", ["_search", "_refresh", "_mapping"])
def test_nothing_leaves_the_outbox_where_another_answer_is_none(faulty, at, outboxes, impatient, request_part):
    location = at(faulty.url)
    delivery.upload(writer(0), location, outboxes)
    Outbox(outboxes, str(location)).add(writer(1, 2))
    for answer in NO_ANSWERS:
        faulty.instead = {request_part: answer}
        with pytest.raises(HistoryError, match=IS_NOT):
            delivery.flush(location, outboxes)
        assert Outbox(outboxes, str(location)).pending() == 2, answer
    faulty.instead = {}
    delivery.flush(location, outboxes)
    assert kept_at(location) == (3, 3)


@pytest.mark.parametrize("request_part", ["_index_template", "PUT /t"])
def test_indices_are_made_when_the_server_says_so(faulty, at, outboxes, impatient, request_part):
    location = at(faulty.url)
    for answer in [*NO_ANSWERS, b'{"acknowledged":"maybe"}', b'{"acknowledged":false}']:
        faulty.instead = {request_part: answer}
        with pytest.raises(HistoryError, match="did not confirm" if b"false" in answer else IS_NOT):
            history.open_history(location, writable=True)


def test_a_search_without_its_answer_is_no_empty_history(faulty, at, outboxes, impatient, monkeypatch):
    location = at(faulty.url)
    delivery.upload(writer(1), location, outboxes)
    complete = b'"timed_out":false,"_shards":{"failed":0}'
    with history.open_history(location, writable=False) as kept:
        asked = {
            "runs": lambda: list(kept.runs()),
            "payloads": lambda: list(kept.records()),
            "summary": lambda: kept.summary(),
        }
        for answer in [
            *NO_ANSWERS,
            b"{%s}" % complete,
            b'{%s,"hits":{"hits":{}}}' % complete,
            b'{%s,"hits":{"hits":[{"_id":"1","_source":{}}]},"aggregations":{"all":{"buckets":[{}]}}}' % complete,
        ]:
            faulty.instead = {"_search": answer}
            for name, ask in asked.items():
                with pytest.raises(HistoryError, match=IS_NOT):
                    raise AssertionError(f"{answer!r} was believed to be {name}: {ask()}")
        monkeypatch.setattr("matrix_benchmarking.history.opensearch.PAGE", 1)  # more needs a point in time
        for part, name in (("point_in_time", "runs"), ("_stats", "summary")):
            for answer in NO_ANSWERS:
                faulty.instead = {part: answer}
                with pytest.raises(HistoryError, match=IS_NOT):
                    raise AssertionError(f"{answer!r} was believed to be {name}: {asked[name]()}")


def test_a_run_of_which_the_server_cannot_tell_whether_it_is_there_is_not_new(faulty, at, outboxes, impatient):
    location = at(faulty.url)
    delivery.upload(writer(0), location, outboxes)
    Outbox(outboxes, str(location)).add(writer(1))
    faulty.instead = {"_search": b'{"timed_out":false,"_shards":{"failed":1},"hits":{"hits":[]}}'}
    with pytest.raises(delivery.UndeliveredError, match="did not answer: try again when the cluster is healthy"):
        delivery.flush(location, outboxes)
    assert Outbox(outboxes, str(location)).pending() == 1


def test_parts_that_did_not_refresh_are_said(faulty, at, impatient):
    location = at(faulty.url)
    with history.open_history(location, writable=True) as kept:
        faulty.instead = {"_refresh": b'{"_shards":{"total":2,"successful":1,"failed":1}}'}
        with pytest.raises(HistoryError, match="may not show what was written yet"):
            kept.push([record(payload(1))])


def test_an_event_of_an_alarm_is_kept_when_the_server_says_so(faulty, at, impatient):
    location = at(faulty.url)
    with history.open_history(location, writable=True) as kept:
        for answer in [*NO_ANSWERS, items()]:
            faulty.instead = {"_bulk": answer}
            with pytest.raises(HistoryError, match=IS_NOT):
                kept.record_alarms([event(1)])
        faulty.instead = {}
        assert kept.alarm_events() == []
        assert kept.record_alarms([event(1)]) == 1
