"""Record the sample of the encoder benchmark: run the matrix on this machine, one test directory a run.

A run gets a fresh server and an uncounted warm-up. The runs of the first pass are shuffled, so that a slow minute of
the machine doesn't bend one curve. Later passes repeat the best point of each throughput curve, then its better
neighbour. What is finished is skipped, so a broken recording can be resumed.
"""

from __future__ import annotations

import argparse
import itertools
import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from fidelity import fidelity_texts, reference_embeddings
from load import answered_per_second
from model import IMAGES, default_cache_directory, image_file
from point import HARDWARE, Plan, Point, finished, run_point

BATCH_SIZES = (1, 8, 32)
VUS = (1, 4, 8, 16, 32)


def main() -> int:
    options = parse_options()
    for image in options.images:
        image_file(image, options.cache_dir)
    texts = fidelity_texts()
    plan = Plan(
        root=options.output,
        cache=options.cache_dir,
        load_s=options.load_s,
        warm_up_s=options.warm_up_s,
        texts=texts,
        reference=reference_embeddings(texts, options.cache_dir),
    )
    deadline = time.monotonic() + options.time_limit_s
    failed = 0
    for point in points(options):
        if finished(point, plan.root):
            continue
        if time.monotonic() > deadline:
            print("The time limit is reached; start again to record the rest.", file=sys.stderr)
            break
        exit_code = run_point(point, plan)
        failed += exit_code != 0
        print(
            f"{time.strftime('%H:%M:%S')} {point.directory(Path())}: {outcome(point, plan.root, exit_code)}",
            flush=True,
        )
    return 1 if failed else 0


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=Path, help="directory for the test directories")
    parser.add_argument("--hw-types", nargs="+", choices=HARDWARE, default=list(HARDWARE))
    parser.add_argument("--images", nargs="+", choices=IMAGES, default=list(IMAGES))
    parser.add_argument("--batch-sizes", nargs="+", type=int, default=list(BATCH_SIZES))
    parser.add_argument("--vus", nargs="+", type=int, default=list(VUS))
    parser.add_argument("--repeats", type=int, default=3, help="runs of the points that are repeated")
    parser.add_argument("--load-s", type=float, default=8.0, help="seconds of load a run")
    parser.add_argument("--warm-up-s", type=float, default=2.0, help="seconds of uncounted load before it")
    parser.add_argument("--time-limit-s", type=float, default=27 * 60.0, help="start no run after this many seconds")
    parser.add_argument("--cache-dir", type=Path, default=default_cache_directory(), help="where ONNX files are kept")
    parser.add_argument("--seed", type=int, default=1, help="seed of the order of runs")
    return parser.parse_args()


def points(options: argparse.Namespace) -> Iterator[Point]:
    """Yield the runs in their order; which ones are repeated is known only when the first pass is over."""
    curves = list(itertools.product(options.hw_types, options.images, options.batch_sizes))
    shuffle = random.Random(options.seed).sample
    first = [Point(*curve, vus, repeat=0) for curve in curves for vus in options.vus]
    yield from shuffle(first, len(first))
    for rank in (0, 1):
        chosen = [point for curve in curves for point in ranked(curve, options)[rank : rank + 1]]
        for repeat in range(1, options.repeats):
            yield from (point.again(repeat) for point in shuffle(chosen, len(chosen)))


def ranked(curve: tuple[str, str, int], options: argparse.Namespace) -> list[Point]:
    """Return the best point of a curve and the better of its neighbours; failed runs don't take part."""
    along = [Point(*curve, vus, repeat=0) for vus in sorted(options.vus)]
    rates = [throughput(point, options.output) for point in along]
    best = rates.index(max(rates))
    neighbours = [at for at in (best - 1, best + 1) if 0 <= at < len(along)]
    return [along[at] for at in [best, *sorted(neighbours, key=lambda at: -rates[at])[:1]]]


def throughput(point: Point, root: Path) -> float:
    """Return the inputs answered per second, 0.0 for a run that failed."""
    directory = point.directory(root)
    summary = directory / "002__k6__run" / "summary.json"
    succeeded = finished(point, root) and (directory / "exit_code").read_text(encoding="utf-8").strip() == "0"
    return answered_per_second(summary) if succeeded and summary.exists() else 0.0


def outcome(point: Point, root: Path, exit_code: int) -> str:
    return f"failed with exit code {exit_code}" if exit_code else f"{throughput(point, root):.1f} inputs/s"


if __name__ == "__main__":
    sys.exit(main())
