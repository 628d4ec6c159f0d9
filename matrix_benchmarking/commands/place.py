"""The options that say where the history is, and what follows from them."""

from __future__ import annotations

import dataclasses
import functools
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ..errors import ConfigError
from ..history import Indices, location, outbox
from ..history.opensearch.location import of_instance
from . import run
from .options import RunOptions, UsedHistory, option, strength

if TYPE_CHECKING:
    from ..config import Config
    from ..history import Indices, Location

GIVEN_BY_FLAG, BY_ENVIRONMENT = 3, 2

C = TypeVar("C", bound=Callable[..., Any])


@dataclasses.dataclass(frozen=True, slots=True)
class Place:
    """Where the history is, as options, environment and configuration say it.

    Attributes:
        history: a location.
        host, port, username, index: of an OpenSearch server, as MatrixBenchmarking names them.
    """

    history: str | None = None
    host: str | None = None
    port: int | None = None
    username: str | None = None
    index: str | None = None


def place(function: C) -> C:
    """``--history`` and its aliases; the command gets them as one argument ``place``."""

    @functools.wraps(function)
    def with_place(
        *args: Any,
        history: str | None,
        opensearch_host: str | None,
        opensearch_port: int | None,
        opensearch_username: str | None,
        opensearch_index: str | None,
        **others: Any,
    ) -> Any:
        ctx = click.get_current_context()
        history, opensearch_host = _stronger(ctx, history, opensearch_host)
        _check(ctx, history, opensearch_host)
        found = Place(history, opensearch_host, opensearch_port, opensearch_username, opensearch_index)
        return function(*args, place=found, **others)

    decorators: list[Callable[[Any], Any]] = [
        option(
            "--history",
            config_key="history",
            metavar="LOCATION",
            help="Where the history is: sqlite:///matbench.db, postgresql://host/database or https://host:9200/index.",
        ),
        option("--opensearch-host", config_key="", metavar="HOST", help="Host of an OpenSearch server with TLS."),
        option(
            "--opensearch-port", config_key="", type=click.IntRange(1, 65535), metavar="PORT", help="Its port; 9200."
        ),
        option("--opensearch-username", config_key="", metavar="NAME", help="User name at the OpenSearch server."),
        option(
            "--opensearch-index",
            config_key="lts.opensearch.index",
            metavar="NAME",
            help="Index of the payloads on the OpenSearch server.",
        ),
    ]
    decorated: Any = with_place
    for decorator in reversed(decorators):
        decorated = decorator(decorated)
    result: C = decorated
    return result


def locate(config: Config, place: Place) -> Location:
    """The location of the history; warnings about it go to stderr.

    The options come first, then the configured instance of OpenSearch, then ``matbench.db`` here.

    Raises:
        HistoryError: it is no location, or not enough is known of it.
    """
    instance = config.lts.opensearch.instance
    indices = indices_of(config, place.index)
    if place.host is None and place.history is None and instance is not None:
        found, warnings = of_instance(instance, os.environ, indices)
        run.warn(warnings)
        return found
    text = place.history or location.DEFAULT
    if place.host is not None:
        text = f"https://{place.host}:{place.port or 9200}"
    parsed, warnings = location.parse(text, os.environ, indices=indices, username=place.username)
    run.warn(warnings)
    return parsed


def reads_history(config: Config, place: Place, selection: RunOptions) -> RunOptions:
    """*selection* with the history that a command reads; without one where none is named anywhere.

    The tests come from it where it is named by a flag and no directory is, or by the environment and no directory is
    known at all. Otherwise they come from the directory, and its runs are there besides.
    """
    ctx = click.get_current_context()
    named = max(strength(ctx, "history"), strength(ctx, "opensearch_host"))
    if not named and config.lts.opensearch.instance is None:
        return selection
    directory = max(strength(ctx, "results_dirname"), strength(ctx, "lts_results_dirname"))
    is_matrix = named >= BY_ENVIRONMENT and directory < (BY_ENVIRONMENT if named == GIVEN_BY_FLAG else 1)
    used = UsedHistory(functools.cache(lambda: locate(config, place)), is_matrix, named == GIVEN_BY_FLAG)
    return dataclasses.replace(selection, history=used)


def indices_of(config: Config, index: str | None) -> Indices:
    """How the indices are called."""
    opensearch = config.lts.opensearch
    return Indices(index or opensearch.index, opensearch.index_prefix, opensearch.prom_index_suffix)


def outboxes() -> Path:
    """The directory of the outboxes."""
    return outbox.directory(os.environ)


def _check(ctx: click.Context, history: str | None, host: str | None) -> None:
    """Raise ConfigError where an option of a server is given by a flag and no server is meant."""
    if host is not None:
        if "/" in host or "@" in host:
            raise ConfigError("--opensearch-host is the name of a host; --history takes a whole address")
        return
    is_server = history is not None and not history.lower().strip().startswith(("sqlite:", "postgresql:"))
    for name in ("opensearch_port", "opensearch_username", "opensearch_index"):
        is_allowed = is_server and name != "opensearch_port"
        if strength(ctx, name) == GIVEN_BY_FLAG and not is_allowed:
            raise ConfigError(f"--{name.replace('_', '-')} is about an OpenSearch server: name it by --opensearch-host")


def _stronger(ctx: click.Context, history: str | None, host: str | None) -> tuple[str | None, str | None]:
    """Of a location and a host the one that was said more explicitly."""
    if history is None or host is None:
        return history, host
    of_history, of_host = strength(ctx, "history"), strength(ctx, "opensearch_host")
    if of_history == of_host:
        raise ConfigError("--history and --opensearch-host both say where the history is: give one of them")
    return (history, None) if of_history > of_host else (None, host)
