"""The indices of an OpenSearch history: their templates, what they refuse, and what is said of others' indices."""

from __future__ import annotations

import dataclasses

import pytest
from history_support.alarms import event
from history_support.before import old_mapping
from history_support.payloads import payload
from history_support.uploads import payloads, series, values
from opensearchpy import OpenSearch

from matrix_benchmarking import history
from matrix_benchmarking.history import HistoryError, opensearch, record
from matrix_benchmarking.history import opensearch_client as client
from matrix_benchmarking.history import opensearch_indices as indices
from matrix_benchmarking.history.port import batched

pytestmark = pytest.mark.xdist_group("opensearch")


@pytest.fixture
def admin(opensearch):
    with OpenSearch([opensearch.url]) as client:
        yield client


@pytest.fixture
def location(at, opensearch):
    return at(opensearch.url)


def opened(location, *, writable=True):
    return history.open_history(location, writable=writable)


def test_templates_and_indices_are_made_on_first_use(admin, location):
    with opened(location):
        pass
    name = location.index
    (template,) = admin.indices.get_index_template(name=f"matbench-{name}")["index_templates"]
    assert template["index_template"]["index_patterns"] == [name]
    assert template["index_template"]["version"] == indices.SINGLE
    found = admin.indices.get_mapping(index=name)[name]["mappings"]
    assert found["_meta"] == indices.PAYLOADS["_meta"]
    assert found["dynamic"] == "strict"
    settings = admin.indices.get_settings(index=name)[name]["settings"]["index"]
    assert settings["number_of_shards"] == "1"


def test_dashboards_find_kpis_by_labels_and_time(admin, location):
    labels = {"image": "fp32", "a.b": True, "note": None, "urls": {"log": "https://x"}, "deep": {"a": [1]}}
    with opened(location) as kept:
        kept.push(record(payload(number, labels={**labels, "vus": number % 2})) for number in range(10))
    query = {
        "bool": {"filter": [{"term": {"labels.vus": "1"}}, {"range": {"@timestamp": {"lt": "2026-03-01T12:06Z"}}}]}
    }
    found = admin.search(index=location.kpi_index, body={"query": query, "aggs": {"m": {"avg": {"field": "value"}}}})
    assert (found["hits"]["total"]["value"], found["aggregations"]["m"]["value"]) == (3, 13.0)
    shown = found["hits"]["hits"][0]["_source"]
    assert shown["labels"] == {"image": "fp32", "a_b": True, "note": None, "deep": '{"a":[1]}', "vus": 1}
    assert shown["urls"] == {"log": "https://x"}


def test_labels_may_be_fields_of_their_own_as_dashboards_of_topsail_have_them(admin, location):
    flat = dataclasses.replace(location, has_flat_labels=True)
    labels = {"model": "llama", "batch_size": 8, "a.b": "x", "kpi": "mine", "_id": "odd", "urls": {"log": "https://x"}}
    with opened(location) as kept:  # an index of nested labels goes on with flat ones
        kept.push([record(payload(1, {"a": 1.0}, labels=labels))])
    with opened(flat) as kept:
        assert kept.push([record(payload(2, {"a": 2.0}, labels={**labels, "batch_size": "auto"}))]).added == 1
    with opened(location) as kept:
        kept.push([record(payload(3, {"a": 3.0}, labels={**labels, "new": 1}))])
    admin.indices.refresh(index=location.kpi_index)
    for field, value in (("model", "llama"), ("model.keyword", "llama"), ("batch_size", "auto"), ("a_b", "x")):
        hits = admin.search(index=location.kpi_index, body={"query": {"term": {field: value}}})["hits"]["hits"]
        assert [hit["_source"]["value"] for hit in hits] == [2.0], field
    (shown,) = (hit["_source"] for hit in hits)
    assert (shown["kpi"], shown["labels"]) == ("a", {"kpi": "mine", "_id": "odd"})
    hits = admin.search(index=location.kpi_index, body={"query": {"term": {"labels.model": "llama"}}})["hits"]["hits"]
    assert sorted(hit["_source"]["value"] for hit in hits) == [1.0, 3.0]


def test_dashboards_see_the_kpis_of_what_is_there_and_no_others(admin, location):
    def shown():
        found = admin.search(index=location.kpi_index, size=100)["hits"]["hits"]
        return sorted((hit["_source"]["test_uuid"], hit["_source"]["kpi"], hit["_source"]["value"]) for hit in found)

    first, second = record(payload(1, {"a": 1.0, "b": 2.0})), record(payload(1, {"b": 3.0, "c": 4.0}))
    with opened(location) as kept:
        kept.push([first])
        kept.push([second])  # a conflict
        assert shown() == [(first.id, "a", 1.0), (first.id, "b", 2.0)]
        kept.push([second], replace=True)
        assert shown() == [(first.id, "b", 3.0), (first.id, "c", 4.0)]
        kept.delete([first.id])
    admin.indices.refresh(index=location.kpi_index)
    assert shown() == []


def test_dashboards_find_alarms_by_what_happened(admin, location):
    with opened(location) as kept:
        kept.record_alarms([event(1)])
    (hit,) = admin.search(index=location.alarm_index)["hits"]["hits"]
    assert (hit["_source"]["alarm"], hit["_source"]["action"]) == (event(1).alarm, event(1).action.value)
    assert hit["_source"]["kpi"] == event(1).subject.kpi


def test_unknown_fields_are_refused(admin, location):
    with opened(location):
        pass
    line = client.action("index", location.index, "x", {"surprise": 1})
    ((_, status, reason),) = client.bulk(admin, [line])
    assert (status, "strict_dynamic_mapping_exception" in reason) == (400, True)


def test_an_index_with_other_types_is_explained_and_untouched(admin, location):
    body = {"mappings": {"properties": {"metadata": {"properties": {"repeat": {"type": "text"}}}}}}
    admin.indices.create(index=location.index, body=body)
    with pytest.raises(HistoryError) as caught:
        opened(location)
    sentence = str(caught.value)
    assert f"index '{location.index}' was not made for the payloads of a history" in sentence
    assert "'metadata.repeat' is text and should be long" in sentence
    assert "Name another index" in sentence
    assert admin.indices.get_mapping(index=location.index)[location.index]["mappings"] == body["mappings"]


def test_an_index_without_our_mark_is_not_taken(admin, location):
    admin.indices.create(index=location.index)
    with pytest.raises(HistoryError, match="would not refuse what doesn't belong in it"):
        opened(location)


def test_payloads_and_alarms_can_not_change_places(location):
    with opened(location) as kept:
        kept.record_alarms([event(1)])
    with pytest.raises(HistoryError, match="it holds the alarms of a history"):
        opened(dataclasses.replace(location, index=location.alarm_index))


def test_an_index_of_before_is_read_as_it_is_and_brought_on_when_it_is_written_to(admin, location):
    body = {"mappings": old_mapping("payloads", 3), "settings": dict(indices.SETTINGS)}
    admin.indices.create(index=location.index, body=body)
    for number in range(700):
        of = record(payload(number, {"speed": float(number)}))
        known = {"id": of.id, "workload": of.workload, "time_us": of.time_us, "digest": of.digest, "settings": []}
        known |= {"measurement": None} | ({"recorded_us": 10**15} if number else {"recorded_place": 7})
        admin.index(index=location.index, id=of.id, body={**of.payload, "matbench": known})
    admin.indices.refresh(index=location.index)
    with opened(location, writable=False) as kept:
        before = list(kept.runs())
        assert values(kept) == [float(number) for number in range(700)]
        assert (before[-1].recorded, before[0].recorded) == ((0, 7), (1, 10**15))
    with opened(location) as kept:
        assert list(kept.runs()) == before
        assert payloads(kept)[::-1] == [payload(number, {"speed": float(number)}) for number in range(700)]
    with_head = {"query": {"exists": {"field": "matbench.shape"}}}
    assert admin.count(index=location.index, body=with_head)["count"] == 700


def test_a_newer_mapping_is_refused(admin, location):
    with opened(location):
        pass
    body = {"_meta": {"matbench": {"mapping_version": 99, "kind": "payloads"}}}
    admin.indices.put_mapping(index=location.index, body=body)
    for writable in (True, False):
        with pytest.raises(HistoryError, match=r"newer matbench \(mapping 99; this one knows 5\): update matbench"):
            opened(location, writable=writable)


def test_an_older_mapping_gets_the_fields_that_it_lacks(admin, location, monkeypatch):
    with opened(location) as kept:
        kept.push([record(payload(1))])
    newer = {**indices.PAYLOADS, "properties": {**indices.PAYLOADS["properties"], "verdict": {"type": "keyword"}}}
    monkeypatch.setattr(indices, "PAYLOADS", newer)
    with opened(location) as kept:
        assert kept.push([record(payload(2))]).added == 1
    found = admin.indices.get_mapping(index=location.index)[location.index]["mappings"]["properties"]
    assert found["verdict"] == {"type": "keyword"}


def test_indices_of_before_take_runs_that_say_their_campaign_and_are_searched_by_it(admin, location, monkeypatch):
    metadata = indices.PAYLOADS["properties"]["metadata"]
    known = {name: field for name, field in metadata["properties"].items() if name not in ("campaign", "round")}
    of_before = {**indices.PAYLOADS["properties"], "metadata": {**metadata, "properties": known}}
    with monkeypatch.context() as earlier:
        earlier.setattr(indices, "PAYLOADS", {**indices.PAYLOADS, "properties": of_before})
        with opened(location) as kept:
            kept.push([record(payload(1))])
    new = payload(2)
    new["metadata"] |= {"campaign": "night", "round": 2}
    with opened(location) as kept:
        assert kept.push([record(new)]).added == 1
        assert payloads(kept) == [new, payload(1)]
    query = {"bool": {"filter": [{"term": {"metadata.campaign": "night"}}, {"term": {"metadata.round": 2}}]}}
    assert admin.count(index=location.index, body={"query": query})["count"] == 1


def test_two_that_make_the_indices_at_once_both_get_them(location):
    import threading

    barrier, outcomes = threading.Barrier(6), []

    def make():
        barrier.wait()
        with opened(location) as kept:
            outcomes.append(kept.summary().workloads)

    threads = [threading.Thread(target=make) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcomes == [[]] * 6


def test_bulk_requests_are_bounded_in_documents_and_bytes():
    def chunks(actions):
        bounded = batched(actions, client.CHUNK_ACTIONS, lambda each: len(each.lines), client.CHUNK_BYTES)
        return [len(chunk) for chunk in bounded]

    small = [client.action("index", "i", str(n), {"n": n}) for n in range(2500)]
    assert chunks(small) == [1000, 1000, 500]
    assert chunks(client.action("index", "i", str(n), {"x": "y" * 2**21}) for n in range(5)) == [2, 2, 1]
    huge = [client.action("index", "i", "1", {"x": "y" * 2**23})]
    assert chunks([*huge, *small[:2]]) == [1, 2]
    assert chunks([]) == []


def test_a_document_that_is_too_large_is_rejected_alone(location):
    with opened(location) as kept:
        pushed = kept.push([record(payload(1)), record(payload(2, note="x" * (101 * 2**20))), record(payload(3))])
        assert (pushed.added, len(pushed.rejected)) == (2, 1)
        assert "more than the server takes at once" in pushed.rejected[0].reason
        assert series(kept) == {"speed": 2}


def test_more_runs_than_a_search_gives_at_once_come_back_complete_and_in_order(admin, location, monkeypatch):
    count, most = 2_500, 1000  # of 10,000, unless an index says so
    monkeypatch.setattr(opensearch, "PAGE", most)
    with opened(location) as kept:
        admin.indices.put_settings(index=location.index, body={"index": {"max_result_window": most}})
        kept.push(record(payload(number)) for number in reversed(range(count)))
        seen = [run.time_us for run in kept.runs()]
        assert len(seen) == count
        assert seen == sorted(seen, reverse=True)
        assert values(kept) == [10.0 + number for number in range(count)]


def test_what_is_written_during_a_read_is_not_in_it(location):
    with opened(location) as kept:
        kept.push(record(payload(number)) for number in range(1200))
        reading = kept.runs()
        next(reading)
        kept.push(record(payload(number)) for number in range(5000, 5100))
        assert sum(1 for _ in reading) == 1199


def test_an_older_mapping_that_lacks_no_field_gets_its_version(admin, location):
    with opened(location):
        pass
    body = {"_meta": {"matbench": {"mapping_version": 2, "kind": "payloads"}}}
    admin.indices.put_mapping(index=location.index, body=body)
    with opened(location):
        pass
    found = admin.indices.get_mapping(index=location.index)[location.index]["mappings"]
    assert found["_meta"]["matbench"]["mapping_version"] == indices.SINGLE
