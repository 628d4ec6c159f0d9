"""Plain elements of a page, many as one: for each of its own Dash takes a tenth of a millisecond in the browser."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from ..static_html import TAGS, safe_address
from ..tables import Node

Tree: TypeAlias = "str | list[Any]"
"""A text, or an element's tag, properties and children, each a tree."""
_TAGS = {*TAGS, "button"}
_PLAIN = {
    *("className", "id", "title", "role", "tabIndex", "colSpan", "rowSpan", "scope", "dateTime", "lang", "dir", "open"),
    *("hidden", "start", "style", "draggable", "href"),
}


def folded(node: Node) -> list[Any]:
    """*node* as a page is sent it: elements side by side that nothing but the page's script deals with are, with all
    in them, one ``Markup``, which that script draws; others stay Dash's own."""
    return _joined(map(_fold, _listed(node)))


def _listed(node: Any) -> Sequence[Any]:
    """What is in *node*, and in the lists within it."""
    if isinstance(node, (list, tuple)):
        return [each for part in node for each in _listed(part)]
    return [] if node is None else [node]


def _fold(node: Any) -> Tree | dict[str, Any]:
    """A tree, or the description of an element that stays Dash's."""
    if not hasattr(node, "to_plotly_json"):
        return str(node)
    found: dict[str, Any] = node.to_plotly_json()
    properties = {name: value for name, value in found["props"].items() if name != "href" or _is_address(value)}
    tag = found["type"].lower()
    children = [_fold(each) for each in _listed(properties.pop("children", None))]
    is_plain = found["namespace"] == "dash_html_components" and tag in _TAGS
    if is_plain and all(itertools.starmap(_is_plain, properties.items())) and not any(map(_is_dash, children)):
        return [tag, properties, children]
    return {**found, "props": {**properties, "children": _joined(children)} if children else properties}


def _joined(made: Iterable[Tree | dict[str, Any]]) -> list[Any]:
    found: list[Any] = []
    for is_dash, group in itertools.groupby(made, _is_dash):
        some = list(group)
        are_as_they_are = is_dash or all(isinstance(one, str) for one in some)
        markup = {"type": "Markup", "namespace": "matbench", "props": {"trees": some}}
        found += some if are_as_they_are else [markup]
    return found


def _is_dash(made: Tree | dict[str, Any]) -> bool:
    return isinstance(made, dict)


def _is_plain(name: str, value: object) -> bool:
    if name == "id":
        return isinstance(value, str)
    return name in _PLAIN or name.startswith(("data-", "aria-"))


def _is_address(value: object) -> bool:
    return value is not None and safe_address(str(value)) == value
