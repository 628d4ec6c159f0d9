"""What a run was measured together with: read leniently, since it may come from a stranger."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from matrix_benchmarking.block_file import RecordedBlock, parse, read_block


def test_what_is_recorded_is_read(tmp_path):
    (tmp_path / "block.json").write_text('{"version": 1, "campaign": "ab12", "round": 3}')
    assert read_block(tmp_path) == RecordedBlock("ab12", 3)


@pytest.mark.parametrize(
    "content",
    [
        *(None, "", "{", "[]", '"text"', "[" * 100_000),
        '{"campaign": "a"}',
        '{"version": 2, "campaign": "a"}',
        json.dumps({"version": 1, "campaign": "a", "note": "x" * 5000}),
    ],
)
def test_without_a_record_of_this_version_nothing_is_known(tmp_path, content):
    if content is not None:
        (tmp_path / "block.json").write_text(content)
    assert read_block(tmp_path) == RecordedBlock()


@pytest.mark.parametrize("number", [0, -1, True, 1.0, "1", None, 2**31 + 1])
def test_a_round_that_is_none_leaves_the_campaign(number):
    assert parse({"campaign": "a", "round": number}) == RecordedBlock("a", None)
    assert parse({"campaign": "a" * 200, "round": 2**31}) == RecordedBlock("a" * 200, 2**31)


@pytest.mark.parametrize("campaign", ["", "a" * 201, 1, None, ["a"]])
def test_a_campaign_that_is_none_has_no_rounds(campaign):
    assert parse({"campaign": campaign, "round": 1}) == RecordedBlock()


@given(st.dictionaries(st.sampled_from(["campaign", "round"]), st.none() | st.integers() | st.text() | st.floats()))
def test_anything_else_is_left_out(fields):
    found = parse(fields)
    assert found.campaign is None or found.campaign == fields["campaign"]
    assert found.round is None or (found.campaign is not None and found.round == fields["round"])
