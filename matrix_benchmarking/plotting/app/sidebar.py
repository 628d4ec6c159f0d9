"""The left side: the settings as selectors, the order of the variables, and the configuration of the plots."""

from __future__ import annotations

import collections
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from ... import filters as filter_language
from ...filters import Filters, Value, cut, show
from ...matrix import Matrix, NotSet, order, typed
from ...rows import Column
from .. import controls
from ..controls import Choice, Control, Number, RunChoice, Text
from ..tables import Node, dcc, html
from ..template import short
from . import view
from .view import View

MANY_OPTIONS = 10
"""From here on a selector has a field to search in, and scrolls; a choice is a list that opens, not a row of links."""
LONG_LABEL = 60


class Option(msgspec.Struct, frozen=True):
    value: Value
    label: str
    count: int  # the entries that have it among those that all other filters leave
    is_chosen: bool  # if the filters name it


class Facet(msgspec.Struct, frozen=True):
    """A selector: a setting with its values; where none is chosen all take part."""

    name: str
    options: Sequence[Option]

    @property
    def chosen(self) -> tuple[Value, ...]:
        return tuple(option.value for option in self.options if option.is_chosen)

    def toggled(self, option: Option) -> tuple[Value, ...]:
        return tuple(each.value for each in self.options if each.is_chosen != (each is option))


class Facets:
    """The selectors of one matrix: *varying* are the settings with several values, *constant* the others and theirs."""

    def __init__(self, matrix: Matrix, places: Mapping[str, Mapping[Any, int]] | None = None) -> None:
        """*places* are those of the values of some settings, by name: the oldest version is 0."""
        self.matrix = matrix
        known, rows = places or {}, matrix.entries
        self._values = {name: _ordered(rows.setting(name), known.get(name, {})) for name in rows.names()}
        self.varying = [name for name, values in self._values.items() if len(values) > 1]
        self.constant = {name: values[0] for name, values in self._values.items() if len(values) == 1}

    def facets(self, filters: Filters) -> Iterator[Facet]:
        selected = self.matrix.selected(filters).entries
        for name in self.varying:
            others = {other: wanted for other, wanted in filters.items() if other != name}
            cells, codes = (self.matrix.selected(others).entries if name in filters else selected).setting(name)
            counts: collections.Counter[object] = collections.Counter()
            for code, count in collections.Counter(codes).items():
                counts[typed(cells[code])] += count
            yield Facet(name, list(_options(self._values[name], counts, filters.get(name, ()))))


def _ordered(column: Column, places: Mapping[Any, int]) -> list[Any]:
    """The different values of a *column*, those with *places* first."""
    cells, codes = column
    there = {typed(cells[code]): cells[code] for code in set(codes)}
    return sorted(there.values(), key=lambda value: (places.get(typed(value), len(places)), order(value)))


def _options(values: Sequence[Any], counts: Mapping[object, int], wanted: Sequence[Value]) -> Iterator[Option]:
    """An option for each way to filter by a value; values that one filter can't tell apart are counted together."""
    cells, filters = [None if isinstance(value, NotSet) else value for value in values], _written(values)
    for written in dict.fromkeys(filters):
        meant = [place for place, cell in enumerate(cells) if written.matches(cell)]
        own = [place for place in meant if filters[place] == written]
        label = " or ".join("(not set)" if isinstance(values[at], NotSet) else show(cells[at]) for at in own)
        clashes = any(show(cell) == label for place, cell in enumerate(cells) if place not in own)
        yield Option(
            value=written,
            label=f'"{label}"' if written.quoted and clashes else label,
            count=sum(counts[typed(values[place])] for place in meant),
            is_chosen=any(one.matches(cells[place]) for one in wanted for place in own),
        )


def _written(values: Sequence[Any]) -> list[Value]:
    """Each value as a filter that means it alone, in quotes only where another one reads the same."""
    texts = ["null" if isinstance(value, NotSet) else cut(value) for value in values]
    counts = collections.Counter(texts)
    return [
        Value(text, quoted=isinstance(value, str) and (counts[text] > 1 or text != text.strip()))
        for text, value in zip(texts, values, strict=True)
    ]


def short_ids(matrix: Matrix) -> dict[str, str]:
    ids = sorted({identity for identity in matrix.entries.values("test_uuid") if identity})
    short = {}
    for place, identity in enumerate(ids):
        neighbours = ids[max(0, place - 1) : place] + ids[place + 1 : place + 2]
        length = controls.SHORT_ID
        while any(other[:length] == identity[:length] for other in neighbours) and length < len(identity):
            length += 1
        short[identity] = identity[:length]
    return short


def selectors(facets: Facets, current: View, asked: View) -> list[Node]:
    """The selectors of the *current* selection; the filter of what was *asked* for, which may select nothing."""
    parts: list[Node] = [_filter_field(asked)]
    names = [*(name for name in current.order if name in facets.varying)]
    names += [name for name in facets.varying if name not in names]
    by_name = {facet.name: facet for facet in facets.facets(current.filters)}
    movable = len(names) > 1
    items = [_facet(by_name[name], current, names, place if movable else None) for place, name in enumerate(names)]
    parts.append(html.Ol(items, className="facets", id="facets"))
    if not names:
        parts.append(html.P("All runs have the same settings.", className="note"))
    if facets.constant:
        same = facts(((name, show(value)) for name, value in facets.constant.items()), "constants")
        parts.append(html.Details([html.Summary("The same in all runs"), same]))
    return parts


def facts(items: Iterable[tuple[str, Node]], look: str = "facts") -> Node:
    """A list of names, each with what is said of it."""
    return html.Ul([html.Li([html.Span(name, className="key"), " ", said]) for name, said in items], className=look)


def _filter_field(current: View) -> Node:
    text = filter_language.written(current.filters)
    field = typed_field("filters", text, placeholder="setting=value:value", spellCheck=False)
    clear = html.A("Clear", href=view.write(msgspec.structs.replace(current, filters={})), className="clear")
    label = html.Label([html.Span("Filter", className="facet-name"), field])
    return html.Div([label, *([clear] if text else [])], className="filter")


def field_id(name: str, shown: str) -> dict[str, str]:
    """By this the page's script knows what was typed anew."""
    return {"type": "field", "name": name, "shown": shown}


def typed_field(name: str, shown: str, **look: object) -> Node:
    looks = {"type": "text", "debounce": True, "className": "field", "autoComplete": "off", **look}
    return dcc.Input(id=field_id(name, shown), value=shown, **looks)


def _facet(facet: Facet, current: View, names: Sequence[str], place: int | None) -> Node:
    identity = f"facet-{names.index(facet.name)}"
    heading: list[Node] = [html.Span(facet.name, className="facet-name", id=identity)]
    if facet.chosen:
        all_values = view.write(current.with_filter(facet.name, ()))
        heading.append(
            html.A("all", href=all_values, className="clear", **{"aria-label": f"All values of {facet.name}"})
        )
    if place is not None:
        heading.append(_movers(current, names, place))
    options = [_option(facet, option, current) for option in facet.options]
    search, kind = [], "options"
    if len(options) > MANY_OPTIONS:  # a field that hides the values without its text; the page's script does that
        identity_of_field = {"type": "search", "name": facet.name}
        field = dcc.Input(id=identity_of_field, type="search", placeholder="search", className="field", value="")
        title = html.Span(f"Search the values of {facet.name}", className="unseen")
        search, kind = [html.Label([title, field])], "options many"
    listed = html.Div(options, className=kind, role="group", **{"aria-labelledby": identity})
    return html.Li(
        [html.Div(heading, className="facet-head"), *search, listed],
        className="facet",
        draggable="true" if place is not None else None,
        **{"data-name": facet.name},
    )


def _option(facet: Facet, option: Option, current: View) -> Node:
    address = view.write(current.with_filter(facet.name, facet.toggled(option)))
    label = short(option.label, LONG_LABEL)
    described = {
        "aria-checked": "true" if option.is_chosen else "false",
        "aria-label": f"{option.label or '(empty)'}, {option.count} {'run' if option.count == 1 else 'runs'}",
    }
    return html.A(
        [
            html.Span(label or "(empty)", className="value"),
            html.Span(f"{option.count:,}", className="count"),
        ],
        href=address,
        role="checkbox",
        className="option" if option.count else "option none-left",
        title=option.label if label != option.label else None,
        **described,
    )


def _movers(current: View, names: Sequence[str], place: int) -> Node:
    """Links that move a variable up and down, for those who don't drag."""
    moves: list[Node] = []
    for sign, step, word in (("↑", -1, "up"), ("↓", 1, "down")):
        target = place + step
        if not 0 <= target < len(names):
            continue
        order = list(names)
        order[place], order[target] = order[target], order[place]
        address = view.write(msgspec.structs.replace(current, order=tuple(order)))
        moves.append(html.A(sign, href=address, className="move", **{"aria-label": f"Move {names[place]} {word}"}))
    return html.Span(moves, className="movers")


def panel(found: Sequence[Control], current: View) -> list[Node]:
    inputs = []
    for control in {control.name: control for control in found}.values():
        unit = f" ({control.unit})" if isinstance(control, Number) and control.unit else ""
        heading: list[Node] = [html.Span(f"{control.label}{unit}", className="facet-name", id=f"cfg-{control.name}")]
        if control.name in current.cfg:
            reset = view.write(current.with_cfg(control.name, None))
            heading.append(html.A("reset", href=reset, className="clear", **{"aria-label": f"Reset {control.label}"}))
        field = _input(control, current)
        inputs.append(html.Div([html.Div(heading, className="facet-head"), field], className="control"))
    return [html.H2("Configure"), *inputs] if inputs else []


def _input(control: Control, current: View) -> Node:
    """A row of links where there are few values, else a list that opens, or a field to type in."""
    labels: dict[str, str] = {}
    match control:
        case Choice():
            labels = {show(option): control.labels.get(option, show(option)) for option in control.options}
            default = "" if control.default is None else show(control.default)
        case Number():
            labels = {f"{step:g}": f"{step:g}" for step in control.steps}
            default = "" if control.default is None else f"{control.default:g}"
        case Text():
            default = control.default or ""
        case RunChoice():
            default = "" if control.default is None else (control.default.test_uuid or "")[: controls.SHORT_ID]
    chosen = current.cfg.get(control.name, default)
    if isinstance(control, Choice) and chosen not in labels:  # else the list empties itself, as if somebody did
        chosen = default
    name = f"{view.CFG}{control.name}"
    if len(labels) <= MANY_OPTIONS and (labels or isinstance(control, Choice)):
        links = [
            html.A(
                label,
                href=view.write(current.with_cfg(control.name, None if text == default else text)),
                className="pill",
                role="radio",
                **{"aria-checked": "true" if text == chosen else "false"},
            )
            for text, label in labels.items()
        ]
        return html.Div(links, className="pills", role="radiogroup", **{"aria-labelledby": f"cfg-{control.name}"})
    if isinstance(control, Choice):
        options = [{"label": label, "value": text} for text, label in labels.items()]
        value = None if control.default is None and not chosen else chosen
        return dcc.Dropdown(id=field_id(name, chosen), options=options, value=value, clearable=control.default is None)
    if isinstance(control, Text):
        listed = f"suggestions-{control.name}"
        field = typed_field(name, chosen, type="text", list=listed, placeholder=control.hint)
        offered = html.Datalist([html.Option(value=each) for each in control.suggestions], id=listed)
        return html.Label([html.Span(control.label, className="unseen"), field, offered])
    field = typed_field(name, chosen, type="number" if isinstance(control, Number) else "text")
    return html.Label([html.Span(control.label, className="unseen"), field])
