"""How likely it is that some fail so much more often than others, and with which values of which settings they do."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

from ..filters import show
from ..matrix import Entry, typed
from .intervals import CONFIDENCE

Counts = tuple[int, int]
"""How many runs failed, and how many there are."""
_NEGLIGIBLE = 1e-12
MOST_VALUES = 60  # a setting with more values names tests rather than a cause; it isn't looked at


@dataclasses.dataclass(frozen=True, slots=True)
class Prone:
    """A value of a setting whose tests fail more often than those without it."""

    setting: str
    value: object
    failed_with: int  # of the tests with it
    tests_with: int
    failed: int  # of all tests
    # One-sided, of Fisher's exact test (Fisher 1935, The Design of Experiments), times the number of values that were
    # looked at (Bonferroni's correction).
    p_value: float

    def __str__(self) -> str:
        share = f"All {self.failed}" if self.failed_with == self.failed else f"{self.failed_with} of {self.failed}"
        all_of_it = "all" if self.failed_with == self.tests_with else f"{self.failed_with}"
        return (
            f"{share} failed tests have {self.setting}={show(self.value)}; "
            f"of the {self.tests_with} with it {all_of_it} failed."
        )


def chance(new: Counts, old: Counts) -> float:
    """That of as many failed *new* runs as there are, or more, if they fail as often as *old* ones.

    One-sided, of Fisher's exact test (Fisher 1935, The Design of Experiments).
    """
    (failed, runs), every, bad = new, new[1] + old[1], new[0] + old[0]
    if failed * old[1] <= old[0] * runs:
        return 1.0
    whole, total = _ways(every, runs), 0.0
    for count in range(failed, min(runs, bad) + 1):
        each = math.exp(_ways(bad, count) + _ways(every - bad, runs - count) - whole)
        total += each
        if each <= _NEGLIGIBLE * total:  # they only fall, beyond the mean
            break
    return min(total, 1.0)


def _ways(every: int, some: int) -> float:
    """The logarithm of how many ways there are to choose *some* of *every*."""
    return math.lgamma(every + 1) - math.lgamma(some + 1) - math.lgamma(every - some + 1)


def prone_values(tests: Sequence[Entry]) -> list[Prone]:
    """The values with which tests fail more often than chance explains, at 95 % over all of them; the surest first."""
    failed = sum(test.failed for test in tests)
    if not failed:
        return []
    counts = _counts(tests)
    found = []
    for (setting, _), (value, bad, total) in counts.items():
        p_value = chance((bad, total), (failed - bad, len(tests) - total)) * len(counts)
        if p_value < 1 - CONFIDENCE:
            found.append(Prone(setting, value, bad, total, failed, p_value))
    return sorted(found, key=lambda one: (one.p_value, one.setting, show(one.value)))


def _counts(tests: Sequence[Entry]) -> dict[tuple[str, object], tuple[object, int, int]]:
    """For each setting and value that not all tests have: the value, how many with it failed, how many there are."""
    values: dict[str, dict[object, tuple[object, int, int]]] = {}
    for test in tests:
        for name, value in test.settings.items():
            known = values.setdefault(name, {})
            _, bad, total = known.get(typed(value), (value, 0, 0))
            known[typed(value)] = (value, bad + test.failed, total + 1)
    return {
        (name, kind): count
        for name, known in values.items()
        if len(known) <= MOST_VALUES
        for kind, count in known.items()
        if count[2] < len(tests)
    }
