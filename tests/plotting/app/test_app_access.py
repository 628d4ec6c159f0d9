"""Who may write by the application's pages, and what is refused: nobody unless it was allowed."""

from __future__ import annotations

import ipaddress
from pathlib import Path
from typing import Any

import flask
import pytest
import yaml

from matrix_benchmarking import config
from matrix_benchmarking.analyze.study import Given
from matrix_benchmarking.errors import ConfigError, MatbenchError
from matrix_benchmarking.matrix import Matrix
from matrix_benchmarking.plotting.app.access import Writing
from matrix_benchmarking.plotting.app.answers import Pages
from matrix_benchmarking.plotting.app.data import Data, Source
from matrix_benchmarking.workload import Workload

HOST = "127.0.0.1:8050"
OWN = {"Origin": f"http://{HOST}"}
PROXY = (ipaddress.ip_network("10.0.0.0/30"),)


def author(writing: Writing, token: object, address: str, **headers: str) -> str:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    with flask.Flask("none").test_request_context(
        "/", base_url=f"http://{HOST}", headers={**OWN, **named}, environ_base={"REMOTE_ADDR": address}
    ):
        return writing.author(flask.request, token)


def test_on_loopback_the_author_is_the_user_of_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOGNAME", "ann")
    writing = Writing()
    assert author(writing, writing.token, "127.0.0.1") == "ann"
    assert author(writing, writing.token, "::1") == "ann"


@pytest.mark.parametrize(
    ("address", "headers", "said"),
    [
        ("192.0.2.1", {}, "this machine alone"),
        ("127.0.0.1", {"X_Forwarded_For": "192.0.2.1"}, "this machine alone"),
        ("127.0.0.1", {"Forwarded": "for=192.0.2.1"}, "this machine alone"),
        ("127.0.0.1", {"X_Forwarded_User": "eve"}, "this machine alone"),
        ("::1", {"CF_Connecting_IP": "192.0.2.1"}, "this machine alone"),
        ("127.0.0.1", {"Origin": "http://evil.example"}, "only a page of this application"),
        ("127.0.0.1", {"Origin": ""}, "only a page of this application"),
        ("nowhere", {}, "this machine alone"),
    ],
)
def test_others_are_refused(address: str, headers: dict[str, str], said: str) -> None:
    writing = Writing()
    with pytest.raises(MatbenchError, match=said):
        author(writing, writing.token, address, **headers)


@pytest.mark.parametrize("token", [None, "", "wrong", 7, ["x"], "é"])
def test_a_forged_token_is_refused(token: object) -> None:
    with pytest.raises(MatbenchError, match="reload it"):
        author(Writing(), token, "127.0.0.1")


def test_a_header_is_believed_from_a_named_proxy_alone() -> None:
    writing = Writing("X-User", PROXY)
    assert author(writing, writing.token, "10.0.0.2", X_User="ann", X_Forwarded_For="192.0.2.9") == "ann"
    for address, user in (("10.0.0.9", "ann"), ("127.0.0.1", "ann"), ("10.0.0.2", ""), ("10.0.0.2", "a" * 201)):
        with pytest.raises(MatbenchError):
            author(writing, writing.token, address, X_User=user)


DEAL = {"do": "deal", "action": "resolved", "ids": ["b61e"], "reason": "fixed", "until": "", "token": "t"}


@pytest.mark.parametrize("event", [DEAL, {"do": "keep", "name": "mine", "block": "x"}])
def test_without_permission_nothing_is_written(pages: Pages, event: dict[str, Any]) -> None:
    search, notice = pages.act(event, "")
    assert search is None
    assert "start matbench visualize with --allow-writing" in str(notice)


@pytest.mark.parametrize("event", [{**DEAL, "ids": 7}, {**DEAL, "reason": None}, {"do": "keep"}, {"do": "deal"}, DEAL])
def test_what_the_page_would_not_send_is_a_sentence(pages: Pages, event: dict[str, Any]) -> None:
    search, notice = pages.act(event, "", lambda token: "ann")
    assert search is None
    assert "asked for something unknown" in str(notice) or "no history whose alarms" in str(notice)


BLOCK = "matbench:\n  views:\n    this view:\n      x: vus\n      y: throughput\n"


def test_a_view_is_kept_in_a_file_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "views.yaml"
    assert config.keep_view(path, "mine", BLOCK).startswith(f"Kept as 'mine' in {path}")
    config.keep_view(path, "yours", BLOCK)
    assert list(config.load(path).views) == ["mine", "yours"]
    assert yaml.safe_load(path.read_text())["matbench"]["views"]["mine"] == {"x": "vus", "y": "throughput"}


@pytest.mark.parametrize(
    ("name", "block", "said"),
    [
        ("", BLOCK, "needs a name"),
        ("a\nb", BLOCK, "needs a name"),
        ("x" * 81, BLOCK, "needs a name"),
        ("there", BLOCK, "there is a view 'there' already"),
        ("mine", "matbench: 7", "no view that could be kept"),
        ("mine", "matbench: {views: {a: {}, b: {}}}", "no view that could be kept"),
        ("mine", "matbench: {views: {a: {script: rm}}}", "script: "),
        ("mine", "a: [", "no view that could be kept"),
    ],
)
def test_what_is_no_view_is_not_kept(tmp_path: Path, name: str, block: str, said: str) -> None:
    path = tmp_path / "views.yaml"
    config.keep_view(path, "there", BLOCK)
    before = path.read_bytes()
    with pytest.raises(ConfigError, match=said):
        config.keep_view(path, name, block)
    assert path.read_bytes() == before


def test_a_place_that_is_away_is_said_and_read_again_when_it_is_back(
    encoder_workload: Workload, sample_matrix: Matrix, tmp_path: Path
) -> None:
    states: list[object] = [1, MatbenchError("the directory 'results' can't be reached"), OSError("odd"), 1]
    reads = []

    def state() -> object:
        found = states.pop(0)
        if isinstance(found, Exception):
            raise found
        return found

    def read(progress: object) -> Matrix:
        reads.append(progress)
        return sample_matrix

    data = Data(Source(workload=encoder_workload, place="results", roots=[], read=read, state=state))
    data.start()
    assert data.wait(20) is not None
    data.join(20)
    answers = Pages(data, tmp_path)
    data.look()
    assert answers.progress().startswith("read at")
    for said in ("the directory 'results' can't be reached: what is shown is of before", "OSError"):
        data.look()
        assert said in answers.progress()
    data.look()
    data.join(20)
    assert answers.progress().startswith("read at")
    assert len(reads) == 2


def test_alarms_that_were_read_are_shown_also_when_the_history_is_away(
    encoder_workload: Workload, sample_matrix: Matrix, tmp_path: Path
) -> None:
    read: list[int] = []

    def events() -> list[Any]:
        if read:
            raise MatbenchError("there is no history")
        read.append(1)
        return []

    source = Source(encoder_workload, "results", [], lambda progress: sample_matrix, given=Given(events=events))
    data = Data(source)
    data.start()
    data.join(20)
    snapshot = data.snapshot
    assert snapshot is not None
    assert list(snapshot.study.given.events()) == []
    shown = str(Pages(data, tmp_path).page("?show=compare", []))
    assert "there is no history" not in shown
    assert "instead of" in shown


def test_what_was_shown_of_a_history_stays_when_it_is_away(
    encoder_workload: Workload, sample_matrix: Matrix, tmp_path: Path
) -> None:
    reads: list[Matrix] = []

    def past(read: Matrix) -> Matrix:
        if reads:
            raise MatbenchError("the history is away")
        reads.append(read)
        return read

    data = Data(Source(encoder_workload, "results", [], lambda progress: sample_matrix, past=past))
    data.start()
    data.join(20)
    before = data.snapshot
    data.start(is_asked=True)
    data.join(20)
    assert data.snapshot is before
    assert "the history is away: what is shown is of before" in Pages(data, tmp_path).progress()
