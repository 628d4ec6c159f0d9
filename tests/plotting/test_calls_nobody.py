"""The pages over a history have no button, link or request that leads to another address than those its user named.

Those over results are looked at where each of them is drawn, in `test_pages_in_browser` and `test_app_in_browser`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from plotting_support.app_visit import AppVisit
from plotting_support.inspection import leads_nowhere_else
from plotting_support.visit import walk

from matrix_benchmarking.cli import main


@pytest.fixture(scope="module")
def releases(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The option that names a history of many releases of a server."""
    history = f"--history=sqlite:///{tmp_path_factory.mktemp('history') / 'releases.db'}"
    exported = repository / "data" / "samples" / "encoder_history" / "history.jsonl.gz"
    assert main(["history", "import", str(exported), history]) == 0
    return history


def test_the_static_pages_lead_nowhere_else(browser: Any, releases: str, tmp_path: Path) -> None:
    options = (releases, "--generate=report: KPI history", "--generate=Regression analysis")
    assert main(["visualize", "--workload=encoder_bench", *options, f"--report-dest={tmp_path}"]) == 0
    buttons = {}
    for path, visit in walk(browser, sorted(tmp_path.glob("*.html"))):
        for figure in visit.page.locator(".figure").all():
            figure.scroll_into_view_if_needed()
            figure.locator(".modebar-btn").first.wait_for(state="attached")
        buttons[path.stem] = leads_nowhere_else(visit.page, "file:///")
        assert [url for url in visit.requests if not url.startswith((tmp_path.as_uri(), "data:", "blob:"))] == []
        assert visit.complaints == []
    assert all(buttons[name] for name in ("kpi-history", "regression-analysis"))


def test_the_application_leads_nowhere_else(application: Any, tab: Any, releases: str) -> None:
    with application("--workload=encoder_bench", releases, "--port=0") as address, AppVisit(tab, address) as visit:
        buttons = {}
        for page in ("kpi-history", "regression-analysis", "check"):
            visit.open(f"?show={page}")
            visit.see_all()
            buttons[page] = leads_nowhere_else(visit.page, address)
        assert visit.complaints == []
    assert all(buttons[name] for name in ("kpi-history", "regression-analysis"))
