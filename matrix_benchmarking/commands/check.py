"""``matbench check``: runs in; what is odd about them out, before anyone trusts an answer."""

from __future__ import annotations

import json
import textwrap

import click

from ..errors import VerdictError
from . import run
from .options import Command, flag
from .printing import answer_console, printable, progress_bar, say
from .shared_options import Locate, RunOptions, ignored_option, lts_results, order_option, place, selection


@click.command("check", cls=Command)
@selection
@lts_results
@place
@order_option
@ignored_option
@flag("--json", "as_json", config_key="", help="Print the findings as JSON, with the names of all runs.")
def command(selection: RunOptions, locate: Locate, as_json: bool) -> None:
    """Look for what is odd about runs before you trust an answer about them.

    Misspelt and rare settings, settings that are no labels, lost and damaged runs, copies, values that can't be, names
    that match nothing, an order of versions that is unknown or contradicted. The runs come from a results directory,
    from LTS payloads or from a history. The exit status is 1 if a finding may change an answer, else 0.
    """
    from ..runs.answers import CheckAnswer

    with progress_bar("parsing") as progress:
        study = run.studied(run.opened(selection, locate, needs_some=True), progress)
    answer = CheckAnswer(study)
    if as_json:
        findings = [
            {
                "kind": one.kind,
                "sentence": one.sentence,
                "changes": sorted(each.value for each in one.changes),
                "runs": list(one.runs),
                "in_most_runs": one.in_most_runs,
            }
            for one in answer.findings
        ]
        document = {"format": "matbench-check", "version": 1, "workload": study.workload.name}
        document |= {"runs": study.runs.tests, "findings": findings}
        click.echo(json.dumps(document, indent=2, ensure_ascii=False))
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
        say(text)
        return
    width = max(answer_console().width, 20 + len(rest))
    first, wrapped = text[: len(rest)], printable(text[len(rest) :])
    lines = textwrap.fill(wrapped, width, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False)
    click.echo(lines or first)
