"""The public LitServe study: seven runs, one a whole curve, of six experiments on an NVIDIA T4."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from matrix_benchmarking import filters, store
from matrix_benchmarking.analyze.rank import rank
from matrix_benchmarking.analyze.study import Study
from matrix_benchmarking.analyze.verdict.model import Outcome
from matrix_benchmarking.analyze.verdict.sides import RunBlocks
from matrix_benchmarking.cli import main
from matrix_benchmarking.matrix import Entry, Matrix
from matrix_benchmarking.plotting.catalogue import catalogue_of
from matrix_benchmarking.workload import Workload, load
from projects.serving_bench.visualizations.steps import best_of, changes, groups, steps


@pytest.fixture(scope="module")
def study(foreign_samples: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy, so that no cache is written beside the samples."""
    return Path(shutil.copytree(foreign_samples / "litserve_t4", tmp_path_factory.mktemp("study") / "litserve_t4"))


@pytest.fixture(scope="module")
def workload() -> Workload:
    return load("projects.serving_bench.visualizations")


@pytest.fixture(scope="module")
def matrix(study: Path, workload: Workload) -> Matrix:
    return store.parse_tree(workload, study)


def of(matrix: Matrix, experiment: int, requests: int = 256) -> Entry:
    wanted = {"experiment": experiment, "num_requests": requests}
    (entry,) = matrix.all_records(wanted)
    return entry


def draw(workload: Workload, matrix: Matrix, name: str, **cfg: Any) -> tuple[Any, Any]:
    catalogue = catalogue_of(Study(matrix, workload))
    return catalogue.plot(name).do_plot(*catalogue.arguments(cfg))


def test_a_directory_is_one_entry_with_its_curves_inside(matrix: Matrix) -> None:
    assert len(matrix) == 7
    results = of(matrix, 3).lts.results
    assert [point.concurrency for point in results.api] == [1, 8, 32, 64, 128, 256]
    assert [point.batch_size for point in results.baseline] == [1, 8, 32, 64, 128, 256]


def test_the_kpis_of_experiment_3_are_those_by_hand(matrix: Matrix) -> None:
    entry = of(matrix, 3)
    assert entry.missing_kpis == {}
    assert entry.kpis == {
        "best_api_throughput": 160.85,
        "best_concurrency": 64,
        "best_baseline_throughput": 292.65,
        "serving_efficiency": pytest.approx(160.85 / 292.65),
        "throughput_at_1": 41.32,
        "most_clients": 256,
        "cpu_at_best": pytest.approx(0.995),
        "gpu_at_best": pytest.approx(0.602),
        "share_of_maximum": pytest.approx(160.85 / (8.1e12 / 4.45e9)),
    }


def test_the_theoretical_maximum_is_1820_in_float32_and_eight_times_that_in_float16(matrix: Matrix) -> None:
    assert of(matrix, 1).lts.results.theoretical_max == pytest.approx(1820, abs=0.5)
    assert of(matrix, 4).lts.results.theoretical_max == pytest.approx(14_607, abs=0.5)


def test_a_curve_that_still_rises_at_its_end_is_doubtful(matrix: Matrix) -> None:
    rising = {entry.settings["experiment"] for entry in matrix if entry.warnings}
    assert rising == {1, 2, 4, 5}  # of the first only the run of 128 requests a point
    assert of(matrix, 1).warnings == ()


def test_points_of_the_curves_are_rows_of_a_table_and_no_runs(matrix: Matrix) -> None:
    frame = matrix.to_dataframe(series="api")
    assert len(frame) == 7 * 6
    assert frame["test_uuid"].nunique() == 7
    row = frame[(frame["experiment"] == 3) & (frame["api_concurrency"] == 64)].iloc[0]
    assert (row["api_throughput"], row["api_gpu"], row["best_api_throughput"]) == (160.85, 0.602, 160.85)


def test_experiment_3_is_the_best_step_and_each_change_is_measured_against_the_step_before(
    workload: Workload, matrix: Matrix
) -> None:
    ranking = rank(matrix, workload)
    found = steps(matrix, workload, ranking=ranking)
    best, *others = best_of(groups(found)[0], ranking)
    assert others == []  # nothing was repeated, so what may be as good isn't known
    assert (best.label, best.best_at) == ("experiment 3 · server_batch_fullp.py", [64])
    made = changes(found, RunBlocks(lambda: matrix.entries))
    gains = [
        (change.new.settings["experiment"], round(change.best.judged.measure.value, 3))
        for change in made
        if change.best
    ]
    assert gains == [(2, 0.351), (3, 0.296), (4, -0.144), (5, 0.108), (6, -0.054)]
    assert made[0].what == "server server_baseline.py → server_batch_fullp_w0.py"
    assert made[1].what == "workers 0 → 4"
    assert made[1].at[64].judged.measure.value == pytest.approx(160.85 / 111.32 - 1)
    assert all(change.best and change.best.outcome is Outcome.CANT_TELL for change in made)


def test_steps_of_another_number_of_requests_are_not_compared(workload: Workload, matrix: Matrix) -> None:
    first, second, *_ = steps(matrix, workload)
    assert [first.settings["num_requests"], second.settings["num_requests"]] == [128, 256]
    assert first.label == "experiment 1 · server_baseline.py · num_requests 128"
    assert all(
        change.old is not first for change in changes(steps(matrix, workload), RunBlocks(lambda: matrix.entries))
    )


def test_the_steps_page_says_which_is_best_and_that_single_runs_decide_nothing(
    workload: Workload, matrix: Matrix
) -> None:
    figure, text = draw(workload, matrix, "Best throughput of each step")
    assert text[0] == (
        "Best for num_requests 256: experiment 3 · server_batch_fullp.py: 160.85 requests/s at concurrency 64 "
        "(one run: no interval), +75.1 % (can't be told) against experiment 1 · server_baseline.py · num_requests "
        "256 (91.88 requests/s at concurrency 8)."
    )
    assert text[1].startswith("Best for num_requests 128: experiment 1")
    assert text[2].startswith("The largest gain of the best throughput: experiment 2 · server_batch_fullp_w0.py")
    assert text[3].startswith("The largest loss of it: experiment 4 · server_batch_halfp.py")
    assert "run once" in text[4]
    assert "chance" not in " ".join(text[:4])
    assert [float(rate) for rate in figure.data[0].y] == [90.58, 91.88, 124.09, 160.85, 137.7, 152.51, 144.32]
    assert figure.data[0].customdata[3] == [of(matrix, 3).test_uuid]


def test_the_map_says_at_which_concurrency_a_change_gained_and_lost(workload: Workload, matrix: Matrix) -> None:
    figure, text = draw(workload, matrix, "What each step changed, at which concurrency")
    assert list(figure.data[0].x) == ["1", "8", "32", "64", "128", "256"]
    assert figure.data[0].z[1][3] == pytest.approx(100 * (160.85 / 111.32 - 1))
    assert text == [
        "The most was gained by experiment 2 · server_batch_fullp_w0.py at concurrency 256 (+44.6 %), "
        "the most was lost by experiment 5 · server_batch_halfp.py at concurrency 1 (−55.7 %)."
    ]


def test_the_curves_end_below_lines_of_the_known_maxima(workload: Workload, matrix: Matrix) -> None:
    figure, text = draw(workload, matrix, "Throughput over concurrency and batch size")
    lines = {round(trace.y[0]) for trace in figure.data if trace.mode == "lines"}
    assert lines == {1122, 1820, 14607}
    assert (
        "160.85 requests/s at concurrency 64 (one run: no interval). That is 55.0 % of what its model did by itself "
        "(292.65 requests/s in batches of 32), 14.3 % of its practical maximum (1,121.52 requests/s: 4 workers with "
        "batches of 256 in 913 ms, had each a device of its own) and 8.8 % of the theoretical maximum (1,820 "
        "requests/s)." in text[0]
    )
    assert figure.layout.yaxis.type == "log"
    assert draw(workload, matrix, figure_name(), throughput_axis="linear")[0].layout.yaxis.type is None


def figure_name() -> str:
    return "Throughput over concurrency and batch size"


def test_the_bottleneck_is_named_from_the_loads_and_their_threshold(workload: Workload, matrix: Matrix) -> None:
    _, text = draw(workload, matrix, "CPU and GPU over concurrency")
    assert text[0] == "Of 42 points of all curves: neither: waiting at 33, CPU saturated at 9."
    (saturated,) = [line for line in text[1:-1] if line.startswith("CPU saturated")]
    assert "experiment 3 · server_batch_fullp.py (concurrency 64: CPU 99.5 %, GPU 60.2 %)" in saturated
    _, text = draw(workload, matrix, "CPU and GPU over concurrency", saturated=80)
    assert "GPU saturated" in text[0]


def test_a_selection_keeps_the_names_and_colours_of_the_whole(workload: Workload, matrix: Matrix) -> None:
    selected = matrix.filtered(filters.parse("num_requests=256,experiment=1:3"))
    catalogue = catalogue_of(Study(selected, workload, read=matrix))
    figures = [catalogue_of(Study(matrix, workload)), catalogue]
    whole, part = (one.plot(figure_name()).do_plot(*one.arguments())[0] for one in figures)
    colours = {trace.name: trace.line.color for trace in whole.data}
    names = [trace.name for trace in part.data if trace.showlegend]
    steps = ["experiment 1 · server_baseline.py · num_requests 256", "experiment 3 · server_batch_fullp.py"]
    assert names[:2] == steps
    assert [name.rpartition(":")[0] for name in names[2:]] == [
        f"practical maximum of {steps[1]}",
        "theoretical maximum in float32",
    ]
    assert all(trace.line.color == colours[trace.name] for trace in part.data if trace.name in names)


def test_all_commands_know_the_workload_by_name(
    study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    options = [f"--results-dirname={study}", "--workload=serving_bench"]
    assert main(["parse", *options]) == 0
    assert "160.85 requests/s" in capsys.readouterr().out
    assert main(["parse", *options, "--output-lts=lts.json"]) == 0
    assert len(json.loads(Path("lts.json").read_text(encoding="utf-8"))) == 7
    assert main(["visualize", *options, "--generate", "--generate=report: Steps"]) == 0
    assert main(["upload_lts", *options]) == 0
    assert "7 runs added" in capsys.readouterr().out
    assert main(["analyze_lts", *options]) in (0, 1)


def test_a_payload_from_a_file_shows_what_the_artifacts_did(
    study: Path, workload: Workload, matrix: Matrix, tmp_path: Path
) -> None:
    from matrix_benchmarking import lts
    from matrix_benchmarking.lts.read import read_matrix

    with open(tmp_path / "lts.json", "wb") as stream:
        lts.write_payloads(workload, matrix, stream, pretty=False)
    kept = read_matrix(workload, tmp_path / "lts.json")
    for name in catalogue_of(Study(matrix, workload)).plots:
        if name in {plot.name for plot in workload.pages()[0]}:
            assert str(draw(workload, kept, name)[1][:2]) == str(draw(workload, matrix, name)[1][:2])
    assert len(kept.to_dataframe(series="baseline")) == 42
