"""``matbench history export``: everything of a history in one file."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import IO

import click

from . import outputs, run
from .options import Command, Invocation, common
from .place import Place, locate, place


@click.command("export", cls=Command, section="history_export")
@click.argument("file", type=outputs.FILE)
@place
@common
@click.pass_obj
def command(invocation: Invocation, file: Path, place: Place) -> None:
    """Write everything of a history to FILE.

    'matbench history import' reads it; it is compressed if its name ends in .gz.
    """
    from ..history import open_history, transfer

    assert invocation.config is not None
    location = locate(invocation.config, place)
    written = 0
    with open_history(location, writable=False) as history, run.progress_bar("exporting") as progress:
        total = sum(each.runs for each in history.summary().workloads)
        show = None if progress is None else lambda done: progress(done, max(total, done))

        def write(stream: IO[bytes]) -> None:
            nonlocal written
            if file.suffix == ".gz":
                with gzip.GzipFile(fileobj=stream, mode="wb", mtime=0) as compressed:
                    written = transfer.write_export(history, compressed, progress=show)
            else:
                written = transfer.write_export(history, stream, progress=show)

        outputs.write(file, write)
    click.echo(run.printable(f"{location}: {written} payloads exported to {file}"), err=True)
