"""Tables as grids: numbers stay numbers, text stays text, links lead only where they may."""

from __future__ import annotations

import math
from typing import Any

from dash import html

from matrix_benchmarking.plotting.app.elements import content, grid
from matrix_benchmarking.plotting.tables import Cell, Column, table


def rows_of(component: Any) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = component.children[1].children.rowData
    return rows


def test_numbers_are_sorted_and_exported_as_numbers_and_shown_as_written() -> None:
    columns = [Column("vus", numeric=True), Column("cost", unit="USD", numeric=True)]
    shown = grid(table(columns, [[Cell("32", sort=32), "unknown"]], caption="c"), "t")
    assert rows_of(shown) == [{"id": "0", "c0": 32.0, "c0p": ["32"], "c1": None, "c1p": ["unknown"]}]
    assert [each["headerName"] for each in shown.children[1].children.columnDefs] == ["vus", "cost (USD)"]


def test_a_kpi_is_filtered_and_exported_in_the_unit_that_its_header_says() -> None:
    from matrix_benchmarking import kpi
    from matrix_benchmarking.plotting.tables import kpi_cell

    @kpi.HigherBetter
    @kpi.FormatDivisor(1e6, unit="MB/s", format="{:.0f}")
    @kpi.KPIMetadata(help="rate", unit="B/s")
    def rate(lts: Any) -> Any:
        return None

    definition = kpi.collect([rate])["rate"]
    (row,) = rows_of(
        grid(table([Column("rate", unit="MB/s", numeric=True)], [[kpi_cell(definition, 2.5e8)]], caption="c"), "t")
    )
    assert (row["c0"], row["c0p"]) == (250.0, ["250"])


def test_numbers_of_more_bits_than_json_has_keep_their_place_as_far_as_there_is_one() -> None:
    rows = [[Cell("huge", sort=10**400)], [Cell("large", sort=2**70)], [Cell("small", sort=2**53 + 1)]]
    shown = grid(table([Column("x", numeric=True)], rows, caption="c"), "t")
    assert [row["c0"] for row in rows_of(shown)] == [None, float(2**70), 2**53 + 1]


def test_infinite_and_unknown_numbers_have_no_place_in_the_order() -> None:
    rows = [[Cell("inf", sort=math.inf)], [Cell("nan", sort=math.nan)]]
    shown = grid(table([Column("x", numeric=True)], rows, caption="c"), "t")
    assert [row["c0"] for row in rows_of(shown)] == [None, None]


def test_links_keep_their_text_and_lose_what_runs() -> None:
    cell = Cell([html.A("one", href="?run=1", title="t"), " ", html.A("bad", href="javascript:alert(1)")])
    (row,) = rows_of(grid(table([Column("Runs")], [[cell]], caption="c"), "t"))
    assert row["c0"] == "one bad"
    assert row["c0p"] == [{"text": "one", "href": "?run=1", "title": "t"}, " bad"]


def test_elements_in_a_cell_give_their_text() -> None:
    node = html.Details([html.Summary("2 tests"), html.Ul([html.Li(html.A("a", href="?run=a")), html.Li("b")])])
    link = {"text": "a", "href": "?run=a", "title": ""}
    assert list(content(node)) == ["2 tests", " ", link, " ", "b", " "]
    assert list(content([html.A("a", href="?run=a"), html.Br(), "b"])) == [link, ", ", "b"]
    assert list(content([None, 1, True, html.Code("x")])) == ["1", {"text": "x", "code": "1"}]


def test_markup_in_data_is_text() -> None:
    (row,) = rows_of(grid(table([Column("x")], [["<img src=x onerror=alert(1)>"]], caption="c"), "t"))
    assert row == {"id": "0", "c0": "<img src=x onerror=alert(1)>"}


def test_rows_have_ids_that_stay_and_a_long_grid_can_be_filtered() -> None:
    shown = grid(table([Column("x")], [[str(number)] for number in range(100)], caption="c"), "t").children[1].children
    assert [row["id"] for row in shown.rowData[:3]] == ["0", "1", "2"]
    assert shown.getRowId == "params.data.id"
    assert shown.columnDefs[0]["floatingFilter"] is True


def test_a_table_without_rows_is_shown() -> None:
    assert rows_of(grid(table([Column("x")], [], caption="nothing"), "t")) == []
