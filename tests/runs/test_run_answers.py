"""An analysis on the terminal and in a notebook: within its width, the worst first, nothing that anything obeys."""

from __future__ import annotations

import io
import re

import msgspec
import pytest
from report_support import analyses
from rich.cells import cell_len
from rich.console import Console

from matrix_benchmarking.analyze.verdict.model import Analysis
from matrix_benchmarking.runs.answers import AnalysisAnswer
from matrix_benchmarking.runs.text import PrintedColumn, PrintedTable


def shown(analysis: Analysis, width: int = 160) -> tuple[str, list[str]]:
    """The sentences, and the lines of the table."""
    stream, said = io.StringIO(), list[str]()
    console = Console(file=stream, markup=False, emoji=False, highlight=False, width=width)
    for part in AnalysisAnswer(analysis).said():
        if isinstance(part, str):
            said.append(f"{part}\n")
        else:
            console.print(part)
    return "".join(said), stream.getvalue().splitlines()


def rows_of(table: list[str]) -> list[list[str]]:
    """The cells of each row, which begins where the first cell has text."""
    rows: list[list[str]] = []
    for line in table[3:-1]:
        cells = [cell.strip() for cell in line.strip("│").split("│")]
        if cells[0]:
            rows.append(cells)
        else:
            rows[-1] = [" ".join(filter(None, pair)) for pair in zip(rows[-1], cells, strict=True)]
    return rows


def test_the_verdict_comes_first_and_then_the_worst() -> None:
    said, table = shown(analyses.mixed())
    assert said.startswith(
        "2 of 10 series of 3 KPIs are worse: 1.3.2 against its history.\n1 of them is new with 1.3.2."
    )
    header = [cell.strip() for cell in table[1].strip("┃").split("┃")]
    assert header == ["KPI", "Series", "Verdict", "Change", "Level", "Since", "Last before", "Runs", "q", "Alarm"]
    rows = rows_of(table)
    assert [row[2] for row in rows] == [
        "worse, new",
        "worse",
        "worse, acknowledged",
        "worse, resolved",
        "better, new",
        "better",
        "no difference shown yet: 2 more versions like it would tell",
    ]
    assert rows[0][3:9] == ["−10.3 % (−12.3 to −8.3 %)", "100.0 → 89.7 1/s", "1.3.1", "1.3.0", "20 → 10", "0.002"]
    assert "Not analysed: error_rate is unknown at all 5 runs\n" in said
    assert said.endswith("Note: 2 runs dated in the future: a clock was wrong\n")


def test_what_comes_next_and_which_mean_it_is_stand_below_the_table() -> None:
    of_history = analyses.mixed()
    of_sides = [msgspec.structs.replace(one, stands_on="in 3 common rounds") for one in of_history.verdicts]
    which = "Levels are geometric means, a little below the plain ones of *Best configuration* and `parse`.\n"
    assert which in shown(msgspec.structs.replace(of_history, verdicts=tuple(of_sides)))[0]
    said, _ = shown(of_history)
    assert which not in said  # whose levels are plain ones
    assert re.search(
        r"^What is meant is accepted by 'matbench alarms ack \w{12} --reason …', where the runs are in a history\.$",
        said,
        re.MULTILINE,
    )


def test_without_alarms_they_have_no_column() -> None:
    verdicts = [msgspec.structs.replace(one, alarms=()) for one in analyses.mixed().verdicts]
    said, table = shown(msgspec.structs.replace(analyses.mixed(), verdicts=verdicts))
    assert table[1].rstrip("┃ ").endswith("q")
    assert "matbench alarms" not in said


def test_without_a_change_there_is_no_table() -> None:
    said, table = shown(analyses.fine())
    assert table == []
    assert said == "Nothing is worse in 2 series of 2 KPIs: 1.3.2 against its history.\n"


def test_of_thousands_of_series_twenty_are_shown() -> None:
    said, table = shown(analyses.many())
    assert len(rows_of(table)) == 20
    assert "… and 4980 more series, 4980 of them worse: `analysis` has them all\n" in said


@pytest.mark.parametrize("width", [80, 160])
@pytest.mark.parametrize("name", analyses.EVERY)
def test_it_fits_and_holds_nothing_that_is_obeyed(name: str, width: int) -> None:
    said, table = shown(analyses.EVERY[name](), width)
    assert max(map(cell_len, table), default=0) <= width
    for line in (*said.splitlines(), *table):
        assert line.isprintable() or "\u200d" in line
        assert not line.startswith(("::", "##["))


def test_at_80_columns_the_essence_stays() -> None:
    _, table = shown(analyses.mixed(), 80)
    header = [cell.strip() for cell in table[1].strip("┃").split("┃")]
    assert {"KPI", "Series", "Verdict", "Change", "Since"} <= set(header)


@pytest.mark.parametrize("width", [60, 80, 100])
def test_the_ids_of_alarms_stay_however_narrow_the_terminal_is(width: int) -> None:
    _, wide = shown(analyses.mixed())
    ids = [row[-1] for row in rows_of(wide) if row[-1] != "–"]
    assert len(ids) == 4
    _, table = shown(analyses.mixed(), width)
    cells = "".join(cell for row in rows_of(table) for cell in row).replace(" ", "")
    assert all(each in cells for each in ids)


def test_a_notebook_gets_the_same_as_text_and_as_html_in_which_nothing_is_markup() -> None:
    answer = AnalysisAnswer(analyses.mixed())
    text, html = str(answer), answer._repr_html_()
    assert "\x1b" not in text
    assert text.startswith("2 of 10 series of 3 KPIs are worse: 1.3.2 against its history.")
    assert ">2 of 10 series of 3 KPIs are worse: 1.3.2 against its history.\n1 of them" in html
    assert html.count("<tr>") == 1 + len(rows_of(shown(analyses.mixed())[1]))
    assert "−10.3 %<br>(−12.3 to −8.3 %)" in html
    hostile = PrintedTable([PrintedColumn("<b>", ["<script>", "\x1b[31m"])], title="<i>")._repr_html_()
    assert "<script>" not in hostile
    assert "&lt;script&gt;" in hostile
