"""The lines for GitHub Actions: ten at most, each one line, read back by the runner's own rules."""

from __future__ import annotations

import re

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from report_support import analyses

from matrix_benchmarking.analyze.report.ci import error, error_lines
from matrix_benchmarking.analyze.verdict.model import Analysis

LINE = re.compile(r"::error title=([^:,\r\n]*)::([^\r\n]*)")


def read_back(line: str) -> tuple[str, str]:
    """Title and message, as the runner decodes them."""
    match = LINE.fullmatch(line)
    assert match is not None
    title, message = match.groups()
    for code, char in (("%3A", ":"), ("%2C", ",")):
        title = title.replace(code, char)
    both = []
    for text in (title, message):
        for code, char in (("%0D", "\r"), ("%0A", "\n"), ("%25", "%")):
            text = text.replace(code, char)
        both.append(text)
    return both[0], both[1]


def test_each_series_that_is_worse_has_a_line() -> None:
    first, second = map(read_back, error_lines(analyses.mixed()))
    assert first[0] == "encoder_bench: throughput is worse"
    sentence, accept = first[1].split("\n")
    assert sentence.startswith(
        "throughput of batch_size 8, image onnx-int8 is worse since 1.3.1 (last good 1.3.0): "
        "−10.3 % (−12.3 to −8.3 %), 100.0 → 89.7 1/s, 20 and 10 runs. Alarm "
    )
    assert re.fullmatch(r"If it is meant: matbench alarms ack [0-9a-f]{12} --reason …", accept)
    assert second[0] == "encoder_bench: p95_latency is worse"


def test_an_analysis_that_does_not_fail_has_none() -> None:
    assert error_lines(analyses.fine()) == []
    assert error_lines(analyses.empty()) == []


def test_ten_series_are_ten_lines() -> None:
    lines = error_lines(analyses.many(10))
    assert len(lines) == 10
    assert "more" not in lines[-1]


def test_of_more_than_ten_the_last_line_says_how_many() -> None:
    lines = error_lines(analyses.many(5_000))
    assert len(lines) == 10
    eleven = error_lines(msgspec.structs.replace(analyses.many(11), workload="w" * 200))
    assert [read_back(line)[0] for line in eleven[8:]] == [
        f"{'w' * 59}…: throughput is worse",
        f"{'w' * 59}…: 2 more series",
    ]
    assert read_back(lines[-1]) == ("encoder_bench: 4991 more series", "… and 4991 more series are worse.")


def test_any_analysis_gives_lines_that_the_runner_reads(any_analysis: Analysis) -> None:
    lines = error_lines(any_analysis)
    assert bool(lines) is any_analysis.failed
    for line in lines:
        assert line.isprintable() or "\u200d" in line
        assert len(line) < 10_000
        read_back(line)


@given(st.text(st.characters(codec="utf-8")), st.text(st.characters(codec="utf-8")))
def test_title_and_message_come_back_as_they_were(title: str, message: str) -> None:
    # %3A of an escaped title is decoded before %25, as the runner does it, so what looks escaped comes back, too.
    assert read_back(error(title, message)) == (title, message)
