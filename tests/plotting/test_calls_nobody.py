"""No page has a button, a link or a request that leads to another address than those its user named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from plotting_support.app_process import application
from plotting_support.app_visit import AppVisit
from plotting_support.visit import Visit

from matrix_benchmarking.cli import main

pytestmark = pytest.mark.xdist_group("browser")

TOOLBAR = {"Zoom", "Pan", "Zoom in", "Zoom out", "Autoscale", "Reset axes"}
"""The buttons that a figure may have; another, of a newer plotly, has to be looked at before it is one of them."""
PLACES = """elements => elements.flatMap(element =>
    ["href", "src", "srcset", "action", "formaction", "data", "poster", "ping"]
        .filter(name => element.hasAttribute && element.hasAttribute(name))
        .map(name => new URL(element.getAttribute(name), document.baseURI).href))"""
DRAWN = "[...document.querySelectorAll('#content .dash-graph')].every(e => e.querySelector('.modebar-btn'))"
LINKS = "links => links.map(link => link.getAttribute('href'))"
BUTTONS = "buttons => buttons.map(button => button.dataset.title)"


@pytest.fixture(scope="module")
def releases(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The option that names a history of many releases of a server."""
    history = f"--history=sqlite:///{tmp_path_factory.mktemp('history') / 'releases.db'}"
    exported = repository / "data" / "samples" / "encoder_history" / "history.jsonl.gz"
    assert main(["history", "import", str(exported), history]) == 0
    return history


def check(page: Any, own: str) -> int:
    """Nothing on the open *page* leads away from *own*, and its figures have known buttons; gives their number."""
    elements = page.locator("*")
    assert [place for place in elements.evaluate_all(PLACES) if not place.startswith((own, "data:", "blob:"))] == []
    titles = page.locator(".modebar-btn").evaluate_all(BUTTONS)
    assert set(titles) <= TOOLBAR
    return len(titles)


def static(browser: Any, destination: Path, *options: str) -> dict[str, int]:
    """The number of buttons on each page that the *options* write."""
    assert main(["visualize", "--workload=encoder_bench", *options, f"--report-dest={destination}"]) == 0
    buttons = {}
    for path in sorted(destination.glob("*.html")):
        with Visit(browser, path) as visit:
            for figure in visit.page.locator(".figure").all():
                figure.scroll_into_view_if_needed()
                figure.locator(".modebar-btn").first.wait_for(state="attached")
            buttons[path.stem] = check(visit.page, "file:///")
            own = (destination.as_uri(), "data:", "blob:")
            assert [url for url in visit.requests if not url.startswith(own)] == []
            assert visit.complaints == []
    return buttons


def test_a_static_report_leads_nowhere_else(browser: Any, sample: Path, releases: str, tmp_path: Path) -> None:
    results = f"--results-dirname={sample}"
    pages = static(browser, tmp_path / "pages", results, "--generate")
    assert len(pages) == 11
    assert all(pages[name] for name in ("cost-analysis", "sanity-checks", "runs"))
    pages = static(
        browser, tmp_path / "releases", releases, "--generate=report: KPI history", "--generate=Regression analysis"
    )
    assert all(pages[name] for name in ("kpi-history", "regression-analysis"))
    assert static(browser, tmp_path / "single", results, "--single-file")["index"]


def application_pages(visit: AppVisit, links: list[str]) -> dict[str, int]:
    """The number of buttons on each page, once all its figures are drawn."""
    buttons = {}
    for link in links:
        visit.open(link)
        visit.see_all()
        visit.until(DRAWN)
        buttons[link.removeprefix("?show=")] = check(visit.page, visit.address)
    assert visit.complaints == []
    return buttons


def test_the_application_leads_nowhere_else(browser: Any, sample: Path) -> None:
    inputs = ("--workload=encoder_bench", f"--results-dirname={sample}", "--port=0")
    with application(*inputs) as address, AppVisit(browser, address) as visit:
        visit.open()
        tabs = visit.page.locator("#tabs a").evaluate_all(LINKS)
        run = visit.page.locator("#content a[href*='run=']").first.get_attribute("href")
        visit.open(run)
        of_run = [visit.page.get_by_role("link", name=name).first for name in ("repeat 1", "settings.yaml")]
        buttons = application_pages(visit, ["", *tabs, run, *(str(link.get_attribute("href")) for link in of_run)])
    assert all(buttons[name] for name in ("cost-analysis", "sanity-checks", "cost-against-latency"))
    assert {"compare", "check", "kpi-overview", "error-report"} < buttons.keys()


def test_the_application_over_a_history_leads_nowhere_else(browser: Any, releases: str) -> None:
    with application("--workload=encoder_bench", releases, "--port=0") as address, AppVisit(browser, address) as visit:
        buttons = application_pages(visit, ["?show=kpi-history", "?show=regression-analysis", "?show=check"])
    assert all(buttons[name] for name in ("kpi-history", "regression-analysis"))
