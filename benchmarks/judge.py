"""How right the answers are: each figure beside what it has to reach, in one table, from a fresh seed.

    python benchmarks/judge.py [--only best] [--replications 1000] [--seed N]

Nothing was tuned on these draws: constants were chosen on other seeds. `docs/statistics.md` says of each question
whether the family of noise was another one, too.
"""

from __future__ import annotations

import argparse
import importlib
import secrets
from pathlib import Path

from judging.row import Row

PARTS = tuple(sorted(path.stem for path in (Path(__file__).parent / "judging").glob("*.py") if path.stem != "row"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=PARTS, action="append", help="the questions to ask (default: all)")
    parser.add_argument("--replications", type=int, default=1000, help="simulated campaigns of each case")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(2**32), help="fresh unless given")
    options = parser.parse_args()
    print(f"Seed {options.seed}, {options.replications} replications.\n")
    print("| question | case | figure | before | to reach | reached |\n|---|---|---|---|---|---|")
    missed = 0
    for part in options.only or PARTS:
        for row in importlib.import_module(f"judging.{part}").rows(options.seed, options.replications):
            print(_line(row), flush=True)
            missed += row.reached is False
    print(f"\n{missed} not reached.")


def _line(row: Row) -> str:
    reached = {True: "yes", False: "**no**", None: ""}[row.reached]
    return f"| {row.question} | {row.case} | {row.figure} | {row.before} | {row.to_reach} | {reached} |"


if __name__ == "__main__":
    main()
