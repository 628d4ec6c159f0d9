"""A history in a schema of a PostgreSQL database, for a team: ``postgresql://user@host:5432/database?schema=matbench``.

Passwords come from libpq's own places, ``PGPASSWORD`` and ``PGPASSFILE``; a server elsewhere has to prove who it is.
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import itertools
import re
import urllib.parse
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import psycopg
from psycopg import errors, sql

from ..errors import HistoryError, MissingHistoryError, UnavailableError
from .location import is_local
from .sql import TABLES, SQLReader, Value, check_version

DEFAULT_SCHEMA = "matbench"
TIMEOUT_S = 10
FETCHED = 2000
_STREAMS = itertools.count()
_VERIFIED = ("verify-ca", "verify-full")
_LOCK = 0x6D617462  # "matb", for those that make the tables at once
_VERSION_TABLE, VERSION = "history_version", 1

Connection = psycopg.Connection[tuple[Any, ...]]


@dataclasses.dataclass(frozen=True, slots=True)
class PostgreSQLLocation:
    """A schema of a database, *url* as libpq takes it, without a password, and what is said of TLS besides."""

    is_server: ClassVar = True

    url: str
    schema: str = DEFAULT_SCHEMA
    tls: Mapping[str, str] = dataclasses.field(default_factory=dict)

    def __str__(self) -> str:
        if self.schema == DEFAULT_SCHEMA:
            return self.url
        return f"{self.url}{'&' if '?' in self.url else '?'}schema={self.schema}"

    def open(self, *, writable: bool) -> PostgreSQLStorage:
        return PostgreSQLStorage(self, writable=writable)


def locate(text: str, environment: Mapping[str, str], **others: object) -> tuple[PostgreSQLLocation, list[str]]:
    """The schema that *text* means, and a warning where its server need not prove who it is."""
    parts = urllib.parse.urlsplit(text)
    query = dict(urllib.parse.parse_qsl(parts.query))
    if (
        ":" in parts.netloc.rpartition("@")[0]
        or "@" in parts.path + parts.query + parts.fragment
        or any("password" in name for name in query)
    ):
        raise HistoryError(
            "the location of the history holds a password, which others could see: give it in PGPASSWORD, or in the "
            "file that PGPASSFILE names"
        )
    schema = query.pop("schema", DEFAULT_SCHEMA)
    if not re.fullmatch(r"[a-z_][a-z0-9_]{0,62}", schema):
        raise HistoryError(f"'{schema}' can't be the name of a schema: small letters, digits and '_', as in my_runs")
    rest = f"?{urllib.parse.urlencode(query)}" if query else ""
    url = f"postgresql://{parts.netloc}{parts.path}{rest}"  # geturl() would drop the slashes of a location without host
    try:
        psycopg.conninfo.conninfo_to_dict(url)
    except psycopg.Error as error:
        raise HistoryError(
            f"'{text}' is no location in PostgreSQL, as in postgresql://host/database: {error}"
        ) from None
    host = query.get("host") or parts.hostname or environment.get("PGHOST", "")
    mode = query.get("sslmode") or environment.get("PGSSLMODE")
    if is_local(host) or mode in _VERIFIED:
        return PostgreSQLLocation(url, schema), []
    if mode is not None:
        said = f"the certificate of {host} is not verified (sslmode {mode}): anybody may answer in its name"
        return PostgreSQLLocation(url, schema), [said]
    tls = {"sslmode": "verify-full"}
    own = (
        "sslrootcert" in query or "PGSSLROOTCERT" in environment or Path("~/.postgresql/root.crt").expanduser().exists()
    )
    return PostgreSQLLocation(url, schema, tls if own else {**tls, "sslrootcert": "system"}), []


class PostgreSQLStorage(SQLReader):
    """The tables at *place*; see :class:`.port.Storage`, and :meth:`.location.Location.open`."""

    _connection: Connection

    def __init__(self, place: PostgreSQLLocation, *, writable: bool = True) -> None:
        self.location = str(place)
        self._place = place
        with self.sentences():
            self._connection = self._connect(writable=writable)
        with self.opening():
            if self._version() == 0:
                if not writable:
                    raise MissingHistoryError(f"in {self.location}")
                self._make_tables()

    def execute(self, text: str, parameters: Sequence[Value] = ()) -> psycopg.Cursor[tuple[Any, ...]]:
        return self._connection.execute(text.replace("?", "%s").encode(), parameters)

    def stream(self, text: str, parameters: Sequence[Value]) -> Iterator[tuple[Any, ...]]:
        with self._connection.cursor(name=f"stream_{next(_STREAMS)}", binary=True) as cursor:
            cursor.execute(text.replace("?", "%s").encode(), parameters)
            while rows := cursor.fetchmany(FETCHED):  # twice as fast as the cursor's own iteration
                yield from rows

    @contextlib.contextmanager
    def sentences(self) -> Iterator[None]:
        """The driver's errors as sentences, which never hold credentials."""
        try:
            yield
        except (errors.DiskFull, errors.IoError) as error:
            raise UnavailableError(f"{self.location}: the server's disk is full or fails: {_said(error)}") from error
        except (psycopg.OperationalError, psycopg.InterfaceError) as error:
            raise UnavailableError(f"{self.location} is away, or refuses us: {_said(error)}") from error
        except psycopg.Error as error:
            raise HistoryError(f"{self.location} says: {_said(error)}") from error

    @contextlib.contextmanager
    def reading(self) -> Iterator[PostgreSQLStorage]:
        """A connection of its own holds one state, whatever others write meanwhile."""
        with contextlib.closing(self._connect(writable=False)) as connection:
            connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            reader = copy.copy(self)
            reader._connection = connection
            with connection.transaction():
                yield reader

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        with self._connection.transaction():
            self.execute("LOCK TABLE runs IN SHARE ROW EXCLUSIVE MODE")  # readers need not wait
            yield

    def execute_many(self, text: str, rows: Sequence[Sequence[Value]]) -> None:
        with self._connection.cursor() as cursor:
            cursor.executemany(text.replace("?", "%s").encode(), rows)

    def size_bytes(self) -> int:
        names = ("runs", "payloads", "alarm_events")
        return sum(
            int(self.execute("SELECT pg_total_relation_size(?::regclass)", [each]).fetchall()[0][0]) for each in names
        )

    def _connect(self, *, writable: bool) -> Connection:
        said = psycopg.conninfo.make_conninfo(self._place.url, **self._place.tls)
        connection: Connection = psycopg.connect(
            said, autocommit=True, connect_timeout=TIMEOUT_S, application_name="matbench"
        )
        try:
            connection.execute(sql.SQL("SET search_path TO {}").format(sql.Identifier(self._place.schema)))
            if not writable:
                connection.execute("SET default_transaction_read_only = on")
        except BaseException:
            connection.close()
            raise
        return connection

    def _version(self) -> int:
        """The version of the tables; 0 where there are none."""
        tables = {
            name for (name,) in self.execute("SELECT tablename FROM pg_tables WHERE schemaname = current_schema()")
        }
        if not tables:
            return 0
        if _VERSION_TABLE not in tables:
            raise HistoryError(
                f"schema '{self._place.schema}' of {self._place.url} is another program's: name another one"
            )
        ((found,),) = self.execute(f"SELECT version FROM {_VERSION_TABLE}")  # noqa: S608 - our own name
        return check_version(found, VERSION, self.location)

    def _make_tables(self) -> None:
        """Make the schema and its tables, in one transaction."""
        with self._connection.transaction():
            self.execute("SELECT pg_advisory_xact_lock(?)", [_LOCK])
            ((there,),) = self.execute("SELECT to_regnamespace(?)", [self._place.schema])
            if there is None:
                self._connection.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(self._place.schema)))
            if self._version() > 0:  # another process was faster
                return
            for text in TABLES:
                self.execute(text.format(id='TEXT COLLATE "C"', descending="DESC NULLS LAST"))
            self.execute(f"CREATE TABLE {_VERSION_TABLE} (version INTEGER NOT NULL)")
            self.execute(f"INSERT INTO {_VERSION_TABLE} VALUES ({VERSION})")  # noqa: S608 - our own name


def _said(error: psycopg.Error) -> str:
    """The first line of what the server or the driver says."""
    text = error.diag.message_primary or str(error)
    return text.strip().partition("\n")[0].removeprefix("connection failed: ") or type(error).__name__
