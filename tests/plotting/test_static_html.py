"""Components become HTML in which nothing that came from data can run."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import plotly.graph_objects as go
import pytest
from dash import dcc, html
from hypothesis import given
from hypothesis import strategies as st

from matrix_benchmarking.errors import WorkloadError
from matrix_benchmarking.plotting.static_html import StaticHTML, escape, safe_address, script_json
from matrix_benchmarking.plotting.tables import Column, table


class _Reader(HTMLParser):
    """What a browser would see: the elements with their attributes, and the text."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def render(component: object) -> str:
    return StaticHTML().render(component)


@given(st.text())
def test_any_text_is_read_back_as_text_and_as_attribute(text: str) -> None:
    reader = _Reader(render(html.P(text, title=text)))
    assert [tag for tag, _ in reader.elements] == ["p"]
    cleaned = re.sub("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]", "�", text)
    assert reader.text.replace("\r", "\n") == cleaned.replace("\r", "\n")
    assert reader.elements[0][1]["title"] == cleaned


def test_children_may_be_lists_numbers_text_and_nothing() -> None:
    assert render(html.Div([html.B(1.5), None, "a", ["b", html.Br()]])) == "<div><b>1.5</b>ab<br></div>"


def test_properties_become_their_attributes_and_unknown_ones_are_dropped() -> None:
    component = html.Td("x", className="number", colSpan=2, n_clicks=3, **{"data-sort": "1.0", "aria-label": "y"})
    assert render(component) == '<td aria-label="y" class="number" colspan="2" data-sort="1.0">x</td>'


def test_a_style_keeps_plain_values_only() -> None:
    style = {"maxWidth": 20, "color": "red;background:url(//evil)", "fontWeight": 700}
    assert render(html.P("x", style=style)) == '<p style="max-width:20px;font-weight:700">x</p>'


@pytest.mark.parametrize("address", ["page.html", "../a%3Ab/c", "#top", "file:///tmp/x", "https://e.org/a:b", "?a:b"])
def test_an_address_that_runs_nothing_passes(address: str) -> None:
    assert safe_address(address) == address


@pytest.mark.parametrize(
    "address",
    [
        "javascript:alert(1)",
        "JavaScript:alert(1)",
        " java\nscript:alert(1)",
        "\x01javascript:x",
        "data:text/html,x",
        "vbscript:x",
        "view-source:x",
        ":x",
    ],
)
def test_any_other_scheme_is_dropped(address: str) -> None:
    assert safe_address(address) is None
    assert render(html.A("x", href=address)) == "<a>x</a>"


def test_elements_that_load_or_run_something_leave_a_sentence() -> None:
    for component in (html.Script("alert(1)"), html.Iframe(src="x"), html.ObjectEl(), dcc.Slider(0, 1)):
        kind = component.to_plotly_json()["type"]
        said = f"Here the application has a {kind}, which a page can't have: matbench visualize without --generate"
        assert f'<span class="note">{escape(said)} opens it.</span>' == render(component)
    with pytest.raises(WorkloadError):
        render(object())


def test_what_elements_of_an_application_hold_stays() -> None:
    chosen = dcc.Tabs([dcc.Tab([html.P("first"), dcc.Dropdown(["a"])], label="<One>"), dcc.Tab("second", label="Two")])
    shown = render(html.Div([chosen, dcc.Markdown("*third*"), html.P("last")]))
    assert "<div><strong>&lt;One&gt;</strong><p>first</p>" in shown and "<strong>Two</strong>second" in shown
    assert "has a Dropdown" in shown and "*third*" in shown and "<p>last</p>" in shown


def test_a_figure_is_data_in_a_script_that_it_cannot_end() -> None:
    name = "</script><script>alert(1)</script>\u2028"
    text = render(dcc.Graph(figure=go.Figure(go.Bar(x=[name], y=[float("nan")]))))
    assert text.count("</script") == 1
    content = text[text.index(">", text.index("<script")) + 1 : text.index("</script")]
    assert json.loads(content)["data"][0]["x"] == [name]


@given(st.text())
def test_json_in_a_script_is_still_the_same_json(text: str) -> None:
    escaped = script_json(json.dumps({"text": text}, ensure_ascii=False))
    assert json.loads(escaped) == {"text": text}
    assert "<" not in escaped


@pytest.mark.parametrize(
    ("rows", "title", "headings"),
    [
        (1, "Runs", ["image", "vus", "State", "cost"]),
        (2, "Runs · in all: image a", ["vus", "State", "cost"]),
        (3, "Runs · in all: image a, State done", ["vus", "cost"]),
    ],
)
def test_what_is_constant_in_a_table_is_said_once_above_it(rows: int, title: str, headings: list[str]) -> None:
    columns = [Column("image", setting=True), Column("vus", setting=True), "State", Column("cost", numeric=True)]
    shown = table(columns, [["a", f"{row}", "done", "1.0"] for row in range(rows)], caption="Runs")
    assert shown.title == title
    assert re.findall(r"<span>([^<]*)</span></th>", render(shown.as_html())) == headings


@pytest.mark.parametrize(
    ("title", "said"), [("p99", "p99 (ms)"), ("p99 (ms)", "p99 (ms)"), ("p99 (s)", "p99 (s) (ms)")]
)
def test_a_unit_that_a_title_says_is_said_once(title: str, said: str) -> None:
    column = Column(title, unit="ms", numeric=True)
    assert column.heading == said
    shown = render(table([column, "At"], [["1", "a"], ["2", "b"]], caption="c").as_html())
    assert shown.count('class="unit"') == (said != title)
