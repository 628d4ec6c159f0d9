"""``matbench history prune``: old runs out of a history, by age and by number; a dry run unless told otherwise."""

from __future__ import annotations

import collections
import datetime as dt

import click

from ..errors import ConfigError, did_you_mean
from ..history import open_history, prune
from . import run
from .options import Command, Invocation, common, flag, option
from .place import Place, locate, place
from .times import parse_time


@click.command("prune", cls=Command, section="history_prune")
@place
@option("--before", metavar="TIME", help="Runs before this time: 2026-01-31, an ISO 8601 time, or 90d, 12w ago.")
@option("--keep", type=click.IntRange(min=0), metavar="N", help="All but the newest N runs of each workload.")
@option("--only-workload", metavar="NAME", help="Runs of the workload of this name only.")
@flag("--delete", help="Delete them. Without it nothing is changed.", config_key="")
@common
@click.pass_obj
def command(
    invocation: Invocation,
    place: Place,
    before: str | None,
    keep: int | None,
    only_workload: str | None,
    delete: bool,
) -> None:
    """Say which runs would go, and remove them with --delete.

    A run goes if it is too old or beyond the number; one of unknown time is never too old.
    """
    assert invocation.config is not None
    if before is None and keep is None:
        raise ConfigError("nothing says which runs go: use --before TIME, --keep N, or both")
    before_us = None if before is None else parse_time(before, dt.datetime.now(dt.UTC))
    location = locate(invocation.config, place)
    with open_history(location, writable=delete) as history:
        runs = collections.Counter(each.workload for each in history.runs())
        if only_workload is not None and only_workload not in runs:
            raise ConfigError(
                f"{location} has no workload '{only_workload}': {did_you_mean(only_workload, sorted(runs))}"
            )
        chosen = prune.prunable(history, prune.Choice(before_us, keep, only_workload))
        total = runs.total()
        if delete:
            gone = history.delete(chosen)
            click.echo(run.printable(f"{location}: {gone} of {total} runs deleted"))
            return
    click.echo(
        run.printable(f"{location}: {len(chosen)} of {total} runs would be deleted (dry run: --delete deletes them)")
    )
