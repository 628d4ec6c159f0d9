"""Histories of each engine, new for each test: in a file, and on the genuine OpenSearch and PostgreSQL."""

from __future__ import annotations

import contextlib
import dataclasses
import urllib.request
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from history_support.opensearch_server import OpenSearchServer

from matrix_benchmarking import history
from matrix_benchmarking.history import location
from matrix_benchmarking.history import opensearch_client as client
from matrix_benchmarking.history.opensearch_location import Credentials

ENGINES = [
    pytest.param("sqlite"),
    pytest.param("opensearch", marks=pytest.mark.xdist_group("opensearch")),
    pytest.param("postgresql", marks=pytest.mark.xdist_group("postgresql")),
]

NewPlace = Callable[[str], history.Location]


@pytest.fixture
def new_place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[NewPlace]:
    """From the name of an engine to a location at which there is nothing yet, nor after the test.

    The more indices a server has, the longer it takes for each.
    """
    made: list[str] = []

    def make(kind: str) -> history.Location:
        name = f"t{uuid.uuid4().hex[:12]}"
        if kind == "sqlite":
            return history.SQLiteLocation(tmp_path / f"{name}.db")
        if kind == "postgresql":
            return location.parse(f"{request.getfixturevalue('postgresql').url}?schema={name}", {})[0]
        server: OpenSearchServer = request.getfixturevalue("opensearch")
        made.append(f"{server.url}/{name}*")
        return history.OpenSearchLocation(server.url, name, Credentials())

    yield make
    for indices in made:
        with contextlib.suppress(OSError):  # a server that was killed
            urllib.request.urlopen(urllib.request.Request(indices, method="DELETE"), timeout=60).close()


@pytest.fixture(params=ENGINES)
def place(request: pytest.FixtureRequest, new_place: NewPlace) -> history.Location:
    """A location of each kind."""
    return new_place(request.param)


@pytest.fixture
def kept(place: history.Location) -> Iterator[history.History]:
    """An empty history of each kind, open for writing."""
    with history.open_history(place, writable=True) as opened:
        yield opened


@pytest.fixture
def at(opensearch: OpenSearchServer, new_place: NewPlace) -> Callable[[str], history.OpenSearchLocation]:
    """A new location on the server, reached by another URL."""

    def make(url: str) -> history.OpenSearchLocation:
        found = new_place("opensearch")
        assert isinstance(found, history.OpenSearchLocation)
        return dataclasses.replace(found, url=url)

    return make


@pytest.fixture
def outboxes(tmp_path):
    return tmp_path / "outboxes"


@pytest.fixture
def impatient(monkeypatch):
    """No pauses between attempts."""
    monkeypatch.setattr(client, "FIRST_PAUSE_S", 0.001)
