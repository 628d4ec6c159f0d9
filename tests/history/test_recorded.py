"""When a history first saw a run: kept by both, carried by exports, and told of histories of before by their order."""

from __future__ import annotations

import json
import sqlite3

import pytest
from builders import speed_workload
from history_support.before import EXPORTS, PLACES, make_old_documents, make_old_file
from history_support.payloads import payload, test_id
from history_support.uploads import payloads
from opensearchpy import OpenSearch

from matrix_benchmarking import history
from matrix_benchmarking.history import HistoryError, read, record, records, transfer
from matrix_benchmarking.history.delivery import Outbox

FROZEN_US = 1_800_000_000_000_000


def push(kept, *payloads, **options):
    return kept.push(map(record, payloads), **options)


def seen(kept):
    """When each run was first seen, by the number of its test."""
    return {each.payload["results"]["number"]: each.recorded for each in kept.records()}


def export(kept, path):
    with path.open("wb") as stream:
        transfer.write_export(kept, stream)
    return path


@pytest.fixture
def stopped_clock(monkeypatch):
    """The clock stands still until it is set to another microsecond."""
    now = [FROZEN_US]
    monkeypatch.setattr(records.time, "time_ns", lambda: now[0] * 1000)
    return now


def test_runs_of_one_push_have_one_moment_and_those_of_the_next_a_later_one(kept):
    push(kept, payload(2), payload(1))
    push(kept, payload(0), payload(3, time=None))
    moments = seen(kept)
    assert moments[1] == moments[2] < moments[0] == moments[3]
    assert {era for era, _ in moments.values()} == {1}
    assert kept.last_recorded() == moments[3][1]


def test_a_push_of_many_chunks_has_one_moment(kept):
    push(kept, *map(payload, range(1100)))
    assert len(set(seen(kept).values())) == 1


def test_a_push_is_later_than_each_earlier_one_where_the_clock_stands_still_or_goes_back(kept, stopped_clock):
    assert kept.last_recorded() is None
    push(kept, payload(1))
    push(kept, payload(2))
    stopped_clock[0] -= 10**9
    push(kept, payload(3))
    assert seen(kept) == {1: (1, FROZEN_US), 2: (1, FROZEN_US + 1), 3: (1, FROZEN_US + 2)}


def test_what_is_there_keeps_its_first_moment_when_it_comes_again_or_is_replaced(kept):
    push(kept, payload(1), payload(2))
    first = seen(kept)
    push(kept, payload(1), payload(2, {"speed": 99.0}), payload(3), replace=True)
    assert [each["kpis"]["speed"]["value"] for each in payloads(kept)][1] == 99.0
    assert {number: seen(kept)[number] for number in (1, 2)} == first
    assert seen(kept)[3] > first[1]


def test_a_matrix_out_of_a_history_says_when_each_run_was_first_seen(place):
    with history.open_history(place, writable=True) as kept:
        push(kept, payload(2))
        push(kept, payload(1))
        moments = seen(kept)
    one, two = read.read_matrix(speed_workload(), place)
    assert (one.recorded, two.recorded) == (moments[1], moments[2])


@pytest.mark.parametrize("first", [pytest.param("sqlite"), pytest.param("opensearch")])
@pytest.mark.xdist_group("opensearch")
def test_exports_carry_the_moments_in_any_order_and_twice(new_place, tmp_path, first):
    second = {"sqlite": "opensearch", "opensearch": "sqlite"}[first]
    with history.open_history(new_place(first), writable=True) as kept:
        push(kept, payload(1), payload(2))
        early = export(kept, tmp_path / "early.jsonl")
        push(kept, payload(3))
        late = export(kept, tmp_path / "late.jsonl")
        moments = seen(kept)
    for order in ([early, late], [late, early], [late, late]):
        with history.open_history(new_place(second), writable=True) as other:
            for each in order:
                transfer.read_import(other, each)
            assert seen(other) == moments
            push(other, payload(4))
            assert seen(other)[4] > moments[3]


def test_an_import_leaves_the_moments_of_what_is_there(kept, tmp_path):
    push(kept, payload(1))
    path = export(kept, tmp_path / "export.jsonl")
    with history.open_history(history.SQLiteLocation(tmp_path / "other.db"), writable=True) as other:
        push(other, payload(1))
        first = seen(other)
        assert first[1] > seen(kept)[1]
        transfer.read_import(other, path, replace=True)
        assert seen(other) == first


@pytest.mark.parametrize("version", EXPORTS)
def test_the_runs_of_an_export_of_before_are_of_one_upload(kept, version):
    push(kept, payload(9))
    imported = transfer.read_import(kept, EXPORTS[version])
    assert (imported.pushed.added, imported.alarms_added) == (5, version - 1)
    moments = seen(kept)
    assert len({moments[number] for number in PLACES}) == 1
    assert moments[1] > moments[9]


@pytest.mark.parametrize("recorded", ["[2,5]", "[1,-5]", "[0,99999999999999999999]", '"now"', "[1]"])
def test_a_moment_that_is_none_imports_nothing(kept, tmp_path, recorded):
    push(kept, payload(1))
    path = export(kept, tmp_path / "export.jsonl")
    line = json.loads(path.read_text().splitlines()[1])
    before = json.dumps(line["recorded"], separators=(",", ":"))
    content = path.read_text().replace(f'{{"recorded":{before}', f'{{"recorded":{recorded}')
    lines = content.splitlines(keepends=True)
    checksum = transfer.hashlib.blake2b(lines[1].encode(), digest_size=16).hexdigest()
    path.write_text("".join(lines[:2]) + json.dumps({"payloads": 1, "checksum": checksum}) + "\n")
    with history.open_history(history.SQLiteLocation(tmp_path / "other.db"), writable=True) as other:
        with pytest.raises(HistoryError, match="payload 1"):
            transfer.read_import(other, path)
        assert list(other.runs()) == []


class TestHistoriesOfBefore:
    """Each number is the place of its run in the order in which they were kept: 3 | 1, 4 | 2, 5."""

    @pytest.mark.parametrize("schema", [1, 2])
    def test_a_file_is_read_as_it_is_in_the_order_of_its_rows(self, tmp_path, schema):
        path = make_old_file(tmp_path / "h.db", schema)
        before = path.read_bytes()
        with history.open_history(history.SQLiteLocation(path), writable=False) as kept:
            assert seen(kept) == PLACES
            assert kept.last_recorded() is None
            assert [each.id for each in kept.records_of([test_id(1)])] == [test_id(1)]
        assert path.read_bytes() == before

    @pytest.mark.parametrize("schema", [1, 2])
    def test_a_file_is_migrated_and_what_comes_is_newer(self, tmp_path, schema):
        path = make_old_file(tmp_path / "h.db", schema)
        with history.open_history(history.SQLiteLocation(path), writable=True) as kept:
            assert seen(kept) == PLACES
            push(kept, payload(3, {"speed": 99.0}, time=None), payload(6), replace=True)
            moments = seen(kept)
            assert {number: moments[number] for number in PLACES} == PLACES
            assert moments[6] > max(PLACES.values())
            kept.delete([test_id(5)])
            push(kept, payload(5))
            assert seen(kept)[5] > moments[6]

    def test_places_are_exported_and_imported(self, tmp_path, kept):
        path = make_old_file(tmp_path / "h.db", 2)
        with history.open_history(history.SQLiteLocation(path), writable=True) as old:
            push(old, payload(6))
            moments = seen(old)
            exported = export(old, tmp_path / "export.jsonl")
        for _ in range(2):
            transfer.read_import(kept, exported)
            assert seen(kept) == moments

    def test_places_of_two_histories_are_not_compared(self, tmp_path, kept):
        path = make_old_file(tmp_path / "h.db", 2)
        connection = sqlite3.connect(path)
        connection.execute("DELETE FROM payloads WHERE id = ?", (test_id(3),))
        connection.execute("UPDATE payloads SET number = number - 1")
        connection.commit()
        connection.close()
        with history.open_history(history.SQLiteLocation(path), writable=True) as other:
            theirs = export(other, tmp_path / "theirs.jsonl")
        with history.open_history(
            history.SQLiteLocation(make_old_file(tmp_path / "mine.db", 2)), writable=True
        ) as mine:
            transfer.read_import(kept, export(mine, tmp_path / "mine.jsonl"))
        kept.delete([test_id(4), test_id(5)])
        transfer.read_import(kept, theirs)
        moments = seen(kept)
        assert {number: moments[number] for number in (1, 2, 3)} == {each: PLACES[each] for each in (1, 2, 3)}
        assert moments[4] == moments[5] > (1, 0)

    @pytest.mark.xdist_group("opensearch")
    def test_documents_are_in_the_order_of_their_writes(self, at, opensearch):
        location = at(opensearch.url)
        make_old_documents(opensearch.url, location)
        with history.open_history(location, writable=False) as kept:
            assert sorted(PLACES, key=seen(kept).__getitem__) == sorted(PLACES, key=PLACES.__getitem__)
            assert {era for era, _ in seen(kept).values()} == {0}
        with history.open_history(location, writable=True) as kept:
            places = seen(kept)
            push(kept, payload(3, {"speed": 99.0}, time=None), payload(6), replace=True)
            assert {number: seen(kept)[number] for number in PLACES} == places
            assert seen(kept)[6] > max(places.values())

    @pytest.mark.xdist_group("opensearch")
    def test_documents_of_several_shards_are_in_no_order(self, at, opensearch):
        location = at(opensearch.url)
        make_old_documents(opensearch.url, location, shards=2)
        with history.open_history(location, writable=True) as kept:
            assert set(seen(kept).values()) == {None}
            push(kept, payload(3, {"speed": 99.0}, time=None), payload(6), replace=True)
            assert seen(kept)[3] is None
            assert seen(kept)[6] > (1, 0)

    @pytest.mark.xdist_group("opensearch")
    def test_a_matbench_that_would_leave_the_moments_out_refuses_the_indices(self, at, opensearch):
        location = at(opensearch.url)
        make_old_documents(opensearch.url, location)
        with history.open_history(location, writable=True), OpenSearch([opensearch.url]) as admin:
            mapping = admin.indices.get_mapping(index=location.index)[location.index]["mappings"]
        assert mapping["_meta"]["matbench"]["mapping_version"] >= 2


class TestTheOutbox:
    def batch(self, outbox, *payloads):
        return outbox.add(lambda stream: stream.write(b"".join(json.dumps(each).encode() + b"\n" for each in payloads)))

    @pytest.fixture
    def outbox(self, outboxes):
        return Outbox(outboxes, "somewhere")

    def test_a_batch_that_waited_was_first_seen_when_it_was_put_there(self, outbox, tmp_path, stopped_clock):
        batch = self.batch(outbox, payload(1), payload(2))
        stopped_clock[0] += 3_600_000_000
        with history.open_history(history.SQLiteLocation(tmp_path / "h.db"), writable=True) as kept:
            push(kept, payload(3))
            outbox.deliver(outbox.batches()[0], kept)
            assert seen(kept) == {1: (1, FROZEN_US), 2: (1, FROZEN_US), 3: (1, stopped_clock[0])}
        assert not batch.path.exists()

    def test_each_batch_is_an_upload_of_its_own(self, outbox, tmp_path, stopped_clock):
        for number in (2, 1):
            self.batch(outbox, payload(number))
            stopped_clock[0] += 1
        with history.open_history(history.SQLiteLocation(tmp_path / "h.db"), writable=True) as kept:
            for batch in outbox.batches():
                outbox.deliver(batch, kept)
            assert seen(kept) == {2: (1, FROZEN_US), 1: (1, FROZEN_US + 1)}

    def test_a_new_batch_is_later_than_all_that_is_there_whatever_the_clock_says(self, outbox, tmp_path, stopped_clock):
        with history.open_history(history.SQLiteLocation(tmp_path / "h.db"), writable=True) as kept:
            push(kept, payload(1))
            stopped_clock[0] -= 10**6
            batch = outbox.as_newest(self.batch(outbox, payload(2)), kept)
            assert outbox.batches() == [batch]  # also for a delivery that goes on after a kill
            outbox.deliver(batch, kept)
            assert seen(kept) == {1: (1, FROZEN_US), 2: (1, FROZEN_US + 1)}

    def test_a_batch_of_before_is_delivered(self, outbox, tmp_path):
        batch = self.batch(outbox, payload(1))
        head, _, rest = batch.path.read_bytes().partition(b"\n")
        header = {name: value for name, value in json.loads(head).items() if name != "moment_us"}
        batch.path.write_bytes(json.dumps(header).encode() + b"\n" + rest)
        with history.open_history(history.SQLiteLocation(tmp_path / "h.db"), writable=True) as kept:
            assert outbox.deliver(outbox.batches()[0], kept).added == 1
            assert seen(kept)[1] > (1, FROZEN_US - 10**15)
