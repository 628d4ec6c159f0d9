"""What an analysis tells GitHub Actions: its summary and its annotations, and nothing where it isn't asked."""

from __future__ import annotations

from pathlib import Path

import pytest
from report_support import analyses

from matrix_benchmarking.commands import publishing

Capture = pytest.CaptureFixture[str]


def test_outside_of_a_service_nothing_is_said(capsys: Capture, tmp_path: Path) -> None:
    publishing.tell_ci(analyses.mixed(), {})
    assert capsys.readouterr() == ("", "")


def test_the_summary_is_appended_to_what_is_there(tmp_path: Path, capsys: Capture) -> None:
    summary = tmp_path / "summary.md"
    summary.write_text("# Before\n")
    publishing.tell_ci(analyses.mixed(), {"GITHUB_STEP_SUMMARY": str(summary)})
    text = summary.read_text()
    assert text.startswith("# Before\n\n## ❌ matbench: `encoder_bench`\n")
    assert capsys.readouterr() == ("", "")


def test_annotations_are_printed_under_github_actions_alone(capsys: Capture) -> None:
    publishing.tell_ci(analyses.mixed(), {"GITHUB_ACTIONS": "false"})
    assert capsys.readouterr().out == ""
    publishing.tell_ci(analyses.mixed(), {"GITHUB_ACTIONS": "true"})
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2
    assert all(line.startswith("::error title=encoder_bench%3A ") for line in lines)


def test_a_summary_that_is_nearly_full_is_cut_with_a_sentence(tmp_path: Path) -> None:
    summary = tmp_path / "summary.md"
    summary.write_bytes(b"x" * (2**20 - 500))
    publishing.tell_ci(analyses.many(100), {"GITHUB_STEP_SUMMARY": str(summary)})
    content = summary.read_bytes()
    assert 2**20 - 400 < len(content) <= 2**20
    assert content.decode().endswith(
        "The summary of this step is full: the rest of the analysis is in regression.md.\n"
    )


def test_a_summary_that_is_full_stays_as_it_is(tmp_path: Path) -> None:
    summary = tmp_path / "summary.md"
    summary.write_bytes(b"x" * (2**20 + 10))
    publishing.tell_ci(analyses.many(100), {"GITHUB_STEP_SUMMARY": str(summary)})
    assert summary.stat().st_size == 2**20 + 10


@pytest.mark.parametrize("name", ["nowhere/summary.md", "", "a\0b"])
def test_a_summary_that_cannot_be_written_is_a_warning(name: str, tmp_path: Path, capsys: Capture) -> None:
    path = str(tmp_path / name)
    publishing.tell_ci(analyses.mixed(), {"GITHUB_STEP_SUMMARY": path})
    said = capsys.readouterr().err
    assert said.startswith("warning: the summary of this step can't be written to ")
    assert said.count("\n") == 1
