"""What the page asks for, and where the answers go; a body that no page of ours sends is a bad request.

Dash takes a body for granted; one that has another form would end in a stack trace.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from . import view
from .answers import Pages

COMPONENTS, CALLBACK = "/_dash-component-suites/", "/_dash-update-component"
MOST_BYTES = 4 * 1024 * 1024
"""The largest body: a page sends its address and what somebody did."""


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
        return answers.frame(address(request)[0])

    def page(request: Any) -> Any:
        return answers.page(*address(request))

    def part(wanted: Any, request: Any) -> Any:
        identity = ctx.outputs_list["id"]
        return answers.part(address(request)[0], identity["of"], identity["index"]) if wanted else no_update

    def act(event: Any, query: Any) -> Any:
        current = text(query)
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


def check_body(known: Mapping[str, Mapping[str, Any]], request: Any) -> None:
    """Refuse a *request* whose body is for none of the *known* callbacks of Dash.

    Raises:
        werkzeug.exceptions.HTTPException: with the reason.
    """
    try:
        body = request.get_json()
        json.dumps(body, ensure_ascii=False).encode()
    except RecursionError as error:
        raise refusal("the body is nested too deeply") from error
    except UnicodeEncodeError as error:  # half a surrogate pair, which no answer could repeat
        raise refusal("the body holds what is no text") from error
    output = body.get("output") if isinstance(body, dict) else None
    callback = known.get(output) if isinstance(output, str) else None
    if callback is None or "callback" not in callback:
        raise refusal("the body asks for no output of this application")
    outputs = callback["output"]
    is_list = isinstance(outputs, list)
    expected = [
        {"id": each.component_id_str(), "property": each.component_property}
        for each in (outputs if is_list else [outputs])
    ]
    compared = (
        (expected, body.get("outputs") if is_list else [body.get("outputs")]),
        (callback["inputs"], body.get("inputs")),
        (callback["state"], body.get("state", [])),
    )
    changed = body.get("changedPropIds", [])
    if not (isinstance(changed, list) and all(isinstance(name, str) for name in changed)) or not all(
        isinstance(given, list) and len(given) == len(known) and all(map(_fits, known, given))
        for known, given in compared
    ):
        raise refusal("the body's outputs, inputs or state are not those of this application")


def text(value: Any) -> str:
    """The *value* of an address' query, which may be absent."""
    if value is None or isinstance(value, str):
        return value or ""
    raise refusal("an address is a text")


def address(value: Any) -> tuple[str, list[int]]:
    """The query, and the numbers of the parts in view, of what the page's script stores as its request."""
    match value:
        case {"search": str(search), "parts": list(parts)} if all(isinstance(part, int) for part in parts):
            return search, parts
    raise refusal("a request is an address and the parts in view")


def refusal(reason: str) -> Exception:
    """The answer 400 with the *reason*, to be raised."""
    import flask
    from werkzeug.exceptions import BadRequest

    return BadRequest(response=flask.Response(f"{reason}\n", status=400, mimetype="text/plain"))


def _fits(expected: Mapping[str, str], given: Any) -> bool:
    """True if *given* has the property and the id; a wildcard in the id (a list) stands for a text or a number."""
    if not isinstance(given, dict) or not isinstance(given.get("property"), str):
        return False
    found = given.get("id")
    if given["property"].partition("@")[0] != expected["property"]:
        return False
    if not expected["id"].startswith("{"):
        return bool(found == expected["id"])
    pattern = json.loads(expected["id"])
    return (
        isinstance(found, dict)
        and found.keys() == pattern.keys()
        and all(
            isinstance(found[name], str | int) if isinstance(part, list) else found[name] == part
            for name, part in pattern.items()
        )
    )
