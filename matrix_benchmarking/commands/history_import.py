"""``matbench history import``: an export into a history."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..history import open_history, transfer
from . import outcome, run
from .options import Command, Invocation, common, flag
from .place import Place, locate, place

if TYPE_CHECKING:
    from ..history.transfer import Imported


@click.command("import", cls=Command, section="history_import")
@click.argument("file", type=click.Path(path_type=Path))
@place
@flag("--replace", help="Let payloads take the place of other contents of the same runs.")
@common
@click.pass_obj
def command(invocation: Invocation, file: Path, place: Place, replace: bool) -> None:
    """Keep everything of FILE, an export, in a history. What is there already is not kept twice."""
    assert invocation.config is not None
    location = locate(invocation.config, place)
    total = transfer.contents(file).payloads
    with open_history(location, writable=True) as history, run.progress_bar("importing") as progress:
        show = None if progress is None else lambda done: progress(done, total)
        imported = transfer.read_import(history, file, replace=replace, progress=show)
    click.echo(run.printable(f"{location}: {outcome.counts(imported.pushed)}{_alarms(imported)}"))
    outcome.print_corrected(imported.pushed.corrected, {})
    outcome.raise_for(imported.pushed.conflicts, imported.pushed.rejected, {})


def _alarms(imported: Imported) -> str:
    """What became of the events of alarms; empty where there were none."""
    added, unchanged = imported.alarms_added, imported.alarms_unchanged
    if not added and not unchanged:
        return ""
    return f"; {added} events of alarms added" + (f", {unchanged} there already" if unchanged else "")
