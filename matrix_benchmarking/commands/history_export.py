"""``matbench history export``: everything of a history in one file."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import IO

import click

from ..errors import ConfigError
from ..history import open_history, transfer
from . import outputs, run
from .options import Command, Invocation, common
from .place import Place, locate, place

SQLITE_HEADER = b"SQLite format 3\0"


@click.command("export", cls=Command, section="history_export")
@click.argument("file", type=outputs.FILE)
@place
@common
@click.pass_obj
def command(invocation: Invocation, file: Path, place: Place) -> None:
    """Write everything of a history to FILE.

    'matbench history import' reads it; it is compressed if its name ends in .gz.
    """
    assert invocation.config is not None
    location = locate(invocation.config, place)
    _refuse_a_database(file)
    written = transfer.Contents(0, 0)
    with open_history(location, writable=False) as history, run.progress_bar("exporting") as progress:
        total = sum(1 for _ in history.runs())
        show = None if progress is None else lambda done: progress(done, max(total, done))

        def write(stream: IO[bytes]) -> None:
            nonlocal written
            if file.suffix == ".gz":
                with gzip.GzipFile(fileobj=stream, mode="wb", mtime=0) as compressed:
                    written = transfer.write_export(history, compressed, progress=show)
            else:
                written = transfer.write_export(history, stream, progress=show)

        outputs.write(file, write)
    click.echo(run.printable(f"{location}: {written} exported to {file}"), err=True)


def _refuse_a_database(file: Path) -> None:
    """Raise ConfigError rather than write an export over a history, this one or another."""
    if not file.is_file():
        return
    with file.open("rb") as stream:
        if stream.read(len(SQLITE_HEADER)) == SQLITE_HEADER:
            raise ConfigError(f"'{file}' is a SQLite database, perhaps a history: export to another file")
