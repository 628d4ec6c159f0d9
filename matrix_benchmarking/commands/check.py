"""``matbench check``: runs in; what is odd about them out, before anyone trusts an answer."""

from __future__ import annotations

import dataclasses
import json
import textwrap
from typing import TYPE_CHECKING

import click

from ..errors import VerdictError
from . import regression, run
from .options import Command, Invocation, RunOptions, common, flag, lts_results, order_option, selection
from .place import Place, place

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..analyze.check import Finding


@click.command("check", cls=Command)
@selection
@lts_results
@place
@order_option
@flag("--json", "as_json", config_key="", help="Print the findings as JSON, with the names of all runs.")
@common
@click.pass_obj
def command(invocation: Invocation, selection: RunOptions, place: Place, order: str | None, as_json: bool) -> None:
    """Look for what is odd about runs before you trust an answer about them.

    Misspelt and rare settings, settings that are no labels, lost and damaged runs, copies, values that can't be, names
    that match nothing, an order of versions that is unknown or contradicted. The runs come from a results directory,
    from LTS payloads or from a history. The exit status is 1 if a finding may change an answer, else 0.
    """
    from ..runs.runs import Runs

    assert invocation.config is not None
    study = run.start(
        invocation.config, regression.reads_some_history(invocation.config, place, selection), order, warns=False
    )
    answer = Runs(study).check()
    if as_json:
        click.echo(_as_json(answer.findings, len(study.runs) + len(study.runs.unfinished), study.workload.name))
    else:
        for part in answer.said():
            _say(str(part))
    changing = sum(bool(one.changes) for one in answer.findings)
    if changing:
        raise VerdictError(f"{changing} {'finding changes' if changing == 1 else 'findings change'} an answer")


def _say(text: str) -> None:
    """Wrap what belongs to an item of a list below its beginning."""
    rest = "    " if text.startswith("    ") else "  " if text.startswith("* ") else None
    if rest is None:
        click.echo(run.printable(text))
        return
    width = max(run.answer_console().width - len(rest), 20)
    first = text[: len(rest)]
    for line in textwrap.wrap(run.printable(text[len(rest) :]), width, break_on_hyphens=False) or [""]:
        click.echo(f"{first}{line}")
        first = rest


def _as_json(found: Sequence[Finding], runs: int, workload: str) -> str:
    findings = [
        {**dataclasses.asdict(one), "changes": sorted(each.value for each in one.changes), "runs": list(one.runs)}
        for one in found
    ]
    document = {"format": "matbench-check", "version": 1, "workload": workload, "runs": runs, "findings": findings}
    return json.dumps(document, indent=2, ensure_ascii=False)
