"""Where a history is. The beginning of a location says which engine keeps it; that engine's module knows the rest."""

from __future__ import annotations

import contextlib
import importlib
import ipaddress
from collections.abc import Callable, Mapping
from typing import Protocol

from ..errors import HistoryError
from .port import Storage

DEFAULT = "sqlite:///matbench.db"
ENGINES = {
    "sqlite:///": ".sqlite",
    "postgresql://": ".postgresql",
    "http://": ".opensearch_location",
    "https://": ".opensearch_location",
    "s3://": ".parquet",
}
"""By the beginning of a location the module whose ``locate(text, environment, **options)`` gives it, and warnings."""


class Location(Protocol):
    """Where a history is; as text it names no credentials."""

    @property
    def is_server(self) -> bool:
        """True if it can be away: what goes there waits in the outbox until it is acknowledged."""

    def open(self, *, writable: bool) -> Storage:
        """The engine; *writable* makes a history where there is none, else it has to be there, and nothing is changed.

        Raises:
            HistoryError: it is missing, can't be opened, or belongs to another program or to a newer matbench.
            UnavailableError: its server is away, or refuses us.
        """


def parse(text: str, environment: Mapping[str, str], **options: object) -> tuple[Location, list[str]]:
    """The location that *text* means, and warnings about it. Raises HistoryError: it means none, or holds a password.

    Such as ``sqlite:///relative.db``, ``sqlite:////absolute.db`` or ``https://host:port/index``; or an export in
    Parquet: ``runs.parquet``, a directory of such files, ``s3://bucket/runs.parquet``. The *environment* has
    credentials, *options* are what engines take besides.
    """
    text = text.strip()
    scheme, separator, rest = text.partition("://")
    text = f"{scheme.lower()}{separator}{rest}" if separator else text
    for beginning, name in ENGINES.items():
        if text.startswith(beginning):
            try:
                module = importlib.import_module(name, __package__)
            except ImportError as error:
                extra = f"pip install 'matrix-benchmarking[{name[1:]}]'"
                raise HistoryError(f"a history at {beginning} needs more: {extra} ({error})") from error
            found: tuple[Location, list[str]] = module.locate(text, environment, **options)
            return found
    exports = importlib.import_module(".parquet", __package__)
    if exports.is_export(text):
        return exports.ParquetLocation(text), []
    named = (rest if separator else text).lstrip("/")
    is_file = named.endswith((".db", ".sqlite", ".sqlite3")) and scheme.lower() in ("sqlite", text.lower())
    hint = f": did you mean sqlite:///{named}?" if is_file else ""
    shown = text.partition("?")[0].partition("#")[0]
    if "@" in text:
        raise HistoryError(
            "the location of the history holds a user name or password, which others could see, and begins with "
            f"none of {', '.join(ENGINES)}"
        )
    raise HistoryError(
        f"'{shown}' is no location of a history, which is {DEFAULT}, postgresql://host/database, "
        f"https://host:9200/index or, exported, runs.parquet{hint}"
    )


def engine(module: str, name: str) -> Callable[..., Storage]:
    """The class *name* of an engine's *module*, imported when a history is opened: some take a tenth of a second."""
    found: Callable[..., Storage] = getattr(importlib.import_module(module, __package__), name)
    return found


def is_local(host: str) -> bool:
    """True for this machine: no name at all and a directory are sockets of it."""
    if not host or host.startswith("/") or host == "localhost":
        return True
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return False
