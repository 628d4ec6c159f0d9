"""What tokens cost at a price of one's own: the ranking of the variants, redrawn for each price."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from matrix_benchmarking.analyze.intervals import summarise
from matrix_benchmarking.matrix import Entry
from matrix_benchmarking.plotting import Plot, View, clicks, template
from matrix_benchmarking.plotting.clicks import run_of
from matrix_benchmarking.plotting.controls import Choice, Control, Number
from matrix_benchmarking.plotting.tables import Cell, Column, Columns, Row, table
from matrix_benchmarking.prices import offers

from ..places import accelerator
from .spots import Spot, all_variants, group_choice, groups_of, not_shown, on_repeats, prices_of, shown_group, spots_of

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from matrix_benchmarking.plotting import Drawn

HARDWARE, PRICE, RATIO, WEIGHT = "hardware", "price", "input_per_output", "output_weight"
DIAL = (0.1, 0.2, 0.3, 0.5, 0.75, 1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10)
"""USD per hour and GPU that the slider offers, beside the known price."""
UNNAMED = "any hardware"
ENERGIES = ("energy_per_output_token", "energy_per_total_token")


@dataclasses.dataclass(frozen=True, slots=True)
class Priced:
    """A variant at its cheapest point: tokens per second and GPU, weighted as the mix is, and its hardware."""

    variant: str
    spot: Spot
    hardware: str
    tokens: float
    vendor: str = ""

    @property
    def label(self) -> str:
        return f"{self.variant} · {self.vendor}" if self.vendor else self.variant

    def cost(self, usd_per_hour: float) -> float:
        """USD for a million tokens of the mix."""
        return usd_per_hour / 3600 * 1e6 / self.tokens


def cheapest_points(spots: Sequence[Spot], ratio: float, weight: float) -> list[Priced]:
    """Of each variant the point at which a mix of *ratio* input tokens to an output token costs least.

    An output token is worth *weight* input tokens, as in the KPI ``1M_blended_cost``. The price per hour changes no
    point's place among those of its variant, since these are on one kind of hardware.
    """
    found: dict[str, Priced] = {}
    for spot in spots:
        seconds = [_seconds(run, ratio, weight) for run in spot.runs]
        known = [each for each in seconds if each is not None]
        if not known:
            continue
        hardware = str(spot.runs[0].settings.get("hw_type", UNNAMED))
        tokens = 1 / summarise(known).mean  # so that a cost is the mean of the runs' costs, as the KPI's is
        if spot.variant not in found or tokens > found[spot.variant].tokens:
            found[spot.variant] = Priced(spot.variant, spot, hardware, tokens)
    return list(found.values())


def _seconds(run: Entry, ratio: float, weight: float) -> float | None:
    """Of a GPU, for a token of the mix; None where that isn't known."""
    made, everything = (run.kpis.get(f"{kind}_tokens_per_s_per_gpu") for kind in ("output", "total"))
    if ratio == 0:
        everything = made  # nothing else is paid for
    if made is None or everything is None:
        return None
    tokens = (max(0.0, everything - made) + weight * made) * (ratio + 1) / (ratio + weight)
    return 1 / tokens if tokens > 0 else None


class PriceDial(Plot):
    """Bars: what a million tokens of a mix cost with each variant; a slider sets the price of one kind of hardware."""

    name: ClassVar[str] = "Price dial"
    how_to_read: ClassVar[str] = (
        "Each bar is a variant at the load at which it is cheapest. Drag the slider to the price of an hour of one GPU "
        "of the chosen hardware; others keep theirs, and have no bar where none is known."
    )
    kpis = ("output_tokens_per_s_per_gpu", "total_tokens_per_s_per_gpu", "1M_output_cost", *ENERGIES)

    def controls(self) -> Sequence[Control]:
        hardware = sorted({str(run.settings.get("hw_type", UNNAMED)) for run in self.matrix})
        options = self.study.given.options
        found: list[Control] = [*group_choice(self.study)]
        if hardware:
            first = next(iter(groups_of(self.study).values()))  # the headline's
            default = str(min(first, key=_without_cost).settings.get("hw_type", UNNAMED))
            found.append(Choice(HARDWARE, "Hardware", tuple(hardware), default=default))
        return [
            *found,
            Number(PRICE, "Its price", minimum=0, unit="USD/h"),
            Number(RATIO, "Input tokens to an output token", _number(options.get(RATIO), 3.0), minimum=0),
            Number(WEIGHT, "An output token is worth input tokens", _number(options.get(WEIGHT), 4.0), minimum=0),
        ]

    def draw(self, view: View) -> Drawn:
        names = {control.name for control in self.controls()}
        group, of_group, which = shown_group(view)
        newest = set(map(id, view.newest))
        runs = [run for run in of_group if id(run) in newest]
        spots = spots_of(self.study, runs, group)
        ratio, weight = float(view.option(RATIO)), float(view.option(WEIGHT))
        if ratio + weight <= 0 or HARDWARE not in names:
            return None, "A mix without input and output tokens costs nothing."
        found = cheapest_points(spots, ratio, weight)
        mix = f"A mix of {ratio:g} input tokens to one output token, worth {weight:g} input tokens."
        if not found:
            found = cheapest_points(spots, 0.0, 1.0)
            mix = "Of output tokens alone, since no run says how many input tokens it read."
        if not found:
            return None, [*which, "No run has output tokens per second and GPU: say the number of GPUs as 'gpus'."]
        there = sorted({one.hardware for one in found})
        hardware = chosen if (chosen := str(view.option(HARDWARE))) in there else there[0]
        prices: dict[str, float] = {**prices_of(runs)}
        if view.cfg.get(PRICE) is not None:
            prices[hardware] = float(view.cfg[PRICE])
        else:
            found, prices = with_offers(found, prices, self.study.given.prices)
        figure = dial_figure(found, hardware, prices, all_variants(spots))
        shown = [one.spot for one in found]
        missing = [spot for spot in spots if all("output_tokens_per_s_per_gpu" not in run.kpis for run in spot.runs)]
        untold = not_shown([run for spot in missing for run in spot.runs], [], lambda run: "without tokens per GPU")
        untold += clicks.not_shown(of_group, runs, lambda run: "of other versions")
        said = [dial_conclusion(found, hardware, prices), *which, mix, on_repeats(shown), *untold]
        return figure, [*filter(None, said), self.table(found, prices)]

    def table(self, found: Sequence[Priced], prices: Mapping[str, float]) -> Any:
        """What the bars show at the known prices, with the energy per token where it was recorded."""
        energies = [self.workload.kpis[name] for name in ENERGIES]
        kpis = [kpi for kpi in energies if any(one.spot.value(kpi) is not None for one in found)]
        columns: Columns = [
            "Variant",
            "At",
            Column("Price", unit="USD/h", numeric=True),
            Column("10⁶ tokens of the mix", unit="USD", numeric=True),
            *(Column(kpi.name, unit=kpi.display_unit, numeric=True) for kpi in kpis),
        ]
        order = [one for one, _ in ranking(found, prices)]
        rest = [one for one in found if one.hardware not in prices and not one.vendor]

        def row(one: Priced) -> Row:
            usd = prices.get(one.hardware)
            amounts = [usd, None if usd is None else one.cost(usd)]
            cells: list[Cell | str] = ["unknown" if v is None else Cell(f"{v:,.4g}", sort=v) for v in amounts]
            values = [(kpi, one.spot.value(kpi)) for kpi in kpis]
            cells += ["unknown" if v is None else Cell(kpi.show(v.mean, unit=False), sort=v.mean) for kpi, v in values]
            return [one.label, one.spot.load or "–", *cells]

        return table(columns, [row(one) for one in (*order, *rest)], caption="Each variant where it is cheapest")


def with_offers(
    found: Sequence[Priced], prices: Mapping[str, float], given: Mapping[str, float]
) -> tuple[list[Priced], dict[str, float]]:
    """Each variant, and once more for each vendor whose price of its hardware was *given*, by ``vendor/hardware``; and
    all prices.
    """
    every, known = list(found), dict(prices)
    for one in found:
        own = offers(one.spot.runs[0].settings, given, accelerator)
        if own:
            known.pop(one.hardware, None)  # that of the cheapest vendor, as the runs' costs have it
        for name, price in own.items():
            vendor, slash, _ = name.partition("/")
            if slash:
                every.append(dataclasses.replace(one, hardware=name, vendor=vendor))
            known[name if slash else one.hardware] = price
    return every, known


def _without_cost(run: Entry) -> bool:
    return "1M_output_cost" not in run.kpis


def _number(value: object, default: float) -> float:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else default


def ranking(found: Sequence[Priced], prices: Mapping[str, float]) -> list[tuple[Priced, float]]:
    """The variants whose hardware has a price, the cheapest first, with what a million tokens cost."""
    priced = [(one, one.cost(prices[one.hardware])) for one in found if prices.get(one.hardware) is not None]
    return sorted(priced, key=lambda each: each[1])


def dial_figure(
    found: Sequence[Priced], hardware: str, prices: Mapping[str, float], variants: Sequence[str]
) -> go.Figure:
    """Bars, the cheapest on top, and a slider that sets the price of *hardware* and puts them in their new order."""
    import plotly.graph_objects as go

    colours = template.colours_of(variants)
    own = [prices[hardware]] if hardware in prices else []
    dial = sorted([*own, *(usd for usd in DIAL if all(f"{usd:.4g}" != f"{price:.4g}" for price in own))])
    active = dial.index(prices[hardware]) if hardware in prices else len(dial) // 2
    steps = []
    for usd in dial:
        order = ranking(found, {**prices, hardware: usd})
        bars = _bars(order, colours)
        changes = {name: [bars[name]] for name in ("x", "y", "text", "hovertext", "customdata")}
        changes["marker.color"] = [bars["marker"]["color"]]
        layout = {"yaxis.categoryarray": bars["y"], "yaxis.categoryorder": "array"}
        steps.append({"label": f"{usd:.4g}", "method": "update", "args": [changes, layout]})
    bars = _bars(ranking(found, prices) or ranking(found, {hardware: dial[active]}), colours)
    figure = go.Figure(
        go.Bar(
            **bars,
            orientation="h",
            textposition="outside",
            cliponaxis=False,
            hovertemplate="%{hovertext}<extra></extra>",
        )
    )
    figure.update_yaxes(categoryorder="array", categoryarray=bars["y"], automargin=True)
    figure.update_xaxes(title="USD a million tokens", rangemode="tozero")
    title = {"prefix": f"{template.text(hardware)} at ", "suffix": " USD/h a GPU", "font": {"size": 12}}
    figure.update_layout(sliders=[{"steps": steps, "active": active, "currentvalue": title, "pad": {"t": 60}}])
    figure.update_layout(margin={"b": 130, "r": 60})
    return template.apply(figure, height=260 + 50 * max(1, len(found)))


def _bars(order: Sequence[tuple[Priced, float]], colours: Mapping[str, str]) -> dict[str, Any]:
    reversed_order = order[::-1]  # plotly draws from below
    return {
        "x": [cost for _, cost in reversed_order],
        "y": [template.wrapped(one.label, 22, 5) for one, _ in reversed_order],
        "text": [f"{cost:,.3g}" for _, cost in reversed_order],
        "hovertext": [
            clicks.hover(one.spot.runs, template.text(one.label), f"{cost:,.4g} USD a million tokens")
            for one, cost in reversed_order
        ],
        "customdata": clicks.marks([run_of(one.spot.runs) for one, _ in reversed_order]),
        "marker": {"color": [colours[one.variant] for one, _ in reversed_order]},
    }


def dial_conclusion(found: Sequence[Priced], hardware: str, prices: Mapping[str, float]) -> str:
    """Who is cheapest at the known prices, and at which price of *hardware* that would turn over."""
    order = ranking(found, prices)
    priced = {one.variant for one, _ in order}
    unpriced = sorted({one.hardware for one in found if one.variant not in priced})
    more = f" No price is known for {', '.join(unpriced)}: give one by --price, or here." if unpriced else ""
    if not order:
        return f"Nothing has a price: the bars are what it would cost at the slider's.{more}"
    best, cost = order[0]
    said = f"Cheapest is {best.label} at {best.spot.load or 'its load'}: {cost:,.4g} USD a million tokens."
    own = [(one, each) for one, each in order if one.hardware == hardware]
    others = [(one, each) for one, each in order if one.hardware != hardware]
    if own and others and own[0][0].hardware in prices:
        turn = prices[hardware] * others[0][1] / own[0][1]
        said += f" {hardware} is cheapest at less than {turn:,.4g} USD an hour and GPU."
    return said + more
