"""Bulk requests: bounded in documents and bytes, each item's result looked at, busy items sent again.

A document is delivered when its own item says so; an answer without an item for each is none.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import msgspec
from opensearchpy.exceptions import TransportError

from .client import ATTEMPTS, BUSY, patiently, pause_s, read, reading

if TYPE_CHECKING:
    import opensearchpy

CHUNK_ACTIONS = 1000
CHUNK_BYTES = 5 * 2**20
ALREADY_THERE, TOO_LARGE = 409, 413
_ERROR = "items.*.error.type,items.*.error.reason,items.*.error.caused_by.reason"
_ANSWER = f"errors,items.*._id,items.*.status,{_ERROR}"


_encode = msgspec.json.Encoder().encode


class Action(NamedTuple):
    """One action of a bulk request: its document's id, and its lines."""

    id: str
    lines: bytes


def action(
    operation: Literal["create", "index", "delete"],
    index: str,
    document_id: str,
    document: Any = None,
    version: tuple[int, int] | None = None,
) -> Action:
    """An action; *document* is None where it deletes, and only what is at *version* is replaced, where given."""
    head: dict[str, Any] = {"_index": index, "_id": document_id}
    if version is not None:
        head |= {"if_seq_no": version[0], "if_primary_term": version[1]}
    lines = _encode({operation: head}) + b"\n"
    return Action(document_id, lines if document is None else lines + _encode(document) + b"\n")


class _Cause(msgspec.Struct):
    reason: str | None = None


class _Error(msgspec.Struct):
    type: str = "error"
    reason: str | None = None
    caused_by: _Cause = msgspec.field(default_factory=_Cause)


class _Item(msgspec.Struct):
    id: str = msgspec.field(name="_id")
    status: int
    error: _Error = msgspec.field(default_factory=_Error)


class _Answer(msgspec.Struct):
    errors: bool
    items: list[dict[str, _Item]]


def send(
    client: opensearchpy.OpenSearch, actions: Iterable[Action], sleep: Callable[[float], None] = time.sleep
) -> list[tuple[Action, int, str]]:
    """Send *actions*; those that failed for good come back, with status and reason.

    Raises:
        opensearchpy.OpenSearchException: a whole request failed, or the answer doesn't tell what became of each.
    """
    failed: list[tuple[Action, int, str]] = []
    for chunk in chunks(actions):
        waiting: Sequence[Action] = chunk
        for attempt in range(1, ATTEMPTS + 1):
            outcomes = _send(client, waiting)
            waiting = [action for action, status, _ in outcomes if status in BUSY]
            last = attempt == ATTEMPTS
            failed += [outcome for outcome in outcomes if last or outcome[1] not in BUSY]
            if not waiting or last:
                break
            sleep(pause_s(attempt))
    return failed


def chunks(actions: Iterable[Action]) -> Iterator[list[Action]]:
    """*actions* in lists, each within both bounds, save for a single one that is larger."""
    chunk: list[Action] = []
    size = 0
    for action in actions:
        if chunk and (len(chunk) == CHUNK_ACTIONS or size + len(action.lines) > CHUNK_BYTES):
            yield chunk
            chunk, size = [], 0
        chunk.append(action)
        size += len(action.lines)
    if chunk:
        yield chunk


def _send(client: opensearchpy.OpenSearch, actions: Sequence[Action]) -> list[tuple[Action, int, str]]:
    """Status and reason of those that did not succeed."""
    body = b"".join(action.lines for action in actions)
    try:
        answer: Any = patiently(lambda: client.bulk(body=body, params={"filter_path": _ANSWER}))
    except TransportError as error:
        if error.status_code != TOO_LARGE:
            raise
        if len(actions) == 1:
            return [(actions[0], TOO_LARGE, f"{len(body):,} bytes are more than the server takes at once")]
        half = len(actions) // 2
        return _send(client, actions[:half]) + _send(client, actions[half:])
    items = read(answer, _Answer, "a bulk request").items
    outcomes = []
    with reading("a bulk request"):
        for action, item in zip(actions, items, strict=True):
            (result,) = item.values()
            if result.id != action.id:
                raise ValueError(f"an item is of '{result.id}' where '{action.id}' was sent")
            if not 200 <= result.status < 300:
                outcomes.append((action, result.status, _reason(result.error)))
    return outcomes


def _reason(error: _Error) -> str:
    reason = f"{error.type}: {error.reason or 'without a reason'}"
    return f"{reason} ({error.caused_by.reason})" if error.caused_by.reason else reason
