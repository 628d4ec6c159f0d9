"""The page that answers "should I switch?": what it advises, what it hides, what it can't know."""

from __future__ import annotations

import dataclasses
import json
import random
import re
from pathlib import Path
from typing import Any

import pytest
from counted import calls_of
from plotting_support.toy_costs import cost, entry, sweep, toy_costs

from matrix_benchmarking import kpi
from matrix_benchmarking.analyze.study import Given, Study
from matrix_benchmarking.filters import parse
from matrix_benchmarking.matrix import Entry, Matrix, joined
from matrix_benchmarking.plotting import compare_answer
from matrix_benchmarking.plotting.catalogue import catalogue_of
from matrix_benchmarking.plotting.environments import repeating
from matrix_benchmarking.plotting.static_html import StaticHTML
from matrix_benchmarking.recorded import Environment
from matrix_benchmarking.workload import RegressionKeys, Workload


@pytest.fixture
def toy() -> Workload:
    return toy_costs()


def page(workload: Workload, *entries: Entry, **cfg: Any) -> str:
    return page_of(Study(Matrix(entries), workload), **cfg)


def page_of(study: Study, **cfg: Any) -> str:
    catalogue = catalogue_of(study)
    shown = StaticHTML().render(catalogue.page("report: Compare").do_plot(*catalogue.arguments(cfg)))
    return re.sub(r"\d\d:\d\d UTC", "now", shown)  # two of them may be made in different minutes


def test_what_is_doubtful_of_the_runs_is_said_with_its_side(toy: Workload) -> None:
    cheap = [dataclasses.replace(run, warnings=("k6 took 40 % of a core",)) for run in sweep("b", 0.5)[:4]]
    shown = re.sub("<[^>]*>", " ", page(toy, *sweep("a", 1.0), *cheap, *sweep("b", 0.5)[4:]))
    assert shown.count("Doubtful: k6 took 40 % of a core (runs: 0 of 9 with a, 4 of 9 with b).") == 1


@pytest.mark.parametrize(("having", "summary"), [(4, "1 doubt"), (5, "What else")])
def test_a_doubt_about_one_side_alone_is_not_folded_away(toy: Workload, having: int, summary: str) -> None:
    cheap = [dataclasses.replace(run, warnings=("k6 took 40 % of a core",)) for run in sweep("b", 0.5)[:having]]
    verdict, _ = page(toy, *sweep("a", 1.0), *cheap, *sweep("b", 0.5)[having:]).split("</details>", 1)
    in_the_open, folded = verdict.split("<details", 1)
    assert ("Doubtful" in in_the_open, "Doubtful" in folded) == (having == 5, having == 4)
    assert f">{summary}</summary>" in folded


def failing(run: Entry) -> Entry:
    return dataclasses.replace(run, exit_code=1, kpis={})


@pytest.mark.parametrize("cfg", [{}, {"old": "image=a,vus=1", "new": "image=b,vus=1"}])
def test_a_side_of_which_runs_fail_more_often_is_named(toy: Workload, cfg: dict[str, str]) -> None:
    runs = [
        entry(image, vus, 100.0 + repeat, repeat=repeat) for image in "ab" for vus in (1, 2) for repeat in range(12)
    ]
    bad = [failing(run) if run.settings["image"] == "b" and run.repeat % 2 else run for run in runs]
    counts = "6 of 12, and 0 of 12" if cfg else "12 of 24, and 0 of 24"
    assert f"Runs of b fail more often: {counts}" in page(toy, *bad, **cfg)
    assert f"{counts.split()[0]} failed runs of b left out." in page(toy, *bad, **cfg)
    assert "fail more often" not in page(toy, *runs, **cfg)


def test_what_is_not_about_versions_asks_for_no_order_which_loads_all_payloads(toy: Workload) -> None:
    for sides in ({}, {"old": "image=a,vus=1", "new": "image=b,vus=1"}):
        catalogue = catalogue_of(Study(Matrix([*sweep("a", 1.0), *sweep("b", 2.0)]), toy))
        catalogue.page("report: Compare").do_plot(*catalogue.arguments(sides))
        assert "_order" not in vars(catalogue.study)  # where it is kept


def test_a_side_of_which_all_runs_failed_is_named(toy: Workload) -> None:
    shown = page(toy, *sweep("a", 1.0), *map(failing, sweep("b", 1.0)), setting="image", old="a", new="b")
    assert "No run of b is good: all 9 failed." in shown


def test_a_mean_of_pairs_that_differ_says_how_far(toy: Workload) -> None:
    twice = [one for one in sweep("b", 2.0) if one.settings["vus"] == 4]
    runs = [*(one for one in sweep("b", 1.0) if one.settings["vus"] != 4), *twice]
    assert "3 pairs of points (+0.0 to +100 % each), in 3 common rounds" in page(toy, *sweep("a", 1.0), *runs)
    assert "3 pairs of points, in 3 common rounds" in page(toy, *sweep("a", 1.0), *sweep("b", 1.02))


def test_one_side_alone_is_compared_with_what_is_usual(toy: Workload) -> None:
    runs = [*sweep("a", 1.0), *sweep("b", 0.5), *sweep("c", 2.0), entry("a", 1, 100.0, repeat=3)]
    assert "b instead of a" in page(toy, *runs, new="image=b")
    of_b = page(toy, *runs, old="image=b")
    assert "a instead of b" in of_b
    assert "c instead of b" in of_b


def test_of_one_series_of_a_kpi_it_is_named_alone(toy: Workload) -> None:
    runs = [entry(image, 1, cost + repeat / 100, repeat=repeat) for image, cost in (("a", 1.0), ("b", 2.0))
            for repeat in range(3)]  # fmt: skip
    shown = page(toy, *runs)
    assert "cost is worse at b than at a" in shown
    assert "of everywhere" not in shown


@kpi.NeitherBetter
@kpi.KPIMetadata(help="How busy it is", unit="")
def load(lts: Any) -> Any:
    return lts.load


def test_a_kpi_of_which_neither_direction_is_better_is_shown_and_not_judged(toy: Workload) -> None:
    store = dataclasses.replace(toy.store, models_kpis=kpi.collect([cost, load]))
    entries = [*sweep("a", 1.0), *sweep("b", 0.5)]
    busy = [
        dataclasses.replace(one, kpis={**one.kpis, "load": (0.9 if one.settings["image"] == "a" else 0.8) + at / 1e4})
        for at, one in enumerate(entries)
    ]
    workload = dataclasses.replace(toy, store=store, gates=())
    shown = page(workload, *busy)
    row = next(row for row in shown.split("<tr") if ">load<" in row and "not judged" in row)
    assert "−11." in row
    overview = StaticHTML().render(
        catalogue_of(Study(Matrix(busy), workload))
        .page("report: KPI overview")
        .do_plot(*catalogue_of(Study(Matrix(busy), workload)).arguments())
    )
    assert "not judged: from 0.8" in overview


def test_a_clear_gain_is_advised_and_a_clear_loss_is_not(toy: Workload) -> None:
    shown = page(toy, *sweep("a", 1.0), *sweep("b", 0.5), *sweep("c", 2.0))
    assert "Switch: b instead of a changes cost by −50.0 %" in shown
    assert "Stay: c instead of a changes cost by +100 %" in shown
    assert shown.index("c instead of a") < shown.index("b instead of a")  # the larger effect first


def test_as_markdown_it_has_the_advice_and_no_column_without_a_value(toy: Workload) -> None:
    written = page(toy, *sweep("a", 1.0), *sweep("b", 2.0)).split("As Markdown")[1].split("</pre>")[0]
    assert "Stay: b instead of a changes cost by +100 %" in written
    assert "| KPI | Series | Change | Level | Runs | q |\n| --- | --- | --- | --- | --: | --: |" in written


def test_a_gain_with_wrong_answers_is_not_advised(toy: Workload) -> None:
    shown = page(toy, *sweep("a", 1.0), *sweep("b", 0.5, right=0.5))
    assert "By cost alone, don&#x27;t switch: b instead of a changes cost by −50.0 %" in shown
    assert "; 3 series of other KPIs are worse. 9 runs with it" in shown
    assert "9 runs with it can&#x27;t be the best: the answers are beyond a limit." in shown


def test_what_shows_no_difference_says_so_and_is_folded_away_behind_what_does(toy: Workload) -> None:
    shown = page(toy, *sweep("a", 1.0), *sweep("b", 0.5), *sweep("same", 1.001))
    assert "same instead of a: cost +0.1 % (95 % interval" in shown
    assert "in the geometric mean of 3 pairs of points, in 3 common rounds; less than the minimum effect" in shown
    assert (
        "<summary>same against a: 0 worse, 0 better, 3 by less than the minimum effect, 3 without a difference shown."
        in shown
    )
    assert shown.index("b instead of a") < shown.index("<details") < shown.index("same instead of a")


def test_what_is_suspected_is_seen_without_opening_what_is_folded_away(toy: Workload) -> None:
    noise = random.Random(2)
    maybe = [
        dataclasses.replace(one, kpis={**one.kpis, "cost": one.kpis["cost"] * noise.gauss(1.03, 0.015)})
        for one in sweep("maybe", 1.0)
    ]
    shown = page(toy, *sweep("a", 1.0), *sweep("b", 0.5), *maybe)
    said = "maybe against a: 0 worse, 0 better, 2 suspected to be worse, "
    _, folded = shown.split(f'<details class="apart"><summary>{said}', 1)
    assert "in 3 common rounds; suspected: worse." in folded
    row = next(row for row in folded.split("All settings pooled")[2].split("<tr") if ">cost<" in row)
    assert [cell.split("<")[0] for cell in row.split(">") if cell[:2] in ("3<", "0<", "2<")] == ["3", "0", "0", "2"]


def test_one_round_can_not_tell_and_the_page_says_what_to_measure(toy: Workload) -> None:
    shown = page(toy, entry("a", 1, 10.0), entry("b", 1, 5.0))
    assert "b instead of a: cost −50.0 % over 1 pair of points, in one common round; can&#x27;t be told." in shown
    above = shown.split("As Markdown")[0]
    assert (
        above.count("Both were measured in one round only, and one can&#x27;t tell chance; measure both in turn") == 1
    )


def test_what_was_measured_one_after_the_other_can_not_be_told(toy: Workload) -> None:
    later = [dataclasses.replace(one, campaign="the next night") for one in sweep("b", 0.75)]
    shown = page(toy, *sweep("a", 1.0), *later)
    assert "in one campaign each; can&#x27;t be told" in shown
    assert "may be the machine&#x27;s mood; measure both in turn" in shown
    assert "Switch:" not in shown


def test_each_pair_has_its_verdict_and_each_kpi_counts_them(toy: Workload) -> None:
    mixed = [one if one.settings["vus"] != 4 else dataclasses.replace(one, kpis={**one.kpis, "cost": 90.0 + one.repeat})
             for one in sweep("b", 0.5)]  # fmt: skip
    shown = page(toy, *sweep("a", 1.0), *mixed)
    row = next(row for row in shown.split("All settings pooled")[2].split("<tr") if ">cost<" in row)
    assert [cell.split("<")[0] for cell in row.split(">") if cell[:2] in ("3<", "1<", "2<", "0<")] == [
        "3",
        "1",
        "2",
        "0",
    ]
    assert re.search(r">cost</td><td[^>]*>vus 4</td><td[^>]*>\+[^<]*</td><td>worse</td>", shown)
    assert "b against a: 1 worse, 2 better, 3 without a difference shown" in shown
    assert "no difference shown" in shown  # the fidelity


def test_two_values_of_any_setting_can_be_named(toy: Workload) -> None:
    shown = page(toy, *sweep("a", 1.0), *sweep("b", 0.5), setting="vus", old=1, new=4)
    assert "vus 4 instead of vus 1 changes cost by −75." in shown
    assert "b instead of a" not in shown


@pytest.mark.parametrize(
    ("cfg", "said"),
    [
        ({"setting": "vus", "old": 1, "new": 1}, "Old and new are both 1: choose two different values of vus."),
        ({"setting": "vus", "old": 1, "new": 3}, "3 is no value of vus; there are 1, 2, 4."),
        ({"setting": "vus", "old": "a"}, "a is no value of vus; there are 1, 2, 4."),
        ({"setting": "vsu"}, "There is no setting &#x27;vsu&#x27; with two values to compare: did you mean &#x27;vus"),
        ({"old": "vus=1,image=a"}, "Choose both sides, such as version=1.2 and version=1.3"),
        (
            {"old": "vus=1", "new": "image=a"},
            "a-1-0 is on both sides: choose two selections that have no run in common.",
        ),
        ({"old": "vus=1,image=b", "new": "vus=9,image=a"}, "no test has"),
        ({"old": "vus=1,image=b", "new": "vsu=9"}, "no test has a setting &#x27;vsu&#x27;"),
    ],
)
def test_what_does_not_fit_together_is_a_sentence(toy: Workload, cfg: dict[str, Any], said: str) -> None:
    shown = page(toy, *sweep("a", 1.0), *sweep("b", 0.5), **cfg)
    assert said in shown
    assert "<table" not in shown


def test_a_setting_alone_compares_each_of_its_values_with_the_usual_one(toy: Workload) -> None:
    shown = page(toy, *sweep("a", 1.0), entry("a", 2, 50.5, repeat=3), setting="vus")
    assert "vus 1 instead of vus 2" in shown
    assert "vus 4 instead of vus 2" in shown
    shown = page(toy, *sweep("a", 1.0), setting="vus", old=1)
    assert "vus 2 instead of vus 1" in shown
    assert "vus 4 instead of vus 1" in shown


def test_the_values_to_choose_from_are_those_of_the_chosen_setting(toy: Workload) -> None:
    catalogue = catalogue_of(Study(Matrix([*sweep("a", 1.0), *sweep("b", 0.5)]), toy))
    report = catalogue.page("report: Compare")
    setting, *sides = report.controls()
    assert list(setting.options) == ["image", "vus"]
    assert [side.name for side in sides] == ["old", "new"]
    assert sides[0].suggestions == ('image="b"', 'image="a"', "vus=4", "vus=2", "vus=1")
    report.do_plot(*catalogue.arguments())
    assert report.controls()[0].default == "image"  # that of the comparison on the page
    report.do_plot(*catalogue.arguments({"setting": "vus", "old": "1", "new": 4}))
    assert [control.suggestions for control in report.controls()[1:]] == [("4", "2", "1")] * 2
    assert list(catalogue_of(Study(Matrix([entry("a", 1, 1.0)]), toy)).page("report: Compare").controls()) == []


def test_an_environment_that_differs_is_said_and_one_that_does_not_is_not(toy: Workload, tmp_path: Path) -> None:
    def recorded(image: str, **environment: Any) -> list[Entry]:
        entries = sweep(image, 1.0 if image == "a" else 0.5)
        for one in entries:
            one.location = tmp_path / one.name
            one.location.mkdir(exist_ok=True)
            (one.location / "environment.json").write_text(json.dumps(environment))
        return entries

    same = {"cpu_model": "Xeon", "versions": {"k6": "1.1"}}
    old = recorded("a", **same, kernel="Linux 6.1")
    assert "The environment differs" not in page(toy, *old, *recorded("b", **same, kernel="Linux 6.1"))
    shown = page(toy, *old, *recorded("b", **same, kernel="Linux 6.2", gpus=[{"model": "<L4>"}]))
    assert shown.count("The environment differs") >= 1
    assert "<td>Kernel</td><td>Linux 6.1</td><td>Linux 6.2</td>" in shown
    assert "<td>GPUs</td><td>not recorded</td><td>&lt;L4&gt;</td>" in shown
    assert "<td>k6</td>" not in shown
    assert "The environment of b isn&#x27;t recorded" in page(toy, *old, *recorded("b"))

    run = "matbench benchmark it.yaml --run --expe-to-run="
    for names, images, is_one in (("xx", "ab", True), ("xy", "ab", False), ("xx", "aa", False)):
        sides = [
            recorded(image, command=f"{run}{name} --filters=image={said},repeat=0")
            for image, name, said in zip("ab", names, images, strict=True)
        ]
        shown = page(toy, *sides[0], *sides[1])
        assert ("Repeat both together" in shown) == is_one
        assert (f"{run}x --filters=image=a:b,repeat=0" in shown) == is_one
        assert "Repeat image a:" in shown or "Repeat a:" in shown


def test_the_runs_of_a_side_are_repeated_by_as_few_commands_as_can_be() -> None:
    def lines(*commands: str | None) -> list[str]:
        return repeating(Environment(command=one) for one in commands)

    run = "matbench benchmark 'my file.yaml' --run --expe-to-run="
    one, other, both = (
        f"{run}a '--filters=image=\"x\\:y\",vus={vus},repeat={repeat}'"
        for vus, repeat in (("1", "0"), ("8", "2"), ("1:8", "0:2"))
    )
    assert lines(one, None, other, one) == [both]
    assert lines(one) == [one]
    assert lines(one, f"{run}b --filters=vus=1", f"{run}b", f"{run}b --filters=vus=2") == [
        f"{run}b",
        one,
        f"{run}b --filters=vus=1:2",
    ]
    foreign = ("make 'it", f"{run}a --filters=vus", "cd x && make --filters=vus=1 > out")
    assert lines(*foreign, one) == [*foreign, one]
    assert lines(None) == []


@pytest.mark.parametrize(
    "entries", [[], [entry("a", 1, 1.0)], [entry("a", 1, 1.0), entry("b", 2, 1.0), entry("b", 4, 1.0)]]
)
def test_nothing_to_compare_is_a_sentence(toy: Workload, entries: list[Entry]) -> None:
    assert "there is nothing to compare" in page(toy, *entries)


def test_sides_that_differ_in_several_settings_are_compared_as_wholes_and_the_page_says_so(toy: Workload) -> None:
    def experiment(image: str, workers: int, value: float) -> list[Entry]:
        runs = [entry(image, 8, value * noise, repeat=repeat) for repeat, noise in enumerate((0.99, 1.0, 1.01))]
        return [dataclasses.replace(run, settings={**run.settings, "workers": workers}) for run in runs]

    runs = [*experiment("a", 1, 100.0), *experiment("b", 2, 50.0), *experiment("c", 3, 99.0)]
    for chosen in ({}, {"old": "image=a", "new": "image=b"}, {"setting": "image", "old": "a", "new": "b"}):
        shown = page(toy, *runs, **chosen)
        assert "Switch: b instead of a (with its workers) changes cost by −50.0 %" in shown
        assert "<td>workers</td><td>1</td><td>2</td>" in shown
    assert "(with its" not in page(toy, *sweep("a", 1.0), *sweep("b", 0.5))


def test_a_side_may_be_named_by_a_value_that_one_setting_alone_has(toy: Workload) -> None:
    runs = [*sweep("a", 1.0), *sweep("b", 0.5)]
    assert "Switch: b instead of a changes cost" in page(toy, *runs, old="a", new="b")
    assert "there is no directory" in page(toy, *runs, old="a", new="nothing").lower() or "can be named" in page(
        toy, *runs, old="a", new="nothing"
    )


def test_effects_in_opposite_directions_are_no_advice_to_switch(toy: Workload) -> None:
    runs = [*sweep("a", 1.0), *sweep("b", 0.4)[:6], *sweep("b", 1.5)[6:]]
    shown = page(toy, *runs)
    assert "It depends on where: b instead of a changes cost by" in shown
    assert "1 of them the other way" in shown


def test_the_card_on_the_index_names_the_largest_effect(toy: Workload) -> None:
    catalogue = catalogue_of(Study(Matrix([*sweep("a", 1.0), *sweep("b", 0.5)]), toy))
    assert catalogue.page("report: Compare").summary().startswith("b against a: 0 worse, 3 better, ")


def test_hostile_names_are_text(toy: Workload) -> None:
    hostile = "<script>alert(1)</script>"
    shown = page(toy, *sweep("a", 1.0), *sweep(hostile, 0.5))
    assert "<script>alert" not in shown
    assert "Stay: a instead of &lt;script&gt;alert(1)&lt;/script&gt; changes cost by +100 %" in shown


def versioned(toy: Workload) -> Workload:
    return dataclasses.replace(toy, variant_keys=(), regression=RegressionKeys(comparison_keys=["image"]))


def test_of_two_versions_the_older_one_is_the_old_one(toy: Workload) -> None:
    more_of_the_newer = [*sweep("2.9", 1.0), *sweep("2.10", 0.5), entry("2.10", 1, 50.0, repeat=7)]
    shown = page(versioned(toy), *more_of_the_newer)
    assert "image 2.10 instead of image 2.9" in shown
    assert "2.10 against 2.9." in shown
    assert "image 2.9 instead of image 2.10" not in shown
    assert "Versions in the order of their numbers." in shown


def test_asked_the_other_way_round_the_page_says_which_side_is_newer_and_so_does_its_markdown(toy: Workload) -> None:
    runs = [*sweep("2.9", 1.0), *sweep("2.10", 0.5)]
    asked = {"setting": "image", "old": "2.10", "new": "2.9"}
    shown = page(versioned(toy), *runs, **asked)
    assert "The old side, image 2.10, is the newer one." in shown
    assert "2.10 is the newer one." in shown.partition("As Markdown")[2]
    usual = page(versioned(toy), *runs)
    assert "The old side" not in usual
    assert "2.10 is the newer one." in usual.partition("As Markdown")[2]
    unordered = page(versioned(toy), *sweep("main", 1.0), *sweep("fix", 0.5))
    assert "is the newer one" not in unordered


def test_a_setting_that_is_left_out_and_differs_as_the_sides_do_may_be_the_reason(toy: Workload) -> None:
    runs = [
        dataclasses.replace(one, settings={**one.settings, "host": f"host {name}"})
        for name, factor in (("1.0", 1.0), ("1.1", 2.0))
        for one in sweep(name, factor)
    ]
    study = Study(Matrix(runs), versioned(toy).ignoring(["host"]), given=Given(ignored=["host"]))
    catalogue = catalogue_of(study)
    shown = StaticHTML().render(catalogue.page("report: Compare").do_plot(*catalogue.arguments({})))
    assert "The sides differ in host (host 1.0 | host 1.1): that may be the reason." in shown


def test_runs_of_other_versions_that_failed_are_not_said_of_two(toy: Workload) -> None:
    failed = [dataclasses.replace(entry("2.8", 1, 1.0, repeat=at), exit_code=1, kpis={}) for at in range(3)]
    runs = [*sweep("2.8", 1.0), *failed, *sweep("2.9", 1.0), *sweep("2.10", 0.5)]
    assert "left out" not in page(versioned(toy), *runs)
    asked = {"setting": "image", "old": "2.8", "new": "2.10"}
    assert "3 failed runs left out" in page(versioned(toy), *runs, **asked)


def test_failures_of_an_older_version_of_a_tree_are_none_of_its_newest(toy: Workload) -> None:
    older = [failing(run) for run in sweep("1.1", 1.0)]
    both = joined({"old": Matrix(sweep("1.0", 1.0)), "new": Matrix([*older, *sweep("1.2", 2.0)])})
    shown = page(versioned(toy), *both, setting="tree", old="old", new="new")
    assert "fail more often" not in shown
    assert "9 runs left out: not of the newest version of its tree." in shown
    later = [failing(run) for run in sweep("1.3", 1.0)]
    both = joined({"old": Matrix(sweep("1.0", 1.0)), "new": Matrix([*later, *sweep("1.2", 2.0)])})
    assert "Runs of new fail more often: 9 of 18" in page(versioned(toy), *both, setting="tree", old="old", new="new")


@pytest.mark.parametrize(("names", "hours"), [("2.9 2.10", "1 1"), ("2.9 2.9", "1 2"), ("main main", "1 2")])
def test_of_two_trees_the_newer_one_is_the_new_side_whichever_was_put_beside(
    toy: Workload, names: str, hours: str
) -> None:
    older, newer = (
        [dataclasses.replace(run, span_us=(int(hour), None)) for run in sweep(name, factor)]
        for name, hour, factor in zip(names.split(), hours.split(), (1.0, 2.0), strict=True)
    )
    for cfg in ({}, {"setting": "tree"}):
        given_first = joined({"before": Matrix(older), "after": Matrix(newer)})
        assert "after (unofficial) against before: 3 worse" in page(versioned(toy), *given_first, **cfg)
        turned = joined({"after": Matrix(newer), "before": Matrix(older)})
        assert "after against before (unofficial): 3 worse" in page(versioned(toy), *turned, **cfg)


def test_a_setting_of_the_runs_own_may_be_called_as_that_of_trees_is(toy: Workload) -> None:
    own = [
        dataclasses.replace(run, settings={**run.settings, "tree": name}, name=f"{name}{run.name}")
        for name, factor in (("oak", 1.0), ("elm", 2.0))
        for run in sweep("a", factor)
    ]
    shown = page(toy, *sweep("b", 1.0), *own)
    assert "oak against elm" in shown.replace(" (unofficial)", "")


def test_versions_without_an_order_are_compared_and_the_page_says_so(toy: Workload) -> None:
    shown = page(versioned(toy), *sweep("main", 1.0), *sweep("fix", 0.5))
    assert "The order of image is unknown" in shown
    assert " instead of " in shown


def test_of_several_versions_the_newest_is_compared_with_the_one_before(toy: Workload) -> None:
    shown = page(versioned(toy), *sweep("1.0", 1.0), *sweep("1.1", 1.0), *sweep("1.2", 1.0))
    assert "image 1.2 instead of image 1.1" in shown
    assert "instead of image 1.0" not in shown


def test_what_both_selections_say_alike_is_a_filter_of_the_page(toy: Workload) -> None:
    runs = [*sweep("a", 1.0), *sweep("b", 0.5)]
    filtered = page_of(Study.of(Matrix(runs), toy, filters=parse("vus=4")), old="image=a", new="image=b")
    assert page(toy, *runs, old="vus=4,image=a", new="image=b,vus=4") == filtered
    assert "Switch: b instead of a changes cost" in filtered
    assert "no test has vus=9: known: 1, 2, 4" in page(toy, *runs, old="vus=9:4,image=a", new="image=b,vus=9:4")


def test_any_selection_is_compared_with_any_other(toy: Workload) -> None:
    runs = [*sweep("a", 1.0), *sweep("b", 0.5)]
    shown = page(toy, *runs, old="image=a,vus=1", new="image=b,vus=4")
    assert "image=b,vus=4 against image=a,vus=1: 0 worse, 1 better, 1 without a difference shown" in shown
    differing = shown.rsplit("The settings differ", 1)[1].split("</table>")[0]
    assert re.findall("<tr><td>([^<]*)", differing) == ["image", "vus"]
    assert page(toy, *runs, old="image=a", new="image=b") == page(toy, *runs, setting="image", old="a", new="b")


def test_of_very_many_values_the_first_comparison_is_judged_and_the_others_have_one_mean(
    toy: Workload, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = [one for image, factor in (("a", 1.0), ("b", 0.5), ("c", 0.9)) for one in sweep(image, factor)]
    whole = page(toy, *runs)
    steps = calls_of(lambda: page(toy, *runs))
    monkeypatch.setattr(compare_answer, "MOST_JUDGED", 40)
    brief, heading = page(toy, *runs), "1 other comparison"
    assert brief.split(heading)[0] == whole.split(heading)[0]
    assert "c against a: on average cost −10.0 % (95 % interval −10.0 to −10.0 %), over 3 series.<" in brief
    assert "Judged series by series, and by all KPIs, when it is chosen" in brief
    assert calls_of(lambda: page(toy, *runs)) < 0.8 * steps
    assert page(toy, *runs, setting="image", old="a", new="c") != brief
    assert "1 other" not in page(toy, *runs, setting="image", old="a", new="c")


def test_the_clearest_comparison_is_first_though_a_series_of_another_is_suspected_too(toy: Workload) -> None:
    doubtful = [entry("c", 4, 90.0 * (0.99, 1.0, 1.01)[(4 + r) % 3] / 4 * odd, 1.0, r) for r, odd in
                enumerate((0.94, 0.91, 1.01))]  # fmt: skip
    clear = [one for image, factor in (("a", 1.0), ("b", 0.5), ("c", 0.9)) for one in sweep(image, factor)]
    runs = [*(one for one in clear if one.settings != doubtful[0].settings), *doubtful]
    first, _, others = page(toy, *runs).partition("1 other comparison")
    assert "b against a: " in first
    assert re.search(r"c against a: [^<]*suspected", others)
