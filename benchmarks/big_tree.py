"""What a big tree takes: to parse, and to answer from its index. Each measurement is a process by itself.

Parse: trees of directories with small artifacts (about 5 KB each), parsed cold; time per test of the clock and of the
processor, what the largest process of it held at the peak, and the floor: reading and decoding the same files.

Bucket: the same of tests of ten objects in S3, of which the server is played in the process: what the starter holds.

Answer: what the index of a tree holds, as many times over as it takes, each copy with another model. How long it takes
to read it, to filter it by a setting, and to say what is best with all findings; what the process held at the peak.

Application: from its start until the verdict and the first page are answered from the index, without a browser.

    python benchmarks/big_tree.py [--tests 1000 10000] [--objects 9000 27000] [--runs 10000 100000] [--pages 10000]
"""

from __future__ import annotations

import argparse
import itertools
import multiprocessing
import os
import resource
import sys
import tempfile
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import large_tree
from app import FRAME, PAGE, answer_of, served
from parse import read_and_decode

from matrix_benchmarking import bucket, store, workload_code
from matrix_benchmarking.cli import garbage_is_rare
from matrix_benchmarking.columns import Columns, Shared, Texts
from matrix_benchmarking.filters import Scalar, parse
from matrix_benchmarking.store import tree_index
from matrix_benchmarking.store.parsing import Context
from matrix_benchmarking.workload import load

Taken = tuple[float, float, int]
"""Seconds of the clock, seconds of the processor, and MiB at the peak."""
WORKLOAD, OPTIONS = "encoder_bench", {"prices": {}}
"""As the command has them."""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tests", type=int, nargs="*", default=[1000, 10_000, 100_000], help="directories to parse")
    parser.add_argument("--objects", type=int, nargs="*", default=[9000, 27_000], help="tests to parse in a bucket")
    parser.add_argument("--runs", type=int, nargs="*", default=[10_000, 100_000, 1_000_000], help="runs of an index")
    parser.add_argument("--pages", type=int, nargs="*", default=[10_000, 100_000], help="runs of an application")
    parser.add_argument("--jobs", type=int, nargs="+", default=[1, 2], help="processes of a parse")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="matbench-big-") as directory:
        here = Path(directory)
        for count in options.tests:
            measure_parse(here, count, options.jobs)
        for count in options.objects:
            measure_bucket(here, count)
        known = here / "known"
        large_tree.build(known, 10_080)
        store.parse_tree(load(WORKLOAD), known, options=OPTIONS)
        for count in options.runs:
            measure_answer(indexed(known, here / f"indexed-{count}", count), count)
        for count in options.pages:
            measure_page(indexed(known, here / f"pages-{count}", count), count)


def measure_parse(here: Path, count: int, jobs: list[int]) -> None:
    """Each in a tree of its own, of which nothing was deleted: ext4 takes five times as long for a file afterwards."""

    def read(tree: Path) -> None:
        read_and_decode([Path(folder) / name for folder, _, names in os.walk(tree) for name in names])

    for number in jobs:
        tree = here / f"{count}-{number}"
        large_tree.build(tree, count, files=("exit_code", "test_start_end.json", "002__k6__run/load_generator.json"))
        floor = in_a_process(lambda tree=tree: read(tree))
        print(f"{count:>9,} tests    floor {per_test(floor, count)}", flush=True)
        taken = in_a_process(lambda tree=tree, number=number: store.parse_tree(load(WORKLOAD), tree, jobs=number))
        print(
            f"  {number} processes, cold   {per_test(taken, count)}  {taken[0] / floor[0]:5.2f} × the floor", flush=True
        )


class Played:
    """What s3fs does for a parse, with *count* tests like the one at *template*: each with the files of that one."""

    PAGE = 1000

    def __init__(self, template: Path, count: int) -> None:
        found = (path for path in sorted(template.rglob("*")) if path.is_file())
        self.contents = {path.relative_to(template).as_posix(): path.read_bytes() for path in found}
        self.count = count

    def call_s3(self, method: str, Bucket: str, Prefix: str, ContinuationToken: str = "0") -> dict[str, object]:
        names, start = list(self.contents), int(ContinuationToken)
        stop = min(start + self.PAGE, self.count * len(names))
        tests = (divmod(number, len(names)) for number in range(start, stop))
        page = [
            {
                "Key": f"{Prefix}{self.place(test)}/{names[file]}",
                "Size": len(self.content(test, names[file])),
                "ETag": f"{test}-{file}",
            }
            for test, file in tests
        ]
        return {"Contents": page, "IsTruncated": stop < self.count * len(names), "NextContinuationToken": str(stop)}

    def get(self, names: list[str], files: list[str]) -> None:
        for name, file in zip(names, files, strict=True):
            *_, users, test, inner = name.split("/", 5)
            Path(file).write_bytes(self.content(int(test) + 1000 * int(users.partition("_")[2]), inner))

    def place(self, test: int) -> str:
        return f"encoder/vus_{test // 1000:05}/{test % 1000:05}"

    def content(self, test: int, name: str) -> bytes:
        """Its settings are its own, as long as all others'."""
        content = self.contents[name]
        return b"%s\nvus: %07d\n" % (content, test + 1) if name == "settings.yaml" else content

    def put_file(self, local: str, address: str) -> None:
        """An index or a cache is written, and not kept."""


def measure_bucket(here: Path, count: int) -> None:
    one = here / "one"
    if not one.is_dir():
        large_tree.build(one, 1)
        (settings,) = one.rglob("settings.yaml")
        os.rename(settings.parent, here / "template")
        path = here / "template" / "settings.yaml"
        path.write_text("".join(line for line in path.read_text().splitlines(True) if not line.startswith("vus")))
    played = Played(here / "template", count)

    def parsed() -> None:
        import s3fs  # noqa: F401  it takes memory, too

        bucket.connect = lambda *given, **options: played  # type: ignore[assignment]
        store.parse_tree(load(WORKLOAD), bucket.BucketPath("s3://bucket/tree"), jobs=1)

    taken = in_a_process(parsed)
    print(f"{count:>9,} tests of {len(played.contents)} objects   {per_test(taken, count)}", flush=True)


def measure_answer(tree: Path, count: int) -> None:
    def answer() -> None:
        from matrix_benchmarking.analyze.study import Study

        workload = load(WORKLOAD)
        times = [time.perf_counter()]
        indexed = store.read_index(workload, tree, options=OPTIONS)
        assert indexed is not None
        times.append(time.perf_counter())
        filtered = indexed.filtered(parse("hw_type=cpu-1,batch_size=8:16"))
        times.append(time.perf_counter())
        study = Study.of(indexed, workload)
        points = sum(len(group.standings) for group in study.best.groups)
        times.append(time.perf_counter())
        findings = len(study.findings)
        times.append(time.perf_counter())
        index, filters, best, found = (after - before for before, after in itertools.pairwise(times))
        print(
            f"{count:>9,} runs     index {index:6.2f} s, filter to {len(filtered):,} {filters:6.3f} s, best of "
            f"{points:,} points {best:6.2f} s, {findings} findings {found:6.2f} s",
            end="",
        )

    print(f", {in_a_process(answer)[2]:>6,} MiB", flush=True)


def measure_page(tree: Path, count: int) -> None:
    command = [sys.executable, "-m", "matrix_benchmarking", "visualize", f"--results-dirname={tree}", "--port=0"]
    began = time.perf_counter()
    times = []
    with served([*command, f"--workload={WORKLOAD}"]) as address:
        host, port = address.removeprefix("http://").split(":")
        for outputs in (FRAME, PAGE):
            while len(answer_of(host, port, outputs)) < 1000:  # else it says that it is being read
                time.sleep(0.05)
            times.append(time.perf_counter() - began)
    print(f"{count:>9,} runs     verdict after {times[0]:5.2f} s, first page after {times[1]:5.2f} s", flush=True)


def indexed(known: Path, tree: Path, count: int) -> Path:
    """An empty tree at *tree* whose index holds *count* runs: those of *known*, over and over."""
    workload = load(WORKLOAD)
    found = store.read_index(workload, known, options=OPTIONS)
    assert found is not None
    one = found.entries.table.columns  # type: ignore[attr-defined]
    copies = -(-count // len(one))
    columns = Columns.joined([one] * copies)
    texts = [f"{copy}/{path}" for copy in range(copies) for path in one.path]
    columns.path = Texts.of(texts)
    columns.test_uuid = Texts.of(uuid.UUID(int=number).hex for number in range(len(texts)))
    columns.measurement = Texts.of(itertools.repeat(None, len(texts)))
    models: list[Scalar] = [f"model-{copy}" for copy in range(copies) for _ in range(len(one))]
    columns.settings["model"] = Shared.of(models, reserved=[None])
    tree.mkdir()
    context = Context(workload, tree.resolve(), workload_code.source_digest(workload.source), OPTIONS)
    tree_index.save(context, tree_index.Contents(columns, []))
    return tree


def in_a_process(action: Callable[[], object]) -> Taken:
    """What *action* takes in a process of its own, its processes with it; of memory, the one that takes most."""

    def run() -> None:
        began, wall = os.times(), time.perf_counter()
        with garbage_is_rare():  # as in a command
            action()
        wall, ended = time.perf_counter() - wall, os.times()
        cpu = sum(ended[:4]) - sum(began[:4])
        whose = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
        theirs.send((wall, cpu, max(resource.getrusage(each).ru_maxrss for each in whose) // 1024))

    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    sys.stdout.flush()
    process = context.Process(target=run)
    process.start()
    theirs.close()
    found: Taken = ours.recv()
    process.join()
    return found


def per_test(taken: Taken, count: int) -> str:
    wall, cpu, peak = taken
    return f"{1000 * wall / count:6.3f} ms a test, {1000 * cpu / count:6.3f} ms of processors, {peak:>6,} MiB"


if __name__ == "__main__":
    main()
