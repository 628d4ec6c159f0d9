"""``matbench alarms``: what got worse and is known of in a history, and the commands by which people deal with it."""

from __future__ import annotations

import click

from .alarms_list import command as list_command
from .alarms_say import ack, reopen, resolve
from .options import Group


@click.group("alarms", cls=Group)
def command() -> None:
    """List alarms; acknowledge, resolve, open them again.

    'matbench alarms' alone is 'matbench alarms list'.
    """


for each in (list_command, ack, resolve, reopen):
    command.add_command(each)
