"""A results tree behind the directory listings of a web server, or one file there, through fsspec."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import os
import urllib.parse
from collections.abc import Iterator
from typing import Any

from ..errors import DownloadError, needing
from .addresses import Address
from .listing import http_time_ns, parse_html, parse_json
from .source import LISTING_S, Directory, File, Readable, Source, Trouble

MAX_LISTING_BYTES = 16 << 20
CONNECT_S, SILENCE_S = 30, 60
_TRANSIENT_STATUS = frozenset({408, 425, 429, 500, 502, 503, 504})
_COMPRESSED_NAMES = (".gz", ".tgz", ".zst", ".tzst", ".bz2", ".xz", ".zip")


class HttpSource(Source):
    """Reads what is below the address; names and times come from its listings and headers.

    Credentials are those of ``~/.netrc``, proxies and certificates those of the environment.
    """

    def __init__(self, address: Address) -> None:
        with needing("a web server", "remote", DownloadError):
            import aiohttp
            from fsspec.implementations.http import HTTPFileSystem
        self._aiohttp: Any = aiohttp
        self.errors = (OSError, aiohttp.ClientError, asyncio.TimeoutError, ValueError)
        self._address = address
        self._base = address.location
        self._streams: dict[int, Any] = {}
        self._fs: Any = HTTPFileSystem(
            skip_instance_cache=True,
            encoded=True,
            headers={"Accept-Encoding": "identity"},
            client_kwargs={
                "trust_env": True,
                "auto_decompress": False,
                "raise_for_status": True,  # aiohttp lets go of the connection then, fsspec would not
                "timeout": self._timeout(None),
            },
        )

    def list(self, directory: str) -> Directory:
        url = self._url(directory) if directory else self._base
        url = url if url.endswith("/") else f"{url}/"
        with self._opened(url, LISTING_S) as (stream, headers, final):
            if not directory:
                self._base = url = f"{final.rpartition('/')[0]}/"
            elif final != url:
                raise DownloadError("its listing leads elsewhere")
            text = _read_text(stream)
        if "json" in headers.get("Content-Type", ""):
            return parse_json(text, directory)
        if "html" not in headers.get("Content-Type", "html"):
            raise DownloadError("it is neither a directory listing nor an archive")
        return parse_html(text, url, directory)

    def describe(self, file: File) -> File:
        """*file* as its headers say; as it was where the server doesn't answer to HEAD."""
        try:
            info = self._fs.info(self._url(file.name), timeout=LISTING_S)
        except self.errors:
            return file
        return _merged(file, info.get("size"), info)

    @contextlib.contextmanager
    def open(self, file: File) -> Iterator[tuple[File, Readable]]:
        with self._opened(self._url(file.name)) as (stream, headers, _):
            length = headers.get("Content-Length", "")
            yield _merged(file, int(length) if length.isdigit() else None, headers), stream

    @contextlib.contextmanager
    def _opened(self, url: str, total_s: float | None = None) -> Iterator[tuple[Readable, Any, str]]:
        """The stream of *url*, its headers, and the URL that it came from after redirections."""
        stream = self._fs.open(url, "rb", block_size=0, size=-1, timeout=self._timeout(total_s))  # a size spares a HEAD
        self._streams[id(stream)] = stream
        try:
            response = stream.r
            final = urllib.parse.urlsplit(str(response.url))
            if url.startswith("https:") and final.scheme != "https":
                raise DownloadError("the server redirects from https to an address that is not encrypted")
            encoding = response.headers.get("Content-Encoding", "identity")
            if encoding not in ("", "identity") and not url.partition("?")[0].endswith(_COMPRESSED_NAMES):
                raise DownloadError(f"the server compresses it ({encoding[:20]}), which it was asked not to do")
            yield stream, response.headers, final._replace(query="", fragment="").geturl()
        finally:
            self._streams.pop(id(stream), None)
            stream.close()

    def _timeout(self, total_s: float | None) -> Any:
        return self._aiohttp.ClientTimeout(total=total_s, sock_connect=CONNECT_S, sock_read=SILENCE_S)

    def _url(self, name: str) -> str:
        if self._address.archive:
            return self._address.location
        return self._base + urllib.parse.quote(name, safe="/!$&'()*+,;=:@~-._")

    def explain(self, error: Exception) -> Trouble:
        client = self._aiohttp
        if isinstance(error, client.TooManyRedirects):
            return Trouble("the server redirects in a circle")
        if isinstance(error, client.ClientResponseError):
            return _of_status(error.status)
        if isinstance(error, (client.ClientSSLError, client.ServerFingerprintMismatch)):
            return Trouble(
                "the server's certificate can't be verified; the certificate of your own authority is named by "
                "SSL_CERT_FILE"
            )
        if isinstance(error, client.ClientConnectorError):
            number, said = error.os_error.errno or 0, error.os_error.strerror
            reason = os.strerror(number) if number > 0 else said or "no connection"
            host = urllib.parse.urlsplit(self._address.public).hostname
            return Trouble(f"{host} can't be reached: {reason}", transient=True)
        if isinstance(error, (client.InvalidURL, client.NonHttpUrlClientError)):
            return Trouble("the address can't be used, or the server redirects to one that can't")
        if isinstance(error, TimeoutError) and not isinstance(error, client.ServerTimeoutError):
            return Trouble(f"its listing was not whole after {LISTING_S} s")
        if isinstance(error, TimeoutError):
            return Trouble(f"the server said nothing for {SILENCE_S} s", transient=True)
        return Trouble(f"the connection broke ({type(error).__name__})", transient=not isinstance(error, ValueError))

    def close(self) -> None:
        """Close all connections; a thread that waits for a silent server gets an error."""
        for stream in tuple(self._streams.values()):
            stream.close()
        if self._fs._session is not None:
            self._fs.close_session(self._fs.loop, self._fs._session)


def _of_status(status: int) -> Trouble:
    if status == 404:
        return Trouble("it is not there (HTTP 404)")
    if status in (401, 403):
        return Trouble(f"the server refuses it (HTTP {status}): credentials for it belong in ~/.netrc")
    return Trouble(f"the server answers HTTP {status}", transient=status in _TRANSIENT_STATUS)


def _merged(file: File, size: int | None, headers: Any) -> File:
    """*file* with what the headers of an answer say."""
    etag = headers.get("ETag")
    return dataclasses.replace(
        file,
        size=size if size is not None else file.size,
        etag=etag[:200] if isinstance(etag, str) and etag else file.etag,
        mtime_ns=http_time_ns(headers.get("Last-Modified")) or file.mtime_ns,
    )


def _read_text(stream: Readable) -> str:
    content = bytearray()
    while chunk := stream.read(1 << 16):
        content += chunk
        if len(content) > MAX_LISTING_BYTES:
            raise DownloadError(f"its listing is longer than {MAX_LISTING_BYTES >> 20} MiB")
    return content.decode("utf-8", "replace")
