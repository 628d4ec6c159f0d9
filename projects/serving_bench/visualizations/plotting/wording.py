"""What the steps show, in sentences made from the data: no claim beyond the runs behind it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from matrix_benchmarking.analyze.intervals import Comparison, Interval, Sample, Scale, interval, scale_of
from matrix_benchmarking.analyze.wording import plural

from ..steps import Change, Step


def rate(value: float) -> str:
    return f"{value:,.2f} requests/s"


def behind(sample: Sample) -> str:
    """How many runs stand behind a value, and its interval from their spread."""
    if sample.runs == 1:
        return "one run: no interval"
    found = interval(sample, scale_of([sample.mean]))
    ends = f"; 95 % interval {found.low:,.2f} to {found.high:,.2f}" if found else ""
    return f"{sample.runs} runs{ends}"


def at(step: Step) -> str:
    """Where the step's runs were best: ``at concurrency 64``."""
    return "at concurrency " + " or ".join(str(place) for place in step.best_at)


def best_sentence(step: Step) -> str:
    """The best throughput of *step*, and what it is of the model by itself and of the theoretical maximum."""
    assert step.best is not None
    sentence = f"Highest API throughput: {step.label}: {rate(step.best.mean)} {at(step)} ({behind(step.best)})."
    shares = []
    alone = model_peak(step)
    if alone:
        where = f"{rate(alone[1])} in batches of {alone[0]}"
        shares.append(f"{step.best.mean / alone[1]:.1%} of what its model did by itself ({where})")
    if step.maximum is not None:
        shares.append(
            f"{step.best.mean / step.maximum:.1%} of the theoretical maximum ({step.maximum:,.0f} requests/s)"
        )
    return f"{sentence} That is {' and '.join(shares)}." if shares else sentence


def model_peak(step: Step) -> tuple[int, float] | None:
    """The batch size at which the model by itself was fastest in the mean, and its requests/s; None if not measured."""
    means = {size: math.fsum(r.throughput for r in records) / len(records) for size, records in step.baseline.items()}
    return max(means.items(), key=lambda item: item[1]) if means else None


def maximum_name(step: Step) -> str:
    """What the theoretical maximum of *step* is of: ``maximum in float32``."""
    precision = step.settings.get("precision")
    return "theoretical maximum" if precision is None else f"theoretical maximum in {precision}"


def model_sentences(steps: Iterable[Step]) -> list[str]:
    """For each theoretical maximum, what of it the model by itself reached at most."""
    best: dict[float, tuple[float, Step]] = {}
    for step in steps:
        peak = model_peak(step)
        if peak is not None and step.maximum is not None:
            best[step.maximum] = max(best.get(step.maximum, (0.0, step)), (peak[1], step), key=lambda item: item[0])
    return [
        f"By itself the model reached at most {rate(peak)}, {peak / maximum:.1%} of the {maximum_name(step)} "
        f"({maximum:,.0f} requests/s)."
        for maximum, (peak, step) in sorted(best.items())
    ]


def maximum_sentences(steps: Iterable[Step]) -> list[str]:
    """For each reason why a theoretical maximum is unknown, a sentence."""
    reasons = dict.fromkeys(step.maximum_unknown for step in steps if step.maximum is None)
    return [f"The theoretical maximum is unknown: {reason}." for reason in reasons if reason]


def signed(comparison: Comparison) -> str:
    """A change with its sign: ``+29.6 %``."""
    return difference(comparison.difference, comparison.scale)


def difference(value: float, scale: Scale) -> str:
    """``+29.6 %`` on the ratio scale, else in requests/s."""
    sign = "+" if value >= 0 else "−"
    return f"{sign}{abs(value):.1%}".replace("%", " %") if scale is Scale.RATIO else f"{sign}{abs(value):,.2f}"


def ends(found: Interval | None, scale: Scale) -> str:
    """An interval of a change; ``unknown`` where nothing was repeated."""
    return "unknown" if found is None else f"{difference(found.low, scale)} to {difference(found.high, scale)}"


def repeats_sentence(steps: Sequence[Step]) -> str:
    """What the number of runs behind each step allows to conclude."""
    counts = sorted({step.best.runs for step in steps if step.best is not None})
    if not counts or counts[-1] == 1:
        return (
            "Each configuration was run once: whether a difference between two of them is more than chance isn't known."
        )
    shown = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    return f"Behind each configuration are {shown} {plural(counts[-1], 'run')}."


def extremes(change: Change) -> tuple[int | None, int | None]:
    """The concurrencies at which most was gained and lost, of those whose change isn't known to be chance."""
    known = {place: one.difference for place, one in change.at.items() if one.apart is not False}
    most, least = (pick(known, key=known.__getitem__, default=None) for pick in (max, min))
    gained = most if most is not None and known[most] > 0 else None
    lost = least if least is not None and known[least] < 0 else None
    return gained, lost
