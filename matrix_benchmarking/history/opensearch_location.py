"""Where a history on an OpenSearch server is, and who we are there: ``https://host:9200/index``, or a named instance.

Variables are ``MATBENCH_OPENSEARCH_<INSTANCE>_URL``, ``_USERNAME``, ``_PASSWORD``, ``_CA_CERTS``, ``_VERIFY_CERTS``, or
``MATBENCH_OPENSEARCH_USERNAME`` … without an instance; a file of credentials has the same names, in small letters.
"""

from __future__ import annotations

import dataclasses
import re
import stat
import urllib.parse
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from .. import yaml_file
from ..errors import HistoryError
from ..jsonable import Document
from .location import engine, is_local
from .port import Storage

if TYPE_CHECKING:
    from ..config import OpenSearch

PREFIX = "MATBENCH_OPENSEARCH_"
FILE_VARIABLE = f"{PREFIX}CREDENTIALS"
NAMES = ("url", "username", "password", "ca_certs", "verify_certs")
DEFAULT_INDEX, DEFAULT_SUFFIX, ALARM_SUFFIX = "matbench", "-prom", "-alarms"
MONTH, ALL = "-month-", "-all"
"""Behind the name of an index, before a month such as 2026-03; behind it, of the alias of all its months and itself."""
LONGEST_MONTH = f"{MONTH}2026-03"
_BOOLEANS = {**dict.fromkeys(("true", "1", "yes", "y"), True), **dict.fromkeys(("false", "0", "no", "n"), False)}
_INDEX = re.compile(r"[^A-Z\s\"*\\<|,>/?#:]+")


@dataclasses.dataclass(frozen=True, slots=True)
class Credentials:
    """What is needed to talk to one server; *url* is None where only the rest is given."""

    url: str | None = None
    username: str | None = None
    password: str | None = dataclasses.field(default=None, repr=False)
    ca_certs: str | None = None
    verify_certs: bool = True


@dataclasses.dataclass(frozen=True, slots=True)
class OpenSearchLocation:
    """The indices of a history on an OpenSearch server: *index* of the payloads, *kpi_index* for dashboards.

    The *url* holds, behind a proxy, the path in front of the server's own.
    """

    is_server: ClassVar = True

    url: str
    index: str
    access: Credentials
    suffix: str = DEFAULT_SUFFIX
    has_flat_labels: bool = False  # in the documents of KPIs labels are fields of their own, not below ``labels``
    is_monthly: bool = False  # a history that has one index goes on with one a month
    keep_months: int | None = None  # how many of these stay; None is all

    def __str__(self) -> str:
        return f"{self.url}/{self.index}"

    @property
    def kpi_index(self) -> str:
        return f"{self.index}{self.suffix}"

    @property
    def alarm_index(self) -> str:
        return f"{self.index}{ALARM_SUFFIX}"

    def open(self, *, writable: bool) -> Storage:
        return engine(".opensearch", "OpenSearchStorage")(self, writable=writable)

    def warnings(self) -> list[str]:
        """What makes the connection insecure."""
        parts = urllib.parse.urlsplit(self.url)
        if parts.scheme == "http" and self.access.password and not is_local(parts.hostname or ""):
            return [f"the password goes to {self.url} unencrypted: use https"]
        if parts.scheme == "https" and not self.access.verify_certs:
            return [
                f"the certificate of {self.url} is not verified: anybody may answer in its name, and read the password"
            ]
        return []


def locate(
    text: str, environment: Mapping[str, str], *, configured: OpenSearch | None = None, username: str | None = None
) -> tuple[OpenSearchLocation, list[str]]:
    """The location that *text* means, ``http(s)://host:port/index``, and warnings about it.

    The index in *text* comes before the one that is *configured*, and *username* before the environment's.
    """
    access, warnings = _credentials(environment)
    location = _location(text, configured, dataclasses.replace(access, username=username or access.username))
    return location, warnings + location.warnings()


def of_instance(
    instance: str, environment: Mapping[str, str], configured: OpenSearch | None = None
) -> tuple[OpenSearchLocation, list[str]]:
    """The location of the named OpenSearch *instance*, and warnings about it."""
    access, warnings = _credentials(environment, instance)
    if access.url is None:
        variable = f"{_variable_prefix(instance)}URL"
        raise HistoryError(f"the URL of the OpenSearch instance '{instance}' is not known: set {variable}")
    location = _location(access.url, configured, access, path_is_prefix=True)
    return location, warnings + location.warnings()


def _location(
    text: str, configured: OpenSearch | None, access: Credentials, *, path_is_prefix: bool = False
) -> OpenSearchLocation:
    """Where an index is *configured* and *path_is_prefix*, the URL's path is a proxy's."""
    if configured is None:
        from ..config import OpenSearch  # pydantic, which takes longer than all else of 'matbench --help'

        configured = OpenSearch()
    if "@" in text:
        raise HistoryError(
            "the location of the history holds a user name or password, which others could see: give them in "
            f"{PREFIX}USERNAME and {PREFIX}PASSWORD, or in the variables of the instance"
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
    if path_is_prefix and configured.index and last and last != configured.index:
        above, last = [*above, last], ""
    index, suffix = configured.index_prefix + (last or configured.index or DEFAULT_INDEX), configured.prom_index_suffix
    for name in (index, index + suffix, index + ALARM_SUFFIX, index + suffix + LONGEST_MONTH):
        if not _INDEX.fullmatch(name) or name.startswith(("-", "_", "+", ".")) or len(name.encode()) > 255:
            raise HistoryError(
                f"'{name}' can't be the name of an index: small letters, digits, '-' and '_', as in my-runs"
            )
    if suffix in ("", ALARM_SUFFIX):
        raise HistoryError(f"prom_index_suffix is {suffix or 'empty'}: payloads, KPIs and alarms need an index each")
    shown = f"[{host}]" if ":" in host else host
    default_port = 443 if parts.scheme == "https" else 9200
    base = "/".join([f"{parts.scheme}://{shown}:{port or default_port}", *above])
    return OpenSearchLocation(
        base,
        index,
        access,
        suffix,
        configured.kpi_labels == "flat",
        configured.rollover == "monthly",
        configured.keep_months,
    )


def _credentials(environment: Mapping[str, str], instance: str | None = None) -> tuple[Credentials, list[str]]:
    """The credentials of *instance* and warnings about them; each variable wins over the file."""
    warnings: list[str] = []
    given: Document = {}
    if instance is not None and environment.get(FILE_VARIABLE):
        given = _from_file(Path(environment[FILE_VARIABLE]), instance, warnings)
    prefix = _variable_prefix(instance)
    given |= {name: environment[prefix + name.upper()] for name in NAMES if environment.get(prefix + name.upper())}
    if instance is None:
        given.pop("url", None)
    elif not given:
        raise HistoryError(
            f"nothing is known of the OpenSearch instance '{instance}': set {prefix}URL, {prefix}USERNAME and "
            f"{prefix}PASSWORD, or name a file with them in {FILE_VARIABLE}"
        )
    verify = given.pop("verify_certs", True)
    if str(verify).lower() not in _BOOLEANS:
        raise HistoryError(f"{prefix}VERIFY_CERTS is '{verify}', and should be true or false")
    return Credentials(**given, verify_certs=_BOOLEANS[str(verify).lower()]), warnings


def _variable_prefix(instance: str | None) -> str:
    return PREFIX if instance is None else f"{PREFIX}{re.sub('[^A-Z0-9]', '_', instance.upper())}_"


def _from_file(path: Path, instance: str, warnings: list[str]) -> Document:
    section = yaml_file.read(path).content.get(instance)
    if section is None:
        return {}
    if not isinstance(section, dict) or not all(
        name in NAMES and isinstance(value, (str, bool)) for name, value in section.items()
    ):
        raise HistoryError(f"{path}: '{instance}' is not a mapping with texts for {', '.join(NAMES)}")
    if path.stat().st_mode & (stat.S_IRGRP | stat.S_IROTH):
        warnings.append(f"{path} holds a password and can be read by others: chmod 600 {path}")
    return dict(section)
