"""What a person sees first: of a directory the ranking as a picture with a limit to drag, of a history what changed."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from plotting_support.app_visit import AppVisit as Visit

from matrix_benchmarking.history import SQLiteLocation, open_history
from matrix_benchmarking.history.transfer import read_import

Application = Callable[..., contextlib.AbstractContextManager[str]]
MOST_WORDS = 257  # half of what it was

IN_VIEW = """() => [...document.querySelectorAll("main h1, main h2, main h3, main p, main li, main summary, main td")]
    .filter(e => e.checkVisibility() && e.getBoundingClientRect().top < innerHeight)
    .map(e => e.innerText).join(" ").split(/\\s+/).length"""
FIGURES = """() => [...document.querySelectorAll(".js-plotly-plot .main-svg:first-child")]
    .filter(e => e.getBoundingClientRect().bottom <= innerHeight).length"""


@pytest.fixture(scope="module")
def of_releases(application: Application, repository: Path, tmp_path_factory: Any) -> Iterator[str]:
    path = tmp_path_factory.mktemp("releases") / "releases.db"
    with open_history(SQLiteLocation(path), writable=True) as history:
        read_import(history, repository / "data/samples/encoder_history/history.jsonl.gz")
    with application(
        f"--history=sqlite:///{path}", "--workload=encoder_bench", "--port=0", "--allow-writing"
    ) as address:
        yield address


@pytest.fixture(scope="module")
def of_results(application: Application, sample: Path) -> Iterator[str]:
    with application(f"--results-dirname={sample}", "--workload=encoder_bench", "--port=0") as address:
        yield address


def test_a_history_opens_on_what_changed_with_its_chart(tab: Any, of_releases: str) -> None:
    with Visit(tab, of_releases, viewport={"width": 1400, "height": 1000}) as visit:
        visit.open()
        assert visit.page.locator("#content h1").inner_text() == "Regression analysis"
        lead = visit.page.locator("#content .verdict .lead")
        assert lead.inner_text() == "batch_size 8 is worse since 1.3.1: 1B_cost +11.6 %, and 3 more KPIs."
        visit.see_all()
        assert "children=" not in visit.page.locator("#content").inner_text()  # an element is no text
        visit.page.evaluate("scrollTo(0, 0)")
        assert visit.page.evaluate(FIGURES) >= 1
        assert visit.page.evaluate(IN_VIEW) <= MOST_WORDS
        assert visit.page.locator("#headline .lead").count() == 0  # what is best is another page's


def test_the_ranking_is_a_picture_and_its_limit_a_line_to_drag(tab: Any, of_results: str) -> None:
    with Visit(tab, of_results, viewport={"width": 1400, "height": 1000}) as visit:
        visit.open()
        visit.until("document.querySelectorAll('.pictures .main-svg').length > 2")
        assert visit.page.evaluate(IN_VIEW) <= MOST_WORDS
        assert "the highest batch_size and vus" in visit.page.locator("#headline").inner_text()
        visit.page.locator("#headline summary").click()
        assert "--setting=vus=32 --setting=vus=64" in visit.page.locator("#headline pre").inner_text()
        line = visit.page.locator(".pictures .js-plotly-plot").nth(1).locator(".shapelayer path").last.bounding_box()
        assert line is not None
        x, y = line["x"], line["y"] + line["height"] / 2
        visit.page.mouse.move(x, y)
        visit.page.mouse.down()
        visit.page.mouse.move(x - 150, y, steps=6)
        visit.page.mouse.up()
        visit.until("location.search.includes('cfg.limit=')")
        visit.until("document.querySelector('#headline .lead').innerText.includes('ms p95_latency by 1B_cost')")
        assert visit.complaints == []


def test_a_limit_is_typed_with_any_decimals_and_one_that_can_not_be_is_said(tab: Any, of_results: str) -> None:
    with Visit(tab, of_results) as visit:
        visit.open()
        visit.until("document.querySelector('#headline').innerText.includes('finding')")  # nothing more comes by itself
        visit.ready()
        for typed, said in (("20.25", "Cheapest under 20.25 ms p95_latency"), ("-5", "limit: -5 is below 0")):
            field = visit.page.locator("input[type=number]").first
            field.fill(typed)
            field.press("Enter")
            visit.until(f"location.search.includes('cfg.limit={typed}')")
            visit.page.get_by_text(said).first.wait_for()
            visit.until("!document.querySelector('[data-dash-is-loading=true]')")


LINES = "e => e.getBoundingClientRect().height / parseFloat(getComputedStyle(e).lineHeight)"


def test_at_400_pixels_the_verdict_takes_three_lines_and_the_figures_fit(tab: Any, of_results: str) -> None:
    with Visit(tab, of_results, viewport={"width": 400, "height": 800}) as visit:
        visit.open()
        visit.see_all()
        assert visit.page.locator("#headline .lead").evaluate(LINES) < 3.5
        scrolls = (
            "[...document.querySelectorAll('.figure-scroll')].filter(e => e.scrollWidth > e.clientWidth + 1).length"
        )
        assert visit.page.evaluate(scrolls) == 0
        assert visit.page.evaluate("document.documentElement.scrollWidth") <= 400
        visit.open("?show=compare")
        assert visit.page.locator("#content .lead").evaluate(LINES) < 3.5


@pytest.mark.parametrize(("of", "page"), [("llm_bench", "compare"), ("micro_bench", "best-configuration")])
def test_at_400_pixels_the_verdict_on_other_samples_takes_three_lines(
    application: Application, repository: Path, tab: Any, of: str, page: str
) -> None:
    with (
        application(f"--results-dirname={repository / 'data/samples' / of}", f"--workload={of}", "--port=0") as address,
        Visit(tab, address, viewport={"width": 400, "height": 800}) as visit,
    ):
        visit.open(f"?show={page}")
        assert visit.page.locator(".verdict .lead").first.evaluate(LINES) < 3.5


def test_at_1400_pixels_a_comparison_shows_both_means_without_scrolling(tab: Any, of_results: str) -> None:
    with Visit(tab, of_results, viewport={"width": 1400, "height": 1000}) as visit:
        visit.open("?show=compare")
        visit.see_all()
        visit.until("!!document.querySelector('.grid .ag-header-cell[col-id=c5]')")
        right = "e => e.closest('.grid').getBoundingClientRect().right - e.getBoundingClientRect().right"
        new = visit.page.get_by_role("columnheader", name="New", exact=True)
        assert new.evaluate(right) >= 0
        visit.page.locator(".grid .ag-row[row-index='0'] [col-id=c5] a").click()
        visit.wait_text("#content h1", "cpu-2")


CUT = """() => [...document.querySelectorAll(".js-plotly-plot")].flatMap(plot => {
    const { left, right } = plot.getBoundingClientRect();
    const said = [...plot.querySelectorAll("g.annotation, .g-xtitle, .xtick, .ytick, .slider-label")];
    const boxes = said.map(each => [each.getBoundingClientRect(), each.textContent]).filter(([box]) => box.width);
    const meet = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
    const titles = [...plot.querySelectorAll("g.annotation")].map(each => each.getBoundingClientRect());
    return [...boxes.filter(([box]) => box.left < left - 1 || box.right > right + 1).map(([, text]) => text),
        ...titles.filter((one, at) => titles.slice(at + 1).some(other => meet(one, other))).map(() => "titles meet")];
})"""
VALUES = """() => [
    ...[...document.querySelectorAll(".grid")].filter(grid => grid.querySelector("[col-id=joined].ag-cell"))
        .map(grid => grid.querySelector(".ag-center-cols-container .ag-row[row-index='0']").children[0]),
    ...document.querySelectorAll("#content tbody tr:first-child td.joined + td"),
].map(first => [first.textContent, first.getBoundingClientRect().right <= innerWidth])"""


@pytest.mark.parametrize(
    ("page", "first"),
    [
        ("best-configuration", "26.98"),
        ("kpi-overview", "64.36 ± 3.31"),
        ("explore", "64.36"),
        ("cost-analysis", ""),
        ("runs", ""),
        ("sanity-checks", ""),
    ],
)
def test_at_400_pixels_values_are_seen_without_scrolling_and_no_text_of_a_figure_is_cut(
    tab: Any, of_results: str, page: str, first: str
) -> None:
    with Visit(tab, of_results, viewport={"width": 400, "height": 800}) as visit:
        visit.open(f"?show={page}")
        visit.see_all()
        assert visit.page.evaluate(CUT) == []
        if first:
            visit.until("() => document.querySelector('.grid [col-id=joined].ag-cell')")
            found = visit.page.evaluate(VALUES)
            assert found[0] == [first, True]
            assert all(is_seen for _, is_seen in found)


@pytest.mark.parametrize("page", ["regression-analysis", "best-configuration", "kpi-overview", "compare"])
def test_on_paper_a_table_has_all_its_columns(tab: Any, of_releases: str, page: str) -> None:
    widths = (
        "[...document.querySelectorAll('.table-scroll table')].filter(e => e.checkVisibility()).map(e => e.offsetWidth)"
    )
    with Visit(tab, of_releases, viewport={"width": 640, "height": 1123}) as visit:
        visit.open(f"?show={page}")
        visit.see_all()
        visit.page.emulate_media(media="print")
        visit.page.evaluate("dispatchEvent(new Event('beforeprint'))")
        found = visit.page.evaluate(widths)
        assert found
        assert max(found) <= 681  # 18 cm


def test_alarms_are_dealt_with_where_they_are_seen_and_others_see_it(
    tab: Any, of_releases: str, repository: Path, tmp_path_factory: Any
) -> None:
    with Visit(tab, of_releases) as visit:
        visit.open()
        other = visit.page.context.new_page()
        other.goto(of_releases)
        other.locator("#content .verdict .lead").wait_for()
        folded = other.locator("#content details", has_text="series without a difference shown")
        folded.locator("summary").first.click()
        other.locator("summary", has_text="Deal with this alarm").first.click()
        begun = other.locator(".deal input[name=reason]:visible").first
        begun.fill("what nobody else may take away")
        visit.until("!document.querySelector('[data-dash-is-loading=true]')")
        visit.page.locator("summary", has_text="Deal with all 4 since 1.3.1").click()
        form = visit.page.locator(".deal").first
        form.get_by_role("button", name="Acknowledge").click()
        visit.wait_text("#notice", "no reason given: say why, so that others know")
        form.locator("input[name=reason]").fill("a new tokenizer")
        form.get_by_role("button", name="Acknowledge").click()
        visit.until("document.querySelector('#notice').innerText.includes('a new tokenizer')")
        dealt = "() => document.querySelector('#content .verdict').innerText.includes('worse, and dealt with')"
        visit.until(dealt)
        newer = "() => document.querySelector('#notice').innerText.includes('something newer')"
        other.wait_for_function(newer, timeout=20_000)
        assert begun.input_value() == "what nobody else may take away"
        other.locator("summary", has_text="Deal with this alarm").first.click()
        other.wait_for_function(dealt, timeout=20_000)
        assert "Acknowledged by" in other.locator("#content").inner_text()
        other.wait_for_function("() => document.querySelector('#notice').innerText === ''")
        assert folded.evaluate("details => details.open")
        visit.until("!document.querySelector('[data-dash-is-loading=true]')")
        visit.page.locator("summary", has_text="Deal with this alarm").first.click()
        form = visit.page.locator(".deal:visible").first
        form.locator("input[name=reason]").fill("see the release notes")
        form.get_by_role("button", name="Comment").click()
        visit.until("document.querySelector('#notice').innerText.includes('see the release notes')")
        visit.until("document.querySelector('details[open] > .deal') === null")
        commented = "() => document.querySelector('#content').innerText.includes(': see the release notes.')"
        other.wait_for_function(commented, timeout=20_000)
        other.close()
