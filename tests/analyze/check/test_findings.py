"""All findings on a matrix: runs, labels, names that match nothing, and the line about them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import toy_runs

from matrix_benchmarking import kpi, store
from matrix_benchmarking import workload as workloads
from matrix_benchmarking.analyze.check import AnswerKind, Finding, about, counted, findings, lost_findings
from matrix_benchmarking.analyze.check.finding import ANALYSES
from matrix_benchmarking.analyze.study import Study
from matrix_benchmarking.matrix import Entry, Facts, Matrix, Problem
from matrix_benchmarking.workload import Gate, Workload


def kinds(found: list[Finding]) -> list[str]:
    return [one.kind for one in found]


def entries(*runs: dict[str, Any]) -> list[Entry]:
    return [toy_runs.entry({"cost": 1.0, "rate": 2.0, "memory": 3.0, **run}, n) for n, run in enumerate(runs)]


def test_the_committed_samples_have_no_finding_that_changes_an_answer(repository: Path) -> None:
    for name, sample in [
        ("encoder_bench", "encoder_bench"),
        ("encoder_bench", "encoder_digits"),
        ("serving_bench", "serving_bench"),
        ("training_bench", "training_bench"),
    ]:
        workload = workloads.load(name)
        found = findings(store.parse_tree(workload, repository / "data" / "samples" / sample), workload)
        assert found
        assert [one.sentence for one in found if one.changes] == []


def test_runs_that_failed_or_did_not_finish_change_nothing_and_are_told() -> None:
    runs = entries({"version": "1"}, {"version": "1", "exit_code": 1}, {"version": "2", "exit_code": 3})
    unfinished = dataclasses.replace(runs[0], finished=False, name="cut off", problems=(Problem("did not finish: x"),))
    found = findings(Matrix(runs, unfinished=[unfinished]), toy_runs.workload())
    told = {one.kind: one for one in found}
    assert told["failed"].sentence == "2 runs failed and take no part; 1 point has no good run."
    assert told["failed"].runs == ["run 1", "run 2"]
    assert told["no-good-run"].sentence == "No run of version 2 is good: what changed there isn't known."
    assert told["unfinished"].sentence == "1 run did not finish and takes no part."
    assert [one.kind for one in found if one.changes] == ["no-good-run"]


def test_a_point_of_which_all_runs_fail_at_one_version_is_said_beside_the_answer() -> None:
    def said(*bad: dict[str, Any], **keys: Any) -> list[str]:
        good = ({"version": version, "size": size} for version in "123" for size in (1, 2) for _ in range(2))
        runs = [{**one, "exit_code": 0} for one in good]
        for one in runs:
            one["exit_code"] = int(any(of.items() <= one.items() for of in bad))
        found = findings(Matrix(entries(*runs)), toy_runs.workload(**keys))
        assert all(one.changes == {AnswerKind.HISTORY, AnswerKind.PAIR} for one in found if one.kind == "fails-now")
        return [one.sentence for one in found if one.kind == "fails-now"]

    assert (
        said() == said({"version": "3"}) == said({"size": 1}) == []
    )  # the version, or the point, has no good run at all
    assert said({"version": "3", "size": 1}) == [
        "All runs of 1 point failed that have good ones at other versions, such as 'run 8': failed runs have no value, "
        "so that no series is worse by it."
    ]
    assert said({"version": "3", "size": 1}, ignored_keys=["size"]) == []


def test_a_point_of_which_all_runs_fail_in_one_of_two_directories_is_said_beside_the_answer() -> None:
    def said(*bad: int) -> list[str]:
        runs = [{"size": number % 2, "tree": "ab"[number // 4]} for number in range(8)]
        rows = Matrix(entries(*({**run, "exit_code": int(at in bad)} for at, run in enumerate(runs)))).entries
        return [one.sentence for one in lost_findings(rows, toy_runs.workload())]

    assert said() == said(4) == said(0, 2, 4, 6) == said(4, 5, 6, 7) == []
    assert said(4, 6) == [
        "All runs of 1 point failed that have good ones elsewhere, such as 'run 4': failed runs have no value, so that "
        "no series is worse by it."
    ]


def test_a_failed_run_that_lacks_what_results_tell_is_of_a_point_with_good_runs() -> None:
    runs = [{"version": "1", "length": 512}] * 4
    for failed, lost in (({"version": "1"}, ""), ({"version": "2"}, "; 1 point has no good run")):
        found = findings(Matrix(entries(*runs, {**failed, "exit_code": 1})), toy_runs.workload())
        said = {one.kind: one.sentence for one in found}
        assert said["failed"] == f"1 run failed and takes no part{lost}."
        assert "missing-setting" not in said


def test_values_in_another_unit_are_counted_and_not_said_twice() -> None:
    old = [dict.fromkeys(("cost", "rate", "memory")) | {"version": "1", "other_units": ["cost"]}] * 2
    for runs in ([*old, {"version": "2"}], old):
        found = findings(Matrix(entries(*runs)), toy_runs.workload())
        assert "no-good-run" not in kinds(found)
        assert [(one.kind, one.sentence, one.runs) for one in found if one.changes and "cost" in one.sentence] == [
            (
                "other-unit",
                "cost is unknown in 2 runs, since it is in EUR, and the workload says USD: upload such runs again from "
                "their artifacts, or give the KPI in its new unit another name.",
                ["run 0", "run 1"],
            )
        ]


def test_values_that_were_better_the_other_way_round_are_counted() -> None:
    old = [{"version": "1", "other_directions": ["cost"]}] * 2
    found = findings(Matrix(entries(*old, {"version": "2"})), toy_runs.workload())
    assert [(one.sentence, one.runs, one.changes) for one in found if one.kind == "other-unit"] == [
        (
            "cost was better the other way round in 2 runs, which no analysis compares: upload such runs again from "
            "their artifacts, or give the KPI another name.",
            ["run 0", "run 1"],
            {AnswerKind.HISTORY, AnswerKind.PAIR},
        )
    ]


def test_a_campaign_whose_runs_are_of_two_machines_is_found() -> None:
    of = [("one", "Xeon"), ("one", "EPYC"), ("one", None), ("two", "Xeon"), ("three", "EPYC"), (None, "Xeon")]
    runs = entries(*({"version": "1", "vus": number} for number in range(len(of))))
    for is_history in (True, False):
        made = [
            dataclasses.replace(run, campaign=campaign, host=host, facts=facts)
            for run, (campaign, host) in zip(runs, of, strict=True)
            for facts in [run.facts if is_history else None]
        ]
        (torn,) = [one for one in findings(Matrix(made), toy_runs.workload()) if one.kind == "hosts"]
        assert torn.sentence.startswith(
            "3 runs of a campaign, which is measured on one machine, are of several: 'EPYC', 'X"
        )
        assert torn.changes
        assert "hosts" not in {one.kind for one in findings(Matrix(made[1:]), toy_runs.workload())}


def test_runs_whose_settings_are_lost_change_the_answers() -> None:
    (run,) = entries({"version": "1"})
    lost = dataclasses.replace(run, finished=False, name="lost", problems=(Problem("settings.yaml is not valid"),))
    first, *_ = findings(Matrix([run], unfinished=[lost]), toy_runs.workload())
    assert (first.kind, first.runs, first.changes) == ("lost", ["lost"], frozenset(AnswerKind))
    assert "settings.yaml is not valid" in first.sentence


def test_damaged_and_doubtful_runs_are_told_with_their_first_reason() -> None:
    one, two = entries({"version": "1"}, {"version": "1"})
    damaged = dataclasses.replace(one, problems=(Problem("holds no number", "a.json"), Problem("more")))
    doubtful = dataclasses.replace(two, warnings=("the clock was wrong",))
    found = {each.kind: each for each in findings(Matrix([damaged, doubtful]), toy_runs.workload())}
    assert found["damaged"].sentence == "1 run with artifacts that can't be read whole: a.json: holds no number."
    assert found["damaged"].changes
    assert found["doubtful"].sentence == "1 of 2 runs with doubtful numbers: the clock was wrong."


def test_what_makes_most_runs_doubtful_is_counted_and_comes_before_what_is_good_to_know() -> None:
    runs = entries(*({"version": str(number)} for number in range(4)))
    failed = dataclasses.replace(runs[0], exit_code=1)
    for count, is_general in ((1, False), (2, True), (3, True)):
        made = [dataclasses.replace(one, warnings=("a busy core",)) for one in runs[1 : 1 + count]]
        found = findings(Matrix([failed, *made, *runs[1 + count :]]), toy_runs.workload())
        (doubtful,) = [one for one in found if one.kind == "doubtful"]
        assert doubtful.in_most_runs is is_general
        assert not doubtful.changes
        said = f"{count} of 3" if count < 3 else "3"
        assert doubtful.sentence == f"{said} runs with doubtful numbers: a busy core."

        if is_general:
            assert found[sum(bool(one.changes) for one in found)] is doubtful
            assert counted(found).endswith("; 1 makes most runs doubtful")
            assert counted([doubtful, doubtful]).endswith("; 2 make most runs doubtful")
        else:
            assert "most runs" not in counted(found)


def test_each_doubt_is_said_with_the_runs_that_have_it() -> None:
    of_each = [("a busy core",), ("a busy core", "2 of 9 requests failed"), ("3 of 9 requests failed",), ()]
    runs = [
        dataclasses.replace(run, warnings=warnings)
        for run, warnings in zip(entries(*({"version": str(at)} for at in range(4))), of_each, strict=True)
    ]
    (doubtful,) = (one for one in findings(Matrix(runs), toy_runs.workload()) if one.kind == "doubtful")
    assert doubtful.sentence == (
        "3 of 4 runs with doubtful numbers: a busy core (in 2); 2 to 3 of 9 requests failed (in 2)."
    )


def test_versions_that_are_numbers_change_what_is_said_of_a_history() -> None:
    first, *_ = findings(Matrix(entries({"version": 1.1}, {"version": "1.2"})), toy_runs.workload())
    assert first.sentence == "'version' is a number in 1 run, such as 1.1: quote it, since 1.10 would be 1.1."
    assert first.changes == frozenset(AnswerKind)  # which one is the newest, and of which the best is, too


def test_payloads_of_several_schemas_are_told_with_their_counts() -> None:
    runs = entries({"version": "1"}, {"version": "1"}, {"version": "2"})
    for run, version in zip(runs, ("1.0", "1.0", "1.1"), strict=True):
        run.facts = msgspec.structs.replace(run.facts or Facts(None), schema_version=version)
    (found,) = [one for one in findings(Matrix(runs), toy_runs.workload()) if one.kind == "schemas"]
    assert found.sentence.startswith(
        "KPIs were computed by several versions of the payload's schema (1.0: 2 runs | 1.1:"
    )
    assert not found.changes
    assert "schemas" not in kinds(findings(Matrix(runs[:2]), toy_runs.workload()))


def test_a_run_that_was_changed_and_kept_again_is_told() -> None:
    runs = entries(*({"version": "1", "day": day} for day in (1, 1, 2, None, None)))
    first, *others = findings(Matrix(runs), toy_runs.workload())
    assert first.sentence == (
        "2 runs have the settings, the repeat and the time of another one: was a run changed after it was kept?"
    )
    assert (first.runs, first.changes) == (["run 0", "run 1"], frozenset(AnswerKind))
    assert not any(one.changes for one in others)


def test_runs_of_two_hosts_that_start_at_one_moment_are_two() -> None:
    def told(*hosts: str | None) -> list[str]:
        kept = entries(*({"version": "1", "host": host, "day": 1} for host in hosts))
        parts = [
            dataclasses.replace(run, facts=None, name=f"{place}.json#0", part="0", span_us=(1, None))
            for place, run in enumerate(kept)
        ]
        found = [*findings(Matrix(kept), toy_runs.workload()), *findings(Matrix(parts), toy_runs.workload())]
        return [one.kind for one in found if one.kind in ("twice", "copies")]

    assert told("a", "a") == told(None, None) == ["twice", "copies"]
    assert told("a", "b") == []


def test_runs_that_only_their_cache_knows_are_told_once() -> None:
    one, two = entries({"version": "1"}, {"version": "1"})
    alone = [dataclasses.replace(run, from_cache_alone=True, problems=(Problem("are gone"),)) for run in (one, two)]
    found = findings(Matrix([alone[0], two]), toy_runs.workload())
    assert kinds(found)[0] == "cache-alone"
    assert found[0].sentence == "1 run is known from its cache alone: its artifacts are not here."
    assert (found[0].runs, found[0].changes) == (["run 0"], frozenset(AnswerKind))
    assert "damaged" not in kinds(found)
    both = findings(Matrix(alone), toy_runs.workload())
    assert both[0].sentence == "2 runs are known from their cache alone: their artifacts are not here."


def test_a_run_without_its_headline_beside_others_changes_the_answers() -> None:
    one, two, three = entries({"version": "1"}, {"version": "1"}, {"version": "1", "exit_code": 1})
    without = dataclasses.replace(one, kpis={}, missing_kpis={"cost": "no price is known"})
    failed = dataclasses.replace(three, kpis={})
    damaged = dataclasses.replace(without, problems=(Problem("holds no number", "a.json"),))
    found = {each.kind: each for each in findings(Matrix([without, two, failed, damaged]), toy_runs.workload())}
    assert found["no-headline"].sentence == "1 run without cost: no price is known."
    assert (found["no-headline"].runs, found["no-headline"].changes) == (["run 0"], frozenset(AnswerKind))
    assert "no-headline" not in kinds(findings(Matrix([without, failed]), toy_runs.workload()))


def test_one_measurement_under_two_ids_changes_the_answers() -> None:
    runs = entries(*({"version": "1"} for _ in range(5)))
    measured = ("a*", "a*", "b", None, None)
    matrix = Matrix(dataclasses.replace(run, measurement=one) for run, one in zip(runs, measured, strict=True))
    first, *_ = findings(matrix, toy_runs.workload())
    assert first.sentence == (
        "2 runs have artifacts that another one has, byte for byte: are they copies of one measurement?"
    )
    assert (first.runs, first.changes) == (["run 0", "run 1"], frozenset(AnswerKind))
    parts = Matrix(dataclasses.replace(run, part="a") for run in matrix)  # of files that differ elsewhere
    first, *_ = findings(parts, toy_runs.workload())
    assert first.sentence == "2 runs have results that another one has, all alike: are they copies of one measurement?"
    for value, count in ((500.0, 0), (500.1250321, 1)):  # a count may be the same on another machine
        alike = [
            dataclasses.replace(run, settings={**run.settings, "machine": at}, kpis={"cost": value})
            for at, run in enumerate(list(parts)[:2])
        ]
        assert kinds(findings(Matrix(alike), toy_runs.workload())).count("copies") == count


def test_values_that_can_not_be_change_the_answers() -> None:
    one, two = entries({"version": "1"}, {"version": "1", "exit_code": 1})
    wrong = ("the mean latency (0 ms) is too low", "it ended before it started")
    runs = [dataclasses.replace(run, implausible=wrong) for run in (one, two)]
    first, *_ = findings(Matrix(runs), toy_runs.workload())
    assert first.sentence == ("1 run has values that can't be: the mean latency (0 ms) is too low; and 1 other reason.")
    assert (first.runs, first.changes) == (["run 0"], frozenset(AnswerKind))


def test_a_headline_below_zero_in_few_runs_changes_the_answers() -> None:
    runs = entries(*({"version": "1", "cost": cost, "repeat": n} for n, cost in enumerate([-1.0, *[0.5] * 9])))
    (found,) = [one for one in findings(Matrix(runs), toy_runs.workload()) if one.kind == "below-zero"]
    assert (found.runs, found.changes) == (["run 0"], frozenset(AnswerKind))
    assert found.sentence == "cost is -1 USD in 1 run, and above 0 in 9 others: was it measured?"
    (zero,) = findings(
        Matrix(entries(*({"version": "1", "cost": each} for each in [0.0, *[2.0] * 9]))), toy_runs.workload()
    )
    assert zero.sentence == "cost is 0 USD in 1 run, and above 0 in 9 others: was it measured?"
    for costs in ([-2.0, *[2.0] * 8], [-1.0, 0.0, *[2.0] * 9], [*[0.0] * 5, *[2.0] * 4], [-1.0] * 3):
        runs = entries(*({"version": "1", "cost": cost} for cost in costs))
        assert "below-zero" not in kinds(findings(Matrix(runs), toy_runs.workload()))


def test_what_programs_write_for_a_headline_that_was_not_measured_changes_the_answers_in_many_runs_too() -> None:
    for costs in ([-1.0, *[2.0] * 8], [*[-1.0] * 8, 2.0], [0.0, *[2.0] * 3], [*[0.0] * 4, *[2.0] * 4]):
        runs = entries(*({"version": "1", "cost": cost} for cost in costs))
        (found,) = [one for one in findings(Matrix(runs), toy_runs.workload()) if one.kind == "below-zero"]
        assert found.changes == frozenset(AnswerKind)
        assert len(found.runs) == costs.count(costs[0])
    runs = entries(*({"version": "1", "rate": rate} for rate in [*[0.0] * 4, *[2.0] * 4]))  # no headline
    assert "below-zero" not in kinds(findings(Matrix(runs), toy_runs.workload()))


def test_zeros_of_a_latency_are_asked_about_at_whole_points_too_though_it_ranks_nothing() -> None:
    def said(name: str, unit: str) -> list[tuple[str, frozenset[AnswerKind]]]:
        kpis = kpi.collect([toy_runs.cost, kpi.field_kpi("of", name=name, help="It", better="lower", unit=unit)])
        runs = entries(*({"version": "1", "image": image, "cost": 2.0} for image in "abc" for _ in range(3)))
        for run in runs:
            run.kpis[name] = 0.0 if run.settings["image"] == "c" else 100.0
        with_it = dataclasses.replace(toy_runs.workload().store, models_kpis=kpis)
        found = findings(Matrix(runs), dataclasses.replace(toy_runs.workload(), store=with_it))
        return [(one.sentence, one.changes) for one in found if one.kind == "below-zero"]

    (found,) = said("p95", "ms")
    assert found == ("p95 is 0 ms in 3 runs, and above 0 in 6 others: was it measured?", ANALYSES)
    assert said("ttft_p99", "s")
    assert said("compile", "s") == said("p95_errors", "") == []  # may be 0


def test_a_headline_far_from_its_repeats_which_agree_changes_the_answers() -> None:
    def found(*costs: float | None) -> list[Finding]:
        runs = entries(*({"version": "1", "cost": cost} for cost in costs))
        return [one for one in findings(Matrix(runs), toy_runs.workload()) if one.kind == "far-off"]

    (far,) = found(42.6, 424.4, 42.0)
    assert (far.runs, far.changes) == (["run 1"], frozenset(AnswerKind))
    assert far.sentence.startswith("cost is 424.4 USD where the other repeats have 42.3 USD:")
    assert found(10.0, 1.9, 10.0)[0].runs == ["run 1"]
    assert found(0.1, 0.9, 0.1, None)[0].runs == ["run 1"]
    (far,) = found(1000.0, *[100.0 + at for at in range(6)], 990.0)
    assert sorted(far.runs) == ["run 0", "run 7"]
    assert found(1.0, 1.0, 9.0, 9.0) == found(1.0, 1.0, 9.0, 9.1, 200.0) == []  # two ways that runs take
    for ordinary in ([10.0, 50.0, 10.0], [10.0, 2.0, 10.0], [10.0, 100.0], [10.0, 100.0, 20.0], [None, 10.0, 100.0]):
        assert found(*ordinary) == []


def test_of_several_runs_far_from_their_repeats_the_first_is_described_and_all_are_counted() -> None:
    for count, more in ((1, ""), (2, " (2 runs like that)"), (3, " (3 runs like that)")):
        runs = entries(*({"batch": batch, "cost": cost} for batch in range(count) for cost in (1.0, 9.0 + batch, 1.0)))
        (far,) = [one for one in findings(Matrix(runs), toy_runs.workload()) if one.kind == "far-off"]
        assert far.sentence.startswith(f"cost is 9 USD where the other repeats have 1 USD{more}: one such run")
        assert far.runs == ["run 1", "run 4", "run 7"][:count]


def test_a_point_that_all_others_are_a_hundred_times_apart_from_may_be_in_another_unit() -> None:
    def found(*costs: Sequence[float], **settings: object) -> list[Finding]:
        runs = entries(*({"batch": at, "cost": cost, **settings} for at, each in enumerate(costs) for cost in each))
        return [one for one in findings(Matrix(runs), toy_runs.workload()) if one.kind == "another-unit"]

    sweep = [[1.0, 1.1], [2.0, 2.1], [4.0, 4.2], [9.0, 9.2]]
    (odd,) = found(*sweep, [1500.0, 1510.0])
    assert (odd.runs, odd.changes) == (["run 8", "run 9"], frozenset(AnswerKind))
    assert odd.sentence == (
        "cost is 1510 USD at the point of 'run 8', and at most 9.2 USD at the 4 others: is it in another unit?"
    )
    (low,) = found([0.002], *sweep)
    assert low.sentence == "cost is 0.002 USD at 'run 0', and at least 1.1 USD at the 4 others: is it in another unit?"
    (half,) = found([1.0], [1.2], [1100.0], [1300.0])
    assert half.sentence == (
        "cost is 1 USD at 'run 0' (2 points like that), and at least 1100 USD at the 2 others: is it in another unit?"
    )
    (one,) = found([0.002], [1.9])
    assert one.runs == ["run 0"]
    level = [[1.0, 1.1], [2.0, 2.1], [1.5], [3.0]]
    (minutes,) = found(*level, [180.0])
    assert minutes.runs == ["run 6"]
    ordinary = [sweep, [*sweep, [500.0]], [*sweep[1:], [1500.0]], [*sweep, [1500.0], [1600.0]]]
    for costs in (*ordinary, [*level, [130.0]], [*level, [180.0], [200.0]], [*level[1:], [180.0]]):
        assert found(*costs) == []


def test_what_the_walk_noted_is_a_finding() -> None:
    found = findings(Matrix(entries({"version": "1"}), notes=["a link: left out", "b: left out"]), toy_runs.workload())
    assert [one.runs for one in found if one.kind == "notes"] == [["a link: left out", "b: left out"]]


def test_a_payload_that_is_damaged_changes_the_answers_and_another_kind_of_json_does_not() -> None:
    lost = "9.json: no LTS payload: a KPI's value is None, and should be a number"
    other = "package.json: no LTS payload: it has no 'metadata'"
    found = {
        one.kind: one for one in findings(Matrix(entries({"version": "1"}), notes=[lost, other]), toy_runs.workload())
    }
    assert (found["unreadable-payload"].runs, found["unreadable-payload"].changes) == ([lost], frozenset(AnswerKind))
    assert found["unreadable-payload"].sentence == "1 payload can't be read and takes no part:"
    assert (found["notes"].runs, found["notes"].changes) == ([other], frozenset())


def test_names_that_no_run_has_are_one_finding() -> None:
    workload = dataclasses.replace(
        toy_runs.workload(ignored_keys=["urls"]), gates=(Gate(kpi="memory"),), group_keys=("task", "version", "node")
    )
    runs = [dataclasses.replace(run, kpis={"cost": 1.0}) for run in entries({"version": "1", "node": {"cpus": 2}}, {})]
    runs[1].span_us = None, None
    found = {one.kind: one.sentence for one in findings(Matrix(runs), workload, {"l4": 1.0, "aws/t4": 2.0})}
    assert found["unused-name"] == "The workload uses what no run has: urls (ignored key) and task (group key)."
    assert found["unused-price"] == "No run uses the prices of l4 and aws/t4."
    assert found["unknown-kpi"] == "rate and memory (a limit) are unknown at all 2 runs: no reason is given."


def test_a_name_of_the_workload_that_is_nearly_a_setting_is_misspelt() -> None:
    workload = dataclasses.replace(toy_runs.workload(comparison_keys=["verison"]), variant_keys=("task",))
    first, *others = findings(Matrix(entries({"version": "1"})), workload)
    assert first.sentence == "No run has 'verison', a comparison key of the workload: is 'version' meant?"
    assert first.changes == frozenset(AnswerKind)
    assert [one.sentence for one in others if one.kind == "unused-name"] == [
        "The workload uses what no run has: task (variant key)."
    ]


def test_a_setting_that_a_kpi_applies_to_is_a_name_of_the_workload() -> None:
    workload = toy_runs.workload(product_keys=["engine"])
    cost = dataclasses.replace(workload.kpis["cost"], applies_to=(("vversion", ("1",)),))
    store = dataclasses.replace(workload.store, models_kpis={**workload.kpis, "cost": cost})
    first, *others = findings(Matrix(entries({"version": "1"})), dataclasses.replace(workload, store=store))
    assert first.sentence == "No run has 'vversion', a setting that a KPI applies to: is 'version' meant?"
    assert any("engine (product key)" in one.sentence for one in others)


def test_a_price_is_used_if_a_run_names_its_hardware() -> None:
    runs = entries({"hw_type": "l4", "vendor": "aws"}, {"hw_type": "t4/16GB", "vendor": "aws"})
    for used in ("l4", "aws/l4", "aws/t4/16GB"):
        assert "unused-price" not in kinds(findings(Matrix(runs), toy_runs.workload(), {used: 1.0}))
    assert "unused-price" in kinds(findings(Matrix(runs), toy_runs.workload(), {"gcp/l4": 1.0}))


def test_a_headline_that_no_run_has_changes_the_answers() -> None:
    runs = [dataclasses.replace(run, kpis={"rate": 1.0, "memory": 1.0}) for run in entries({"version": "1"})]
    first, *_ = findings(Matrix(runs), toy_runs.workload())
    assert first.kind == "unknown-kpi"
    assert first.changes


def labelled_workload(**keys: Any) -> Workload:
    """Its labels are what the runs' facts say."""
    workload = toy_runs.workload(**keys)
    return dataclasses.replace(workload, store=dataclasses.replace(workload.store, get_kpi_labels=lambda lts: {}))


def with_labels(run: Entry, **labels: Any) -> Entry:
    return dataclasses.replace(run, facts=Facts(labels), span_us=(None, 0))


def test_kpis_that_are_unknown_for_several_reasons_are_said_with_theirs() -> None:
    def said(**missing: str) -> tuple[str, list[str]]:
        runs = [
            dataclasses.replace(run, kpis={"cost": 1.0}, missing_kpis=missing)
            for run in entries({"version": "1"}, {"version": "1"})
        ]
        (found,) = (one for one in findings(Matrix(runs), toy_runs.workload()) if one.kind == "unknown-kpi")
        return found.sentence, list(found.runs)

    what = "rate and memory are unknown at all 2 runs:"
    assert said(rate="rate was not measured", memory="memory was not measured") == (
        f"{what} each was not measured.",
        [],
    )
    assert said(rate="there is no 'rate'", memory="there is no 'memory'") == (f"{what} there is no '…'.", [])
    assert said(rate="rate is 'a', which is no number", memory="no GPU") == (
        what,
        ["rate is 'a', which is no number", "memory: no GPU"],
    )


def test_a_setting_that_varies_and_is_no_label_merges_points() -> None:
    runs = [
        with_labels(run, batch=run.settings["batch"])
        for run in entries(*({"batch": batch, "platform": name} for batch in range(8) for name in ("a", "b")))
    ]
    first, *_ = findings(Matrix(runs), labelled_workload())
    assert first.kind == "no-label"
    assert first.sentence.startswith("'platform' varies and is no label: 16 points become 8 series")
    assert first.changes == {AnswerKind.HISTORY, AnswerKind.PAIR}
    assert "no-label" not in kinds(findings(Matrix(runs), labelled_workload(ignored_keys=["platform"])))
    assert "no-label" not in kinds(findings(Matrix(runs), toy_runs.workload()))
    runs[::2] = [dataclasses.replace(run, kpis={}) for run in runs[::2]]
    assert "no-label" not in kinds(findings(Matrix(runs), labelled_workload()))


def test_three_pairs_of_runs_say_that_a_setting_is_no_label() -> None:
    for apart, expected in ((0, 0), (1, 0), (2, 0), (3, 1)):  # the pair whose platforms are under another name
        runs = [
            with_labels(run, batch=run.settings["batch"], on=run.settings["platform"] if number // 2 == apart else "")
            for number, run in enumerate(entries(*({"batch": n // 2, "platform": "ab"[n % 2]} for n in range(8))))
        ]
        assert kinds(findings(Matrix(runs), labelled_workload())).count("no-label") == expected


def test_a_setting_under_another_name_among_the_labels_merges_nothing() -> None:
    runs = [with_labels(run, instance=run.settings["hw"]) for run in entries(*({"hw": name} for name in "abc"))]
    assert "no-label" not in kinds(findings(Matrix(runs), labelled_workload()))


def test_the_line_counts_what_changes_the_answer() -> None:
    best, both, none = (Finding("a", "A", frozenset({AnswerKind.BEST})), Finding("b", "B", frozenset(AnswerKind)),
                        Finding("c", "C"))  # fmt: skip
    assert about([], AnswerKind.BEST) == "Check: no findings."
    assert counted([best, both, none], AnswerKind.BEST) == "3 findings, 2 of which change this answer"
    assert counted([best, both, none], AnswerKind.PAIR) == "3 findings, 1 of which changes this answer"
    assert counted([best, both, none]) == "3 findings, 2 of which change an answer"
    assert counted([best, none], AnswerKind.PAIR) == "2 findings, none of which changes this answer"
    assert counted([best], AnswerKind.PAIR) == "1 finding, which changes another answer"
    assert counted([none, none], AnswerKind.PAIR) == "2 findings, none of which changes an answer"
    assert about([none]) == "Check: 1 finding, which changes no answer ('matbench check' lists it)."
    assert about([best], AnswerKind.BEST) == "Check: 1 finding, which changes this answer ('matbench check' lists it)."


def test_a_gate_that_says_nothing_of_some_runs_is_told_and_one_that_says_nothing_at_all_is_not() -> None:
    gated = dataclasses.replace(toy_runs.workload(), gates=(Gate(kpi="rate", minimum=1.0),))
    runs = entries(*({"version": "1", "rate": None} for _ in range(3)))
    assert "gate-unknown" not in kinds(findings(Matrix(runs), gated))
    runs[0].kpis["rate"] = 2.0
    (found,) = [one for one in findings(Matrix(runs), gated) if one.kind == "gate-unknown"]
    assert found.sentence == "rate, by which the workload refuses runs, is unknown in 2 runs that took part."
    assert found.changes == {AnswerKind.BEST}


def test_what_a_few_runs_alone_have_is_told_unless_a_word_of_all_runs_explains_it() -> None:
    def found(*runs: dict[str, Any]) -> list[str]:
        kinds = ("rare-setting", "odd-value")
        return [one.sentence for one in findings(Matrix(entries(*runs)), toy_runs.workload()) if one.kind in kinds]

    many = [{"tool": "hyperfine", "size": 2**n} for n in range(30)]
    assert found(*many, {"tool": "fio", "size": "8m", "depth": 4}) == []
    assert found(*many, {"tool": "hyperfine", "size": 3, "mode": "debug"}) == ["Only 1 of 31 runs has 'mode'."]
    assert found(*many, {"tool": "hyperfine", "size": 3, "mode": "debug", "why": "x"}) != []
    assert found(*many, {"tool": "hyperfine", "size": "8m"}) == [
        "'size' is '8m' in 1 run, beside numbers in the others."
    ]


def test_repeats_that_are_alike_to_the_last_digit_may_be_copies() -> None:
    def found(*runs: dict[str, Any]) -> list[list[str]]:
        of = findings(Matrix(entries(*runs)), toy_runs.workload())
        return [list(one.runs) for one in of if one.kind == "same-values"]

    one = {"version": "1", "cost": 1.03456789, "rate": 7.25}
    assert found(one, {**one, "cost": 1.04}, one) == [["run 0", "run 2"]]
    assert found(one, {**one, "rate": 7.5}) == []
    assert found(one, {**one, "version": "2"}) == []  # no repeat of it
    pasted = [{"size": size, "cost": cost} for size, cost in ((1, 1.5), (1, 1.7), (2, 2.5), (2, 2.25))]
    assert found(*pasted * 2) == [[f"run {place}" for place in (0, 1, 4, 5, 2, 3, 6, 7)]]
    assert found(*pasted * 2, {"size": 2, "cost": 2.75}) == found(*pasted[:2] * 2) == []
    costs = {1: (1.5, 1.7, 1.9), 2: (2.5, 2.25, 2.5, 2.75), 3: (3.5, 3.75, 3.8)}
    tie = [{"size": size, "cost": cost} for size, of in costs.items() for cost in of]
    assert [len(runs) for runs in found(*tie * 2)] == [20]
    two = [{"size": size, "cost": cost} for size in range(3) for cost in (0.5, 0.5, 1.0, 1.0)]
    assert found(*two, *[{"size": 3, "cost": 0.5}] * 4) == []  # as a clock of half a second has it
    # A coarse clock has many ties, and as often as others are they by chance.
    coarse = [{"size": size, "cost": cost} for size in (1, 2) for cost in (1.5, 1.5, 1.5, 1.5, 1.6, 1.6)]
    assert found(*tie) == found(*coarse) == []
    assert found(*({**run, "cost": run["size"]} for run in pasted)) == []  # of what is counted all repeats are alike
    for rounded in (1.03, 5.0, 123456789.0):
        assert found({**one, "cost": rounded}, {**one, "cost": rounded}) == []
    short = {"cost": 1.0345, "rate": 72.5123, "memory": 30.117}  # none of them is enough, and together they are
    other = {"cost": 1.0347, "rate": 72.4123, "memory": 30.118}
    assert found(short, other, short) == [["run 0", "run 2"]]
    assert found({**short, "cost": 1.03}, other, {**short, "cost": 1.03}) == []


def test_repeats_that_are_all_alike_and_have_times_of_their_own_or_one_tools_file_are_exact() -> None:
    def found(starts: list[int | None], costs: list[float], campaigns: list[str | None]) -> dict[str, list[str]]:
        made = entries(*({"version": "1", "cost": cost} for cost in costs))
        known = zip(made, starts, campaigns, strict=True)
        runs = [dataclasses.replace(run, facts=None, span_us=(start and start * 10**6, None), campaign=of, part=of)
                for run, start, of in known]  # fmt: skip
        of = findings(Matrix(runs), toy_runs.workload())
        return {one.kind: list(one.runs) for one in of if one.kind in ("same-values", "exact")}

    alike, every = [1.03456789] * 3, ["run 0", "run 1", "run 2"]
    assert found([1, 2, 3], alike, [None] * 3) == found([1, 1, 1], alike, ["x"] * 3) == {"exact": every}
    assert found([None] * 3, alike, [None] * 3) == found([1, 1, 1], alike, ["x", "x", "y"]) == {"same-values": every}
    assert found([1, 2, 3], [*alike[:2], 1.04567891], [None] * 3) == {"same-values": every[:2]}


def test_repeats_with_the_time_and_the_values_of_another_are_copies_where_times_are_of_one_run_each() -> None:
    def found(*runs: tuple[int | None, float]) -> list[list[str]]:
        made = entries(*({"version": "1", "cost": cost} for _, cost in runs))
        spans = [(start, None) for start, _ in runs]
        timed = [dataclasses.replace(run, span_us=span, facts=None) for run, span in zip(made, spans, strict=True)]
        of = findings(Matrix(timed), toy_runs.workload())
        return [list(one.runs) for one in of if one.kind == "same-values"]

    assert found((1, 5.0), (2, 6.0), (1, 5.0), (3, 7.0)) == [["run 0", "run 2"]]
    assert found((1, 5.0), (2, 6.0), (3, 5.0)) == []
    assert found((1, 5.0), (1, 5.0), (1, 6.0)) == []  # samples of one file, with a coarse clock
    assert found((None, 5.0), (None, 5.0)) == []


def test_a_version_of_which_no_run_has_a_value_is_told_unless_nothing_has() -> None:
    def found(*runs: Entry) -> list[str]:
        return [one.sentence for one in findings(Matrix(runs), toy_runs.workload()) if one.kind == "no-good-run"]

    old, new = entries({"version": "1"}, {"version": "2"})
    empty = dataclasses.replace(new, kpis={})
    assert found(old, empty) == ["No run of version 2 is good: what changed there isn't known."]
    assert found(old, new) == []
    assert found(dataclasses.replace(old, kpis={}), empty) == []


def test_a_kpi_that_a_few_runs_lack_or_have_is_said() -> None:
    def said(*memories: float | None) -> list[str]:
        runs = entries(*({"version": "1", "size": at, "memory": value} for at, value in enumerate(memories)))
        return [one.sentence for one in findings(Matrix(runs), toy_runs.workload()) if one.kind == "unknown-in-some"]

    few = "Unknown in some runs and known in others: memory (in {} of 12): no reason is given."
    assert said(*[3.0] * 11, None) == [few.format(1)]
    assert said(3.0, *[None] * 11) == [few.format(11)]
    assert said(*[3.0] * 12) == said(*[3.0] * 6, *[None] * 6) == []  # as where each tool has KPIs of its own
    assert said(*[None] * 12) == []


def test_a_setting_with_other_values_at_each_version_leaves_no_series() -> None:
    def said(machine: Any, **keys: Any) -> list[Finding]:
        runs = entries(*({"version": f"1.{at}", "machine": machine(at), "size": at % 2} for at in range(8)))
        return [one for one in findings(Matrix(runs), toy_runs.workload(**keys)) if one.kind == "splits-series"]

    (found,) = said("fv-az{}".format)
    assert found.sentence.startswith(
        "'machine' has other values at each version, so no series has two of them and nothing"
    )
    assert found.changes == {AnswerKind.HISTORY, AnswerKind.PAIR}
    assert said(lambda at: "ci") == said("fv-az{}".format, ignored_keys=["machine"]) == []


def test_what_is_wrong_with_runs_that_are_not_ranked_changes_no_ranking() -> None:
    def changed(damaged: str, own: str) -> frozenset[AnswerKind]:
        runs = [
            dataclasses.replace(run, problems=(Problem("is cut off", "a.json"),) * (run.settings["version"] == damaged))
            for run in entries(*({"version": version} for version in "1122"))
        ]
        here = Matrix(run for run in runs if str(run.settings["version"]) in own)
        found = Study(here, toy_runs.workload(), past=Matrix(runs)).findings
        return next(one.changes for one in found if one.kind == "damaged")

    assert changed("2", "12") == changed("2", "2") == changed("1", "1") == set(AnswerKind)
    assert changed("1", "12") == changed("1", "2") == changed("2", "1") == set(AnswerKind) - {AnswerKind.BEST}


def test_a_file_of_which_a_part_can_not_be_read_is_no_run() -> None:
    runs = [dataclasses.replace(run, part=run.name, location=Path("/r/a.csv")) for run in entries({}, {})]
    problem = (Problem("row 3 has not as many cells as the first row"),)
    file = dataclasses.replace(runs[0], part=None, finished=False, name="a.csv", problems=problem)
    matrix = Matrix(runs, unfinished=[file])
    (finding,) = (one for one in findings(matrix, toy_runs.workload()) if one.runs)
    assert (finding.kind, finding.runs, matrix.tests) == ("read-in-part", ["a.csv"], 2)
    assert Study(matrix, toy_runs.workload()).best.excluded == ()
    alone = Matrix([], unfinished=[file])
    assert (alone.tests, list(alone.damaged_files)) == (1, [])


def test_a_lower_percentile_above_a_higher_one_is_asked_about() -> None:
    workload = toy_runs.workload()
    names = ("ttft_p50", "ttft_p95", "ttft_p999", "itl_p99", "p100")
    kpis = {name: dataclasses.replace(workload.kpis["cost"], name=name) for name in names}
    workload = dataclasses.replace(workload, store=dataclasses.replace(workload.store, models_kpis=kpis))
    values = [(1.0, 2.0, 3.0, 0.5, 0.1), (1.0, 0.9, 3.0, 0.5, 0.1), (1.0, 1.0, 1.0, 4.0, 0.1)]
    runs = [
        dataclasses.replace(run, kpis=dict(zip(names, of, strict=True)))
        for run, of in zip(entries(*({"version": str(at)} for at in range(3))), values, strict=True)
    ]
    (said,) = [one for one in findings(Matrix(runs), workload) if one.kind == "percentiles"]
    assert said.sentence == "ttft_p50 is above ttft_p95 in 1 run, such as 'run 1': which of them is it?"
    turned = {name: dataclasses.replace(kpi, lower_better=False) for name, kpi in kpis.items()}  # what 99 % reach
    other = dataclasses.replace(workload, store=dataclasses.replace(workload.store, models_kpis=turned))
    assert "percentiles" not in kinds(findings(Matrix(runs), other))
    assert said.runs == ["run 1"]
