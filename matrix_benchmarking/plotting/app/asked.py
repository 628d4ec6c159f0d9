"""What a page may ask of the server: a body that no page of ours sends is a bad request, said in one line.

Dash takes a body for granted; one that has another form would end in a stack trace.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

COMPONENTS, CALLBACK = "/_dash-component-suites/", "/_dash-update-component"
MOST_BYTES = 4 * 1024 * 1024
"""The largest body: a page sends its address and what somebody did."""


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
    expected = [_described(each) for each in (outputs if is_list else [outputs])]
    given = body.get("outputs")
    changed = body.get("changedPropIds", [])
    if not (
        _fit(expected, given if is_list else [given])
        and _fit(callback["inputs"], body.get("inputs"))
        and _fit(callback["state"], body.get("state", []))
        and isinstance(changed, list)
        and all(isinstance(name, str) for name in changed)
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


def _described(output: Any) -> dict[str, str]:
    return {"id": output.component_id_str(), "property": output.component_property}


def _fit(expected: Sequence[Mapping[str, str]], given: Any) -> bool:
    return (
        isinstance(given, list)
        and len(given) == len(expected)
        and all(_fits(one, other) for one, other in zip(expected, given, strict=True))
    )


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
