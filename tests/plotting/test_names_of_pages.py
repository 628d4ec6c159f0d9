"""What a workload's pages name is checked before anything is read; a report lists its own plots."""

from __future__ import annotations

import types
from typing import ClassVar

import pytest

from matrix_benchmarking import models
from matrix_benchmarking.analyze.study import Study
from matrix_benchmarking.errors import MatbenchError, WorkloadError
from matrix_benchmarking.matrix import Entry, Matrix
from matrix_benchmarking.plotting import Arguments, Choice, Plot, PlotsReport, Report, View, catalogue, set_config
from matrix_benchmarking.plotting.static_html import StaticHTML
from matrix_benchmarking.workload import BaseStore, RegressionKeys, Workload
from tests.toy_runs import workload as toy_workload


class Costs(Plot):
    name = "Costs"
    kpis = ("cost",)

    def controls(self):
        return [Choice("word", "Word", ["dear", "cheap"], default="dear")]

    def draw(self, view: View):
        (cost,) = view.kpis
        shown = [f"{view.name(run)}: {cost.show(run.kpis['cost'])}" for run in view.runs]
        assert list(view.frame()["cost"]) == [run.kpis["cost"] for run in view.runs]
        assert list(view.colours("gpu")) == ["a", "b"]
        assert view.link(view.runs[0], "here").children == "here"
        return None, f"{view.option('word')}: {'; '.join(shown)}"


class Page(PlotsReport):
    name = "report: Page"
    plots: ClassVar = (Costs, "KPI history")


def of(**changes) -> Workload:
    plain = toy_workload()
    return Workload(name="toy", store=plain.store, **changes)


def drawn(workload: Workload, tmp_path, report: str) -> str:
    runs = [Entry({"gpu": gpu}, 0, tmp_path / gpu, gpu, 0, kpis={"cost": 2.0, "rate": 1.0}) for gpu in "ab"]
    found = catalogue.catalogue_of(Study(Matrix(runs), workload))
    return StaticHTML().render(found.page(f"report: {report}").do_plot(*found.arguments()))


def test_a_plot_draws_its_view_and_a_report_is_the_only_list_of_it(tmp_path):
    workload = of(reports=[Page])
    workload.check()
    page = drawn(workload, tmp_path, "Page")
    assert "dear: gpu=a: " in page
    assert workload.pages() == ([Costs], [Page])


def test_a_control_that_a_page_does_not_have_is_named(tmp_path):
    class Misspelt(Costs):
        def draw(self, view: View):
            return None, view.option("words")

    page = type("Odd", (PlotsReport,), {"name": "report: Odd", "plots": (Misspelt,)})
    assert "&#x27;Costs&#x27; has no control &#x27;words&#x27;: did you mean" in drawn(
        of(reports=[page]), tmp_path, "Odd"
    )


def test_a_plot_that_is_listed_by_the_workload_too_is_there_once():
    assert of(plots=lambda: [Costs], reports=lambda: (Page, Page)).pages()[0] == [Costs]


def test_a_kpi_that_a_page_names_in_vain_is_an_error():
    class Wrong(Costs):
        kpis = ("costs",)

    for kind in ({"plots": [Wrong]}, {"reports": [type("R", (Report,), {"name": "report: R", "kpis": ("costs",)})]}):
        with pytest.raises(WorkloadError, match="of workload 'toy' refers to a KPI 'costs': did you mean 'cost'"):
            of(**kind).check()
    lazy = of(plots=lambda: [Wrong])
    lazy.check()  # nothing is imported as long as nobody asks for pages
    with pytest.raises(WorkloadError, match="did you mean 'cost'"):
        catalogue.check(lazy)


def test_a_plot_that_a_report_names_in_vain_is_an_error():
    class Wrong(PlotsReport):
        name = "report: Wrong"
        plots: ClassVar = ("KPI histories",)

    with pytest.raises(WorkloadError, match=r"lists a plot 'KPI histories': .*'KPI history'"):
        catalogue.check(of(reports=[Wrong]))


def test_keys_that_are_no_labels_are_an_error():
    class Settings(models.ExclusiveModel):
        gpu: str

    class Payload(models.Payload):
        kpis: models.getKPIsModel("KPIs", __name__, toy_workload().kpis, Settings)

    def made(**changes):
        store = BaseStore(
            parse_once=lambda results, test_dir: None, lts_payload_model=Payload, models_kpis=toy_workload().kpis
        )
        return Workload(name="toy", store=store, **changes)

    made(variant_keys=["gpu"]).check()
    with pytest.raises(WorkloadError, match="variant_keys of workload 'toy': no label of its KPIs is 'gpus': did you"):
        made(variant_keys=["gpus"]).check()
    with pytest.raises(WorkloadError, match="comparison_keys of workload 'toy'"):
        made(regression=RegressionKeys(comparison_keys=["version"])).check()
    of(variant_keys=["whatever"]).check()  # any setting is a label


def test_what_was_written_for_five_arguments_is_drawn_as_before(tmp_path):
    class Old(Plot):
        name = "Old"

        def do_plot(self, ordered_vars, settings, setting_lists, variables, cfg):
            count = self.matrix.count_records(settings, setting_lists)
            return None, f"{cfg['word']}: {count} by {', '.join(ordered_vars)} of {variables}"

    class OldReport(Report):
        name = "report: Old"

        def do_plot(self, *args):
            return self.Plot_and_Text("Old", set_config({"word": "five"}, args))

    class Today(Plot):
        """As plots were written before there was a view."""

        name = "Today"

        def draw(self, args: Arguments):
            return None, f"{self.option(args.cfg, 'word')} {len([*self.runs(args)])} {args.ordered_vars}"

        def controls(self):
            return [Choice("word", "Word", ["today"], default="today")]

    class TodayReport(PlotsReport):
        name = "report: Today"
        plots: ClassVar = (Today,)

    workload = of(plots=lambda: [Old, Today], reports=lambda: [OldReport, TodayReport])
    assert "five: 2 by gpu of" in drawn(workload, tmp_path, "Old")
    assert "today 2 [&#x27;gpu&#x27;]" in drawn(workload, tmp_path, "Today")


def test_a_view_that_nobody_draws_knows_no_data():
    assert [*View(["a"], {}, [], {}, {"b": 1})] == [["a"], {}, [], {}, {"b": 1}]
    with pytest.raises(WorkloadError, match="only the view that 'draw' gets"):
        _ = View([], {}, [], {}, {}).study
    shown = types.SimpleNamespace(workload=toy_workload())
    with pytest.raises(MatbenchError, match="there is no KPI 'costs': did you mean 'cost'"):
        View([], {}, [], {}, {}, shown).kpi("costs")
