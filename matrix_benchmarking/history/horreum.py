"""Payloads to a Horreum server, each once, by https://horreum.hyperfoil.io/docs/tasks/upload-run/.

Horreum takes whatever comes as a new run, so a ledger on this machine remembers what it has acknowledged.
"""

from __future__ import annotations

import dataclasses
import hashlib
import urllib.parse
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec
import platformdirs
import urllib3

from ..errors import HistoryError, OutputError, UnavailableError, failing
from .plan import Pushed, Refused
from .records import Record
from .sameness import digest_of_before

PREFIX = "MATBENCH_HORREUM_"
ACCESS = ("PUBLIC", "PROTECTED", "PRIVATE")
TIMEOUT_S = 60.0
_RETRIES = urllib3.Retry(
    total=5, connect=2, read=0, status_forcelist=(429, 503), backoff_factor=0.5, allowed_methods=None
)


@dataclasses.dataclass(frozen=True, slots=True)
class Server:
    """A Horreum server and how we are known there; see :func:`server`."""

    url: str
    api_key: str | None = dataclasses.field(default=None, repr=False)
    owner: str | None = None
    access: str = "PUBLIC"
    ca_certs: str | None = None


def server(environment: Mapping[str, str]) -> Server:
    """The server that ``MATBENCH_HORREUM_URL``, ``_API_KEY``, ``_OWNER``, ``_ACCESS`` and ``_CA_CERTS`` describe."""
    url = environment.get(f"{PREFIX}URL", "").rstrip("/")
    if "@" in url:
        raise HistoryError(f"{PREFIX}URL holds a user name or password: use {PREFIX}API_KEY")
    parts = urllib.parse.urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise HistoryError(f"the Horreum server is not known: set {PREFIX}URL, and {PREFIX}API_KEY where it wants one")
    access = environment.get(f"{PREFIX}ACCESS", "PUBLIC").upper()
    if access not in ACCESS:
        raise HistoryError(f"{PREFIX}ACCESS is '{access}', and should be {', '.join(ACCESS)}")
    return Server(
        url=url,
        api_key=environment.get(f"{PREFIX}API_KEY"),
        owner=environment.get(f"{PREFIX}OWNER"),
        access=access,
        ca_certs=environment.get(f"{PREFIX}CA_CERTS"),
    )


def ledgers() -> Path:
    return platformdirs.user_state_path("matbench") / "horreum"


def post(records: Iterable[Record], to: Server, test_name: str, directory: Path) -> Pushed:
    """Post those of *records* that were not posted before as runs of the Horreum test *test_name*.

    What the server acknowledged before it was away is remembered in a ledger in *directory*.
    """
    pushed = Pushed()
    pool = urllib3.PoolManager(ca_certs=to.ca_certs, timeout=TIMEOUT_S, retries=_RETRIES)
    name = hashlib.blake2b(f"{to.url} {test_name}".encode(), digest_size=8).hexdigest()
    ledger = directory / f"{name}.jsonl"
    known = _read_ledger(ledger)
    for each in records:
        if each.id in known:
            if known[each.id] in (each.digest, digest_of_before(each)):
                pushed.unchanged += 1
            else:
                pushed.conflicts.append(Refused(each.id, "another content was posted under this id"))
            continue
        reason = _post(pool, to, test_name, each)
        if reason is not None:
            pushed.rejected.append(Refused(each.id, reason))
            continue
        _append(ledger, each)
        pushed.added += 1
    return pushed


def _post(pool: urllib3.PoolManager, to: Server, test_name: str, of: Record) -> str | None:
    """Post one record; the reason if the server can't take it."""
    metadata = of.payload["metadata"]
    start, stop = (metadata.get("start") or metadata.get("end")), (metadata.get("end") or metadata.get("start"))
    if start is None:
        return "Horreum wants to know when a run took place, and this one doesn't say"
    query = {"test": test_name, "start": start, "stop": stop, "access": to.access}
    if to.owner:
        query["owner"] = to.owner
    body = {"$schema": f"urn:matbench:lts:{of.workload}:{metadata.get('lts_schema_version')}", **of.payload}
    headers = {"Content-Type": "application/json"} | ({"X-Horreum-API-Key": to.api_key} if to.api_key else {})
    url = f"{to.url}/api/run/data?{urllib.parse.urlencode(query)}"
    try:
        answer = pool.request("POST", url, body=msgspec.json.encode(body), headers=headers, redirect=False)
    except urllib3.exceptions.HTTPError as error:
        cause = str(getattr(error, "reason", error)).rsplit(": ", 1)[-1]
        raise UnavailableError(f"the Horreum server {to.url} can't be reached: {cause}") from error
    if 200 <= answer.status < 300:
        if not _made_a_run(answer.data):
            raise UnavailableError(
                f"{to.url} took a payload (status {answer.status}) without the id of a run: it is not Horreum, or "
                "something answers in its place"
            )
        return None
    if answer.status in (401, 403):
        raise UnavailableError(f"the Horreum server {to.url} refuses us (status {answer.status}): see {PREFIX}API_KEY")
    if answer.status >= 500 or answer.status == 429:
        raise UnavailableError(f"the Horreum server {to.url} failed (status {answer.status})")
    return f"status {answer.status}: {answer.data[:200].decode('utf-8', 'replace')}"


def _made_a_run(content: bytes) -> bool:
    """True if the answer holds ids of runs: a list of numbers, or one as older servers have it, maybe as text."""
    try:
        ids = msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    several = ids if isinstance(ids, list) else [ids]
    return bool(several) and all(type(each) is int or (isinstance(each, str) and each.isdecimal()) for each in several)


def _read_ledger(path: Path) -> dict[str, str]:
    """Digests by id; a last line that was cut off by a crash is ignored."""
    with failing(f"cannot read the ledger '{path}'", HistoryError):
        lines = path.read_bytes().splitlines() if path.exists() else []
    known: dict[str, str] = {}
    for line in lines:
        try:
            entry = msgspec.json.decode(line, type=dict[str, str])
            known[entry["id"]] = entry["digest"]
        except (msgspec.DecodeError, UnicodeDecodeError, KeyError):
            continue
    return known


def _append(path: Path, of: Record) -> None:
    with failing(f"cannot write the ledger '{path}'", OutputError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as stream:
            # The line break in front ends a line that a crash cut off.
            stream.write(b"\n" + msgspec.json.encode({"id": of.id, "digest": of.digest}) + b"\n")
