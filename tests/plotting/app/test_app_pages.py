"""What the application answers: each page of the sample, and a sentence for everything that is asked wrongly."""

from __future__ import annotations

import dataclasses
import re
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import toy_runs
from plotting_support.app_support import elements, pages_over, texts

from matrix_benchmarking import filters, store
from matrix_benchmarking.errors import ConfigError, MatbenchError
from matrix_benchmarking.matrix import Entry, Matrix, Problem, joined
from matrix_benchmarking.plotting.app import answers as app_answers
from matrix_benchmarking.plotting.app.answers import Pages
from matrix_benchmarking.plotting.app.data import Data, Source
from matrix_benchmarking.workload import Workload


def text_of(pages: Pages, query: str) -> str:
    """The text of a page with all parts that are made when they are seen."""
    content, _, _ = pages.page(query, list(range(20)))
    return texts(content)


def snapshot_matrix(pages: Pages) -> Matrix:
    assert pages.data.snapshot is not None
    return pages.data.snapshot.study.matrix


def test_every_report_and_plot_of_the_sample_has_a_page(pages: Pages) -> None:
    assert pages.data.snapshot is not None
    for slug, name in pages.data.snapshot.slugs.items():
        text = text_of(pages, f"?show={slug}")
        assert name.removeprefix("report:").strip() in text
        assert "can't be shown" not in text, slug


@pytest.mark.parametrize(
    ("versions", "expected"),
    [
        ([], "best-configuration"),
        (["1.0"], "best-configuration"),
        (["1.0", None], "best-configuration"),  # who has no version has no earlier one
        (["1.0", "1.1"], "compare"),
        (["1.0", "1.1", "1.2", None], "regression-analysis"),
    ],
)
def test_the_page_that_it_opens_on_is_what_changed_where_there_are_versions(
    tmp_path: Path, versions: list[str | None], expected: str
) -> None:
    settings = [{} if version is None else {"version": version} for version in versions or [None]]
    runs = [toy_runs.entry({"cost": 1.0 + number, **one}, number) for number, one in enumerate(settings * 2)]
    snapshot = pages_over(Matrix(runs), toy_runs.workload(), [], tmp_path).data.snapshot
    assert snapshot is not None
    assert snapshot.opening == expected


def test_it_opens_on_the_comparison_of_directories_that_were_put_beside_each_other(tmp_path: Path) -> None:
    """The first one is the new one, whichever has more runs."""
    trees = {
        name: Matrix(
            [
                toy_runs.entry({"cost": cost + at / 100, "image": image, "version": "1"}, place * 100 + at)
                for place, image in enumerate("ab")
                for at in range(count)
            ]
        )
        for name, cost, count in (("mine", 2.0, 3), ("theirs", 1.0, 5))
    }
    matrix = joined({name: _without_ids(tree) for name, tree in trees.items()})
    pages = pages_over(matrix, toy_runs.workload(), [], tmp_path)
    assert pages.data.snapshot is not None
    assert pages.data.snapshot.opening == "compare"
    assert "mine against theirs" in text_of(pages, "")


def _without_ids(tree: Matrix) -> Matrix:
    return Matrix([dataclasses.replace(entry, test_uuid=None) for entry in tree])


def test_where_the_version_before_was_better_compare_is_a_link(tmp_path: Path) -> None:
    costs = {"1.0": 1.0, "1.1": 2.0, "1.2": 3.0}
    runs = [
        toy_runs.entry({"cost": cost + repeat / 100, "version": version}, number)
        for number, (version, cost, repeat) in enumerate((*one, repeat) for one in costs.items() for repeat in range(3))
    ]
    pages = pages_over(Matrix(runs), toy_runs.workload(), [], tmp_path)
    _, verdict, _ = pages.frame("?show=best-configuration")
    assert "1.1 had a better one" in texts(verdict)
    assert "href='?show=compare'" in str(verdict)


def test_the_verdict_stands_above_all_pages_and_follows_the_filters(pages: Pages) -> None:
    _, verdict, _ = pages.frame("?show=runs")
    assert "Cheapest by 1B_cost: cpu-1 · onnx-int8" in texts(verdict)
    _, verdict, _ = pages.frame("?filters=image=onnx-fp32")
    assert "onnx-fp32" in texts(verdict)
    assert "Can't be told apart from it: batch_size 8" not in text_of(pages, "")  # the page itself doesn't say it again


def test_a_huge_setting_is_cut_on_every_page_and_can_be_selected(
    encoder_workload: Workload, sample_matrix: Matrix, tmp_path: Path
) -> None:
    entries = [
        dataclasses.replace(entry, settings={**entry.settings, "image": f"{entry.settings['image']}{'i' * 3_000_000}"})
        for entry in sample_matrix.filtered(filters.parse("vus=8,batch_size=8"))
    ]
    pages = pages_over(Matrix(entries), encoder_workload, [], tmp_path)
    selectors, _, _ = pages.frame("")
    assert len(texts(selectors)) < 10_000
    links = [link.href for link in elements(selectors, "A") if "image=" in str(link.href)]
    assert links
    assert max(map(len, links)) < 1000
    filtered = texts(pages.frame(next(link for link in links if "int8i" in link))[1])
    assert "onnx-int8ii" in filtered
    assert "onnx-fp32ii" not in filtered
    assert pages.data.snapshot is not None
    for slug in pages.data.snapshot.slugs.values():
        assert len(text_of(pages, f"?show={slug}")) < 100_000
    assert len(text_of(pages, f"?run={entries[0].test_uuid}")) < 100_000


def test_a_selector_leads_to_the_address_with_its_value(pages: Pages) -> None:
    selectors, _, _ = pages.frame("?show=runs&filters=vus=8")
    boxes = [link for link in elements(selectors, "A") if getattr(link, "role", None) == "checkbox"]
    by_label = {getattr(link, "aria-label"): link for link in boxes}
    assert getattr(by_label["8, 33 runs"], "aria-checked") == "true"
    assert by_label["8, 33 runs"].href == "?show=runs"
    assert by_label["16, 33 runs"].href == "?show=runs&filters=vus=8:16"
    assert by_label["cpu-2, 6 runs"].href == "?show=runs&filters=vus=8,hw_type=cpu-2"


def test_a_value_that_the_other_filters_exclude_stays_and_is_grey(pages: Pages) -> None:
    selectors, _, _ = pages.frame("?filters=hw_type=cpu-2")
    grey = [link for link in elements(selectors, "A") if "none-left" in (getattr(link, "className", "") or "")]
    assert {getattr(link, "aria-label") for link in grey} >= {"onnx-int8-per-tensor, 0 runs", "1, 0 runs"}


def test_a_run_shows_its_settings_kpis_repeats_artifacts_environment_and_command(pages: Pages) -> None:
    entry = snapshot_matrix(pages).entries[0]
    text = text_of(pages, f"?run={entry.test_uuid}")
    for wanted in (
        entry.name,
        "batch_size",
        "1B_cost",
        "repeat 1",
        "002__k6__run/summary.json",
        "Measured on",
        "matbench benchmark",
        "of each variant"[:0],
    ):
        assert wanted in text


def test_an_artifact_is_shown_as_text(pages: Pages) -> None:
    entry = snapshot_matrix(pages).entries[0]
    assert '"root_group"' in text_of(pages, f"?artifact=002__k6__run/summary.json&run={entry.test_uuid}")
    assert "there is no file '../../x'" in text_of(pages, f"?artifact=../../x&run={entry.test_uuid}")


def test_a_run_beside_another_says_what_differs(pages: Pages, monkeypatch: pytest.MonkeyPatch) -> None:
    first, other = snapshot_matrix(pages).entries[0], snapshot_matrix(pages).entries[-1]
    text = " ".join(text_of(pages, f"?beside={other.test_uuid}&run={first.test_uuid}").split())
    assert f"What differs from {other.name}" in text
    told = text.partition("The settings differ")[2].partition("Settings")[0]
    for name in ("hw_type", "image", "batch_size", "vus"):
        assert f"{name} {filters.show(first.settings[name])} {filters.show(other.settings[name])}" in told
    same = text_of(pages, f"?beside={first.test_uuid}&run={first.test_uuid}")
    assert "No setting, and nothing that is known of the environment" in same
    monkeypatch.setattr(other, "location", other.location / "gone")
    gone = text_of(pages, f"?beside={other.test_uuid}&run={first.test_uuid}")
    assert "The environment of the other run isn't recorded" in gone


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("?show=cost-analisys", "There is no page 'cost-analisys'.  Did you mean  Cost analysis ?"),
        ("?show=nope", "There is no page 'nope'.  All 28 pages  are listed above."),
        ("?run=zzz", "there is no run 'zzz' among the 153"),
        ("?filters=vuss=1", "no test has a setting 'vuss' to filter by: did you mean 'vus'?"),
        ("?filters=vus", "is not of the form"),
        ("?nope=1", "the address has an unknown part 'nope'"),
    ],
)
def test_a_wrong_address_is_answered_with_a_sentence(pages: Pages, query: str, sentence: str) -> None:
    content, _, _ = pages.page(query, [])
    assert sentence in texts(content)
    assert elements(content, "Div")[0].role == "alert"
    _, _, tabs = pages.frame(query)
    assert elements(tabs, "Details")[0].open == ("show" in query)  # there the list of pages is what is asked for


def test_on_a_page_about_what_changed_nothing_stands_above_it(pages: Pages) -> None:
    for page, is_about_the_best in (("kpi-overview", True), ("compare", False), ("kpi-history-2", False)):
        said = texts(pages.frame(f"?show={page}")[1])
        assert ("Cheapest" in said) == is_about_the_best
        assert "Check: 3 findings, none of which changes an answer." in said


def test_the_check_lists_the_runs_that_are_left_out_and_all_that_it_is_about(pages: Pages) -> None:
    page, _, _ = pages.page("?show=check", list(range(3)))
    said = texts(page)
    assert "none of which changes an answer. 45 runs can't take part (45 × fidelity below 0.9900)." in said
    assert len(set(re.findall(r"cpu-1/onnx-int8-per-tensor/\S+repeat_\d", said))) == 45
    assert len({link.href for link in elements(page, "A") if "cpu-2/" in texts(link)}) == 18


def test_a_configuration_that_can_not_be_read_is_said_and_the_default_used(pages: Pages) -> None:
    text = text_of(pages, "?show=cost-over-virtual-users-and-batch-size&cfg.minimum_vus=many")
    assert "can't be shown" not in text


def test_filters_that_leave_nothing_leave_pages_that_say_so(pages: Pages) -> None:
    assert pages.data.snapshot is not None
    query = "filters=hw_type=cpu-2,image=onnx-int8-per-tensor"
    _, verdict, _ = pages.frame(f"?{query}")
    assert "No run is left by these filters." in texts(verdict)
    for slug in pages.data.snapshot.slugs:
        text = text_of(pages, f"?show={slug}&{query}")
        assert "can't be shown" not in text, slug


def test_an_empty_selection_is_said_once_and_not_plot_by_plot(pages: Pages) -> None:
    query = "filters=hw_type=cpu-2,image=onnx-int8-per-tensor"
    for slug in ("cost-analysis", "sanity-checks", "runs"):
        text = text_of(pages, f"?show={slug}&{query}")
        assert text.count("No run is selected, so there is nothing to draw.") == 1
        assert "successful run" not in text
    assert "not known for any successful run" not in text_of(pages, f"?show=best-configuration&{query}")


def test_a_history_that_can_not_be_read_leaves_the_results(
    encoder_workload: Workload, sample_matrix: Matrix, tmp_path: Path
) -> None:
    places = [True]

    def past(matrix: Matrix) -> Matrix | None:
        if places:
            raise MatbenchError("there is no history at gone.db yet: 'matbench upload_lts' makes it")
        return None

    source = Source(
        workload=encoder_workload, place="results", roots=[], read=lambda progress: sample_matrix, past=past
    )
    data = Data(source)
    data.start()
    data.join(20)
    pages = Pages(data, tmp_path)
    _, headline, tabs = pages.frame("")
    assert "Shown are the results alone: there is no history at gone.db yet" in texts(headline)
    assert "Cheapest by 1B_cost" in texts(headline)
    assert "Cost analysis" in texts(tabs)
    assert "1B_cost of each variant at its best" in text_of(pages, "")
    places.clear()
    data.start()
    data.join(20)
    assert "Shown are the results alone" not in texts(pages.frame("")[1])


def test_findings_are_about_all_runs_and_say_so_where_a_part_is_selected(pages: Pages) -> None:
    assert "Check: 3 findings, none of which changes an answer." in texts(pages.frame("")[1])
    assert "Check of all runs: 3 findings, none of" in texts(pages.frame("?filters=image=onnx-fp32")[1])


def test_a_filter_value_that_nothing_has_is_said_on_every_page(pages: Pages) -> None:
    for show in ("", "show=runs&"):
        assert "no test has image=fp32: did you mean 'onnx-fp32'?" in text_of(pages, f"?{show}filters=image=fp32")
    selectors, _, _ = pages.frame("?filters=image=fp32")
    field, clear = selectors[0].children
    assert field.children[1].value == "image=fp32"
    assert clear.children == "Clear"


def test_tests_that_can_not_be_read_are_not_said_to_be_unfinished(
    encoder_workload: Workload, sample_matrix: Matrix, tmp_path: Path
) -> None:
    interrupted, broken = (
        dataclasses.replace(entry, finished=False, exit_code=None, problems=(Problem(reason),))
        for entry, reason in zip(sample_matrix, ("did not finish: there is no exit code", "settings: …"), strict=False)
    )
    matrix = Matrix([], unfinished=[interrupted, broken, broken])
    _, verdict, _ = pages_over(matrix, encoder_workload, [], tmp_path).frame("")
    assert "There is no finished run. 1 test did not finish. 2 tests can't be read." in texts(verdict)


def odd(matrix: Matrix, change: dict[str, Any], count: int | None = None) -> Matrix:
    entries = [dataclasses.replace(entry, **change) for entry in matrix.entries[:count:7]]
    return Matrix(entries)


@pytest.mark.parametrize(
    ("what", "change", "count"),
    [
        ("one entry", {}, 1),
        ("no KPIs", {"kpis": {}}, None),
        ("unknown costs", {"kpis": {"throughput": 5.0}, "missing_kpis": {"1B_cost": "no price"}}, None),
        ("zero", {"kpis": {"1B_cost": 0.0, "throughput": 0.0, "p95_latency": 0.0}}, None),
        ("failed", {"exit_code": 1}, None),
        ("without an id", {"test_uuid": None}, None),
        ("no settings", {"settings": {}}, None),
    ],
)
def test_odd_data_give_pages_and_not_errors(
    what: str,
    change: dict[str, Any],
    count: int | None,
    sample_matrix: Matrix,
    encoder_workload: Workload,
    sample: Path,
    tmp_path: Path,
) -> None:
    pages = pages_over(odd(sample_matrix, change, count), encoder_workload, [sample], tmp_path)
    assert pages.data.snapshot is not None
    pages.frame("")
    for slug in pages.data.snapshot.slugs:
        assert "can't be shown" not in text_of(pages, f"?show={slug}"), f"{what}: {slug}"


def test_many_values_and_long_names_are_shown(
    encoder_workload: Workload, sample_matrix: Matrix, tmp_path: Path
) -> None:
    first = sample_matrix.entries[0]
    entries = [
        dataclasses.replace(first, settings={**first.settings, "vus": number, "image": "x" * 400}, name="n" * 400)
        for number in range(1, 61)
    ]
    pages = pages_over(Matrix([*entries, first]), encoder_workload, [], tmp_path)
    selectors, _, _ = pages.frame("")
    assert len([one for one in elements(selectors, "A") if getattr(one, "role", None) == "checkbox"]) == 60 + 2
    assert "can't be shown" not in text_of(pages, "")


def test_a_results_directory_that_vanishes_leaves_sentences(
    encoder_workload: Workload, sample: Path, tmp_path: Path
) -> None:
    results = tmp_path / "results"
    shutil.copytree(sample / "cpu-2", results)
    matrix = store.parse_tree(encoder_workload, results, jobs=1)
    pages = pages_over(matrix, encoder_workload, [results], tmp_path / "report")
    shutil.rmtree(results)
    assert pages.data.snapshot is not None
    for slug in pages.data.snapshot.slugs:
        assert "AttributeError" not in text_of(pages, f"?show={slug}")
    entry = matrix.entries[0]
    assert "is gone" in text_of(pages, f"?run={entry.test_uuid}")
    assert "there is no file" in text_of(pages, f"?artifact=settings.yaml&run={entry.test_uuid}")


def test_a_report_that_fails_is_a_box_and_the_others_go_on(
    pages: Pages, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from matrix_benchmarking.plotting.report_kpis import KPIReport

    def broken(*_: Any) -> Any:
        raise RuntimeError("boom <script>")

    monkeypatch.setattr(KPIReport, "do_plot", broken)
    assert "can't be shown (RuntimeError: boom <script>)" in text_of(pages, "?show=kpi-overview")
    assert "boom" in caplog.text
    assert "1B_cost of each variant at its best" in text_of(pages, "")


class TestActing:
    """What typing, dragging and pressing buttons lead to."""

    def test_a_filter_typed_in_becomes_the_address(self, pages: Pages) -> None:
        event = {"do": "fields", "values": {"filters": " vus=8 : 16 "}}
        assert pages.act(event, "?show=runs") == ("?show=runs&filters=vus=8:16", "")

    def test_a_filter_that_can_not_be_read_leaves_the_address(self, pages: Pages) -> None:
        search, notice = pages.act({"do": "fields", "values": {"filters": "vus"}}, "?filters=image=onnx-fp32")
        assert search is None
        assert "what is shown is still selected by image=onnx-fp32" in texts(notice)
        assert "is not of the form" in texts(notice)

    def test_an_order_that_was_dragged_becomes_the_address(self, pages: Pages) -> None:
        assert pages.act({"do": "order", "names": ["vus", "image"]}, "")[0] == "?order=vus,image"

    def test_the_order_is_that_of_selectors_and_tables(self, pages: Pages) -> None:
        selectors, _, _ = pages.frame("?order=vus,image")
        names = [getattr(one, "data-name") for one in elements(selectors, "Li") if hasattr(one, "data-name")]
        assert names[:2] == ["vus", "image"]
        text = text_of(pages, "?show=kpi-overview&order=vus,image")
        assert text.index(" vus ") < text.index(" hw_type ")

    def test_a_click_on_a_point_opens_its_run(self, pages: Pages) -> None:
        identity = snapshot_matrix(pages).entries[3].test_uuid
        assert identity is not None
        assert pages.act({"do": "open", "run": identity}, "?show=runs")[0] == f"?show=runs&run={identity[:8]}"

    def test_a_run_is_put_beside_another_by_its_name(self, pages: Pages) -> None:
        first, other = snapshot_matrix(pages).entries[0], snapshot_matrix(pages).entries[5]
        event = {"do": "fields", "values": {"beside": other.name}}
        assert (
            pages.act(event, f"?run={first.test_uuid}")[0]
            == f"?beside={str(other.test_uuid)[:8]}&run={first.test_uuid}"
        )
        assert "there is no run 'nobody'" in texts(pages.act({"do": "fields", "values": {"beside": "nobody"}}, "")[1])

    def test_a_number_that_is_emptied_is_the_default_again(self, pages: Pages) -> None:
        event = {"do": "fields", "values": {"cfg.minimum_vus": None}}
        assert pages.act(event, "?cfg.minimum_vus=8")[0] == "?"

    def test_the_static_report_has_the_selection(self, pages: Pages) -> None:
        search, notice = pages.act({"do": "write"}, "?filters=image=onnx-fp32")
        assert search is None
        assert "index.html" in texts(notice)
        page = (pages.report_dest / "best-configuration.html").read_text(encoding="utf-8")
        assert "onnx-fp32" in page
        assert "onnx-int8" not in page
        assert "selected by image=onnx-fp32" in page

    def test_a_static_report_that_can_not_be_written_is_said(self, pages: Pages) -> None:
        pages.report_dest.parent.mkdir(parents=True, exist_ok=True)
        pages.report_dest.write_text("in the way")
        assert "cannot write" in texts(pages.act({"do": "write"}, "")[1])

    def test_what_the_page_never_asks_is_refused(self, pages: Pages) -> None:
        assert "something unknown" in texts(pages.act({"do": "rm"}, "")[1])


def test_data_that_change_are_shown_and_data_that_do_not_are_kept(
    encoder_workload: Workload, sample_matrix: Matrix, tmp_path: Path
) -> None:
    pages = pages_over(sample_matrix, encoder_workload, [], tmp_path)
    first = pages.version()
    pages.data.start()
    pages.data.join(10)
    assert pages.version() == first
    pages.act({"do": "read"}, "")  # an artifact may have changed that is no setting and no KPI
    pages.data.join(10)
    first += 1
    assert pages.version() == first
    entries: list[Entry] = sample_matrix.entries[:10]
    pages.data.source = dataclasses.replace(pages.data.source, read=lambda progress: Matrix(entries))
    pages.act({"do": "read"}, "")
    pages.data.join(10)
    assert pages.version() == first + 1
    assert len(snapshot_matrix(pages)) == 10


@pytest.mark.parametrize("error", [ConfigError("no test matches the filter vus=777"), RuntimeError("a bug")])
def test_an_index_that_is_wrong_leaves_the_tree_to_be_read(
    encoder_workload: Workload, sample_matrix: Matrix, error: Exception
) -> None:
    def wrong() -> Matrix:
        raise error

    data = Data(Source(encoder_workload, "results", [], lambda progress: sample_matrix, read_index=wrong))
    data.start()
    assert data.wait(10) is not None
    data.join(10)
    assert data.progress.problem is None


def test_a_part_of_a_page_that_is_gone_has_no_place_on_another(pages: Pages) -> None:
    content, _, _ = pages.page("?show=runs", [])
    (first, *_) = [one for one in elements(content, "Store") if isinstance(getattr(one, "id", None), dict)]
    other, _, _ = pages.page("?show=cost-analysis", [])
    (second, *_) = [one for one in elements(other, "Store") if isinstance(getattr(one, "id", None), dict)]
    assert first.id["of"] != second.id["of"]
    assert "reload the page" in texts(pages.part("?show=runs", second.id["of"] + "0", 0))
    assert "reload the page" not in texts(pages.part("?show=runs", first.id["of"], 0))


def test_copies_that_carry_one_id_are_opened_each_by_itself(
    encoder_workload: Workload, sample_matrix: Matrix, sample: Path, tmp_path: Path
) -> None:
    first, second = sample_matrix.entries[:2]
    copy = dataclasses.replace(second, test_uuid=first.test_uuid)
    pages = pages_over(Matrix([first, copy]), encoder_workload, [sample], tmp_path)
    one, other = snapshot_matrix(pages).entries
    assert one.test_uuid != other.test_uuid
    assert second.name in text_of(pages, f"?run={other.test_uuid}")
    assert first.name in text_of(pages, f"?run={one.test_uuid}")


def test_a_static_report_of_nothing_is_not_written(pages: Pages) -> None:
    _, notice = pages.act({"do": "write"}, "?filters=hw_type=cpu-2,vus=1")
    assert "nothing was written" in texts(notice)
    assert not pages.report_dest.exists()


def test_what_can_not_be_read_is_said_and_what_was_read_stays(pages: Pages) -> None:
    def fail(progress: object) -> Matrix:
        raise OSError("no such disk")

    pages.data.source = dataclasses.replace(pages.data.source, read=fail)
    pages.act({"do": "read"}, "")
    pages.data.join(10)
    assert "no such disk" in pages.progress()
    assert "1B_cost of each variant at its best" in text_of(pages, "")


def test_a_colour_stays_with_its_category_whatever_is_selected(pages: Pages) -> None:
    def colours(query: str, slug: str) -> dict[str, str]:
        content, _, _ = pages.page(f"?show={slug}{query}", [0])
        (graph,) = elements(content, "Graph")
        told = [trace for trace in graph.figure["data"] if trace.get("showlegend")]
        return {trace["name"]: trace.get("line", {}).get("color") or trace["marker"]["color"] for trace in told}

    for slug in ("cost-over-virtual-users", "latency-against-throughput", "best-image-by-cost-savings"):
        everything = colours("", slug)
        for query in ("&filters=batch_size=32", "&filters=vus=8"):
            selected = colours(query, slug)
            assert selected
            assert {name: everything[name] for name in selected} == selected, (slug, query)


def test_the_cheapest_of_the_public_study_is_found(
    encoder_workload: Workload, foreign_samples: Path, tmp_path: Path
) -> None:
    study = tmp_path / "study"
    shutil.copytree(foreign_samples / "encoder_analysis", study)
    pages = pages_over(store.parse_tree(encoder_workload, study, jobs=1), encoder_workload, [study], tmp_path / "r")
    _, verdict, _ = pages.frame("")
    said = texts(verdict)
    assert "409.44 USD" in said
    assert "batch_size 32, vus 256" in said
    assert "409.44" in text_of(pages, "?show=cost-analysis")


def test_a_page_that_many_ask_for_at_once_is_made_once(pages: Pages, monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    make = app_answers.content

    def slow(*arguments: Any, **others: Any) -> Any:
        made.append(arguments)
        time.sleep(0.5)
        return make(*arguments, **others)

    monkeypatch.setattr(app_answers, "content", slow)
    with ThreadPoolExecutor(20) as executor:
        answers = list(executor.map(lambda number: pages.page("?show=error-report" if number else "", []), range(20)))
    assert len(made) == 2
    assert {title for _, _, title in answers[1:]} == {answers[1][2]}
    pages.page("", [])
    assert len(made) == 3
