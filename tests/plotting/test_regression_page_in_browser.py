"""The page of an analysis in a real browser: charts are drawn, nothing is loaded, nothing hostile runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from plotting_support.analyses import analysis_of, series, toy_workload, versions
from plotting_support.inspection import barriers, leads_nowhere_else
from plotting_support.visit import Visit

from matrix_benchmarking.analyze.study import Study
from matrix_benchmarking.matrix import Matrix
from matrix_benchmarking.plotting.site import write_regression_page

HOSTILE = '<script>alert(1)</script><img src=x onerror="alert(1)">'
SERIES = 20


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twenty series that changed, hostile and long names among them, one over a year; some that did not change."""
    names = versions(16)
    entries = [
        entry for number in range(SERIES - 3) for entry in series(f"image-{number}", names, {13: 1.2 + number / 50})
    ]
    entries += series(HOSTILE, [f"{name}-{HOSTILE}" for name in names], {13: 1.2})
    entries += series("long name " * 30, names, {13: 0.7})
    entries += series("nightly", versions(365), {300: 1.2}, repeats=1, spikes=(100,))
    entries += series("same", names)
    return write_regression_page(
        analysis_of(entries), Study(Matrix(entries), toy_workload()), tmp_path_factory.mktemp("regression")
    )


@pytest.mark.parametrize(("colour_scheme", "widths"), [("light", (1200, 400)), ("dark", (400, 1200))])
def test_every_chart_is_drawn_when_it_is_seen_and_nothing_complains(
    browser: Any, page: Path, colour_scheme: str, widths: tuple[int, int]
) -> None:
    sizes = [{"width": width, "height": 800} for width in widths]
    with Visit(browser, page, color_scheme=colour_scheme, viewport=sizes[0]) as visit:
        charts = visit.page.locator(".series-chart .figure")
        assert charts.count() == SERIES
        for number in range(SERIES):
            charts.nth(number).scroll_into_view_if_needed()
            charts.nth(number).locator("svg.main-svg .trace").first.wait_for(state="attached")
        for size in sizes:
            visit.page.set_viewport_size(size)
            visit.until("width => document.documentElement.scrollWidth <= width", size["width"])
        assert "alert(1)" in visit.page.inner_text("main")
        assert visit.page.locator("img, main script:not([type='application/json'])").count() == 0
        assert visit.page.locator(".gl-container canvas").count() == 0
        leads_nowhere_else(visit.page, "file:///")
        assert visit.complaints == []
        assert all(url.startswith((page.as_uri(), "data:")) for url in visit.requests)


@pytest.mark.parametrize("width", [1200, 700, 400])
def test_the_texts_of_an_axis_do_not_meet(browser: Any, page: Path, width: int) -> None:
    script = """charts => charts.flatMap(chart => {
        const boxes = [...chart.querySelectorAll(".xtick text")].map(text => text.getBoundingClientRect());
        const straight = boxes.every(box => box.height < 25);
        return straight ? boxes.slice(1).map((box, place) => box.left - boxes[place].right) : [];
    })"""
    with Visit(browser, page, viewport={"width": width, "height": 800}) as visit:
        gaps = visit.page.locator(".series-chart .figure").evaluate_all(script)
        assert gaps
        assert min(gaps) > 0


def test_a_link_of_the_table_leads_to_its_chart_and_the_table_sorts(browser: Any, page: Path) -> None:
    with Visit(browser, page) as visit:
        visit.page.locator("td a[href='#regression-chart--15']").click()
        chart = visit.page.locator("section.series-chart", has=visit.page.locator("#regression-chart--15"))
        chart.locator("svg.main-svg .trace").first.wait_for(state="attached")
        visit.until("document.getElementById('regression-chart--15').getBoundingClientRect().top < 800")
        header = visit.page.locator("th", has_text="Change").first
        header.locator("button").press("Enter")
        assert header.get_attribute("aria-sort") == "ascending"
        sizes = visit.page.locator("table").first.locator("tbody td:nth-child(5)").all_inner_texts()
        assert sizes[0].startswith("−")
        assert visit.complaints == []


def test_all_charts_are_on_paper(browser: Any, page: Path) -> None:
    with Visit(browser, page) as visit:
        visit.page.evaluate("dispatchEvent(new Event('beforeprint'))")
        figures = visit.page.locator(".series-chart .figure")
        for number in range(figures.count()):
            assert figures.nth(number).locator("svg.main-svg .trace").count() > 0
        assert visit.page.locator("details:not([open])").count() == 0


def test_the_page_has_no_barrier(browser: Any, page: Path) -> None:
    with Visit(browser, page, bypass_csp=True) as visit:
        assert barriers(visit.page) == []
