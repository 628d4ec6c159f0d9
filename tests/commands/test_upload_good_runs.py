"""A night with a failed run: what an upload keeps, what it leaves out and names, and how it exits."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
import yaml

from matrix_benchmarking.cli import main

Capture = pytest.CaptureFixture[str]
NewTest = Callable[..., Path]
UPLOAD = ["upload_lts", "--workload=tiny.py", "--results-dirname=results", "--history=sqlite:///kept.db"]
SERVER = ["--opensearch-host=127.0.0.1", "--opensearch-port=9", "--fail-test-on-fail=False"]


@pytest.fixture(autouse=True)
def state(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(directory / "state"))


@pytest.fixture
def broken(new_test: NewTest) -> None:
    """A run that claims success, whose measurement was cut off."""
    (new_test(Path("results/broken"), batch_size=6, rate=1.0) / "rate.json").write_text('{"rate": ')


def versions_matter() -> None:
    """The batch size is what the runs of the tiny workload are compared by."""
    text = Path("tiny.py").read_text().replace('name="tiny", store=store', 'name="tiny", store=store, regression=KEYS')
    keys = "from matrix_benchmarking.workload import RegressionKeys\n"
    keys += 'KEYS = RegressionKeys(comparison_keys=["batch_size"])\n'
    Path("tiny.py").write_text(text.replace("store = BaseStore", f"{keys}store = BaseStore"))


def kept() -> int:
    with closing(sqlite3.connect("kept.db")) as database:
        (count,) = database.execute("select count(*) from payloads").fetchone()
    assert isinstance(count, int)
    return count


def test_a_run_that_says_that_it_failed_is_left_out_and_named(new_test: NewTest, capsys: Capture) -> None:
    new_test(Path("results/failed"), batch_size=4, rate=1.0, exit_code="3")
    new_test(Path("results/interrupted"), batch_size=5, rate=1.0, exit_code=None)
    new_test(Path("results/torn"), batch_size=5, rate=1.0, exit_code="")
    left_out = (
        "3 runs left out, failed or unfinished:\n"
        "  interrupted: did not finish: there is no exit code\n"
        "  torn: did not finish: exit_code is empty, the run was interrupted while it was written\n"
        "  failed: failed with exit code 3\n"
    )
    assert main([*UPLOAD, "--dry-run"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("sqlite:///kept.db: 3 would be added")
    assert sorted(said.splitlines()[1:-1]) == sorted(left_out.splitlines())
    assert main(UPLOAD) == 0
    said = capsys.readouterr().out
    assert said.startswith("sqlite:///kept.db: 3 runs added\n3 runs left out")
    assert sorted(said.splitlines()[1:-1]) == sorted(left_out.splitlines())
    assert kept() == 3


def test_a_run_that_was_changed_after_it_was_kept_is_told(new_test: NewTest, capsys: Capture) -> None:
    times = '{"start": "2026-03-01T12:00:00+00:00", "end": "2026-03-01T12:05:00+00:00"}'
    for name in ("run_1", "run_2"):  # of one time, as runs beside each other are; only what is equal in all is told
        (Path("results", name) / "test_start_end.json").write_text(times)
    assert main(UPLOAD) == 0
    assert "was a run changed" not in capsys.readouterr().out
    (Path("results/run_1") / "rate.json").write_text('{"rate": 9.5}')
    expected = (
        "  2 runs have the settings, the repeat and the time of another one: was a run changed after it was kept?\n"
        "    run_1 ("
    )
    assert main([*UPLOAD, "--dry-run"]) == 0
    assert expected in capsys.readouterr().out
    assert main(UPLOAD) == 0
    said = capsys.readouterr().out
    assert said.startswith(f"sqlite:///kept.db: 1 run added, 2 there already\n{expected}")
    assert kept() == 4
    assert main(UPLOAD) == 0
    assert "was a run changed" not in capsys.readouterr().out  # nothing new: 'matbench check' says it of the history


def test_after_ten_runs_that_are_left_out_they_are_counted(new_test: NewTest, capsys: Capture) -> None:
    for number in range(13):
        new_test(Path(f"results/x{number:02}"), batch_size=4, rate=1.0, exit_code="3")
    assert main(UPLOAD) == 0
    assert capsys.readouterr().out.splitlines()[-3:-1] == ["  x09: failed with exit code 3", "  … and 3 more"]


@pytest.mark.parametrize("option", [[], ["--dry-run"]])
def test_a_version_without_a_good_run_ends_with_1_and_the_others_are_kept(
    new_test: NewTest, option: list[str], capsys: Capture
) -> None:
    versions_matter()
    for name, version, exit_code in (("a", 3, "1"), ("b", 4, "1"), ("c", 4, None)):
        new_test(Path("results", name), batch_size=version, rate=1.0, exit_code=exit_code)
    assert main([*UPLOAD, *option]) == 1
    captured = capsys.readouterr()
    assert "3 would be added" in captured.out or "3 runs added" in captured.out
    assert captured.err.splitlines()[-1] == "matbench: batch_size 4 has no good run"


@pytest.mark.parametrize("option", [[], ["--dry-run"], ["--keep-going"]])
def test_nothing_to_upload_at_all_ends_with_1(option: list[str], capsys: Capture) -> None:
    for path in Path("results").glob("*/exit_code"):
        path.write_text("1")
    assert main([*UPLOAD, *option]) == 1
    said = capsys.readouterr().err
    assert "there is nothing to keep: none of 3 runs is good\n  run_1: failed with exit code 1\n" in said
    assert not Path("kept.db").exists()


@pytest.mark.parametrize("option", [[], ["--dry-run"]])
def test_a_run_that_claims_success_and_is_not_whole_stops_all(
    broken: None, new_test: NewTest, option: list[str], capsys: Capture
) -> None:
    new_test(Path("results/failed"), batch_size=4, rate=1.0, exit_code="3")
    assert main([*UPLOAD, *option]) == 1
    said = capsys.readouterr().err
    assert "no LTS payloads were written: 1 problem in 1 of 5 tests\n  broken: " in said
    assert "--keep-going keeps the other 3 runs" in said
    assert not Path("kept.db").exists()


def test_with_keep_going_the_others_go_and_the_status_is_1(broken: None, capsys: Capture) -> None:
    versions_matter()
    assert main([*UPLOAD, "--keep-going", "--dry-run"]) == 1
    dry = capsys.readouterr()
    assert "3 would be added" in dry.out
    assert main([*UPLOAD, "--keep-going"]) == 1
    captured = capsys.readouterr()
    assert captured.out.startswith("sqlite:///kept.db: 3 runs added\nCheck: 2 findings, 2 of which change an answer")
    assert "matbench: 1 run not kept, whose payloads are not valid:\n  broken: " in captured.err
    assert captured.err.endswith("batch_size 6 has no good run\n")
    assert captured.err == dry.err
    assert kept() == 3


def test_runs_that_lost_their_settings_or_artifacts_are_not_whole(new_test: NewTest, capsys: Capture) -> None:
    assert main(["parse", "--workload=tiny.py", "--results-dirname=results"]) == 0
    Path("results/run_1/settings.yaml").unlink()
    Path("results/run_2/rate.json").unlink()
    assert main(UPLOAD) == 1
    assert main([*UPLOAD, "--keep-going"]) == 1
    said = capsys.readouterr().err
    assert "2 runs not kept" in said
    assert "run_1: has exit_code and no settings.yaml" in said
    assert "run_2: known from its cache alone" in said
    assert kept() == 1


def test_what_a_conflict_leaves_is_said_beside_what_is_not_whole(broken: None, capsys: Capture) -> None:
    Path("results/run_1/.uuid").write_text("2e4f5c2a-5a5b-4a6e-9d0c-0d9a4f7b8c11")
    assert main([*UPLOAD, "--keep-going"]) == 1
    Path("results/run_1/rate.json").write_text('{"rate": 7.0}')
    capsys.readouterr()
    assert main([*UPLOAD, "--keep-going"]) == 1
    said = capsys.readouterr().err
    assert "run_1 (2e4f5c2a-5a5b-4a6e-9d0c-0d9a4f7b8c11)" in said
    assert "1 run not kept, whose payloads are not valid:\n  broken: " in said


def test_a_server_that_is_away_does_not_hide_a_run_that_is_not_whole(broken: None, capsys: Capture) -> None:
    assert main([*UPLOAD[:-1], *SERVER, "--keep-going"]) == 1
    said = capsys.readouterr().err
    assert "3 runs wait in the outbox" in said
    assert "1 run not kept" in said


def test_a_strict_parse_stays_all_or_nothing(new_test: NewTest) -> None:
    new_test(Path("results/failed"), batch_size=4, rate=1.0, exit_code="3")
    assert main(["parse", *UPLOAD[1:3], "--output-lts=lts.json"]) == 1
    assert not Path("lts.json").exists()


def configure(**lts: object) -> None:
    block = {**lts, "opensearch": {"export": {"enabled": True}, "regression_analyses": {"enabled": True}}}
    Path("config.yaml").write_text(yaml.safe_dump({"matbench": {"lts": block, "history": "sqlite:///kept.db"}}))


@pytest.mark.parametrize(("keep_going", "expected"), [(False, 0), (True, 3)])
def test_the_unattended_block_has_the_same_choice_and_analyses_in_any_case(
    broken: None, new_test: NewTest, keep_going: bool, expected: int, capsys: Capture
) -> None:
    new_test(Path("results/failed"), batch_size=4, rate=1.0, exit_code="3")
    assert main(UPLOAD) == 1
    Path("config.yaml").write_text("matbench: {}\n")
    assert main([*UPLOAD, "--filters=batch_size=1"]) == 0
    configure(keep_going=keep_going)
    capsys.readouterr()
    assert main(["parse", *UPLOAD[1:3]]) == 1
    said = capsys.readouterr().err
    assert kept() == max(expected, 1)
    assert ("--keep-going" in said) is not keep_going
    assert ("1 run not kept, whose payloads are not valid:" in said) is keep_going
    assert "series" in said  # of the analysis
