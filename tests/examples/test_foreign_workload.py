"""A workload for a tree that a shell script left: several tools, curves and numbers, repeats, timeouts."""

from __future__ import annotations

from pathlib import Path

import pytest

from matrix_benchmarking import store
from matrix_benchmarking.analyze.rank import rank
from matrix_benchmarking.cli import main
from matrix_benchmarking.workload import load

EXAMPLE = Path("examples/foreign_workload.py")


@pytest.fixture
def tree(tmp_path) -> Path:
    def write(tool: str, disk: str, repeat: int, stdout: str) -> None:
        place = tmp_path / "runs" / tool / f"{disk}-{repeat}"
        place.mkdir(parents=True)
        (place / "settings").write_text(f"# as run.sh wrote it\ntool={tool}\ndisk={disk}\nrepeat={repeat}\n")
        (place / "stdout").write_text(stdout)

    for disk, rate in (("nvme", 800.0), ("sata", 400.0)):
        for repeat in range(3):
            curve = "".join(f"queue {depth}: {rate * depth / (depth + 1) + repeat} MB/s\n" for depth in (1, 2, 4, 8))
            write("seqread", disk, repeat, curve)
            write("ping", disk, repeat, f"latency {100 / rate + repeat / 1000} ms\n")
    write("seqread", "tape", 0, "queue 1: 1.0 MB/s\nTIMEOUT\n")
    write("ping", "tape", 0, "no route\n")
    return tmp_path / "runs"


def test_the_example_has_at_most_120_lines(repository):
    assert len((repository / EXAMPLE).read_text().splitlines()) <= 120


def test_each_tool_has_its_own_best_and_what_does_not_apply_is_not_unknown(repository, tree):
    workload = load(str(repository / EXAMPLE))
    matrix = store.parse_tree(workload, tree)
    assert len(matrix) == 14
    assert [entry.name for entry in matrix if entry.failed] == ["seqread/tape-0"]
    assert {entry.settings["tool"]: {*entry.kpis} for entry in matrix if entry.settings["disk"] == "nvme"} == {
        "seqread": {"peak"},
        "ping": {"latency"},
    }
    (silent,) = (entry for entry in matrix if entry.name == "ping/tape-0")
    assert silent.missing_kpis == {"latency": "latency was not measured"}
    best = rank(matrix, workload)
    assert {group.settings["tool"]: (group.kpi.name, group.best.settings["disk"]) for group in best.groups} == {
        "seqread": ("peak", "nvme"),
        "ping": ("latency", "nvme"),
    }
    assert sorted(one.kind for one in best.excluded) == [
        "failed with exit code 124",
        "latency is unknown: latency was not measured",
    ]


def test_another_headline_can_be_asked_for(repository, tree, capsys):
    where = [f"--workload={repository / EXAMPLE}", f"--results-dirname={tree}"]
    assert main(["parse", *where, "--headline=latency"]) == 0
    out = capsys.readouterr().out
    assert "For tool ping: Lowest latency: nvme" in out
    assert "For tool seqread: Highest peak: nvme" in out
    assert main(["parse", *where, "--headline=latencies"]) == 2
    assert "did you mean 'latency'?" in capsys.readouterr().err


def test_its_report_is_generated(repository, tree, tmp_path, capsys):
    where = [f"--workload={repository / EXAMPLE}", f"--results-dirname={tree}", f"--report-dest={tmp_path / 'report'}"]
    assert main(["visualize", *where, "--generate=report: Disks"]) == 0
    page = (tmp_path / "report" / "disks.html").read_text()
    assert "The highest mean is that of nvme: 712.1 MB/s at a queue depth of 8." in page
    assert "nvme: 0.126 ms" in page


def test_a_report_that_the_plots_file_forgets_is_named_and_a_kept_view_is_written(repository, tree, tmp_path, capsys):
    plots = tmp_path / "plots.yaml"
    plots.write_text("visualize:\n- id: best\n  generate:\n  - Best configuration\n")
    where = [f"--workload={repository / EXAMPLE}", f"--results-dirname={tree}", f"--report-dest={tmp_path / 'report'}"]
    (tmp_path / "config.yaml").write_text("matbench: {views: {mine: {x: disk}, yours: {workload: another}}}")
    where.append(f"--config={tmp_path / 'config.yaml'}")
    assert main(["visualize", *where, f"--plots-file={plots}", "--generate"]) == 0
    pages = {page.stem for page in (tmp_path / "report").glob("*.html")}
    assert pages == {"index", "best-configuration", "mine"}
    assert f"Not generated, as {plots} doesn't list it: report: Disks." in capsys.readouterr().err
