"""Connects the page with the answers: which input of Dash asks for what, and where its answer goes."""

from __future__ import annotations

from typing import Any

from . import asked, view
from .answers import Pages


def register(app: Any, answers: Pages) -> None:
    """Connect the page with *answers*."""
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

    def frame(request: Any) -> Any:
        return answers.frame(asked.address(request)[0])

    def page(request: Any) -> Any:
        return answers.page(*asked.address(request))

    def part(wanted: Any, request: Any) -> Any:
        identity = ctx.outputs_list["id"]
        return answers.part(asked.address(request)[0], identity["of"], identity["index"]) if wanted else no_update

    def act(event: Any, query: Any) -> Any:
        current = asked.text(query)
        search, notice = answers.act(event, current)
        is_same = search is None or view.same(search, current)
        return no_update if is_same else search, notice, False

    def tick(_: int | None, known: int | None) -> Any:
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
