"""``matbench history flush``: what waits in the outbox to its server."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ..history import delivery
from ..history.outbox import Outbox
from . import outcome, run
from .options import Command, Invocation, common, flag
from .place import Place, locate, outboxes, place

if TYPE_CHECKING:
    from ..config import Config
    from ..history import Location


@click.command("flush", cls=Command, section="history_flush")
@place
@flag("--drop", help="Remove what waits, without delivering it.", config_key="")
@common
@click.pass_obj
def command(invocation: Invocation, place: Place, drop: bool) -> None:
    """Deliver what waits in the outbox.

    Uploads to a history on a server wait there while it is away.
    """
    assert invocation.config is not None
    for location in _locations(invocation.config, place):
        if drop:
            dropped = Outbox(outboxes(), str(location)).drop()
            click.echo(run.printable(f"{location}: {dropped} runs removed from the outbox"))
            continue
        with run.progress_bar("delivering") as progress:
            pushed = delivery.flush(location, outboxes(), progress)
        if pushed is None:
            click.echo(run.printable(f"{location}: nothing waits in the outbox"))
            continue
        click.echo(run.printable(f"{location}: {outcome.counts(pushed)}"))
        outcome.print_corrected(pushed.corrected, {})
        outcome.raise_for(pushed.conflicts, pushed.rejected, {})


def _locations(config: Config, place: Place) -> list[Location]:
    """The history, and the instance that unattended exports go to where that is another one."""
    found = [locate(config, place)]
    if config.lts.opensearch.instance is not None:
        instance = locate(config, Place(index=place.index))
        found += [instance] if str(instance) != str(found[0]) else []
    return found
