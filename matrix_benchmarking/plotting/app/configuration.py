"""The plots' configuration: an input for each control, and what was chosen read back from the address."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...errors import sentence
from ...filters import show
from .. import controls, problems
from ..controls import Choice, Control, Number, RunChoice
from . import view
from .tags import dcc, html
from .view import View

MANY_OPTIONS = 10
"""From here on a choice is a list that opens, not a row of links."""


def panel(found: Sequence[Control], current: View) -> list[Any]:
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


def _control(control: Control, current: View, without: View) -> Any:
    """*without* is the view that a choice changes: the current one without what hangs on this control."""

    unit = f" ({control.unit})" if isinstance(control, Number) and control.unit else ""
    heading: list[Any] = [html.Span(f"{control.label}{unit}", className="facet-name", id=f"cfg-{control.name}")]
    if control.name in current.cfg:
        reset = view.write(without.with_cfg(control.name, None))
        heading.append(html.A("reset", href=reset, className="clear", **{"aria-label": f"Reset {control.label}"}))
    return html.Div([html.Div(heading, className="facet-head"), _input(control, current, without)], className="control")


def _input(control: Control, current: View, without: View) -> Any:
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


def _pills(control: Choice | Number, current: View, without: View, labels: Mapping[str, str]) -> Any:
    """Each value as a link; the one in force is marked."""

    default = "" if control.default is None else _text(control.default)
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


def _text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, (int, float)) and not isinstance(value, bool) else show(value)


def _dropdown(control: Choice, current: View) -> Any:
    options = [{"label": control.labels.get(each, show(each)), "value": show(each)} for each in control.options]
    default = None if control.default is None else show(control.default)
    value = current.cfg.get(control.name, default)
    return dcc.Dropdown(
        id={"type": "field", "name": f"cfg.{control.name}", "shown": value or ""},
        options=options,
        value=value,
        clearable=control.default is None,
    )


def _field(name: str, value: str, kind: str, label: str) -> Any:
    field = dcc.Input(
        id={"type": "field", "name": f"cfg.{name}", "shown": value},
        value=value,
        type=kind,
        debounce=True,
        className="field",
        autoComplete="off",
    )
    return html.Label([html.Span(label, className="unseen"), field])


def read_cfg(found: Sequence[Control], texts: Mapping[str, str]) -> tuple[dict[str, Any], list[Any]]:
    """The configuration of *texts* as the controls read it, and boxes for what they can't read."""
    cfg, complaints = controls.read(found, texts)
    return cfg, [problems.box(f"{sentence(complaint)} The default is used.") for complaint in complaints]
