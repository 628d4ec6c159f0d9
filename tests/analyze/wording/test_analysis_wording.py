"""What is said of a whole analysis: its headline, and what else happened, in a few sentences."""

from __future__ import annotations

import dataclasses

import msgspec
import pytest
from report_support.analyses import LATENCY, alarm, analysis, regression, verdict

from matrix_benchmarking.analyze.detect import Estimate
from matrix_benchmarking.analyze.select.selection import NO_VALUE
from matrix_benchmarking.analyze.select.series import NotAnalysed
from matrix_benchmarking.analyze.verdict.alarms import cause_id, causes
from matrix_benchmarking.analyze.verdict.model import Outcome, Status
from matrix_benchmarking.analyze.wording import analyses, verdicts


def test_several_series_say_what_would_have_been_seen_from_the_smallest_to_the_largest() -> None:
    effect = Estimate(0.0, 0.0, 0.0)
    same = [verdict(would_show=size, would_show_in=count, effect=effect, labels={"n": size})
            for size, count in ((0.03, 5), (0.021, 4), (0.04, 7))]  # fmt: skip
    said = "No difference shown in 3; 2.1 to 4.0 % would have shown within 7 versions."
    assert said in analyses.lead(analysis(*same))
    assert "No difference shown in 1; 3.0 % would have shown within 5 versions." in analyses.lead(analysis(same[0]))
    unknown, in_unit = verdict(effect=effect), verdict(would_show=0.5, would_show_in=9)
    more = "No difference shown in 5; in 3 of them 2.1 to 4.0 % would have shown within 7 versions."
    assert more in analyses.lead(analysis(*same, unknown, in_unit))
    assert not any("No difference" in one for one in analyses.lead(analysis(unknown, in_unit)))


def test_two_sides_say_what_would_have_been_seen_too() -> None:
    same = [verdict(would_show=size, effect=Estimate(0.0, 0.0, 0.0), stands_on="in 3 common rounds", labels={"n": size})
            for size in (0.051, 0.012, 1e21)]  # fmt: skip
    assert "No difference shown in 2; 1.2 to 5.1 % would at least be suspected." in analyses.lead(analysis(*same[:2]))
    assert "1.2 to more than 1,000 % would at least be suspected." in " ".join(analyses.lead(analysis(*same)))
    assert verdicts.nothing(same[2]) == "no difference shown; more than 1,000 % would at least be suspected"


def test_what_more_runs_would_tell_is_counted_beside_what_shows_no_difference() -> None:
    yet = [verdict(reruns=count, effect=Estimate(0.031, -0.01, 0.07), labels={"n": count}) for count in (1, 2)]
    assert (
        verdicts.nothing(yet[0])
        == "no difference shown yet, but +3.1 % (−1.0 to +7.0 %): 1 more version like it would tell"
    )
    assert verdicts.verdict_text(yet[1]) == "no difference shown yet: 2 more versions like it would tell"
    assert verdicts.nothing(verdict(reruns=0)) == verdicts.nothing(verdict()) == "no difference shown"
    same = verdict(would_show=0.03, would_show_in=1, effect=Estimate(0.0, 0.0, 0.0))
    assert analyses.lead(analysis(*yet, same))[1:3] == [
        "No difference shown in 1; 3.0 % would have shown within 1 version.",
        "No difference shown yet in 2: more versions like the newest would tell.",
    ]
    assert not any("yet" in one for one in analyses.lead(analysis(same)))


def test_what_is_better_is_counted_whenever_it_became_so() -> None:
    new, old = (verdict(Outcome.IMPROVEMENT, labels={"n": int(is_new)}, is_new=is_new) for is_new in (True, False))
    said = analyses.lead(analysis(new, old))
    assert {"1 series is newly better.", "1 series is better since an earlier version."} <= set(said)


def test_the_headline_counts_in_one_and_many() -> None:
    worse = [regression(labels={"n": n}, is_new=n == 0) for n in range(3)]
    assert analyses.headline(analysis(*worse[:1], verdict())).startswith("1 of 2 series of 1 KPI is worse: ")
    assert analyses.headline(analysis(*worse, verdict(of=LATENCY))).startswith("3 of 4 series of 2 KPIs are worse: ")
    assert "1 of them is new with 1.3.2." in analyses.lead(analysis(*worse))
    assert not any("of them" in one for one in analyses.lead(analysis(*worse[:1])))
    assert analyses.headline(analysis()) == "Nothing could be analysed: 1.3.2 against its history."
    untold = [verdict(Outcome.CANT_TELL, labels={"n": n}, why="why") for n in range(2)]
    assert analyses.headline(analysis(*untold)).startswith("Whether 2 series of 1 KPI are worse can't be told: ")
    assert analyses.headline(analysis(untold[0])).startswith("Whether 1 series of 1 KPI is worse can't be told: ")
    may_fail = msgspec.structs.replace(analysis(verdict()), may_fail_more=["Runs may fail more often."])
    assert "KPI, and more failed runs are suspected: " in analyses.headline(may_fail)
    assert analyses.lead(analysis(*untold))[1:] == ["Why.", "'matbench compare 1.3.1 1.3.2' compares the two newest."]
    assert "2 can't be told: why." in analyses.lead(analysis(*untold, verdict(labels={"n": 9})))


def test_of_causes_those_of_several_alarms_are_named_and_three_at_most() -> None:
    made = [
        regression(labels={"n": f"{version}-{n}"}, said={"first_bad": f"1.{version}", "id": f"{version}{n}"})
        for version, count in enumerate((2, 1, 3, 2, 2))
        for n in range(count)
    ]
    found = causes(analysis(*made))
    assert [(one.first_bad, len(one.alarms)) for one in found] == [
        ("1.2", 3), ("1.0", 2), ("1.3", 2), ("1.4", 2), ("1.1", 1)
    ]  # fmt: skip
    assert len(found[0].id) == 12
    assert found[0].id == cause_id("encoder_bench", "1.2")
    said = [one for one in analyses.lead(analysis(*made)) if "one cause" in one]
    assert said == [analyses.cause_text(one) for one in found[:3]]
    assert said[0].startswith("3 alarms since 1.2 (last good 1.3.0) are one cause, ")
    assert analyses.cause_text(found[-1]).startswith("1 alarm since 1.1 (last good 1.3.0) is one cause, ")
    assert causes(analysis(regression(said={"id": ""}))) == []
    said = [one for one in analyses.lead(analysis(*made[:3])) if "one cause" in one]
    assert said == [analyses.cause_text(causes(analysis(*made[:2]))[0])]


def test_series_without_a_value_at_the_newest_version_are_counted_where_they_are_judged() -> None:
    note = f"{NO_VALUE} 1.3.2"
    judged = verdict(notes=("other", note))
    short = verdict(Outcome.CANT_TELL, notes=(note,), labels={"n": 1})
    said = analyses.lead(analysis(judged, short, verdict(labels={"n": 2})))
    assert (
        f"1 without a value at 1.3.2 (throughput of batch_size 8, image onnx-int8): judged up to {judged.versions[-1]}."
        in said
    )
    older = msgspec.structs.replace(judged, versions=["1.1.0"])
    (several,) = (one for one in analyses.lead(analysis(judged, older)) if "without a value" in one)
    assert several.startswith("2 without a value at 1.3.2 (throughput of")
    assert several.endswith(" and others): judged up to 2 older versions.")
    assert not any("without a value" in one for one in analyses.lead(analysis(short)))


def test_what_may_drift_is_counted_beside_what_is_worse() -> None:
    worse = verdict(Outcome.REGRESSION, may_drift=True)
    worse = msgspec.structs.replace(worse, alarms=(alarm(worse),))
    said = analyses.lead(analysis(worse, verdict(labels={"n": 1}, may_drift=True)))
    assert "1 may drift: a line fits about as well as a step, and since when is a guess." in said
    assert verdicts.sentence(worse).endswith("so that it may drift, and since when is a guess.")
    assert "drift" not in verdicts.sentence(msgspec.structs.replace(worse, may_drift=False))
    assert not any("drift" in one for one in analyses.lead(analysis(msgspec.structs.replace(worse, may_drift=False))))


def test_series_that_ended_say_nothing_of_the_newest_version() -> None:
    """A setting that was renamed ends its series: the new ones are too young to tell."""
    ended = verdict(notes=(f"{NO_VALUE} 1.3.2",))
    young = verdict(Outcome.CANT_TELL, labels={"n": 1}, why="the history is too short")
    said = analyses.lead(analysis(ended, young))
    assert said[0] == "Whether 2 series of 1 KPI are worse can't be told: 1.3.2 against its history."
    assert analyses.lead(analysis(ended, verdict(labels={"n": 2})))[0].startswith("Nothing is worse")
    assert analyses.is_untold(analysis(ended, young))
    assert not analyses.is_untold(analysis(msgspec.structs.replace(regression(), notes=ended.notes), young))


def test_what_is_new_of_several_is_said_and_of_all_is_not() -> None:
    old, new = regression(labels={"n": 1}), regression(labels={"n": 2}, is_new=True)
    assert "1 of them is new with 1.3.2." in analyses.lead(analysis(old, new))
    assert not any("of them" in one for one in analyses.lead(analysis(new)))
    assert not any("of them" in one for one in analyses.lead(analysis(old)))


@pytest.mark.parametrize(
    ("left_out", "text"),
    [
        ([("cost", "", 3)], "1 KPI not analysed."),
        ([("cost", "", 3), ("load", "", 9)], "2 KPIs not analysed."),
        ([("cost", "size 8", 3), ("cost", "size 9", 1)], "2 series not analysed."),
        ([("latency", "", 1)], "1 run of 1 KPI not analysed."),
        ([("latency", "", 2), ("latency", "", 3)], "5 runs of 1 KPI not analysed."),
        (
            [("latency", "", 2), ("cost", "size 8", 3), ("cost", "", 4), ("load", "", 9)],
            "1 series, 1 KPI, 6 runs of 2 other KPIs not analysed.",
        ),
    ],
)
def test_series_kpis_and_runs_that_were_not_analysed_are_counted_apart(
    left_out: list[tuple[str, str, int]], text: str
) -> None:
    others = [NotAnalysed(kpi, series, {}, "why", runs) for kpi, series, runs in left_out]
    made = analysis(verdict(of=dataclasses.replace(LATENCY, name="latency")), not_analysed=others)
    assert analyses.lead(made)[-1] == text


def test_what_is_suspected_is_said_with_what_would_tell() -> None:
    worse = verdict(Outcome.SUSPECTED, difference=Estimate(-1.0, -2.0, 0.0))
    better = verdict(Outcome.SUSPECTED, difference=Estimate(1.0, 0.0, 2.0), labels={"n": 1})
    found = analysis(worse, better, verdict(labels={"n": 2}))
    assert analyses.headline(found) == (
        "Nothing is worse in 3 series of 1 KPI, and 1 is suspected: 1.3.2 against its history."
    )
    said = "1 suspected to be worse and 1 suspected to be better: one or two blocks of runs alone say so; measuring"
    assert f"{said} 1.3.2 again may tell, and more versions would tell." in analyses.lead(found)
    assert f"{said} them again may tell, and more versions would tell." in analyses.lead(
        analysis(worse, better, newest=None)
    )


def test_alarms_that_the_newest_point_showed_to_be_fixed_are_counted() -> None:
    of = verdict()
    alarms = tuple(alarm(of, status, id=f"{status}{new}", is_new=new, fixed_by="1.3.1")
                   for status in (Status.FIXED, Status.OPEN) for new in (True, False))  # fmt: skip
    found = analysis(msgspec.structs.replace(of, alarms=alarms))
    assert [one.id for _, one in analyses.newly_fixed(found)] == ["Status.FIXEDTrue"]
    assert "1 alarm fixed by 1.3.1." in analyses.lead(found)  # which that of the list is, and was seen later
