"""What a point costs on a cluster beside what it measures: seconds of a processor, of the starter and of a worker.

Points whose command does nothing, on two workers of this machine, which measure one at a time; and the same without a
cluster. Each figure is a difference between the first points and the last one, so that no start is in it.

    python benchmarks/cluster.py [--points 120]
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil
import yaml

FIRST = 20
LOOK_S = 0.2


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--points", type=int, default=120, help=f"to measure, more than {FIRST}")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="matbench-cluster-") as directory:
        file = Path(directory, "points.yaml")
        script = {"shell": True, "command": "true {n}"}
        file.write_text(yaml.safe_dump({"expe": {"a": {"n": [*range(options.points)]}}, "script_tpl": script}))
        for name, words in (("one machine", []), ("{local: 2}", ["--cluster={local: 2}"])):
            own, others, clock = _measured(file, Path(directory, f"results-{len(words)}"), words, options.points)
            print(
                f"{name:<12} a point: {own:.3f} s of the starter, {others:.3f} s of its processes, {clock:.2f} s in all"
            )


def _measured(file: Path, results: Path, words: list[str], points: int) -> tuple[float, float, float]:
    """Seconds a point: of the starter's processor, of its processes', those that have ended too, and of the clock."""
    command = [sys.executable, "-m", "matrix_benchmarking", "benchmark", str(file), "--run", *words]
    command.append(f"--results-dirname={results}")
    seen: list[tuple[int, float, float, float]] = []
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as starter:
        known = psutil.Process(starter.pid)
        while starter.poll() is None:
            done = len(list(results.glob("a/*/exit_code")))
            if done >= FIRST or not seen:
                own, ended = known.cpu_times(), 0.0
                for child in known.children():
                    taken = child.cpu_times()
                    ended += taken.user + taken.system + taken.children_user + taken.children_system
                ended += own.children_user + own.children_system
                seen.append((done, own.user + own.system, ended, time.monotonic()))
                seen[:] = [one for one in seen if one[0] >= min(FIRST, done)]
            time.sleep(LOOK_S)
    first = next(one for one in seen if one[0] >= FIRST)
    last = max(seen, key=lambda one: (one[0], -one[3]))
    count = last[0] - first[0]
    if starter.returncode or count < 1 or last[0] > points:
        raise SystemExit(f"the benchmark ended with {starter.returncode} after {last[0]} points")
    own_s, others_s, clock_s = ((after - before) / count for before, after in zip(first[1:], last[1:], strict=True))
    return own_s, others_s, clock_s


if __name__ == "__main__":
    main()
