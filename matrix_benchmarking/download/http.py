"""A results tree behind the directory listings of a web server, or one file there, and the reading of such listings.

A listing is only believed about its own directory: links to anywhere else are passed over.
"""

from __future__ import annotations

import contextlib
import email.utils
import html
import json
import math
import re
import socket
import ssl
import threading
import time
import urllib.parse
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
import requests
import urllib3
from requests.adapters import HTTPAdapter
from urllib3.exceptions import NewConnectionError

from ..errors import DownloadError
from .addresses import Address
from .source import LISTING_S, Directory, File, Readable, Source, Trouble, join

MAX_LISTING_BYTES, MAX_REDIRECTIONS = 16 << 20, 10
CONNECT_S, SILENCE_S = 30, 60
_TRANSIENT_STATUS = frozenset({408, 425, 429, 500, 502, 503, 504})
_COMPRESSED_NAMES = (".gz", ".tgz", ".zst", ".tzst", ".bz2", ".xz", ".zip")
# The bound on what stands before href keeps this linear for any text.
_LINK = re.compile(r"<a\s[^<>]{0,400}?\bhref\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s>]+))", re.IGNORECASE)
_DEFAULT_PORTS = {"http": 80, "https": 443}


class HttpSource(Source):
    """Reads what is below the address; names and times come from its listings and headers.

    Credentials are those of ``~/.netrc``, proxies and certificates those of the environment.
    """

    errors = (OSError, urllib3.exceptions.HTTPError, ValueError)

    def __init__(self, address: Address) -> None:
        self._address, self._base = address, address.location
        self._sockets: dict[int, socket.socket] = {}
        self._session = requests.Session()
        self._session.headers["Accept-Encoding"] = "identity"
        paths = ssl.get_default_verify_paths()  # the system's certificates, or what SSL_CERT_FILE names
        self._options: dict[str, Any] = {
            "verify": paths.cafile or paths.capath or True,
            "timeout": (CONNECT_S, SILENCE_S),
            "stream": True,
            "allow_redirects": False,
        }
        for scheme in ("http://", "https://"):
            self._session.mount(scheme, _Adapter(self._sockets))

    def list(self, directory: str) -> Directory:
        url = self._url(directory) if directory else self._base
        url = url if url.endswith("/") else f"{url}/"
        with self._opened("GET", url, whole=True) as response:
            final = urllib.parse.urlsplit(response.url)._replace(query="", fragment="").geturl()
            if not directory:
                self._base = url = f"{final.rpartition('/')[0]}/"
            elif final != url:
                raise DownloadError("its listing leads elsewhere")
            text = _read_text(_Body(response))
        kind = response.headers.get("Content-Type", "html")
        if "json" in kind:
            return parse_json(text, directory)
        if "html" not in kind:
            raise DownloadError("it is neither a directory listing nor an archive")
        return parse_html(text, url, directory)

    def describe(self, file: File) -> File:
        """*file* as its headers say; as it was where the server doesn't answer to HEAD."""
        try:
            with self._opened("HEAD", self._url(file.name)) as response:
                _Body(response).read(1)  # there is none; the connection is free then
                return _merged(file, response.headers)
        except self.errors:
            return file

    @contextlib.contextmanager
    def open(self, file: File) -> Iterator[tuple[File, Readable]]:
        with self._opened("GET", self._url(file.name)) as response:
            encoding = response.headers.get("Content-Encoding", "identity")
            if encoding not in ("", "identity") and not file.name.endswith(_COMPRESSED_NAMES):
                raise DownloadError(f"the server compresses it ({encoding[:20]}), which it was asked not to do")
            yield _merged(file, response.headers), _Body(response)

    @contextlib.contextmanager
    def _opened(self, method: str, url: str, *, whole: bool = False) -> Iterator[requests.Response]:
        """The answer, after redirections, whose head, or the *whole* of it, has to come within LISTING_S."""
        thread, deadline = threading.get_ident(), time.monotonic() + LISTING_S
        watch = threading.Timer(LISTING_S, lambda: self._hang_up(thread))
        watch.daemon = True
        watch.start()
        try:
            with contextlib.closing(self._answer(method, url)) as response:
                if not whole:
                    watch.cancel()
                    deadline = math.inf
                yield response
        except self.errors:
            if time.monotonic() < deadline:
                raise
        finally:
            watch.cancel()
            self._sockets.pop(thread, None)
        if time.monotonic() >= deadline:
            raise DownloadError(f"its {'listing' if whole else 'head'} was not whole after {LISTING_S} s")

    def _answer(self, method: str, url: str) -> requests.Response:
        """The answer where the redirections end; none of their bodies is read."""
        for _ in range(MAX_REDIRECTIONS):
            response = self._session.request(method, url, **self._options)
            target = self._session.get_redirect_target(response)
            if target is None and response.ok:
                return response
            response.close()
            response.raise_for_status()
            before, url = url, urllib.parse.urljoin(url, target or "")
            if before.startswith("https:") and url.startswith("http:"):
                raise DownloadError("the server redirects from https to an address that is not encrypted")
        raise DownloadError("the server redirects in a circle")

    def _url(self, name: str) -> str:
        if self._address.archive:
            return self._address.location
        return self._base + urllib.parse.quote(name, safe="/!$&'()*+,;=:@~-._")

    def explain(self, error: Exception) -> Trouble:
        if isinstance(error, requests.HTTPError) and error.response is not None:
            return _of_status(error.response.status_code)
        if isinstance(error, requests.exceptions.SSLError):
            return Trouble(
                "the server's certificate can't be verified; the certificate of your own authority is named by "
                "SSL_CERT_FILE"
            )
        refused = getattr(error.args[0], "reason", None) if error.args else None
        if isinstance(refused, NewConnectionError):
            cause = refused.__cause__
            known = cause.strerror if isinstance(cause, OSError) else None
            host = urllib.parse.urlsplit(self._address.public).hostname
            return Trouble(f"{host} can't be reached: {known or 'no connection'}", transient=True)
        if isinstance(error, (requests.Timeout, urllib3.exceptions.TimeoutError)):
            return Trouble(f"the server said nothing for {SILENCE_S} s", transient=True)
        if isinstance(error, ValueError):
            return Trouble("the address can't be used, or the server redirects to one that can't")
        return Trouble(f"the connection broke ({type(error).__name__})", transient=True)

    def close(self) -> None:
        """Close all connections; a thread that waits for a silent server gets an error."""
        for thread in tuple(self._sockets):
            self._hang_up(thread)
        self._session.close()

    def _hang_up(self, thread: int) -> None:
        with contextlib.suppress(KeyError, OSError):  # of TLS, too, the socket itself, which another thread reads
            socket.socket.shutdown(self._sockets[thread], socket.SHUT_RDWR)


class _Adapter(HTTPAdapter):
    """Notes the socket from which each thread waits for an answer in *sockets*."""

    def __init__(self, sockets: dict[int, socket.socket]) -> None:
        super().__init__(pool_maxsize=64)
        self._sockets = sockets

    def get_connection_with_tls_context(self, *arguments: Any, **options: Any) -> Any:
        pool = super().get_connection_with_tls_context(*arguments, **options)
        if "ConnectionCls" in vars(pool):
            return pool
        kind, sockets = type(pool).ConnectionCls, self._sockets

        class Noted(kind):  # type: ignore[misc, valid-type]
            def getresponse(self) -> Any:
                sockets[threading.get_ident()] = self.sock
                return super().getresponse()

        pool.ConnectionCls = Noted
        return pool


class _Body:
    """The body of an answer as it came, in the pieces in which it comes."""

    def __init__(self, response: requests.Response) -> None:
        self._raw = response.raw

    def read(self, size: int, /) -> bytes:
        content: bytes = self._raw.read1(size, decode_content=False)
        return content


def _of_status(status: int) -> Trouble:
    if status == 404:
        return Trouble("it is not there (HTTP 404)")
    if status in (401, 403):
        return Trouble(f"the server refuses it (HTTP {status}): credentials for it belong in ~/.netrc")
    return Trouble(f"the server answers HTTP {status}", transient=status in _TRANSIENT_STATUS)


def _merged(file: File, headers: Any) -> File:
    """*file* with what the headers of an answer say."""
    length, etag = headers.get("Content-Length", ""), headers.get("ETag")
    return msgspec.structs.replace(
        file,
        size=int(length) if length.isdigit() else file.size,
        etag=etag[:200] if etag else file.etag,
        mtime_ns=http_time_ns(headers.get("Last-Modified")) or file.mtime_ns,
    )


def _read_text(stream: Readable) -> str:
    content = bytearray()
    while chunk := stream.read(1 << 16):
        content += chunk
        if len(content) > MAX_LISTING_BYTES:
            raise DownloadError(f"its listing is longer than {MAX_LISTING_BYTES >> 20} MiB")
    return content.decode("utf-8", "replace")


def parse_html(text: str, url: str, directory: str) -> Directory:
    """What the links of an index page at *url* say about *directory*: nginx, Apache, Python's http.server.

    Sort links (``?C=N``), the parent directory, other hosts and deeper paths are passed over.
    """
    found: dict[str, bool] = {}
    for link in _LINK.finditer(text):
        child = _child(html.unescape(link[1] or link[2] or link[3] or ""), url)
        if child is not None:
            found[child[0]] = found.get(child[0], False) or child[1]
    return _directory(directory, ((File(name), is_directory) for name, is_directory in found.items()))


def parse_json(text: str, directory: str) -> Directory:
    """What nginx's ``autoindex_format json`` says about *directory*; DownloadError for another format."""
    try:
        rows = json.loads(text)
    except (ValueError, RecursionError):
        rows = None
    if not isinstance(rows, list) or not all(
        isinstance(row, dict) and isinstance(row.get("name"), str) for row in rows
    ):
        raise DownloadError("its JSON is not a directory listing")
    return _directory(directory, ((_described(row), row.get("type") == "directory") for row in rows))


def _described(row: dict[str, Any]) -> File:
    size, mtime = row.get("size"), row.get("mtime")
    known = isinstance(size, int) and not isinstance(size, bool) and size >= 0
    return File(row["name"], size if known else None, mtime_ns=http_time_ns(mtime))


def http_time_ns(text: object) -> int | None:
    """An HTTP date in nanoseconds since 1970; None where there is none."""
    if not isinstance(text, str):
        return None
    try:
        return int(email.utils.parsedate_to_datetime(text).timestamp()) * 10**9
    except (ValueError, TypeError, OverflowError):
        return None


def _child(link: str, url: str) -> tuple[str, bool] | None:
    """Name of what *link* leads to, if that is in the directory at *url*, and whether it is a directory."""
    try:
        target, base = urllib.parse.urlsplit(urllib.parse.urljoin(url, link.strip())), urllib.parse.urlsplit(url)
        here = _origin(target) == _origin(base)
    except ValueError:
        return None
    if not here or target.query or not target.path.startswith(base.path):
        return None
    rest = target.path[len(base.path) :]
    segment, slash, beyond = rest.partition("/")
    if not segment or beyond:
        return None
    return urllib.parse.unquote(segment, errors="surrogateescape"), bool(slash)


def _origin(url: urllib.parse.SplitResult) -> tuple[str, str | None, int | None]:
    """Scheme, host and port, by which two URLs are on the same server."""
    return url.scheme, url.hostname, url.port or _DEFAULT_PORTS.get(url.scheme)


def _directory(directory: str, rows: Iterable[tuple[File, bool]]) -> Directory:
    content = Directory()
    for file, is_directory in rows:
        reason = "its name has a slash" if "/" in file.name else None
        named = msgspec.structs.replace(file, name=join(directory, file.name))
        content.add(named, is_directory=is_directory, reason=reason)
    return content
