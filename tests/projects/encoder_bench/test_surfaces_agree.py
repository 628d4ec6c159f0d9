"""What is best, and what changed: whoever is asked says the same numbers, words and ids."""

from __future__ import annotations

import contextlib
import html
import io
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from plotting_support.app_support import elements, texts

import matrix_benchmarking as mb
from matrix_benchmarking import store
from matrix_benchmarking.analyze import limits
from matrix_benchmarking.analyze.best import Best
from matrix_benchmarking.analyze.limits import Limited
from matrix_benchmarking.analyze.rank import rank
from matrix_benchmarking.analyze.study import Given, Study
from matrix_benchmarking.analyze.wording import ranking, under_limit
from matrix_benchmarking.analyze.words import percent
from matrix_benchmarking.cli import main
from matrix_benchmarking.history import SQLiteLocation, open_history, read
from matrix_benchmarking.history import location as location_of
from matrix_benchmarking.history.alarms import Action
from matrix_benchmarking.history.transfer import read_import
from matrix_benchmarking.matrix import Matrix
from matrix_benchmarking.plotting.app.answers import Pages
from matrix_benchmarking.plotting.app.data import Data, Source
from matrix_benchmarking.plotting.catalogue import catalogue_of
from matrix_benchmarking.plotting.compare_sides import judged
from matrix_benchmarking.runs.judging import deal
from matrix_benchmarking.workload import Workload, load

Said = dict[str, str]
"""By surface what it says, in one line."""
LIMIT_MS = 40
SLOWER = {"throughput", "1B_cost", "avg_latency", "p95_latency"}
VERDICTS = {"worse", "better", "suspected", "no difference shown", "can't be told"}
OTHER_WORDS = re.compile(r"(not )?enough history|too little history|in doubt|improvement|slower|faster")


@pytest.fixture(scope="module")
def workload() -> Workload:
    return load("encoder_bench")


@pytest.fixture(scope="module")
def patch() -> Iterator[pytest.MonkeyPatch]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GITHUB_ACTIONS", "true")
        patch.delenv("GITHUB_STEP_SUMMARY", raising=False)
        yield patch


def line(text: str) -> str:
    return " ".join(html.unescape(text).replace("\u200b", "").split())


def page_text(path: Path) -> str:
    """The text of a page, without its elements."""
    without = re.sub(r"<(script|style)\b.*?</\1>", " ", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    return line(re.sub(r"<[^>]+>", "", re.sub(r"</(td|th|p|li|h\d)>", " ", without)))


def printed(*arguments: str, status: int = 0) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as out:
        assert main(list(arguments)) == status
    return line(out.getvalue())


def application(matrix: Matrix, workload: Workload, directory: Path, **source: Any) -> Pages:
    data = Data(Source(workload=workload, place="runs", roots=[], read=lambda progress: matrix, **source))
    data.start()
    assert data.wait(60) is not None
    return Pages(data, directory)


def shown(pages: Pages, query: str) -> str:
    """The verdict above a page of the application, and the page with all its parts."""
    return line(texts(pages.frame(query)[1]) + " " + texts(pages.page(query, list(range(30)))[0]))


@pytest.fixture(scope="module")
def matrix(workload: Workload, sample: Path) -> Matrix:
    return store.parse_tree(workload, sample)


@pytest.fixture(scope="module")
def best(matrix: Matrix, workload: Workload) -> Best:
    return rank(matrix, workload)


@pytest.fixture(scope="module")
def limited(best: Best, workload: Workload) -> Limited:
    """The answer under a limit that the best of all doesn't keep."""
    kpi = workload.kpis["p95_latency"]
    found = limits.under(best, kpi, LIMIT_MS * kpi.divisor)
    assert found.best.groups[0].best is not best.groups[0].best
    return found


@pytest.fixture(scope="module")
def pages(matrix: Matrix, workload: Workload, tmp_path_factory: pytest.TempPathFactory) -> Pages:
    return application(matrix, workload, tmp_path_factory.mktemp("application"))


@pytest.fixture(scope="module")
def site(sample: Path, patch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """What 'visualize' writes of the sample, with the text that it prints as ``printed``."""
    directory = tmp_path_factory.mktemp("site")
    patch.chdir(directory)
    given = ["--generate", "--workload=encoder_bench", f"--results-dirname={sample}"]
    (directory / "printed").write_text(printed("visualize", *given), encoding="utf-8")
    return {path.name: path for path in (directory / "printed", *(directory / "report").iterdir())}


def test_every_surface_names_the_best_configuration_in_the_same_sentences(
    best: Best, pages: Pages, site: dict[str, Path], sample: Path
) -> None:
    (verdict,) = ranking.verdict(best)
    assert len(best.groups[0].undecided) > 1
    said: Said = {"parse": printed("parse", "--workload=encoder_bench", f"--results-dirname={sample}")}
    said |= {name: page_text(site[name]) for name in ("printed", "index.html", "best-configuration.html")}
    said["application"] = shown(pages, "")
    for surface, text in said.items():
        assert verdict.lead in text, surface
        assert verdict.rest in text, surface


def test_the_plots_and_tables_have_the_best_value_where_the_ranking_has_it(
    best: Best, workload: Workload, pages: Pages, site: dict[str, Path]
) -> None:
    (group,) = best.groups
    assert best.kpi is not None
    value = best.kpi.show(group.best.value)
    gated = {str(one.entry.settings["image"]) for one in best.excluded}
    assert gated == {"onnx-int8-per-tensor"}
    assert f" to {value} at " in page_text(site["cost-analysis.html"])
    settings = "batch size {batch_size}, {vus} virtual users".format(**group.best.settings)
    for text in (page_text(site["best-configuration.html"]), shown(pages, "?show=best-configuration")):
        assert f"cpu-1 · onnx-int8 {value} at {settings}" in text
    row = f"{best.kpi.name} USD {best.kpi.show(group.best.value, unit=False)} "
    assert row in page_text(site["kpi-overview.html"])


def test_what_another_point_costs_more_is_the_same_in_tables_and_in_texts(
    best: Best, workload: Workload, site: dict[str, Path]
) -> None:
    text, tables = page_text(site["cost-analysis.html"]), page_text(site["best-configuration.html"])
    said = re.findall(r"from (\d+\.\d+ USD) \((\+[0-9.]+ %)\) at a p95_latency", text)
    assert said
    differences = {best.kpi.show(one.point.value): one.difference for one in best.groups[0].standings if best.kpi}
    for cost, more in said:
        assert percent(differences[cost]) == more
        assert more in tables


def test_means_of_a_comparison_are_named_where_they_differ_from_those_of_the_best(site: dict[str, Path]) -> None:
    """The best point's plain mean is 26.98 USD, its geometric one 26.97 USD."""
    assert "26.98" in page_text(site["best-configuration.html"])
    compared = page_text(site["compare.html"])
    assert "26.97" in compared
    assert "instead of onnx-fp32 changes 1B_cost by −44.1 % (95 % interval −50.1 to −37.3 %) in the geometric mean" in (
        compared
    )
    assert "Means of positive values are geometric here" in compared


def test_whether_more_may_be_better_has_one_answer(matrix: Matrix, workload: Workload) -> None:
    catalogue = catalogue_of(Study(matrix, workload))
    (verdict,) = ranking.verdict(catalogue.study.best)
    _, said = catalogue.plot("Did we try enough VUs?").do_plot(*catalogue.arguments())
    assert said[0] == verdict.edge
    assert "More may do better in 2 of them" in said[1]
    assert "cpu-1 · onnx-int8, batch size 32 (340.0 inputs/s at 32" in said[1]


def test_under_a_limit_every_surface_names_the_same_choice(
    limited: Limited, pages: Pages, matrix: Matrix, workload: Workload
) -> None:
    (verdict,) = under_limit.verdict_under(limited)
    text = shown(pages, f"?cfg.limit={LIMIT_MS}")
    assert verdict.lead in text
    catalogue = catalogue_of(Study(matrix, workload))
    figure, _ = catalogue.plot("Best under a limit").do_plot(*catalogue.arguments())
    known = limits.bounded(catalogue.study.best.groups[0], limited.kpi)
    steps = limits.staircase(known, workload.kpis["1B_cost"], limited.kpi)
    step = next((one for one in reversed(steps) if limits.keeps(limited.kpi, one.limit, limited.limit)), None)
    assert step is not None
    assert step.point.settings == limited.best.groups[0].best.settings
    (line,) = [trace for trace in figure.data if trace.mode == "lines"]
    assert step.point.value in list(line.y)


@pytest.fixture(scope="module")
def releases(repository: Path, patch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A history with the recorded releases, and beside it what an analysis, a site and lists of alarms say of it."""
    directory = tmp_path_factory.mktemp("releases")
    patch.chdir(directory)
    path = directory / "releases.db"
    with open_history(SQLiteLocation(path), writable=True) as history:
        read_import(history, repository / "data/samples/encoder_history/history.jsonl.gz")
    given = ["--workload=encoder_bench", f"--history=sqlite:///{path}"]
    say = directory.joinpath
    say("compared").write_text(printed("compare", "1.2.9", "1.3.4", *given, status=1), encoding="utf-8")
    patch.setenv("COLUMNS", "300")
    say("printed").write_text(printed("analyze_lts", *given, "--report-dest=analysis", status=1), encoding="utf-8")
    printed("visualize", "--generate", *given)
    say("alarms.json").write_text(printed("alarms", "--format=json", *given), encoding="utf-8")
    say("alarms").write_text(printed("alarms", *given), encoding="utf-8")
    say("history").write_text(printed("history", "show", given[1]), encoding="utf-8")
    say("check").write_text(printed("check", *given), encoding="utf-8")
    say("compared again").write_text(printed("compare", "1.2.9", "1.3.4", *given, status=1), encoding="utf-8")
    return directory


@pytest.fixture(scope="module")
def document(releases: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((releases / "analysis" / "regression.json").read_text(encoding="utf-8"))
    return found


def worse_of(document: dict[str, Any]) -> list[dict[str, Any]]:
    found = [one for one in document["series"] if one["verdict"] == "worse"]
    assert {one["kpi"]["name"] for one in found} == SLOWER
    return found


@pytest.fixture(scope="module")
def in_the_application(releases: Path, workload: Workload) -> Pages:
    place = SQLiteLocation(releases / "releases.db")
    with open_history(place, writable=False) as history:
        events = list(history.alarm_events(workload.name))
    options = Given(events=lambda: events)
    runs = read.read_matrix(workload, place)
    return application(runs, workload, releases, past=lambda read: read, given=options)


def test_every_surface_says_of_the_releases_what_the_json_report_says(
    releases: Path, document: dict[str, Any], in_the_application: Pages
) -> None:
    """Of each worse series its size with the interval, both levels, since when, and its alarm."""
    headline, cause, *_ = document["verdict"]
    assert document["notes"] == []  # a comparison of the newest with the last good release says as much
    said: Said = {"terminal": (releases / "printed").read_text(encoding="utf-8")}
    written = ("regression.md", "regression.xml", "gl-code-quality.json", "index.html")
    for path in [releases / "analysis" / name for name in written]:
        text = page_text(path) if path.suffix == ".html" else path.read_text(encoding="utf-8")
        said[path.name] = line(json.dumps(json.loads(text), ensure_ascii=False) if path.suffix == ".json" else text)
    said["regression page"] = page_text(releases / "report" / "regression-analysis.html")
    said["application"] = shown(in_the_application, "?show=regression-analysis")
    for one in worse_of(document):
        size, interval, levels = re.findall(r": (\S+ %) (\(.*?\)), (.* → .*?),", one["sentence"])[0]
        (alarm,) = one["alarms"]
        for surface, text in said.items():
            for words in (size, interval, levels, one["first_bad_version"], one["last_good_version"], alarm["id"]):
                assert words in text, (surface, words)
    for surface in ("terminal", "regression.md", "index.html", "regression page", "application"):
        assert headline in said[surface], surface
        assert cause in said[surface], surface
    summary = line((releases / "report" / "index.html").read_text(encoding="utf-8"))
    assert headline in summary


def test_the_history_plot_and_its_card_say_it_of_each_kpi(
    releases: Path, document: dict[str, Any], in_the_application: Pages
) -> None:
    headline = "1B_cost: 1 of 2 series is worse, 1 shows no difference (7.9 % would have shown within 5 versions)."
    assert headline in page_text(releases / "report" / "index.html")
    for one in worse_of(document):
        for text in [
            shown(in_the_application, f"?show=kpi-history&cfg.kpi={one['kpi']['name']}"),
            *([page_text(releases / "report" / "kpi-history.html")] if one["kpi"]["name"] == "1B_cost" else []),
        ]:
            assert f"{one['kpi']['name']}: 1 of 2 series is worse, 1 shows no difference (" in text
            assert one["sentence"] in text


def test_lists_of_alarms_metrics_and_annotations_have_the_same_ids_and_numbers(
    releases: Path, document: dict[str, Any]
) -> None:
    worse = worse_of(document)
    listed = {one["id"]: one for one in json.loads((releases / "alarms.json").read_text(encoding="utf-8"))}
    assert sorted(listed) == sorted(one["alarms"][0]["id"] for one in worse)
    (cause,) = document["causes"]
    table = (releases / "alarms").read_text(encoding="utf-8")
    printed_lines = (releases / "printed").read_text(encoding="utf-8")
    annotations = printed_lines[printed_lines.index("::error") :].replace("%25", "%").replace("%0A", " ")
    metrics = (releases / "analysis" / "metrics.txt").read_text(encoding="utf-8")
    for one in worse:
        alarm = listed[one["alarms"][0]["id"]]
        for name in ("first_bad", "last_good"):
            assert alarm[name] == one[f"{name}_version"]
        for level in ("old_level", "new_level"):
            assert alarm[level] == pytest.approx(one[level])
        assert alarm["cause"] == cause["id"]
        assert alarm["id"] in table
        annotation = (
            f"is worse::{one['sentence']} Alarm {alarm['id']}. If it is meant: matbench alarms ack {alarm['id']} "
        )
        assert annotation in annotations
        size, levels = re.findall(r": (\S+ %) \(.*?\), (.* → .*?),", one["sentence"])[0]
        assert f"{levels}, {size}" in table
        (ratio,) = re.findall(rf'kpi_change_ratio{{.*kpi="{one["kpi"]["name"]}",.*}} (\S+)', metrics)
        assert float(ratio) == pytest.approx(one["effect"]["value"])
    assert "Alarms: 4 open" in (releases / "history").read_text(encoding="utf-8")


def test_a_verdict_is_one_of_five_words_on_every_surface(
    releases: Path, document: dict[str, Any], in_the_application: Pages
) -> None:
    assert {one["verdict"] for one in document["series"]} <= VERDICTS
    metrics = (releases / "analysis" / "metrics.txt").read_text(encoding="utf-8")
    assert set(re.findall(r'matbench_series{.*outcome="(.*?)"', metrics)) == VERDICTS | {"not analysed"}
    said = {path.name: page_text(path) for path in (releases / "report").glob("*.html") if path.stem != "check"}
    said |= {name: (releases / name).read_text(encoding="utf-8") for name in ("printed", "alarms", "compared")}
    said |= {
        path.name: path.read_text(encoding="utf-8")
        for path in (releases / "analysis").iterdir()
        if path.suffix in (".md", ".xml")
    }
    said |= {page: shown(in_the_application, f"?show={page}") for page in ("regression-analysis", "kpi-history")}
    for surface, text in said.items():
        assert not OTHER_WORDS.search(text), (surface, OTHER_WORDS.findall(text))


def test_what_would_have_been_shown_is_said_wherever_nothing_was(
    releases: Path, document: dict[str, Any], in_the_application: Pages
) -> None:
    same = [one for one in document["series"] if one["kpi"]["name"] == "1B_cost" and one["would_show"]]
    (sentence,) = [one["sentence"] for one in same]
    words = sentence.split(": ")[1].rstrip(".")
    assert words == "no difference shown; 7.9 % would have shown within 5 versions"
    pages = [page_text(releases / "report" / f"{name}.html") for name in ("kpi-history", "regression-analysis")]
    for text in [*pages, shown(in_the_application, "?show=kpi-history&cfg.kpi=1B_cost")]:
        assert words in text


def test_two_sides_without_a_difference_say_what_would_have_been_shown(
    releases: Path, in_the_application: Pages
) -> None:
    given = ["--workload=encoder_bench", f"--history=sqlite:///{releases / 'releases.db'}"]
    said = re.findall(
        r"No difference shown in 10; in 8 of them .*? suspected\.", printed("compare", "1.2.8", "1.2.9", *given)
    )
    assert said == ["No difference shown in 10; in 8 of them 6.4 to 9.6 % would at least be suspected."]
    assert said[0] in shown(in_the_application, "?show=compare&cfg.setting=version&cfg.old=1.2.8&cfg.new=1.2.9")


def test_the_reports_of_runs_and_the_analysis_beside_them_lead_to_each_other(releases: Path) -> None:
    given = ["--workload=encoder_bench", f"--history=sqlite:///{releases / 'releases.db'}"]
    printed("analyze_lts", *given, "--report-dest=report/regression", status=1)
    headline = "4 of 10 series of 5 KPIs are worse: 1.3.4 against its history."
    assert f'<a href="regression/index.html">180 runs of sqlite:///{releases / "releases.db"}: {headline}</a>' in (
        releases / "report" / "regression-analysis.html"
    ).read_text(encoding="utf-8")
    back = (releases / "report" / "regression" / "index.html").read_text(encoding="utf-8")
    assert '<a href="../index.html">encoder_bench: what changed, and what is best' in back


def test_as_many_series_show_no_difference_on_the_terminal_as_on_the_page(releases: Path) -> None:
    """Also those for which no size is known that would have been seen."""
    said = "No difference shown in 6; in 4 of them 7.7 to 17.8 % would have shown within 5 versions."
    assert said in (releases / "printed").read_text(encoding="utf-8")
    page = page_text(releases / "report" / "regression-analysis.html")
    assert said in page
    assert "6 series without a difference shown" in page


def test_the_findings_are_counted_alike_by_the_check_and_beside_each_answer(
    releases: Path, document: dict[str, Any], in_the_application: Pages
) -> None:
    checked = (releases / "check").read_text(encoding="utf-8")
    counted = "3 findings, none of which changes an answer; 1 makes most runs doubtful"
    heading = "These make the numbers of most runs doubtful"
    pattern = rf"180 runs of encoder_bench \(.*?\): {counted}\. {heading}: \* 177 of 180 runs with "
    assert re.match(pattern, checked)
    assert document["check"] == counted
    said = [(releases / "printed").read_text(encoding="utf-8"), shown(in_the_application, "?show=check")]
    said += [page_text(releases / "report" / name) for name in ("index.html", "check.html", "regression-analysis.html")]
    for text in said:
        assert counted in text


def test_the_cards_of_the_index_say_what_their_pages_say(releases: Path, in_the_application: Pages) -> None:
    index, report = page_text(releases / "report" / "index.html"), releases / "report"
    cards = {
        "check.html": "3 findings, none of which changes an answer; 1 makes most runs doubtful.",
        "regression-analysis.html": "4 of 10 series of 5 KPIs are worse: 1.3.4 against its history.",
        "kpi-history.html": "1B_cost: 1 of 2 series is worse, 1 shows no difference (7.9 % would have shown within 5 "
        "versions).",
        "compare.html": "version 1.3.4 against 1.3.0: 0 worse, 0 better, 4 suspected to be worse, 6 without",
        "error-report.html": "None of 180 tests failed, all finished, no artifact is damaged or missing.",
    }
    for page, said in cards.items():
        assert said in index, page
        assert said in page_text(report / page), page
        assert said in shown(in_the_application, f"?show={page.removesuffix('.html')}"), page


def test_a_mean_over_all_series_does_not_hide_the_one_that_changed(releases: Path, in_the_application: Pages) -> None:
    said = "1B_cost of batch_size 8 +7.8 % (+0.8 to +15.3 %), suspected: worse; over all 2 series +1.9 %"
    assert said in page_text(releases / "report" / "compare.html")
    assert said in shown(in_the_application, "?show=compare")


def test_acknowledged_alarms_are_still_since_when_it_is_worse(releases: Path, tmp_path: Path) -> None:
    """What the newest version is compared with, too: to know of it makes nothing better."""
    copy = shutil.copy(releases / "releases.db", tmp_path / "known.db")
    location = location_of.parse(f"sqlite:///{copy}", {})[0]
    ids = [each["id"] for each in json.loads((releases / "alarms.json").read_text(encoding="utf-8"))]
    found = []
    for action in (Action.ACKNOWLEDGED, Action.RESOLVED):
        deal(location, action, ids, author="ann", reason="known")
        candidate = judged(mb.open(str(location), workload="encoder_bench").study)
        assert candidate is not None
        found.append((candidate.old, candidate.new))
    assert found == [("1.3.0", "1.3.4"), ("1.3.3", "1.3.4")]  # the new level is the one that is wanted


def test_where_runs_of_a_history_took_place_is_what_their_payloads_say(releases: Path) -> None:
    runs = mb.open(f"sqlite:///{releases / 'releases.db'}", workload="encoder_bench").study.runs
    environment = next(iter(runs)).environment
    assert environment.cpu_model == "Intel(R) Xeon(R) Processor"
    assert environment.command is not None
    assert environment.command.startswith("matbench benchmark examples/encoder_history.yaml ")


def test_what_the_application_makes_when_it_is_seen_says_the_same(
    document: dict[str, Any], in_the_application: Pages
) -> None:
    query = "?show=kpi-history&cfg.kpi=p95_latency"
    late = [one.id for one in elements(in_the_application.page(query, [])[0], "Store")]
    said = [in_the_application.part(query, one["of"], one["index"]) for one in late if one["type"] == "wanted"]
    (sentence,) = [one["sentence"] for one in worse_of(document) if one["kpi"]["name"] == "p95_latency"]
    assert sentence in line(texts(said))


def test_a_comparison_of_known_alarms_has_the_interval_of_its_own_change(releases: Path) -> None:
    """As before the history knew of them: the sizes of an alarm are of its versions, not of these two."""
    before, after = ((releases / name).read_text(encoding="utf-8") for name in ("compared", "compared again"))
    intervals = re.findall(r"\([+−][0-9.]+ to [+−][0-9.]+ %\)", before)
    assert len(set(intervals)) == 4
    assert set(re.findall(r"\([+−][0-9.]+ to [+−][0-9.]+ %\)", after)) == set(intervals)
    assert "4 alarms since 1.3.1 (last good 1.3.0) are one cause" in after
    annotation = after[after.index("::error") :].replace("%25", "%")
    assert " is worse at 1.3.4 than at 1.2.9: " in annotation
    assert " Worse since 1.3.1, as the history has it. Alarm " in annotation


def test_a_comparison_says_what_the_history_says_of_the_same_series(releases: Path) -> None:
    given = ["--workload=encoder_bench", f"--history=sqlite:///{releases / 'releases.db'}"]
    after = printed("compare", "1.3.1", "1.3.4", *given)
    assert "Nothing is worse in 10 series of 5 KPIs: 1.3.4 against 1.3.1." in after
    assert "The history says that 4 of these series are worse since 1.3.1: both sides are." in after
    before = printed("compare", "1.2.8", "1.2.9", *given)
    assert "The history says that 4 of these series are worse since 1.3.1: after both sides." in before
    assert "The history says" not in printed("compare", "1.2.9", "1.3.4", *given, status=1)


def test_compare_quotes_alarms_that_no_history_has_kept_yet(releases: Path, workload: Workload) -> None:
    """1.3.4 against 1.3.0 alone is suspected, as one of ten series; the regression page beside it says worse."""
    catalogue = catalogue_of(Study(read.read_matrix(workload, SQLiteLocation(releases / "releases.db")), workload))
    assert catalogue.study.analysis is not None
    assert len(catalogue.study.analysis.failing) == 4
    summary = catalogue.page("report: Compare").summary()
    assert "suspected to be worse" in summary
    said = "The history says that 4 of these series are worse since 1.3.1: by the two sides alone it is suspected."
    assert said in summary
