"""Which points are dealt to which host."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import yaml

from matrix_benchmarking.benchmark import file as files
from matrix_benchmarking.benchmark.cluster.dealing import Deck, dealt
from matrix_benchmarking.benchmark.plan import Plan


def plan(place: Path, repeat: int = 2, **content: Any) -> Plan:
    expe = {"a": {"n": [1, 2, 3, 4], "repeat": repeat}}
    (place / "b.yaml").write_text(yaml.safe_dump({"expe": expe, "script_tpl": "true {n}", **content}))
    return Plan(files.read(place / "b.yaml"), place, place / "r")


def test_a_host_measures_whole_rounds_where_there_is_one_for_each(tmp_path: Path):
    shares = dealt(plan(tmp_path), {"a": {}, "b": {}})
    assert [{piece.round for piece in pieces} for pieces in shares.values()] == [{1}, {2}]
    assert [sum(len(piece.points) for piece in pieces) for pieces in shares.values()] == [4, 4]


def test_more_hosts_than_rounds_share_them(tmp_path: Path):
    shares = dealt(plan(tmp_path, repeat=1), {"a": {}, "b": {}, "c": {}, "d": {}})
    assert [sum(len(piece.points) for piece in pieces) for pieces in shares.values()] == [1, 1, 1, 1]


def test_points_go_only_where_what_they_require_is(tmp_path: Path):
    wanting = plan(tmp_path, requires={"gpu": "v{n}"})
    shares = dealt(wanting, {"a": {"gpu:v1": 1, "gpu:v2": 1}, "b": {"gpu:v3": 1, "gpu:v4": 1}})
    found = {host: {point.settings["n"] for each in pieces for point in each.points} for host, pieces in shares.items()}
    assert found == {"a": {1, 2}, "b": {3, 4}}


def test_what_is_put_back_is_dealt_first_and_to_another(tmp_path: Path):
    deck = Deck(plan(tmp_path, repeat=1), 1)
    piece = deck.deal("a", {})
    assert piece is not None
    deck.put_back(dataclasses.replace(piece, points=piece.points[-1:]))
    again = deck.deal("b", {})
    assert again is not None
    assert [point.key for point in again.points] == [piece.points[-1].key]


def test_a_server_that_runs_somewhere_is_loaded_by_one_host_at_a_time(tmp_path: Path):
    loaded = plan(tmp_path, target={"url": "http://127.0.0.1:1"}, script_tpl="true {n} {url}")
    deck = Deck(loaded, 2)
    piece = deck.deal("a", {})
    assert piece is not None
    assert piece.exclusive is not None
    assert deck.deal("b", {}, busy={piece.exclusive}) is None
