"""Which points are dealt to which host."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
import yaml

from matrix_benchmarking.benchmark import file as files
from matrix_benchmarking.benchmark.campaign import Listener
from matrix_benchmarking.benchmark.cluster import start
from matrix_benchmarking.benchmark.cluster.dealing import Deck, dealt
from matrix_benchmarking.benchmark.plan import Group, Plan
from matrix_benchmarking.cluster import Host
from matrix_benchmarking.cluster.workers import host_name
from matrix_benchmarking.errors import ClusterError
from matrix_benchmarking.named_cluster import NamedCluster


def plan(place: Path, repeat: int = 2, **content: Any) -> Plan:
    expe = {"a": {"n": [1, 2, 3, 4], "repeat": repeat}}
    (place / "b.yaml").write_text(yaml.safe_dump({"expe": expe, "script_tpl": "true {n}", **content}))
    return Plan(files.read(place / "b.yaml"), place, place / "r")


def shared(of: Plan, points_per_host: int = 1, **hosts: dict[str, float]) -> dict[str, list[Group]]:
    return dealt(of, [Host(name, name.partition("_")[0], "", has) for name, has in hosts.items()], points_per_host)


def idle(name: str) -> Host:
    return Host(name, name, "", {})


def test_a_host_measures_whole_rounds_where_there_is_one_for_each(tmp_path: Path):
    shares = shared(plan(tmp_path), a={}, b={})
    assert [{piece.round for piece in pieces} for pieces in shares.values()] == [{1}, {2}]
    assert [sum(len(piece.points) for piece in pieces) for pieces in shares.values()] == [4, 4]


def test_more_hosts_than_rounds_share_them(tmp_path: Path):
    shares = shared(plan(tmp_path, repeat=1), a={}, b={}, c={}, d={})
    assert [sum(len(piece.points) for piece in pieces) for pieces in shares.values()] == [1, 1, 1, 1]


def test_points_go_only_where_what_they_require_is(tmp_path: Path):
    wanting = plan(tmp_path, requires={"gpu": "v{n}"})
    shares = shared(wanting, a={"gpu:v1": 1, "gpu:v2": 1}, b={"gpu:v3": 1, "gpu:v4": 1})
    found = {host: {point.settings["n"] for each in pieces for point in each.points} for host, pieces in shares.items()}
    assert found == {"a": {1, 2}, "b": {3, 4}}


def test_what_is_put_back_is_dealt_first_and_to_another(tmp_path: Path):
    deck = Deck(plan(tmp_path, repeat=1), 1)
    piece = deck.deal(idle("a"))
    assert piece is not None
    deck.put_back(dataclasses.replace(piece, points=piece.points[-1:]))
    again = deck.deal(idle("b"))
    assert again is not None
    assert [point.key for point in again.points] == [piece.points[-1].key]


def test_a_server_that_runs_somewhere_is_loaded_by_one_host_at_a_time(tmp_path: Path):
    loaded = plan(tmp_path, target={"url": "http://127.0.0.1:1"}, script_tpl="true {n} {url}")
    deck = Deck(loaded, 2)
    piece = deck.deal(idle("a"))
    assert piece is not None
    assert piece.exclusive is not None
    assert deck.deal(idle("b")) is None


def test_a_plan_deals_as_a_run_does(tmp_path: Path):
    # By name, to as many workers of a host as may measure at a time; a server that runs already is shared.
    assert [*shared(plan(tmp_path, repeat=1), b={}, a={})] == ["a", "b"]
    workers: dict[str, dict[str, float]] = {"a_1": {}, "a_2": {}, "b": {}}
    for points_per_host, counts in ((1, [4, 4]), (2, [6, 2])):
        shares = shared(plan(tmp_path, repeat=2), points_per_host, **workers)
        assert [sum(len(piece.points) for piece in pieces) for pieces in shares.values()] == counts
    loaded = plan(tmp_path, repeat=1, target={"url": "http://127.0.0.1:1"}, script_tpl="true {n} {url}")
    shares = shared(loaded, a={}, b={})
    assert [len(pieces) for pieces in shares.values()] == [4, 0]


def test_a_plan_for_workers_that_are_started_refuses_what_the_run_would(tmp_path: Path):
    wanting, silent = plan(tmp_path, requires={"gpu": "l4"}), Listener()
    with pytest.raises(ClusterError, match="points require gpu:l4=1, and no worker has it"):
        start.shares(wanting, NamedCluster(ssh=["a", "b"]), {}, silent)
    (host,) = start.shares(plan(tmp_path), NamedCluster(local=2), {}, silent)
    assert host == host_name()
