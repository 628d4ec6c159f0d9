"""What ``matbench visualize`` does where it serves the application: what the pages read, and what people write."""

from __future__ import annotations

import functools
import ipaddress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .. import views
from ..analyze.handling import standing
from ..bucket import BucketPath
from ..errors import ConfigError, MatbenchError
from ..history.alarms import Action
from ..plotting import catalogue
from ..plotting.app import server
from ..plotting.app.data import Source
from ..plotting.app.writing import Writing
from ..runs.dealing import deal
from ..runs.opening import names_of
from .options import configuration
from .printing import warn

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..history import Location
    from ..history.alarms import AlarmEvent
    from ..matrix import Matrix
    from ..plotting.app.data import Progress
    from ..plotting.app.writing import Network
    from ..runs.opening import Opening


def serve(opening: Opening, report_dest: Path, host: str, port: int | None, writing: Writing | None) -> None:
    """Serve the application until it is interrupted; people may write as *writing* says, where they may.

    Raises:
        WorkloadError: a page of the workload is none.
        MatbenchError: a directory doesn't exist.
    """
    catalogue.check(opening.workload)
    config = configuration()
    opening.validate()
    here = [directory for directory in opening.directories if not isinstance(directory, BucketPath)]
    for directory in here:
        if not directory.exists():
            raise MatbenchError(f"the directory '{directory}' does not exist")
        if directory.is_dir() and not any(directory.iterdir()):
            warn([f"'{directory}' is empty: the pages show runs as they come"])
    if opening.directories:
        names_of(opening.directories)

    def read(progress: Progress | None) -> Matrix:
        everything = opening.read(progress)
        if opening.history is None:  # else what a filter names may be in the history alone
            opening.check_names(everything)
        return everything

    source = Source(
        workload=opening.workload,
        place=opening.place,
        roots=here,
        read=read,
        read_index=opening.read_index,
        filters=opening.parsed_filters,
        past=opening.read_past,
        given=opening.given,
        state=opening.state,
        deal=None if opening.history is None else functools.partial(_deal, opening.history),
        keep_view=None if config.views_file is None else functools.partial(views.keep, Path(config.views_file)),
        views=lambda: config.all_views,  # asked for in another thread, which has no command
    )
    with server.bound(host, port) as listener:
        app = server.make_app(source, report_dest, frozenset({host}), writing)
        click.echo(f"matbench: {server.address(listener)} (Ctrl-C ends it)")
        server.serve(app, listener)


def _deal(
    locate: Callable[[], Location],
    action: str,
    ids: Sequence[str],
    author: str,
    reason: str,
    until: str,
    raised: Sequence[AlarmEvent],
) -> str:
    actions = (Action.ACKNOWLEDGED, Action.RESOLVED, Action.REOPENED, Action.COMMENTED)
    wanted = next((each for each in actions if each.value == action), None)
    if wanted is None or (until and wanted is not Action.ACKNOWLEDGED):
        raise ConfigError("the page asked for something unknown" if wanted is None else "`until` is for acknowledging")
    alarms, notes = deal(locate(), wanted, ids, author=author, reason=reason, until=until or None, raised=raised)
    said = [f"{one.id} ({one.subject.kpi} of {one.subject.series}): {standing(one)}." for one in alarms]
    return " ".join([*said, *notes])


def writing_by(host: str, user_header: str | None, proxies: Sequence[Network]) -> Writing:
    """Who may write: the system's user on loopback, else whom the *proxies* name in *user_header*."""
    if user_header is None and not is_loopback(host):
        raise ConfigError(
            f"--allow-writing with --host={host} needs --user-header and --proxy: else anybody could write"
        )
    if (user_header is None) != (not proxies):
        raise ConfigError("--user-header and --proxy belong together: the header is believed only from these addresses")
    return Writing(user_header, tuple(proxies))


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
