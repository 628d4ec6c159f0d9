"""What makes an analysis fail, series by series, in words."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import pytest
from report_support import analyses

from matrix_benchmarking.analyze.detect import Estimate
from matrix_benchmarking.analyze.report.markdown import Worse, worse
from matrix_benchmarking.analyze.verdict.model import Outcome, Status


def found(*alarms: dict[str, Any], **others: Any) -> Worse:
    """Of a series with these alarms, the last of them the newest."""
    made = analyses.verdict(Outcome.REGRESSION, name="all runs", **others)
    made = msgspec.structs.replace(made, alarms=tuple(analyses.alarm(made, **{"id": "a", **said}) for said in alarms))
    (one,) = worse(analyses.analysis(analyses.verdict(), made))
    return one


def test_the_newest_alarm_that_nobody_dealt_with_is_meant_and_the_others_are_counted() -> None:
    earlier = {"id": "e", "first_bad": "1.2.10"}
    closed = {"id": "c", "status": Status.RESOLVED}
    for alarms, id_, others, said in [
        ([{}], "a", 0, "Alarm a."),
        ([{}, closed], "a", 0, "Alarm a."),
        ([earlier, {}], "a", 1, "Alarm a, and 1 more alarm of this series."),
        ([earlier, earlier, {}], "a", 2, "Alarm a, and 2 more alarms of this series."),
    ]:
        one = found(*alarms)
        assert (one.alarm.id, one.others) == (id_, others)
        assert one.sentence.endswith(f"20 and 10 runs. {said}")
        assert one.accept == "If it is meant: matbench alarms ack a --reason …"


def test_an_alarm_of_the_last_change_has_its_size() -> None:
    one = found({})
    assert (one.size, one.levels, one.fraction) == ("−10.3 % (−12.3 to −8.3 %)", "100.0 → 89.7 1/s", -0.103)
    assert found({}, effect=None).fraction is None
    assert found({}, effect=Estimate(math.inf, 0.0, math.inf)).fraction is None


@pytest.mark.parametrize(
    ("old_level", "new_level", "size", "fraction"),
    [
        (120.0, 90.0, "−25.0 %", -0.25),
        (0.5, 0.25, "−50.0 %", -0.5),
        (0.0, 1.0, "of unknown size", None),
        (-1.0, 1.0, "of unknown size", None),
    ],
)
def test_an_earlier_alarm_has_the_size_that_it_was_raised_with(
    old_level: float, new_level: float, size: str, fraction: float | None
) -> None:
    earlier = {"first_bad": "1.2.10", "last_good": "1.2.9", "old_level": old_level, "new_level": new_level}
    one = found({**earlier, "note": "it ran out."})
    assert (one.size, one.fraction) == (size, fraction)
    assert one.sentence == (
        "throughput of all runs is worse since 1.2.10 (last good 1.2.9): "
        f"{size}, {old_level:.1f} → {new_level:.1f} 1/s. "
        "it ran out. Alarm a."
    )


def test_what_is_no_regression_any_more_has_the_size_of_its_alarm() -> None:
    made = msgspec.structs.replace(analyses.regression(said={"id": ""}), outcome=Outcome.NO_CHANGE)
    (one,) = worse(analyses.analysis(made))
    assert (one.size, one.accept) == ("−10.3 %", "")
    assert one.sentence.endswith("(last good 1.3.0): −10.3 %, 100.0 → 89.7 1/s.")
    assert worse(analyses.fine()) == []
