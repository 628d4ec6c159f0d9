"""Two selections of runs against each other: which runs each side means, what is paired, what is said of the others."""

from __future__ import annotations

import dataclasses
import re
import uuid
from pathlib import Path
from typing import Any

import pytest
import toy_runs

from matrix_benchmarking.analyze.check import AnswerKind
from matrix_benchmarking.analyze.study import Given, Study
from matrix_benchmarking.analyze.verdict.model import Analysis
from matrix_benchmarking.errors import ConfigError
from matrix_benchmarking.filters import parse
from matrix_benchmarking.history.read import with_past
from matrix_benchmarking.matrix import Entry, Matrix
from matrix_benchmarking.plotting.compare_answer import asked_for
from matrix_benchmarking.runs.answers import AnalysisAnswer
from matrix_benchmarking.runs.judging import compare
from matrix_benchmarking.workload import Workload

SLOWER = {"b": 1.3, "5.2": 1.5, "1.1": 0.5}
"""By what values of settings the cost grows; version 1.1 made all cheaper."""


def runs(*settings: dict[str, Any], rounds: int = 4) -> list[Entry]:
    found = []
    for each in settings:
        for at in range(rounds):
            cost = 100.0 + at
            for value in each.values():
                cost *= SLOWER.get(value, 1.0) if isinstance(value, str) else 1.0
            one = toy_runs.entry({**each, "cost": cost * each.get("vus", 1), "day": None}, len(found))
            found.append(dataclasses.replace(one, repeat=at, campaign="one night", round=at + 1))
    return found


def grid(**values: list[Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [{}]
    for name, several in values.items():
        found = [{**one, name: value} for one in found for value in several]
    return found


def asked(entries: list[Entry], old: str, new: str, workload: Workload | None = None, **more: Any) -> Analysis:
    return compare(Study(Matrix(entries), workload or toy_runs.workload()), old, new, **more)[1]


def said(study: Study, old: str, new: str) -> tuple[Any, ...]:
    """What is answered, in words, and by which numbers."""
    study, analysis = compare(study, old, new)
    numbers = [(one.id, one.outcome, one.effect, one.q_value, one.would_show) for one in analysis.verdicts]
    return str(AnalysisAnswer.of(analysis, study, AnswerKind.PAIR)), analysis.notes, numbers, analysis.failed


RATE = "rate not compared: unknown on one side or both"


def verdicts(analysis: Analysis) -> dict[str, str]:
    return {one.name: one.outcome.value for one in analysis.verdicts}


@pytest.mark.parametrize(
    ("values", "old", "new"),
    [
        (["a,1", "b:2"], r"image=a\,1", r"image=b\:2"),
        (["a=1", 'b"2'], r'image="a=1"', r"image=b\"2"),
        ([1, "1", 2], 'image="1"', "image=2"),
        ([None, "x"], "image=null", "image=x"),
        (["a", "x"], " image = a ", "image=x"),
    ],
)
def test_a_value_is_found_however_it_has_to_be_written(values: list[Any], old: str, new: str) -> None:
    found = asked(runs(*grid(image=values, vus=[1, 2])), old, new)
    assert found.question.startswith("image ")
    assert set(verdicts(found)) == {"vus 1", "vus 2"}


@pytest.mark.parametrize(
    ("filters", "old", "new"),
    [
        ("vus=1", "version=1.1.0", "version=1.2.0"),
        ("image=b,vus=8:1", "version=1.2.0", "version=1.0.0"),
        ("vus=1,version=1.1.0:1.2.0", "image=a", "image=b"),
        ("vus=8", "image=a,version=1.1.0", "version=1.2.0,image=b"),
    ],
)
def test_what_two_selections_say_alike_is_a_filter(filters: str, old: str, new: str) -> None:
    entries = [
        run
        for seed, each in enumerate(grid(image=["a", "b"], vus=[1, 8]))
        for run in toy_runs.history(4, repeats=3, seed=seed, **each)
    ]
    filtered = Study.of(Matrix(entries), toy_runs.workload(), filters=parse(filters))
    found = said(Study(Matrix(entries), toy_runs.workload()), f"{filters},{old}", f"{new},{filters}")
    assert found == said(filtered, old, new)
    assert found == said(filtered, f"{old},{filters}", f"{filters},{new}")
    assert found[2]


def test_what_selections_say_alike_and_no_run_has_is_said() -> None:
    entries = runs(*grid(image=["a", "b"], vus=[1]), *grid(image=["a", "b"], disk=["hdd"]))
    with pytest.raises(ConfigError, match=r"no test matches the filter image=a .*, vus=1 .*, disk=hdd"):
        asked(entries, "image=a,vus=1,disk=hdd", "image=b,vus=1,disk=hdd")
    with pytest.raises(ConfigError, match="is on both sides"):
        asked(entries, "image=a,vus=1", "image=a")


def test_points_are_paired_on_what_both_selections_say_alike() -> None:
    entries = runs(*grid(image=["a", "b"], vus=[1, 8], disk=["hdd"]))
    assert verdicts(asked(entries, "image=a,vus=1:8", "image=b,vus=8:1")) == {"vus 1": "worse", "vus 8": "worse"}
    one_sided = asked(entries, "image=a, vus=1", "image=b")
    assert verdicts(one_sided) == {"everywhere": "worse"}
    assert one_sided.question == "image=b against image=a,vus=1"
    assert one_sided.notes == ("4 runs left out: without an equal on the other side, or not to be judged", RATE)
    apart = asked(entries, "image=a,vus=1", "image=b,vus=8")
    assert [round(one.new_level / one.old_level) for one in apart.verdicts if one.old_level and one.new_level] == [10]


def test_a_selection_without_a_version_is_of_the_newest_runs() -> None:
    entries = runs(*grid(version=["1.0", "1.1"], image=["a", "b"], vus=[1, 8]), *grid(version=["1.0"], image=["c"]))
    found = asked(entries, "image=a,vus=1", "image=b,vus=1")
    assert (verdicts(found), found.points) == ({"everywhere": "worse"}, 8)
    assert found.notes == ("8 runs left out: not of version 1.1, the newest", RATE)
    named = asked(entries, "image=a,version=1.0", "image=b")
    assert {one.entries[0].settings["version"] for each in named.verdicts for one in each.points} == {"1.0"}
    with pytest.raises(ConfigError, match=r"No run of c is of version 1.1, the newest: name a version"):
        asked(entries, "image=a", "image=c")
    with pytest.raises(ConfigError, match=r"no test matches the filter image=a .*, vus=null"):
        asked(entries, "image=a,vus=null", "image=c,vus=null")


def test_results_of_an_older_version_beside_a_history_are_what_selections_are_of() -> None:
    everything = runs(*grid(version=["1.0", "1.1", "1.2"], image=["a", "b"], vus=[1, 8]))
    own = Matrix([dataclasses.replace(run, kept_in=None) for run in everything if run.settings["version"] == "1.1"])
    past = Matrix([run for run in everything if run.settings["version"] != "1.1" or run.settings["vus"] == 1])
    study = Study(own, toy_runs.workload(), past=with_past(own, past), given=Given(place="results/"))
    _, found = compare(study, "image=a", "image=b")
    assert verdicts(found) == {"vus 1": "worse", "vus 8": "worse"}
    assert {run.settings["version"] for each in found.verdicts for one in each.points for run in one.entries} == {"1.1"}
    assert found.notes == ("32 runs left out: not of version 1.1, the newest of results/", RATE)


def test_groups_have_newest_versions_of_their_own_and_the_note_names_none() -> None:
    newer = grid(version=["1.0", "2.0"], engine=["x"], image=["a", "b"])
    entries = runs(*newer, *grid(version=["0.8", "0.9"], engine=["y"], image=["a", "b"]))
    found = asked(entries, "image=a", "image=b", toy_runs.workload(product_keys=["engine"]))
    assert found.notes == ("16 runs left out: not of the newest version of its engine", RATE)
    assert asked(entries, "image=a,engine=y", "image=b,engine=y").notes == (
        "8 runs left out: not of version 0.9, the newest",
        RATE,
    )


def test_an_older_version_of_which_all_runs_failed_is_not_counted_as_the_newest() -> None:
    entries = runs(*grid(version=["1.0", "1.1"], image=["a", "b"]), rounds=8)
    lost = [
        dataclasses.replace(run, exit_code=1, kpis={}) if run.settings["version"] == "1.0" else run for run in entries
    ]
    assert asked(lost, "image=a", "image=b").notes == ("16 runs left out: not of version 1.1, the newest", RATE)
    later = [
        dataclasses.replace(run, exit_code=1, kpis={}) if run.settings["version"] == "1.1" else run for run in entries
    ]
    assert "8 failed runs of a left out" in asked(later, "image=a", "image=b").notes


@pytest.mark.parametrize("image", ["image", "version"])
def test_a_value_that_is_written_as_another_one_means_both_and_that_is_said(image: str) -> None:
    entries = runs(*grid(**{image: [1, "1", 2]}, vus=[1, 2]))
    both = asked(entries, f"{image}=1", f"{image}=2")
    assert both.notes[0] == f"{image}=1 has 2 values of {image}, taken together: 1, '1'"
    assert [(one.runs_before, one.runs_after) for one in both.verdicts] == [(8, 4), (8, 4)]
    text = asked(entries, f'{image}="1"', f"{image}=2")
    assert (text.question, text.notes) == (f"{image} 2 against 1", (RATE,))
    assert [(one.runs_before, one.runs_after) for one in text.verdicts] == [(4, 4), (4, 4)]


def test_versions_that_are_written_alike_are_both_meant() -> None:
    found = asked(runs(*grid(version=[1, "1", 2], vus=[1, 2])), "1", "2")
    assert [(one.runs_before, one.runs_after) for one in found.verdicts] == [(8, 4), (8, 4)]
    assert found.notes == ("1 has 2 values of version, taken together: 1, '1'",)


def test_of_several_comparison_keys_the_named_one_is_compared() -> None:
    entries = runs(*grid(version=["1.0", "1.1"], driver=["1.0", "5.2"]))
    workload = toy_runs.workload(comparison_keys=["version", "driver"])
    found = asked(entries, "driver=1.0", "driver=5.2", workload)
    assert (found.question, verdicts(found)) == (
        "driver 5.2 against 1.0",
        {"version 1.0": "worse", "version 1.1": "worse"},
    )
    assert asked(entries, "version=1.0", "version=1.1", workload).question == "1.1 against 1.0"


def test_a_version_with_an_equals_sign_is_no_selection() -> None:
    entries = [
        dataclasses.replace(run, settings={**run.settings, "version": f"v={run.settings['version']}"}, facts=None)
        for run in runs(*grid(version=["1.0", "1.1"], vus=[1, 2]))
    ]
    assert verdicts(asked(entries, "v=1.0", "v=1.1")) == {"vus 1": "better", "vus 2": "better"}
    assert asked(entries, r"version=v\=1.0", r"version=v\=1.1").question == "v=1.1 against v=1.0"


def test_a_setting_that_is_called_side_is_one_like_others() -> None:
    entries = runs(*grid(side=["left", "right"], image=["a", "b"]))
    assert asked(entries, "side=left", "side=right").question == "side right against left"
    assert set(verdicts(asked(entries, "image=a,side=left:right", "image=b"))) == {"side left", "side right"}


def test_what_the_workload_or_somebody_ignores_keeps_no_points_apart() -> None:
    entries = runs(*[{**each, "job": at} for at, each in enumerate(grid(image=["a", "b"], vus=[1, 2]))])
    by_workload = asked(entries, "image=a", "image=b", toy_runs.workload(ignored_keys=["job"]))
    assert verdicts(by_workload) == {"vus 1": "worse", "vus 2": "worse"}
    ignoring = asked(entries, "image=a", "image=b", ignored=["job"])
    assert verdicts(ignoring) == verdicts(by_workload)
    assert "the sides differ in job" in ignoring.beside.lower()
    assert "nope" in asked(entries, "image=a", "image=b", ignored=["nope", "job"], is_tolerant=True).notes[0]


def test_runs_that_the_workload_ignores_take_no_part() -> None:
    entries = runs(*grid(image=["a", "b"], vus=[0, 1]))
    found = asked(entries, "image=a", "image=b", toy_runs.workload(ignored_entries={"vus": [0]}))
    assert [(one.labels, one.outcome.value) for one in found.verdicts] == [({"vus": 1}, "worse")]
    assert found.notes[0] == "8 runs left out: without an equal on the other side, or not to be judged"


def test_sides_that_differ_from_run_to_run_alike_are_compared_as_the_page_does_and_that_is_said() -> None:
    entries = runs(*[{**each, "job": each["image"].upper()} for each in grid(image=["a", "b"], vus=[1, 2])])
    found = asked(entries, "image=a", "image=b")
    assert verdicts(found) == {"vus 1": "worse", "vus 2": "worse"}
    assert found.notes == ("the sides differ in job as well: each has one value of its own", RATE)


def test_failures_are_held_against_those_of_the_same_points() -> None:
    entries = runs(*grid(version=["1.0", "1.1"], image=["a"]), *grid(version=["1.1"], image=["b"]), rounds=8)
    failed = [
        dataclasses.replace(run, exit_code=1, kpis={}) if run.settings["version"] == "1.0" else run for run in entries
    ]
    found = asked(failed, "image=b,version=1.1", "image=a,version=1.0:1.1")
    assert (found.fails_more, found.may_fail_more) == ((), ())
    assert found.notes == ("8 failed runs of image=a,version=1.0:1.1 left out", RATE)
    texts = runs(*grid(image=[2, "2", "a"]), rounds=12)
    half = [
        dataclasses.replace(run, exit_code=1, kpis={}) if run.settings["image"] == "2" and run.repeat % 2 else run
        for run in texts
    ]
    assert asked(half, "image=a", 'image="2"').fails_more == ("Runs of 2 fail more often: 6 of 12, and 0 of 12 of a.",)


def test_versions_of_one_side_that_are_taken_together_are_said() -> None:
    entries = runs(*grid(version=["1.0", "1.1", "1.2"], image=["a", "b"]))
    pooled = asked(entries, 'version="1.0":"1.1"', 'version="1.2"')
    assert pooled.notes == ('version="1.0":"1.1" has 2 values of version, taken together', RATE)
    apart = asked(entries, 'image=a,version="1.0":"1.1"', 'image=b,version="1.0":"1.1":"1.2"')
    assert apart.notes == ("4 runs left out: without an equal on the other side, or not to be judged", RATE)


def test_a_pattern_that_names_no_kpi_of_both_sides_is_why_nothing_is_compared() -> None:
    with pytest.raises(ConfigError, match="No KPI to compare is known of both sides"):
        asked(runs(*grid(image=["a", "b"])), "image=a", "image=b", kpi_filter=["rate"])
    with pytest.raises(ConfigError, match="no KPI 'rat': did you mean 'rate'"):
        asked(runs(*grid(image=["a", "b"])), "image=a", "image=b", kpi_filter=["rat"])
    found = asked(runs(*grid(image=["a", "b"])), "image=a", "image=b", kpi_filter=["c*", "rat"])
    assert found.notes == ("no KPI 'rat': did you mean 'rate'?",)


@pytest.mark.parametrize("are_labels_alone", [False, True])
@pytest.mark.parametrize(
    ("old", "new", "named", "left_out"),
    [
        (["1.0"], ["1.0"], [""], 0),
        (["1.0"], ["1.1"], [""], 0),
        (["1.0", "1.1"], ["1.0", "1.1"], ["version 1.0 · ", "version 1.1 · "], 0),
        (["1.0", "1.1"], ["1.1", "1.2"], [""], 16),
    ],
)
def test_directories_are_paired_by_the_versions_of_both_else_by_the_newest_of_each(
    old: list[str], new: list[str], named: list[str], left_out: int, are_labels_alone: bool
) -> None:
    sides = {"before": old, "after": new}
    each = [one for tree, of in sides.items() for one in grid(tree=[tree], version=of, vus=[1, 8])]
    entries = [dataclasses.replace(run, test_uuid=str(uuid.uuid4())) for run in runs(*each)]
    for number, run in enumerate(entries):
        run.kpis["cost"] = 100.0 + number % 4 + 50.0 * (run.settings["tree"] == "after")
        if are_labels_alone:
            del run.settings["version"]
    found = asked(entries, "before", "after")
    assert verdicts(found) == {f"{version}vus {vus}": "worse" for version in named for vus in (1, 8)}
    said = [f"{left_out} runs left out: not of the newest version of its tree"] if left_out else []
    assert [note for note in found.notes if note != RATE] == said
    cfg = {"old": "tree=before", "new": "tree=after"}
    page = asked_for(Study(Matrix(entries), toy_runs.workload()), cfg)[0][0].analysis
    assert page.verdicts == found.verdicts and page.question == found.question == "after against before"


def test_a_directory_of_which_a_filter_leaves_nothing_is_named_with_the_filter() -> None:
    entries = Matrix(runs(*grid(tree=["before"], vus=[1, 8]), *grid(tree=["after"], vus=[1])))
    study = Study.of(entries, toy_runs.workload(), filters=parse("vus=8"))
    with pytest.raises(ConfigError, match="no finished run of after is selected by vus=8"):
        compare(study, "before", "after")


def test_a_directory_in_which_no_run_finished_is_one_that_was_opened() -> None:
    before, after = runs(*grid(tree=["before", "after"]), rounds=1)
    with pytest.raises(ConfigError, match="no finished run of after is selected"):
        compare(Study(Matrix([before], unfinished=[after]), toy_runs.workload()), "before", "after")


def test_two_of_the_directories_that_were_opened_are_compared_by_their_names_or_places(tmp_path: Path) -> None:
    entries = runs(*grid(tree=["old/results", "new/results"], vus=[1, 8]))
    entries = [
        dataclasses.replace(run, test_uuid=str(uuid.uuid4()), location=tmp_path / str(run.settings["tree"]))
        for run in entries
    ]
    for run in entries:
        run.kpis["cost"] *= 2 if run.settings["tree"] == "new/results" else 1
    found = asked(entries, "old/results", "new/results")
    assert verdicts(found) == {"vus 1": "worse", "vus 8": "worse"}
    for old, new in (("tree=old/results", "tree=new/results"), (f"{tmp_path}/old/results", f"{tmp_path}/new/results/")):
        assert [one.effect for one in asked(entries, old, new).verdicts] == [one.effect for one in found.verdicts]
    for other in ("", "elsewhere", f"{tmp_path}/other/new/results"):  # which has the same name, and was not opened
        with pytest.raises(ConfigError, match=f"'{re.escape(other)}' is none of the directories that were opened"):
            asked(entries, "old/results", other)
    with pytest.raises(ConfigError, match="both are the directory 'old/results'"):
        asked(entries, "old/results", f"{tmp_path}/old/results")
    for run in entries:
        run.settings["tree"] = {"old/results": "true", "new/results": "007"}[str(run.settings["tree"])]
    assert verdicts(asked(entries, "true", "007")) == verdicts(found)


def test_what_is_taken_together_or_takes_no_part_in_a_comparison_of_directories_is_said() -> None:
    each = grid(tree=["before"], version=["a", "b"], vus=[1, 8]) + grid(tree=["after"], version=["b", "c"], vus=[1, 8])
    entries = [dataclasses.replace(run, test_uuid=str(uuid.uuid4())) for run in runs(*each)]
    for run in entries:
        del run.settings["version"]  # it is a label alone
    found = asked(entries, "before", "after", toy_runs.workload(ignored_entries={"vus": [8]}))
    left_out = "8 runs of {} left out: ignored by the workload, or without KPIs or labels"
    together = "{} has 2 values of version, taken together"
    said = [text.format(side) for side in ("before", "after") for text in (together, left_out)]
    assert [note for note in found.notes if note != RATE] == said
    no_memory = "'memory' is left out of the regression analysis by its workload"
    assert [*asked(entries, "before", "after", kpi_filter=["memory"]).notes].count(no_memory) == 1


def test_a_directory_that_is_called_as_a_version_is_one_beside_another_one() -> None:
    each = grid(tree=["1.0", "next"], version=["1.0", "1.1"])
    entries = [dataclasses.replace(run, test_uuid=str(uuid.uuid4())) for run in runs(*each)]
    assert asked(entries, "1.0", "next").question == "next against 1.0"
    assert asked(entries, "1.0", "1.1").question == "1.1 against 1.0"


def test_the_directories_of_a_comparison_are_not_called_repeats() -> None:
    toy = toy_runs.workload()
    toy = dataclasses.replace(toy, store=dataclasses.replace(toy.store, get_kpi_labels=lambda lts: {}))
    entries = [dataclasses.replace(run, test_uuid=str(uuid.uuid4())) for run in runs(*grid(tree=["old", "new"]))]
    for run in entries:
        assert run.facts is not None
        run.facts.labels.pop("tree")
    study, _ = compare(Study(Matrix(entries), toy), "old", "new")
    assert "tree-no-label" not in [one.kind for one in study.findings]
    assert "tree-no-label" in [one.kind for one in Study(Matrix(entries), toy).findings]


def test_what_was_ignored_when_the_runs_were_opened_is_said_where_sides_differ_in_it() -> None:
    each = [{"tree": "old", "version": "1.0", "site": "x"}, {"tree": "new", "version": "1.1", "site": "y"}]
    entries = [dataclasses.replace(run, test_uuid=str(uuid.uuid4())) for run in runs(*each)]
    study = Study(Matrix(entries), toy_runs.workload().ignoring(["site"]), given=Given(ignored=["site", "nothing"]))
    page = asked_for(study, {"old": "tree=old", "new": "tree=new"})[0][0].analysis
    for found in (compare(study, "old", "new")[1], page):
        assert found.beside == "The sides differ in site (x | y): that may be the reason."
