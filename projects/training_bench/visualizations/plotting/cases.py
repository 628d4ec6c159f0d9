"""The cases of a matrix: the runs of one strategy at one I/O speed, in an order and with names for plots and tables."""

from __future__ import annotations

import dataclasses
import itertools
import math
import re
from collections.abc import Iterable, Mapping, Sequence

from matrix_benchmarking.analyze.intervals import Sample, summarise
from matrix_benchmarking.analyze.points import by_point, varying
from matrix_benchmarking.analyze.study import Study
from matrix_benchmarking.analyze.words import variant_label
from matrix_benchmarking.errors import did_you_mean
from matrix_benchmarking.filters import Scalar, show
from matrix_benchmarking.matrix import NOT_SET, Entry, Matrix
from matrix_benchmarking.plotting import clicks, template

from ..analyze import speed_of

STRATEGY, IO_SPEED = "strategy", "io_speed"
DURATION, WAIT = "epoch_duration", "data_wait"
_COLOUR = re.compile("#[0-9a-fA-F]{6}")


@dataclasses.dataclass(frozen=True, slots=True)
class TrainingCase:
    """The successful runs of a point that have an epoch duration, with what varies, and the I/O speed, in words."""

    settings: Mapping[str, Scalar]
    runs: tuple[Entry, ...]
    label: str
    speed: str
    duration: Sample


def chosen(study: Study) -> dict[str, str]:
    """The strategies that the option ``strategies`` names, in its order, each with its colour, empty for none."""
    return {name: colour if _COLOUR.fullmatch(colour) else "" for name, _, colour in _parts(study)}


def not_understood(study: Study) -> list[str]:
    """A sentence on each strategy of the option that no run has, and on each colour that is none."""
    there = [show(value) for value in study.known.settings.get(STRATEGY, [])]
    said = [
        f"strategies: no run has '{name}' ({did_you_mean(name, there)})." for name in chosen(study) if name not in there
    ]
    wrong = [colour for _, is_given, colour in _parts(study) if is_given and not _COLOUR.fullmatch(colour)]
    return [*said, *(f"strategies: '{colour}' is no colour such as #0072b2." for colour in wrong)]


def _parts(study: Study) -> list[tuple[str, str, str]]:
    given = str(study.given.options.get("strategies", ""))
    return [part.strip().partition("=") for part in given.split(":") if part.strip()]


def cases_in(study: Study, runs: Iterable[Entry]) -> list[TrainingCase]:
    """The cases among *runs*, labelled by what varies in all that was read, first the strategies that were chosen."""
    return cases_of(runs, label_names(study.read), list(chosen(study)))


def colours(study: Study) -> dict[str, str]:
    """The colour of each label over all that was read, in their order, so that it is the same whatever is selected."""
    wanted = chosen(study)
    taken = {colour.lower() for colour in wanted.values()}
    free = itertools.cycle([each for each in template.COLOURS if each not in taken] or template.COLOURS)
    strategies = {template.text(case.label): show(case.settings.get(STRATEGY)) for case in cases_in(study, study.read)}
    return {label: wanted.get(strategy) or next(free) for label, strategy in strategies.items()}


def cases_of(entries: Iterable[Entry], names: Sequence[str], first: Sequence[str] = ()) -> list[TrainingCase]:
    """The cases among *entries*: strategies in the order of *first*, then the slowest, each by I/O speed.

    *names* are the settings of which their labels are made.
    """
    found = []
    for runs in by_point(entry for entry in entries if not entry.failed and DURATION in entry.kpis):
        settings = runs[0].settings
        label, speed = variant_label(settings, names), speed_label(settings.get(IO_SPEED))
        duration = summarise([run.kpis[DURATION] for run in runs])
        found.append(TrainingCase(settings, tuple(runs), label, speed, duration))
    slowest: dict[str, float] = {}
    for case in found:
        slowest[case.label] = max(slowest.get(case.label, 0.0), case.duration.mean)
    places = {strategy: place for place, strategy in enumerate(first)}

    def place(case: TrainingCase) -> tuple[object, ...]:
        strategy = places.get(show(case.settings.get(STRATEGY)), len(places))
        return strategy, -slowest[case.label], case.label, _order(case.settings)

    return sorted(found, key=place)


def having(cases: Iterable[TrainingCase], kpi: str) -> list[TrainingCase]:
    """Those of which a run has the *kpi*."""
    return [case for case in cases if _with(case.runs, kpi)]


def left_out(entries: Sequence[Entry], cases: Iterable[TrainingCase], what: str = "") -> list[str]:
    """How many of *entries* are in none of *cases*, each of which has *what* besides an epoch that counts.

    Where that is a KPI, a repeat that lacks it is in none.
    """
    shown = [run for case in cases for run in _with(case.runs, what) or case.runs]
    return clicks.not_shown(
        entries, shown, lambda run: f"without {what if what and DURATION in run.kpis else 'an epoch that counts'}"
    )


def _with(runs: Iterable[Entry], kpi: str) -> list[Entry]:
    return [run for run in runs if kpi in run.kpis]


def label_names(matrix: Matrix) -> list[str]:
    """The settings that a case's label is made of: the strategy, and what varies besides it and the I/O speed."""
    others = [name for name in varying(matrix.entries) if name not in (STRATEGY, IO_SPEED)]
    return [STRATEGY, *others]


def speed_label(io_speed: object) -> str:
    """``50 MB/s``, or what else the setting says."""
    if io_speed in (None, NOT_SET):
        return "I/O speed not told"
    return f"{show(io_speed)} MB/s" if isinstance(io_speed, (int, float)) else show(io_speed)


def speeds(matrix: Matrix) -> list[str]:
    """All I/O speeds in words, slow ones first, so that their colours are the same on all pages."""
    return [speed_label(value) for value in sorted(matrix.settings.get(IO_SPEED, []), key=_place)]


def strategy_order(cases: Iterable[TrainingCase]) -> list[str]:
    """The labels of the cases, each once, in their order, as plotly shall write them."""
    return list(dict.fromkeys(template.text(case.label) for case in cases))


def hover(case: TrainingCase, *lines: str) -> str:
    """What a mark says of its case."""
    return clicks.hover(case.runs, f"{template.text(case.label)}, {template.text(case.speed)}", *lines)


def on_cpu(run: Entry) -> bool:
    """True if the loop says that it computed on the CPU: whatever GPUs the machine has, they don't matter to it."""
    return getattr(run.lts.results, "device", None) == "cpu"


def _order(settings: Mapping[str, object]) -> tuple[float, str]:
    return _place(settings.get(IO_SPEED))


def _place(io_speed: object) -> tuple[float, str]:
    speed = speed_of(io_speed)
    return (math.inf if speed is None else speed, "" if speed is not None else _show(io_speed))


def _show(value: object) -> str:
    return "" if value is NOT_SET else show(value)
