"""Elements that nothing but the page's script deals with are sent as one; all others stay Dash's."""

from __future__ import annotations

from typing import Any

import pytest
from dash import dcc, html

from matrix_benchmarking.plotting.app.elements import folded


def markup(*trees: Any) -> dict[str, Any]:
    return {"type": "Markup", "namespace": "matbench", "props": {"trees": list(trees)}}


def test_what_is_plain_is_one_with_all_that_is_in_it() -> None:
    link = html.A(["to ", html.Code("x")], href="?show=y", className="more", **{"aria-label": "to x"})
    node = [html.P(["Look ", link, None, 3]), html.Details([html.Summary("s")], open=True, id="folds"), "end"]
    assert folded(node) == [
        markup(
            [
                "p",
                {},
                ["Look ", ["a", {"href": "?show=y", "className": "more", "aria-label": "to x"}, link_text()], "3"],
            ],
            ["details", {"open": True, "id": "folds"}, [["summary", {}, ["s"]]]],
            "end",
        )
    ]


def link_text() -> list[Any]:
    return ["to ", ["code", {}, ["x"]]]


def test_elements_that_dash_deals_with_stay_its_own_and_divide_the_others() -> None:
    field = dcc.Input(id="i", value="v")
    (made,) = folded(html.Div([html.B("a"), html.I("b"), html.Label([html.Span("c"), field]), html.B("d")], title="t"))
    assert (made["type"], made["namespace"], made["props"]["title"]) == ("Div", "dash_html_components", "t")
    before, label, after = made["props"]["children"]
    assert before == markup(["b", {}, ["a"]], ["i", {}, ["b"]])
    assert after == markup(["b", {}, ["d"]])
    assert label["props"]["children"] == [markup(["span", {}, ["c"]]), field.to_plotly_json()]


def test_lists_in_lists_are_what_is_in_them() -> None:
    node = html.Td([[html.Code("x"), " ", [html.Button("Copy", **{"data-copy": ""})]], " open", None])
    assert folded(node) == [
        markup(["td", {}, [["code", {}, ["x"]], " ", ["button", {"data-copy": ""}, ["Copy"]], " open"]])
    ]


def test_text_stays_text() -> None:
    assert folded(["a", "b"]) == ["a", "b"]
    assert folded("a") == ["a"]
    assert folded(None) == []


@pytest.mark.parametrize(
    "element",
    [
        html.Div("x", id={"type": "part", "index": 1}),
        html.Div("x", n_clicks=1),
        html.Div("x", contentEditable="true"),
        html.Iframe(srcDoc="<script>alert(1)</script>"),
        html.Script("alert(1)"),
        html.Img(src="data:image/png;base64,"),
    ],
    ids=lambda element: str(element)[:40],
)
def test_what_could_run_or_be_listened_to_is_left_to_dash(element: Any) -> None:
    (made,) = folded(element)
    assert made["type"] == element._type
    assert made["namespace"] == "dash_html_components"
    assert folded(html.P(element))[0]["type"] == "P"


@pytest.mark.parametrize("href", ["javascript:alert(1)", " java\nscript:alert(1)"])
def test_a_link_that_could_run_something_is_text(href: str) -> None:
    assert folded(html.A("x", href=href)) == [markup(["a", {}, ["x"]])]


def test_the_elements_of_a_report_stay_as_they_are() -> None:
    inner = html.Span("x")
    node = html.Div([inner, dcc.Markdown("y")])
    folded(node)
    assert node.children[0] is inner
