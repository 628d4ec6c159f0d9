"""Talking to an OpenSearch server: TLS, credentials, patience, whole reads, bulk writes, errors as sentences."""

from __future__ import annotations

import base64
import contextlib
import logging
import os
import random
import ssl
import time
import urllib.parse
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal, NamedTuple, TypeVar

import msgspec
import opensearchpy
import urllib3
from opensearchpy import exceptions

from ..errors import HistoryError, UnavailableError
from ..jsonable import Document
from .opensearch_location import OpenSearchLocation
from .port import batched

T = TypeVar("T")

TIMEOUT_S = 60.0
BUSY = frozenset({429, 502, 503, 504})
TOO_LARGE = 413
ATTEMPTS = 8
"""How often a request is made while the server is busy: 0.5 + 1 + 2 + 4 + 8 + 16 + 16 seconds of patience."""
CONNECTION_ATTEMPTS = 3
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.5, 16.0
CHUNK_ACTIONS = 1000
CHUNK_BYTES = 5 * 2**20
KEEP_ALIVE = "5m"
_ERROR = "items.*.error.type,items.*.error.reason,items.*.error.caused_by.reason"
_ANSWER = f"errors,items.*._id,items.*.status,{_ERROR}"
_encode = msgspec.json.Encoder().encode


def connect(location: OpenSearchLocation) -> opensearchpy.OpenSearch:
    """A client; nothing is sent yet. Raises HistoryError: the file of certificates can't be used."""
    parts, access = urllib.parse.urlsplit(location.url), location.access
    secure = parts.scheme == "https"
    # The library logs each failed request; what is worth knowing is in our sentences.
    logging.getLogger("opensearch").setLevel(logging.CRITICAL)
    both = f"{access.username}:{access.password or ''}".encode()
    tls: Document = {"ssl_context": _tls(location)} if secure else {}
    return opensearchpy.OpenSearch(
        hosts=[{"host": parts.hostname, "port": parts.port}],
        url_prefix=parts.path,
        use_ssl=secure,
        headers={"authorization": f"Basic {base64.b64encode(both).decode()}"} if access.username else {},
        timeout=TIMEOUT_S,
        max_retries=0,
        retry_on_timeout=False,
        retry_on_status=(),
        http_compress=False,
        serializer=_JSON(),
        **tls,
    )


def _tls(location: OpenSearchLocation) -> ssl.SSLContext:
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


class _JSON(opensearchpy.JSONSerializer):
    """Answers read by msgspec, in a third of the time."""

    def loads(self, s: str) -> Any:
        try:
            return msgspec.json.decode(s)
        except msgspec.DecodeError as error:
            raise exceptions.SerializationError(s, error) from error


class NotOpenSearchError(exceptions.OpenSearchException):
    """An answer that OpenSearch doesn't give, whatever its status."""


@contextlib.contextmanager
def reading(what: str) -> Iterator[None]:
    """The reading of an answer to *what*: NotOpenSearchError where the answer is not as OpenSearch makes them."""
    try:
        yield
    except (AttributeError, IndexError, KeyError, TypeError, ValueError, msgspec.MsgspecError) as error:
        raise NotOpenSearchError(f"{what} ({type(error).__name__}: {str(error)[:200]})") from error


def read(answer: object, what: str, form: type[T], *path: str) -> T:
    """What is at *path* in the *answer* to *what*; NotOpenSearchError where nothing of this *form* is."""
    with reading(what):
        found: Any = answer
        for name in path:
            found = found[name]
        return msgspec.convert(found, form)


def acknowledge(request: Callable[[], object], what: str) -> None:
    """Make *request*. Raises UnavailableError where not all of the cluster did *what* in time."""
    if not read(patiently(request), what, bool, "acknowledged"):
        raise UnavailableError(f"the cluster did not confirm {what} in time: try again when it is healthy")


def refresh(client: opensearchpy.OpenSearch, names: str) -> None:
    """Make what was written to the indices *names* visible to searches; UnavailableError where some may not be yet."""
    if read(patiently(lambda: client.indices.refresh(index=names)), "a refresh", int, "_shards", "failed"):
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


class Hit(msgspec.Struct, kw_only=True):
    """A document that was found: what of it was asked for, its place in the sequence of writes and in the order."""

    id: str = msgspec.field(name="_id")
    index: str = msgspec.field(name="_index", default="")
    source: Document = msgspec.field(name="_source")
    seq_no: int = msgspec.field(name="_seq_no", default=0)
    primary_term: int = msgspec.field(name="_primary_term", default=0)
    sort: list[object] = []


def search(
    client: opensearchpy.OpenSearch,
    index: str,
    *,
    query: Document,
    sort: Sequence[Document],
    source: Sequence[str] | bool,
    page: int,
    most: int | None = None,
) -> Iterator[Hit]:
    """The documents of *index* that match, *most* are needed, in the order of *sort*, as they were when this began."""
    is_one_page = most is not None and most <= page
    body: Document = {
        "size": most if is_one_page else page,
        "query": query,
        "sort": list(sort),
        "_source": source,
        "track_total_hits": False,
        "seq_no_primary_term": True,
    }

    def found(**among: str) -> list[Hit]:
        said = patiently(lambda: client.search(**among, body=body))
        if read(said, "a search", bool, "timed_out") or read(said, "a search", int, "_shards", "failed"):
            raise UnavailableError(
                f"parts of the index '{index}' did not answer: try again when the cluster is healthy"
            )
        return read(said, "a search", list[Hit], "hits", "hits")

    # Most series fit into one page, which needs no point in time; a full page is read again with one.
    some = found(index=index)
    if is_one_page or len(some) < page:
        yield from some
        return
    opened = patiently(lambda: client.create_pit(index=index, params={"keep_alive": KEEP_ALIVE}))
    point = read(opened, "the request for a point in time", str, "pit_id")
    body["pit"] = {"id": point, "keep_alive": KEEP_ALIVE}
    try:
        while True:
            some = found()
            yield from some
            if len(some) < page:
                return
            body["search_after"] = some[-1].sort
    finally:
        with contextlib.suppress(exceptions.OpenSearchException):
            client.delete_pit(body={"pit_id": [point]})


class Action(NamedTuple):
    """One action of a bulk request: its document's id, and its lines."""

    id: str
    lines: bytes


def action(
    operation: Literal["create", "index", "delete"],
    index: str,
    document_id: str,
    document: Document | None = None,
    version: tuple[int, int, str] | None = None,
) -> Action:
    """An action; *document* is None where it deletes; only what is at *version* is replaced, where given."""
    head: Document = {"_index": index, "_id": document_id}
    if version is not None:
        head |= {"if_seq_no": version[0], "if_primary_term": version[1]}
    lines = _encode({operation: head}) + b"\n"
    return Action(document_id, lines if document is None else lines + _encode(document) + b"\n")


class _Item(msgspec.Struct):
    id: str = msgspec.field(name="_id")
    status: int
    error: Document = {}

    def reason(self) -> str:
        """What the server said against it."""
        said = f"{self.error.get('type', 'error')}: {self.error.get('reason') or 'without a reason'}"
        cause = (self.error.get("caused_by") or {}).get("reason")
        return f"{said} ({cause})" if cause else said


def bulk(client: opensearchpy.OpenSearch, actions: Iterable[Action]) -> list[tuple[str, int, str]]:
    """Send *actions*, busy ones again; the id of each that failed for good, with status and reason.

    An action is done when its own item of the answer says so; an answer without an item for each is none.
    """
    failed: list[tuple[str, int, str]] = []
    for chunk in batched(actions, CHUNK_ACTIONS, lambda action: len(action.lines), CHUNK_BYTES):
        waiting, attempt = chunk, 1
        while outcomes := _send(client, waiting):
            failed += [(action.id, status, reason) for action, status, reason in outcomes if status not in BUSY]
            busy = [(action, status) for action, status, _ in outcomes if status in BUSY]
            if not busy:
                break
            if attempt == ATTEMPTS:
                raise exceptions.TransportError(busy[0][1], "busy")
            waiting = [action for action, _ in busy]
            time.sleep(pause_s(attempt))
            attempt += 1
    return failed


def _send(client: opensearchpy.OpenSearch, actions: Sequence[Action]) -> list[tuple[Action, int, str]]:
    """Status and reason of those that did not succeed."""
    body = b"".join(action.lines for action in actions)
    try:
        answer = patiently(lambda: client.bulk(body=body, params={"filter_path": _ANSWER}))
    except exceptions.TransportError as error:
        if error.status_code != TOO_LARGE:
            raise
        if len(actions) == 1:
            return [(actions[0], TOO_LARGE, f"{len(body):,} bytes are more than the server takes at once")]
        half = len(actions) // 2
        return _send(client, actions[:half]) + _send(client, actions[half:])
    outcomes = []
    with reading("a bulk request"):
        for action, item in zip(actions, read(answer, "a bulk request", list[dict[str, _Item]], "items"), strict=True):
            (result,) = item.values()
            if result.id != action.id:
                raise ValueError(f"an item is of '{result.id}' where '{action.id}' was sent")
            if not 200 <= result.status < 300:
                outcomes.append((action, result.status, result.reason()))
    return outcomes


@contextlib.contextmanager
def sentences(location: OpenSearchLocation) -> Iterator[None]:
    """The library's errors as sentences, which never hold credentials."""
    try:
        yield
    except exceptions.ConnectionError as error:
        raise UnavailableError(f"{location.url} {_broken(error)}") from error
    except exceptions.TransportError as error:
        if error.status_code in (401, 403):
            who = f"the user '{location.access.username}'" if location.access.username else "a request without a user"
            raise UnavailableError(
                f"{location.url} refuses {who} (status {error.status_code}): check the user name and the password"
            ) from error
        if error.status_code in BUSY:
            raise UnavailableError(f"{location.url} is busy and stays so (status {error.status_code})") from error
        if isinstance(error.status_code, int) and error.status_code >= 500:
            raise UnavailableError(f"{location.url} is in trouble: {_reason(error)}") from error
        raise HistoryError(f"{location.url} says: {_reason(error)}") from error
    except exceptions.OpenSearchException as error:
        raise HistoryError(
            f"{location.url} is not OpenSearch, or something answers in its place: it gave an answer that can't be "
            f"understood: {error}"
        ) from error


def _reason(error: exceptions.TransportError) -> str:
    """What the server said."""
    info: Any = error.info
    with contextlib.suppress(TypeError, KeyError):
        said = info["error"]
        return f"{said['type']}: {said['reason']} (status {error.status_code})"
    return f"status {error.status_code}, {str(info)[:300] or 'without a reason'}"


def _broken(error: exceptions.ConnectionError) -> str:
    cause = str(error.info if hasattr(error, "info") else error)
    innermost = cause.rsplit(": ", 1)[-1].strip("()'\" ")[:200]
    if "WRONG_VERSION_NUMBER" in cause or "record layer failure" in cause:
        return "does not speak TLS: is it http:// instead of https://?"
    if isinstance(error, exceptions.SSLError) or "CERTIFICATE" in cause or "SSL" in cause:
        return (
            f"has a certificate that is not to be trusted ({innermost}): name its authority in "
            "MATBENCH_OPENSEARCH_CA_CERTS or the instance's _CA_CERTS"
        )
    if isinstance(error, exceptions.ConnectionTimeout):
        return f"did not answer within {TIMEOUT_S:g} s"
    if "reset" in cause or "aborted" in cause or "Remote end closed" in cause:
        return "broke off the connection"
    if "Failed to resolve" in cause:
        return "can't be reached: there is no such host"
    return f"can't be reached: {innermost}; is the server running?"
