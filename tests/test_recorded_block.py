"""What a run was measured together with: read leniently, since it may come from a stranger."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from matrix_benchmarking.recorded import RecordedBlock, parse_block, read_block


def test_what_is_recorded_is_read(tmp_path):
    (tmp_path / "block.json").write_text('{"version": 1, "campaign": "ab12", "round": 3}')
    assert read_block(tmp_path) == (RecordedBlock("ab12", 3), None)


def test_a_run_may_be_without_a_record_and_a_campaign_without_rounds(tmp_path):
    assert read_block(tmp_path) == read_block(tmp_path / "block.json") == (RecordedBlock(), None)
    (tmp_path / "block.json").write_text('{"version": 1, "campaign": "ab12", "round": null}')
    assert read_block(tmp_path / "block.json") == (RecordedBlock(), None)  # a run that is a file
    assert read_block(tmp_path) == (RecordedBlock("ab12"), None)


@pytest.mark.parametrize(
    ("content", "wrong"),
    [
        ("", "is no record of a campaign and a round"),
        ("{", "is no record of a campaign and a round"),
        ("[" * 100_000, "is no record of a campaign and a round"),
        (json.dumps({"version": 1, "campaign": "a", "note": "x" * 5000}), "is no record of a campaign and a round"),
        ("[]", "is no record of a campaign and a round in version 1"),
        ('{"campaign": "a"}', "is no record of a campaign and a round in version 1"),
        ('{"version": 2, "campaign": "a"}', "is no record of a campaign and a round in version 1"),
        ('{"version": 1, "round": 1}', "names no campaign"),
    ],
)
def test_a_record_that_is_none_is_said_and_nothing_is_known(tmp_path, content, wrong):
    (tmp_path / "block.json").write_text(content)
    assert read_block(tmp_path) == (RecordedBlock(), wrong)


def test_a_record_that_cannot_be_read_and_a_round_that_is_none_are_said(tmp_path):
    (tmp_path / "block.json").write_text('{"version": 1, "campaign": "a", "round": -1}')
    assert read_block(tmp_path) == (RecordedBlock("a"), "its round is no positive number")
    (tmp_path / "block.json").unlink()
    (tmp_path / "block.json").mkdir()
    assert read_block(tmp_path) == (RecordedBlock(), "can't be read: Is a directory")


@pytest.mark.parametrize("number", [0, -1, True, 1.0, "1", None, 2**31 + 1])
def test_a_round_that_is_none_leaves_the_campaign(number):
    assert parse_block({"campaign": "a", "round": number}) == RecordedBlock("a", None)
    assert parse_block({"campaign": "a" * 200, "round": 2**31}) == RecordedBlock("a" * 200, 2**31)


@pytest.mark.parametrize("campaign", ["", "a" * 201, 1, None, ["a"]])
def test_a_campaign_that_is_none_has_no_rounds(campaign):
    assert parse_block({"campaign": campaign, "round": 1}) == RecordedBlock()


@given(st.dictionaries(st.sampled_from(["campaign", "round"]), st.none() | st.integers() | st.text() | st.floats()))
def test_anything_else_is_left_out(fields):
    found = parse_block(fields)
    assert found.campaign is None or found.campaign == fields["campaign"]
    assert found.round is None or (found.campaign is not None and found.round == fields["round"])
