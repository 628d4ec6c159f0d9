"""The Markdown report: short, the verdict first, and text from artifacts in it is text."""

from __future__ import annotations

import re

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token
from report_support import analyses

from matrix_benchmarking.analyze.report.markdown import (
    LIMIT_BYTES,
    bullets,
    capped,
    code,
    markdown,
    one_line,
    plain,
    table,
)
from matrix_benchmarking.analyze.verdict.model import Analysis, Outcome, Status

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
    short = analyses.verdict(analyses.Outcome.CANT_TELL, reruns=7, why=analyses.TOO_SHORT)
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
    assert "`p95_latency` of `batch_size 64`: +3.1 % (−1.0 to +7.0 %); 2 more versions like it would tell" in text
    assert "1 can't be told: the history is too short; measure 4 more versions." in text
    assert "**No difference shown yet**" in text
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
    assert len(text.encode()) <= LIMIT_BYTES == 60_000
    assert text.endswith("\n")


def test_a_text_that_is_too_long_is_cut_at_a_line_and_says_so() -> None:
    assert capped("abc\n", 4, "cut\n") == "abc\n"
    assert capped("one\ntwo\nthree\n", 12, "cut\n") == "one\n\ncut\n"
    assert capped("é" * 100, 20, "cut\n") == "\n\ncut\n"
    assert capped("abcde\n", 6, "cut\n") == "abcde\n"
    assert capped("abcdef\n", 6, "cut\n") == "\n\ncut\n"
    assert capped("abcdef\n", 5, "cut\n") == ""
    assert capped("one\ntwo\nthree\n", 10, "cut\n") == "one\n\ncut\n"
    assert capped("one\ntwo\nthree\n", 9, "cut\n") == "\n\ncut\n"
    assert capped("one\n\ntwo\nthree\n", 14, "cut\n") == "one\n\ncut\n"
    assert capped("long", 3, "cut\n") == ""


@pytest.mark.parametrize("text", ["x" * 10_000, "|`@<" * 2_500])
def test_lists_of_any_length_stay_within_the_limit(text: str) -> None:
    worst = analyses.hostile(text)
    grown = msgspec.structs.replace(
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


def test_of_series_that_are_worse_twenty_are_shown_and_the_rest_counted() -> None:
    for count, said in (
        (20, None),
        (21, "… and 1 more series that is worse."),
        (22, "… and 2 more series that are worse."),
    ):
        lines = markdown(analyses.many(count)).splitlines()
        assert sum(line.startswith("| `throughput`") for line in lines) == 20
        assert [line for line in lines if line.startswith("… and")] == ([] if said is None else [said])
    assert "| --- | --- | --- | --- | --- | --- | --: | --: | --- |" in lines


def test_of_series_that_are_better_ten_are_listed_and_the_rest_counted() -> None:
    for count, said in ((10, None), (11, "* … and 1 more"), (12, "* … and 2 more")):
        better = (analyses.verdict(Outcome.IMPROVEMENT, labels={"n": n}, is_new=True) for n in range(count))
        lines = markdown(analyses.analysis(*better)).splitlines()
        assert sum(line.startswith("* `throughput` of `n ") for line in lines) == 10
        assert [line for line in lines if line.startswith("* …")] == ([] if said is None else [said])


def test_of_notes_and_reasons_five_are_listed_and_the_rest_counted() -> None:
    for count, notes, reasons in (
        (5, None, ""),
        (6, "* … and 1 more", "; and 1 other reason"),
        (7, "* … and 2 more", "; and 2 other reasons"),
    ):
        left_out = [analyses.NotAnalysed("cost", "", {}, f"why {n}", 1) for n in range(count)]
        found = analyses.analysis(notes=[f"note {n}" for n in range(count)], not_analysed=[left_out[0], *left_out])
        lines = markdown(found).splitlines()
        assert sum(line.startswith("* Note: note ") for line in lines) == 5
        assert [line for line in lines if line.startswith("* …")] == ([] if notes is None else [notes])
        assert f"Not analysed: why 0 (2 times); why 1; why 2; why 3; why 4{reasons}." in lines


def test_the_last_line_says_what_it_is_about() -> None:
    found = analyses.analysis(points=1, data="one run", false_discovery_rate=0.125, check="no findings")
    assert markdown(found).splitlines()[-1] == (
        "<sub>1 value out of one run. False discovery rate: 12.5 %. Check: no findings. 2026-11-21 12:30 UTC.</sub>"
    )
    assert "<sub>1,000 values out of" in markdown(analyses.analysis(points=1000))


def test_an_alarm_has_what_is_known_of_it() -> None:
    two = analyses.verdict(Outcome.REGRESSION)
    two = msgspec.structs.replace(two, alarms=(analyses.alarm(two, id="a"), analyses.alarm(two, id="b")))
    assert markdown(analyses.analysis(two)).splitlines()[6].endswith(" | 0.002 | `b` and 1 more |")
    unkept = analyses.regression(Status.OPEN, {"id": ""})
    text = markdown(analyses.analysis(unkept))
    assert text.splitlines()[6].endswith(" | 0.002 |")
    assert "is accepted by" not in text
    said = analyses.regression(Status.RESOLVED, {"note": "it ran out", "author": "Ada"})
    assert "0 → 89.7 1/s: no reason given (Ada); it ran out\n" in markdown(analyses.analysis(said))
    for identity, known in (("c", " (alarm `c`)"), ("", "")):  # and one that was never raised
        fixed = msgspec.structs.replace(
            analyses.regression(Status.FIXED, {"is_new": True, "id": identity}), outcome=Outcome.NO_CHANGE
        )
        said = f"* `throughput` of `batch_size 8, image onnx-int8`: worse since `1.3.1`{known}\n"
        assert said in markdown(analyses.analysis(fixed))


def test_what_is_suspected_says_how_it_looks() -> None:
    for reruns, said in ((1, "1 more version like it would"), (2, "2 more versions like it would")):
        doubtful = analyses.verdict(reruns=reruns, effect=analyses.Estimate(0.031, -0.01, 0.07))
        assert f"; {said} tell\n" in markdown(analyses.analysis(doubtful))
    suspected = analyses.verdict(
        Outcome.SUSPECTED, difference=analyses.Estimate(-1, -2, 0), old_level=10.0, new_level=9.0
    )
    (line,) = [line for line in markdown(analyses.analysis(suspected)).splitlines() if line.startswith("* ")]
    assert line.startswith("* `throughput` of `batch_size 8, image onnx-int8`: ")
    assert line.endswith("10.0 → 9.0 1/s")
    assert markdown(analyses.analysis(suspected)).startswith("## ⚠️")
    better = msgspec.structs.replace(suspected, difference=analyses.Estimate(1, 0, 2), new_level=11.0)
    assert markdown(analyses.analysis(better)).startswith("## ✅")
    doubtful = msgspec.structs.replace(analyses.analysis(better), odd=("4 runs can't be placed and take no part.",))
    assert markdown(doubtful).startswith("## ⚠️")


def test_a_fence_is_longer_than_any_in_the_code() -> None:
    assert [code(text) for text in ("a", "a`b", "a``b`c", "`a", "a`", "a|b", "")] == [
        *("`a`", "``a`b``", "```a``b`c```", "`` `a ``", "`` a` ``", "`a\\|b`", "`(empty)`"),
    ]


def test_of_a_list_some_items_are_shown_and_the_rest_counted() -> None:
    assert [bullets(["a", "b", "c"][:count], 2) for count in range(4)] == [
        *("", "* a", "* a\n* b", "* a\n* b\n* … and 1 more"),
    ]
