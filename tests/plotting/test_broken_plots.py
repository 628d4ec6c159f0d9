"""Plots and reports of a workload that raise: their part says so and where, and all other parts are there."""

from __future__ import annotations

from pathlib import Path

import pytest
from plotly.io.json import to_json_plotly
from plotting_support.app_support import pages_over, texts

from matrix_benchmarking import store
from matrix_benchmarking.analyze.study import Given, Study
from matrix_benchmarking.cli import main
from matrix_benchmarking.plotting import pictures, site
from matrix_benchmarking.plotting.static_html import Figure, Page
from matrix_benchmarking.workload import Workload, load

SOURCE = """
import sys

import plotly.graph_objects as go

from matrix_benchmarking import kpi
from matrix_benchmarking.plotting import Plot, PlotsReport, Report
from matrix_benchmarking.workload import BaseStore, Workload as Kind


@kpi.LowerBetter
@kpi.KPIMetadata(help="How long it takes", unit="s")
def duration(lts):
    return lts.results.duration


def parse(results, test_dir):
    results.duration = 3.0


class Whole(Plot):
    name = "Whole"

    def do_plot(self, ordered_vars, settings, setting_lists, variables, cfg):
        return go.Figure(go.Bar(x=["a"], y=[1])), "All is well."


class Raising(Plot):
    name = "Raising"

    def do_plot(self, ordered_vars, settings, setting_lists, variables, cfg):
        return go.Figure(), settings["nothing is called so"]  # here


class OfControls(Whole):
    name = "Of controls"

    def controls(self):
        raise RuntimeError("no data")  # or here


class Unshowable(Whole):
    name = "Unshowable"

    def do_plot(self, *args):
        return go.Figure(go.Bar(x=["a"], y=[1])), object()


class Leaving(Whole):
    name = "Leaving"

    def do_plot(self, *args):
        sys.exit(0)  # or even here


class Nothing(Whole):
    name = "Nothing"

    def do_plot(self, *args):
        return "a", "b"


class Curves(PlotsReport):
    name = "report: Curves"
    plots = (Raising, OfControls, Unshowable, Leaving, Nothing, Whole)


class Broken(Report):
    name = "report: Broken"

    def do_plot(self, *args):
        raise AssertionError("never")  # or there


workload = Kind(
    name="fragile",
    store=BaseStore(parse_once=parse, models_kpis=kpi.collect([duration])),
    plots=lambda: [Raising, OfControls, Unshowable, Leaving, Nothing, Whole],
    reports=lambda: [Curves, Broken],
)
"""
SAID = {
    "Raising": "KeyError: 'nothing is called so' in {file}, line {here}",
    "Of controls": "RuntimeError: no data in {file}, line {or here}",
    "Leaving": "SystemExit: 0 in {file}, line {or even here}",
    "report: Broken": "AssertionError: never in {file}, line {or there}",
}


@pytest.fixture
def results(tmp_path: Path) -> Path:
    for name in ("one", "two"):
        directory = tmp_path / "results" / name
        directory.mkdir(parents=True)
        (directory / "settings.yaml").write_text(f"image: {name}\n")
        (directory / "exit_code").write_text("0\n")
    return tmp_path / "results"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "fragile.py"
    path.write_text(SOURCE)
    return path


@pytest.fixture
def fragile(file: Path) -> Workload:
    return load(str(file))


def sentences(file: Path) -> dict[str, str]:
    """What is said of each part that fails because of the code in *file*."""
    lines = SOURCE.splitlines()
    places = {mark: number for number, line in enumerate(lines, 1) for mark in [line.partition("  # ")[2]] if mark}
    return {name: f"'{name}' can't be shown ({said.format(file=file, **places)})." for name, said in SAID.items()}


@pytest.mark.parametrize("single_file", [False, True])
def test_a_static_report_lacks_only_the_parts_that_fail(
    fragile: Workload, file: Path, results: Path, tmp_path: Path, single_file: bool
) -> None:
    matrix = store.parse_tree(fragile, results)
    written = site.write_site(
        Study(matrix, fragile, given=Given(place=str(results))), tmp_path / "report", [], single_file=single_file
    )
    said = "\n".join(written.failures)
    for sentence in sentences(file).values():
        assert sentence in said
    assert "'Unshowable': a object can't be shown on a page" in said
    assert "'Nothing' can't be shown (TypeError: do_plot gives a str in the place of a figure)." in said
    assert len(written.failures) == 6
    page = next(path for path in written.pages if single_file or path.stem == "curves")
    text = page.read_text(encoding="utf-8")
    assert text.count('<script type="application/json" data-figure=') == (7 if single_file else 1)
    assert "All is well." in text
    assert f"line {sentences(file)['Raising'].rpartition(' ')[2].rstrip(').')}" in text


def test_the_command_writes_the_rest_says_what_is_missing_and_ends_with_one(
    file: Path, results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = [
        "visualize",
        f"--workload={file}",
        f"--results-dirname={results}",
        f"--report-dest={tmp_path / 'report'}",
    ]
    assert main([*command, "--generate=Curves"]) == 1
    printed = capsys.readouterr()
    assert "index.html" in printed.out
    assert sentences(file)["Raising"] in printed.err
    assert "internal error" not in printed.err


def test_the_pictures_of_the_other_plots_are_drawn(
    fragile: Workload, results: Path, tmp_path: Path, chromium: str
) -> None:
    matrix = store.parse_tree(fragile, results)
    written = site.write_site(
        Study(matrix, fragile, given=Given(place=str(results))),
        tmp_path,
        ["Curves"],
        html=False,
        drawing=pictures.Pictures(chromium),
    )
    assert [path.name for path in written.pictures] == ["curves-1-whole.png"]


def test_a_figure_that_can_not_be_drawn_is_named_and_the_other_pictures_are_there(
    file: Path, results: Path, tmp_path: Path, chromium: str, capsys: pytest.CaptureFixture[str]
) -> None:
    drawn = 'return go.Figure(go.Bar(y=[1]), layout={"width": 10**7}), "Drawn."'
    file.write_text(SOURCE.replace('return go.Figure(), settings["nothing is called so"]', drawn))
    report = tmp_path / "report"
    command = ["visualize", f"--workload={file}", f"--results-dirname={results}", f"--report-dest={report}"]
    assert main([*command, "--generate=Raising", "--generate=Whole", "--format=png"]) == 1
    said = capsys.readouterr()
    assert [path.name for path in (report / "figures").iterdir()] == ["whole.png"]
    assert "'Raising' can't be drawn as PNG (the browser gave no picture: is it too large?)." in said.err
    assert "All other parts of the reports are there." in said.err
    assert "1 picture" in said.out


def test_a_figure_that_ends_kaleido_ends_no_other_picture(chromium: str) -> None:
    figures = [Figure(name, name, {"data": data, "layout": {}}) for name, data in (("odd", 5), ("good", []))]
    wanted = pictures.Pictures(chromium)
    drawn, failures = pictures.draw([Page("a.html", "A", "", "", tuple(figures))], wanted)
    assert list(drawn) == ["figures/a-2-good.png"]
    assert len(failures) == 1
    assert failures[0].startswith("'odd' can't be drawn as PNG (")


def test_the_application_shows_the_same_sentences(fragile: Workload, file: Path, results: Path, tmp_path: Path) -> None:
    pages = pages_over(store.parse_tree(fragile, results), fragile, [results], tmp_path / "report")
    shown, _, _ = pages.page("?show=curves", [0, 1, 2, 3, 4, 5])
    text = texts(shown)
    assert sentences(file)["Raising"] in text
    assert sentences(file)["Of controls"] in text
    assert sentences(file)["Leaving"] in text
    assert "do_plot gives a str in the place of a figure" in text
    assert "a object can't be shown on a page" in text
    assert "All is well." in text
    assert sentences(file)["report: Broken"] in texts(pages.page("?show=broken", [])[0])
    assert sentences(file)["Raising"] in texts(pages.page("?show=raising", [0])[0])


def with_value(file: Path, value: str) -> Workload:
    """The workload whose first plot draws *value*."""
    drawn = f'return go.Figure(go.Bar(x=["a"], y=[{value}])), "Drawn."'
    file.write_text(SOURCE.replace('return go.Figure(), settings["nothing is called so"]', drawn))
    return load(str(file))


@pytest.mark.parametrize("value", ["10**400", "-(2**64)"])
def test_a_figure_with_a_number_that_json_has_no_place_for_is_said_and_all_else_is_shown(
    file: Path, results: Path, tmp_path: Path, value: str
) -> None:
    workload = with_value(file, value)
    matrix = store.parse_tree(workload, results)
    pages = pages_over(matrix, workload, [results], tmp_path / "report")
    for query in ("?show=curves", "?show=raising"):
        shown, _, _ = pages.page(query, [0, 1, 2, 3, 4, 5])
        to_json_plotly(shown)  # as Dash sends it
        assert "This figure: its data can't be written as JSON: Integer exceeds 64-bit range" in texts(shown)
        assert "Drawn." in texts(shown)
    written = site.write_site(Study(matrix, workload, given=Given(place=str(results))), tmp_path / "report", ["Curves"])
    assert "'Raising': its data can't be written as JSON: Integer exceeds 64-bit range" in written.failures


@pytest.mark.parametrize("value", ["float('nan')", "float('-inf')", "1e999"])
def test_a_figure_with_what_is_no_number_is_drawn_without_it(
    file: Path, results: Path, tmp_path: Path, value: str
) -> None:
    workload = with_value(file, value)
    pages = pages_over(store.parse_tree(workload, results), workload, [results], tmp_path / "report")
    shown, _, _ = pages.page("?show=raising", [0])
    assert '"y":[null]' in to_json_plotly(shown)
    assert "can't be" not in texts(shown)
