"""The left side: the settings as selectors, the order of the variables, and the configuration of the plots.

All but the fields to type in are links to the address that the choice leads to: they work with a keyboard, open in
another tab, and need no state beside the address.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from ...errors import sentence
from ...filters import show
from .. import controls, problems
from ..controls import Choice, Control, Number, RunChoice
from ..tags import Node, dcc, html
from . import view
from .facets import Facet, Facets, Option
from .view import View

MANY_OPTIONS = 10
"""From here on a selector has a field to search in, and scrolls; a choice is a list that opens, not a row of links."""
LONG_LABEL = 60


def selectors(facets: Facets, current: View) -> list[Node]:
    """A selector for each setting that varies, and what is the same everywhere."""
    parts: list[Node] = [_filter_field(current)]
    names = [*(name for name in current.order if name in facets.varying)]
    names += [name for name in facets.varying if name not in names]
    by_name = {facet.name: facet for facet in facets.facets(current.filters)}
    movable = len(names) > 1
    items = [_facet(by_name[name], current, names, place if movable else None) for place, name in enumerate(names)]
    parts.append(html.Ol(items, className="facets", id="facets"))
    if not names:
        parts.append(html.P("All runs have the same settings.", className="note"))
    if facets.constant:
        same = [
            html.Li([html.Span(name, className="key"), " ", show(value)]) for name, value in facets.constant.items()
        ]
        parts.append(html.Details([html.Summary("The same in all runs"), html.Ul(same, className="constants")]))
    return parts


def _filter_field(current: View) -> Node:
    text = view.write_filters(current.filters)
    field = dcc.Input(
        id={"type": "field", "name": "filters", "shown": text},
        value=text,
        type="text",
        debounce=True,
        placeholder="hw_type=cpu-1:cpu-2,vus=8",
        spellCheck=False,
        autoComplete="off",
        className="field",
    )
    clear = html.A("Clear", href=view.write(dataclasses.replace(current, filters={})), className="clear")
    label = html.Label([html.Span("Filter", className="facet-name"), field])
    return html.Div([label, *([clear] if text else [])], className="filter")


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
    many = len(options) > MANY_OPTIONS
    search: list[Node] = []
    if many:  # a field that hides the values without its text; the page's script does that
        identity_of_field = {"type": "search", "name": facet.name}
        field = dcc.Input(id=identity_of_field, type="search", placeholder="search", className="field", value="")
        title = html.Span(f"Search the values of {facet.name}", className="unseen")
        search = [html.Label([title, field])]
    listed = html.Div(
        options, className="options many" if many else "options", role="group", **{"aria-labelledby": identity}
    )
    return html.Li(
        [html.Div(heading, className="facet-head"), *search, listed],
        className="facet",
        draggable="true" if place is not None else None,
        **{"data-name": facet.name},
    )


def _option(facet: Facet, option: Option, current: View) -> Node:
    address = view.write(current.with_filter(facet.name, facet.toggled(option)))
    label = option.label if len(option.label) <= LONG_LABEL else f"{option.label[: LONG_LABEL - 1]}…"
    described = {
        "aria-checked": "true" if option.is_chosen else "false",
        "aria-label": f"{option.label or '(empty)'}, {option.count} {'run' if option.count == 1 else 'runs'}",
    }
    return html.A(
        [
            html.Span(className="box", **{"aria-hidden": "true"}),
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
        address = view.write(dataclasses.replace(current, order=tuple(order)))
        moves.append(html.A(sign, href=address, className="move", **{"aria-label": f"Move {names[place]} {word}"}))
    return html.Span(moves, className="movers")


def panel(found: Sequence[Control], current: View) -> list[Node]:
    """The plots' configuration: an input for each control of the page."""
    unique = {control.name: control for control in found}
    offered = [each for each in unique.values() if not needs(each) or needs(each) in current.cfg]
    if not offered:
        return []
    inputs = []
    for control in offered:
        without = current
        for other in unique.values():  # another choice makes what hangs on it meaningless
            without = without.with_cfg(other.name, None) if needs(other) == control.name else without
        inputs.append(_control(control, current, without))
    return [html.H2("Configure"), *inputs]


def needs(control: Control) -> str:
    """The control that has to be chosen before this one; empty for none."""
    return control.needs if isinstance(control, Choice) else ""


def _control(control: Control, current: View, without: View) -> Node:
    """*without* is the view that a choice changes: the current one without what hangs on this control."""
    unit = f" ({control.unit})" if isinstance(control, Number) and control.unit else ""
    heading: list[Node] = [html.Span(f"{control.label}{unit}", className="facet-name", id=f"cfg-{control.name}")]
    if control.name in current.cfg:
        reset = view.write(without.with_cfg(control.name, None))
        heading.append(html.A("reset", href=reset, className="clear", **{"aria-label": f"Reset {control.label}"}))
    return html.Div([html.Div(heading, className="facet-head"), _input(control, current, without)], className="control")


def _input(control: Control, current: View, without: View) -> Node:
    match control:
        case Choice() if len(control.options) <= MANY_OPTIONS:
            labels = {show(option): control.labels.get(option, show(option)) for option in control.options}
            return _pills(control, current, without, labels)
        case Choice():
            return _dropdown(control, current)
        case Number(steps=steps) if 0 < len(steps) <= MANY_OPTIONS:
            return _pills(control, current, without, {f"{step:g}": f"{step:g}" for step in steps})
        case Number():
            default = "" if control.default is None else f"{control.default:g}"
            return _field(control.name, current.cfg.get(control.name, default), "number", control.label)
        case RunChoice():
            default = "" if control.default is None else (control.default.test_uuid or "")[: controls.SHORT_ID]
            return _field(control.name, current.cfg.get(control.name, default), "text", control.label)


def _pills(control: Choice | Number, current: View, without: View, labels: Mapping[str, str]) -> Node:
    default = "" if control.default is None else show(control.default)
    if isinstance(control, Number) and control.default is not None:
        default = f"{control.default:g}"
    chosen = current.cfg.get(control.name, default)
    links = [
        html.A(
            label,
            href=view.write(without.with_cfg(control.name, None if text == default else text)),
            className="pill",
            role="radio",
            **{"aria-checked": "true" if text == chosen else "false"},
        )
        for text, label in labels.items()
    ]
    return html.Div(links, className="pills", role="radiogroup", **{"aria-labelledby": f"cfg-{control.name}"})


def _dropdown(control: Choice, current: View) -> Node:
    options = [{"label": control.labels.get(each, show(each)), "value": show(each)} for each in control.options]
    default = None if control.default is None else show(control.default)
    value = current.cfg.get(control.name, default)
    return dcc.Dropdown(
        id={"type": "field", "name": f"cfg.{control.name}", "shown": value or ""},
        options=options,
        value=value,
        clearable=control.default is None,
    )


def _field(name: str, value: str, kind: str, label: str) -> Node:
    field = dcc.Input(
        id={"type": "field", "name": f"cfg.{name}", "shown": value},
        value=value,
        type=kind,
        debounce=True,
        className="field",
        autoComplete="off",
    )
    return html.Label([html.Span(label, className="unseen"), field])


def complaining(complaints: Sequence[str]) -> list[Node]:
    """Boxes for what the controls can't read of an address."""
    return [problems.box(f"{sentence(complaint)} The default is used.") for complaint in complaints]
