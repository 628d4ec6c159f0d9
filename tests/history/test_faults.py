"""The fault table of docs/history.md, on the genuine OpenSearch: nothing is lost and nothing doubled."""

from __future__ import annotations

import dataclasses
import datetime as dt
import itertools
import shutil
import subprocess
import threading
import time

import msgspec
import pytest
from history_support.fault_proxy import FaultProxy
from history_support.payloads import payload, test_id
from history_support.uploads import kept_at, kill_after, kpis_agree, series, values, writer

from matrix_benchmarking import history
from matrix_benchmarking.errors import OutputError
from matrix_benchmarking.history import HistoryError, Query, UnavailableError, delivery, record
from matrix_benchmarking.history import opensearch_client as client
from matrix_benchmarking.history.delivery import Outbox

pytestmark = pytest.mark.xdist_group("opensearch")


@pytest.fixture
def faulty(opensearch):
    with FaultProxy(opensearch.port) as proxy:
        yield proxy


def test_a_server_killed_in_the_middle_of_a_bulk_gets_the_rest_later(opensearch, at, outboxes):
    location, count = at(opensearch.url), 4_000
    under_way = threading.Event()

    def kill_in_the_middle():
        under_way.wait(60)
        time.sleep(0.12)
        opensearch.kill()

    def slowly(done: int, total: int) -> None:
        if done > 500:
            under_way.set()
            time.sleep(0.1)  # else all may be there before a busy machine has killed the server

    killer = threading.Thread(target=kill_in_the_middle)
    killer.start()
    try:
        with pytest.raises(delivery.UndeliveredError, match="the next upload or 'matbench history flush' delivers"):
            delivery.upload(writer(*range(count)), location, outboxes, progress=slowly)
    finally:
        under_way.set()
        killer.join()
        opensearch.start()
    waiting = Outbox(outboxes, str(location)).pending()
    assert 0 < waiting < count
    pushed = delivery.flush(location, outboxes)
    assert pushed.added + pushed.unchanged == waiting
    assert kept_at(location) == (count, count)
    assert Outbox(outboxes, str(location)).pending() == 0


def test_a_client_killed_in_the_middle_of_an_upload_delivers_the_rest_later(opensearch, at, outboxes):
    location = at(opensearch.url)
    script = (
        "import sys, msgspec\n"
        "from pathlib import Path\n"
        "from history_support.payloads import payload\n"
        "from matrix_benchmarking import history\n"
        "from matrix_benchmarking.history import delivery\n"
        "from matrix_benchmarking.history.opensearch_location import Credentials\n"
        f"names = {[location.url, location.index]!r}\n"
        "place = history.OpenSearchLocation(*names, Credentials())\n"
        "def write(stream):\n"
        "    for number in range(3000):\n"
        "        stream.write(msgspec.json.encode(payload(number)) + b'\\n')\n"
        "def show(done, total):\n"
        "    print(done, flush=True)\n"
        f"delivery.upload(write, place, Path({str(outboxes)!r}), progress=show)\n"
    )
    kill_after(script, "500")
    assert Outbox(outboxes, str(location)).pending() == 3000
    pushed = delivery.flush(location, outboxes)
    assert pushed.unchanged >= 500
    assert pushed.added > 0
    assert kept_at(location) == (3000, 3000)


def test_a_refused_connection_keeps_everything_for_the_next_upload(opensearch, at, outboxes, impatient):
    away = at("http://127.0.0.1:9")
    with pytest.raises(delivery.UndeliveredError, match=r"[Cc]onnection refused; is the server running"):
        delivery.upload(writer(1, 2), away, outboxes)
    with pytest.raises(delivery.UndeliveredError, match="3 runs wait in the outbox"):
        delivery.upload(writer(3), away, outboxes)
    back = dataclasses.replace(away, url=opensearch.url)
    for name in outboxes.iterdir():  # the same server under the address at which it is back
        shutil.move(name, outboxes / Outbox(outboxes, str(back)).directory.name)
    delivered = delivery.upload(writer(3, 4), back, outboxes)
    assert (delivered.earlier.added, delivered.pushed.added, delivered.pushed.unchanged) == (3, 1, 1)
    assert kept_at(back) == (4, 4)
    assert Outbox(outboxes, str(back)).batches() == []


def test_a_connection_reset_before_the_server_saw_the_request_is_tried_again(faulty, at, outboxes, impatient):
    location = at(faulty.url)
    faulty.reset_before = 2
    assert delivery.upload(writer(*range(10)), location, outboxes).pushed.added == 10
    assert kept_at(location) == (10, 10)


def test_a_connection_reset_after_the_server_did_its_work_doubles_nothing(faulty, at, outboxes, impatient):
    location = at(faulty.url)
    faulty.reset_after = 2
    pushed = delivery.upload(writer(*range(10)), location, outboxes).pushed
    assert pushed.added + pushed.unchanged == 10
    assert kept_at(location) == (10, 10)


def test_connections_that_keep_breaking_leave_the_rest_in_the_outbox(faulty, at, outboxes, impatient):
    location = at(faulty.url)
    faulty.reset_after = 1000
    with pytest.raises(delivery.UndeliveredError, match="broke off the connection"):
        delivery.upload(writer(*range(10)), location, outboxes)
    faulty.reset_after = 0
    delivery.flush(location, outboxes)
    assert kept_at(location) == (10, 10)


@pytest.mark.parametrize("status", [429, 503])
def test_a_storm_of_busy_answers_is_waited_out(faulty, at, outboxes, impatient, status):
    location = at(faulty.url)
    faulty.busy, faulty.busy_status = 6, status
    assert delivery.upload(writer(*range(10)), location, outboxes).pushed.added == 10
    assert faulty.seen == 6 + 2
    assert kept_at(location) == (10, 10)


def test_a_storm_that_does_not_end_leaves_everything_in_the_outbox(faulty, at, outboxes, impatient):
    location = at(faulty.url)
    faulty.busy = 10**6
    with pytest.raises(delivery.UndeliveredError, match=r"is busy and stays so \(status 429\)"):
        delivery.upload(writer(*range(10)), location, outboxes)
    assert faulty.seen == client.ATTEMPTS
    faulty.busy = 0
    assert delivery.flush(location, outboxes).added == 10
    assert kept_at(location) == (10, 10)


def test_the_pauses_between_attempts_grow_and_are_bounded():
    pauses = [client.pause_s(attempt) for attempt in range(1, client.ATTEMPTS)]
    assert 0.3 < pauses[0] < 0.7
    assert all(later > earlier for earlier, later in itertools.pairwise(pauses[:5]))
    assert 30 < sum(pauses) < 70
    assert max(pauses) < 25


def test_a_full_disk_on_our_side_keeps_nothing_by_half(opensearch, at, tmp_path):
    mount = tmp_path / "disk"
    mount.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "t", str(mount)], check=False).returncode == 0
    outboxes = mount / "outboxes"
    location = at(opensearch.url)
    try:
        if not mounted:  # a file in its place can't be written either
            outboxes.write_text("")
        with pytest.raises(OutputError, match=r"No space left|not a directory"):
            delivery.upload(writer(*range(1000)), location, outboxes)
        assert Outbox(outboxes, str(location)).batches() == []
        if mounted:
            assert delivery.upload(writer(1), location, outboxes).pushed.added == 1
    finally:
        if mounted:
            subprocess.run(["umount", str(mount)], check=True)


def test_a_clock_that_is_wrong_moves_runs_and_loses_none(opensearch, at, outboxes):
    location = at(opensearch.url)
    moments = {1: "2026-03-01T12:00:00+00:00", 2: "2077-01-01T00:00:00+00:00", 3: "1970-01-01T00:00:00+00:00"}
    for number, moment in moments.items():
        delivery.upload(writer(number, time=moment), location, outboxes)
    again = delivery.upload(writer(2, time=moments[2]), location, outboxes).pushed
    assert again.unchanged == 1  # who pushes, and when, is no part of a record
    with history.open_history(location, writable=False) as kept:
        assert [run.id for run in kept.runs()] == [test_id(2), test_id(1), test_id(3)]
        now = record(payload(1)).time_us + 10**6
        assert kept.prunable(None, before_us=now) == [test_id(1), test_id(3)]
        assert [run.id for run in kept.runs(Query(since_us=now))] == [test_id(2)]


def test_a_process_killed_while_it_writes_the_outbox_leaves_no_half_batch(outboxes, at, opensearch):
    location = at(opensearch.url)
    script = (
        "import sys, msgspec\n"
        "from pathlib import Path\n"
        "from history_support.payloads import payload\n"
        "from matrix_benchmarking.history.delivery import Outbox\n"
        "def write(stream):\n"
        "    for number in range(10**9):\n"
        "        stream.write(msgspec.json.encode(payload(number)) + b'\\n')\n"
        "        if number == 1000:\n"
        "            stream.flush()\n"
        "            print('under way', flush=True)\n"
        f"Outbox(Path({str(outboxes)!r}), {str(location)!r}).add(write)\n"
    )
    kill_after(script, "under way")
    outbox = Outbox(outboxes, str(location))
    assert len(list(outbox.directory.iterdir())) == 1
    assert outbox.batches() == []
    assert delivery.upload(writer(1), location, outboxes).pushed.added == 1
    assert kept_at(location) == (1, 1)


def refused_by_the_server(number: int) -> bytes:
    """A payload, as a line, with a number that fits into no field of the server's."""
    made = payload(number)
    made["metadata"]["exit_code"] = 2**70
    return msgspec.json.encode(made) + b"\n"


def test_a_document_that_the_server_refuses_is_named_and_stays_in_the_outbox(opensearch, at, outboxes, monkeypatch):
    location = at(opensearch.url)

    def write(stream):
        writer(1)(stream)
        stream.write(refused_by_the_server(2))
        writer(3)(stream)

    pushed = delivery.upload(write, location, outboxes).pushed
    assert (pushed.added, [each.id for each in pushed.rejected]) == (2, [test_id(2)])
    assert "out of range" in pushed.rejected[0].reason
    assert kept_at(location) == (2, 2)
    assert Outbox(outboxes, str(location)).pending() == 1
    assert Outbox(outboxes, str(location)).drop() == 1


def test_a_disk_that_is_full_on_the_server_is_an_absence_that_ends(opensearch, at, outboxes, impatient):
    from opensearchpy import OpenSearch

    location = at(opensearch.url)
    delivery.upload(writer(1), location, outboxes)
    admin = OpenSearch([opensearch.url])
    block = {"index.blocks.read_only_allow_delete": True}  # what the server sets itself at its flood stage
    admin.indices.put_settings(index=location.index, body=block)
    with pytest.raises((delivery.UndeliveredError, HistoryError)):
        delivery.upload(writer(2), location, outboxes)
    admin.indices.put_settings(index=location.index, body={"index.blocks.read_only_allow_delete": None})
    delivery.flush(location, outboxes)
    assert kept_at(location) == (2, 2)
    admin.close()


def test_patience_ends_where_an_answer_is_no_use_of_waiting():
    from opensearchpy import exceptions

    calls = []

    def refuse():
        calls.append(1)
        raise exceptions.RequestError(400, "parse_exception", {})

    with pytest.raises(exceptions.RequestError):
        client.patiently(refuse, sleep=lambda seconds: None)
    assert len(calls) == 1


def test_an_unavailable_server_says_how_much_it_has_acknowledged(faulty, at, impatient):
    location = at(faulty.url)
    with history.open_history(location, writable=True) as kept:
        kept.push([record(payload(0))])
        done = []

        def storm(count):
            done.append(count)
            faulty.busy = 10**6

        with pytest.raises(UnavailableError) as caught:
            kept.push((record(payload(number)) for number in range(1, 2000)), progress=storm)
    assert caught.value.acknowledged == done[-1] == 500


def test_the_time_is_that_of_the_test_and_not_of_the_upload(opensearch, at, outboxes):
    location = at(opensearch.url)
    delivery.upload(writer(1), location, outboxes)
    with history.open_history(location, writable=False) as kept:
        (run,) = kept.runs()
    assert history.moment(run.time_us) == dt.datetime(2026, 3, 1, 12, 1, tzinfo=dt.UTC)


def test_what_is_refused_before_the_server_fails_is_named_by_the_next_delivery(faulty, at, outboxes, impatient):
    location = at(faulty.url)
    with history.open_history(location, writable=True) as kept:
        kept.push([record(payload(3, {"speed": 99.0}))])

    def write(stream):
        stream.write(refused_by_the_server(1))
        writer(*range(2, 1200))(stream)

    faulty.pass_first, faulty.busy = 1, 10**6  # the first five hundred
    with pytest.raises(delivery.UndeliveredError):
        delivery.upload(write, location, outboxes)
    faulty.busy = 0
    pushed = delivery.flush(location, outboxes)
    assert [each.id for each in pushed.rejected] == [test_id(1)]
    assert [each.id for each in pushed.conflicts] == [test_id(3)]
    assert kept_at(location)[0] == 1198
    assert Outbox(outboxes, str(location)).pending() == 1  # the refused one


def test_a_replacement_that_is_interrupted_leaves_no_kpi_of_the_old_content(faulty, at, outboxes, impatient):
    location = at(faulty.url)
    delivery.upload(writer(1, 2, values={"speed": 1.0, "gone": 2.0, "old.kpi": 3.0}), location, outboxes)
    for passed in range(4):
        faulty.pass_first, faulty.busy = passed, 10**6
        write = writer(1, 2, values={"speed": 10.0 + passed})
        try:
            delivery.upload(write, location, outboxes, replace=True)
        except delivery.UndeliveredError:
            faulty.busy = 0
            delivery.flush(location, outboxes)
        faulty.busy = 0
        with history.open_history(location, writable=False) as kept:
            assert series(kept) == {"speed": 2}
            assert values(kept) == [10.0 + passed] * 2


def test_a_correction_that_is_interrupted_is_completed_under_the_old_id(faulty, at, outboxes, impatient):
    location = at(faulty.url)

    def write(first, **settings):
        def write_one(stream):
            made = payload(first, {"speed": 1.0}, settings=settings, time=None)
            made["metadata"] |= {"measurement": "m", "repeat": 0}
            stream.write(msgspec.json.encode(made) + b"\n")

        return write_one

    delivery.upload(write(1, vus=1), location, outboxes)
    for passed in range(3):
        faulty.pass_first, faulty.busy = passed, 10**6
        correction = write(10 + passed, vus=2 + passed)
        try:
            pushed = delivery.upload(correction, location, outboxes, replace=True).pushed
        except delivery.UndeliveredError:
            faulty.busy = 0
            pushed = delivery.flush(location, outboxes)
        faulty.busy = 0
        assert [each.id for each in pushed.corrected] == [test_id(1)]
        assert kept_at(location) == (1, 1)
        assert kpis_agree(location)
        with history.open_history(location, writable=False) as kept:
            assert [each.labels for each in kept.summary().series] == [{"vus": 2 + passed}]


def test_a_strange_file_in_the_outbox_stops_neither_uploads_nor_the_rest(opensearch, at, outboxes):
    location = at(opensearch.url)
    outbox = Outbox(outboxes, str(location))
    outbox.add(writer(1))
    (outbox.directory / "000000-strange.jsonl").write_text("garbage")
    delivered = delivery.upload(writer(2), location, outboxes)
    assert (delivered.earlier.added, delivered.pushed.added) == (1, 1)
    outbox.add(writer(3))
    with pytest.raises(HistoryError, match="the rest of the outbox was delivered, but"):
        delivery.flush(location, outboxes)
    assert kept_at(location) == (3, 3)
