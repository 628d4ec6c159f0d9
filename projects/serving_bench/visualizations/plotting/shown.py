"""What the plots of serving_bench share: steps as tables and in sentences, called and coloured the same everywhere."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from matrix_benchmarking.analyze.best import Best
from matrix_benchmarking.analyze.intervals import summarise
from matrix_benchmarking.analyze.study import Study
from matrix_benchmarking.analyze.verdict.model import Outcome
from matrix_benchmarking.analyze.verdict.sides import Compared
from matrix_benchmarking.analyze.wording import ranking as wording
from matrix_benchmarking.analyze.wording import verdicts
from matrix_benchmarking.analyze.words import as_percent, count_of, plural
from matrix_benchmarking.plausible import is_number
from matrix_benchmarking.plotting import Plot, Report, View, template
from matrix_benchmarking.plotting.clicks import hover, not_shown, run_of
from matrix_benchmarking.plotting.template import text
from matrix_benchmarking.workload import MinimumEffect

from .. import models
from ..analyze import APIPoint, BaselinePoint
from ..steps import BEST, Change, Step, best_of, groups, steps

if TYPE_CHECKING:
    import pandas


NOTHING = "No successful run has a curve: its benchmark.log is missing, or holds no line that can be read."


class StepPlot(Plot):
    """A plot of steps."""

    def steps(self, view: View) -> list[Step]:
        """The steps of a selection."""
        return steps(view.runs, self.workload, self.study.read, self.study.of_all_versions)

    def left_out(self, view: View, shown: Iterable[Step]) -> list[str]:
        """How many runs of a selection are in none of the steps that are *shown*."""
        runs = [run for step in shown for run in step.runs]
        return not_shown(view.runs, runs, lambda run: "without a curve that can be read")

    def step_colours(self) -> dict[str, str]:
        """The colour of each step, by its label as plotly writes it."""
        return template.colours_of(_labels(self.study))

    def step_symbols(self) -> dict[str, str]:
        """The marker of each step."""
        return template.symbols_of(_labels(self.study))


def _labels(study: Study) -> list[str]:
    return [template.text(step.label) for step in steps(study.read, study.workload, ranking=study.of_all_versions)]


def steps_of(report: Report) -> Sequence[Step]:
    """The steps of all that a report shows."""
    return steps(report.matrix, report.workload, report.study.read, report.study.best)


STEP, PLACE, RATE, ABOVE, BELOW, RUN, HOVER = "step", "place", "requests/s", "above", "below", "run", "hover"
COLUMNS = [STEP, PLACE, RATE, ABOVE, BELOW, RUN, HOVER]


def api_frame(steps: Iterable[Step]) -> pandas.DataFrame:
    """Throughput over concurrency.

    Columns: ``step``; ``place``, the concurrency; ``requests/s``, the mean of the repeats; ``above`` and ``below``, the
    distance to the largest and the smallest of them (NaN for one run); ``run``, the id of the first; ``hover``.
    """
    return _frame((step, "concurrency", step.api) for step in steps)


def baseline_frame(steps: Iterable[Step]) -> pandas.DataFrame:
    """Throughput over batch size; columns as of :func:`api_frame`."""
    return _frame((step, "batch size", step.baseline) for step in steps)


def _frame(curves: Iterable[tuple[Step, str, Mapping[int, Sequence[APIPoint | BaselinePoint]]]]) -> pandas.DataFrame:
    import pandas

    rows = [
        _row(step, name, place, [record.throughput for record in records], records)
        for step, name, curve in curves
        for place, records in curve.items()
    ]
    return pandas.DataFrame(rows, columns=COLUMNS)


def _row(
    step: Step, name: str, place: int, rates: Sequence[float], records: Sequence[APIPoint | BaselinePoint]
) -> dict[str, object]:
    mean = summarise(rates).mean
    repeated = len(rates) > 1
    spread = f" ({min(rates):,.2f} to {max(rates):,.2f} in {len(rates)} runs)" if repeated else ""
    lines = [text(step.label), f"{name} {place}: {mean:,.2f} requests/s{spread}"]
    if name == "concurrency":
        lines.append(", ".join(f"{device.upper()} {percent(step.load(place, device))}" for device in ("cpu", "gpu")))
    return {
        STEP: text(step.label),
        PLACE: place,
        RATE: mean,
        ABOVE: max(rates) - mean if repeated else math.nan,
        BELOW: mean - min(rates) if repeated else math.nan,
        RUN: run_of(step.runs),
        HOVER: hover(step.runs, *lines),
    }


def percent(share: float | None) -> str:
    """A share as people read it."""
    return "unknown" if share is None else as_percent(share, digits=1)


THROUGHPUT = models.KPIS[BEST]


def rate(value: float) -> str:
    return f"{value:,.2f} requests/s"


def behind(step: Step) -> str:
    """How many runs stand behind its best throughput, and its interval."""
    assert step.best is not None
    return wording.behind(step.best, THROUGHPUT)


def at(step: Step) -> str:
    """Where the step's runs were best: ``at concurrency 64``."""
    return "at concurrency " + " or ".join(str(place) for place in step.best_at)


def best_sentences(steps: Iterable[Step], ranking: Best) -> list[str]:
    """The best of the steps that may be compared with each other, for each such group a sentence or two."""
    found = [best_of(group, ranking)[:1] for group in groups(steps)]
    return [_best_sentence(step) for best in found for step in best]


def _best_sentence(step: Step) -> str:
    """The best throughput of *step*, and what it is of the model by itself and of the theoretical maximum."""
    assert step.best is not None
    sentence = f"Highest API throughput: {step.label}: {rate(step.best.value)} {at(step)} ({behind(step)})."
    shares = []
    alone, efficiency = model_peak(step), _mean_of(step, "serving_efficiency")
    if alone is not None and efficiency is not None:
        where = f"{rate(alone[1])} in batches of {alone[0]}"
        shares.append(f"{as_percent(efficiency, digits=1)} of what its model did by itself ({where})")
    practical = practical_maximum(step)
    if practical is not None:
        peak, how = practical
        shares.append(f"{as_percent(step.best.value / peak, digits=1)} of its practical maximum ({rate(peak)}: {how})")
    if step.maximum is not None:
        shares.append(
            f"{as_percent(step.best.value / step.maximum, digits=1)} of the theoretical maximum "
            f"({step.maximum:,.0f} requests/s)"
        )
    return (
        f"{sentence} That is {', '.join(shares[:-1])}{' and ' * bool(shares[1:])}{shares[-1]}." if shares else sentence
    )


def model_peak(step: Step) -> tuple[int, float] | None:
    """The batch size at which the model by itself was fastest in the mean, and the mean of the highest requests/s.

    None if not measured.
    """
    means = {size: math.fsum(r.throughput for r in records) / len(records) for size, records in step.baseline.items()}
    highest = _mean_of(step, "best_baseline_throughput")
    return None if highest is None or not means else (max(means, key=means.__getitem__), highest)


def _mean_of(step: Step, kpi: str) -> float | None:
    """The mean of the *kpi* over the runs of *step* that have it, as every page has it; None where none has it."""
    values = [value for run in step.runs if (value := run.kpis.get(kpi)) is not None]
    return math.fsum(values) / len(values) if values else None


def practical_maximum(step: Step) -> tuple[float, str] | None:
    """Workers × batch / inference time: what the workers would serve in full batches if they never waited, and how.

    In requests/s, from the model by itself at the largest measured batch that the server makes. None where the number
    of workers, or the largest batch, is unknown or wasn't measured.
    """
    workers, largest = step.settings.get("workers"), step.settings.get("max_batch_size", 1)
    if not is_number(workers) or not is_number(largest):
        return None
    size = max((size for size in step.baseline if size <= largest), default=None)
    if size is None or workers < 1:
        return None
    alone = math.fsum(record.throughput for record in step.baseline[size]) / len(step.baseline[size])
    if alone <= 0:
        return None
    own = ", had each a device of its own" if workers > 1 else ""
    how = f"{count_of(int(workers), 'worker')} with batches of {size} in {1000 * size / alone:,.3g} ms{own}"
    return workers * alone, how


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
        f"By itself the model reached at most {rate(peak)}, {as_percent(peak / maximum, digits=1)} of the "
        f"{maximum_name(step)} ({maximum:,.0f} requests/s)."
        for maximum, (peak, step) in sorted(best.items())
    ]


def maximum_sentences(steps: Iterable[Step]) -> list[str]:
    """For each reason why a theoretical maximum is unknown, a sentence."""
    reasons = dict.fromkeys(step.maximum_unknown for step in steps if step.maximum is None)
    return [f"The theoretical maximum is unknown: {reason}." for reason in reasons if reason]


def signed(compared: Compared) -> str:
    """A change with its sign: ``+29.6 %``."""
    return verdicts.difference_label(compared.judged, THROUGHPUT)


def verdict_label(compared: Compared) -> str:
    """The verdict on a change in words."""
    return verdicts.verdict_label(compared.judged, compared.outcome, THROUGHPUT, MinimumEffect())


def repeats_sentence(steps: Sequence[Step]) -> str:
    """What the number of runs behind each step allows to conclude."""
    counts = sorted({len(step.best.runs) for step in steps if step.best is not None})
    if not counts or counts[-1] == 1:
        return (
            "Each configuration was run once: whether a difference between two of them is more than chance isn't known."
        )
    shown = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    return f"Behind each configuration are {shown} {plural(counts[-1], 'run')}."


def extremes(change: Change) -> tuple[int | None, int | None]:
    """The concurrencies at which most was gained and lost, where a difference is shown or can't be told."""
    known = {
        place: one.judged.measure.value for place, one in change.at.items() if one.outcome is not Outcome.NO_CHANGE
    }
    most, least = (pick(known, key=known.__getitem__, default=None) for pick in (max, min))
    gained = most if most is not None and known[most] > 0 else None
    lost = least if least is not None and known[least] < 0 else None
    return gained, lost
