"""The report of an analysis: the verdict first, what changed by severity, a chart each, what can't be told and why."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from plotting_support.analyses import analysis_of, event, run, series, toy_workload, versions

from matrix_benchmarking import store
from matrix_benchmarking.analyze.select.series import NotAnalysed
from matrix_benchmarking.analyze.study import Given, Study
from matrix_benchmarking.analyze.verdict.model import Analysis, Outcome, severity
from matrix_benchmarking.history.alarms import Action
from matrix_benchmarking.matrix import Entry, Matrix
from matrix_benchmarking.plotting import report_regression, series_tables
from matrix_benchmarking.plotting.base import Catalogue
from matrix_benchmarking.plotting.catalogue import catalogue_of
from matrix_benchmarking.plotting.compare_sides import SETTING, candidates
from matrix_benchmarking.plotting.report_regression import RegressionReport
from matrix_benchmarking.plotting.site import write_regression_page
from matrix_benchmarking.plotting.static_html import StaticHTML
from matrix_benchmarking.workload import load

HOSTILE = '<script>alert(1)</script><img src=x onerror="alert(1)">'
VERSIONS = versions(20)


def catalogue(entries: Iterable[Entry], analysis: Analysis | None = None, **options: Any) -> Catalogue:
    known = list(entries)
    return catalogue_of(Study(Matrix(known), toy_workload(), past=Matrix(known), analysis=analysis, **options))


def page(of: Catalogue) -> str:
    return StaticHTML().render(of.page("report: Regression analysis").do_plot(*of.arguments()))


def mixed() -> list[Entry]:
    """One regression, one improvement, one that was repaired, one without a change, one too short."""
    return [
        *series("worse", VERSIONS, {17: 1.12}),
        *series("better", VERSIONS, {18: 0.8}),
        *series("repaired", VERSIONS, {8: 1.3, 13: 1 / 1.3}),
        *series("same", VERSIONS),
        *series("young", VERSIONS[-3:]),
    ]


def test_the_verdict_stands_on_top_in_sentences() -> None:
    shown = page(catalogue(mixed()))
    top = re.sub(r"<[^>]*>", "\n", shown.split("<h2")[0])
    lines = [line for line in top.splitlines() if line.strip()]
    assert lines[0] == "worse is worse since 1.17: latency +11.6 %."
    assert lines[1] == "1 of 5 series of 1 KPI is worse: 1.19 against its history."
    assert lines[3].startswith("latency of worse is worse since 1.17 (last good 1.16): +1")
    assert any("1 can&#x27;t be told: the history is too short; measure 2 more versions" in line for line in lines[:5])
    assert "at most 5 % of the changes named are false alarms" in shown
    assert "from 1 % of the old level" in shown


def test_what_no_series_shows_and_fails_it_all_the_same_is_not_folded_away() -> None:
    entries = series("same", VERSIONS)
    failed = dataclasses.replace(run("1.20", "same", 1.0), exit_code=1)
    shown = StaticHTML().render(report_regression.verdict_box(catalogue([*entries, failed]).study.analysis))
    assert "version 1.20 has no good run: it was not judged." in shown.split("<details")[0]
    assert 'class="verdict failing"' in shown


def test_what_changed_is_a_table_by_severity_with_levels_versions_alarm_and_runs() -> None:
    of = catalogue(mixed())
    shown = page(of)
    rows = re.findall(r"<tr>(<td.*?)</tr>", shown.split("<tbody>")[1].split("</tbody>")[0])
    said = [re.sub(r"<[^>]*>", "|", row) for row in rows]
    assert [re.search(r"\|\W*(worse|better|no)\b[^|]*\|+[+−]", one)[1] for one in said] == ["worse", "better", "no"]
    assert of.study.analysis is not None
    worst = of.study.analysis.failing[0]
    for wanted in (worst.alarms[0].id, "1.16 → 1.17<", "51 → 9", "&lt; 0.001", "ms</td>"):
        assert wanted in rows[0]


def test_each_series_that_changed_has_a_chart_with_links_to_its_runs() -> None:
    of = catalogue(mixed())
    shown = page(of)
    cards = re.split(r'class="series-chart(?!s)', shown)[1:]
    assert len(cards) == 3
    assert "latency: worse" in cards[0]
    assert cards[0].startswith(" failing")
    assert "last good 1.16: " in cards[0]
    assert "first bad 1.17: " in cards[0]
    assert "newest 1.19: " in cards[0]
    assert cards[0].count('href="file:///results/worse-1.1') == 9
    assert "last before 1.17: " in cards[1]
    assert 'href="#regression-chart--1"' in shown
    assert 'id="regression-chart--1"' in cards[0]


def test_series_without_a_change_are_folded_away() -> None:
    shown = page(catalogue(mixed()))
    folded = re.findall(r"<details><summary>(.*?)</summary>", shown)
    assert folded == [
        "How much, and what else",
        "Deal with this alarm",
        "1 alarm fixed by a later version",
        "1 series without a difference shown",
        "1 series of which it can&#x27;t be told",
    ]
    assert "the history is too short; measure 2 more versions" in shown


def test_what_is_done_to_an_alarm_is_one_command_each_with_what_it_means() -> None:
    commands = re.findall(r"<p>([^<]*)</p><div class=\"command\"><pre><code>(.*?)</code>", page(catalogue(mixed())))
    assert [(said.split(":")[0], " ".join(code.split()[:3])) for said, code in commands] == [
        ("Keep what is seen here in the history, if no analysis has yet", "matbench analyze_lts --workload=toy"),
        ("Acknowledge", "matbench alarms ack"),
        ("Resolve", "matbench alarms resolve"),
        ("Comment", "matbench alarms comment"),
    ]


def test_the_command_that_keeps_an_alarm_has_the_workload_and_the_results_as_they_were_given() -> None:
    given = Given(place="new results/", history="sqlite:///h.db")
    workload = dataclasses.replace(toy_workload(), spec="./toy.py")
    beside = Study(Matrix(mixed()), workload, past=Matrix(mixed()), given=given)
    keep = "matbench analyze_lts --workload=./toy.py --history=sqlite:///h.db"
    assert f"<code>{keep} --results-dirname=&#x27;new results/&#x27;</code>" in page(catalogue_of(beside))
    alone = Study(beside.matrix, workload, past=beside.past, given=msgspec.structs.replace(given, place=given.history))
    assert f"<code>{keep}</code>" in page(catalogue_of(alone))


def test_what_was_not_analysed_stands_with_its_reason() -> None:
    shown = page(catalogue([*mixed(), dataclasses.replace(run("1.3", "empty", 0.0), kpis={"throughput": 1.0})]))
    rest = shown.split("Not analysed, and why", 1)[1]
    assert "throughput" in rest
    assert "latency" in rest
    assert "unknown" in rest


def test_an_acknowledged_alarm_shows_who_when_why_and_until() -> None:
    entries = mixed()
    first = analysis_of(entries)
    place = next(number for number, one in enumerate(first.verdicts) if one.name == "worse")
    said = event(first, place, Action.ACKNOWLEDGED, reason=f"known {HOSTILE}", until="9999-06-01")
    of = catalogue(entries, given=Given(events=lambda: [said]))
    shown = page(of)
    dealt = shown.split("Alarms that were dealt with", 1)[1]
    for wanted in (
        "acknowledged",
        "Ada",
        "UTC",
        "known &lt;script&gt;",
        "9999-06-01",
        "1 alarm fixed by a later version",
        "1.13",
    ):
        assert wanted in dealt
    assert "<script>alert" not in shown
    assert "✕\u00a0worse, acknowledged" in shown
    assert "series-chart failing" not in shown
    assert shown.index("worse, and dealt with") < shown.index("1 alarm acknowledged.")


def test_a_bound_on_charts_and_rows_says_what_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report_regression, "MOST_CHARTS", 3)
    monkeypatch.setattr(report_regression, "MOST_ROWS", 4)
    shown = page(catalogue([entry for n in range(6) for entry in series(f"image{n}", VERSIONS, {9: 1.3})]))
    assert shown.count('class="figure-scroll"') == 3
    assert "The 3 most severe are drawn, 3 more are in the table above." in shown
    assert "(the first 4 of 6 rows)" in shown
    assert "And 1 more, in the table below." in shown
    assert shown.count('href="#regression-chart--') >= 3
    assert 'href="#regression-chart--4"' not in shown


@pytest.mark.parametrize("texts", [HOSTILE, "<b>" * 100, "long name " * 60, "\x00\u2028"])
def test_hostile_and_long_text_stays_text(texts: str, tmp_path: Path) -> None:
    entries = [*series(texts, VERSIONS, {10: 1.3}), *series("other", [f"{one} {texts}" for one in VERSIONS], {10: 1.3})]
    analysis = msgspec.structs.replace(
        analysis_of(entries),
        notes=[f"note {texts}"],
        data=texts,
        not_analysed=[NotAnalysed(texts, texts, {}, f"because {texts}", 1)],
    )
    path = write_regression_page(analysis, Study(Matrix(entries), toy_workload()), tmp_path)
    shown = path.read_text(encoding="utf-8").split("<footer>")[0]
    assert "<script>alert" not in shown
    assert "<img" not in shown
    assert "<b>b" not in shown
    body = StaticHTML().render(RegressionReport(catalogue(entries, analysis)).do_plot(*catalogue(entries).arguments()))
    assert max(map(len, re.findall(r"<td[^>]*>([^<]*)</td>", body))) < 3000
    figures = re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', body)
    assert figures
    assert not any("<" in figure for figure in figures)


def test_one_version_is_said_in_a_plain_sentence() -> None:
    alone = catalogue_of(Study(Matrix(series("image", ["1.0"])), toy_workload()))
    assert "There is nothing to analyse. These runs have one value of version" in page(alone)
    assert alone.page("report: Regression analysis").summary().startswith("There is nothing to analyse.")
    assert alone.study.analysis is None
    with_history = catalogue(series("image", ["1.0"]))
    assert "Whether 1 series of 1 KPI is worse can&#x27;t be told" in page(with_history)
    assert with_history.page("report: Regression analysis").summary() == (
        "Whether 1 series of 1 KPI is worse can't be told: the newest runs against their history. The history is too "
        "short; measure 9 more versions, fewer with repeats."
    )
    assert "is the same" in page(catalogue([])) or "Nothing could be analysed" in page(catalogue([]))


def test_an_analysis_that_is_given_is_shown_and_none_is_made() -> None:
    entries = mixed()
    given = msgspec.structs.replace(analysis_of(entries), question="asked by somebody")
    of = catalogue([], given)
    assert of.study.analysis is given
    assert "is worse: asked by somebody." in page(of)


def test_the_analysis_is_made_once_and_shared_by_the_copies_of_a_catalogue() -> None:
    of = catalogue(mixed())
    copied = dataclasses.replace(of)
    made = copied.study.analysis
    assert made is not None
    assert of.study.analysis is made


def test_minimum_effects_and_where_the_data_came_from_reach_the_analysis() -> None:
    from matrix_benchmarking.workload import MinimumEffect

    options = Given(data="somewhere", minimum_effects={"latency": MinimumEffect(relative=0.5, absolute=2.0)})
    of = catalogue(mixed(), given=options)
    assert of.study.analysis is not None
    assert of.study.analysis.data == "somewhere"
    assert not of.study.analysis.failing
    assert "a change counts from 50 % of the old level, and from 2.00 ms for latency" in page(of)


def test_doubtful_series_are_drawn_last_and_say_what_would_settle_them() -> None:
    analysis = analysis_of(mixed())
    same = next(one for one in analysis.verdicts if one.name == "same")
    doubtful = msgspec.structs.replace(same, reruns=2)
    verdicts = [doubtful if one is same else one for one in analysis.verdicts]
    analysis = msgspec.structs.replace(analysis, verdicts=sorted(verdicts, key=severity))
    assert same.outcome is Outcome.NO_CHANGE
    shown = page(catalogue(mixed(), analysis))
    cards = re.split(r'class="series-chart(?!s)', shown)[1:]
    assert "◆\u00a0no difference shown yet" in cards[2]
    assert "2 more versions like it would tell" in cards[2]
    assert [one.name for one in series_tables.changed(analysis)] == ["worse", "better", "same", "repaired"]


def test_where_to_look_next_is_a_link_where_there_is_a_page_and_else_a_command() -> None:
    of = catalogue(mixed())
    assert "<code>matbench compare 1.16 1.19</code> says in what else they differ" in page(of)
    said = "Compare</a> says in what else the newest version differs from the last good"
    written = dataclasses.replace(of, address_of=lambda name, chosen: None if chosen else "compare.html")
    assert f'<a href="compare.html">{said}' in page(written)
    live = dataclasses.replace(of, address_of=lambda name, chosen: f"?{name} {chosen['old']} {chosen['new']}")
    assert f'<a href="?report: Compare 1.16 1.19">{said}' in page(live)
    # Results of an older version beside the history: what the page of Compare shows by itself is about them.
    entries = mixed()
    own = Matrix([run for run in entries if run.settings["version"] == VERSIONS[5]])
    beside = catalogue_of(Study(own, toy_workload(), past=Matrix(entries)))
    assert "<code>matbench compare 1.16 1.19</code> says" in page(
        dataclasses.replace(beside, address_of=written.address_of)
    )
    assert f'1.16 1.19">{said}' in page(dataclasses.replace(beside, address_of=live.address_of))
    assert "Compare" not in page(catalogue(series("same", VERSIONS)))


def test_results_older_than_the_history_beside_them_are_the_old_side() -> None:
    entries = mixed()
    own = Matrix([run for run in entries if run.settings["version"] == VERSIONS[0]])
    (found,) = candidates(Study(own, toy_workload(), past=Matrix(entries)), {SETTING: "version"})
    assert (found.old, found.new) == (VERSIONS[0], VERSIONS[-1])


def test_of_a_history_beside_results_the_newest_version_alone_is_on_both_sides() -> None:
    study = Study(Matrix(mixed()), toy_workload(), past=Matrix(mixed()))
    (one,) = candidates(study, {SETTING: "image", "old": "better", "new": "same"})
    assert {run.settings["version"] for run in one.runs_of(study)} == {VERSIONS[-1]}


def test_that_results_beside_a_history_are_not_what_is_judged_is_said() -> None:
    entries = mixed()

    def notes(*versions: str) -> list[str]:
        own = Matrix([run for run in entries if run.settings["version"] in versions])
        analysis = Study(own, toy_workload(), past=Matrix(entries)).analysis
        assert analysis is not None
        return [note for note in analysis.notes if "alone: what is judged" in note]

    said = f"these runs has {VERSIONS[0]}, {VERSIONS[4]} alone: what is judged is the newest, {VERSIONS[-1]}"
    assert notes(VERSIONS[0], VERSIONS[4]) == [said]
    assert notes(VERSIONS[0], VERSIONS[-1]) == notes(*VERSIONS) == []


def test_a_history_that_can_not_tell_quotes_what_two_versions_say_by_themselves(repository: Path) -> None:
    workload = load("llm_bench")
    study = Study(store.parse_tree(workload, repository / "data/samples/llm_bench", jobs=1), workload)
    found = catalogue_of(study)
    compared = found.page("report: Compare").summary()
    worse = compared.partition(" worse, ")[0]
    assert worse.startswith("version 0.3.0 against 0.2.0: ")
    for name in ("report: Regression analysis", "report: KPI history"):
        shown = StaticHTML().render(found.page(name).do_plot(*found.arguments()))
        assert shown.index(f"By themselves, {worse} worse, ") < shown.index("can&#x27;t be told")
    assert f"By themselves, {worse}" in found.page("report: Regression analysis").summary()


def test_the_page_is_one_file_and_without_a_chart_it_is_small(tmp_path: Path) -> None:
    entries = mixed()
    runs = Study(Matrix(entries), toy_workload())
    path = write_regression_page(analysis_of(entries), runs, tmp_path / "new" / "report")
    assert [each.name for each in path.parent.iterdir()] == ["index.html"]
    shown = path.read_text(encoding="utf-8")
    assert "<title>Regression analysis – toy – matbench</title>" in shown
    assert "Data: a history of the tests." in shown
    assert "Written 2027-01-01 00:00 UTC" in shown
    quiet = series("same", VERSIONS)
    alone = write_regression_page(analysis_of(quiet), Study(Matrix(quiet), toy_workload()), tmp_path / "quiet")
    assert alone.stat().st_size < 60_000
    assert "Nothing is worse in 1 series" in alone.read_text(encoding="utf-8")


def test_the_report_is_there_for_every_workload_and_in_the_plots_file(repository: Path) -> None:
    from matrix_benchmarking.commands import pages

    assert "report: Regression analysis" in catalogue_of(Study(Matrix([]), toy_workload())).reports
    assert "report: Regression analysis" in pages.read_plots_file(repository / "data" / "plots.yaml", "toy", ())
