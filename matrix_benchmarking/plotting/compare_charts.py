"""A comparison as pictures: a row a series with its interval, the runs behind the first ones; and over all series."""

from __future__ import annotations

import collections
import math
from collections.abc import Callable, Mapping, Sequence

import plotly.graph_objects as go

from ..analyze.verdict.model import Outcome, SeriesVerdict, amount
from ..analyze.verdict.over_all import Effect
from ..analyze.verdict.pairs import Switch
from ..analyze.verdict.sides import Pair, RunBlocks
from ..analyze.wording import verdicts as wording
from ..analyze.wording.verdicts import difference_label, interval_label, verdict_label
from ..analyze.words import is_or_are, percent, series_label
from ..workload import MinimumEffect
from . import clicks, template
from .series_chart import BETTER, DOUBTFUL, LOOKS, OTHER, WORSE
from .tables import Cell, Column, Columns, Node, Row, count_cell, table

MOST_ROWS, ROW_PX, LINE_PX, ABOVE_PX, BELOW_PX = 36, 40, 15, 110, 20
LEGEND_PX = 60
MOST_SHOWN, PANEL_PX = 6, 220
LABEL_WIDTH, LEAST_REACH = 28, 0.02
MOST_LINEAR, MOST_TICKS, NEARLY_ALL = 1.0, 6, -0.999
TICKS = (1, -0.5, 3, -0.75, 9, -0.9, 99, -0.99, 999, 9999, 99_999, 999_999, 0.5, -0.25)
"""Changes that are marked on a logarithmic axis, the first ones first; it is one from a change of *MOST_LINEAR* on."""
KINDS = {
    Outcome.REGRESSION: (WORSE, "worse"),
    Outcome.SUSPECTED: (DOUBTFUL, "suspected"),
    Outcome.IMPROVEMENT: (BETTER, "better"),
    Outcome.NO_CHANGE: (OTHER, "no difference shown"),
    Outcome.CANT_TELL: ("", "can't be told"),
}
SURE = dict(zip(KINDS, (0, 1, 0, 2, 3), strict=True))
"""The parts of a comparison, of which what is sure comes first, be it worse or better."""
CLEAR = (Outcome.REGRESSION, Outcome.IMPROVEMENT)
GREY = template.COLOURS[6]
_LOOKS = {**LOOKS, OTHER: (GREY, "circle"), "": (GREY, "circle-open")}
NEW_COLOUR = template.COLOURS[0]


def counted(verdicts: Sequence[SeriesVerdict], *, is_brief: bool = False) -> str:
    """``4 worse, 2 better, 31 without a difference shown (2.1 to 3.4 % would at least be suspected).``

    If *is_brief* without what is in brackets.
    """
    of = {outcome: [one for one in verdicts if one.outcome is outcome] for outcome in KINDS}
    same = [one for one in of[Outcome.NO_CHANGE] if not one.is_small]
    small = len(of[Outcome.NO_CHANGE]) - len(same)
    said = [f"{len(of[one])} {KINDS[one][1]}" for one in (Outcome.REGRESSION, Outcome.IMPROVEMENT)]
    ways = collections.Counter(wording.looks(one) for one in of[Outcome.SUSPECTED])
    said += [f"{ways[way]} suspected to be {way}" for way in ("worse", "better") if ways[way]]
    said += [f"{len(of[Outcome.CANT_TELL])} can't be told"] if of[Outcome.CANT_TELL] else []
    said += [f"{small} by {wording.LESS}"] if small else []
    said += [f"{len(same)} without a difference shown"] if same or not small else []
    seen = "" if is_brief else wording.would_show(same)
    return f"{', '.join(said)} ({seen})." if seen else f"{', '.join(said)}."


def relevant(verdicts: Sequence[SeriesVerdict], headline: str | None = None) -> list[SeriesVerdict]:
    """*verdicts* by how sure they are, those of one cause together: since one version, of one series; large ones first.

    What concerns the KPI *headline* goes before the others, and a change is as large as often it reaches its minimum.
    """
    largest: dict[object, float] = {}
    important: set[object] = set()

    def cause(one: SeriesVerdict) -> tuple[Outcome, str | None, str]:
        alarm = next((alarm.first_bad for alarm in one.alarms), None)
        return one.outcome, alarm, one.name

    for one in verdicts:
        largest[cause(one)] = max(largest.get(cause(one), 0.0), _size(one))
        important |= {cause(one)} if one.kpi.name == headline else set()

    def place(one: SeriesVerdict) -> tuple[object, ...]:
        of = cause(one)
        within = str(of), one.kpi.name != headline, -_size(one)
        return SURE[one.outcome], of not in important, -largest[of], *within

    return sorted(verdicts, key=place)


def drawable(verdicts: Sequence[SeriesVerdict]) -> list[SeriesVerdict]:
    """Those of which the ratio is known."""
    return [one for one in verdicts if one.effect is not None and math.isfinite(one.effect.value)]


def forest_figure(verdicts: Sequence[SeriesVerdict], pairs: Mapping[str, Pair]) -> go.Figure:
    """A row for each of *verdicts*, in their order: the change in per cent with its 95 % interval."""
    shown = verdicts[:MOST_ROWS]
    at = _log_place if max(_limits(shown, _linear_place)) > _linear_place(MOST_LINEAR) else _linear_place
    low, high = _limits(shown, at)
    reach, margin = max(-low, high), 0.06 * (high - low)
    figure = go.Figure()
    for outcome, (kind, name) in KINDS.items():
        places = [place for place, one in enumerate(shown) if one.outcome is outcome]
        if not places:
            continue
        colour, symbol = _LOOKS[kind]
        some = [shown[place] for place in places]
        x = [at(_value(one)) for one in some]
        ends = [(_within(at(low), reach), _within(at(high), reach)) for low, high in map(_ends, some)]
        hover = [template.wrapped(wording.sentence(one), clicks.WIDTH, 5) for one in some]
        ids = [clicks.run_of(pairs[one.id].sides[1]) for one in some]
        thickness = 2 if outcome is not Outcome.NO_CHANGE else 1.2
        error = template.whiskers(x, ends, thickness=thickness, width=4)
        look = {"marker": {"color": colour, "symbol": symbol, "size": 10}, "error_x": error, "name": name}
        figure.add_trace(clicks.dots(x, places, hover, ids, showlegend=True, **look))
    figure.add_vline(x=0, line={"color": GREY, "width": 1})
    for place in range(1, len(shown)):  # a line between what is sure, suspected, without a difference, can't be told
        if SURE[shown[place].outcome] != SURE[shown[place - 1].outcome]:
            figure.add_hline(y=place - 0.5, line={"color": GREY, "width": 1, "dash": "dot"}, layer="below")
    texts = [template.wrapped(f"{one.kpi.name} · {one.name}", LABEL_WIDTH, 4) for one in shown]
    figure.update_yaxes(**template.rows_axis(texts), showgrid=False, tickfont_size=12)
    is_told = any(one.p_value is not None for one in shown)
    words = "change" if at is _linear_place else "change (logarithmic)"
    title = {"text": f"{words}, 95 % intervals" if is_told else words, "font_size": 12}
    # The rows may be many: their scale is where people begin to read.
    figure.update_xaxes(title=title, range=[low - margin, high + margin], side="top", **_ticks(at, low, high))
    row_px = max(ROW_PX, LINE_PX * max(text.count("<br>") + 1 for text in texts) + 8)
    height = row_px * len(shown) + ABOVE_PX + BELOW_PX
    figure.update_layout(margin_t=ABOVE_PX, legend_y=1 + LEGEND_PX / (height - ABOVE_PX - BELOW_PX))
    return template.apply(figure, height=height)


def means_joined(pair: Pair, blocks: RunBlocks) -> list[list[float]]:
    """The means of the old and of the new side in each block that has runs of both, as they are shown.

    One campaign without rounds joins nothing: its runs may have been measured one after the other.
    """
    kpi = pair.series.kpi
    together: dict[tuple[str, int], tuple[list[float], list[float]]] = {}
    for at, runs in enumerate(pair.sides):
        for run in runs:
            block = blocks.of(run)
            key = ("campaign", block.campaign) if block.round is None else ("round", block.round)
            together.setdefault(key, ([], []))[at].append(run.kpis[kpi.name] / kpi.divisor)
    common = {key: of for key, of in together.items() if all(of)}
    if [kind for kind, _ in common] == ["campaign"]:
        return []
    return [[sum(values) / len(values) for values in of] for of in common.values()]


def runs_figure(verdict: SeriesVerdict, pair: Pair, blocks: RunBlocks, sides: tuple[str, str]) -> go.Figure:
    """The runs of both *sides* as dots, the means of those of one block joined."""
    figure, kpi = go.Figure(), verdict.kpi
    both = pair.sides
    for means in means_joined(pair, blocks):
        line = {"color": GREY, "width": 1}
        figure.add_scatter(x=[0, 1], y=means, mode="lines", line=line, hoverinfo="skip")
    new_colour = _LOOKS[KINDS[verdict.outcome][0]][0] if verdict.outcome is not Outcome.NO_CHANGE else NEW_COLOUR
    for at, (runs, colour) in enumerate(zip(both, (GREY, new_colour), strict=True)):
        x = [at + 0.16 * (number / max(len(runs) - 1, 1) - 0.5) for number in range(len(runs))]
        y = [run.kpis[kpi.name] / kpi.divisor for run in runs]
        hover = [clicks.hover([run], template.text(f"{kpi.name} {kpi.show(run.kpis[kpi.name])}")) for run in runs]
        marker = {"color": colour, "size": 8, "opacity": 0.75}
        figure.add_trace(clicks.dots(x, y, hover, [run.test_uuid for run in runs], marker=marker))
    names = [template.wrapped(side, 14, 3) for side in sides]
    figure.update_xaxes(tickvals=[0, 1], ticktext=names, range=[-0.5, 1.5], showgrid=False, tickangle=0)
    figure.update_yaxes(title=template.text(kpi.display_unit) if kpi.display_unit else None)
    figure.update_layout(showlegend=False)
    return template.apply(figure, height=PANEL_PX)


def forest_text(verdicts: Sequence[SeriesVerdict]) -> str:
    """What the figure leaves out, if anything."""
    drawn = drawable(verdicts)
    left = len(verdicts) - len(drawn)
    said = [f"The first {MOST_ROWS} of {len(drawn)} are drawn."] if len(drawn) > MOST_ROWS else []
    said += [f"{left} without a ratio {is_or_are(left)} in the table."] if left else []
    return " ".join(said)


def _value(one: SeriesVerdict) -> float:
    assert one.effect is not None
    return one.effect.value


def _ends(one: SeriesVerdict) -> tuple[float, float]:
    """The ends of the interval; of one that nobody knows the value itself."""
    effect = one.effect
    assert effect is not None
    is_told = one.p_value is not None
    low, high = (end if is_told and not math.isnan(end) else effect.value for end in (effect.low, effect.high))
    return low, high


def _linear_place(change: float) -> float:
    return 100 * change


def _log_place(change: float) -> float:
    """That to double and to halve lie as far from no change."""
    return math.log1p(max(change, NEARLY_ALL))


def _limits(shown: Sequence[SeriesVerdict], at: Callable[[float], float]) -> tuple[float, float]:
    """From where to where the axis goes: an interval that is far wider than all changes is cut."""
    most = 3.0 * max([at(LEAST_REACH), *(abs(at(_value(one))) for one in shown)])
    known = [at(end) for one in shown for end in (_value(one), *_ends(one)) if math.isfinite(end)]
    return max(-most, min([at(-LEAST_REACH), *known])), min(most, max([at(LEAST_REACH), *known]))


def _ticks(at: Callable[[float], float], low: float, high: float) -> dict[str, object]:
    """Marks in per cent; where they are logarithms those of *TICKS* that don't collide."""
    if at is _linear_place:
        return {"ticksuffix": " %"}
    kept = [0.0]
    for change in TICKS:
        if low <= at(change) <= high and min(abs(at(change) - at(one)) for one in kept) > (high - low) / MOST_TICKS:
            kept.append(change)
    texts = ["0 %", *(percent(change, digits=0) for change in kept[1:])]
    return {"tickvals": [at(change) for change in kept], "ticktext": texts}


def _within(end: float, reach: float) -> float:
    return max(-2.0 * reach, min(2.0 * reach, end))


def _size(one: SeriesVerdict) -> float:
    """How often a change reaches the least that counts."""
    value = math.nan if one.difference is None else abs(one.difference.value)
    minimum = MinimumEffect(one.minimum_effect, one.minimum_effect_absolute)
    return value / (amount(minimum, one.old_level or 0.0) or 1.0) if math.isfinite(value) else 0.0


def conclusion(verdicts: Sequence[SeriesVerdict]) -> str:
    """The figure in words, for who can't see it: the counts, and the largest changes."""
    told = [one for one in verdicts if one.outcome in (Outcome.REGRESSION, Outcome.SUSPECTED, Outcome.IMPROVEMENT)]
    named = [f"{series_label(one.kpi.name, one.name)} {percent(_value(one))}" for one in drawable(told)[:5]]
    return " ".join([counted(verdicts), *([f"{'; '.join(named)}."] if named else [])])


def effects_table(switch: Switch) -> Node:
    mean = "over the pairs: the geometric mean of ratios, of positive values"
    columns: Columns = [
        "KPI",
        Column("Mean difference", numeric=True, help=mean),
        Column("95 % interval", numeric=True, help="of the mean, from the blocks in which it was measured"),
        "Verdict",
        Column("Pairs", numeric=True),
        Column("Worse", numeric=True, help="pairs"),
        Column("Better", numeric=True, help="pairs"),
        Column("Suspected", numeric=True, help="pairs, to be worse or better"),
    ]
    rows: list[Row] = []
    for effect in switch.effects:
        judged, kpi = effect.judged, effect.kpi
        counts = [len(effect.pairs), *map(effect.count, (*CLEAR, Outcome.SUSPECTED))]
        difference = Cell(difference_label(judged, kpi), sort=judged.measure.value)
        rows.append([kpi.name, difference, interval_label(judged, kpi), verdict_on(effect), *map(count_cell, counts)])
    return table(columns, rows, caption="All settings pooled, KPI by KPI")


def verdict_on(effect: Effect) -> str:
    if effect.outcome is None:
        return "not judged"
    return verdict_label(effect.judged, effect.outcome, effect.kpi, effect.minimum)


HOW_TO_READ = (
    "A pair is two points that differ in the named setting only; failed runs, and those with values that can't be, "
    "take no part.",
    "Means of positive values are geometric here: the old one times the mean ratio is the new one. Best configuration "
    "has plain means, which are a little larger.",
    "A campaign is one start of a benchmark on one machine, a round one pass of it over its points; each is a block, "
    "whose runs share a mood of the machine. Rounds in which both sides were measured are compared one by one, else "
    "campaigns. At least two are needed.",
    "The interval of the mean is about the settings that were measured. It does not say that every setting gains; the "
    "pairs do.",
    "Of the pairs that are called worse or better, on average at most 5 % are neither; suspected ones would be called "
    "so if they stood alone, or if a second block said the same.",
)
