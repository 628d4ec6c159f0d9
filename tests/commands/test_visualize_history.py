"""``matbench visualize --history``: where the tests come from, what is beside them, and what may be away."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from matrix_benchmarking.cli import main
from matrix_benchmarking.plotting.app import server
from matrix_benchmarking.plotting.app.data import Data, Source

Capture = pytest.CaptureFixture[str]
VISUALIZE = ["visualize", "--workload=tiny.py", "--generate=report: KPI history"]
RESULTS, HISTORY = "--results-dirname=results", "--history=sqlite:///kept.db"
AWAY = "sqlite:///away.db"


@pytest.fixture(autouse=True)
def versions(directory: Path, new_test: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    """A workload with versions; in the history two runs of version 2.9; in the results one of 2.10, twice as fast."""
    monkeypatch.setenv("MATBENCH_OUTBOX", str(directory / "outbox"))
    source = Path("tiny.py").read_text()
    keys = 'regression=RegressionKeys(comparison_keys=["version"])'
    source = source.replace("import Workload", "import RegressionKeys, Workload").replace(
        "store=store", f"store=store, {keys}"
    )
    Path("tiny.py").write_text(source)
    for number in (1, 2, 3):
        write(new_test, f"results/run_{number}", f"old/run_{number}", number)
    assert main(["upload_lts", "--workload=tiny.py", "--results-dirname=old", HISTORY]) == 0
    capsys.readouterr()


def write(new_test: Callable[..., Path], new: str, old: str, number: int) -> None:
    """The same settings twice, but for the version."""
    new_test(Path(old), batch_size=number, rate=number * 1.0)
    settings = {"batch_size": number, "hw_type": "cpu-1"}
    Path(new, "rate.json").write_text(json.dumps({"rate": number * 2.0}))
    Path(new, "settings.yaml").write_text(json.dumps({**settings, "version": "2.10"}))
    Path(old, "settings.yaml").write_text(json.dumps({**settings, "version": "2.9"}))


def page() -> str:
    return Path("report/kpi-history.html").read_text()


def test_results_are_compared_with_the_history(capsys: Capture) -> None:
    assert main([*VISUALIZE, RESULTS, HISTORY]) == 0
    assert "over 2 versions" in page()
    assert "Data: results, 3 tests" in page()
    assert page().count('href="../results/run_') == 3


def name_history(by: str, location: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if by == "environment":
        monkeypatch.setenv("MATBENCH_HISTORY", location)
    else:
        Path("config.yaml").write_text(f"matbench:\n  history: {location}\n")


def test_runs_that_are_in_the_history_already_count_once(capsys: Capture) -> None:
    assert main(["upload_lts", "--workload=tiny.py", RESULTS, HISTORY]) == 0
    assert main([*VISUALIZE, RESULTS, HISTORY]) == 0
    assert "3 series of rate over 2 versions, 6 runs." in page()


def test_without_a_directory_the_tests_come_from_the_history(capsys: Capture) -> None:
    assert main(["upload_lts", "--workload=tiny.py", RESULTS, HISTORY]) == 0
    capsys.readouterr()
    assert main([*VISUALIZE, HISTORY, "--generate=Best configuration", "--generate=Error report"]) == 0
    assert "Highest rate" in capsys.readouterr().out
    assert "Data: sqlite:///kept.db, 6 tests" in page()
    assert "over 2 versions" in page()
    assert "/dev/null" not in page()
    assert 'href="/dev' not in Path("report/best-configuration.html").read_text()


@pytest.mark.parametrize("by", ["configuration", "environment"])
def test_the_environment_and_the_configuration_name_the_history_where_no_directory_is_known(
    by: str, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    name_history(by, "sqlite:///kept.db", monkeypatch)
    assert main(VISUALIZE) == 0
    assert "Data: sqlite:///kept.db, 3 tests" in page()
    for command in (["check"], ["analyze_lts", "--record=no"]):
        assert main([*command, "--workload=tiny.py"]) in (0, 1)
    assert "3 runs of tiny (sqlite:///kept.db)" in capsys.readouterr().out
    name_history(by, AWAY, monkeypatch)
    assert main(["check", "--workload=tiny.py"]) == 2
    assert "there is no history 'away.db' yet: 'matbench upload_lts' makes it" in capsys.readouterr().err


def test_filters_are_for_the_history_too(capsys: Capture) -> None:
    assert main([*VISUALIZE, RESULTS, HISTORY, "--filters=batch_size=2"]) == 0
    assert "1 series of rate over 2 versions, 2 runs." in page()
    assert main([*VISUALIZE, HISTORY, "--filters=batch_size=7"]) == 2
    assert "no test has batch_size=7: known: 1, 2, 3" in capsys.readouterr().err


def test_a_directory_that_is_only_configured_yields_to_a_history_on_the_command_line() -> None:
    Path("config.yaml").write_text("matbench:\n  test_directory: results\n")
    assert main([*VISUALIZE, HISTORY]) == 0
    assert "Data: sqlite:///kept.db, 3 tests" in page()


def test_a_configured_history_is_used_beside_the_results() -> None:
    Path("config.yaml").write_text("matbench:\n  history: sqlite:///kept.db\n")
    assert main([*VISUALIZE, RESULTS]) == 0
    assert "over 2 versions" in page()


@pytest.mark.parametrize("by", ["configuration", "environment"])
def test_a_history_that_is_only_configured_may_be_away(
    by: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    name_history(by, AWAY, monkeypatch)
    assert main([*VISUALIZE, RESULTS]) == 0
    assert "warning: the history can't be read: there is no history 'away.db' yet" in capsys.readouterr().err
    assert "Note: the history can&#x27;t be read: there is no history" in page()


@pytest.mark.parametrize("options", [[RESULTS], []])
def test_a_history_on_the_command_line_has_to_be_there(options: list[str], capsys: Capture) -> None:
    assert main([*VISUALIZE, *options, f"--history={AWAY}"]) == 2
    assert "there is no history 'away.db' yet: 'matbench upload_lts' makes it" in capsys.readouterr().err


def test_a_history_without_runs_of_the_workload_is_a_sentence(capsys: Capture) -> None:
    Path("tiny.py").write_text(Path("tiny.py").read_text().replace('name="tiny"', 'name="other"'))
    assert main([*VISUALIZE, HISTORY]) == 2
    assert "there is no run of workload 'other' in sqlite:///kept.db" in capsys.readouterr().err
    assert main([*VISUALIZE, RESULTS, HISTORY]) == 0


def test_without_any_history_the_page_says_how_to_get_one() -> None:
    assert main([*VISUALIZE, RESULTS]) == 0
    assert "matbench upload_lts --history LOCATION" in page()


@pytest.mark.parametrize("options", [[RESULTS, HISTORY], [HISTORY]], ids=["both", "history"])
def test_the_application_reads_the_history_in_a_thread_of_its_own(
    options: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    sources: list[Source] = []
    read: list[Data] = []

    def serve(app: object, listener: object) -> None:
        read.append(Data(sources[0]))
        read[0].start()
        read[0].join(60)

    monkeypatch.setattr(server, "make_app", lambda source, *rest: sources.append(source))
    monkeypatch.setattr(server, "serve", serve)
    assert main([*VISUALIZE[:2], *options, "--port=0"]) == 0
    assert (read[0].progress.is_reading, read[0].progress.problem) == (False, None)
    assert read[0].snapshot is not None
    assert read[0].snapshot.problem == ""


def test_of_an_empty_directory_the_terminal_says_that_runs_are_shown_as_they_come(
    directory: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setattr(server, "serve", lambda app, listener: None)
    (directory / "nothing").mkdir()
    assert main(["visualize", "--results-dirname=nothing", "--workload=encoder_bench"]) == 0
    assert "warning: 'nothing' is empty: the pages show runs as they come" in capsys.readouterr().err
