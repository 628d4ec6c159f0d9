"""The application that ``matbench visualize`` opens: what it reads from, the port it gets, and that it says so."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from . import run

if TYPE_CHECKING:
    from ..config import Config
    from ..matrix import Matrix
    from ..plotting.app.data import Progress, Source
    from .options import Selection


def open_application(config: Config, selection: Selection, report_dest: Path, host: str, port: int | None) -> None:
    """Serve the application until it is interrupted.

    Raises:
        MatbenchError: the data aren't named or aren't there, or the port is taken.
    """
    from ..plotting.app import server

    source = _source(config, selection)
    with server.bound(host, port) as listener:
        app = server.make_app(source, report_dest, frozenset({host}))
        click.echo(f"matbench: {server.address(listener)} (Ctrl-C ends it)")
        server.serve(app, listener)


def _source(config: Config, selection: Selection) -> Source:
    """What the application reads; that the directory exists is checked here, before anything is served."""
    from ..errors import MatbenchError
    from ..plotting.app.data import Source

    workload = run.load_workload(selection.workload)
    places = [place for _, place in run.trees_of(selection)]
    for place in places:
        if not place.exists():
            raise MatbenchError(f"the directory '{place}' does not exist")

    def read(progress: Progress | None) -> Matrix:
        return run.read_matrix(workload, config, selection, progress)

    return Source(
        workload=workload,
        name=" and ".join(map(str, places)),
        roots=places,
        read=read,
        read_index=lambda: run.read_index(workload, config, selection),
    )
