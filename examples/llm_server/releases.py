"""Releases that the server can play, so that a history of it can be recorded: one made it slower.

From release 0.3.0 on, a step reads the keys and values of the whole window, instead of those that are used.
"""

from __future__ import annotations

CURRENT = "0.2.0"
PAGES_FROM = (0, 3, 0)
PAGE = 512


def page_of(release: str) -> int:
    """How many tokens the *release* reads at once. Raises ValueError: it is none, such as 0.2.0."""
    try:
        first, second, third = (int(part) for part in release.split("."))
    except ValueError:
        raise ValueError(f"{release!r} is no release such as {CURRENT}") from None
    return PAGE if (first, second, third) >= PAGES_FROM else 1
