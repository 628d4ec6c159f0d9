"""Change points that people marked, against those that are found: ours beside its peers, defaults for everything.

    python benchmarks/detector_labelled.py CHECKOUT [--peers build/peers]

CHECKOUT is one of https://github.com/alan-turing-institute/TCPD: 42 series, each marked by five people (van den Burg
and Williams 2020, arXiv:2003.06222). Those of one dimension whose data lie in the checkout are taken. The two measures
are the paper's: F1, of which a change counts as found within five points, and how well the segments cover those of each
person.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
from collections.abc import Sequence
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(REPOSITORY), str(REPOSITORY / "benchmarks")]

from detector import PEERS, Methods, Peers  # noqa: E402

MARGIN = 5
NOTHING = "nothing"  # the method that never finds a change: people often mark none
METHODS = ("ours", *PEERS, NOTHING)
Marks = list[list[int]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--peers", type=Path, default=REPOSITORY / "build" / "peers", help="the peers' environment")
    options = parser.parse_args()
    methods = Methods(Peers(options.peers), threshold=0.0)
    series = labelled(options.checkout)
    found = {method: [_found(methods, method, values) for values, _ in series.values()] for method in METHODS}
    for title, measure in (("F1, margin of 5 points", f1), ("covering", covering)):
        rows = [
            [name, *[measure(marks, found[method][place], len(values)) for method in METHODS]]
            for place, (name, (values, marks)) in enumerate(series.items())
        ]
        _show(title, rows)


def labelled(checkout: Path) -> dict[str, tuple[list[float | None], Marks]]:
    """Each series of one dimension, and the change points that each person marked."""
    annotations = json.loads((checkout / "annotations.json").read_text())
    series = {}
    for path in sorted(checkout.glob("datasets/*/*.json")):
        data = json.loads(path.read_text())
        if data["n_dim"] == 1 and data["name"] in annotations:
            marks = [list(points) for points in annotations[data["name"]].values()]
            series[data["name"]] = (data["series"][0]["raw"], marks)
    return series


def _found(methods: Methods, method: str, values: Sequence[float | None]) -> list[int]:
    """The change points that a method finds, with gaps left out."""
    known = [place for place, value in enumerate(values) if value is not None]
    if method == NOTHING:
        return []
    [points] = methods.whole(method, [[float(values[place] or 0.0) for place in known]])
    return [known[point] for point in points]


def f1(marks: Marks, found: list[int], length: int) -> float:
    """Precision is over what anybody marked, recall the mean over people; the series' beginning is a change for all."""
    points = {0, *found}
    precision = len(_hits({0, *(mark for person in marks for mark in person)}, points)) / len(points)
    recall = sum(len(_hits({0, *person}, points)) / len({0, *person}) for person in marks) / len(marks)
    return 2 * precision * recall / (precision + recall)


def _hits(marks: set[int], points: set[int]) -> list[int]:
    """The marks that have a point of their own within the margin."""
    free, hits = set(points), []
    for mark in sorted(marks):
        near = [(abs(mark - point), point) for point in free if abs(mark - point) <= MARGIN]
        if near:
            free.remove(min(near)[1])
            hits.append(mark)
    return hits


def covering(marks: Marks, found: list[int], length: int) -> float:
    """The mean over people of how far each of their segments agrees with the best one that was found (Jaccard)."""
    ours = _segments(found, length)
    total = 0.0
    for person in marks:
        for begin, end in _segments(person, length):
            total += (end - begin) * max(_jaccard((begin, end), segment) for segment in ours)
    return total / length / len(marks)


def _segments(points: list[int], length: int) -> list[tuple[int, int]]:
    edges = [0, *sorted(set(points) - {0, length}), length]
    return list(itertools.pairwise(edges))


def _jaccard(one: tuple[int, int], other: tuple[int, int]) -> float:
    both = min(one[1], other[1]) - max(one[0], other[0])
    return max(both, 0) / (max(one[1], other[1]) - min(one[0], other[0]))


def _show(title: str, rows: list[list[str | float]]) -> None:
    means = [sum(float(row[column]) for row in rows) / len(rows) for column in range(1, len(METHODS) + 1)]
    print(f"| {title} | " + " | ".join(METHODS) + " |")
    print("|---" * (len(METHODS) + 1) + "|")
    for row in [*rows, [f"mean of {len(rows)}", *means]]:
        print(f"| {row[0]} | " + " | ".join(f"{float(value):.2f}" for value in row[1:]) + " |")
    print()


if __name__ == "__main__":
    main()
