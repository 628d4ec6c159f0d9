"""Dash's elements, for what is imported when pages are made; without the types of their attributes, which know no
``data-…`` and no ``aria-…``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import dash

html: Any = dash.html
dcc: Any = dash.dcc


def bullets(items: Iterable[Any], more: int = 0) -> Any:
    """A list of *items*, and how many *more* there are."""
    last = [html.Li(f"and {more} more")] if more > 0 else []
    return html.Ul([*(html.Li(item) for item in items), *last])


def how_to_read(items: Iterable[str]) -> Any:
    """What the numbers of a page mean."""
    return html.Section([html.H2("How to read this"), bullets(items)])
