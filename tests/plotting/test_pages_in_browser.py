"""The pages in a real browser, from file://: figures are drawn, nothing is loaded, nothing hostile runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import toy_runs
from plotting_support.inspection import barriers, leads_nowhere_else
from plotting_support.visit import Visit, walk

from matrix_benchmarking.analyze.study import Given, Study
from matrix_benchmarking.matrix import Matrix
from matrix_benchmarking.plotting import site
from matrix_benchmarking.workload import Workload

PAGES = (
    "index.html",
    "best-configuration.html",
    "compare.html",
    "kpi-overview.html",
    "error-report.html",
    "regression-analysis.html",
    "kpi-history.html",
    "costs.html",
)
HEADS = """heads => heads.map(head => [head.id, head.querySelector("a.anchor")?.getAttribute("href"),
    head.querySelector("a.anchor")?.getAttribute("aria-label")])"""


@pytest.fixture
def pages(matrix: Matrix, workload: Workload, tmp_path: Path) -> Path:
    """The folder with all pages of the hostile matrix."""
    site.write_site(Study(matrix, workload, given=Given(place="results")), tmp_path / "report", [])
    return tmp_path / "report"


@pytest.mark.parametrize("colour_scheme", ["light", "dark"])
def test_pages_draw_their_figures_load_nothing_and_run_nothing_hostile(
    browser: Any, pages: Path, colour_scheme: str
) -> None:
    for path, visit in walk(browser, [pages / name for name in PAGES], color_scheme=colour_scheme):
        name = path.name
        figures = visit.page.locator(".figure")
        drawn = visit.page.locator(".figure svg.main-svg .trace")
        assert (
            (drawn.count() > 0)
            == (figures.count() > 0)
            == (name in ("index.html", "best-configuration.html", "kpi-overview.html", "costs.html"))
        )
        assert visit.complaints == []
        assert all(url.startswith((pages.as_uri(), "data:")) for url in visit.requests)
        assert name in (
            "compare.html",
            "regression-analysis.html",
            "kpi-history.html",
        ) or "alert(1)" in visit.page.inner_text("body")
        assert visit.page.locator("img, main script:not([type='application/json'])").count() == 0
        wide = visit.page.viewport_size
        visit.page.set_viewport_size({"width": 400, "height": 800})
        visit.until("document.documentElement.scrollWidth <= 400")  # its tables scroll
        visit.page.set_viewport_size(wide)


def test_on_paper_figures_are_no_wider_than_the_paper_and_afterwards_as_before(browser: Any, pages: Path) -> None:
    measure = "figures => figures.map(figure => figure.getBoundingClientRect().width)"
    with Visit(browser, pages / "best-configuration.html", viewport={"width": 1400, "height": 900}) as visit:
        figures = visit.page.locator(".figure svg.main-svg:first-of-type")
        visit.until("!!document.querySelector('.figure svg.main-svg .trace')")
        before = figures.evaluate_all(measure)
        visit.page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert 0 < max(figures.evaluate_all(measure)) <= 681  # 18 cm
        visit.page.evaluate("dispatchEvent(new Event('afterprint'))")
        visit.page.wait_for_timeout(300)
        assert max(figures.evaluate_all(measure)) == max(before) > 681


def test_on_paper_all_is_open_but_what_stands_by_itself_is_as_the_reader_has_it(browser: Any, tmp_path: Path) -> None:
    runs = [
        {"image": image, "cost": cost + at, "day": None}
        for image, cost in (("a", 5), ("b", 9), ("c", 7))
        for at in (0, 1)
    ]
    study = Study(Matrix([toy_runs.entry(run, at) for at, run in enumerate(runs)]), toy_runs.workload())
    site.write_site(study, tmp_path, ["Compare"])
    states = "all => all.map(one => [one.classList.contains('apart'), one.open])"
    with Visit(browser, tmp_path / "compare.html") as visit:
        visit.page.evaluate("dispatchEvent(new Event('beforeprint'))")
        found = visit.page.locator("details").evaluate_all(states)
    assert {(is_apart, is_open) for is_apart, is_open in found} == {(True, False), (False, True)}


def test_a_script_that_found_its_way_into_a_page_would_be_refused(browser: Any, pages: Path) -> None:
    page = pages / "index.html"
    text = page.read_text(encoding="utf-8").replace("<main", "<script>document.title = 'run'</script><main")
    page.write_text(text, encoding="utf-8")
    with Visit(browser, page) as visit:
        assert visit.page.title() != "run"
        assert any("Content Security Policy" in complaint for complaint in visit.complaints)


def test_a_click_on_a_header_sorts_by_value_and_again_the_other_way(browser: Any, pages: Path) -> None:
    with Visit(browser, pages / "kpi-overview.html") as visit:
        table = visit.page.locator("table").nth(1)
        header = table.locator("th", has_text="speed")
        for direction in ("ascending", "descending"):
            header.locator("button").press("Enter")
            assert header.get_attribute("aria-sort") == direction
            shown = [text.split(" ")[0] for text in table.locator("tbody td:nth-child(5)").all_inner_texts()]
            assert len(shown) == 3
            assert shown == sorted(shown, key=float, reverse=direction == "descending")


@pytest.fixture(scope="module")
def real_pages(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pages of the committed sample, as its own workload draws them."""
    from matrix_benchmarking import store, workload

    encoder_bench = workload.load("encoder_bench")
    results = repository / "data" / "samples" / "encoder_bench"
    destination = tmp_path_factory.mktemp("real") / "report"
    site.write_site(
        Study(store.parse_tree(encoder_bench, results), encoder_bench, given=Given(place=str(results))), destination, []
    )
    return destination


def test_every_figure_of_the_sample_is_drawn_each_section_has_an_address_and_nothing_leads_elsewhere(
    browser: Any, real_pages: Path
) -> None:
    drawn = {}
    for path, visit in walk(browser, sorted(real_pages.glob("*.html"))):
        for colour_scheme, width in (("light", 1200), ("dark", 400)):
            visit.page.emulate_media(color_scheme=colour_scheme)
            visit.page.set_viewport_size({"width": width, "height": 800})
            figures = visit.page.locator(".figure")
            visit.page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true; })")
            for number in range(figures.count()):
                figures.nth(number).scroll_into_view_if_needed()
                figures.nth(number).locator("svg.main-svg .trace, svg.main-svg image").first.wait_for(state="attached")
            visit.until("width => document.documentElement.scrollWidth <= width", width)
        assert visit.complaints == []
        own = (real_pages.as_uri(), "data:", "blob:")
        assert [url for url in visit.requests if not url.startswith(own)] == []
        assert bool(leads_nowhere_else(visit.page, "file:///")) == (figures.count() > 0)
        for name, target, label in visit.page.locator("h2, h3").evaluate_all(HEADS):
            assert target == f"#{name}"
            assert label.startswith("Link to the section ")
        ids = visit.page.locator("[id]").evaluate_all("elements => elements.map(element => element.id)")
        assert len(ids) == len(set(ids))
        drawn[path.name] = figures.count()
    assert (drawn["cost-analysis.html"], drawn["sanity-checks.html"], drawn["runs.html"]) == (3, 2, 3)


def test_at_400_pixels_a_table_shows_its_value_first_and_its_command_is_copied(browser: Any, real_pages: Path) -> None:
    seen = """() => [...document.querySelectorAll(".joined + td.mark")].map(value =>
        [value.previousSibling.textContent, value.getBoundingClientRect().right <= innerWidth])"""
    with Visit(browser, real_pages / "best-configuration.html", viewport={"width": 400, "height": 800}) as visit:
        assert visit.page.evaluate(seen) == [
            ["cpu-1 · onnx-int8 · batch_size 32, vus 32", True],
            ["cpu-1 · onnx-int8 · batch_size 32 · vus 32", True],
        ]
        visit.page.locator("#repeat-the-best ~ .command button").first.click()
        visit.page.get_by_role("button", name="Copied").wait_for()
        assert visit.page.evaluate("getSelection().toString()").startswith("matbench benchmark ")
        assert visit.complaints == []


def test_the_slider_shows_what_fewer_users_would_have_found(browser: Any, real_pages: Path) -> None:
    with Visit(browser, real_pages / "sanity-checks.html") as visit:
        bars = visit.page.locator(".figure").first.locator("g.bars text.bartext")
        assert set(bars.all_text_contents()) == {"100 %"}
        visit.page.locator(".slider-tick-touch-rect, .slider-rail-touch-rect").first.click(position={"x": 3, "y": 3})
        visit.until("document.querySelector('.slider-label').textContent.includes(' 1 ')")
        drawn = "[...document.querySelectorAll('g.bars text.bartext')].some(bar => bar.textContent != '100 %')"
        visit.until(drawn)
        found = bars.all_text_contents()
        assert len(found) > 5
        assert all(0 < int(text.removesuffix(" %")) <= 100 for text in found)
        assert visit.complaints == []


def test_a_single_file_has_everything_inside_and_needs_nothing_else(
    browser: Any, repository: Path, tmp_path: Path
) -> None:
    from matrix_benchmarking import store, workload

    encoder_bench = workload.load("encoder_bench")
    results = repository / "data" / "samples" / "encoder_digits"
    matrix = store.parse_tree(encoder_bench, results)
    (path,) = site.write_site(
        Study(matrix, encoder_bench, given=Given(place=str(results))), tmp_path / "report", [], single_file=True
    ).pages
    alone = path.rename(tmp_path / "moved.html")
    with Visit(browser, alone) as visit:
        visit.page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true; })")
        figures = visit.page.locator(".figure")
        assert figures.count() >= 4
        for number in range(figures.count()):
            figures.nth(number).scroll_into_view_if_needed()  # the first dozen are drawn at once, others when seen
            figures.nth(number).locator("svg.main-svg .trace, svg.main-svg image").first.wait_for(state="attached")
        assert visit.page.locator("h1").count() == 1
        visit.page.locator("nav a", has_text="Sanity checks").click()
        assert visit.page.url.endswith("#sanity-checks")
        assert visit.page.locator("section#sanity-checks").is_visible()
        targets = visit.page.locator("a[href^='#']").evaluate_all("links => links.map(link => link.hash.slice(1))")
        ids = visit.page.locator("[id]").evaluate_all("elements => elements.map(element => element.id)")
        assert set(targets) <= set(ids)
        assert len(ids) == len(set(ids))
        assert visit.complaints == []
        assert all(url.startswith((alone.as_uri(), "data:")) for url in visit.requests)
        assert leads_nowhere_else(visit.page, "file:///")


def test_a_single_file_of_hostile_data_runs_nothing(
    browser: Any, matrix: Matrix, workload: Workload, tmp_path: Path
) -> None:
    (path,) = site.write_site(
        Study(matrix, workload, given=Given(place="results")), tmp_path / "report", [], single_file=True
    ).pages
    with Visit(browser, path) as visit:
        assert visit.complaints == []
        assert "alert(1)" in visit.page.inner_text("body")
    path.write_text(path.read_text().replace("<main", "<script>document.title = 'run'</script><main"))
    with Visit(browser, path) as visit:
        assert visit.page.title() != "run"


@pytest.mark.parametrize(("colour_scheme", "background"), [("light", (255, 255, 255)), ("dark", (21, 24, 29))])
def test_a_figure_is_saved_as_svg_and_png_with_the_background_of_the_page(
    browser: Any, real_pages: Path, tmp_path: Path, colour_scheme: str, background: tuple[int, int, int]
) -> None:
    from PIL import Image

    with Visit(browser, real_pages / "cost-analysis.html", color_scheme=colour_scheme) as visit:
        for file_format in ("SVG", "PNG"):
            button = visit.page.get_by_role("button", name=f"Save the figure Best under a limit as {file_format}")
            with visit.page.expect_download() as waiting:
                button.press("Enter")
            assert waiting.value.suggested_filename == f"best-under-a-limit.{file_format.lower()}"
            waiting.value.save_as(tmp_path / file_format)
        assert visit.complaints == []
    svg = (tmp_path / "SVG").read_text(encoding="utf-8")
    assert svg.startswith("<svg")
    assert f"rgb{background}" in svg
    image = Image.open(tmp_path / "PNG")
    assert image.format == "PNG"
    assert image.width > 1500
    assert image.convert("RGB").getpixel((2, 2)) == background


def test_the_link_of_a_section_leads_to_its_address(browser: Any, real_pages: Path) -> None:
    with Visit(browser, real_pages / "runs.html") as visit:
        visit.page.locator("#latency-quantiles-over-virtual-users a.anchor").press("Enter")
        assert visit.page.url.endswith("runs.html#latency-quantiles-over-virtual-users")
        visit.page.emulate_media(media="print")
        assert not visit.page.locator("a.anchor, .save").first.is_visible()


def test_no_page_has_a_barrier(browser: Any, real_pages: Path, pages: Path) -> None:
    paths = [*sorted(real_pages.glob("*.html")), pages / "error-report.html"]
    # The page's policy forbids scripts that aren't its own; axe is one.
    for path, visit in walk(browser, paths, bypass_csp=True):
        assert (path.name, barriers(visit.page)) == (path.name, [])
        visit.page.emulate_media(color_scheme="light")
