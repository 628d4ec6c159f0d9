"""What is odd about the runs is looked for after the first verdict, which doesn't wait for it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from plotting_support.app_support import texts
from plotting_support.app_visit import AppVisit as Visit
from werkzeug.serving import make_server

from matrix_benchmarking.analyze import check
from matrix_benchmarking.matrix import Matrix
from matrix_benchmarking.plotting.app import answers as app_answers
from matrix_benchmarking.plotting.app import server
from matrix_benchmarking.plotting.app.answers import Pages
from matrix_benchmarking.plotting.app.data import Data, Source
from matrix_benchmarking.workload import Workload


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """The check for what is odd waits for it."""
    may_end, find = threading.Event(), check.findings

    def slow(*arguments: Any) -> Any:
        assert may_end.wait(60)
        return find(*arguments)

    monkeypatch.setattr(check, "findings", slow)
    yield may_end
    may_end.set()


def test_the_verdict_does_not_wait_for_what_is_odd_about_the_runs(
    encoder_workload: Workload, sample_matrix: Matrix, tmp_path: Path, held: threading.Event
) -> None:
    data = Data(Source(encoder_workload, "results", [], lambda progress: sample_matrix))
    data.start()
    assert data.wait(30) is not None
    pages = Pages(data, tmp_path)
    for query in ("", "?filters=image=onnx-fp32"):
        said = texts(pages.frame(query)[1])
        assert "Cheapest by 1B_cost" in said
        assert said.endswith(app_answers.LOOKED_FOR)
        assert "looking for findings" in said  # where what stands behind it is folded
        assert said.count("finding") == 1
    assert not pages.is_checked()
    held.set()
    data.join(60)
    assert pages.is_checked()
    assert "Check: 3 findings" in texts(pages.frame("")[1])
    assert "Check of all runs: 3 findings" in texts(pages.frame("?filters=image=onnx-fp32")[1])  # selected before


def test_who_asks_for_what_is_odd_while_it_is_looked_for_waits_and_it_is_looked_for_once(
    encoder_workload: Workload, sample_matrix: Matrix, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, find = list[object](), check.findings

    def counted(*arguments: Any) -> Any:
        asked.append(arguments)
        time.sleep(0.3)
        return find(*arguments)

    monkeypatch.setattr(check, "findings", counted)
    data = Data(Source(encoder_workload, "results", [], lambda progress: sample_matrix))
    data.start()
    assert data.wait(30) is not None
    pages = Pages(data, tmp_path)
    page, _, _ = pages.page("?show=check", list(range(3)))
    assert "3 findings, none of which changes an answer" in texts(page)
    data.join(60)
    assert len(asked) == 1


def test_that_what_is_odd_can_not_be_looked_for_is_said(
    encoder_workload: Workload, sample_matrix: Matrix, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ArithmeticError("too odd")

    monkeypatch.setattr(check, "findings", fail)
    data = Data(Source(encoder_workload, "results", [], lambda progress: sample_matrix))
    data.start()
    data.join(60)
    pages = Pages(data, tmp_path)
    assert pages.is_checked()
    said = texts(pages.frame("")[1])
    assert app_answers.LOOKED_FOR not in said
    assert "too odd" in said


def test_what_is_odd_is_shown_as_soon_as_it_is_known(
    tab: Any, encoder_workload: Workload, sample_matrix: Matrix, tmp_path: Path, held: threading.Event
) -> None:
    app = server.make_app(Source(encoder_workload, "results", [], lambda progress: sample_matrix), tmp_path)
    made = make_server("127.0.0.1", 0, app.server, threaded=True)
    threading.Thread(target=made.serve_forever, daemon=True).start()
    try:
        with Visit(tab, f"http://127.0.0.1:{made.port}") as visit:
            visit.page.goto(f"http://127.0.0.1:{made.port}")
            visit.page.locator("#content .js-plotly-plot").first.wait_for()
            assert app_answers.LOOKED_FOR in visit.page.locator("#headline").text_content()
            visit.page.evaluate("document.querySelector('#content h1').dataset.seen = '1'")
            held.set()
            visit.page.locator("#headline", has_text="3 findings").wait_for()
            assert app_answers.LOOKED_FOR not in visit.page.locator("#headline").text_content()
            assert visit.page.locator("#content h1[data-seen]").count() == 1  # the page itself stays as it is
    finally:
        made.shutdown()
