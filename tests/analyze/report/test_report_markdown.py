"""The Markdown report: short, the verdict first, and text from artifacts in it is text."""

from __future__ import annotations

import dataclasses
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token
from report_support import analyses

from matrix_benchmarking.analyze.report.markdown import LIMIT_BYTES, capped, markdown
from matrix_benchmarking.analyze.report.markdown_text import code, plain, table
from matrix_benchmarking.analyze.report.one_line import one_line
from matrix_benchmarking.analyze.verdict.model import Analysis

RENDERER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
GAP = "\u200b"
OBEYED = re.compile(r"@\w|[#!~%&$]\w|GH-\d|://|www\.\w|:\w+:", re.IGNORECASE)
"""What GitHub and GitLab make a mention, a reference, a link or an emoji, in text that is rendered."""


def inline(text: str) -> list[Token]:
    """The tokens of a line."""
    _, content, _ = RENDERER.parse(f"x: {text}")
    assert content.children is not None
    return content.children


def shape(text: str) -> list[str]:
    """The structure of a document, without its text."""
    found = []
    for token in RENDERER.parse(text):
        found.append(token.type)
        found += [child.type for child in token.children or () if child.type not in ("text", "text_special")]
    return found


def prose(text: str) -> list[str]:
    """The text of a document that is no code, piece by piece, each without what belongs to the next element."""
    pieces = [""]
    for token in RENDERER.parse(text):
        for child in token.children or ():
            if child.type in ("text", "text_special"):
                pieces[-1] += child.content
            else:
                pieces.append("")
        pieces.append("")
    return pieces


def test_the_verdict_comes_first() -> None:
    title, blank, lead, *_ = markdown(analyses.mixed()).splitlines()
    assert title == "## ❌ matbench: `encoder_bench`"
    assert blank == ""
    assert lead.startswith("**2 of 10 series of 3 KPIs are worse: 1.3.2 against its history.** 1 of them is new")


def test_an_analysis_that_is_fine_says_so_in_a_few_lines() -> None:
    text = markdown(analyses.fine())
    assert text.startswith("## ✅")
    assert "Nothing is worse in 2 series of 2 KPIs" in text
    assert "|" not in text
    assert len(text.splitlines()) <= 6


def test_what_is_not_known_is_not_called_fine() -> None:
    short = analyses.verdict(analyses.Outcome.NOT_ENOUGH_HISTORY, reruns=7)
    assert markdown(analyses.analysis(short)).startswith("## ❔")
    assert markdown(analyses.empty()).startswith("## ❔")


def test_only_what_is_significant_is_named() -> None:
    text = markdown(analyses.mixed())
    for named in (
        "**−10.3 % (−12.3 to −8.3 %)**",
        "100.0 → 89.7 1/s",
        "`1.3.1` (new)",
        "**Newly better**",
        "**Fixed**",
    ):
        assert named in text
    assert "`throughput` of `batch_size 32`: worse since `1.2.10`, fixed by `1.3.2`" in text
    assert "“more exact answers” (Ada, 2026-11-21), until `1.4.0`" in text
    assert "no reason given (Bob)" in text
    assert "`p95_latency` of `batch_size 64`: +3.1 % (−1.0 to +7.0 %); 2 more runs would tell" in text
    assert "Not enough history: 1 series (at least 4 more versions each)." in text
    assert "Not analysed: error\\_rate is unknown at all 5 runs; it has no value at 1.3.2." in text
    assert "Note: 2 runs dated in the future" in text
    assert "batch_size 16" in text and "`p95_latency` of `batch_size 16`" not in text  # it was better before
    assert "error_rate" not in text  # nothing happened to it; the reason for the others is escaped


def test_a_series_fails_by_the_alarm_that_nobody_dealt_with() -> None:
    text = markdown(analyses.half_acknowledged())
    assert "| **−16.7 %** | 120.0 → 100.0 1/s | `1.2.10` | `1.2.9` |" in text
    assert "“meant”" in text


def test_of_thousands_of_series_twenty_are_shown_and_the_rest_is_counted() -> None:
    text = markdown(analyses.many())
    assert text.count("\n| `throughput`") == 20
    assert "… and 4980 more series that are worse." in text


def test_it_fits_into_a_comment(any_analysis: Analysis) -> None:
    text = markdown(any_analysis)
    assert len(text.encode()) <= LIMIT_BYTES
    assert text.endswith("\n")


def test_a_text_that_is_too_long_is_cut_at_a_line_and_says_so() -> None:
    assert capped("abc\n", 4, "cut\n") == "abc\n"
    assert capped("one\ntwo\nthree\n", 12, "cut\n") == "one\n\ncut\n"
    assert capped("é" * 100, 20, "cut\n") == "\n\ncut\n"
    assert capped("long", 3, "cut\n") == ""


@pytest.mark.parametrize("text", ["x" * 10_000, "|`@<" * 2_500])
def test_lists_of_any_length_stay_within_the_limit(text: str) -> None:
    worst = analyses.hostile(text)
    grown = dataclasses.replace(
        worst,
        verdicts=tuple(worst.verdicts) * 100,
        not_analysed=tuple(worst.not_analysed) * 100,
        notes=worst.notes * 100,
    )
    report = markdown(grown)
    assert len(report.encode()) <= LIMIT_BYTES
    assert "… and 90 more" in report
    assert ("the rest is left out" in report) is ("@" in text)


@pytest.mark.parametrize("text", [text for text in analyses.HOSTILE if text])
def test_hostile_text_changes_nothing_of_the_structure(text: str) -> None:
    report = markdown(analyses.hostile(text))
    assert shape(report) == shape(markdown(analyses.hostile("benign")))
    assert [piece for piece in prose(report) if OBEYED.search(piece)] == []


@given(st.text(max_size=80))
@example("a@b.example https://x.example www.x.example #1 !2 ~x %y &z GH-3 :tada: x@y")
@example("\\*not em* `code` <b> &lt; | [a](b)")
def test_prose_is_rendered_as_it_came(text: str) -> None:
    tokens = inline(plain(text))
    assert {token.type for token in tokens} <= {"text", "text_special"}
    shown = "".join(token.content for token in tokens)
    assert shown.replace(GAP, "").rstrip() == f"x: {one_line(text)}".replace(GAP, "").rstrip()
    assert not OBEYED.search(shown.removeprefix("x:"))


@given(st.text(max_size=80))
@example("`")
@example("a\\|b|`c``")
@example(" ``` ")
def test_code_in_a_table_is_rendered_as_it_came(text: str) -> None:
    tokens = RENDERER.parse(table(["a", "b"], [[code(text), "z"]]))
    cells = [token for token in tokens if token.type == "inline"]
    assert [token.content for token in cells[:2]] == ["a", "b"]
    assert len(cells) == 4
    (only,) = cells[2].children or ()
    assert (only.type, only.content) == ("code_inline", one_line(text, 120) or "(empty)")
