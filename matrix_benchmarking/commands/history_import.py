"""``matbench history import``: an export into a history."""

from __future__ import annotations

from pathlib import Path

import click

from . import outcome, run
from .options import Command, Invocation, common, flag
from .place import Place, locate, place


@click.command("import", cls=Command, section="history_import")
@click.argument("file", type=click.Path(path_type=Path))
@place
@flag("--replace", help="Let payloads take the place of other contents that are kept under the same ids.")
@common
@click.pass_obj
def command(invocation: Invocation, file: Path, place: Place, replace: bool) -> None:
    """Keep everything of FILE, an export, in a history. What is there already is not kept twice."""
    from ..history import open_history, transfer

    assert invocation.config is not None
    location = locate(invocation.config, place)
    total = transfer.count(file)
    with open_history(location, writable=True) as history, run.progress_bar("importing") as progress:
        show = None if progress is None else lambda done: progress(done, total)
        pushed = transfer.read_import(history, file, replace=replace, progress=show)
    click.echo(run.printable(f"{location}: {outcome.counts(pushed)}"))
    outcome.raise_for(pushed.conflicts, pushed.rejected, {})
