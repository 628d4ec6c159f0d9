"""The indices of an OpenSearch history: their templates, what they refuse, and what is said of others' indices."""

from __future__ import annotations

import json

import pytest
from history_support.payloads import payload
from opensearchpy import OpenSearch

from matrix_benchmarking import history
from matrix_benchmarking.history import HistoryError, record
from matrix_benchmarking.history.opensearch import bulk, documents, mappings

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
    for name, wanted in ((location.index, mappings.PAYLOADS), (location.kpi_index, mappings.KPIS)):
        (template,) = admin.indices.get_index_template(name=f"matbench-{name}")["index_templates"]
        assert template["index_template"]["index_patterns"] == [name]
        assert template["index_template"]["version"] == mappings.VERSION
        found = admin.indices.get_mapping(index=name)[name]["mappings"]
        assert found["_meta"] == wanted["_meta"]
        assert found["dynamic"] == "strict"
        settings = admin.indices.get_settings(index=name)[name]["settings"]["index"]
        assert settings["number_of_shards"] == "1"


def test_the_fields_have_their_types(admin, location):
    labels = {"vus": 8, "image": "fp32", "beta": True, "note": None, "urls": {"log": "https://x"}, "deep": {"a": [1]}}
    with opened(location) as kept:
        kept.push([record(payload(1, labels=labels))])
    fields = admin.indices.get_mapping(index=location.kpi_index)[location.kpi_index]["mappings"]["properties"]
    assert {name: fields[name]["type"] for name in ("@timestamp", "value", "workload", "kpi", "test_uuid")} == {
        "@timestamp": "date",
        "value": "double",
        "workload": "keyword",
        "kpi": "keyword",
        "test_uuid": "keyword",
    }
    assert fields["urls"] == {"type": "object", "enabled": False}
    kinds = {name: field["type"] for name, field in fields["labels"]["properties"].items()}
    assert kinds == {"vus": "keyword", "image": "keyword", "beta": "keyword", "deep": "keyword"}
    (hit,) = admin.search(index=location.kpi_index)["hits"]["hits"]
    shown = {name: value for name, value in labels.items() if name != "urls"}
    assert hit["_source"]["labels"] == {**shown, "deep": '{"a":[1]}'}
    assert json.loads(hit["_source"]["matbench"]["labels"]) == shown
    assert hit["_source"]["urls"] == {"log": "https://x"}


def test_dashboards_find_kpis_by_labels_and_time(admin, location):
    with opened(location) as kept:
        kept.push(record(payload(number, labels={"vus": number % 2})) for number in range(10))
    query = {
        "bool": {"filter": [{"term": {"labels.vus": "1"}}, {"range": {"@timestamp": {"lt": "2026-03-01T12:06Z"}}}]}
    }
    found = admin.search(index=location.kpi_index, body={"query": query, "aggs": {"m": {"avg": {"field": "value"}}}})
    assert (found["hits"]["total"]["value"], found["aggregations"]["m"]["value"]) == (3, 13.0)


def test_unknown_fields_are_refused(admin, location):
    with opened(location):
        pass
    for index in (location.index, location.kpi_index):
        line = documents.action("index", index, "x", "x", {"surprise": 1})
        ((_, status, reason),) = bulk.send(admin, [line])
        assert (status, "strict_dynamic_mapping_exception" in reason) == (400, True)


def test_an_index_with_other_types_is_explained_and_untouched(admin, location):
    body = {"mappings": {"properties": {"value": {"type": "text"}, "@timestamp": {"type": "keyword"}}}}
    admin.indices.create(index=location.kpi_index, body=body)
    with pytest.raises(HistoryError) as caught:
        opened(location)
    sentence = str(caught.value)
    assert f"index '{location.kpi_index}' was not made for the kpis of a history" in sentence
    assert "'value' is text and should be double" in sentence
    assert "'@timestamp' is keyword and should be date" in sentence
    assert "Name another index" in sentence
    assert admin.indices.get_mapping(index=location.kpi_index)[location.kpi_index]["mappings"] == body["mappings"]


def test_an_index_without_our_mark_is_not_taken(admin, location):
    admin.indices.create(index=location.index)
    with pytest.raises(HistoryError, match="would not refuse what doesn't belong in it"):
        opened(location)


def test_payloads_and_kpis_can_not_change_places(location):
    with opened(location):
        pass
    import dataclasses

    swapped = dataclasses.replace(location, index=location.kpi_index, kpi_index=location.index)
    with pytest.raises(HistoryError, match="it holds the kpis of a history"):
        opened(swapped)


def test_a_newer_mapping_is_refused(admin, location):
    with opened(location):
        pass
    body = {"_meta": {"matbench": {"mapping_version": 99, "kind": "payloads"}}}
    admin.indices.put_mapping(index=location.index, body=body)
    for writable in (True, False):
        with pytest.raises(HistoryError, match=r"newer matbench \(mapping 99; this one knows 3\): update matbench"):
            opened(location, writable=writable)


def test_an_older_mapping_gets_the_fields_that_it_lacks(admin, location, monkeypatch):
    with opened(location) as kept:
        kept.push([record(payload(1))])
    newer = {**mappings.PAYLOADS, "properties": {**mappings.PAYLOADS["properties"], "verdict": {"type": "keyword"}}}
    monkeypatch.setattr(mappings, "PAYLOADS", newer)
    with opened(location) as kept:
        assert kept.push([record(payload(2))]).added == 1
    found = admin.indices.get_mapping(index=location.index)[location.index]["mappings"]["properties"]
    assert found["verdict"] == {"type": "keyword"}


def test_indices_of_before_take_runs_that_say_their_campaign_and_are_searched_by_it(admin, location, monkeypatch):
    metadata = mappings.PAYLOADS["properties"]["metadata"]
    known = {name: field for name, field in metadata["properties"].items() if name not in ("campaign", "round")}
    of_before = {**mappings.PAYLOADS["properties"], "metadata": {**metadata, "properties": known}}
    with monkeypatch.context() as earlier:
        earlier.setattr(mappings, "PAYLOADS", {**mappings.PAYLOADS, "properties": of_before})
        with opened(location) as kept:
            kept.push([record(payload(1))])
    new = payload(2)
    new["metadata"] |= {"campaign": "night", "round": 2}
    with opened(location) as kept:
        assert kept.push([record(new)]).added == 1
        assert list(kept.payloads()) == [new, payload(1)]
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
    small = [documents.action("index", "i", str(n), "r", {"n": n}) for n in range(2500)]
    assert [len(chunk) for chunk in bulk.chunks(small)] == [1000, 1000, 500]
    large = [documents.action("index", "i", str(n), "r", {"x": "y" * 2**21}) for n in range(5)]
    assert [len(chunk) for chunk in bulk.chunks(large)] == [2, 2, 1]
    huge = [documents.action("index", "i", "1", "r", {"x": "y" * 2**23})]
    assert [len(chunk) for chunk in bulk.chunks([*huge, *small[:2]])] == [1, 2]
    assert list(bulk.chunks([])) == []


def test_a_document_that_is_too_large_is_rejected_alone(location):
    with opened(location) as kept:
        pushed = kept.push([record(payload(1)), record(payload(2, note="x" * (101 * 2**20))), record(payload(3))])
        assert (pushed.added, len(pushed.rejected)) == (2, 1)
        assert "more than the server takes at once" in pushed.rejected[0].reason
        assert sum(each.count for each in kept.series()) == 2


def test_more_runs_than_a_search_gives_at_once_come_back_complete_and_in_order(location):
    count = 11_000  # a search gives 10,000
    with opened(location) as kept:
        kept.push(record(payload(number)) for number in reversed(range(count)))
        seen = [run.time_us for run in kept.runs()]
        assert len(seen) == count
        assert seen == sorted(seen, reverse=True)
        assert list(kept.values(kept.series()[0]).values) == [10.0 + number for number in range(count)]


def test_what_is_written_during_a_read_is_not_in_it(location):
    with opened(location) as kept:
        kept.push(record(payload(number)) for number in range(1200))
        reading = kept.runs()
        next(reading)
        kept.push(record(payload(number)) for number in range(5000, 5100))
        assert sum(1 for _ in reading) == 1199


def test_filters_find_what_is_too_long_for_the_index_in_any_alphabet(location):
    from matrix_benchmarking import filters

    values = ["x" * 999, "x" * 1000, "\U0001f600" * 499, "\U0001f600" * 600, "é" * 1200]
    with opened(location) as kept:
        kept.push(record(payload(number, settings={"s": value})) for number, value in enumerate(values))
        for number, value in enumerate(values):
            query = history.Query(filters=filters.parse(f"s={value}"))
            assert [each["results"]["number"] for each in kept.payloads(query)] == [number]


def test_an_older_mapping_that_lacks_no_field_gets_its_version(admin, location):
    with opened(location):
        pass
    for index, kind in ((location.index, "payloads"), (location.kpi_index, "kpis")):
        body = {"_meta": {"matbench": {"mapping_version": 2, "kind": kind}}}
        admin.indices.put_mapping(index=index, body=body)
        with opened(location):
            pass
        found = admin.indices.get_mapping(index=index)[index]["mappings"]
        assert found["_meta"]["matbench"]["mapping_version"] == mappings.VERSION
