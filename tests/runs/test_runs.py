"""The library: runs opened from anywhere answer as the command line does."""

from __future__ import annotations

import contextlib
import io
import math
import shutil
from pathlib import Path
from typing import Any

import pytest

import matrix_benchmarking as mb
from matrix_benchmarking.cli import main
from matrix_benchmarking.errors import ConfigError, MatbenchError
from matrix_benchmarking.runs.runs import Runs

HISTORY = Path("data/samples/encoder_history/history.jsonl.gz")


@pytest.fixture(scope="module")
def opened(sample: Path) -> Runs:
    return mb.open(sample, workload="encoder_bench")


@pytest.fixture(scope="module")
def releases(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    location = f"sqlite:///{tmp_path_factory.mktemp('releases') / 'releases.db'}"
    run("history", "import", str(repository / HISTORY), f"--history={location}")
    return location


def run(*arguments: str, status: int = 0) -> str:
    """What the command line says on standard output."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        assert main(list(arguments)) == status
    return said.getvalue()


def unwrapped(text: str) -> list[str]:
    return text.split()


def test_groups_of_one_point_are_one_table(repository: Path) -> None:
    tree = repository / "data/samples/micro_bench"
    said = str(mb.open(tree, workload="projects.micro_bench.visualizations").best())
    before, _, table = said.partition("One point each")
    assert "Sprint" not in before
    assert "difference" in before
    assert "difference" not in table.splitlines()[2]


def test_the_best_is_said_in_the_words_of_the_command_line(opened: Runs, sample: Path) -> None:
    said = run("parse", f"--results-dirname={sample}", "--workload=encoder_bench")
    assert str(opened.best()).splitlines() == said.splitlines()


def test_a_limit_changes_the_best_and_a_workload_without_one_says_so(opened: Runs) -> None:
    free, bound = opened.best().best, opened.best(limit=50).best
    assert free.groups[0].best.value < bound.groups[0].best.value
    wrong: tuple[Any, ...] = (math.nan, math.inf, True, "20")
    for limit in wrong:
        with pytest.raises(MatbenchError, match="a limit is a number, and not"):
            opened.best(limit)


def test_versions_are_compared_as_on_the_command_line(releases: str) -> None:
    runs = mb.open(releases, workload="encoder_bench")
    options = (f"--history={releases}", "--workload=encoder_bench")
    said = run("compare", "1.2.9", "1.3.4", *options, status=1)
    assert str(runs.compare("1.2.9", "1.3.4")).splitlines() == said.splitlines()
    said = run("analyze_lts", *options, "--record=no", status=1)
    assert str(runs.history()).splitlines() == said.splitlines()
    verdicts = runs.history("throughput").analysis.verdicts
    assert {one.kpi.name for one in verdicts} == {"throughput"}


@pytest.mark.parametrize("batch_size", [1, 8])
def test_an_interval_of_a_comparison_is_the_same_in_each_selection(releases: str, batch_size: int) -> None:
    whole, some = mb.open(releases, workload="encoder_bench"), f"batch_size={batch_size}"
    filtered = mb.open(releases, workload="encoder_bench", filters=some)
    said = {
        one.kpi.name: one.effect
        for one in whole.compare("1.2.9", "1.3.4").analysis.verdicts
        if one.labels["batch_size"] == batch_size
    }
    assert len(said) == 5
    for part in (whole.where(batch_size=batch_size), filtered):
        for one in part.compare("1.2.9", "1.3.4").analysis.verdicts:
            other = said[one.kpi.name]
            assert (one.effect is None) == (other is None)
            if one.effect is not None and other is not None:
                assert (one.effect.low, one.effect.high) == pytest.approx((other.low, other.high))


def test_what_is_odd_is_listed_as_on_the_command_line(opened: Runs, sample: Path) -> None:
    answer = opened.check()
    status = int(any(one.changes for one in answer.findings))
    said = run("check", f"--results-dirname={sample}", "--workload=encoder_bench", status=status)
    assert unwrapped(str(answer)) == unwrapped(said)


def test_a_part_is_chosen_by_settings_whose_types_count(opened: Runs) -> None:
    part = opened.where(hw_type="cpu-1", vus=[8, 16])
    assert 0 < len(part) < len(opened)
    assert {(one.settings["hw_type"], one.settings["vus"]) for one in part} == {("cpu-1", 8), ("cpu-1", 16)}
    assert set(part.to_dataframe()["vus"]) == {8, 16}
    with pytest.raises(ConfigError, match="no test has vus=8"):
        opened.where(vus="8")
    with pytest.raises(ConfigError, match="did you mean 'vus'"):
        opened.where(vuss=8)


def test_names_that_match_nothing_are_errors(opened: Runs, releases: str) -> None:
    with pytest.raises(ConfigError, match="did you mean 'throughput'"):
        opened.history("thruput")
    runs = mb.open(releases, workload="encoder_bench")
    with pytest.raises(ConfigError, match="no version of these runs"):
        runs.compare("1.2.9", "9.9.9")
    unversioned = mb.open("data/samples/micro_bench/fio", workload="micro_bench")
    with pytest.raises(ConfigError, match=r"none is known: --settings-from='\{version\}' reads it from names of"):
        unversioned.compare("1.2.9", "1.3.0")
    with pytest.raises(ConfigError, match="no run is on hardware"):
        mb.open(releases, workload="encoder_bench", prices={"nvidia-x": 1.0})
    with pytest.raises(ConfigError, match="no run is on hardware 'aws/cpu-1': did you mean"):
        mb.open(releases, workload="encoder_bench", prices={"aws/cpu-1": 1.0})
    for amount in (-1, float("nan"), float("inf"), "3", True, None):
        with pytest.raises(ConfigError, match=f"`prices`: of 'cpu-1' it is {amount!r}, which is no number from 0 on"):
            mb.open(releases, workload="encoder_bench", prices={"cpu-1": amount})
    with pytest.raises(ConfigError, match="of 'throughput' it is -1, which is no number"):
        mb.open(releases, workload="encoder_bench", minimum_effects={"throughput": -1}).check()
    with pytest.raises(mb.MatbenchError, match="does not exist"):
        mb.open("nowhere", workload="encoder_bench")


def test_runs_are_kept_in_a_history_and_opened_from_payloads(opened: Runs, tmp_path: Path) -> None:
    location = f"sqlite:///{tmp_path / 'kept.db'}"
    delivered = opened.upload(location)
    assert delivered.pushed is not None
    assert delivered.pushed.added == sum(not one.failed for one in opened)
    assert repr(delivered) == f"<Delivered pushed=<Pushed added={delivered.pushed.added}>>"
    assert repr(opened.upload(location)) == f"<Delivered pushed=<Pushed unchanged={delivered.pushed.added}>>"
    run(
        "download_lts", f"--history={location}", f"--lts-results-dirname={tmp_path / 'lts'}", "--workload=encoder_bench"
    )
    payloads = mb.open(tmp_path / "lts", workload="encoder_bench")
    assert len(payloads) == delivered.pushed.added
    kept = mb.open(location, workload="encoder_bench")
    assert str(payloads.best()).splitlines()[:5] == str(kept.best()).splitlines()[:5]


def test_reports_are_written_and_a_notebook_shows_what_is_there(opened: Runs, tmp_path: Path) -> None:
    written = opened.report(tmp_path / "report", "Best configuration")
    assert [page.name for page in written.pages] == ["index.html", "best-configuration.html"]
    assert "runs of encoder_bench" in opened._repr_html_()
    assert repr(opened).startswith(f"{len(opened)} runs of encoder_bench (")


def test_what_is_left_out_of_an_upload_is_a_warning(sample: Path, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    for source in sorted(sample.rglob("exit_code"))[:3]:
        shutil.copytree(source.parent, tree / source.parent.name)
    next(tree.rglob("exit_code")).write_text("1")
    runs = mb.open(tree, workload="encoder_bench")
    with pytest.warns(UserWarning, match="left out, failed or unfinished:\n.*failed with exit code 1"):
        assert runs.upload(f"sqlite:///{tmp_path / 'kept.db'}").pushed.added == 2  # type: ignore[union-attr]


def test_what_is_odd_about_a_location_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MATBENCH_OPENSEARCH_USERNAME", "ann")
    monkeypatch.setenv("MATBENCH_OPENSEARCH_PASSWORD", "secret")
    with (
        pytest.raises(mb.MatbenchError, match="no such host"),
        pytest.warns(UserWarning, match="unencrypted: use https"),
    ):
        mb.open("http://matbench.invalid:9", workload="encoder_bench")
