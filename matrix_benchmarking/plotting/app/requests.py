"""What the page asks for, and where the answers go."""

from __future__ import annotations

from typing import Any

from ..tags import Node
from . import view
from .answers import Frame, Opened, Pages


def register(app: Any, answers: Pages) -> None:
    from dash import ALL, MATCH, ClientsideFunction, Input, Output, State, ctx, no_update

    app.clientside_callback(
        ClientsideFunction("matbench", "request"),
        Output("request", "data"),
        Input("address", "search"),
        Input("version", "data"),
        State("request", "data"),
    )
    app.clientside_callback(
        ClientsideFunction("matbench", "fields"),
        Output("event", "data", allow_duplicate=True),
        Input({"type": "field", "name": ALL, "shown": ALL}, "value"),
        State({"type": "field", "name": ALL, "shown": ALL}, "id"),
        prevent_initial_call=True,
    )
    app.clientside_callback(
        ClientsideFunction("matbench", "clicked"),
        Output("event", "data", allow_duplicate=True),
        Input({"type": "figure", "index": ALL}, "clickData"),
        prevent_initial_call=True,
    )
    app.clientside_callback(ClientsideFunction("matbench", "title"), Input("title", "data"))

    def frame(request: object) -> Frame:
        return answers.frame(address(request)[0])

    def page(request: object) -> Opened:
        return answers.page(*address(request))

    def part(wanted: object, request: object) -> object:
        identity = ctx.outputs_list["id"]
        return answers.part(address(request)[0], identity["of"], identity["index"]) if wanted else no_update

    def act(event: object, query: object) -> tuple[object, Node, bool]:
        if query is not None and not isinstance(query, str):
            raise TypeError("an address is a text")
        search, notice = answers.act(event, query or "")
        is_same = search is None or view.same(search, query or "")
        return no_update if is_same else search, notice, False

    def tick(_: object, known: object) -> tuple[object, str, bool]:
        # Asked in this order: where the reading has ended, the number that is asked for afterwards is the last one.
        is_reading = answers.data.progress.is_reading
        number = answers.version()
        return no_update if number == known else number, answers.progress(), not is_reading

    request = Input("request", "data")
    content = [Output("content", "children"), Output("controls", "children"), Output("title", "data")]
    surroundings = [Output(name, "children") for name in ("selectors", "headline", "tabs")]
    clock = [Output("version", "data"), Output("progress", "children"), Output("clock", "disabled")]
    acted = [Output("address", "search"), Output("notice", "children")]
    app.callback(surroundings, request, prevent_initial_call=True)(frame)
    app.callback(content, request, prevent_initial_call=True)(page)
    app.callback(
        Output({"type": "part", "of": MATCH, "index": MATCH}, "children"),
        Input({"type": "wanted", "of": MATCH, "index": MATCH}, "data"),
        State("request", "data"),
        prevent_initial_call=True,
    )(part)
    app.callback(
        [*acted, Output("clock", "disabled", allow_duplicate=True)],
        Input("event", "data"),
        State("address", "search"),
        prevent_initial_call=True,
    )(act)
    app.callback(clock, Input("clock", "n_intervals"), State("version", "data"))(tick)


def address(value: object) -> tuple[str, list[int]]:
    """The query, and the numbers of the parts in view, of what the page's script stores as its request."""
    match value:
        case {"search": str(search), "parts": list(parts)} if all(isinstance(part, int) for part in parts):
            return search, parts
    raise TypeError("a request is an address and the parts in view")
