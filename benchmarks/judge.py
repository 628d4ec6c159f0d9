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

from judging.peers import otavas_environment
from judging.row import Row

PARTS = ("best", "pair", "history", "search", "speed")
QUICK = 40


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=PARTS, action="append", help="the questions to ask (default: all)")
    parser.add_argument("--replications", type=int, default=1000, help="simulated campaigns of each case")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK} replications: does it run at all?")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(2**32), help="fresh unless given")
    options = parser.parse_args()
    replications = QUICK if options.quick else options.replications
    print(f"Seed {options.seed}, {replications} replications.\n", flush=True)
    print("| row | today | to reach | ours | peers | reached |\n|---|---|---|---|---|---|", flush=True)
    otavas_environment()  # once, before two processes would
    missed = 0
    with concurrent.futures.ProcessPoolExecutor(max_workers=2) as pool:
        for rows in pool.map(functools.partial(_rows, options.seed, replications), options.only or PARTS):
            print("\n".join(map(_line, rows)), flush=True)
            missed += sum(row.reached is False for row in rows)
    print(f"\n{missed} not reached.")


def _rows(seed: int, replications: int, part: str) -> list[Row]:
    return list(importlib.import_module(f"judging.{part}").rows(seed, replications))


def _line(row: Row) -> str:
    reached = {True: "yes", False: "**no**", None: ""}[row.reached]
    return f"| {row.question}: {row.case} | {row.before} | {row.to_reach} | {row.figure} | {row.peers} | {reached} |"


if __name__ == "__main__":
    main()
