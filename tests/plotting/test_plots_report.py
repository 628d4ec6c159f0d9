"""A report that is nothing but plots, and texts and colours that plots share."""

from __future__ import annotations

from typing import ClassVar

from matrix_benchmarking.analyze.study import Study
from matrix_benchmarking.matrix import Entry, Matrix
from matrix_benchmarking.plotting import Plot, PlotsReport, template
from matrix_benchmarking.plotting.catalogue import catalogue_of
from matrix_benchmarking.plotting.static_html import StaticHTML
from matrix_benchmarking.workload import BaseStore, Workload


class First(Plot):
    name = "First"

    def do_plot(self, ordered_vars, settings, setting_lists, variables, cfg):
        return None, f"One, {cfg.get('word', 'default')}."


class Second(First):
    name = "Second"


class Both(PlotsReport):
    name = "report: Both"
    plots: ClassVar = (Second, First)


def test_the_plots_stand_one_below_the_other_with_what_was_configured(tmp_path):
    store = BaseStore(parse_once=lambda results, test_dir: None)
    workload = Workload(name="toy", store=store, plots=lambda: [First, Second], reports=lambda: [Both])
    catalogue = catalogue_of(Study(Matrix([Entry({}, 0, tmp_path, "a", 0)]), workload))
    report = catalogue.page("report: Both")
    page = StaticHTML().render(report.do_plot(*catalogue.arguments({"word": "chosen"})))
    assert page.index("Second") < page.index("First")
    assert page.count("One, chosen.") == 2
    assert [plot.name for plot in report.drawn] == ["Second", "First"]


def test_a_text_for_plotly_can_be_turned_back():
    for text in ("a < b & c > d", "&lt;", "plain"):
        assert template.plain(template.text(text)) == text


def test_a_band_has_the_colour_of_its_line():
    assert template.band([1.0], [0.0], [2.0], "#0072b2")["fillcolor"] == "rgba(0,114,178,0.17)"
