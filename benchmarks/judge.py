"""How right the answers are: each figure beside what it has to reach, in one table, from a fresh seed.

    python benchmarks/judge.py [--only best] [--quick] [--replications 1000] [--seed N]

Nothing was tuned on these draws: constants were chosen on other seeds. `docs/statistics.md` says of each question
whether the family of noise was another one, too. Others answer the same cases where they can: Welch's test, a
bootstrap, the vote of six tests that Mozilla runs, and apache-otava, to which two groups of runs are one series.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import functools
import importlib
import secrets
import time

from judging.peers import otavas_environment
from judging.row import Row

PARTS = ("best", "pair", "history", "search", "speed")
QUICK = 40
NAMES = ("Welch", "bootstrap", "apache-otava", "vote of six")
COLUMNS = ("row", "before", "to reach", "ours", *NAMES, "reached")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=PARTS, action="append", help="the questions to ask (default: all)")
    parser.add_argument("--replications", type=int, default=1000, help="simulated campaigns of each case")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK} replications: does it run at all?")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(2**32), help="fresh unless given")
    options = parser.parse_args()
    replications = QUICK if options.quick else options.replications
    print(f"Seed {options.seed}, {replications} replications.\n", flush=True)
    print(f"| {' | '.join(COLUMNS)} |\n{'|---' * len(COLUMNS)}|", flush=True)
    otavas_environment()  # once, before two processes would
    missed, seconds = 0, dict[str, float]()
    with concurrent.futures.ProcessPoolExecutor(max_workers=2) as pool:
        parts = options.only or PARTS
        found = pool.map(functools.partial(_rows, options.seed, replications), parts)
        for part, (rows, spent) in zip(parts, found, strict=True):
            print("\n".join(map(_line, rows)), flush=True)
            missed += sum(row.reached is False for row in rows)
            seconds[part] = spent
    spent_on = ", ".join(f"{part} {spent:.0f} s" for part, spent in seconds.items())
    print(f"\n{missed} not reached. Processor time: {spent_on}.")


def _rows(seed: int, replications: int, part: str) -> tuple[list[Row], float]:
    """The rows of a part, and the processor's seconds that they took."""
    before = time.process_time()
    return list(importlib.import_module(f"judging.{part}").rows(seed, replications)), time.process_time() - before


def _line(row: Row) -> str:
    reached = {True: "yes", False: "**no**", None: ""}[row.reached]
    beside = [row.peers.get(name, "") for name in NAMES]
    others = [f"{name} {figure}" for name, figure in row.peers.items() if name not in NAMES]
    ours = "; ".join([row.figure, *others])
    cells = [f"{row.question}: {row.case}", row.before, row.to_reach, ours, *beside, reached]
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
