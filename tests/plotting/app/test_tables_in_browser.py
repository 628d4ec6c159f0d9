"""Tables of the application in a real browser: long ones are grids, short ones those of written pages."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from plotting_support.app_visit import AppVisit as Visit
from plotting_support.app_visit import exported


@pytest.fixture(scope="module")
def address(application: Callable[..., contextlib.AbstractContextManager[str]], sample: Path) -> Iterator[str]:
    with application(f"--results-dirname={sample}", "--workload=encoder_bench", "--port=0") as address:
        yield address


def test_a_table_is_sorted_filtered_and_exported(tab: Any, address: str, tmp_path: Path) -> None:
    with Visit(tab, address) as visit:
        visit.open("?show=kpi-overview")
        visit.page.get_by_text("Values at each point").scroll_into_view_if_needed()  # it is made when it is seen
        box = visit.page.locator(".grid-box", has_text="Mean over the runs at each point")
        box.scroll_into_view_if_needed()
        visit.until("document.querySelector('.grid-box .ag-row') !== null")
        visit.ready()  # a grid that is made anew forgets a click
        header = box.locator(".ag-header-cell", has_text="1B_cost")
        header.locator(".ag-header-cell-label").click()
        first = box.locator(".ag-pinned-left-cols-container [row-index='0']")
        visit.until("document.querySelector('.ag-header-cell[aria-sort=ascending]') !== null")
        assert "onnx-int8" in first.inner_text()
        visit.page.get_by_label("image Filter Input").fill("fp32")
        visit.until(
            "[...document.querySelectorAll('.ag-pinned-left-cols-container')]"
            ".some(e => e.innerText.includes('fp32') && !e.innerText.includes('int8'))"
        )
        rows = exported(visit, box, tmp_path / "mean-over-the-runs-at-each-point.csv")
        assert {row["image"] for row in rows} == {"onnx-fp32"}
        costs = [float(row["1B_cost (USD)"]) for row in rows]
        assert costs == sorted(costs)
        assert visit.complaints == []


def test_a_short_table_is_sorted_and_exported_with_what_it_says_once(tab: Any, address: str, tmp_path: Path) -> None:
    with Visit(tab, address) as visit:
        visit.open("")
        box = visit.page.locator(".table-scroll", has_text="1B_cost of each variant at its best")
        header = box.get_by_role("columnheader", name="1B_cost")
        for order in ("ascending", "descending"):
            header.get_by_role("button").click()
            assert header.get_attribute("aria-sort") == order
        rows = exported(visit, box, tmp_path / "1b-cost-of-each-variant-at-its-best.csv")
        costs = [float(row["1B_cost (USD)"]) for row in rows]
        assert costs == sorted(costs, reverse=True)
        assert (rows[-1]["image"], rows[-1]["Difference"], rows[0]["Difference"]) == ("onnx-int8", "best", "+201 %")
        assert rows[-1]["95 % interval (USD)"] == "24.40 to 31.15"
        assert {row["engine"] for row in rows} == {"onnxruntime"}
        assert {row["Runs"] for row in rows} == {"3"}
        visit.page.get_by_role("checkbox", name="onnx-fp32, 54 runs").click()
        visit.until("document.querySelector('.table-scroll tbody')?.rows.length === 2")
        assert header.get_attribute("aria-sort") is None
        assert visit.complaints == []


def test_a_table_that_is_too_wide_is_made_as_narrow_as_it_can_be(tab: Any, address: str) -> None:
    is_tight = "document.querySelector('.table-scroll table').classList.contains('tight')"
    with Visit(tab, address, viewport={"width": 1700, "height": 1200}) as visit:
        visit.open()
        visit.page.wait_for_selector(".table-scroll table.ready")
        box = visit.page.locator(".table-scroll").first
        assert not visit.page.evaluate(is_tight)
        box.evaluate("box => { box.style.width = '800px'; }")
        visit.until(is_tight)
        assert box.evaluate("box => box.scrollWidth <= box.clientWidth")
        box.evaluate("box => { box.style.width = ''; }")
        visit.until(f"!{is_tight}")
        assert visit.complaints == []


def test_a_place_whose_table_has_gone_is_looked_at_without_a_complaint(tab: Any, address: str) -> None:
    with Visit(tab, address) as visit:
        visit.open("")
        visit.page.locator(".table-scroll table.ready").first.evaluate(
            "table => { const place = table.parentElement; table.remove(); place.style.width = '300px'; }"
        )
        visit.page.evaluate(
            "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 50))))"
        )
        assert visit.complaints == []
