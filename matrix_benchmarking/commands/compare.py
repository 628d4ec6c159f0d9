"""``matbench compare``: two results trees, versions or selections of runs, in; whether the second one is worse out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import msgspec

from ..errors import ConfigError, MissingHistoryError
from . import run
from .options import Command, is_typed
from .shared_options import (
    AnalysisOutput,
    Locate,
    RunOptions,
    headline_option,
    ignored_option,
    kpi_filter,
    order_option,
    place,
    reports,
    selection,
)


@click.command("compare", cls=Command)
@click.argument("old", metavar="A")
@click.argument("new", metavar="B")
@selection
@place
@order_option
@headline_option
@kpi_filter
@ignored_option
@reports
def command(
    old: str,
    new: str,
    selection: RunOptions,
    locate: Locate,
    kpi_filter: Sequence[str],
    output: AnalysisOutput,
) -> None:
    """Compare two results trees, versions or selections of runs: is B worse than A?

    A and B are directories of results or LTS payloads (of the same versions, else the newest of each is compared);
    or two versions in --results-dirname or the history, or two selections of its newest runs (image=a image=b).
    Rounds in which both were measured say what is chance, else campaigns. The exit status is 1 if something is
    worse, 2 if nothing could be compared, else 0: also where it can't be told.
    """
    from ..runs.judging import compare, compare_trees
    from ..runs.opening import names_of
    from . import publishing

    ignored = selection.ignored_keys  # both sides', later
    selection = msgspec.structs.replace(selection, ignored_keys=())
    is_directory = [Path(name).is_dir() for name in (old, new)]
    is_tolerant = not is_typed("ignored_keys")
    asked: dict[str, Any] = {"kpi_filter": kpi_filter, "ignored": ignored, "is_tolerant": is_tolerant}
    publishing.check_kpi_filter(kpi_filter, run.load_workload(selection.workload))
    if all(is_directory):
        if is_typed("order"):
            raise ConfigError("--order puts versions in order, and A and B are directories")
        if Path(old).resolve() == Path(new).resolve():
            raise ConfigError(f"'{old}' and '{new}' are the same directory")
        both = msgspec.structs.replace(selection, results_dirname=Path(old), against=[Path(new)])
        opening = run.opened(both)
        before, after = (name for name, _ in names_of(opening.directories))
        study, analysis = compare_trees(run.read(opening), before, after, **asked)
    elif all(Path(name).exists() for name in (old, new)):
        file = old if not is_directory[0] else new
        raise ConfigError(f"'{file}' is a file; give the results directory that it is in")
    elif any(is_directory):
        name = new if is_directory[0] else old
        raise ConfigError(f"'{name}' is no directory, and the other one is: give two directories, or two versions")
    else:
        opening = run.opened(selection, locate, needs_some=True)
        try:
            runs = run.read(opening)
        except ConfigError as error:
            if not isinstance(error.__cause__, MissingHistoryError):
                raise
            raise ConfigError(f"neither '{old}' nor '{new}' is a directory, and {error}") from error
        study, analysis = compare(runs, old, new, **asked)
    publishing.publish(analysis, study, output, is_pair=True)
