"""What no page of the application sends is answered with one line, and nothing is written on the terminal."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from matrix_benchmarking.matrix import Matrix
from matrix_benchmarking.plotting.app import server
from matrix_benchmarking.plotting.app.data import Source
from matrix_benchmarking.workload import Workload

HERE = {"Host": "127.0.0.1:8050"}
CALLBACK = "/_dash-update-component"
REQUEST = {"id": "request", "property": "data", "value": {"search": "", "version": 1, "parts": []}}
FRAME = {
    "output": "..selectors.children...headline.children...tabs.children..",
    "outputs": [{"id": name, "property": "children"} for name in ("selectors", "headline", "tabs")],
    "inputs": [REQUEST, {"id": "checked", "property": "data"}],
    "changedPropIds": ["request.data"],
}
PAGE = {
    "output": "..content.children...controls.children...title.data..",
    "outputs": [
        {"id": "content", "property": "children"},
        {"id": "controls", "property": "children"},
        {"id": "title", "property": "data"},
    ],
    "inputs": [REQUEST],
    "changedPropIds": ["request.data"],
}
PART = {
    "output": '{"index":["MATCH"],"of":["MATCH"],"type":"part"}.children',
    "outputs": {"id": {"index": 0, "of": "", "type": "part"}, "property": "children"},
    "inputs": [{"id": {"index": 0, "of": "", "type": "wanted"}, "property": "data", "value": 1}],
    "state": [REQUEST],
    "changedPropIds": [],
}
CLOCK = {
    "output": "..version.data...checked.data...progress.children...progress.className...clock.interval..",
    "outputs": [
        {"id": "version", "property": "data"},
        {"id": "checked", "property": "data"},
        {"id": "progress", "property": "children"},
        {"id": "progress", "property": "className"},
        {"id": "clock", "property": "interval"},
    ],
    "inputs": [{"id": "clock", "property": "n_intervals", "value": 1}],
    "state": [{"id": "version", "property": "data", "value": 1}, {"id": "checked", "property": "data"}],
    "changedPropIds": [],
}
ODD: list[Any] = [None, True, 0, -1, 1e300, "", "text", "\x00", "\ud800", [], [[]], [None], {}, {"id": {}}, {"a": [{}]}]


@pytest.fixture(scope="module")
def app(
    encoder_workload: Workload, sample_matrix: Matrix, sample: Path, tmp_path_factory: pytest.TempPathFactory
) -> Any:
    source = Source(encoder_workload, "results", [sample], lambda progress: sample_matrix)
    return server.make_app(source, tmp_path_factory.mktemp("report"))


@pytest.fixture(scope="module")
def client(app: Any) -> Any:
    return app.server.test_client()


@pytest.fixture(scope="module")
def act(client: Any) -> dict[str, Any]:
    """The body of what somebody did; its output has a digest in its name."""
    known = client.get("/_dash-dependencies", headers=HERE).json
    (output,) = [each["output"] for each in known if each["output"].startswith("..address.search")]
    names = [one.rpartition(".") for one in output.strip(".").split("...")]
    return {
        "output": output,
        "outputs": [{"id": name, "property": said} for name, _, said in names],
        "inputs": [{"id": "event", "property": "data", "value": {"do": "fields", "values": {"filters": "vus=1"}}}],
        "state": [{"id": "address", "property": "search", "value": ""}],
        "changedPropIds": ["event.data"],
    }


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]) -> Any:
    """Nothing is logged and nothing printed by any of these requests."""
    yield
    assert [record for record in caplog.records if record.levelname in ("ERROR", "WARNING")] == []
    assert capfd.readouterr() == ("", "")


def post(client: Any, body: Any) -> Any:
    return client.post(CALLBACK, headers=HERE, data=json.dumps(body), content_type="application/json")


def refused(answer: Any) -> bool:
    return bool((answer.status_code == 400 and answer.text.count("\n") == 1) or answer.status_code == 415)


def test_what_a_page_sends_is_answered(client: Any, act: dict[str, Any]) -> None:
    for body in (FRAME, PAGE, PART, CLOCK, act):
        answer = post(client, body)
        assert answer.status_code == 200, (body, answer.text)


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"text", b"\xff\xfe", b"NaN", b"1" * 5000, b"[" * 100_000, b'{"output":' * 50_000, b'{"a":1,"a":[}'],
    ids=["empty", "open", "text", "no UTF-8", "NaN", "digits", "deep", "deep objects", "broken"],
)
def test_what_is_no_json_is_a_bad_request(client: Any, content: bytes) -> None:
    answer = client.post(CALLBACK, headers=HERE, data=content, content_type="application/json")
    assert answer.status_code == 400
    assert client.post(CALLBACK, headers=HERE, data=content, content_type="text/plain").status_code in (400, 415)


@pytest.mark.parametrize("body", ODD, ids=repr)
def test_json_of_another_form_is_a_bad_request(client: Any, body: Any) -> None:
    assert refused(post(client, body))


def test_a_part_that_is_missing_or_of_another_type_is_no_error_of_the_server(client: Any, act: dict[str, Any]) -> None:
    for body in (FRAME, PAGE, PART, CLOCK, act):
        for place in list(places(body)):
            for changed in [without(body, place), *(put(body, place, value) for value in ODD)]:
                answer = post(client, changed)
                assert answer.status_code in (200, 204) or refused(answer), (place, changed)


def test_an_output_that_is_not_there_is_a_bad_request(client: Any) -> None:
    for output in ("nothing.children", "request.data", "..content.children..", "__class__", FRAME["output"] + "."):
        assert refused(post(client, {**FRAME, "output": output})), output


def test_a_value_that_is_nested_deeply_is_no_error_of_the_server(client: Any, act: dict[str, Any]) -> None:
    deep: Any = []
    for _ in range(400):
        deep = [deep]
    for value in ({"do": "fields", "values": {"filters": deep}}, {"do": "order", "names": [deep]}, {"do": deep}, deep):
        answer = post(client, put(act, ["inputs", 0, "value"], value))
        assert answer.status_code == 200 or refused(answer)


def test_a_body_that_is_larger_than_any_page_sends_is_refused(client: Any) -> None:
    answer = client.post(CALLBACK, headers=HERE, data=b'"' + b"x" * 5_000_000 + b'"', content_type="application/json")
    assert answer.status_code == 413


@pytest.mark.parametrize(
    "path",
    [
        "x",
        "x/y.js",
        "dash/absent.js",
        "dash/dash-renderer/build/dash_renderer.min.js.map",
        "dash/../dash.py",
        "dash/%2e%2e/%2e%2e/secret",
        "dash//etc/passwd",
        "dash/%00",
        "dash_html_components/dash_html_components.v1_1m1.min.js.map.",
        "dash.dcc/",
        "os/path.py",
        "matrix_benchmarking/cli.py",
        "%ff/%ff.js",
        "dash/" + "x" * 5000,
    ],
)
def test_a_component_that_is_not_there_is_not_found(client: Any, path: str) -> None:
    answer = client.get(f"/_dash-component-suites/{path}", headers=HERE)
    assert answer.status_code == 404 or "<!DOCTYPE html>" in answer.text[:200]
    assert len(answer.text.splitlines()) <= 1 or answer.status_code == 200


def test_the_components_of_the_page_are_sent(client: Any) -> None:
    page = client.get("/", headers=HERE).text
    paths = [part.partition('"')[0] for part in page.split('src="')[1:] if part.startswith("/_dash-component-suites")]
    assert paths
    assert {client.get(path, headers=HERE).status_code for path in paths} == {200}


@pytest.mark.parametrize(
    "path", ["/assets/%00", "/assets/../server.py", "/artifact/%00/%00", "/artifact/x/%ff", "/%ff?%"]
)
def test_other_odd_paths_are_no_error_of_the_server(client: Any, path: str) -> None:
    assert client.get(path, headers=HERE).status_code < 500


def places(node: Any, above: tuple[Any, ...] = ()) -> Any:
    """The ways to everything in *node*."""
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in items:
        yield [*above, key]
        yield from places(value, (*above, key))


def put(body: Any, place: list[Any], value: Any) -> Any:
    changed = copy.deepcopy(body)
    node = changed
    for key in place[:-1]:
        node = node[key]
    node[place[-1]] = value
    return changed


def without(body: Any, place: list[Any]) -> Any:
    changed = copy.deepcopy(body)
    node = changed
    for key in place[:-1]:
        node = node[key]
    del node[place[-1]]
    return changed
