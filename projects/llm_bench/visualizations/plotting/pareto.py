"""What the hardware yields against what a user feels: the Pareto front, and what it says at a user's speed."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from matrix_benchmarking.analyze.words import percent
from matrix_benchmarking.kpi import KPIDefinition
from matrix_benchmarking.matrix import Entry
from matrix_benchmarking.plotting import Plot, View, clicks, template
from matrix_benchmarking.plotting.clicks import run_of
from matrix_benchmarking.plotting.controls import Choice, Control, Number
from matrix_benchmarking.plotting.tables import Cell, Column, Columns, Row, table

from ..fronts import Measured, Reading, front, reading, round_values, within
from .spots import (
    Spot,
    all_variants,
    by_variant,
    group_choice,
    known,
    not_shown,
    of_versions,
    on_repeats,
    prices_of,
    shown_group,
    spots_of,
    tokens_per_usd,
)

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from matrix_benchmarking.plotting import Drawn

FELT, YIELD, SPEED = "felt", "yield", "speed"
FELTS = ("tokens_per_s_per_user", "ttft_p50", "ttft_p99", "tpot_p99", "e2e_p50", "e2e_p99", "ttft_mean", "e2e_mean")
YIELDS = (
    *("output_tokens_per_s_per_gpu", "total_tokens_per_s_per_gpu", "output_tokens_per_s", "total_tokens_per_s"),
    "requests_per_s",
)
COSTS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100)
PER_GPU = "output_tokens_per_s_per_gpu"

Fronts = Mapping[str, Sequence[Measured[Spot]]]


class _Trade(Plot):
    """A plot of two KPIs of one group, which a person chooses."""

    kpis = (*FELTS, *YIELDS, "1M_output_cost")

    def controls(self) -> Sequence[Control]:
        felts, yields = (known(self.workload, self.matrix, names) for names in (FELTS, YIELDS))
        found: list[Control] = [*group_choice(self.study)]
        if felts and yields:
            found.append(Choice(FELT, "What a user feels", tuple(felts), default=felts[0]))
            found.append(Choice(YIELD, "What the hardware yields", tuple(yields), default=yields[0]))
        return found

    def chosen(self, view: View) -> tuple[list[Spot], list[str], KPIDefinition | None, KPIDefinition | None]:
        """The points, which group they are, and the two KPIs; None where no run has such."""
        group, runs, which = shown_group(view)
        spots = spots_of(self.study, runs, group)
        if FELT not in {control.name for control in self.controls()}:
            return spots, which, None, None
        return spots, which, view.kpi(view.option(FELT)), view.kpi(view.option(YIELD))


def fronts_of(spots: Sequence[Spot], x: KPIDefinition, y: KPIDefinition) -> tuple[Fronts, list[Spot]]:
    """The front of each variant, and the points that have both values."""
    fronts, there = {}, []
    for variant, ones in by_variant(spots).items():
        points = []
        for spot in ones:
            felt, gained = spot.value(x), spot.value(y)
            if felt is not None and gained is not None:
                points.append(Measured(spot, felt.mean, gained.mean))
                there.append(spot)
        if points:
            fronts[variant] = front(points, lower_x=bool(x.lower_better), lower_y=bool(y.lower_better))
    return fronts, there


class ParetoFront(_Trade):
    """One line a variant, through the points that no other point of it beats in both."""

    name: ClassVar[str] = "Pareto front"
    how_to_read: ClassVar[str] = (
        "Each mark is a point at its means, with bars from the smallest to the largest repeat. A line goes through the "
        "points of a variant that none of its others beats in both; pale marks are beaten. Drag the slider to a limit: "
        "it says who yields most within it."
    )

    def draw(self, view: View) -> Drawn:
        spots, which, x, y = self.chosen(view)
        if x is None or y is None:
            return None, "No run has both a speed or latency that a user feels, and a throughput."
        fronts, there = fronts_of(spots, x, y)
        if not there:
            among = "these runs" if self.study.limited is None else "those that keep the limit"
            return None, [*which, f"No point of {among} has both {x.name} and {y.name}."]
        prices = prices_of(run for spot in there for run in spot.runs) if y.name == PER_GPU else {}
        figure = pareto_figure(fronts, there, x, y, all_variants(spots), prices)
        kept = {id(run) for run in self.study.within_limit(view.runs)}
        missing = not_shown(view.runs, there, lambda run: _why_not(run, x, y, kept))
        said = of_versions(self.study, front_conclusion(fronts, x, y))
        return figure, [said, *which, *filter(None, [on_repeats(there)]), *missing]


def _why_not(run: Entry, x: KPIDefinition, y: KPIDefinition, kept: Collection[int]) -> str:
    unknown = [kpi.name for kpi in (x, y) if kpi.name not in run.kpis]
    if unknown:
        return f"without {' and '.join(unknown)}"
    return "of other prompts" if id(run) in kept else "not sure to keep the limit"


def pareto_figure(
    fronts: Fronts,
    spots: Sequence[Spot],
    x: KPIDefinition,
    y: KPIDefinition,
    variants: Sequence[str],
    prices: Mapping[str, float],
) -> go.Figure:
    """*x* to the right, *y* upwards; lines of equal cost where hardware has a price, and a slider for a limit on x."""
    import plotly.graph_objects as go

    colours, symbols = template.colours_of(variants), template.symbols_of(variants)
    figure = go.Figure()
    for variant, points in fronts.items():
        on_front = {id(point.what) for point in points}
        beaten = [spot for spot in spots if spot.variant == variant and id(spot) not in on_front]
        for ones, is_front in ((beaten, False), ([point.what for point in points], True)):
            if ones:
                figure.add_scatter(
                    **_marks(ones, x, y),
                    mode="lines+markers" if is_front else "markers",
                    name=template.text(variant),
                    legendgroup=variant,
                    showlegend=is_front,
                    marker={"color": colours[variant], "symbol": symbols[variant], "size": 9 if is_front else 6},
                    line={"color": colours[variant], "width": 1.8},
                    opacity=1.0 if is_front else 0.45,
                )
    figure.update_xaxes(title=x.title, rangemode="tozero")
    figure.update_yaxes(title=y.title, rangemode="tozero")
    highest = max(point.y for points in fronts.values() for point in points)
    notes = _cost_lines(prices, highest, y)
    figure.update_layout(shapes=[shape for shape, _ in notes], annotations=[note for _, note in notes])
    figure.update_layout(sliders=_slider(fronts, x, y, notes), margin_b=120)
    return template.apply(figure, height=560)


def _marks(spots: Sequence[Spot], x: KPIDefinition, y: KPIDefinition) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for axis, kpi in (("x", x), ("y", y)):
        values = [value for spot in spots if (value := spot.value(kpi)) is not None]
        found[axis] = [value.mean / kpi.divisor for value in values]
        found[f"error_{axis}"] = {
            "array": [(value.high - value.mean) / kpi.divisor for value in values],
            "arrayminus": [(value.mean - value.low) / kpi.divisor for value in values],
            "thickness": 1,
            "width": 3,
            "visible": any(value.runs > 1 for value in values),
        }
    found["hovertext"] = [spot.hover(x, y) for spot in spots]
    found["hovertemplate"] = "%{hovertext}<extra></extra>"
    found["customdata"] = clicks.marks([run_of(spot.runs) for spot in spots])
    return found


def _cost_lines(
    prices: Mapping[str, float], highest: float, y: KPIDefinition
) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Where a million output tokens cost round sums on priced hardware: lines with texts, none too close."""
    heights = sorted(
        (price * 1e6 / 3600 / cost, f"{cost:g} USD per 10⁶ output tokens on {hardware}")
        for hardware, price in prices.items()
        for cost in COSTS
    )
    drawn: list[tuple[float, str]] = []
    for height, said in reversed(heights):
        if (
            height <= 1.05 * highest
            and (not drawn or drawn[-1][0] - height > 0.06 * highest)
            and height > 0.04 * highest
        ):
            drawn.append((height, said))
    return [
        (
            {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": height / y.divisor, "y1": height / y.divisor}
            | {"line": {"dash": "dot", "width": 1, "color": "#7f7f7f"}, "layer": "below"},
            {"xref": "paper", "x": 1, "y": height / y.divisor, "xanchor": "right", "yanchor": "bottom"}
            | {"showarrow": False, "font": {"size": 10, "color": "#7f7f7f"}, "text": template.text(said)},
        )
        for height, said in drawn
    ]


def _slider(
    fronts: Fronts, x: KPIDefinition, y: KPIDefinition, notes: Sequence[tuple[dict[str, Any], dict[str, Any]]]
) -> list[dict[str, Any]]:
    """A step for each round limit on *x*, and none first: a line at it, and who yields most within it."""
    values = [point.x for points in fronts.values() for point in points]
    limits = round_values(max(min(values), max(values) / 1000), max(values))
    if len(limits) < 2:
        return []
    shapes, annotations = [shape for shape, _ in notes], [note for _, note in notes]
    steps = [{"label": "no limit", "method": "relayout", "args": [{"shapes": shapes, "annotations": annotations}]}]
    for limit in limits:
        at = limit / x.divisor
        line = {"type": "line", "yref": "paper", "y0": 0, "y1": 1, "x0": at, "x1": at, "line": {"color": "#e4002b"}}
        said = {"xref": "paper", "yref": "paper", "x": 0.5, "y": 1, "yanchor": "bottom", "showarrow": False}
        said |= {"text": template.text(best_within(fronts, x, y, limit)), "font": {"size": 12, "color": "#e4002b"}}
        args = [{"shapes": [*shapes, line], "annotations": [*annotations, said]}]
        steps.append({"label": f"{at:g}", "method": "relayout", "args": args})
    bound = "at most" if x.lower_better else "at least"
    title = {"prefix": f"{x.title} {bound}: ", "font": {"size": 12}}
    return [{"steps": steps, "currentvalue": title, "pad": {"t": 50}, "active": 0}]


def best_within(fronts: Fronts, x: KPIDefinition, y: KPIDefinition, limit: float) -> str:
    """Which measured point yields most within *limit* on *x*."""
    inside = [point for points in fronts.values() for point in within(points, limit, lower_x=bool(x.lower_better))]
    condition = f"{x.name} {'at most' if x.lower_better else 'at least'} {x.show(limit)}"
    if not inside:
        return f"No point has {condition}"
    best = min(inside, key=lambda point: point.y if y.lower_better else -point.y)
    at = f" at {best.what.load}" if best.what.load else ""
    return f"{condition}: {best.what.variant}{at}, {y.show(best.y)}"


def front_conclusion(fronts: Fronts, x: KPIDefinition, y: KPIDefinition) -> str:
    """Who has the highest yield, who feels best, and whether one variant's front holds everywhere."""
    everything = [point for points in fronts.values() for point in points]
    overall = front(everything, lower_x=bool(x.lower_better), lower_y=bool(y.lower_better))
    variants = list(dict.fromkeys(point.what.variant for point in overall))
    ends = (min if y.lower_better else max)(everything, key=lambda point: point.y)
    start = f"The highest {y.name} is that of {ends.what.variant}: {y.show(ends.y)}, at {x.show(ends.x)} {x.name}."
    if len(fronts) == 1:
        return start
    if len(variants) == 1:
        return f"{start} Nobody beats {variants[0]} anywhere on the front of all."
    few = "; ".join(variants[:6])
    return f"{start} On the front of all are points of {len(variants)} of {len(fronts)} variants: {few}."


@dataclasses.dataclass(frozen=True, slots=True)
class AtSpeed:
    """What a variant's front says at a speed: None where it isn't measured on both sides of it."""

    variant: str
    found: Reading[Spot] | None
    least: float
    most: float
    cost: float | None  # USD per million output tokens; None where *y* isn't per GPU, or the hardware has no price


def at_speed(fronts: Fronts, speed: float, is_per_gpu: bool) -> list[AtSpeed]:
    """Each variant at *speed*, the cheapest first where all are priced, else the one that yields most."""
    found = []
    for variant, points in fronts.items():
        there = reading(points, speed)
        tokens = there.between(tokens_per_usd) if there is not None and is_per_gpu else None
        found.append(AtSpeed(variant, there, points[0].x, points[-1].x, 1e6 / tokens if tokens else None))
    are_priced = all(one.cost is not None for one in found if one.found is not None)

    def place(one: AtSpeed) -> tuple[bool, float]:
        if one.found is None:
            return True, 0.0
        return False, one.cost if are_priced and one.cost is not None else -one.found.y

    return sorted(found, key=place)


class AtAUsersSpeed(_Trade):
    """A table: what each variant yields where a user gets so many tokens per second."""

    name: ClassVar[str] = "At a user's speed"
    how_to_read: ClassVar[str] = (
        "Read off each variant's front, on the straight line between the measured points beside the speed; nothing is "
        "said beyond its ends."
    )

    def controls(self) -> Sequence[Control]:
        return [*super().controls(), Number(SPEED, "At (in the unit of what a user feels)", minimum=0)]

    def height_px(self) -> int:
        return 260

    def draw(self, view: View) -> Drawn:
        spots, which, x, y = self.chosen(view)
        if x is None or y is None:
            return None, "No run has both a speed or latency that a user feels, and a throughput."
        fronts, there = fronts_of(spots, x, y)
        if not there:
            among = "these runs" if self.study.limited is None else "those that keep the limit"
            return None, [*which, f"No point of {among} has both {x.name} and {y.name}."]
        speed = view.cfg.get(SPEED)
        if speed is None:
            values = sorted(point.x for points in fronts.values() for point in points)
            speed = next(iter(round_values(values[len(values) // 2], values[-1])), values[len(values) // 2]) / x.divisor
        rows = at_speed(fronts, speed * x.divisor, y.name == PER_GPU)
        said = [of_versions(self.study, speed_conclusion(rows, speed * x.divisor, x, y)), *which, on_repeats(there)]
        return None, [*filter(None, said), self.table(rows, x, y)]

    def table(self, rows: Sequence[AtSpeed], x: KPIDefinition, y: KPIDefinition) -> Any:
        columns: Columns = [
            "Variant",
            Column(y.name, unit=y.display_unit, numeric=True),
            Column("Cost of 10⁶ output tokens", unit="USD", numeric=True),
            Column("Between the measured points"),
            Column(f"Measured from {x.name}", unit=x.display_unit, numeric=True),
            Column("to", unit=x.display_unit, numeric=True),
        ]

        def row(one: AtSpeed) -> Row:
            ends = [Cell(x.show(value, unit=False), sort=value) for value in (one.least, one.most)]
            if one.found is None:
                return [one.variant, "not measured there", "unknown", "–", *ends]
            beside = dict.fromkeys(
                point.what.load or point.what.variant for point in (one.found.below, one.found.above)
            )
            cost = "unknown" if one.cost is None else Cell(f"{one.cost:,.4g}", sort=one.cost)
            height = Cell(y.show(one.found.y, unit=False), sort=one.found.y, mark=one is rows[0])
            return [one.variant, height, cost, " and ".join(beside), *ends]

        return table(columns, [row(one) for one in rows], caption="Each variant at this speed")


def speed_conclusion(rows: Sequence[AtSpeed], speed: float, x: KPIDefinition, y: KPIDefinition) -> str:
    """Who is cheapest, or yields most, and by how much."""
    there = [one for one in rows if one.found is not None]
    condition = f"At {x.name} {x.show(speed)}"
    if not there:
        return f"{condition}, no variant was measured on both sides; nothing is said beyond what was measured."
    first = there[0]
    assert first.found is not None
    how = "measured" if first.found.is_measured else "interpolated"
    cost = "" if first.cost is None else f", {first.cost:,.4g} USD a million output tokens"
    is_cheapest = first.cost is not None and all(one.cost is not None for one in there)
    what = "is cheapest" if is_cheapest else f"yields the highest {y.name}"
    said = f"{condition}, {first.variant} {what}: {y.show(first.found.y)}{cost} ({how})."
    if len(there) > 1 and (other := there[1].found) is not None:
        rest = there[1]
        compared = percent(rest.cost / first.cost - 1) if is_cheapest and rest.cost and first.cost else y.show(other.y)
        said += f" Next: {rest.variant} ({compared})."
    unknown = len(rows) - len(there)
    return said + (f" {unknown} of {len(rows)} variants were not measured on both sides of it." if unknown else "")
