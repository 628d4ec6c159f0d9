"""What makes a record, and what is no payload that every history can hold."""

from __future__ import annotations

import pytest
from history_support.payloads import payload, test_id

from matrix_benchmarking.history import HistoryError, plan, record


@pytest.mark.parametrize(
    "content",
    [
        None,
        [],
        "text",
        {},
        {"metadata": {}, "kpis": {}},
        {"metadata": {"workload": "w", "test_uuid": "no uuid"}, "kpis": {}},
        {"metadata": {"workload": "w", "test_uuid": test_id(1)}, "kpis": []},
        {"metadata": {"workload": 1, "test_uuid": test_id(1)}, "kpis": {}},
        {"metadata": {"workload": "w", "test_uuid": test_id(1), "settings": []}, "kpis": {}},
        {"metadata": {"workload": "w", "test_uuid": test_id(1), "end": "2026-03-01T12:00:00"}, "kpis": {}},
        {"metadata": {"workload": "w", "test_uuid": test_id(1), "end": "yesterday"}, "kpis": {}},
        {"metadata": {"workload": "w", "test_uuid": test_id(1), "end": 5}, "kpis": {}},
        {"metadata": {"workload": "w", "test_uuid": test_id(1), "start": "yesterday"}, "kpis": {}},
        {"metadata": {"workload": "w", "test_uuid": test_id(1), "end": "2026-03-01 12:00:00+00:00"}, "kpis": {}},
        {"metadata": {"workload": "w", "test_uuid": test_id(1), "end": "20260301T120000Z"}, "kpis": {}},
        {"metadata": {"workload": "w", "test_uuid": test_id(1), "end": "2026-W09-7T12:00:00Z"}, "kpis": {}},
        {"metadata": {"workload": "w", "test_uuid": test_id(1), "end": "0001-01-01T00:00:00+14:00"}, "kpis": {}},
        {"metadata": {"workload": "w", "test_uuid": test_id(1), "end": "9999-12-31T23:59:59-12:00"}, "kpis": {}},
        {"metadata": {"workload": "w", "test_uuid": test_id(1), "repeat": "x"}, "kpis": {}},
        {"metadata": {"workload": "w", "test_uuid": test_id(1), "repeat": [1]}, "kpis": {}},
        {"metadata": {"workload": "w", "test_uuid": test_id(1), "repeat": True}, "kpis": {}},
        {"metadata": {"workload": "w", "test_uuid": test_id(1), "repeat": 2**63}, "kpis": {}},
        {"metadata": {"workload": "w", "test_uuid": test_id(1), "repeat": 1e300}, "kpis": {}},
        {"metadata": {"workload": "w", "test_uuid": test_id(1), "repeat": -1}, "kpis": {}},
        {"metadata": {"workload": "w", "test_uuid": test_id(1), "exit_code": "0"}, "kpis": {}},
        {"metadata": {"workload": "", "test_uuid": test_id(1)}, "kpis": {}},
        {"metadata": {"workload": "w" * 501, "test_uuid": test_id(1)}, "kpis": {}},
        {"metadata": {"workload": "w", "test_uuid": test_id(1)}, "kpis": {}, "matbench": {}},
        {"metadata": {"workload": "w", "test_uuid": test_id(1)}, "kpis": {}, "verdicts": {}},
    ],
)
def test_what_is_no_payload_makes_no_record(content):
    with pytest.raises(HistoryError):
        record(content)


def test_a_payload_that_is_nested_too_deep_is_a_sentence():
    deep = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(HistoryError, match="nested too deep"):
        record(payload(1, note=deep))


def test_what_is_written_at_once_is_bounded_in_runs_and_in_bytes(monkeypatch):
    small, large = record(payload(1)), record(payload(2, text="x" * 3000))
    monkeypatch.setattr(plan, "LARGEST_WRITE_BYTES", 3 * small.size_bytes)

    def sizes(records, at_once):
        return [len(chunk) for chunk in plan.writable(records, at_once)]

    assert large.size_bytes > 3000 > plan.LARGEST_WRITE_BYTES > 3 * 100
    assert sizes([small] * 5, 2) == [2, 2, 1]
    assert sizes([small] * 7, 100) == [3, 3, 1]
    assert sizes([small, small, large, small, small], 100) == [2, 1, 2]
    assert sizes([], 2) == []
