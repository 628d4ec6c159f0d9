"""Runs that nothing compares, though one may think so: a setting that some lack, or that changed on the way."""

from __future__ import annotations

import dataclasses
from typing import Any

import toy_runs

from matrix_benchmarking.analyze.check import AnswerKind, Finding, findings
from matrix_benchmarking.analyze.select.labelled import labelled
from matrix_benchmarking.analyze.select.order import Order
from matrix_benchmarking.matrix import Matrix


def said(kind: str, runs: list[dict[str, Any]], groups: tuple[str, ...] = (), **keys: Any) -> list[Finding]:
    entries = [toy_runs.entry({"cost": 1.0, "rate": 2.0, "memory": 3.0, **run}, n) for n, run in enumerate(runs)]
    workload = dataclasses.replace(toy_runs.workload(**keys), group_keys=groups)
    order = Order(labelled(entries, workload), workload)
    return [one for one in findings(Matrix(entries), workload, in_order=order) if one.kind == kind]


def test_runs_that_do_not_say_within_what_they_are_compared_are_ranked_apart() -> None:
    """A third of a sweep without its prompts' length was another group, in which the cheapest point stood alone."""
    sweep = [{"model": "m", "users": users, "length": 512} for users in (1, 2, 4) for _ in range(2)]
    runs = [*sweep, *({"model": "m", "users": 8} for _ in range(3))]
    (found,) = said("apart", runs, ("model", "length"))
    assert found.sentence == (
        "3 runs have no 'length', which 6 have: another group, ranked apart and compared with none of those."
    )
    assert (found.changes, found.runs) == (set(AnswerKind), ["run 6", "run 7", "run 8"])
    assert said("apart", runs, ("model",)) == said("apart", sweep, ("model", "length")) == []
    for word in ("none", True):  # which has no length
        codec = [*({**run, "codec": "zip"} for run in sweep), *({"model": "m", "codec": word} for _ in range(3))]
        assert said("apart", codec, ("model", "length")) == []
    assert said("apart", [{**run, "id": f"r{n}"} for n, run in enumerate(runs)], ("model", "length"))
    other = [*sweep, *({"model": "other", "users": 8} for _ in range(3))]
    assert said("apart", other, ("model", "length")) == []  # another group anyway
    assert said("apart", [*sweep, {"model": "m", "users": 8}], ("model", "length")) == []
    assert said("missing-setting", [*sweep, {"model": "m", "users": 8}], ("model", "length"))


def history(before: dict[str, Any], since: dict[str, Any], *, at: int = 4, until: int = 8) -> list[dict[str, Any]]:
    return [
        {"version": f"1.{n}", "size": size, **(before if n < at else since)} for n in range(until) for size in (1, 2)
    ]


def test_a_setting_that_changed_with_a_version_splits_the_history() -> None:
    (found,) = said("splits-history", history({"cache": "off"}, {"cache": "on"}))
    assert found.sentence == (
        "Since 1.4 'cache' is 'on' in 2 series; up to 1.3 it was 'off': these are other series, which `ignoring`=cache "
        "compares."
    )
    assert found.changes == {AnswerKind.HISTORY}  # a comparison of two versions says itself in what they differ
    (new,) = said("splits-history", history({}, {"cache": "on"}))
    assert "up to 1.3 it was (not set): these" in new.sentence
    (newest,) = said("splits-history", history({"cache": "off"}, {"cache": "on"}, at=7))
    assert newest.sentence.startswith("Since 1.7 'cache' is 'on' in 2 series; up to 1.6 it was 'off'")
    named = {"area": "x", "cache": "off"}, {"area": "x", "cache": "on"}  # what is alike in all runs comes before it
    assert said("splits-history", history(*named)) == [found]
    assert said("splits-history", history({"cache": "off"}, {"cache": "on"}), ignored_keys=["cache"]) == []
    assert said("splits-history", history({"cache": "off"}, {"cache": "off"})) == []


def test_a_change_of_long_ago_is_good_to_know_and_changes_no_answer() -> None:
    runs = history({"cache": "off"}, {"cache": "on"}, until=24)
    runs = [{**run, "version": f"1.{int(run['version'][2:]) + 10}"} for run in runs]  # in the order of numbers
    (found,) = said("splits-history", runs)
    assert found.changes == frozenset()


def test_settings_that_changed_with_one_version_are_one_finding() -> None:
    runs = history({"cuda": "12.4", "driver": 550}, {"cuda": "13.0", "driver": 580})
    (found,) = said("splits-history", runs)
    assert found.sentence == (
        "Since 1.4 'cuda' is '13.0' and 'driver' is 580 in 2 series; up to 1.3 they were '12.4' and 550: these are "
        "other series, which `ignoring`=cuda,driver compares."
    )
    assert said("splits-history", runs, ignored_keys=["cuda", "driver"]) == []


def test_what_was_tried_for_a_version_or_two_splits_nothing() -> None:
    """Exploring, each version tries another value; a value that is new with each version is another finding."""
    tries = [{"version": f"1.{n}", "batch": 2 ** (n // 2)} for n in range(8)]
    days = [{"version": f"1.{n}", "day_of_run": f"2026-01-0{n + 1}", "size": size} for n in range(8) for size in (1, 2)]
    assert said("splits-history", tries) == said("splits-history", days) == []


def test_series_that_end_for_themselves_or_begin_later_split_nothing() -> None:
    alone = [run for run in history({}, {}) if run["size"] == 1 or run["version"] < "1.4"]
    assert said("splits-history", alone) == []
    later = [run for run in history({"cache": "off"}, {"cache": "on"}) if run["version"] != "1.4"]
    assert said("splits-history", [*later, {"version": "1.4", "size": 3}]) == []
    again = [*history({"cache": "off"}, {"cache": "on"}), *history({"cache": "off"}, {"cache": "off"})]
    assert said("splits-history", again) == []


def test_a_value_of_a_sweep_that_was_given_up_for_another_splits_nothing() -> None:
    runs = [
        {"version": f"1.{n}", "batch": batch} for n in range(8) for batch in (1, 2 if n < 4 else 4, 8) for _ in range(2)
    ]
    assert said("splits-history", runs) == []


def test_series_of_which_all_got_other_names_may_have_been_renamed() -> None:
    runs = [
        {"version": f"1.{n}", "benchmark": name if n < 4 else f"new-{name}"} for n in range(8) for name in ("a", "b")
    ]
    (found,) = said("splits-history", runs)
    assert found.sentence == (
        "2 series end at 1.3, and others that differ in 'benchmark' alone begin at 1.4: nothing compares them; was it "
        "renamed?"
    )


def test_a_setting_that_only_counts_repeats_is_to_be_called_so() -> None:
    runs = [{"version": "1", "batch": batch, "seed": seed} for batch in (8, 32) for seed in (1, 2, 3)]
    (one,) = said("unnamed-repeat", runs)
    assert one.sentence == (
        "'seed' differs in all runs that are else alike, and no point has a repeat: if it only counts them, it is to "
        "be called 'repeat'."
    )
    assert said("unnamed-repeat", [*runs, runs[0]]) == []  # which is a repeat
    assert said("unnamed-repeat", [run for run in runs if run["batch"] == 8 or run["seed"] == 1]) == []
    assert said("unnamed-repeat", [{"version": "1", "batch": batch} for batch in (8, 32)]) == []
