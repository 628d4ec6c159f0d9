"""Both histories, each new for its test, on the genuine OpenSearch and on SQLite."""

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
from matrix_benchmarking.history.credentials import Credentials
from matrix_benchmarking.history.opensearch import client

ON_OPENSEARCH = pytest.mark.xdist_group("opensearch")
BOTH = [pytest.param("sqlite"), pytest.param("opensearch", marks=ON_OPENSEARCH)]

NewPlace = Callable[[str], history.Location]


@pytest.fixture
def new_place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[NewPlace]:
    """From ``sqlite`` or ``opensearch`` to a location at which there is nothing yet, nor after the test.

    The more indices a server has, the longer it takes for each.
    """
    made: list[str] = []

    def make(kind: str) -> history.Location:
        name = f"t{uuid.uuid4().hex[:12]}"
        if kind == "sqlite":
            return history.SQLiteLocation(tmp_path / f"{name}.db")
        server: OpenSearchServer = request.getfixturevalue("opensearch")
        made.append(f"{server.url}/{name}*")
        return history.OpenSearchLocation(server.url, name, f"{name}-prom", Credentials())

    yield make
    for indices in made:
        with contextlib.suppress(OSError):  # a server that was killed
            urllib.request.urlopen(urllib.request.Request(indices, method="DELETE"), timeout=60).close()


@pytest.fixture(params=BOTH)
def place(request: pytest.FixtureRequest, new_place: NewPlace) -> history.Location:
    """A location of either kind."""
    return new_place(request.param)


@pytest.fixture
def kept(place: history.Location) -> Iterator[history.History]:
    """An empty history of either kind, open for writing."""
    with history.open_history(place, writable=True) as opened:
        yield opened


@pytest.fixture
def at(opensearch: OpenSearchServer, new_place: NewPlace) -> Callable[[str], history.OpenSearchLocation]:
    """A new location on the server, reached by another URL."""

    def make(url: str) -> history.OpenSearchLocation:
        location = new_place("opensearch")
        assert isinstance(location, history.OpenSearchLocation)
        return dataclasses.replace(location, url=url)

    return make


@pytest.fixture
def outboxes(tmp_path):
    return tmp_path / "outboxes"


@pytest.fixture
def impatient(monkeypatch):
    """No pauses between attempts."""
    monkeypatch.setattr(client, "FIRST_PAUSE_S", 0.001)
