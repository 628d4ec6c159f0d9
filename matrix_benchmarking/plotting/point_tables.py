"""Tables of points: cells of their settings, values and runs; and what is best under which limit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ..analyze.best import Bounded, Group, Standing, better_than, bounded, staircase, unsure, winner, within
from ..analyze.points import Point, varying
from ..analyze.wording import ranking
from ..analyze.words import plural, tuning_label
from ..filters import show
from ..kpi import KPIDefinition
from ..matrix import NOT_SET, Entry
from ..plausible import is_number
from .tables import Cell, Column, Columns, Node, Row, html, kpi_cell, table

if TYPE_CHECKING:
    from .base import Href

MOST_STEPS = 12
ROUND_LIMITS = tuple(digit * 10.0**power for power in range(-3, 7) for digit in (1, 2, 5))
"""Limits such as people name them, in the unit in which the KPI is shown."""
NAMED = 3


def setting_columns(names: Sequence[str], group: Group) -> list[Column]:
    return [
        Column(name, numeric=all(is_number(one.point.settings.get(name)) for one in group.standings)) for name in names
    ]


def setting_cells(settings: Mapping[str, object], names: Sequence[str]) -> list[Cell | str]:
    return [setting_cell(settings.get(name, NOT_SET)) for name in names]


def setting_cell(value: object) -> Cell | str:
    return Cell(show(value), sort=float(value)) if is_number(value) else show(value)


def value_columns(kpi: KPIDefinition) -> list[Column]:
    return [
        Column(kpi.name, unit=kpi.display_unit, numeric=True, help=f"{kpi.help}; {kpi.direction}"),
        Column("95 % interval", unit=kpi.display_unit, numeric=True, help="of the mean; allows for having been chosen"),
        Column("Difference", numeric=True, help="from the best point of all"),
        Column("May be the best", help="whether it is in the set that contains the best with 95 %"),
        Column("Runs", help="the runs behind the value, each a link to its test directory"),
    ]


def value_cells(standing: Standing, group: Group, href: Href, *, is_alone: bool = False) -> list[Cell | str]:
    point, kpi = standing.point, group.kpi
    is_best = point is group.best and not is_alone
    difference = ranking.difference_label(standing.difference, group.scale, kpi)
    return [
        kpi_cell(kpi, point.value, mark=is_best),
        interval_cell(point, kpi),
        Cell("best" if is_best else difference, sort=standing.difference),
        "" if is_best else {True: "no", False: "yes", None: "unknown"}[standing.apart],
        runs_cell(point.runs, href),
    ]


def interval_cell(point: Point, kpi: KPIDefinition) -> Cell | str:
    if point.interval is None:
        return "unknown"
    label = ranking.interval_label(point.interval, kpi, unit=False)
    return Cell(f"{label} *" if point.interval.pooled else label, sort=point.interval.low / kpi.divisor)


def runs_cell(runs: Sequence[Entry], href: Href) -> Cell:
    count = len(runs)
    links: list[Node] = [] if count == 1 else [f"{count} runs: "]
    for number, entry in enumerate(runs, 1):
        label = "1 run" if count == 1 else str(number)
        links += [html.A(label, href=href(entry), title=entry.name), " "]
    return Cell(links, sort=count)


def limit_table(group: Group, href: Href, kpi: KPIDefinition) -> list[Node]:
    """What the table says in a sentence, and the table; nothing where *kpi* isn't known for any point."""
    headline = group.kpi
    found = bounded(group, kpi)
    steps = staircase(found, headline, kpi)
    if not steps:
        return []
    limits = round_limits(steps, kpi)
    shown = chosen_steps(steps, limits)
    differing = set(varying(one.point.settings for one in group.standings))
    names = [name for name in group.variant_names if name in differing]  # the others would only make the table wider
    in_doubt = {step.limit: better_than(step.point, unsure(found, kpi, step.limit), group) for step in shown}
    has_doubts = any(in_doubt.values())
    is_sure = any(one.bound is not None for one in found)
    bound = f"the one-sided 95 % bound of {kpi.name}" if is_sure else f"{kpi.name} in the point's one run"
    value, interval, *_, runs = value_columns(headline)
    columns: Columns = [
        Column("From", unit=kpi.display_unit, numeric=True, help=f"{bound}: limits from here on"),
        Column("So for limits of", unit=kpi.display_unit, help="round limits for which this point is the best"),
        *setting_columns(names, group),
        *(["At"] if group.tuning_names else []),
        value,
        interval,
        Column("Against no limit", numeric=True, help="the difference from the best of all points"),
        Column("Can't be told apart from it", help="other points that keep the same limit, by chance as good"),
        *([Column("Better, not sure to keep it", help="their means are within the limit")] if has_doubts else []),
        runs,
    ]

    def row(step: Bounded) -> Row:
        settings, rounded = step.point.settings, limits[step.limit]
        inside = within(group, found, kpi, step.limit)
        assert inside is not None
        rivals = "unknown" if inside.estimates is None else _listed(inside.undecided, inside)
        rivals = "no other point" if len(inside.standings) == 1 else rivals
        against_all = next(one.difference for one in group.standings if one.point is step.point)
        is_best = step.point is group.best
        more = "and more" if kpi.lower_better else "and less"
        said = f"{rounded[0]:,g} {more}" if is_best and rounded else ", ".join(f"{limit:,g}" for limit in rounded)
        return [
            Cell(kpi.show_bound(step.limit, unit=False), sort=step.limit / kpi.divisor),
            Cell(said or "–", sort=rounded[0] if rounded else None),
            *setting_cells(settings, names),
            *([tuning_label(settings, group.tuning_names)] if group.tuning_names else []),
            Cell(headline.show(step.point.value, unit=False), sort=step.point.value, mark=is_best),
            interval_cell(step.point, headline),
            "best" if is_best else ranking.difference_label(against_all, group.scale, headline),
            rivals,
            *([_listed(in_doubt[step.limit], inside)] if has_doubts else []),
            runs_cell(step.point.runs, href),
        ]

    caption = f"{ranking.superlative(headline)}, under a limit on {kpi.name}"
    if len(shown) < len(steps):
        caption += f" ({len(shown)} of {len(steps)} steps)"
    sentence = _sentence(steps, found, group, headline, kpi)
    return [html.P(sentence), table(columns, [row(step) for step in shown], caption=caption)]


def round_limits(steps: Sequence[Bounded], kpi: KPIDefinition) -> dict[float, list[float]]:
    """For each step's own limit the round limits at which it holds, as shown: beyond the last step the nearest one."""
    found: dict[float, list[float]] = {step.limit: [] for step in steps}
    for limit in ROUND_LIMITS if kpi.lower_better else ROUND_LIMITS[::-1]:
        step = winner(steps, kpi, limit * kpi.divisor)
        if step is not None and not (step is steps[-1] and found[step.limit]):
            found[step.limit].append(limit)
    return found


def chosen_steps(steps: Sequence[Bounded], limits: dict[float, list[float]]) -> list[Bounded]:
    if len(steps) <= MOST_STEPS:
        return list(steps)
    ends = {0, len(steps) - 1}
    order = sorted(range(len(steps)), key=lambda at: (at not in ends, not limits[steps[at].limit], -at % 2, at))
    return [steps[at] for at in sorted(order[:MOST_STEPS])]


def _listed(points: Sequence[Bounded | Standing], group: Group) -> str:
    names = [ranking.short_label(one.point, group) for one in points]
    more = [f"and {len(names) - NAMED} more"] if len(names) > NAMED else []
    return "; ".join([*names[:NAMED], *more]) or "none"


def _sentence(
    steps: Sequence[Bounded], found: Sequence[Bounded], group: Group, headline: KPIDefinition, kpi: KPIDefinition
) -> str:
    first, last = steps[0], steps[-1]
    is_sure = any(one.bound is not None for one in found)
    said = "" if is_sure else "Each point has one run, so the means may be beyond these limits. "
    keeps = "is sure to keep" if is_sure else "keeps"
    said += f"The tightest limit on {kpi.name} that a point {keeps} is {kpi.show_bound(first.limit)}"
    if len(steps) == 1:
        best = f"{ranking.point_label(last.point.settings, group)}, for {headline.show(last.point.value)}"
        said += f"; from there on one point is the best under every limit: {best}."
    else:
        said += (
            f": there the best {headline.name} is {headline.show(first.point.value)}. From "
            f"{kpi.show_bound(last.limit)} on the limit makes no difference, and it is "
            f"{headline.show(last.point.value)}."
        )
    left = better_than(last.point, (one for one in found if one.bound is None), group) if is_sure else []
    if left:
        count = f"{len(left)} better {plural(len(left), 'point')}"
        said += f" That leaves out {count} of which no bound is known: repeat {'it' if len(left) == 1 else 'them'}."
    return said
