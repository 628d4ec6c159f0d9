"""What the utilisation monitor takes of a core, while it watches its own process and idles.

    python benchmarks/monitor.py [--seconds 10]

The monitor measures itself in each run (`monitor_cores` of utilization.json); this prints the same number for a quiet
machine, beside the target of 2 % of a core, for no process, for one and for twenty that are watched.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time

from matrix_benchmarking.benchmark.monitor import Monitor

TARGET = 0.02


def cost(processes: int, seconds: float) -> float:
    """The monitor's use of a core, in cores, while it watches as many idle processes."""
    idle = [subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) for _ in range(processes)]
    time.sleep(0.5)
    began = time.time()
    with Monitor({"idle": [process.pid for process in idle]}) as monitor:
        time.sleep(seconds)
    for process in idle:
        process.communicate(b"\n")
    cores = monitor.utilization({"start": began, "end": time.time()})["monitor_cores"]
    assert isinstance(cores, float)
    return cores


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=10.0)
    options = parser.parse_args()
    print(f"{'watched processes':>18} {'of a core':>10} {'target':>8}")
    for processes in (0, 1, 20):
        print(f"{processes:>18} {cost(processes, options.seconds):>10.2%} {TARGET:>8.0%}")


if __name__ == "__main__":
    main()
