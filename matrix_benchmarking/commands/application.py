"""The application that ``matbench visualize`` opens: what it reads from, the port it gets, and that it says so."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..errors import MatbenchError
from ..plotting.app import server
from ..plotting.app.data import Progress, Source
from ..runs.opening import names_of
from . import run

if TYPE_CHECKING:
    from ..config import Config
    from ..matrix import Matrix
    from .options import RunOptions


def open_application(
    config: Config, selection: RunOptions, order: str | None, report_dest: Path, host: str, port: int | None
) -> None:
    """Serve the application until it is interrupted.

    Raises:
        MatbenchError: the data aren't named or aren't there, or the port is taken.
    """
    source = _source(config, selection, order)
    with server.bound(host, port) as listener:
        app = server.make_app(source, report_dest, frozenset({host}))
        click.echo(f"matbench: {server.address(listener)} (Ctrl-C ends it)")
        server.serve(app, listener)


def _source(config: Config, selection: RunOptions, order: str | None) -> Source:
    """What the application reads; that the directories exist is checked here, before anything is served."""
    opening = run.opened(config, selection, order)
    for place in opening.directories:
        if not place.exists():
            raise MatbenchError(f"the directory '{place}' does not exist")
    if opening.directories:
        names_of(opening.directories)

    def read(progress: Progress | None) -> Matrix:
        everything = opening.read(progress)
        if opening.history is None:  # else what a filter names may be in the history alone
            opening.check_names(everything)
        return everything

    return Source(
        workload=opening.workload,
        place=opening.place,
        roots=opening.directories,
        read=read,
        read_index=opening.read_index,
        filters=opening.filters,
        past=opening.read_past,
        given=opening.context,
    )
