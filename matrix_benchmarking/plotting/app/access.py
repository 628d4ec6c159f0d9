"""Who may ask the application: its own pages; and who may write: nobody, else by loopback or a named proxy."""

from __future__ import annotations

import dataclasses
import hmac
import ipaddress
import secrets
import socket
from collections.abc import Sequence

import dash
import flask

from ...errors import MatbenchError
from ...history.alarms import LONGEST_AUTHOR, system_user
from .run_page import ARTIFACT_ROUTE

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
_FORWARDED = {"forwarded", "via", "client-ip", "true-client-ip", "x-client-ip", "x-real-ip", "cf-connecting-ip"}
_FORWARDS = "x-forwarded-"
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}
EVERYWHERE = {"0.0.0.0", "::"}  # noqa: S104  what a person asked for with --host


def is_local(request: flask.Request) -> bool:
    """True where somebody on this machine asks, and no proxy says that it asks for others."""
    try:
        address = ipaddress.ip_address(request.remote_addr or "")
    except ValueError:
        return False
    names = {name.lower() for name, _ in request.headers}
    return address.is_loopback and not names & _FORWARDED and not any(name.startswith(_FORWARDS) for name in names)


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
        """Who asks; raises MatbenchError where nobody is to be believed."""
        if not isinstance(token, str) or not hmac.compare_digest(token.encode(), self.token.encode()):
            raise MatbenchError("this page is of an earlier start of the application: reload it")
        if request.headers.get("Origin", "").partition("://")[2] != request.host:
            raise MatbenchError("only a page of this application may write")
        if self.user_header is None:
            if not is_local(request):
                raise MatbenchError("writing is for this machine alone; --user-header lets a proxy say who somebody is")
            user = system_user()
            if not user:
                raise MatbenchError("nobody knows who you are here: set LOGNAME")
            return user
        try:
            address = ipaddress.ip_address(request.remote_addr or "")
        except ValueError:
            raise MatbenchError("the address that asks is unknown") from None
        if not any(address in network for network in self.proxies):
            raise MatbenchError(f"{self.user_header} is believed only from the proxies that are named")
        author = request.headers.get(self.user_header, "").strip()
        if not author or len(author) > LONGEST_AUTHOR or not author.isprintable():
            raise MatbenchError(f"the proxy says in {self.user_header} nobody who could write")
        return author


def secure(app: dash.Dash, hosts: frozenset[str]) -> None:
    """Only pages of this server may ask it, and a page loads and runs nothing but its own."""
    scripts = " ".join(app.csp_hashes())
    policy = (
        f"default-src 'self'; script-src 'self' {scripts}; style-src 'self' 'unsafe-inline'; "
        "img-src 'self' data: blob:; font-src 'self' data:; worker-src 'self' blob:; object-src 'none'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )

    def only_from_here() -> flask.Response | None:
        request = flask.request
        origin = request.headers.get("Origin")
        own = _host(request.host)
        if not _is_own_name(own, hosts) or (origin is not None and origin.partition("://")[2] != request.host):
            return flask.Response("this server answers only under its own address\n", status=403, mimetype="text/plain")
        return None

    def with_headers(response: flask.Response) -> flask.Response:
        is_artifact = flask.request.path.startswith(f"{ARTIFACT_ROUTE}/")
        response.headers["Content-Security-Policy"] = "default-src 'none'; sandbox" if is_artifact else policy
        response.headers["X-Content-Type-Options"] = "nosniff"
        response.headers["Referrer-Policy"] = "same-origin"
        return response

    app.server.before_request(only_from_here)
    app.server.after_request(with_headers)


def _is_own_name(name: str, hosts: frozenset[str]) -> bool:
    """True for a name of this machine (none that DNS rebinding leads here), and for those that it was told to have.

    One that listens everywhere answers to any address in numbers, which needs no name.
    """
    if name in _LOOPBACK or name in {host.lower() for host in hosts}:
        return True
    if not hosts & EVERYWHERE:
        return False
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return name in {socket.gethostname().lower(), socket.getfqdn().lower()}
    return True


def _host(header: str) -> str:
    if header.startswith("["):
        return header[1:].partition("]")[0]
    return header.partition(":")[0].lower()
