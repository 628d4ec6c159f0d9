"""Compare with what isn't among the runs: a colleague's directory, another history."""

from __future__ import annotations

import html
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from matrix_benchmarking.history import SQLiteLocation, open_history
from matrix_benchmarking.history.transfer import read_import
from matrix_benchmarking.plotting.app import server
from matrix_benchmarking.plotting.app.data import Source
from matrix_benchmarking.plotting.catalogue import catalogue_of
from matrix_benchmarking.plotting.compare_sides import is_place
from matrix_benchmarking.plotting.static_html import StaticHTML
from matrix_benchmarking.runs.opening import Opening


def said(opening: Opening, **cfg: str) -> str:
    catalogue = catalogue_of(opening.study())
    page = StaticHTML().render(catalogue.page("report: Compare").do_plot(*catalogue.arguments(cfg)))
    return html.unescape(" ".join(re.sub(r"<[^>]*>", " ", page).split()))


@pytest.fixture(scope="module")
def colleague(sample: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A part of the sample, as somebody else has it."""
    tree = tmp_path_factory.mktemp("colleague") / "theirs"
    shutil.copytree(sample, tree, ignore=shutil.ignore_patterns(".matbench*"))
    for file in list(tree.rglob("settings.yaml")):
        if "image: onnx-fp32" not in file.read_text():
            shutil.rmtree(file.parent)
    return tree


@pytest.fixture(scope="module")
def releases(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("releases") / "releases.db"
    with open_history(SQLiteLocation(path), writable=True) as history:
        read_import(history, repository / "data/samples/encoder_history/history.jsonl.gz")
    return f"sqlite:///{path}"


@pytest.fixture(scope="module")
def opening(sample: Path) -> Opening:
    return Opening("encoder_bench", directories=[sample])


def test_a_directory_is_told_from_a_selection() -> None:
    assert all(map(is_place, ("theirs", "../theirs", "/a/run=1", "~/a", "sqlite:///h.db", "opensearch://h")))
    assert not any(map(is_place, ("", "version=1.2", "image=a/b,vus=8", "image=./a")))


def test_a_colleagues_directory_is_compared_and_called_unofficial(opening: Opening, colleague: Path) -> None:
    text = said(opening, new=str(colleague))
    same = "0 worse, 0 better, 108 without a difference shown"
    assert f"{colleague} (unofficial) against {opening.place}: {same}" in text
    turned = said(opening, old=str(colleague), new="image=onnx-fp32")
    assert f"image=onnx-fp32 against {colleague} (unofficial): {same}" in turned
    assert "Both sides are the same runs, or copies of them" in turned
    assert "Both sides are the same runs" not in said(opening, old="image=onnx-int8", new="image=onnx-fp32")


def test_of_a_history_the_newest_version_takes_part_and_is_named(opening: Opening, releases: str) -> None:
    text = said(opening, old=releases)
    assert f"{opening.place} against {releases} (unofficial): " in text
    assert f"; version 1.3.4 of {releases}." in text


@pytest.mark.parametrize(
    ("place", "why"),
    [
        ("/nowhere", "/nowhere: there is no directory '/nowhere'."),
        ("nonsense", "nonsense: no setting has this value, and there is no directory 'nonsense'."),
        ("sqlite:////nowhere/h.db", "sqlite:////nowhere/h.db: "),
        ("ftp://x/y", "ftp://x/y: "),
        ("\x00", ": "),
        ("/" + "a" * 300, ": "),
        ("~nobody-of-this-name/x", ": there is no directory"),
    ],
)
def test_a_place_that_is_none_is_a_sentence(opening: Opening, place: str, why: str) -> None:
    text = said(opening, new=place)
    assert why in text
    assert "internal" not in text
    assert "against" not in text


def test_a_directory_without_tests_is_a_sentence(opening: Opening, tmp_path: Path) -> None:
    assert "no test found in" in said(opening, new=str(tmp_path))


def test_the_same_place_twice_is_a_sentence(opening: Opening, colleague: Path) -> None:
    assert "Both sides are" in said(opening, old=str(colleague), new=str(colleague))


@pytest.mark.parametrize(
    ("headers", "remote", "is_there"),
    [
        ({}, "127.0.0.1", True),
        ({}, "192.0.2.7", False),
        ({"X-Forwarded-For": "192.0.2.7"}, "127.0.0.1", False),
        ({"Forwarded": "for=192.0.2.7"}, "127.0.0.1", False),
    ],
)
def test_only_who_sits_at_this_machine_names_a_directory(
    opening: Opening, colleague: Path, tmp_path: Path, headers: dict[str, str], remote: str, is_there: bool
) -> None:
    source = Source(opening.workload, opening.place, opening.directories, opening.read, given=opening.given)
    client = server.make_app(source, tmp_path / "report").server.test_client()
    search = f"?show=compare&cfg.new={colleague}"
    outputs = [("content", "children"), ("controls", "children"), ("title", "data")]
    body: dict[str, Any] = {
        "output": f"..{'...'.join('.'.join(one) for one in outputs)}..",
        "outputs": [{"id": name, "property": what} for name, what in outputs],
        "inputs": [{"id": "request", "property": "data", "value": {"search": search, "parts": []}}],
    }
    answer = None
    for _ in range(100):
        asked = client.post(
            server.CALLBACK, json=body, headers={**headers, "Host": "127.0.0.1"}, environ_base={"REMOTE_ADDR": remote}
        )
        answer = json.dumps(asked.get_json(), ensure_ascii=False)
        if "Compare" in answer:
            break
    assert answer is not None
    assert ("(unofficial) against" in answer) == is_there
    assert ("can be named on the machine that has them alone" in answer) == (not is_there)
