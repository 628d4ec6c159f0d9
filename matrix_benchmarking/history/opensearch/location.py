"""Where a history on an OpenSearch server is: ``https://host:9200/index``, or an instance that a variable names."""

from __future__ import annotations

import dataclasses
import re
import urllib.parse
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from ..errors import HistoryError
from . import credentials
from .credentials import Credentials
from .server_indices import ALARM_SUFFIX, DEFAULT_SUFFIX, ServerIndices

if TYPE_CHECKING:
    from ..port import Storage

DEFAULT_INDEX = "matbench"
_INDEX = re.compile(r"[^A-Z\s\"*\\<|,>/?#:]+")


class OpenSearchLocation(ServerIndices):
    """A history on an OpenSearch server; see :class:`..location.Location`."""

    is_server: ClassVar = True

    def is_there(self) -> bool:
        """Opening it says so."""
        return True

    def open(self, *, writable: bool) -> Storage:
        """The engine."""
        from .storage import OpenSearchStorage  # opensearch-py: a tenth of a second, which other engines don't need

        return OpenSearchStorage(self, writable=writable)


@dataclasses.dataclass(frozen=True, slots=True)
class Indices:
    """How the indices of an OpenSearch history are called: ``<prefix><index>``, ``<suffix>`` or ``-alarms`` behind it.

    Attributes:
        index: used where the URL names none.
        prefix, suffix: in front of all, and behind that of the KPIs.
        path_is_prefix: the path of a URL is what a proxy puts in front, where ``index`` is given; else its last part is
            the index.
    """

    index: str | None = None
    prefix: str = ""
    suffix: str = DEFAULT_SUFFIX
    path_is_prefix: bool = False


def locate(
    text: str, environment: Mapping[str, str], *, indices: Indices = Indices(), username: str | None = None
) -> tuple[OpenSearchLocation, list[str]]:
    """The location that *text* means, ``http(s)://host:port/index``, and warnings about it.

    Args:
        environment: where credentials are found.
        indices: names of indices; the one in *text* comes first.
        username: wins over the environment's.

    Raises:
        HistoryError: it means none, or holds a password.
    """
    if "@" in text:
        raise HistoryError(
            "the location of the history holds a user name or password, which others could see: give them in "
            f"{credentials.PREFIX}USERNAME and {credentials.PREFIX}PASSWORD"
        )
    access, warnings = credentials.find(environment)
    location = _opensearch(text, indices, dataclasses.replace(access, username=username or access.username))
    return location, warnings + location.warnings()


def of_instance(
    instance: str,
    environment: Mapping[str, str],
    indices: Indices = Indices(),
) -> tuple[OpenSearchLocation, list[str]]:
    """The location of the named OpenSearch *instance*, and warnings about it.

    Raises:
        HistoryError: its URL is not known, or holds a password.
    """
    access, warnings = credentials.find(environment, instance)
    if access.url is None:
        variable = f"{credentials.variable_prefix(instance)}URL"
        raise HistoryError(f"the URL of the OpenSearch instance '{instance}' is not known: set {variable}")
    location = _opensearch(access.url, dataclasses.replace(indices, path_is_prefix=True), access)
    return location, warnings + location.warnings()


def _opensearch(text: str, indices: Indices, access: Credentials) -> OpenSearchLocation:
    if "@" in text:
        raise HistoryError(
            "the URL of the OpenSearch server holds a user name or password, which others could see: give them in "
            f"{credentials.PREFIX}USERNAME and {credentials.PREFIX}PASSWORD, or in the variables of the instance"
        )
    try:
        parts = urllib.parse.urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise HistoryError("the URL of the OpenSearch server has no valid host and port") from None
    shown = text.partition("?")[0].partition("#")[0]
    if not host or parts.scheme not in ("http", "https") or parts.query or parts.fragment:
        raise HistoryError(f"'{shown}' is no URL of an OpenSearch server, such as https://host:9200/index")
    *above, last = parts.path.strip("/").split("/")
    if indices.path_is_prefix and indices.index and last and last != indices.index:
        above, last = [*above, last], ""
    index = indices.prefix + (last or indices.index or DEFAULT_INDEX)
    for name in (index, index + indices.suffix, index + ALARM_SUFFIX):
        if not _INDEX.fullmatch(name) or name.startswith(("-", "_", "+", ".")) or len(name.encode()) > 255:
            raise HistoryError(
                f"'{name}' can't be the name of an index: small letters, digits, '-' and '_', as in my-runs"
            )
    if indices.suffix in ("", ALARM_SUFFIX):
        raise HistoryError(
            f"prom_index_suffix is {indices.suffix or 'empty'}: payloads, KPIs and alarms need an index each"
        )
    shown = f"[{host}]" if ":" in host else host
    default_port = 443 if parts.scheme == "https" else 9200
    base = "/".join([f"{parts.scheme}://{shown}:{port or default_port}", *above])
    return OpenSearchLocation(base, index, access, index + indices.suffix)
