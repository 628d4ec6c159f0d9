"""The regression analysis in the application: made when its page is asked for, and never before."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from plotting_support.analyses import series, toy_workload, versions
from plotting_support.app_support import elements, texts

from matrix_benchmarking import filters
from matrix_benchmarking.analyze import study as study_module
from matrix_benchmarking.analyze.study import Given
from matrix_benchmarking.analyze.verdict import analyse
from matrix_benchmarking.matrix import Entry, Matrix
from matrix_benchmarking.plotting.app.answers import Pages
from matrix_benchmarking.plotting.app.data import Data, Source

PAGE = "?show=regression-analysis"
VERSIONS = versions(16)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A number for each analysis that is made: how many runs it is of."""
    calls: list[int] = []
    original = analyse.analyse_runs

    def counted(entries: Iterable[Entry], *others: Any, **options: Any) -> Any:
        known = list(entries)
        calls.append(len(known))
        return original(known, *others, **options)

    monkeypatch.setattr(study_module, "analyse_runs", counted)
    return calls


def application(entries: list[Entry], destination: Path) -> Pages:
    matrix = Matrix(entries)
    data = Data(
        Source(
            workload=toy_workload(),
            place="results",
            roots=[],
            read=lambda progress: matrix,
            past=lambda read: read,
            given=Given("results", "the history of the tests"),
        )
    )
    data.start()
    assert data.wait(10) is not None
    return Pages(data, destination)


def history() -> list[Entry]:
    return [*series("worse", VERSIONS, {13: 1.2}), *series("same", VERSIONS), *series("better", VERSIONS, {12: 0.7})]


def test_the_page_has_the_verdict_at_once_and_its_charts_when_they_are_seen(made: list[int], tmp_path: Path) -> None:
    pages = application(history(), tmp_path)
    content, _, title = pages.page(PAGE, [])
    assert title == "Regression analysis"
    text = texts(content)
    assert "1 of 3 series of 1 KPI is worse: 1.15 against its history." in text
    assert "✕\u00a0worse" in text
    assert elements(content, "Graph") == []
    content, _, _ = pages.page(PAGE, list(range(30)))
    assert len(elements(content, "Graph")) == 2
    assert made == [len(history())]


def test_other_pages_make_no_analysis(made: list[int], tmp_path: Path) -> None:
    pages = application(history(), tmp_path)
    for query in ("?show=kpi-overview", "?show=error-report"):
        pages.frame(query)
        pages.page(query, list(range(30)))
    assert made == []


def test_best_says_what_the_history_says_is_worse(made: list[int], tmp_path: Path) -> None:
    pages = application(history(), tmp_path)
    frame = texts(pages.frame("?show=best-configuration"))
    assert "The history says: worse is worse since 1.13: latency +19.6 %." in frame
    assert made == [len(history())]


def test_compare_names_the_last_good_version_however_many_runs_there_are(
    made: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content, _, _ = application(history(), tmp_path).page("?show=compare", list(range(30)))
    assert "version 1.15 instead of version 1.12" in texts(content)
    assert made == [len(history())]
    monkeypatch.setattr(study_module, "FEW_VALUES", 10)
    content, _, _ = application(history(), tmp_path).page("?show=compare", list(range(30)))
    assert "version 1.15 instead of version 1.12" in texts(content)
    assert made == [len(history())] * 2


def test_of_many_runs_the_analysis_is_made_after_the_page(
    made: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(study_module, "FEW_VALUES", 10)
    pages = application(history(), tmp_path)
    content, _, title = pages.page(PAGE, [])
    assert (title, made) == ("Regression analysis", [])
    (place,) = [part for part in elements(content, "Div") if getattr(part, "className", "") == "part"]
    key = getattr(place, "data-of")
    part = pages.part(PAGE, key, 0)
    assert made == [len(history())]
    assert "is worse: 1.15 against its history" in texts(part)
    assert len(elements(part, "Graph")) == 2
    pages.page("?show=kpi-history", list(range(30)))
    assert len(made) == 1


@pytest.mark.parametrize("few", [10, 100_000])
def test_children_are_one_flat_list_as_the_browser_needs_them(
    few: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(study_module, "FEW_VALUES", few)
    pages = application(history(), tmp_path)
    content, _, _ = pages.page(PAGE, list(range(30)))
    for kind in ("Div", "Section", "Details", "P"):
        for element in elements(content, kind):
            children = getattr(element, "children", None)
            assert not isinstance(children, list) or not any(isinstance(child, list) for child in children)


def test_a_click_on_a_point_opens_its_run_and_links_stay_in_the_application(tmp_path: Path) -> None:
    pages = application(history(), tmp_path)
    content, _, _ = pages.page(PAGE, list(range(30)))
    graph = elements(content, "Graph")[0]
    ids = [trace["customdata"][0][0] for trace in graph.figure["data"] if trace.get("customdata")]
    assert ids[0] == "id-worse-0-0"
    address, _ = pages.act({"do": "open", "run": ids[0]}, PAGE)
    assert address is not None
    assert "run=id-worse-0-0" in address
    links = [link.href for link in elements(content, "A") if "run=" in link.href]
    assert links
    assert all(link.startswith("?") for link in links)


def test_filters_select_what_is_analysed(made: list[int], tmp_path: Path) -> None:
    pages = application(history(), tmp_path)
    content, _, _ = pages.page(f"{PAGE}&filters=image=better", list(range(30)))
    assert "Nothing is worse in 1 series" in texts(content)
    assert made == [len(series("better", VERSIONS))]


def test_one_version_is_a_sentence(tmp_path: Path) -> None:
    pages = application(series("image", ["1.0"]), tmp_path)
    content, _, _ = pages.page(PAGE, list(range(30)))
    assert "can't be told" in texts(content)


def test_the_static_report_takes_the_same_options(tmp_path: Path) -> None:
    pages = application(history(), tmp_path / "report")
    pages.act({"do": "write"}, "")
    page = (tmp_path / "report" / "regression-analysis.html").read_text(encoding="utf-8")
    assert "is worse: 1.15 against its history" in page


def test_a_filter_of_the_page_or_of_the_command_changes_neither_order_nor_newest(tmp_path: Path) -> None:
    old = [one for one in series("worse", VERSIONS, {13: 1.2}) if one.settings["version"] != VERSIONS[-1]]
    matrix = Matrix([*old, *series("same", VERSIONS)])
    for start, page in (("image=worse", ""), ("", "image=worse")):
        source = Source(
            workload=toy_workload(),
            place="results",
            roots=[],
            read=lambda progress: matrix,
            filters=filters.parse(start),
        )
        data = Data(source)
        data.start()
        snapshot = data.wait(10)
        assert snapshot is not None
        found = snapshot.catalogue(filters.parse(page), []).study.analysis
        assert found is not None
        assert found.newest == VERSIONS[-1]
        assert {one.versions[-1] for one in found.verdicts} == {VERSIONS[-2]}
