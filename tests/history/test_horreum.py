"""Payloads to a Horreum server: a local one that speaks its upload route."""

from __future__ import annotations

import pytest
from history_support.fake_horreum import FakeHorreum
from history_support.payloads import payload, test_id

from matrix_benchmarking.history import HistoryError, UnavailableError, horreum, record


@pytest.fixture
def fake():
    with FakeHorreum() as server:
        yield server


@pytest.fixture
def post(fake, tmp_path):
    def run(*payloads, key="HUSR_secret", test="my test", **variables):
        environment = {"MATBENCH_HORREUM_URL": f"{fake.url}/", "MATBENCH_HORREUM_API_KEY": key, **variables}
        return horreum.post(map(record, payloads), horreum.server(environment), test, tmp_path)

    return run


def test_a_payload_becomes_a_run_with_its_times_and_schema(fake, post):
    pushed = post(payload(1), MATBENCH_HORREUM_OWNER="perf-team", MATBENCH_HORREUM_ACCESS="private")
    assert pushed.added == 1
    ((query, body),) = fake.runs
    assert query == {
        "test": "my test",
        "start": "2026-03-01T12:01:00+00:00",
        "stop": "2026-03-01T12:01:00+00:00",
        "access": "PRIVATE",
        "owner": "perf-team",
    }
    assert body == {"$schema": "urn:matbench:lts:speed:1.0", **payload(1)}


def test_a_payload_is_posted_once_per_server_and_test(fake, post):
    assert post(payload(1), payload(2)).added == 2
    assert (post(payload(2), payload(3)).added, len(fake.runs)) == (1, 3)
    assert (post(payload(1), test="other").added, len(fake.runs)) == (1, 4)


def test_another_content_under_a_posted_id_is_a_conflict(fake, post):
    post(payload(1))
    pushed = post(payload(1, {"speed": 99.0}))
    assert ([each.id for each in pushed.conflicts], len(fake.runs)) == ([test_id(1)], 1)


def test_what_was_acknowledged_before_the_server_failed_is_not_posted_again(fake, post):
    post(payload(1))
    fake.status = 500
    with pytest.raises(UnavailableError, match=r"failed \(status 500\)"):
        post(payload(1), payload(2))
    fake.status = 202
    assert (post(payload(1), payload(2)).added, len(fake.runs)) == (1, 2)


@pytest.mark.parametrize("answer", [b"", b"{}", b"[]", b"null", b"true", b'["no"]', b"<html>Log in</html>", b"\xff"])
def test_a_payload_is_posted_when_the_server_names_the_run_that_it_made(fake, post, answer):
    fake.said = answer
    with pytest.raises(UnavailableError, match="without the id of a run"):
        post(payload(1))
    fake.said = None
    assert (post(payload(1)).added, len(fake.runs)) == (1, 1)


@pytest.mark.parametrize("answer", [b"7", b'"7"', b"[7]", b"[7, 8]"])
def test_the_id_of_a_run_is_a_number_or_a_list_of_them(fake, post, answer):
    fake.said = answer
    assert post(payload(1)).added == 1


def test_a_ledger_with_a_half_line_is_read_up_to_it(fake, post, tmp_path):
    post(payload(1), payload(2))
    (ledger,) = tmp_path.glob("*.jsonl")
    ledger.write_bytes(ledger.read_bytes()[:-20])
    assert (post(payload(1), payload(2)).unchanged, len(fake.runs)) == (1, 3)
    assert (post(payload(1), payload(2)).unchanged, len(fake.runs)) == (2, 3)


def test_a_run_of_unknown_time_is_rejected_with_the_reason(fake, post):
    pushed = post(payload(1, time=None), payload(2))
    assert (pushed.added, pushed.rejected[0].id) == (1, test_id(1))
    assert "when a run took place" in pushed.rejected[0].reason


def test_an_unknown_test_is_the_servers_own_reason(post):
    assert post(payload(1), test="unknown").rejected[0].reason == "status 404: no such test"


def test_a_wrong_key_is_a_sentence_without_the_key(post):
    with pytest.raises(UnavailableError, match="see MATBENCH_HORREUM_API_KEY") as caught:
        post(payload(1), key="HUSR_wrong")
    assert "HUSR_wrong" not in str(caught.value)
    assert "HUSR" not in repr(horreum.Server("https://x", "HUSR_wrong"))


def test_a_server_that_is_away_is_a_sentence(tmp_path):
    with pytest.raises(UnavailableError, match=r"can't be reached: .*Connection refused"):
        horreum.post([record(payload(1))], horreum.Server("http://127.0.0.1:9"), "t", tmp_path)


@pytest.mark.parametrize(
    ("environment", "sentence"),
    [
        ({}, "set MATBENCH_HORREUM_URL"),
        ({"MATBENCH_HORREUM_URL": "horreum.example.org"}, "set MATBENCH_HORREUM_URL"),
        ({"MATBENCH_HORREUM_URL": "https://u:secret@x"}, "use MATBENCH_HORREUM_API_KEY"),
        ({"MATBENCH_HORREUM_URL": "https://u:secret#1@x"}, "use MATBENCH_HORREUM_API_KEY"),
        ({"MATBENCH_HORREUM_URL": "https://x?key=secret"}, "set MATBENCH_HORREUM_URL"),
        ({"MATBENCH_HORREUM_URL": "https://x", "MATBENCH_HORREUM_ACCESS": "all"}, "PUBLIC, PROTECTED, PRIVATE"),
    ],
)
def test_a_wrong_environment_is_a_sentence_without_secrets(environment, sentence):
    with pytest.raises(HistoryError, match=sentence) as caught:
        horreum.server(environment)
    assert "secret" not in str(caught.value)


def test_a_payload_that_was_posted_before_payloads_said_what_was_measured_is_not_posted_again(fake, post):
    post(payload(1))
    now = payload(1)
    now["metadata"]["measurement"] = "m"
    assert (post(now).unchanged, len(fake.runs)) == (1, 1)
