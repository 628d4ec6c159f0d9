"""Text from artifacts is one line without anything that a terminal or a service obeys."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from matrix_benchmarking.analyze.report.markdown import one_line


@given(st.text(st.characters(codec=None)), st.integers(2, 50))
def test_any_text_is_one_printable_line_within_the_limit(text: str, limit: int) -> None:
    line = one_line(text, limit)
    assert len(line) <= limit
    assert all(char.isprintable() or char == "\u200d" for char in line)
    assert line == line.strip()
    line.encode()


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a\nb\r\n\tc\u2028d", "a b c d"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("\u202eabc", "\\u202eabc"),
        ("\udc80", "\\udc80"),
        ("👩\u200d💻 é", "👩\u200d💻 é"),
        ("x" * 301, "x" * 299 + "…"),
        ("x" * 300, "x" * 300),
        (" " * 5000 + "x", "…"),
        (" " * 1199 + "x", "x"),
        (" " * 1200 + "x", "…"),
    ],
)
def test_what_is_not_printable_is_shown(text: str, line: str) -> None:
    assert one_line(text) == line
