"""The application that ``matbench visualize`` opens: what it reads from, the port it gets, and that it says so."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from . import run, sources

if TYPE_CHECKING:
    from ..config import Config
    from ..matrix import Matrix
    from ..plotting.app.data import Progress, Source
    from .options import Selection


def open_application(
    config: Config, selection: Selection, order: str | None, report_dest: Path, host: str, port: int | None
) -> None:
    """Serve the application until it is interrupted.

    Raises:
        MatbenchError: the data aren't named or aren't there, or the port is taken.
    """
    from ..plotting.app import server

    source = _source(config, selection, order)
    with server.bound(host, port) as listener:
        app = server.make_app(source, report_dest, frozenset({host}))
        click.echo(f"matbench: {server.address(listener)} (Ctrl-C ends it)")
        server.serve(app, listener)


def _source(config: Config, selection: Selection, order: str | None) -> Source:
    """What the application reads; that the directories exist is checked here, before anything is served."""
    from .. import filters
    from ..errors import MatbenchError
    from ..plotting.app.data import Source
    from .analysed import analysis_options

    wanted = filters.parse(selection.filters)
    workload = run.load_workload(selection.workload)
    from_history = selection.history is not None and selection.history.is_matrix
    roots = [] if from_history else [place for _, place in sources.trees_of(selection)]
    for place in roots:
        if not place.exists():
            raise MatbenchError(f"the directory '{place}' does not exist")
    name = " and ".join(map(str, roots)) or str(run.results_of(selection))

    def read(progress: Progress | None) -> Matrix:
        everything = sources.read_matrix(workload, config, selection, progress)
        if selection.history is None:  # else what a filter names may be in the history alone
            sources.check_names(everything, wanted, selection)
        return everything

    def read_index() -> Matrix | None:
        return sources.read_index(workload, config, selection)

    return Source(
        workload=workload,
        name=name,
        roots=roots,
        read=read,
        read_index=read_index,
        filters=wanted,
        past=lambda matrix: sources.read_past(workload, matrix, selection),
        analysis_options=analysis_options(config, workload, selection, order),
    )
