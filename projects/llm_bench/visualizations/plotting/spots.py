"""The points of a matrix as the pages of this workload show them: a variant, its load, and its values."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence

from matrix_benchmarking.analyze.intervals import summarise
from matrix_benchmarking.analyze.points import by_point, varying
from matrix_benchmarking.analyze.study import Study
from matrix_benchmarking.analyze.words import count_of, tuning_label, variant_label
from matrix_benchmarking.kpi import KPIDefinition
from matrix_benchmarking.matrix import Entry
from matrix_benchmarking.plotting import View, clicks
from matrix_benchmarking.plotting.controls import Choice
from matrix_benchmarking.plotting.template import text
from matrix_benchmarking.workload import Workload

GROUP = "prompts"
ALL_ALIKE = "all runs"


@dataclasses.dataclass(frozen=True, slots=True)
class Value:
    """The mean of a KPI over the runs of a point that have it, and the least and the largest of them."""

    mean: float
    low: float
    high: float
    runs: int


@dataclasses.dataclass(frozen=True)
class Spot:
    """The runs at one setting that neither failed nor are impossible; ``load`` says what tells it from others of its
    variant.
    """

    group: str
    variant: str
    load: str
    runs: Sequence[Entry]

    def value(self, kpi: KPIDefinition) -> Value | None:
        values = [run.kpis[kpi.name] for run in self.runs if kpi.name in run.kpis]
        return Value(summarise(values).mean, min(values), max(values), len(values)) if values else None

    def hover(self, *kpis: KPIDefinition) -> str:
        said = [f"{kpi.name} {kpi.show(value.mean)}" for kpi in kpis if (value := self.value(kpi)) is not None]
        return clicks.hover(self.runs, text(self.variant), *said)


def names_of_variants(runs: Iterable[Entry], workload: Workload) -> list[str]:
    """The settings that tell variants of *runs* apart; where none does, those that name one."""
    everything = list(runs)
    differing = varying(entry.settings for entry in everything)
    present = {name for entry in everything for name in entry.settings}
    names = [name for name in workload.variant_keys if name in differing]
    return names or [name for name in ("engine", "version", "hw_type") if name in present]


def label_of(settings: Mapping[str, object], names: Sequence[str]) -> str:
    """The variant by what is known of it."""
    unset = f"{', '.join(names)} not set" if names else "all"
    return variant_label(settings, [name for name in names if name in settings]) or unset


def groups_of(study: Study) -> dict[str, list[Entry]]:
    """The runs that may be compared with each other, by what they have in common: the headline's group first, the
    others by their numbers of runs.
    """
    differing = varying(study.matrix.entries)
    names = [name for name in study.workload.group_keys if name in differing]
    groups: dict[str, list[Entry]] = {}
    for entry in study.matrix:
        groups.setdefault(tuning_label(entry.settings, names) or ALL_ALIKE, []).append(entry)
    best = study.of_all
    ranked = [*best.compared, *best.alone][:1]
    first = [tuning_label(group.best.settings, names) or ALL_ALIKE for group in ranked]
    return dict(sorted(groups.items(), key=lambda each: (each[0] not in first, -len(each[1]))))


def group_choice(study: Study) -> list[Choice]:
    """Which runs a plot shows, where there are several groups; the headline's first."""
    groups = groups_of(study)
    if len(groups) < 2:
        return []
    labels = {name: f"{name} ({count_of(len(runs), 'run')})" for name, runs in groups.items()}
    return [Choice(GROUP, "Model and prompts", tuple(groups), default=next(iter(groups)), labels=labels)]


def shown_group(view: View) -> tuple[str | None, Sequence[Entry], list[str]]:
    """The group that was chosen, else the headline's, its runs, and which one it is in a sentence; None and no
    sentence where there is but one.
    """
    groups = groups_of(view.study)
    if len(groups) < 2:
        return None, view.runs, []
    group = str(view.option(GROUP))
    wanted = {id(entry) for entry in groups[group]}
    said = f"Shown is {group}, one of {len(groups)} groups of model and prompts."
    return group, [run for run in view.runs if id(run) in wanted], [said]


def spots_of(study: Study, runs: Iterable[Entry], group: str | None = None) -> list[Spot]:
    """The points of *runs*, which are of *group*, that keep the limit which is in force."""
    workload = study.workload
    chosen = study.within_limit(runs)
    names = names_of_variants(chosen, workload)
    differing = varying(run.settings for run in chosen)
    loads = [name for name in differing if name not in {*workload.variant_keys, *workload.group_keys}]
    return [
        Spot(
            group or ALL_ALIKE,
            label_of(ones[0].settings, names),
            tuning_label(ones[0].settings, loads),
            ones,
        )
        for ones in by_point(run for run in chosen if not (run.failed or run.implausible))
    ]


def by_variant(spots: Iterable[Spot]) -> dict[str, list[Spot]]:
    found: dict[str, list[Spot]] = {}
    for spot in spots:
        found.setdefault(spot.variant, []).append(spot)
    return dict(sorted(found.items()))


def all_variants(spots: Iterable[Spot]) -> list[str]:
    """The labels of all variants, in the order of their colours."""
    return sorted({spot.variant for spot in spots})


def known(workload: Workload, runs: Iterable[Entry], names: Sequence[str]) -> list[str]:
    """Those of the KPIs *names* that some run has."""
    there = frozenset[str]().union(*(run.kpis for run in runs))
    return [name for name in names if name in there and name in workload.kpis]


def not_shown(runs: Sequence[Entry], spots: Sequence[Spot], why: Callable[[Entry], str]) -> list[str]:
    """How many of *runs* are in none of *spots*, and why."""

    def reason(run: Entry) -> str:
        return "with values that can't be" if run.implausible else why(run)

    return clicks.not_shown(runs, [run for spot in spots for run in spot.runs], reason)


def of_versions(study: Study, said: str) -> str:
    """*said* of points that stand beside those of other versions, where the ranking is of the newest alone."""
    newest = study.of_all.newest
    return said if newest is None else f"Of all {newest.of} versions: {said[:1].lower()}{said[1:]}"


def on_repeats(spots: Sequence[Spot]) -> str:
    """What can't be said without repeats; empty where each point has several runs."""
    single = sum(len(spot.runs) == 1 for spot in spots)
    if single == len(spots):
        return "No point was measured twice, so whether a difference is more than chance can't be told."
    return f"{single} of {len(spots)} points were measured once: how far these scatter is unknown." if single else ""


def tokens_per_usd(spot: Spot) -> float | None:
    """Output tokens per USD: what the mean of the runs' costs comes to; None where no run knows its own."""
    costs = [run.kpis["1M_output_cost"] for run in spot.runs if run.kpis.get("1M_output_cost")]
    return 1e6 / summarise(costs).mean if costs else None


def prices_of(runs: Iterable[Entry]) -> Mapping[str, float]:
    """USD per hour and GPU by hw_type, as the costs of the *runs* have them."""
    found: dict[str, float] = {}
    for run in runs:
        cost, rate = run.kpis.get("1M_output_cost"), run.kpis.get("output_tokens_per_s_per_gpu")
        if cost is not None and rate is not None and (name := run.settings.get("hw_type")) is not None:
            found.setdefault(str(name), cost * rate * 3600 / 1e6)
    return dict(sorted(found.items()))
