"""Dash's elements, for what is imported when pages are made; without the types of their attributes, which know no
``data-…`` and no ``aria-…``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol, TypeAlias, cast

import dash

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dash.development.base_component import Component

    from .static_html import Part
    from .tables import Table

Node: TypeAlias = "Component | Part | Table | str | Sequence[Node] | None"
"""What pages are made of: elements, our own tables and parts among them, and text."""


class _Elements(Protocol):
    def __getattr__(self, name: str) -> Callable[..., Component]: ...


html, dcc = cast("_Elements", dash.html), cast("_Elements", dash.dcc)


def bullets(items: Iterable[Node], more: int = 0) -> Node:
    """A list of *items*, and how many *more* there are."""
    last = [html.Li(f"and {more} more")] if more > 0 else []
    return html.Ul([*(html.Li(item) for item in items), *last])


def how_to_read(items: Iterable[str]) -> Node:
    return html.Section([html.H2("How to read this"), bullets(items)])
