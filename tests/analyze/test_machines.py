"""What is compared and was measured on different machines is said: by a history, a comparison, and a check."""

from __future__ import annotations

import dataclasses
import datetime as dt
import json
from pathlib import Path
from typing import Any

import pytest
import toy_runs
from builders import speed_files, speed_workload, write_test

from matrix_benchmarking import lts, store
from matrix_benchmarking.analyze.check import AnswerKind, Finding, findings
from matrix_benchmarking.analyze.study import Study
from matrix_benchmarking.analyze.verdict.analyse import analyse_runs
from matrix_benchmarking.analyze.verdict.model import Analysis
from matrix_benchmarking.matrix import Entry, Matrix
from matrix_benchmarking.runs.judging import compare

OLD, NEW = "AMD EPYC, Linux 6.1", "Intel Xeon, Linux 6.1"


def entries(*runs: dict[str, Any]) -> list[Entry]:
    return [toy_runs.entry({"rate": 2.0, **run}, number) for number, run in enumerate(runs)]


def of_versions(*hosts: str | None, values: list[float] | None = None) -> list[dict[str, Any]]:
    rates = values or [100.0 + (number * 7) % 3 for number in range(len(hosts))]
    pairs = enumerate(zip(hosts, rates, strict=True))
    return [{"version": f"1.{number}", "host": host, "rate": rate} for number, (host, rate) in pairs]


def said(runs: list[dict[str, Any]], **changes: Any) -> list[Finding]:
    workload = dataclasses.replace(toy_runs.workload(ignored_keys=changes.pop("ignored_keys", [])), **changes)
    return [one for one in findings(Matrix(entries(*runs)), workload) if one.kind == "machines"]


def history(runs: list[dict[str, Any]]) -> Analysis:
    return analyse_runs(entries(*runs), toy_runs.workload(), data="toys", now=dt.datetime(2027, 1, 1, tzinfo=dt.UTC))


JUMP = [*[100.0, 101.0, 99.0, 100.5] * 3, *[80.0, 81.0, 79.5] * 2]


def test_a_change_that_comes_with_another_machine_says_so() -> None:
    analysis = history(of_versions(*[OLD] * 12, *[NEW] * 6, values=JUMP))
    assert [one.first_bad_version for one in analysis.failing] == ["1.12"]
    assert analysis.beside == (
        f"Both sides were measured on different machines or kernels ('{OLD}': 12 runs | '{NEW}': 6 runs): what differs "
        "may be the machine."
    )
    assert history(of_versions(*[OLD] * 18, values=JUMP)).beside == ""


def test_a_change_that_comes_with_another_value_of_what_is_ignored_says_so() -> None:
    runs = of_versions(*[OLD] * 18, values=JUMP)
    for number, run in enumerate(runs):
        run |= {"image": "b" if number >= 12 else "a", "job": number}

    def beside(*ignored: str) -> str:
        return analyse_runs(entries(*runs), toy_runs.workload(ignored_keys=[*ignored]), data="toys").beside

    said = "Ignored, and changed at the same time: image is b instead of a. That may be the reason."
    assert beside("image", "job") == said
    runs[3]["image"] = "b"
    assert beside("image", "job") == ""


def test_a_few_runs_on_the_old_machine_do_not_hide_the_new_one() -> None:
    beside = history(of_versions(*[OLD] * 12, NEW, OLD, *[NEW] * 4, values=JUMP)).beside
    assert f"machines or kernels in unequal shares ('{OLD}': 12 runs | '{NEW}': 5 runs, '{OLD}': 1 run)" in beside


def test_machines_in_turn_are_no_excuse_for_a_change() -> None:
    assert history(of_versions(*[OLD, NEW] * 9, values=JUMP)).beside == ""


def test_no_change_at_a_version_on_another_machine_is_doubtful_too() -> None:
    assert "on different machines" in history(of_versions(*[OLD] * 12, NEW)).beside
    assert history(of_versions(*[None] * 12, NEW)).beside == ""  # what isn't recorded says nothing
    assert history(of_versions(*["Linux 6.1"] * 12, OLD)).beside == ""  # nor what is only in part
    assert history(of_versions(*[OLD, NEW] * 6)).beside == ""  # where others were, too


def test_a_comparison_of_versions_counts_the_series_that_are_of_different_machines() -> None:
    runs = [
        {"version": version, "size": size, "host": host, "rate": 100.0 + number}
        for size, hosts in ((1, (OLD, OLD)), (2, (OLD, NEW)))
        for version, host in zip(("1.0", "1.1"), hosts, strict=True)
        for number in range(3)
    ]
    analysis = compare(Study(Matrix(entries(*runs)), toy_runs.workload()), "1.0", "1.1")[1]
    assert analysis.beside.startswith("Both sides of 1 of 2 series were measured on different machines or kernels")
    same = [{**run, "host": OLD} for run in runs]
    assert compare(Study(Matrix(entries(*same)), toy_runs.workload()), "1.0", "1.1")[1].beside == ""


def test_check_counts_the_versions_on_other_machines_than_the_rest_of_their_series() -> None:
    (found,) = said(of_versions(*[OLD] * 5, NEW))
    assert found.sentence == (
        "Measured were 1 of 6 versions, each in its series, on other machines or kernels than the rest "
        f"('{OLD}': 5 runs, '{NEW}': 1 run): what differs may be the machine."
    )
    assert found.changes == {AnswerKind.HISTORY, AnswerKind.PAIR}
    assert said(of_versions(OLD, OLD, None)) == said(of_versions(None, None, NEW)) == []
    assert said([*of_versions(OLD, OLD), *of_versions(NEW, NEW)]) == []  # each version on both


def test_check_counts_the_points_that_are_ranked_across_machines_but_not_where_a_setting_names_the_machine() -> None:
    def runs(*names: str) -> list[dict[str, Any]]:
        of_value = {"a": OLD, "b": NEW}
        return [
            {**dict.fromkeys(names, value), "size": size, "host": of_value[value]}
            for value in of_value
            for size in (1, 2)
        ]

    for names in (["image"], ["image", "engine"]):  # which come together, or not
        (found,) = said(runs(*names))
        assert found.sentence.startswith("Measured were 4 of 4 points, which are ranked together, on other machines")
        assert found.changes == {AnswerKind.BEST}
        assert said(runs(*names), group_keys=["image"]) == []
    for name in ("hw_type", "gpu_model", "vendor", "instance_type", "cpu"):
        assert said(runs(name)) == said(runs(name, "image")) == []


def test_the_machine_of_a_run_is_kept_in_the_payload_of_any_workload(tmp_path: Path) -> None:
    workload = speed_workload()
    environment = json.dumps({"cpu_model": "AMD EPYC", "kernel": "Linux 6.1"})
    files = {**speed_files(3.0), "environment.json": environment}
    write_test(tmp_path / "tree" / "a", {"size": 1}, files=files)
    write_test(tmp_path / "tree" / "b", {"size": 2}, files=speed_files(3.0))
    matrix = store.parse_tree(workload, tmp_path / "tree")
    payloads = [lts.payload_document(workload, entry) for entry in matrix]
    assert [payload["metadata"].get("host") for payload in payloads] == [OLD, None]
    assert "host" not in payloads[1]["metadata"]  # stays as it was
    written = tmp_path / "kept" / "payloads.json"
    written.parent.mkdir()
    with written.open("wb") as stream:
        lts.write_payloads(workload, matrix, stream, pretty=False)
    assert [entry.host for entry in lts.read_matrix(workload, written.parent)] == [OLD, None]


@pytest.mark.parametrize(("pause_days", "said"), [(1, ""), (0, "3 campaigns of one side may be one campaign: ")])
def test_campaigns_of_one_side_that_follow_each_other_are_said(pause_days: int, said: str) -> None:
    runs = [{"version": f"1.{at // 6}", "rate": 100.0 + at % 3, "day": at // 2 * pause_days} for at in range(12)]
    for campaigns in ([f"file {at // 2}" for at in range(12)], [None] * 12):
        files = [dataclasses.replace(one, campaign=each) for one, each in zip(entries(*runs), campaigns, strict=True)]
        beside = compare(Study(Matrix(files), toy_runs.workload()), "1.0", "1.1")[1].beside
        assert beside.startswith(said) if campaigns[0] else "campaigns of one side" not in beside
    rounds = [dataclasses.replace(one, campaign=f"c{at % 3}", round=at % 2) for at, one in enumerate(entries(*runs))]
    assert "campaigns of one side" not in compare(Study(Matrix(rounds), toy_runs.workload()), "1.0", "1.1")[1].beside
