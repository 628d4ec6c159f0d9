"""The outbox on disk: batches are whole, ordered, locked, versioned; what is none of ours is left alone."""

from __future__ import annotations

import threading

import msgspec
import pytest
from history_support.payloads import payload, test_id

from matrix_benchmarking import history
from matrix_benchmarking.history import HistoryError, Pushed, UnavailableError, delivery
from matrix_benchmarking.history.delivery import Outbox
from matrix_benchmarking.history.plan import Refused

PLACE = "https://host:9200/runs"


def writer(*numbers):
    def write(stream):
        for number in numbers:
            stream.write(msgspec.json.encode(payload(number)) + b"\n")

    return write


class Server:
    """Takes records until *fails_after* of them; refuses those in *refuses*."""

    def __init__(self, fails_after=None, refuses=()):
        self.fails_after, self.refuses, self.got = fails_after, refuses, []

    def push(self, records, *, replace=False, progress=None):
        pushed = Pushed()
        for number, each in enumerate(records):
            if number == self.fails_after:
                error = UnavailableError("away", number)
                error.not_kept = [each.id for each in pushed.rejected]
                raise error
            if each.id in self.refuses:
                pushed.rejected.append(Refused(each.id, "no"))
            else:
                self.got.append((each.payload["results"]["number"], replace))
                pushed.added += 1
        return pushed


@pytest.fixture
def box(tmp_path):
    return Outbox(tmp_path, PLACE)


def numbers(batch):
    return [each.payload["results"]["number"] for each in batch.records()]


def test_batches_come_in_the_order_in_which_they_were_added(box):
    for number in range(12):
        box.add(writer(number), replace=number % 2 == 0)
    assert [numbers(batch) for batch in box.batches()] == [[number] for number in range(12)]
    assert [batch.replace for batch in box.batches()] == [True, False] * 6
    assert box.pending() == 12


def test_locations_have_outboxes_of_their_own(tmp_path, box):
    box.add(writer(1))
    assert Outbox(tmp_path, "https://other:9200/runs").pending() == 0
    assert Outbox(tmp_path, PLACE).pending() == 1


def test_what_is_delivered_leaves_with_its_wish_to_replace(box):
    server = Server()
    box.deliver(box.add(writer(1, 2), replace=True), server)
    assert server.got == [(1, True), (2, True)]
    assert box.batches() == []


def test_what_was_acknowledged_before_a_failure_is_not_kept(box):
    batch = box.add(writer(*range(10)), replace=True)
    with pytest.raises(UnavailableError):
        box.deliver(batch, Server(fails_after=4))
    (rest,) = box.batches()
    assert (numbers(rest), rest.replace) == ([4, 5, 6, 7, 8, 9], True)
    with pytest.raises(UnavailableError):
        box.deliver(rest, Server(fails_after=0))
    assert numbers(box.batches()[0]) == [4, 5, 6, 7, 8, 9]
    server = Server()
    box.deliver(box.batches()[0], server)
    assert [number for number, _ in server.got] == [4, 5, 6, 7, 8, 9]


def test_what_was_refused_before_a_failure_stays_with_what_was_not_sent(box):
    with pytest.raises(UnavailableError):
        box.deliver(box.add(writer(*range(6))), Server(fails_after=4, refuses=[test_id(1), test_id(3)]))
    (rest,) = box.batches()
    assert numbers(rest) == [1, 3, 4, 5]


def test_a_failure_before_anything_was_acknowledged_keeps_all(box):
    with pytest.raises(UnavailableError):
        box.deliver(box.add(writer(*range(3))), Server(fails_after=0))
    assert numbers(box.batches()[0]) == [0, 1, 2]


def test_what_is_rejected_stays_and_nothing_else(box):
    box.deliver(box.add(writer(1, 2, 3)), Server(refuses=[test_id(2)]))
    (rest,) = box.batches()
    assert numbers(rest) == [2]


def test_a_batch_that_somebody_else_delivered_is_no_error(box):
    batch = box.add(writer(1))
    box.deliver(batch, Server())
    assert box.deliver(batch, Server()) is None


def test_a_batch_is_delivered_by_one_at_a_time(box):
    batch = box.add(writer(1))
    inside, go_on = threading.Event(), threading.Event()

    class Slow(Server):
        def push(self, records, *, replace=False, progress=None):
            inside.set()
            go_on.wait(10)
            return super().push(records, replace=replace, progress=progress)

    slow, fast, outcomes = Slow(), Server(), []
    first = threading.Thread(target=lambda: outcomes.append(box.deliver(batch, slow)))
    first.start()
    inside.wait(10)
    second = threading.Thread(target=lambda: outcomes.append(box.deliver(batch, fast)))
    second.start()
    second.join(0.2)
    assert second.is_alive()
    go_on.set()
    first.join()
    second.join()
    assert (slow.got, fast.got) == ([(1, False)], [])


def test_a_writer_that_fails_leaves_nothing(box):
    def write(stream):
        stream.write(b"half a line")
        raise HistoryError("no")

    with pytest.raises(HistoryError):
        box.add(write)
    assert list(box.directory.iterdir()) == []


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "no batch of an outbox"),
        (b"[]\n", "no batch of an outbox"),
        (b'{"location": "x"}\n', "no batch of an outbox"),
        (b"\xff\n", "no batch of an outbox"),
        (b'{"matbench_outbox": 2, "location": "x", "replace": false}\n', "newer matbench"),
    ],
)
def test_a_strange_file_is_a_sentence_that_names_it(box, content, sentence):
    box.directory.mkdir(parents=True)
    (box.directory / "000001-x.jsonl").write_bytes(content)
    box.add(writer(1))
    (said,) = box.strange()
    assert sentence in said
    assert "000001-x.jsonl" in said
    assert [numbers(batch) for batch in box.batches()] == [[1]]
    assert box.drop() == 1
    assert list(box.directory.iterdir()) == []


def test_a_damaged_payload_is_a_sentence_and_the_batch_stays(box):
    batch = box.add(lambda stream: stream.write(msgspec.json.encode(payload(1)) + b'\n{"metadata": \n'))
    with pytest.raises(HistoryError, match=r"payload 2 is no JSON"):
        box.deliver(batch, Server())
    assert len(box.batches()) == 1


def test_drop_removes_everything(box):
    box.add(writer(1, 2))
    box.add(writer(3))
    assert box.drop() == 3
    assert box.batches() == []
    assert box.drop() == 0


def test_the_directory_is_named_by_the_environment(tmp_path):
    assert delivery.outboxes({"MATBENCH_OUTBOX": str(tmp_path)}) == tmp_path
    assert delivery.outboxes({}).name == "outbox"


def test_an_empty_upload_leaves_nothing_behind(box, tmp_path):
    with history.open_history(history.SQLiteLocation(tmp_path / "h.db"), writable=True) as kept:
        assert box.deliver(box.add(writer()), kept) == Pushed()
    assert box.batches() == []


def test_a_dry_run_into_a_history_that_is_not_there_yet_counts_all_and_makes_none(place):
    foreseen = delivery.dry_run(writer(1, 2, 2), place).pushed
    assert (foreseen.added, foreseen.unchanged) == (2, 1)
    with pytest.raises(HistoryError, match="yet: 'matbench upload_lts' makes it"):
        history.open_history(place, writable=False)
