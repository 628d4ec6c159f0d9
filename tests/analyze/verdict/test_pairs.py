"""One build against another: which series are paired, what is worse, what chance is, and what can't be told."""

from __future__ import annotations

import dataclasses
import datetime as dt
import re
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import pytest
from toy_runs import entry, workload

from matrix_benchmarking.analyze.report.ci import junit
from matrix_benchmarking.analyze.select.selection import select
from matrix_benchmarking.analyze.select.series import series_id
from matrix_benchmarking.analyze.verdict.alarms import alarm_id
from matrix_benchmarking.analyze.verdict.analyse import analyse_runs
from matrix_benchmarking.analyze.verdict.lifecycle import Known, known_alarms
from matrix_benchmarking.analyze.verdict.model import Analysis, Outcome, Status
from matrix_benchmarking.analyze.verdict.pairs import Build, about, compare_builds, compare_versions, either
from matrix_benchmarking.analyze.verdict.sides import IN_TURN, NOT_IN_TURN, Question, RunBlocks
from matrix_benchmarking.analyze.wording import analyses, verdicts
from matrix_benchmarking.analyze.words import ONE_CAMPAIGN
from matrix_benchmarking.history.alarms import Action, AlarmEvent, AlarmSubject
from matrix_benchmarking.matrix import Entry
from matrix_benchmarking.plotting.series_tables import series_table
from matrix_benchmarking.workload import MinimumEffect

NOW = dt.datetime(2026, 6, 1, tzinfo=dt.UTC)
IMAGES = {f"i{number}": 50.0 for number in range(6)}


def build(
    name: str, levels: dict[str, float], *, version: str = "1.0.0", repeats: int = 5, seed: int = 1, campaign: str = "c"
) -> Build:
    """Runs of a build in as many rounds of a campaign: the cost of each image, with one percent of noise."""
    random = np.random.default_rng(seed)
    made = []
    for image, level in levels.items():
        for round in range(repeats):
            run = {"version": version, "image": image, "cost": level * (1 + random.normal(0, 0.01)), "day": 0}
            number = f"{name} {len(made)}"
            of = entry(run, 0)
            made.append(dataclasses.replace(of, name=number, test_uuid=number, campaign=campaign, round=round + 1))
    return Build(name, made)


def asked(entries: Sequence[Entry], **others: Any) -> Question:
    return Question("runs", RunBlocks(lambda: entries), now=NOW, **others)


def compare(
    old: Build,
    new: Build,
    *,
    effects: dict[str, MinimumEffect] | None = None,
    ignored: Sequence[str] = (),
    **options: Any,
) -> Analysis:
    question = asked([*old.entries, *new.entries], minimum_effects=effects or {}, ignored=ignored)
    return compare_builds(old, new, workload().ignoring(ignored), question, kpi_filter=["cost"], **options)[0]


def outcomes(analysis: Analysis) -> dict[str, str]:
    return {str(one.labels["image"]): one.outcome.value for one in analysis.verdicts}


def test_each_setting_is_compared_with_itself() -> None:
    old = build("before", {"a": 100, "b": 10, "c": 1}, seed=1)
    new = build("after", {"a": 110, "b": 9, "c": 1}, version="1.1.0", seed=2)
    analysis = compare(old, new)
    assert outcomes(analysis) == {"a": "worse", "b": "better", "c": "no difference shown"}
    assert analysis.question == "after against before"
    assert [one.labels["image"] for one in analysis.failing] == ["a"]
    worse = analysis.failing[0]
    assert (worse.first_bad_version, worse.last_good_version) == ("after", "before")
    assert worse.effect is not None
    assert worse.effect.low < 0.1 < worse.effect.high
    assert (worse.runs_before, worse.runs_after, worse.stands_on) == (5, 5, "in 5 common rounds")
    assert "cost of a is worse at after than at before: +" in verdicts.sentence(worse)
    same = next(one for one in analysis.verdicts if one.labels["image"] == "c")
    assert ", no difference shown: " in verdicts.sentence(same)
    assert " % would at least be suspected, " in verdicts.sentence(same)


def test_of_a_kpi_that_can_not_be_better_the_values_are_said_and_nothing_is_judged() -> None:
    kinds = {**workload().kpis, "cost": dataclasses.replace(workload().kpis["cost"], lower_better=None)}
    unjudged = dataclasses.replace(workload(), store=dataclasses.replace(workload().store, models_kpis=kinds))
    old, new = build("before", {"a": 100}), build("after", {"a": 150}, version="1.1.0", seed=2)
    both = [*old.entries, *new.entries]
    by_build = compare_builds(old, new, unjudged, asked(both), kpi_filter=["cost"])[0]
    in_order = analyse_runs(both, unjudged, data="a test", kpi_filter=["cost"], now=NOW)
    for analysis, before, after in ((by_build, "before", "after"), (in_order, "1.0.0", "1.1.0")):
        assert not analysis.verdicts
        (said,) = analysis.not_analysed
        assert (said.kpi, said.runs) == ("cost", 10)
        assert said.reason.startswith("neither direction is better, not judged: ")
        assert f" at {before}, " in said.reason
        assert f" at {after} (+4" in said.reason or f" at {after} (+5" in said.reason


def test_the_order_of_the_builds_is_theirs_and_not_that_of_their_versions() -> None:
    new, old = build("rc", {"a": 100}, version="2.0.0"), build("release", {"a": 120}, version="1.0.0", seed=2)
    assert outcomes(compare(new, old)) == {"a": "worse"}
    assert outcomes(compare(old, new)) == {"a": "better"}


def test_what_is_in_one_build_only_is_named() -> None:
    analysis = compare(build("before", {"a": 100, "b": 10}), build("after", {"a": 100, "c": 10}, seed=2))
    assert sorted((one.series, one.reason) for one in analysis.not_analysed if one.series) == [
        ("b", "it is in before only"),
        ("c", "it is in after only"),
    ]


def test_what_failed_in_one_build_is_not_said_to_be_in_the_other_one_only() -> None:
    old, new = build("before", {"a": 100, "b": 10}), build("after", {"a": 100, "b": 10}, seed=2)
    entries = [dataclasses.replace(one, exit_code=int(one.settings["image"] == "b")) for one in new.entries]
    analysis = compare(old, Build("after", entries))
    assert [(one.series, one.reason) for one in analysis.not_analysed if one.series] == [
        ("b", "all its runs of after failed")
    ]


def test_labels_that_may_differ_are_left_out_of_the_pairing() -> None:
    analysis = compare(build("torch", {"torch": 100}), build("onnx", {"onnx": 80}, seed=2), ignored=["image"])
    assert [one.outcome for one in analysis.verdicts] == [Outcome.IMPROVEMENT]


def test_runs_that_are_on_both_sides_are_said() -> None:
    old, new = build("before", {"a": 100, "b": 300}), build("after", {"a": 100, "b": 300}, seed=2)
    copy = msgspec.structs.replace(old, name="copy")
    assert compare(old, copy).beside.startswith("Both sides are the same runs, or copies of them: ")
    some = msgspec.structs.replace(new, entries=[*new.entries, *old.entries[:5]])
    assert compare(old, some).beside.startswith("5 of 15 new runs are among the old ones, too.")
    assert "runs" not in compare(old, new).beside


def test_unequal_shares_of_what_may_differ_are_said() -> None:
    old, new = build("before", {"a": 100, "b": 300}), build("after", {"a": 100, "b": 300}, seed=2)
    assert compare(old, new, ignored=["image"]).beside == ""
    fewer = msgspec.structs.replace(old, entries=old.entries[:-1])
    said = (
        "The runs of image have other shares on the one side than on the other (a: 5, b: 4 | a: 5, b: 5): what differs "
        "may be these."
    )
    assert compare(fewer, new, ignored=["image"]).beside.startswith(said)
    assert "shares" not in compare(fewer, new).beside
    alone = build("torch", {"a": 100}), build("onnx", {"b": 80}, seed=2)
    said = "The sides differ in image (a | b): that may be the reason."
    assert compare(*alone, ignored=["image"]).beside.startswith(said)


def test_the_doubts_of_both_sides_are_counted_those_of_one_side_first() -> None:
    old, new = build("before", {"a": 100}), build("after", {"a": 100}, seed=2)
    for place, run in enumerate([*old.entries, *new.entries]):
        run.name = f"run {place % 5}"  # two trees may have the same names
        run.warnings = ["k6 was late", *(["the client was the limit"] if place in (5, 6, 7) else [])]
    first, second = compare(old, new).doubts
    assert (first.said, first.old, first.new, first.difference) == ("the client was the limit", (0, 5), (3, 5), 0.6)
    assert (second.said, second.old, second.new) == ("k6 was late", (5, 5), (5, 5))
    assert verdicts.doubt(first) == (
        "Doubtful: the client was the limit (runs: 0 of 5 with the old, 3 of 5 with the new)."
    )


def test_builds_that_have_no_series_in_common_differ_in_labels_that_are_named() -> None:
    old, new = build("before", dict.fromkeys("abcd", 10.0)), build("after", dict.fromkeys("efgh", 10.0), seed=2)
    analysis = compare(old, new)
    said = "they differ in image (a, b, c and 1 more | e, f, g and 1 more); leave it out with `ignoring`=image"
    assert {one.reason for one in analysis.not_analysed if one.series} == {said}
    on_gpus = Build("after", [_with_setting(one, gpus=1) for one in new.entries])
    assert {one.reason for one in compare(old, on_gpus).not_analysed if one.series} == {
        "they differ in image (a, b, c and 1 more | e, f, g and 1 more) and gpus ((not set) | 1); "
        "leave them out with `ignoring`=image,gpus"
    }
    numbers, texts = (Build(name, [_with_setting(one, gpus=gpus) for one in old.entries])
                      for name, gpus in (("before", 1), ("after", "1")))  # fmt: skip
    assert {one.reason for one in compare(numbers, texts).not_analysed if one.series} == {
        "they differ in gpus (1 | '1'); leave it out with `ignoring`=gpus"
    }
    crossed = [_with_setting(one, gpus=2 if one.settings["image"] == "a" else 1) for one in old.entries]
    swapped = build("after", {"a": 10.0, "b": 10.0, "c": 10.0, "d": 10.0}, seed=2).entries
    other = [_with_setting(one, gpus=1 if one.settings["image"] == "a" else 2) for one in swapped]
    reasons = {one.reason for one in compare(Build("before", crossed), Build("after", other)).not_analysed}
    assert reasons == {"it is in before only", "it is in after only"}


def _with_setting(run: Entry, **more: Any) -> Entry:
    labels = {**(run.facts.labels or {}), **more} if run.facts is not None else more
    assert run.facts is not None
    return dataclasses.replace(
        run, settings={**run.settings, **more}, facts=msgspec.structs.replace(run.facts, labels=labels)
    )


@pytest.mark.parametrize(("times", "outcome"), [(1.4, "can't be told"), (0.72, "can't be told"), (1.6, "suspected")])
def test_one_after_the_other_is_suspected_only_beyond_what_moods_are(times: float, outcome: str) -> None:
    after = build("after", {image: times * cost for image, cost in IMAGES.items()}, seed=2)
    apart = compare(build("before", IMAGES, campaign="first"), after)
    assert set(outcomes(apart).values()) == {outcome}
    assert not apart.failed
    said = " ".join(analyses.lead(apart))
    more = "6 suspected to be worse: it is more than a machine's mood usually is, and measuring both in turn, "
    assert (f"{more}in one benchmark file, would tell." in said) is (outcome == "suspected")
    junit(apart), series_table([(one, one) for one in apart.verdicts], "", lambda entry, text: text)
    none = compare(build("before", IMAGES, campaign="first"), after, effects={"cost": MinimumEffect(absolute=1e3)})
    assert set(outcomes(none).values()) == {"can't be told"}


def test_what_was_measured_one_after_the_other_can_not_be_told() -> None:
    apart = compare(build("before", IMAGES, campaign="first"), build("after", dict.fromkeys(IMAGES, 70.0), seed=2))
    assert set(outcomes(apart).values()) == {"can't be told"}
    assert not apart.failed
    said = " ".join(analyses.lead(apart))
    assert said.startswith("Whether 6 series of 1 KPI are worse can't be told: after against before.")
    assert f"Nothing says that they were measured in turn: a difference may be the machine's mood; {IN_TURN}." in said
    assert apart.verdicts[0].effect is not None
    assert apart.verdicts[0].effect.high == np.inf
    words = verdicts.untold(apart.verdicts[0])
    assert re.match(r"\+\d\d\.\d %, \S+ → \S+ USD; ", words)
    assert words.endswith(f" USD; {NOT_IN_TURN}")
    skipped = ET.fromstring(junit(apart)).iter("skipped")
    assert f"can't be told: {words}" in [one.get("message") for one in skipped]
    listed = series_table([(one, one) for one in apart.verdicts], "", lambda entry, text: text)
    cells = [cell for row in listed.rows for cell in row]
    assert words in cells


def test_one_common_round_is_too_few_and_the_verdict_says_so() -> None:
    once = compare(build("before", {"a": 100}, repeats=1), build("after", {"a": 130}, repeats=1, seed=2))
    assert outcomes(once) == {"a": "can't be told"}
    (verdict,) = once.verdicts
    seen = f"{verdicts.short_size(verdict)}, {verdicts.levels(verdict.kpi, verdict)}"
    assert seen.startswith("+")
    assert verdicts.sentence(verdict).startswith(
        f"cost of all runs can't be told: {seen}; both were measured in one round only"
    )


def test_several_campaigns_of_each_side_are_as_many_pieces_of_evidence() -> None:
    def campaigns(name: str, level: float, seed: int, count: int) -> Build:
        nights = [build(f"{name}{n}", {"a": level}, seed=seed + n, campaign=f"{name}{n}") for n in range(count)]
        return Build(name, [one for night in nights for one in night.entries])

    old, new = campaigns("before", 100, 1, 3), campaigns("after", 110, 11, 3)
    told = compare(old, new)
    assert outcomes(told) == {"a": "worse"}
    assert told.verdicts[0].stands_on == "in 3 and 3 campaigns"
    alone = compare(old, campaigns("after", 130, 11, 1))
    assert outcomes(alone) == {"a": "suspected"}
    assert not alone.failed
    assert "1 suspected to be worse: measuring both once more would tell." in analyses.lead(alone)
    assert "is suspected to be worse at after than at before" in verdicts.sentence(alone.verdicts[0])


def test_among_many_quiet_series_hardly_any_is_called_worse() -> None:
    levels = {f"i{number}": 10.0 + number for number in range(40)}
    wrong = 0
    for seed in range(20):
        analysis = compare(build("before", levels, seed=2 * seed), build("after", levels, seed=2 * seed + 1))
        wrong += any(one.outcome in (Outcome.REGRESSION, Outcome.IMPROVEMENT) for one in analysis.verdicts)
    assert wrong <= 4


def test_what_passes_alone_and_not_among_so_many_series_is_suspected() -> None:
    levels = {f"i{number}": 10.0 for number in range(60)}
    found = [
        one
        for seed in range(3)
        for one in compare(build("before", levels, seed=2 * seed), build("after", levels, seed=2 * seed + 1)).verdicts
    ]
    suspected = [one for one in found if one.outcome is Outcome.SUSPECTED]
    assert 0 < len(suspected) <= 0.08 * len(found)
    for one in suspected:
        assert one.p_value is not None
        assert one.q_value is not None
        assert one.p_value <= 0.05 < one.q_value


def test_one_odd_run_of_another_series_hides_no_regression() -> None:
    old, new = build("before", {"a": 100, **IMAGES}), build("after", {"a": 106, **IMAGES}, version="1.1.0", seed=2)
    odd = [dataclasses.replace(one, kpis={"cost": 5000.0}) if one.name == "after 7" else one for one in new.entries]
    assert outcomes(compare(old, new))["a"] == "worse"
    assert outcomes(compare(old, Build("after", odd)))["a"] == "worse"


def test_a_difference_below_the_minimum_effect_doesnt_count() -> None:
    old, new = build("before", {"a": 100}), build("after", {"a": 104}, seed=2)
    assert outcomes(compare(old, new)) == {"a": "worse"}
    assert outcomes(compare(old, new, effects={"cost": MinimumEffect(relative=0.1)})) == {"a": "no difference shown"}
    assert outcomes(compare(old, new, effects={"cost": MinimumEffect(absolute=8.0)})) == {"a": "no difference shown"}


def test_failed_runs_are_left_out() -> None:
    old, new = build("before", {"a": 100}), build("after", {"a": 100}, seed=2)
    broken = entry({"version": "1.0.0", "image": "a", "cost": 1e9, "exit_code": 1}, 99)
    analysis = compare(old, Build("after", [*new.entries, broken]))
    assert outcomes(analysis) == {"a": "no difference shown"}


def test_zeros_in_one_series_spoil_no_other() -> None:
    def runs(name: str, level: float, zeros: list[float], seed: int) -> Build:
        made, flat = build(name, {"a": level}, seed=seed), build(f"{name} flat", {"errors": 1.0})
        known = [dataclasses.replace(one, kpis={"cost": value}) for one, value in zip(flat.entries, zeros, strict=True)]
        return Build(name, [*made.entries, *known])

    old, new = runs("before", 0.001, [0.0] * 5, 1), runs("after", 0.0011, [0.0, 0.0, 0.0, 0.0, 3.0], 2)
    assert outcomes(compare(old, new))["a"] == "worse"
    same = compare(old, runs("after", 0.001, [0.0] * 5, 3))
    assert outcomes(same) == {"a": "no difference shown", "errors": "no difference shown"}
    flat = next(one for one in same.verdicts if one.labels["image"] == "errors")
    assert verdicts.sentence(flat).startswith(
        "cost of errors, no difference shown: +0 USD (+0 USD to +0 USD), 0 → 0 USD"
    )


def test_the_headline_counts_the_kpis_that_have_series() -> None:
    old, new = build("before", {"a": 100}), build("after", {"a": 100}, seed=2)
    analysis = compare_builds(old, new, workload(), asked([*old.entries, *new.entries]))[0]
    assert analysis.kpis == ("cost", "rate")
    assert analyses.headline(analysis) == "Nothing is worse in 1 series of 1 KPI: after against before."


@pytest.fixture
def releases() -> list[Entry]:
    runs: list[Entry] = []
    for number, level in enumerate([100, 100, 101, 112, 112]):
        runs += build(f"r{number}", {"a": level, "b": 50}, version=f"1.{number}.0", seed=number).entries
    return runs


def versions(releases: Sequence[Entry], old: str, new: str | None, known: dict[str, Known] | None = None) -> Analysis:
    chosen = select(releases, workload(), kpi_filter=["cost"])
    return compare_versions(chosen, old, new, asked(releases, known=known or {}), axis="version")


def test_a_version_is_compared_with_another(releases: list[Entry]) -> None:
    analysis = versions(releases, "1.1.0", "1.4.0")
    assert outcomes(analysis) == {"a": "worse", "b": "no difference shown"}
    assert analysis.question == "1.4.0 against 1.1.0"
    assert (analysis.runs, analysis.points, analysis.made_at) == (20, 20, NOW)
    assert not versions(releases, "1.3.0", "1.4.0").failed
    newest = versions(releases, "1.1.0", None)
    assert newest.question == "the newest runs against 1.1.0"
    assert [one.effect for one in newest.verdicts] == [one.effect for one in analysis.verdicts]


def test_versions_that_have_no_series_in_common_differ_in_labels_that_are_named(releases: list[Entry]) -> None:
    other = build("x", {"c": 1.0}, version="1.5.0").entries
    reasons = {one.reason for one in versions([*releases, *other], "1.1.0", "1.5.0").not_analysed}
    assert reasons == {
        "they differ in image (a, b | c); 'matbench compare 1.1.0 1.5.0 --ignored-keys=image' compares them all the "
        "same"
    }
    some = [one for one in releases if one.settings["version"] != "1.4.0" or one.settings["image"] == "a"]
    assert {one.reason for one in versions(some, "1.1.0", "1.4.0").not_analysed} == {"no run at 1.4.0 has it"}


def test_a_comparison_is_made_now_unless_it_is_told_when(releases: list[Entry]) -> None:
    chosen = select(releases, workload(), kpi_filter=["cost"])
    before = dt.datetime.now(dt.UTC)
    question = Question("runs", RunBlocks(lambda: releases))
    analysis = compare_versions(chosen, "1.1.0", "1.4.0", question, axis="version")
    assert before <= analysis.made_at <= dt.datetime.now(dt.UTC)


def test_two_builds_and_two_versions_of_the_same_runs_are_the_same_question(releases: list[Entry]) -> None:
    two = [one for one in releases if one.settings["version"] in ("1.1.0", "1.4.0")]
    sides = [[one for one in two if one.settings["version"] == version] for version in ("1.1.0", "1.4.0")]
    by_build = compare(Build("1.1.0", sides[0]), Build("1.4.0", sides[1]))
    for one, other in zip(by_build.verdicts, versions(two, "1.1.0", "1.4.0").verdicts, strict=True):
        assert verdicts.sentence(one) == verdicts.sentence(other)
        assert (one.id, one.p_value, one.q_value, one.outcome) == (
            other.id,
            other.p_value,
            other.q_value,
            other.outcome,
        )


def test_the_newest_version_is_no_baseline_and_a_version_without_runs_is_said(releases: list[Entry]) -> None:
    newest = versions(releases, "1.4.0", "1.4.0")
    assert newest.verdicts == ()
    assert {one.reason for one in newest.not_analysed} == {"1.4.0 is its newest version"}
    missing = versions([*releases, *build("more", {"c": 1.0}).entries], "1.0.0", "1.4.0")
    assert [one.reason for one in missing.not_analysed] == ["no run at 1.4.0 has it"]


def known(version: str, status: Action = Action.RAISED, image: str = "a", **said: Any) -> dict[str, Known]:
    """An alarm of the history on an image since *version*."""
    kpi, labels = workload().kpis["cost"], {"image": image}
    subject = AlarmSubject(
        workload="toy", kpi="cost", unit=kpi.unit, lower_better=True, labels=labels, series=image,
        first_bad=version, last_good="?", old_level=100, new_level=112,
    )  # fmt: skip
    name = alarm_id(series_id("toy", "cost", kpi.unit, labels), version)
    events = [AlarmEvent(alarm=name, action=Action.RAISED, at_us=1, author="matbench", subject=subject)]
    if status is not Action.RAISED:
        events.append(AlarmEvent(alarm=name, action=status, at_us=2, author="ada", subject=subject, **said))
    return known_alarms(events)


def test_an_alarm_has_the_id_by_which_the_history_knows_it_or_none(releases: list[Entry]) -> None:
    (found,) = versions(releases, "1.1.0", "1.4.0").failing
    (unknown,) = found.alarms
    assert (unknown.id, unknown.is_new, unknown.note, found.is_new) == ("", True, "", True)
    alarms = known("1.3.0")
    (again,) = versions(releases, "1.1.0", "1.4.0", alarms).failing
    (alarm,) = again.alarms
    assert (alarm.id, alarm.is_new, again.is_new) == (next(iter(alarms)), False, False)
    assert alarm.note == "Worse since 1.3.0, as the history has it"


@pytest.mark.parametrize("elsewhere", ["1.1.0", "1.0.0", "0.9.0"])
def test_an_alarm_of_before_the_old_side_is_another_one(releases: list[Entry], elsewhere: str) -> None:
    (alarm,) = versions(releases, "1.1.0", "1.4.0", known(elsewhere)).failing[0].alarms
    assert alarm.id == ""
    if elsewhere == "0.9.0":  # which the series has no longer
        (alarm,) = versions(releases, "1.0.0", "1.4.0", known(elsewhere)).failing[0].alarms
        assert alarm.id == ""


def test_an_alarm_on_the_new_side_itself_is_this_one(releases: list[Entry]) -> None:
    (alarm,) = versions(releases, "1.1.0", "1.3.0", known("1.3.0")).failing[0].alarms
    assert alarm.id
    (later,) = versions(releases, "1.1.0", "1.3.0", known("1.4.0")).failing[0].alarms
    assert not later.id
    (other,) = versions(releases, "1.1.0", "1.4.0", known("1.3.0", image="b")).failing[0].alarms
    assert not other.id


def test_what_somebody_acknowledged_fails_no_comparison(releases: list[Entry]) -> None:
    acknowledged = versions(releases, "1.1.0", "1.4.0", known("1.3.0", Action.ACKNOWLEDGED, reason="meant"))
    assert not acknowledged.failed
    ((_, alarm),) = acknowledged.alarms(Status.ACKNOWLEDGED)
    assert (alarm.author, alarm.reason) == ("ada", "meant")
    assert versions(releases, "1.1.0", "1.4.0", known("1.3.0", Action.ACKNOWLEDGED, until="1.3.0")).failed
    fixed = versions(releases, "1.1.0", "1.4.0", known("1.3.0", Action.FIXED)).failing[0]
    assert fixed.alarms[0].id == ""


def test_series_with_an_old_alarm_make_no_other_one_less_sure() -> None:
    quiet = {f"q{number}": 10.0 for number in range(30)}
    old = build("before", {"a": 100, **quiet}, version="1.0.0", repeats=4)
    new = build("after", {"a": 102.6, **quiet}, version="1.1.0", repeats=4, seed=8)
    releases = [*old.entries, *new.entries]
    alone = next(one for one in versions(releases, "1.0.0", "1.1.0").verdicts if one.labels["image"] == "a")
    alarms = {key: one for image in quiet for key, one in known("1.1.0", image=image).items()}
    beside = next(one for one in versions(releases, "1.0.0", "1.1.0", alarms).verdicts if one.labels["image"] == "a")
    assert alone.q_value is not None
    assert beside.q_value is not None
    assert beside.p_value == alone.p_value == beside.q_value < alone.q_value
    itself = next(
        one for one in versions(releases, "1.0.0", "1.1.0", known("1.1.0")).verdicts if one.labels["image"] == "a"
    )
    assert itself.q_value == alone.q_value  # what is kept of it adds nothing to its evidence
    assert itself.outcome is alone.outcome


def nights(levels: Sequence[float], noise: float, seed: int) -> list[Entry]:
    """A version a night, five runs each, without rounds in common."""
    random = np.random.default_rng(seed)
    return [
        dataclasses.replace(
            entry({"version": f"1.{n}.0", "image": "a", "cost": level * (1 + random.normal(0, noise)), "day": n}, 0),
            name=f"{n} {k}", test_uuid=f"{n} {k}", campaign=f"night {n}",
        )
        for n, level in enumerate(levels)
        for k in range(5)
    ]  # fmt: skip


def test_of_one_night_each_the_other_nights_say_what_is_mood_and_what_is_suspected() -> None:
    wrong = right = 0
    for seed in range(40):
        moods = 100 * (1 + np.random.default_rng(seed).normal(0, 0.02, 12))
        wrong += outcomes(versions(nights(moods, 0.002, seed), "1.3.0", "1.11.0"))["a"] == "suspected"
        moods[-1] *= 1.25
        right += outcomes(versions(nights(moods, 0.002, seed), "1.3.0", "1.11.0"))["a"] == "suspected"
    assert wrong <= 6
    assert right >= 34
    few = versions(nights([100.0] * 3, 0.01, 1), "1.0.0", "1.2.0")
    assert outcomes(few) == {"a": "can't be told"}


@pytest.mark.parametrize("is_shuffled", [False, True])
def test_that_one_side_was_always_measured_before_the_other_is_said(*, is_shuffled: bool) -> None:
    old = build("before", {"a": 100, "b": 10}, seed=1)
    new = build("after", {"a": 110, "b": 9}, version="1.1.0", seed=2)
    for side, one in enumerate((old, new)):
        for place, run in enumerate(one.entries):
            is_swapped = is_shuffled and place == 3
            minute = 60 * (run.round or 0) + 10 * (1 - side if is_swapped else side)
            start_us = (1_700_000_000 + 60 * minute) * 1_000_000
            run.span_us = start_us, start_us + 30_000_000
    said = compare(old, new).beside
    assert said == (
        ONE_CAMPAIGN
        if is_shuffled
        else "In all 5 blocks that both have, before was measured before after: a drift within these is in the "
        f"difference. {ONE_CAMPAIGN}"
    )


@pytest.mark.parametrize("is_in_turn", [False, True])
def test_that_all_campaigns_of_one_side_were_before_the_other_s_is_said(*, is_in_turn: bool) -> None:
    old = build("before", {"a": 100, "b": 10}, seed=1)
    new = build("after", {"a": 130, "b": 13}, version="1.1.0", seed=2)
    for side, one in enumerate((old, new)):
        for run in one.entries:
            night = (run.round or 0) * 2 + side if is_in_turn else (run.round or 0) + 100 * side
            run.campaign, run.round = f"night {night}", None
            start_us = (1_700_000_000 + 86_400 * night) * 1_000_000
            run.span_us = start_us, start_us + 30_000_000
    analysis = compare(old, new)
    assert [one.outcome for one in analysis.verdicts] == [Outcome.REGRESSION] * 2
    mood = "a mood of the machine that lasts longer than a campaign is in the difference"
    said = f"All 5 campaigns of before were before the 5 of after: {mood}; campaigns in turn would tell it apart."
    assert analysis.beside == ("" if is_in_turn else said)


@pytest.mark.parametrize(
    ("hours", "of_new", "outcome"),
    [(1, 24, Outcome.SUSPECTED), (24, 120, Outcome.REGRESSION), (24, 168, Outcome.REGRESSION)],
)
def test_runs_of_one_day_against_those_of_another_are_suspected_at_most(
    hours: int, of_new: int, outcome: Outcome
) -> None:
    """Five runs each hour, or each night; campaigns are inferred. A weekend between nights is no long pause."""
    old, new = {"a": 100, "b": 10}, {"a": 130, "b": 13}
    sides = build("before", old, seed=1), build("after", new, version="1.1.0", seed=2)
    for side, one in enumerate(sides):
        for place, run in enumerate(one.entries):
            start_us = (1_700_000_000 + 3600 * (hours * (place % 5) + of_new * side)) * 1_000_000
            run.campaign, run.round, run.span_us = None, None, (start_us, start_us + 600_000_000)
    analysis = compare(*sides)
    is_apart = outcome is Outcome.SUSPECTED
    assert [(one.outcome, one.stands_on) for one in analysis.verdicts] == [(outcome, "in 5 and 5 campaigns")] * 2
    assert (analysis.failed, len(analysis.over_all)) == (not is_apart, 0)
    assert ("with a pause between that is much longer than any within" in analysis.beside) is is_apart


def test_a_difference_that_is_sure_and_less_than_counts_is_no_difference_that_is_not_shown() -> None:
    old = build("before", {"a": 100, "b": 10}, seed=1)
    effects = {"cost": MinimumEffect(0.5)}
    analysis = compare(old, build("after", {"a": 130, "b": 10}, seed=2), effects=effects)
    small = next(one for one in analysis.verdicts if one.is_small)
    assert verdicts.nothing(small).startswith("less than the minimum effect: +")
    assert verdicts.sentence(small).startswith("cost of a, less than the minimum effect: +")
    (said,) = [line for line in analyses.lead(analysis) if "less than" in line]
    assert re.fullmatch(
        r"cost of a changed by less than the minimum effect \(.* %\)\): such changes don't count here\.", said
    )


def test_of_other_versions_nothing_is_counted_and_what_a_build_pools_is_said() -> None:
    builds = [build(f"r{at}", {"a": 100.0}, version=f"1.{at}.0", seed=at) for at in range(4)]
    there = [run for each in builds for run in each.entries]
    alone = build("r1", {"b": 5.0}, version="1.1.0").entries + build("r2", {"c": 5.0}, version="1.2.0").entries
    for run in (builds[0].entries[0], builds[3].entries[0]):
        run.implausible = ("longer than it took",)
    runs = [*there, *alone]
    known = select(runs, workload(), kpi_filter=["cost"], noted=either("version", "1.1.0", "1.3.0"))
    found = compare_versions(known, "1.1.0", "1.3.0", asked(runs), axis="version")
    assert [(one.series, one.reason, one.runs) for one in found.not_analysed] == [
        ("b", "no run at 1.3.0 has it", 5),
        ("", "values of the run can't be", 1),
    ]
    pooled = Build("old", [*builds[1].entries, *builds[2].entries])
    assert [*about(pooled, ["version"])] == ["old has 2 values of version, taken together"]
    for run in builds[2].entries:
        run.exit_code = 1
    assert [*about(pooled, ["version"])] == ["5 failed runs of old left out"]


@pytest.mark.parametrize(("factor", "is_said"), [(1000.0, True), (0.001, True), (50.0, True), (20.0, False)])
def test_a_jump_that_another_unit_explains_is_said_first(factor: float, is_said: bool) -> None:
    values = {"a": 100.0, "b": 300.0}
    old, new = build("before", values), build("after", {**values, "b": 300.0 * factor * 1.05}, seed=2)
    (headline, second, *_) = analyses.lead(compare(old, new))
    assert "1 of 2 series" in headline or "Nothing is worse" in headline
    assert second.startswith("1 series changed 50 times or more, as another unit does: cost of b ") is is_said


def test_builds_without_a_version_are_compared() -> None:
    sides = build("before", {"a": 100}), build("after", {"a": 120}, seed=2)
    for side in sides:
        for run in side.entries:
            del run.settings["version"]
    analysis = compare(
        *[msgspec.structs.replace(side, entries=list(map(without_facts, side.entries))) for side in sides]
    )
    assert [one.outcome for one in analysis.verdicts] == [Outcome.REGRESSION]


def without_facts(run: Entry) -> Entry:
    labels = {name: value for name, value in (run.facts.labels or {}).items() if name != "version"} if run.facts else {}
    return dataclasses.replace(
        run, facts=None if run.facts is None else msgspec.structs.replace(run.facts, labels=labels)
    )
