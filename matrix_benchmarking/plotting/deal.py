"""What a person can do to alarms where they are seen: fields and buttons, or the commands to copy."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..analyze.verdict.alarms import causes
from ..analyze.verdict.model import Alarm, Analysis, SeriesVerdict, Status
from .tables import Node, command, dcc, html

if TYPE_CHECKING:
    from .base import Catalogue

MOST_CAUSES = 3
BUTTONS = (("acknowledged", "Acknowledge"), ("resolved", "Resolve"), ("reopened", "Reopen"), ("commented", "Comment"))
COMMANDS = {"acknowledged": "ack", "resolved": "resolve", "reopened": "reopen", "commented": "comment"}

MEANINGS = {
    "acknowledged": "it is known, and fails no analysis any more (--until VERSION or DATE: up to then)",
    "resolved": "it is over, by a fix or because the new level is wanted",
    "reopened": "it fails analyses again",
    "commented": "it stays what it is",
}


def of_causes(analysis: Analysis, catalogue: Catalogue) -> list[Node]:
    """A box for each cause of several alarms that nobody dealt with."""
    if not has_history(catalogue):
        return []
    several = [cause for cause in causes(analysis) if len(cause.alarms) > 1]
    return [
        _box(
            f"Deal with all {len(cause.alarms)} since {cause.first_bad}",
            [alarm.id for alarm in cause.alarms],  # and not what somebody has dealt with of the same cause
            Status.OPEN,
            catalogue,
        )
        for cause in several[:MOST_CAUSES]
    ]


def of_series(verdict: SeriesVerdict, catalogue: Catalogue) -> list[Node]:
    """A box for the newest alarm of a series that isn't fixed, with what was said of it."""
    alarms = [alarm for alarm in verdict.alarms if alarm.id and alarm.status is not Status.FIXED]
    if not alarms or not has_history(catalogue):
        return []
    last = alarms[-1]
    return [*_said(last), _box("Deal with this alarm", [last.id], last.status, catalogue)]


def has_history(catalogue: Catalogue) -> bool:
    return catalogue.study.past is not None


def _said(alarm: Alarm) -> list[Node]:
    said = [f"{alarm.comment}."] if alarm.comment else []
    if alarm.author is not None:
        when = "" if alarm.at is None else f" on {alarm.at:%Y-%m-%d}"
        until = f" until {alarm.until}" if alarm.until else ""
        done = "reopened" if alarm.status is Status.OPEN and not alarm.note else alarm.status.value
        reason = f": {alarm.reason}" if alarm.reason else ""
        said.insert(0, f"{done.capitalize()} by {alarm.author}{when}{until}{reason}.")
    return list(map(html.P, said))


def _box(title: str, ids: Sequence[str], status: Status, catalogue: Catalogue) -> Node:
    offered = [
        (action, label)
        for action, label in BUTTONS
        if (action == "reopened") == (status is not Status.OPEN) or action == "commented"
    ]
    if not catalogue.may_write:
        study = catalogue.study
        place = f" --history={shlex.quote(study.given.history)}" if study.given.history else ""
        # Who only looked hasn't kept the alarm, which the others can't deal with before.
        analyse = f"matbench analyze_lts --workload={shlex.quote(study.workload.spec or study.workload.name)}{place}"
        if study.given.history and study.given.place != study.given.history:  # results beside it
            analyse += f" --results-dirname={shlex.quote(study.given.place)}"
        shown: list[Node] = [html.P("Keep what is seen here in the history, if no analysis has yet:"), command(analyse)]
        for action, label in offered:
            needs_reason = action != "reopened"
            reason = " --reason '…'" if needs_reason else ""
            shown.append(html.P(f"{label}: {MEANINGS[action]}{'; write why for the …' if needs_reason else ''}."))
            shown.append(command(f"matbench alarms {COMMANDS[action]} {shlex.join(ids)}{place}{reason}"))
        return html.Details([html.Summary(title), *shown])
    fields = [
        html.Label(["Reason ", dcc.Input(type="text", className="field", autoComplete="off", name="reason")]),
        html.Label(
            [
                "Until (a version or a date) ",
                dcc.Input(type="text", className="field", autoComplete="off", name="until"),
            ]
        ),
    ]
    buttons = [html.Button(label, className="tool", **{"data-deal": action}) for action, label in offered]
    form = html.Div(
        [*fields, html.Div(buttons, className="figure-tools")], className="deal", **{"data-ids": ",".join(ids)}
    )
    return html.Details([html.Summary(title), form])
