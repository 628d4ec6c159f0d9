"""``matbench check``, and the line about its findings that other commands print."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from matrix_benchmarking.cli import main

Capture = pytest.CaptureFixture[str]
Main = Callable[..., int]
THE_LINE = "Check: 2 findings, 1 of which changes this answer ('matbench check' lists them).\n"


@pytest.fixture
def check() -> Main:
    """``matbench check`` on the results with further options; gives the exit status."""
    return lambda *options: main(["check", "--workload=tiny.py", "--results-dirname=results", *options])


@pytest.fixture
def odd(directory: Path, new_test: Callable[..., Path]) -> Path:
    """A fourth run, whose setting is misspelt, and a price that nothing uses."""
    (directory / "config.yaml").write_text("matbench: {prices: {gpu-9: 1.0}}")
    run = new_test(directory / "results" / "run_4", batch_size=4, rate=9.0)
    settings = run / "settings.yaml"
    settings.write_text(settings.read_text().replace("batch_size", "batchsize"))
    return run


def test_an_ordinary_tree_has_no_findings(check: Main, capsys: Capture) -> None:
    assert check() == 0
    assert capsys.readouterr().out == "3 runs of tiny (results): no findings.\n"


def test_findings_that_change_an_answer_come_first_and_end_with_1(odd: Path, check: Main, capsys: Capture) -> None:
    assert check() == 1
    captured = capsys.readouterr()
    assert captured.out == (
        "4 runs of tiny (results): 2 findings, 1 of which changes an answer.\n"
        "\nThese change an answer:\n"
        "* 1 run has 'batchsize' and no 'batch_size', which 3 runs have: is it misspelt?\n"
        "    run_4\n"
        "\nGood to know:\n"
        "* No run uses the price of gpu-9.\n"
    )
    assert captured.err == "matbench: 1 finding changes an answer\n"


def test_json_has_the_names_of_all_runs(odd: Path, check: Main, capsys: Capture) -> None:
    assert check("--json") == 1
    document = json.loads(capsys.readouterr().out)
    assert (document["format"], document["version"], document["workload"], document["runs"]) == (
        *("matbench-check", 1),
        *("tiny", 4),
    )
    first, second = document["findings"]
    assert (first["kind"], first["changes"], first["runs"]) == (
        "misspelt-setting",
        ["best", "history", "pair"],
        ["run_4"],
    )
    assert (second["kind"], second["changes"], second["runs"]) == ("unused-price", [], [])


def test_many_runs_of_one_finding_are_cut_on_the_terminal(
    directory: Path, new_test: Callable[..., Path], check: Main, capsys: Capture
) -> None:
    for number in range(5):
        new_test(directory / "results" / f"failed_{number}", batch_size=9, rate=number, exit_code="1")
    assert check() == 0
    assert "    failed_2\n    … and 2 more\n" in capsys.readouterr().out


def test_runs_of_a_history_are_checked(odd: Path, check: Main, capsys: Capture) -> None:
    assert main(["upload_lts", "--workload=tiny.py", "--results-dirname=results", "--history=sqlite:///h.db"]) == 0
    assert THE_LINE.replace("this", "an") in capsys.readouterr().out
    assert main(["check", "--workload=tiny.py", "--history=sqlite:///h.db"]) == 1
    assert "4 runs of tiny (sqlite:///h.db): 2 findings, 1 of which changes an answer." in capsys.readouterr().out


def test_without_a_place_the_history_here_is_checked_as_it_is_analysed(odd: Path, capsys: Capture) -> None:
    assert main(["upload_lts", "--workload=tiny.py", "--results-dirname=results"]) == 0
    assert main(["check", "--workload=tiny.py"]) == 1
    assert "4 runs of tiny (sqlite:///matbench.db): 2 findings" in capsys.readouterr().out


def test_parse_says_how_many_findings_there_are(odd: Path, parse: Main, capsys: Capture) -> None:
    assert parse() == 0
    first = "* 1 run has 'batchsize' and no 'batch_size', which 3 runs have: is it misspelt?\n"
    assert capsys.readouterr().out.endswith(f"{THE_LINE}{first}")
    assert parse("--output-matrix=-") == 0
    assert THE_LINE in capsys.readouterr().err


def test_the_pages_say_it_and_lead_to_the_list(odd: Path, directory: Path, capsys: Capture) -> None:
    assert main(["visualize", "--workload=tiny.py", "--results-dirname=results", "--generate", "--report-dest=r"]) == 0
    assert THE_LINE in capsys.readouterr().out
    page = (directory / "r" / "index.html").read_text()
    said = 'Check: <a href="check.html">2 findings, 1 of which changes an answer</a>.'
    assert f'<span class="warning">{said}</span>' in page
    listed = (directory / "r" / "check.html").read_text()
    assert "is it misspelt?" in listed
    assert "../results/run_4/" in listed


def test_a_comparison_and_an_analysis_say_it(odd: Path, directory: Path, capsys: Capture) -> None:
    assert main(["upload_lts", "--workload=tiny.py", "--results-dirname=results", "--history=sqlite:///h.db"]) == 0
    capsys.readouterr()
    main(["analyze_lts", "--workload=tiny.py", "--history=sqlite:///h.db", "--report-dest=r"])
    assert THE_LINE in capsys.readouterr().out
    assert "2 findings, 1 of which changes this answer" in (directory / "r" / "regression.md").read_text()
    assert "2 findings, 1 of which changes this answer" in (directory / "r" / "index.html").read_text()
    assert json.loads((directory / "r" / "regression.json").read_text())["check"].startswith("2 findings")


@pytest.fixture
def versions(directory: Path, new_test: Callable[..., Path]) -> Path:
    """Three versions named like commits, in directories whose names say no order; nothing has a time."""
    shutil.rmtree(directory / "results")
    tiny = (directory / "tiny.py").read_text()
    keys = 'regression=RegressionKeys(comparison_keys=["version"])'
    tiny = tiny.replace('name="tiny", store=store', f'name="tiny", store=store, {keys}')
    (directory / "tiny.py").write_text(tiny.replace("import Workload", "import RegressionKeys, Workload"))
    for rate, version in enumerate(("c0ffee1", "badc0de", "deadbee"), start=9):
        run = new_test(directory / "results" / f"build_{version}", batch_size=4, rate=rate)
        (run / "settings.yaml").write_text(f"{{version: {version}, batch_size: 4}}")
    return directory


def test_an_order_that_is_unknown_changes_an_answer(versions: Path, check: Main, capsys: Capture) -> None:
    assert check() == 1
    said = capsys.readouterr().out
    assert "1 finding, which changes an answer" in said
    assert "* The order of version is unknown: nothing says which of" in said


def test_the_order_that_is_taken_is_named(versions: Path, check: Main, capsys: Capture) -> None:
    (versions / "order.txt").write_text("deadbee\nbadc0de\nc0ffee1\n")
    assert check("--order=order.txt") == 0
    assert capsys.readouterr().out == (
        "3 runs of tiny (results): no findings.\n\nVersions in the order of the file order.txt.\n"
    )


def test_every_surface_counts_the_order_among_the_findings(versions: Path, parse: Main, capsys: Capture) -> None:
    lists = "answer ('matbench check' lists it).\n"
    assert parse() == 0
    assert capsys.readouterr().out.endswith(f"\nCheck: 1 finding, which changes another {lists}")
    given = ["--workload=tiny.py", "--results-dirname=results"]
    assert main(["visualize", *given, "--generate", "--report-dest=r"]) == 0
    assert "1 finding, which changes an answer" in (versions / "r" / "index.html").read_text()
    assert main(["upload_lts", *given, "--history=sqlite:///h.db"]) == 0
    assert capsys.readouterr().out.endswith(f"\nCheck: 1 finding, which changes an {lists}")
    main(["compare", "c0ffee1", "deadbee", *given])
    assert f"\nCheck: 1 finding, which changes another {lists}" in capsys.readouterr().out


def test_runs_of_two_trees_that_can_not_be_read_change_their_comparison(
    directory: Path, new_test: Callable[..., Path], capsys: Capture
) -> None:
    shutil.copytree(directory / "results", directory / "newer")
    (new_test(directory / "newer" / "run_4", batch_size=4, rate=1) / "settings.yaml").write_text("{")
    main(["compare", "results", "newer", "--workload=tiny.py", "--report-dest=r"])
    assert "* 1 run can't be placed and takes no part: settings.yaml is not valid YAML" in capsys.readouterr().out
    assert "1 run can't be placed" in (directory / "r" / "regression.md").read_text()


def test_the_order_of_the_configuration_counts_everywhere(versions: Path, parse: Main, capsys: Capture) -> None:
    (versions / "order.txt").write_text("deadbee\nbadc0de\nc0ffee1\n")
    (versions / "config.yaml").write_text("matbench: {order: order.txt}")
    assert parse() == 0
    assert capsys.readouterr().out.endswith("Check: no findings.\n")
