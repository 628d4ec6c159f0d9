"""What several people do at the same time: to one alarm, and to the views."""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from plotting_support.app_support import texts

from matrix_benchmarking import config
from matrix_benchmarking.commands import pages
from matrix_benchmarking.history import SQLiteLocation, open_history
from matrix_benchmarking.history.transfer import read_import
from matrix_benchmarking.matrix import Matrix
from matrix_benchmarking.plotting.app import answers as app_answers
from matrix_benchmarking.plotting.app.answers import Pages
from matrix_benchmarking.plotting.app.data import Data, Snapshot, Source
from matrix_benchmarking.runs.opening import Opening
from matrix_benchmarking.workload import Workload

BLOCK = "matbench:\n  views:\n    this view:\n      x: vus\n      y: throughput\n"


@pytest.fixture
def releases(repository: Path, tmp_path: Path) -> SQLiteLocation:
    place = SQLiteLocation(tmp_path / "releases.db")
    with open_history(place, writable=True) as history:
        read_import(history, repository / "data/samples/encoder_history/history.jsonl.gz")
    return place


def opened(place: SQLiteLocation, directory: Path) -> Pages:
    opening = Opening("encoder_bench", history=lambda: place)
    deal = functools.partial(pages._deal, lambda: place)
    source = Source(
        opening.workload, opening.place, [], opening.read, past=opening.read_past, given=opening.given, deal=deal
    )
    data = Data(source)
    data.start()
    assert data.wait(60) is not None
    data.join(60)
    return Pages(data, directory, may_write=True)


def alarm_of(pages: Pages) -> str:
    assert pages.data.snapshot is not None
    analysis = pages.data.snapshot.study.analysis
    assert analysis is not None
    return next(alarm.id for verdict in analysis.failing for alarm in verdict.alarms)


def at_once(*calls: Callable[[], Any]) -> list[Any]:
    start = threading.Barrier(len(calls))

    def call(made: Callable[[], Any]) -> Any:
        start.wait()
        return made()

    with ThreadPoolExecutor(len(calls)) as executor:
        return [one.result() for one in [executor.submit(call, made) for made in calls]]


def test_two_people_deal_with_one_alarm_at_the_same_moment(releases: SQLiteLocation, tmp_path: Path) -> None:
    people = {name: opened(releases, tmp_path / name) for name in ("ann", "bob")}
    alarm = alarm_of(people["ann"])
    said = {"ann": ("acknowledged", "known"), "bob": ("resolved", "mended")}

    def act(who: str) -> Any:
        action, reason = said[who]
        event = {"do": "deal", "action": action, "ids": [alarm], "reason": reason, "until": "", "token": "t"}
        return people[who].act(event, "", lambda token: who)[1]

    for notice in at_once(*(functools.partial(act, who) for who in people)):
        assert alarm in texts(notice)
        assert "internal" not in texts(notice)
    with open_history(releases, writable=False) as history:
        kept = history.alarm_events()
    events = [one for one in kept if one.author in people]
    raised = [one.alarm for one in kept if one.author not in people]
    assert len(raised) == len(set(raised)), "what the analysis says is kept once, whoever comes first"
    assert {(one.author, one.action.value, one.reason) for one in events} <= {
        (who, action, reason) for who, (action, reason) in said.items()
    }
    assert "bob" in {one.author for one in events}  # what is resolved may not be acknowledged any more
    assert len([one for one in events if one.author == "ann"]) <= 1


def test_a_wrong_field_is_called_as_the_page_calls_it(releases: SQLiteLocation, tmp_path: Path) -> None:
    ann = opened(releases, tmp_path / "ann")
    event = {"do": "deal", "action": "acknowledged", "ids": [alarm_of(ann)], "reason": "known", "until": "1.0.0"}
    notice = texts(ann.act({**event, "token": "t"}, "", lambda token: "ann")[1])
    assert notice.startswith("Until is the version 1.0.0, and ")


def test_of_many_who_keep_a_view_of_one_name_one_does(
    encoder_workload: Workload, sample_matrix: Matrix, tmp_path: Path
) -> None:
    file = tmp_path / "views.yaml"
    source = Source(
        encoder_workload,
        "results",
        [],
        lambda progress: sample_matrix,
        keep_view=functools.partial(config.keep_view, file),
        views=lambda: config.load(file).all_views if file.exists() else {},
    )
    data = Data(source)
    data.start()
    assert data.wait(60) is not None
    data.join(60)
    pages = Pages(data, tmp_path, may_write=True)

    def keep(name: str) -> str:
        return texts(pages.act({"do": "keep", "name": name, "block": BLOCK, "token": ""}, "", lambda token: "ann")[1])

    said = at_once(*[functools.partial(keep, "mine")] * 6)
    assert sorted("it is a page now" in one for one in said) == [False] * 5 + [True]
    data.join(60)
    data.start(is_asked=True)
    data.join(60)
    assert data.snapshot is not None
    assert data.snapshot.slugs["mine"] == "report: mine"
    content, _, title = pages.page("?show=mine", [])
    assert title == "mine"
    assert "throughput over vus" in texts(content)
    assert "there is a page 'Compare' already" in keep("Compare")
    assert list(config.load(file).views) == ["mine"]


def test_who_asks_before_anything_is_known_and_again_as_soon_as_it_is_gets_one_answer(
    encoder_workload: Workload, sample_matrix: Matrix, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known, made = threading.Event(), threading.Barrier(2)
    make = app_answers.headline

    def read(progress: object) -> Matrix:
        known.wait(60)
        return sample_matrix

    def slow(*arguments: Any) -> Any:
        made.wait(60)  # for a second request while the first is being answered
        return make(*arguments)

    monkeypatch.setattr(app_answers, "headline", slow)
    monkeypatch.setattr(app_answers, "FIRST_ANSWER_S", 30.0)
    # Findings that come between both requests, as on a slow machine, make two answers of one.
    monkeypatch.setattr(Snapshot, "check", lambda snapshot: None)
    data = Data(Source(encoder_workload, "results", [], read))
    data.start()
    pages = Pages(data, tmp_path)
    with ThreadPoolExecutor(2) as executor:
        first = executor.submit(pages.frame, "")
        known.set()
        assert data.wait(60) is not None
        second = executor.submit(pages.frame, "")
        time.sleep(0.3)
        made.wait(60)
        assert first.result() is second.result()
