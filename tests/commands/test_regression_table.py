"""An analysis on the terminal: within its width, the worst first, and nothing that a terminal or a service obeys."""

from __future__ import annotations

import io

import pytest
from report_support import analyses
from rich.cells import cell_len
from rich.console import Console

from matrix_benchmarking.analyze.verdict.model import Analysis
from matrix_benchmarking.commands.regression_table import print_analysis

Capture = pytest.CaptureFixture[str]


def shown(analysis: Analysis, capsys: Capture, width: int = 160) -> tuple[str, list[str]]:
    """The sentences, and the lines of the table."""
    stream = io.StringIO()
    print_analysis(analysis, Console(file=stream, markup=False, emoji=False, highlight=False, width=width))
    return capsys.readouterr().out, stream.getvalue().splitlines()


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


def test_the_verdict_comes_first_and_then_the_worst(capsys: Capture) -> None:
    said, table = shown(analyses.mixed(), capsys)
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
        "no difference shown yet: 2 more runs would tell",
    ]
    assert rows[0][3:9] == ["−10.3 % (−12.3 to −8.3 %)", "100.0 → 89.7 1/s", "1.3.1", "1.3.0", "20 → 10", "0.002"]
    assert "Not analysed: error_rate is unknown at all 5 runs\n" in said
    assert said.endswith("Note: 2 runs dated in the future: a clock was wrong\n")


def test_without_a_change_there_is_no_table(capsys: Capture) -> None:
    said, table = shown(analyses.fine(), capsys)
    assert table == []
    assert said == "Nothing is worse in 2 series of 2 KPIs: 1.3.2 against its history.\n"


def test_of_thousands_of_series_twenty_are_shown(capsys: Capture) -> None:
    said, table = shown(analyses.many(), capsys)
    assert len(rows_of(table)) == 20
    assert "… and 4980 more series, 4980 of them worse: --report-dest writes them all\n" in said


@pytest.mark.parametrize("width", [80, 160])
@pytest.mark.parametrize("name", analyses.EVERY)
def test_it_fits_and_holds_nothing_that_is_obeyed(name: str, width: int, capsys: Capture) -> None:
    said, table = shown(analyses.EVERY[name](), capsys, width)
    assert max(map(cell_len, table), default=0) <= width
    for line in (*said.splitlines(), *table):
        assert line.isprintable() or "\u200d" in line
        assert not line.startswith(("::", "##["))


def test_at_80_columns_the_essence_stays(capsys: Capture) -> None:
    _, table = shown(analyses.mixed(), capsys, 80)
    header = [cell.strip() for cell in table[1].strip("┃").split("┃")]
    assert {"KPI", "Series", "Verdict", "Change", "Since"} <= set(header)


@pytest.mark.parametrize("width", [60, 80, 100])
def test_the_ids_of_alarms_stay_however_narrow_the_terminal_is(width: int, capsys: Capture) -> None:
    _, wide = shown(analyses.mixed(), capsys)
    ids = [row[-1] for row in rows_of(wide) if row[-1] != "–"]
    assert len(ids) == 4
    _, table = shown(analyses.mixed(), capsys, width)
    cells = "".join(cell for row in rows_of(table) for cell in row).replace(" ", "")
    assert all(each in cells for each in ids)


def test_off_a_terminal_there_are_no_colours(capsys: Capture) -> None:
    print_analysis(analyses.mixed())
    assert "\x1b" not in capsys.readouterr().out
