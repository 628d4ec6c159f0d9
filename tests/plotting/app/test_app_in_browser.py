"""The application in a real browser, started as a person starts it: pages, filters, links, keys, exports, dark mode."""

from __future__ import annotations

import contextlib
import shutil
import urllib.parse
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from plotting_support.app_visit import AppVisit as Visit
from plotting_support.app_visit import exported
from plotting_support.inspection import barriers, leads_nowhere_else

from matrix_benchmarking.plotting.app import view

Application = Callable[..., contextlib.AbstractContextManager[str]]


@pytest.fixture(scope="module")
def sample_copy(sample: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("app") / "encoder_bench"
    shutil.copytree(sample, place)
    return place


@pytest.fixture(scope="module")
def address(application: Application, sample_copy: Path) -> Iterator[str]:
    destination = sample_copy.parent / "report"
    with application(
        f"--results-dirname={sample_copy}", "--workload=encoder_bench", f"--report-dest={destination}", "--port=0"
    ) as address:
        yield address


def test_every_page_is_drawn_asks_for_nothing_from_elsewhere_and_leads_nowhere_else(tab: Any, address: str) -> None:
    with Visit(tab, address, color_scheme="dark") as visit:  # in the light, the others draw
        visit.open()
        run = visit.page.locator("#content a[href*='run=']").first.get_attribute("href")
        links = visit.page.eval_on_selector_all("#tabs a", "links => links.map(link => link.getAttribute('href'))")
        reports = links[: visit.page.locator("#tabs .pages").first.locator("a").count()]
        assert len(links) >= 20
        buttons = {}
        for link in links:
            visit.follow(link)
            visit.see_all()
            buttons[link.removeprefix("?show=")] = leads_nowhere_else(visit.page, address)
            if link in reports:
                assert (link, barriers(visit.page)) == (link, [])
        assert all(buttons[name] for name in ("cost-analysis", "sanity-checks", "best-under-a-limit"))
        assert {"compare", "check", "kpi-overview", "error-report"} < buttons.keys()
        for name, at, title in (("repeat 1", "h2", "What differs from"), ("settings.yaml", "h1", "settings.yaml")):
            visit.open(str(run))
            leads_nowhere_else(visit.page, address)
            visit.page.get_by_role("link", name=name).first.click()
            visit.wait_text(f"#content {at}", title)
            leads_nowhere_else(visit.page, address)
        assert visit.complaints == []


WATCH = """window.shifts = [];
new PerformanceObserver(list => list.getEntries().forEach(entry => entry.hadRecentInput || shifts.push(entry.value)))
    .observe({type: 'layout-shift', buffered: true});"""


@pytest.mark.parametrize(
    "query",
    ["", *(f"?show={page}" for page in ("cost-analysis", "did-we-try-enough-vus", "kpi-overview", "sanity-checks"))],
)
def test_what_comes_late_does_not_push_what_is_seen(tab: Any, address: str, query: str) -> None:
    with Visit(tab, address) as visit:
        visit.open(query)
        visit.page.evaluate(WATCH)
        visit.page.wait_for_selector("#content .trace, #content td", state="attached")
        visit.page.wait_for_timeout(500)
        assert visit.page.evaluate("shifts.reduce((sum, value) => sum + value, 0)") < 0.1


def test_the_colours_are_those_of_the_system(tab: Any, address: str) -> None:
    colour = "getComputedStyle(document.querySelector(e)).backgroundColor"
    script = f"['body', '.table-scroll td', '.ag-root-wrapper'].map(e => {colour})"
    with Visit(tab, address) as visit:
        visit.open()
        visit.see_all()
        visit.page.wait_for_selector(".ag-root-wrapper")
        assert visit.page.evaluate(script) == ["rgb(255, 255, 255)"] * 3
        visit.page.emulate_media(color_scheme="dark")
        assert visit.page.evaluate(script) == ["rgb(21, 24, 29)"] * 3


def test_a_filter_changes_verdict_counts_and_page_and_back_undoes_it(tab: Any, address: str) -> None:
    with Visit(tab, address) as visit:
        visit.open()
        before = visit.text("#headline")
        visit.page.get_by_role("checkbox", name="onnx-fp32, 54 runs").click()
        visit.wait_text("#headline", "onnx-fp32")
        assert visit.query() == "filters=image=onnx-fp32"
        assert visit.page.get_by_role("checkbox", name="onnx-fp32, 54 runs").get_attribute("aria-checked") == "true"
        assert visit.page.get_by_role("checkbox", name="cpu-2, 9 runs").count() == 1
        visit.page.go_back()
        visit.wait_text("#headline", "onnx-int8")
        assert visit.text("#headline") == before
        visit.page.go_forward()
        visit.wait_text("#headline", "onnx-fp32")
        assert visit.complaints == []


def test_a_link_shows_the_same_view_again(tab: Any, address: str) -> None:
    query = "?show=cost-analysis&filters=hw_type=cpu-1,image=onnx-int8:onnx-fp32&order=vus,image&cfg.minimum_vus=4"
    texts = []
    for _ in range(2):
        with Visit(tab, address) as visit:
            visit.open(query)
            visit.page.wait_for_selector("#content .js-plotly-plot .trace")
            texts.append((visit.text("#headline"), visit.text("#selectors"), visit.text("#content h1")))
            assert view.same(urllib.parse.urlsplit(visit.page.url).query, query)
    assert texts[0] == texts[1]


def test_a_filter_can_be_typed_and_one_that_can_not_be_read_is_said(tab: Any, address: str) -> None:
    with Visit(tab, address) as visit:
        visit.open()
        field = visit.page.get_by_label("Filter", exact=True)
        field.fill("vus=8:16")
        field.press("Enter")
        # The address changes first, and what is shown after it takes the place of what is typed meanwhile.
        visit.until("document.querySelectorAll('#selectors [role=checkbox][aria-checked=true]').length === 2")
        visit.ready()
        assert "vus=8:16" in visit.query()
        field.fill("vus")
        field.press("Enter")
        visit.wait_text("#notice", "is not of the form")
        assert "vus=8:16" in visit.query()


def test_everything_works_with_the_keyboard(tab: Any, address: str) -> None:
    with Visit(tab, address) as visit:
        visit.open()
        visit.page.get_by_role("checkbox", name="cpu-2, 18 runs").focus()
        visit.page.keyboard.press("Space")
        visit.wait_text("#headline", "cpu-2")
        visit.page.get_by_role("link", name="Sanity checks").focus()
        visit.page.keyboard.press("Enter")
        visit.wait_text("#content h1", "Sanity checks")
        visit.page.get_by_role("link", name="Move vus up").focus()
        visit.page.keyboard.press("Enter")
        visit.until("location.search.includes('order=')")
        assert visit.query().endswith("order=hw_type,image,vus,batch_size")


def test_variables_are_ordered_by_dragging(tab: Any, address: str) -> None:
    with Visit(tab, address) as visit:
        visit.open()
        visit.wait_text("#progress", "read at")  # what comes later may move what is dragged
        visit.page.locator("li.facet", has_text="vus").first.locator(".facet-head").drag_to(
            visit.page.locator("li.facet", has_text="hw_type").first.locator(".facet-head")
        )
        visit.until("location.search.includes('order=vus')")


def test_a_click_on_a_point_opens_its_run_and_the_run_its_artifacts(tab: Any, address: str) -> None:
    with Visit(tab, address) as visit:
        visit.open("?show=best-under-a-limit")
        visit.page.wait_for_selector("#content .trace .point")
        visit.page.locator("#content .trace .point").nth(2).click(force=True)
        visit.until("location.search.includes('run=')")
        visit.wait_text("#content", "Put another run beside it")
        visit.page.get_by_role("link", name="settings.yaml").click()
        visit.wait_text("#content h1", "settings.yaml")
        assert "hw_type: cpu" in visit.text("#content pre")
        visit.page.get_by_role("link", name="Download it").click()
        visit.page.wait_for_load_state()
        assert "/artifact/" in visit.page.url
        assert "hw_type: cpu" in visit.text("body")


@pytest.mark.parametrize("is_of_the_run", [False, True])
def test_the_command_that_repeats_a_run_is_copied(tab: Any, address: str, *, is_of_the_run: bool) -> None:
    with Visit(tab, address) as visit:
        visit.open()
        if is_of_the_run:
            visit.page.get_by_role("link", name="cpu-1/onnx-int8/batch_32/vus_32__repeat_0").first.click()
            visit.wait_text("#content", "Put another run beside it")
        visit.page.locator("#content").get_by_role("button", name="Copy").click()
        visit.page.get_by_role("button", name="Copied").wait_for()
        copied: str = visit.page.evaluate("navigator.clipboard.readText()")
        assert copied.startswith("matbench benchmark ")
        assert copied in visit.text("#content pre")


def test_the_command_of_a_failed_run_is_copied_from_its_row(tab: Any, address: str) -> None:
    with Visit(tab, address) as visit:
        visit.open("?show=error-report")
        row = visit.page.locator("#content tbody tr", has=visit.page.locator("code"))
        row.first.get_by_role("button", name="Copy").click()
        copied: str = visit.page.evaluate("navigator.clipboard.readText()")
        assert copied.startswith("matbench benchmark ")
        assert copied == row.first.locator("code").inner_text()


def test_two_runs_are_put_beside_each_other(tab: Any, address: str) -> None:
    with Visit(tab, address) as visit:
        visit.open()
        visit.page.get_by_role("link", name="cpu-1/onnx-int8/batch_32/vus_32__repeat_0").first.click()
        visit.page.get_by_role("link", name="repeat 1").click()
        visit.wait_text("#content h2", "What differs from cpu-1/onnx-int8/batch_32/vus_32__repeat_1")
        assert "repeat 0 1" in " ".join(visit.text("#content").split())


@pytest.mark.parametrize(("kind", "start"), [("svg", b"<svg"), ("png", b"\x89PNG")])
def test_a_figure_is_exported(tab: Any, address: str, tmp_path: Path, kind: str, start: bytes) -> None:
    with Visit(tab, address) as visit:
        visit.open("?show=best-under-a-limit")
        visit.page.wait_for_selector("#content .trace")
        with visit.page.expect_download() as download:
            visit.page.locator(f"button[data-export-figure={kind}]").first.click()
        assert download.value.suggested_filename == f"best-under-a-limit.{kind}"
        download.value.save_as(tmp_path / "figure")
        assert (tmp_path / "figure").read_bytes().startswith(start)


def test_the_slider_of_users_moves(tab: Any, address: str) -> None:
    with Visit(tab, address) as visit:
        visit.open("?show=did-we-try-enough-vus")
        visit.page.wait_for_selector("#content .slider-group")
        assert "If stopped at 32" in visit.text("#content .js-plotly-plot")
        visit.page.locator(".slider-rail-touch-rect").click(position={"x": 5, "y": 10}, force=True)
        visit.wait_text("#content .js-plotly-plot", "If stopped at 1 ")


def test_the_configuration_is_an_input_whose_value_is_in_the_address(tab: Any, address: str) -> None:
    with Visit(tab, address) as visit:
        visit.open("?show=cost-over-virtual-users-and-batch-size")
        visit.page.wait_for_selector("#content .trace")
        visit.page.locator("#controls").get_by_role("radio", name="16").click()
        visit.until("location.search.includes('cfg.minimum_vus=16')")
        visit.wait_text("#content", "below 16")


def test_the_selection_is_written_as_a_static_report(tab: Any, address: str, sample_copy: Path) -> None:
    with Visit(tab, address) as visit:
        visit.open("?filters=image=onnx-fp32")
        visit.page.get_by_role("button", name="Write as static report").click()
        visit.wait_text("#notice", "index.html")
        assert (sample_copy.parent / "report" / "index.html").is_file()


@pytest.mark.parametrize("width", [400, 800])
def test_a_narrow_window_scrolls_only_down(tab: Any, address: str, width: int) -> None:
    with Visit(tab, address, viewport={"width": width, "height": 800}) as visit:
        for query in ("", "?show=compare", "?show=cost-analysis"):
            visit.open(query)
            assert visit.page.evaluate("document.documentElement.scrollWidth") <= width
        assert visit.page.locator("#sidebar-details").get_attribute("open") is None
        visit.page.get_by_text("Settings and configuration").click()
        assert visit.page.get_by_role("checkbox", name="cpu-1, 135 runs").is_visible()


@pytest.mark.parametrize("query", ["", "?run=RUN", "?nope=1"])  # the reports were looked at where each page is drawn
def test_there_is_no_barrier(tab: Any, address: str, query: str) -> None:
    few = "filters=batch_size=8,repeat=0"  # more rows and points have no other barriers
    with Visit(tab, address) as visit:
        visit.open(f"{query}&{few}" if "=" in query and "RUN" not in query else f"?{few}")
        if "RUN" in query:
            visit.page.locator("#content a[href*='run=']").first.click()
            visit.wait_text("#content", "Put another run beside it")
        in_view = "place => place.getBoundingClientRect().top < innerHeight"
        visit.until(f"![...document.querySelectorAll('#content .part > .waiting')].some({in_view})")
        assert barriers(visit.page) == []


def test_hostile_text_is_text(application: Application, tab: Any, tmp_path: Path, sample: Path) -> None:
    results = tmp_path / "results"
    shutil.copytree(sample / "cpu-2", results)
    hostile = "=<script>alert(1)</script><img src=x onerror=alert(2)>"
    for settings in results.rglob("settings.yaml"):
        text = settings.read_text().replace("image: onnx-fp32", f"image: '{hostile}'")
        settings.write_text(text)
        (settings.parent / "<script>alert(3)<|script>.log").write_text(hostile)
    with (
        application(f"--results-dirname={results}", "--workload=encoder_bench", "--port=0") as address,
        Visit(tab, address) as visit,
    ):
        visit.open()
        visit.see_all()
        for page in ("compare", "cost-analysis", "error-report", "kpi-overview"):
            visit.follow(f"?show={page}")
            visit.see_all()
        assert hostile in visit.text("#selectors")
        box = visit.page.locator(".table-scroll", has_text="Mean over the runs at each point")
        box.scroll_into_view_if_needed()
        rows = exported(visit, box, tmp_path / "mean-over-the-runs-at-each-point.csv")
        assert f"'{hostile}" in {row["image"] for row in rows}
        assert not any(cell.startswith(("=", "@")) for row in rows for cell in row.values())
        assert all(float(row["1B_cost (USD)"]) > 0 for row in rows)
        visit.open("")
        run = visit.page.locator("#content a[href*='run=']").first.get_attribute("href")
        visit.open(str(run))
        visit.wait_text("#content", "<script>alert(3)<|script>.log")
        visit.page.get_by_role("link", name="<script>alert(3)<|script>.log").click()
        visit.wait_text("#content pre", hostile)
        assert visit.complaints == []


def test_a_figure_in_view_is_changed_by_a_filter_and_not_drawn_anew(tab: Any, address: str) -> None:
    plot = "document.querySelector('#content .part .js-plotly-plot')"
    marks = f"{plot}?.data?.flatMap((trace) => trace.x).length"
    with Visit(tab, address) as visit:
        visit.open("?show=cost-analysis&filters=vus=1:4")
        visit.page.locator("#content .part").first.scroll_into_view_if_needed()
        visit.until(f"{marks} > 0")
        few = visit.page.evaluate(marks)
        users = visit.page.get_by_role("checkbox", name="16, 33 runs")
        users.click()
        visit.until(f"{marks} > {few}")
        visit.page.evaluate(f"window.drawn = {plot}, null")
        users.click()
        visit.until(f"{marks} === {few}")
        assert visit.page.evaluate(f"{plot} === window.drawn")
        assert visit.complaints == []


def test_a_late_answer_has_no_place_on_another_page(tab: Any, address: str) -> None:
    with Visit(tab, address) as visit:
        held: list[Any] = []
        released: list[bool] = []

        def hold(route: Any) -> None:
            is_part = '"wanted"' in (route.request.post_data or "") and '"part"' in (route.request.post_data or "")
            held.append(route) if is_part and not released else route.continue_()

        visit.page.route("**/_dash-update-component", hold)
        visit.page.goto(f"{visit.address}/?show=runs")
        visit.page.wait_for_selector("#content h1")
        for _ in range(100):
            if held:
                break
            visit.page.wait_for_timeout(50)
        assert held
        visit.page.get_by_role("link", name="Best configuration").click()
        visit.wait_text("#content h1", "Best configuration")
        released.append(True)
        answered: list[Any] = []
        visit.page.on("requestfinished", lambda request: answered.append(request))
        for route in held:
            route.continue_()
        for _ in range(400):
            if all(route.request in answered for route in held):
                break
            visit.page.wait_for_timeout(50)
        assert all(route.request in answered for route in held)
        visit.ready()
        assert "answered in each second" not in visit.text("#content")


def test_results_that_vanish_leave_the_application_running_and_a_server_that_is_gone_is_said_to_be(
    application: Application, tab: Any, sample: Path, tmp_path: Path
) -> None:
    results = tmp_path / "results"
    shutil.copytree(sample / "cpu-2", results)
    with contextlib.ExitStack() as stack:
        address = stack.enter_context(
            application(f"--results-dirname={results}", "--workload=encoder_bench", "--port=0")
        )
        with Visit(tab, address) as visit:
            visit.open()
            shutil.rmtree(results)
            visit.page.get_by_role("button", name="Read again").click()
            visit.wait_text("#progress", "does not exist")
            visit.page.get_by_role("link", name="Error report").click()
            visit.wait_text("#content h1", "Error report")
            assert not results.exists()
            stack.close()
            visit.page.get_by_role("link", name="Compare").click()
            visit.wait_text("#unanswered", "doesn't answer any more")


def test_on_paper_the_page_is_as_wide_as_the_paper_and_afterwards_as_before(tab: Any, address: str) -> None:
    def widths(page: Any) -> tuple[float, float]:
        measure = "name => document.querySelector(name).getBoundingClientRect().width"
        return page.evaluate(measure, "main"), page.evaluate(measure, "#content .main-svg")

    with Visit(tab, address) as visit:
        visit.open()
        visit.page.wait_for_selector("#content .trace")
        before = widths(visit.page)
        visit.page.evaluate("dispatchEvent(new Event('beforeprint'))")
        page, figure = widths(visit.page)
        assert 650 < page < 700
        assert 0.9 * page < figure <= page
        assert not visit.page.is_visible(".sidebar")
        assert visit.page.is_visible(".app-header .source")
        assert visit.page.is_visible(".unprinted")
        visit.page.evaluate("dispatchEvent(new Event('afterprint'))")
        assert visit.page.locator(".unprinted").count() == 0
        visit.page.wait_for_timeout(300)
        assert widths(visit.page) == before
