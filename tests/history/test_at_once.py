"""Several processes on one history at once, on the genuine OpenSearch: each run once, with its own KPIs."""

from __future__ import annotations

import threading

import pytest
from history_support.uploads import kept_at, kpis_agree, writer

from matrix_benchmarking.history import delivery
from matrix_benchmarking.history.delivery import Outbox

pytestmark = pytest.mark.xdist_group("opensearch")


def test_two_uploads_of_the_same_run_at_once_keep_it_once(opensearch, at, tmp_path):
    location, outcomes, errors = at(opensearch.url), [], []
    barrier = threading.Barrier(4)

    def upload(number):
        try:
            barrier.wait()
            outcomes.append(delivery.upload(writer(*range(300)), location, tmp_path / f"machine{number}").pushed)
        except Exception as error:  # noqa: BLE001 - shown by the test
            errors.append(error)

    threads = [threading.Thread(target=upload, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert sum(pushed.added for pushed in outcomes) == 300
    assert sum(pushed.added + pushed.unchanged for pushed in outcomes) == 1200
    assert kept_at(location) == (300, 300)


def test_two_uploads_of_other_contents_under_one_id_at_once_keep_one_of_them_whole(opensearch, at, tmp_path):
    location, outcomes = at(opensearch.url), {}
    barrier = threading.Barrier(3)

    def upload(number):
        barrier.wait()
        write = writer(*range(50), values={"speed": float(number), f"height{number}": 1.0})
        outcomes[number] = delivery.upload(write, location, tmp_path / f"machine{number}").pushed

    threads = [threading.Thread(target=upload, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(pushed.added for pushed in outcomes.values()) == 50
    assert sum(len(pushed.conflicts) for pushed in outcomes.values()) == 100
    assert kpis_agree(location)


def test_the_same_outbox_delivered_by_two_at_once_is_delivered_once(opensearch, at, outboxes, impatient):
    location = at(opensearch.url)
    Outbox(outboxes, str(location)).add(writer(*range(2000)))
    outcomes = []
    threads = [threading.Thread(target=lambda: outcomes.append(delivery.flush(location, outboxes))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(pushed.added for pushed in outcomes if pushed is not None) == 2000
    assert sum(pushed.unchanged for pushed in outcomes if pushed is not None) == 0
    assert kept_at(location) == (2000, 2000)


def test_two_replacements_at_once_leave_each_payload_its_own_kpis(opensearch, at, tmp_path):
    location = at(opensearch.url)
    delivery.upload(writer(*range(300)), location, tmp_path / "first")
    barrier, outcomes = threading.Barrier(3), []

    def upload(number):
        barrier.wait()
        write = writer(*range(300), values={"speed": float(number), f"height{number}": 1.0})
        outcomes.append(delivery.upload(write, location, tmp_path / f"machine{number}", replace=True).pushed)

    threads = [threading.Thread(target=upload, args=(number,)) for number in (100, 200, 300)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(outcomes) == 3
    assert kpis_agree(location)
