"""The connection to an OpenSearch server: TLS, credentials, patience, and its errors as sentences."""

from __future__ import annotations

import base64
import contextlib
import logging
import os
import random
import ssl
import time
import urllib.parse
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import msgspec
import opensearchpy
import urllib3
from opensearchpy import exceptions

from ..errors import HistoryError, UnavailableError
from .server_indices import ServerIndices

T = TypeVar("T")

TIMEOUT_S = 60.0
BUSY = frozenset({429, 502, 503, 504})
ATTEMPTS = 8
"""How often a request is made while the server is busy: 0.5 + 1 + 2 + 4 + 8 + 16 + 16 seconds of patience."""
CONNECTION_ATTEMPTS = 3
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.5, 16.0


def connect(location: ServerIndices) -> opensearchpy.OpenSearch:
    """A client; nothing is sent yet.

    Raises:
        HistoryError: the file of certificates can't be used.
    """
    parts = urllib.parse.urlsplit(location.url)
    secure = parts.scheme == "https"
    # The library logs each failed request; what is worth knowing is in our sentences.
    logging.getLogger("opensearch").setLevel(logging.CRITICAL)
    tls: dict[str, Any] = {"ssl_context": _tls(location)} if secure else {}
    return opensearchpy.OpenSearch(
        hosts=[{"host": parts.hostname, "port": parts.port}],
        url_prefix=parts.path,
        use_ssl=secure,
        headers=_authorization(location),
        timeout=TIMEOUT_S,
        max_retries=0,
        retry_on_timeout=False,
        retry_on_status=(),
        http_compress=False,
        **tls,
    )


def _authorization(location: ServerIndices) -> dict[str, str]:
    access = location.access
    if not access.username:
        return {}
    both = f"{access.username}:{access.password or ''}".encode()
    return {"authorization": f"Basic {base64.b64encode(both).decode()}"}


class NotOpenSearchError(exceptions.OpenSearchException):
    """An answer that OpenSearch doesn't give, whatever its status."""


@contextlib.contextmanager
def reading(what: str) -> Iterator[None]:
    """The reading of an answer to *what*, which stops where the answer is not as OpenSearch makes them.

    Raises:
        NotOpenSearchError: it stopped.
    """
    try:
        yield
    except (AttributeError, IndexError, KeyError, TypeError, ValueError, msgspec.MsgspecError) as error:
        raise NotOpenSearchError(f"{what} ({type(error).__name__}: {str(error)[:200]})") from error


def read(answer: Any, shape: type[T], what: str) -> T:
    """The *answer* to *what* in its *shape*, a :class:`msgspec.Struct`.

    Raises:
        NotOpenSearchError: it has another one.
    """
    with reading(what):
        return msgspec.convert(answer, shape)


class _Acknowledgement(msgspec.Struct):
    acknowledged: bool


def acknowledged(answer: Any, what: str) -> None:
    """Nothing, where the server says in *answer* that it did *what*.

    Raises:
        NotOpenSearchError: the answer is none.
        UnavailableError: not all of the cluster did it in time.
    """
    if not read(answer, _Acknowledgement, what).acknowledged:
        raise UnavailableError(f"the cluster did not confirm {what} in time: try again when it is healthy")


class Shards(msgspec.Struct):
    """On how many shards a request failed."""

    failed: int


class _Refreshed(msgspec.Struct):
    shards: Shards = msgspec.field(name="_shards")


def refresh(client: opensearchpy.OpenSearch, names: str) -> None:
    """Make what was written to the indices *names* visible to searches.

    Raises:
        UnavailableError: some of it may not be yet.
        opensearchpy.OpenSearchException: the server refused.
    """
    answer = patiently(lambda: client.indices.refresh(index=names))
    if read(answer, _Refreshed, "a refresh").shards.failed:
        raise UnavailableError(f"parts of '{names}' may not show what was written yet: the cluster is not healthy")


def patiently(request: Callable[[], T], sleep: Callable[[float], None] = time.sleep) -> T:
    """What *request* gives, made again while the server is busy or a connection breaks."""
    attempt = 0
    while True:
        attempt += 1
        try:
            return request()
        except exceptions.ConnectionError as error:
            if attempt >= CONNECTION_ATTEMPTS or isinstance(error, exceptions.SSLError):
                raise
        except exceptions.TransportError as error:
            if attempt >= ATTEMPTS or error.status_code not in BUSY:
                raise
        sleep(pause_s(attempt))


def pause_s(attempt: int) -> float:
    """How long to wait after this many attempts: twice as long each time, with some chance in it."""
    return min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2.0 ** (attempt - 1)) * random.uniform(0.75, 1.25)  # noqa: S311


@contextlib.contextmanager
def sentences(location: ServerIndices) -> Iterator[None]:
    """The library's errors as sentences, which never hold credentials."""
    try:
        yield
    except exceptions.ConnectionError as error:
        raise UnavailableError(f"{location.url} {_broken(error, location)}") from error
    except exceptions.TransportError as error:
        if error.status_code in (401, 403):
            who = f"the user '{location.access.username}'" if location.access.username else "a request without a user"
            raise UnavailableError(
                f"{location.url} refuses {who} (status {error.status_code}): check the user name and the password"
            ) from error
        if error.status_code in BUSY:
            raise UnavailableError(f"{location.url} is busy and stays so (status {error.status_code})") from error
        if isinstance(error.status_code, int) and error.status_code >= 500:
            raise UnavailableError(f"{location.url} is in trouble: {reason(error)}") from error
        raise HistoryError(f"{location.url} says: {reason(error)}") from error
    except exceptions.OpenSearchException as error:
        raise HistoryError(
            f"{location.url} is not OpenSearch, or something answers in its place: it gave an answer that can't be "
            f"understood: {error}"
        ) from error


def reason(error: exceptions.TransportError) -> str:
    """What the server said."""
    info: Any = error.info
    with contextlib.suppress(TypeError, KeyError):
        return f"{info['error']['type']}: {info['error']['reason']} (status {error.status_code})"
    return f"status {error.status_code}, {str(info)[:300] or 'without a reason'}"


def _broken(error: exceptions.ConnectionError, location: ServerIndices) -> str:
    cause = str(error.info if hasattr(error, "info") else error)
    if "WRONG_VERSION_NUMBER" in cause or "record layer failure" in cause:
        return "does not speak TLS: is it http:// instead of https://?"
    if isinstance(error, exceptions.SSLError) or "CERTIFICATE" in cause or "SSL" in cause:
        return (
            f"has a certificate that is not to be trusted ({_shortest(cause)}): name its authority in "
            "MATBENCH_OPENSEARCH_CA_CERTS or the instance's _CA_CERTS"
        )
    if isinstance(error, exceptions.ConnectionTimeout):
        return f"did not answer within {TIMEOUT_S:g} s"
    if "Failed to resolve" in cause:
        return "can't be reached: there is no such host"
    if "refused" in cause:
        return "can't be reached: connection refused; is the server running?"
    if "reset" in cause or "aborted" in cause or "Remote end closed" in cause:
        return "broke off the connection"
    return f"can't be reached: {_shortest(cause)}"


def _shortest(cause: str) -> str:
    """The innermost part of a nested message."""
    return cause.rsplit(": ", 1)[-1].strip("()'\" ")[:200]


def _tls(location: ServerIndices) -> ssl.SSLContext:
    authorities = location.access.ca_certs
    try:
        is_directory = bool(authorities) and os.path.isdir(str(authorities))
        context = ssl.create_default_context(
            cafile=None if is_directory else authorities, capath=authorities if is_directory else None
        )
    except (OSError, ssl.SSLError) as error:
        raise HistoryError(f"the certificates in '{authorities}' can't be used: {error}") from error
    if not location.access.verify_certs:
        urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)  # ours is given once a command
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context
