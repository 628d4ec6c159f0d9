"""Who may write by the application's pages: nobody unless it was allowed, and then by loopback or a named proxy."""

from __future__ import annotations

import dataclasses
import hmac
import ipaddress
import secrets
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...errors import MatbenchError
from ...history.alarms import LONGEST_AUTHOR, system_user

if TYPE_CHECKING:
    import flask

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
_FORWARDED = {"forwarded", "via", "client-ip", "true-client-ip", "x-client-ip", "x-real-ip", "cf-connecting-ip"}
_FORWARDS = "x-forwarded-"


def is_local(request: flask.Request) -> bool:
    """True where somebody on this machine asks, and no proxy says that it asks for others."""
    try:
        address = ipaddress.ip_address(request.remote_addr or "")
    except ValueError:
        return False
    names = {name.lower() for name, _ in request.headers}
    return address.is_loopback and not names & _FORWARDED and not any(name.startswith(_FORWARDS) for name in names)


class RefusedError(MatbenchError):
    """Somebody may not write; says why."""


@dataclasses.dataclass(frozen=True)
class Writing:
    """Attributes:
    user_header: the header in which a proxy says who the user is; None where the system's user is believed, on
        loopback.
    proxies: from which addresses that header is believed.
    token: what a page of this server sends with each action, and no other page knows.
    """

    user_header: str | None = None
    proxies: Sequence[Network] = ()
    token: str = dataclasses.field(default_factory=lambda: secrets.token_urlsafe(24))

    def author(self, request: flask.Request, token: object) -> str:
        """Who asks; raises RefusedError where nobody is to be believed."""
        if not isinstance(token, str) or not hmac.compare_digest(token.encode(), self.token.encode()):
            raise RefusedError("this page is of an earlier start of the application: reload it")
        if request.headers.get("Origin", "").partition("://")[2] != request.host:
            raise RefusedError("only a page of this application may write")
        if self.user_header is None:
            if not is_local(request):
                raise RefusedError("writing is for this machine alone; --user-header lets a proxy say who somebody is")
            user = system_user()
            if not user:
                raise RefusedError("nobody knows who you are here: set LOGNAME")
            return user
        try:
            address = ipaddress.ip_address(request.remote_addr or "")
        except ValueError:
            raise RefusedError("the address that asks is unknown") from None
        if not any(address in network for network in self.proxies):
            raise RefusedError(f"{self.user_header} is believed only from the proxies that are named")
        author = request.headers.get(self.user_header, "").strip()
        if not author or len(author) > LONGEST_AUTHOR or not author.isprintable():
            raise RefusedError(f"the proxy says in {self.user_header} nobody who could write")
        return author
