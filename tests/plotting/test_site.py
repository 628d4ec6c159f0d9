"""The folder of pages: what is written, what the first page says, and what happens when it can't be."""

from __future__ import annotations

import datetime as dt
import html
import os
import re
import urllib.parse
from pathlib import Path

import pytest

from matrix_benchmarking import __version__
from matrix_benchmarking.analyze.study import Given, Study
from matrix_benchmarking.errors import MatbenchError, OutputError
from matrix_benchmarking.matrix import Matrix
from matrix_benchmarking.plotting import PlotsReport, site
from matrix_benchmarking.plotting.catalogue import catalogue_of
from matrix_benchmarking.plotting.report_errors import overview
from matrix_benchmarking.plotting.static_html import StaticHTML
from matrix_benchmarking.workload import Workload

NOW = dt.datetime(2026, 11, 21, 9, 30, tzinfo=dt.UTC)


def write(matrix: Matrix, workload: Workload, tmp_path: Path, *names: str) -> dict[str, str]:
    """The pages by file name."""
    files = site.write_site(
        Study(matrix, workload, given=Given(place="results")), tmp_path / "report", names, now=NOW
    ).pages
    return {path.name: path.read_text(encoding="utf-8") for path in files}


def visible(page: str) -> str:
    """The page's text, without its header of styles and its scripts."""
    body = re.sub(r"<script.*?</script>", "", page[page.index("<body>") :], flags=re.DOTALL)
    return html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", body)))


def test_all_reports_are_written_where_none_is_named(matrix: Matrix, workload: Workload, tmp_path: Path) -> None:
    assert list(write(matrix, workload, tmp_path)) == [
        "index.html",
        "best-configuration.html",
        "costs.html",
        "check.html",
        "compare.html",
        "kpi-overview.html",
        "regression-analysis.html",
        "kpi-history.html",
        "explore.html",
        "error-report.html",
    ]


def test_plotly_lies_beside_the_pages_once_and_only_if_a_page_has_a_figure(
    matrix: Matrix, workload: Workload, tmp_path: Path
) -> None:
    write(matrix, workload, tmp_path, "report: Error report")
    assert {path.name for path in (tmp_path / "report").iterdir()} == {"index.html", "error-report.html"}
    pages = write(matrix, workload, tmp_path, "report: Costs", "report: Check")
    assert (tmp_path / "report" / "plotly.min.js").stat().st_size > 1_000_000
    assert "plotly.min.js" in pages["costs.html"]
    assert "<script src=" not in pages["check.html"]
    assert len(pages["costs.html"]) < 60_000


def test_the_index_says_what_is_best_can_it_be_trusted_and_what_failed(
    matrix: Matrix, workload: Workload, tmp_path: Path
) -> None:
    text = visible(write(matrix, workload, tmp_path)["index.html"])
    verdict = text.index("Cheapest by cost: good at vus 1: 11.20 USD (3 runs; 95 % interval")
    failed = text.index("Of 9 tests: 1 failed, 1 without results")
    assert verdict < failed < text.index("cost of each variant at its best")


def test_each_page_says_its_data_its_time_and_its_version(matrix: Matrix, workload: Workload, tmp_path: Path) -> None:
    for page in write(matrix, workload, tmp_path).values():
        text = visible(page)
        assert "Data: results, 9 tests at 4 points, 1 to 3 runs each." in text
        assert f"Written 2026-11-21 09:30 UTC by matbench {__version__}, workload toy." in text


def test_every_run_behind_a_number_can_be_reached_from_its_page(
    matrix: Matrix, workload: Workload, tmp_path: Path
) -> None:
    pages = write(matrix, workload, tmp_path)
    for name in ("index.html", "best-configuration.html", "kpi-overview.html", "error-report.html"):
        addresses = [html.unescape(address) for address in re.findall(r'<a href="([^"]*)"', pages[name])]
        directories = [address for address in addresses if address.endswith("/")]
        assert directories
        for address in directories:
            assert (tmp_path / "report" / urllib.parse.unquote(address)).is_dir()


def test_nothing_from_the_data_is_markup(matrix: Matrix, workload: Workload, tmp_path: Path) -> None:
    for name, page in write(matrix, workload, tmp_path).items():
        assert name in ("compare.html", "regression-analysis.html", "kpi-history.html") or "alert(1)" in page
        assert "<script>alert" not in page
        assert "<img" not in page


def test_a_lone_surrogate_in_a_name_does_not_stop_a_page(workload: Workload, matrix: Matrix, tmp_path: Path) -> None:
    location = tmp_path / os.fsdecode(b"broken-\xff")
    matrix.entries[0].location, matrix.entries[0].name = location, location.name
    assert "broken-%FF" in write(matrix, workload, tmp_path)["best-configuration.html"]


def test_a_damaged_matrix_of_nothing_but_failures_still_has_its_pages(
    matrix: Matrix, workload: Workload, tmp_path: Path
) -> None:
    failures = Matrix([entry for entry in matrix if entry.failed], unfinished=matrix.unfinished)
    pages = write(failures, workload, tmp_path, "Best configuration", "KPI overview", "Error report")
    assert "No configuration can be ranked by cost" in visible(pages["index.html"])


def test_an_empty_matrix_has_its_pages(workload: Workload, tmp_path: Path) -> None:
    pages = write(Matrix([]), workload, tmp_path, "Best configuration", "KPI overview", "Error report")
    assert "there is no finished test" in visible(pages["index.html"])


def test_a_plot_is_written_by_its_name_and_a_report_once_however_it_is_named(
    matrix: Matrix, workload: Workload, tmp_path: Path
) -> None:
    pages = write(matrix, workload, tmp_path, "report: Costs", "Costs", "KPI history", "report: KPI history")
    assert list(pages) == ["index.html", "costs.html", "kpi-history.html", "kpi-history-2.html"]
    assert visible(pages["kpi-history.html"]) != visible(pages["kpi-history-2.html"])
    plot = workload.pages()[0][0]
    (_, page) = write(matrix, workload, tmp_path / "plot", plot.name).values()
    assert page.count("data-figure=") == 1


def test_a_name_that_is_nearly_a_plot_names_it(matrix: Matrix, workload: Workload, tmp_path: Path) -> None:
    with pytest.raises(MatbenchError, match="there is no report or plot 'KPI histories': did you mean 'KPI history'"):
        write(matrix, workload, tmp_path, "KPI histories")


def test_an_unknown_report_names_the_nearest_and_nothing_is_written(
    matrix: Matrix, workload: Workload, tmp_path: Path
) -> None:
    with pytest.raises(MatbenchError, match="did you mean 'report: Error report'"):
        write(matrix, workload, tmp_path, "report: Costs", "report: Error reprot")
    assert not (tmp_path / "report").exists()


def test_a_destination_that_is_a_file_is_one_sentence(matrix: Matrix, workload: Workload, tmp_path: Path) -> None:
    (tmp_path / "report").write_text("here first")
    with pytest.raises(OutputError, match="cannot write"):
        write(matrix, workload, tmp_path, "Error report")


def test_file_names_of_reports_are_plain_and_different() -> None:
    names = ["report: Error report", "report: Error: report!", "report: index", "report: Größe", "report: 目"]
    assert site.slugs(names) == [
        "error-report.html",
        "error-report-2.html",
        "index-2.html",
        "groe.html",
        "report.html",
    ]


def test_a_page_of_plots_takes_no_more_than_their_names(matrix: Matrix, workload: Workload) -> None:
    (plot,) = workload.pages()[0]

    class Twice(PlotsReport):
        name = "report: Twice"
        plots = (plot, plot)

    catalogue = catalogue_of(Study(matrix, workload))
    page = StaticHTML()
    page.render(Twice(catalogue).do_plot(*catalogue.arguments()))
    assert len(page.figures) == 2


def test_a_clean_matrix_is_said_to_be_clean(matrix: Matrix) -> None:
    clean = Matrix([entry for entry in matrix if not entry.failed])
    assert overview(clean) == "None of 7 tests failed, all finished, no artifact is damaged or missing."
