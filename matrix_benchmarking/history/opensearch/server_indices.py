"""The indices of a history on an OpenSearch server, and who we are there."""

from __future__ import annotations

import dataclasses
import ipaddress
import urllib.parse

from .credentials import Credentials

DEFAULT_SUFFIX = "-prom"
ALARM_SUFFIX = "-alarms"


@dataclasses.dataclass(frozen=True, slots=True)
class ServerIndices:
    """The indices of a history on an OpenSearch server.

    Attributes:
        url: scheme, host, port and, behind a proxy, the path in front of the server's own.
        index: the index of the payloads.
        access: who we are there.
        kpi_index: the index of single KPIs, for dashboards; that of the payloads with ``-prom`` unless given.
    """

    url: str
    index: str
    access: Credentials
    kpi_index: str = ""

    def __post_init__(self) -> None:
        if not self.kpi_index:
            object.__setattr__(self, "kpi_index", self.index + DEFAULT_SUFFIX)

    def __str__(self) -> str:
        return f"{self.url}/{self.index}"

    @property
    def alarm_index(self) -> str:
        """The index of what happened to alarms."""
        return f"{self.index}{ALARM_SUFFIX}"

    @property
    def is_local(self) -> bool:
        """True if the server is on this machine."""
        host = urllib.parse.urlsplit(self.url).hostname or ""
        try:
            return ipaddress.ip_address(host).is_loopback
        except ValueError:
            return host == "localhost"

    def warnings(self) -> list[str]:
        """What makes the connection insecure."""
        if self.url.startswith("http:"):
            if self.access.password and not self.is_local:
                return [f"the password goes to {self.url} unencrypted: use https"]
            return []
        if not self.access.verify_certs:
            return [
                f"the certificate of {self.url} is not verified: anybody may answer in its name, and read the password"
            ]
        return []
