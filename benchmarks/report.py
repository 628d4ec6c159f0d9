"""How long all reports of 100 runs take, as a ratio to their floor: reading the runs and encoding the same figures.

The floor parses the tree and encodes the figures, and does nothing else; both are measured in turn, in one run, with
fresh caches of the parse. Prints the times, their ratio, and how large the pages are.

    python benchmarks/report.py [--runs 100] [--rounds 3]
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import plotly.io

from matrix_benchmarking import store
from matrix_benchmarking.analyze.study import Given, Study
from matrix_benchmarking.matrix import Matrix
from matrix_benchmarking.plotting import site
from matrix_benchmarking.plotting.catalogue import catalogue_of
from matrix_benchmarking.plotting.static_html import StaticHTML
from matrix_benchmarking.workload import Workload, load

SAMPLE = Path(__file__).resolve().parent.parent / "data" / "samples" / "encoder_bench"
TARGET_S = 10.0


def main() -> None:
    options = _options()
    workload = load("encoder_bench")
    with tempfile.TemporaryDirectory(prefix="matbench-report-") as directory:
        tree = Path(directory) / "results"
        count = copy_runs(tree, options.runs)
        figures = figures_of(workload, store.parse_tree(workload, tree))
        floors, times = [], []
        for number in range(options.rounds):
            floors.append(seconds(lambda: floor(workload, tree, figures)))
            destination = Path(directory) / f"report-{number}"
            times.append(seconds(lambda to=destination: all_reports(workload, tree, to)))
        written = all_reports(workload, tree, Path(directory) / "report")
        sizes = {path.name: path.stat().st_size for path in (*written.pages, *written.others)}
    took, least = statistics.median(times), statistics.median(floors)
    print(f"{count} runs, {len(written.pages)} pages, {len(figures)} figures; medians of {options.rounds}")
    print(f"floor (parse and JSON of the figures) {least:.2f} s; all reports {took:.2f} s; ratio {took / least:.2f}")
    print(f"target under {TARGET_S:g} s: {'met' if took < TARGET_S else 'MISSED'}")
    for name, size in sizes.items():
        print(f"{name:<28} {size / 1000:>8,.0f} KB")
    print(f"{'together':<28} {sum(sizes.values()) / 1000:>8,.0f} KB")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=100, help="how many of the sample's runs")
    parser.add_argument("--rounds", type=int, default=3, help="measurements of which the median counts")
    return parser.parse_args()


def copy_runs(tree: Path, count: int) -> int:
    """Copy the first *count* runs of the sample, in the order of their names; gives how many there are."""
    runs = sorted(path.parent for path in SAMPLE.rglob("exit_code"))[:count]
    for run in runs:
        shutil.copytree(run, tree / run.relative_to(SAMPLE), ignore=shutil.ignore_patterns(".matbench_*"))
    for name in SAMPLE.rglob("settings*.yaml"):
        if (tree / name.relative_to(SAMPLE)).parent.is_dir():  # inherited settings lie above the runs
            shutil.copy(name, tree / name.relative_to(SAMPLE))
    return len(runs)


def figures_of(workload: Workload, matrix: Matrix) -> list[object]:
    """The figures that all the reports show."""
    catalogue = catalogue_of(Study(matrix, workload))
    renderer = StaticHTML()
    for name in catalogue.reports:
        renderer.render(catalogue.report(name).do_plot(*catalogue.arguments()))
    return [drawn.figure for drawn in renderer.figures]


def floor(workload: Workload, tree: Path, figures: list[object]) -> None:
    """Read the runs, and encode the figures, which are there already."""
    store.parse_tree(workload, tree)
    for figure in figures:
        plotly.io.to_json(figure, validate=False)


def all_reports(workload: Workload, tree: Path, destination: Path) -> site.Written:
    return site.write_site(
        Study(store.parse_tree(workload, tree), workload, given=Given(place=str(tree))), destination, []
    )


def seconds(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
