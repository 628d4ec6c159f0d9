"""``matbench check``: runs in; what is odd about them out, before anyone trusts an answer."""

from __future__ import annotations

import dataclasses
import json
import textwrap
from typing import TYPE_CHECKING

import click

from ..errors import VerdictError
from . import ordering, regression, run
from .options import Command, Invocation, Selection, common, flag, lts_results, selection
from .place import Place, locate, place, reads_history

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..analyze.check import Finding

RUNS_NAMED = 3


@click.command("check", cls=Command)
@selection
@lts_results
@place
@ordering.order
@flag("--json", "as_json", config_key="", help="Print the findings as JSON, with the names of all runs.")
@common
@click.pass_obj
def command(invocation: Invocation, selection: Selection, place: Place, order: str | None, as_json: bool) -> None:
    """Look for what is odd about runs before you trust an answer about them.

    Misspelt and rare settings, settings that are no labels, lost and damaged runs, copies, values that can't be, names
    that match nothing, an order of versions that is unknown or contradicted. The runs come from a results directory,
    from LTS payloads or from a history. The exit status is 1 if a finding may change an answer, else 0.
    """
    from ..analyze.check import counted, findings, order_of

    assert invocation.config is not None
    config = invocation.config
    chosen = reads_history(config, place, selection)
    if chosen.history is None and selection.results_dirname is None and selection.lts_results_dirname is None:
        chosen = regression.default_history(chosen, lambda: locate(config, place))
    explicit = ordering.read_order(order)
    work = run.start(config, chosen, warns=False)
    matrix = work.matrix if work.past is None else work.past
    in_order = order_of(work.whole, work.workload, explicit, work.filters)
    found = findings(matrix, work.workload, work.prices, in_order)
    runs = len(matrix) + len(matrix.unfinished)
    if as_json:
        click.echo(_as_json(found, runs, work.workload.name))
    else:
        where = run.printable(str(run.results_of(chosen)))
        click.echo(f"{runs} {'run' if runs == 1 else 'runs'} of {work.workload.name} ({where}): {counted(found)}.")
        _print(found)
        if in_order is not None and not any(one.kind == "order-unknown" for one in found) and in_order.sentence:
            click.echo(f"\n{in_order.sentence}")
    changing = sum(bool(one.changes) for one in found)
    if changing:
        raise VerdictError(f"{changing} {'finding changes' if changing == 1 else 'findings change'} an answer")


def _print(found: Sequence[Finding]) -> None:
    from ..analyze.check import MOST_RUNS

    for title, part in (
        ("These change an answer", [one for one in found if one.changes]),
        (MOST_RUNS, [one for one in found if one.in_most_runs and not one.changes]),
        ("Good to know", [one for one in found if not one.changes and not one.in_most_runs]),
    ):
        if part:
            click.echo(f"\n{title}:")
        for one in part:
            _say(one.sentence, "* ", "  ")
            for name in one.runs[:RUNS_NAMED]:
                _say(name, "    ", "    ")
            if len(one.runs) > RUNS_NAMED:
                _say(f"… and {len(one.runs) - RUNS_NAMED} more", "    ", "    ")


def _say(text: str, first: str, rest: str) -> None:
    width = run.answer_console().width
    lines = textwrap.wrap(run.printable(text), max(width - len(rest), 20), break_on_hyphens=False) or [""]
    for number, line in enumerate(lines):
        click.echo(f"{rest if number else first}{line}")


def _as_json(found: Sequence[Finding], runs: int, workload: str) -> str:
    findings = [
        {**dataclasses.asdict(one), "changes": sorted(each.value for each in one.changes), "runs": list(one.runs)}
        for one in found
    ]
    document = {"format": "matbench-check", "version": 1, "workload": workload, "runs": runs, "findings": findings}
    return json.dumps(document, indent=2, ensure_ascii=False)
