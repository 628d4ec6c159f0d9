"""The figures of the pages as PNG files, drawn by kaleido in a Chromium of the machine; nothing is fetched."""

from __future__ import annotations

import asyncio
import importlib.util
import shutil
from collections.abc import Sequence
from typing import Any

from ..errors import ConfigError, MatbenchError
from .page import Page
from .static_html import Figure
from .template import text

BROWSERS = (
    *("chromium-headless-shell", "chromium", "chromium-browser"),
    *("google-chrome", "google-chrome-stable", "chrome", "microsoft-edge"),
)
FOLDER = "figures"
SIGNATURE = b"\x89PNG"
SCALE = 2
WIDTH, HEIGHT = 1000, 440
TITLE_ROOM = 70
"""What a title above the figure takes, in pixels."""
TIMEOUT_S = 90


def find_browser() -> str:
    """The Chromium that draws; raises ConfigError where it or kaleido isn't installed."""
    if importlib.util.find_spec("kaleido") is None:
        raise ConfigError("`format` png needs kaleido: pip install 'matrix-benchmarking[png]'")
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        raise ConfigError("`format` png needs Chromium or Chrome on the PATH: apt-get install chromium-headless-shell")
    return found


def draw(pages: Sequence[Page], browser: str) -> tuple[dict[str, bytes], list[str]]:
    """For each figure of *pages* its file name, relative to theirs, and the picture; a sentence on each without one.

    Raises MatbenchError where the *browser* doesn't start.
    """
    figures = {}
    for page in pages:
        stem = page.file.removeprefix("#").removesuffix(".html")
        for number, figure in enumerate(page.figures, 1):
            figures[f"{FOLDER}/{stem}-{number}-{figure.slug}.png"] = figure
    if not figures:
        return {}, []
    try:
        drawn = asyncio.run(_draw(list(figures.values()), browser))
    except (RuntimeError, OSError, ValueError, TimeoutError) as error:
        raise MatbenchError(f"{browser} could not draw the figures as PNG ({type(error).__name__}: {error})") from error
    outcomes = list(zip(figures.items(), drawn, strict=True))
    failures = [
        f"'{figure.name}' can't be drawn as PNG ({why})." for (_, figure), why in outcomes if isinstance(why, str)
    ]
    return {name: picture for (name, _), picture in outcomes if isinstance(picture, bytes)}, failures


def titled(figure: Any, name: str) -> dict[str, Any]:
    """*figure* on white, with *name* above its legend; a dictionary of plain values as plotly's JSON has it."""
    import json

    import plotly.io

    plain: dict[str, Any] = json.loads(plotly.io.to_json(figure, validate=False))
    layout = plain.setdefault("layout", {})
    margin = {**(layout.get("template", {}).get("layout", {}).get("margin") or {}), **(layout.get("margin") or {})}
    height = (layout.get("height") or HEIGHT) + TITLE_ROOM
    layout |= {
        "width": layout.get("width") or WIDTH,
        "height": height,
        "paper_bgcolor": "#ffffff",
        "margin": {**margin, "t": margin.get("t", 35) + TITLE_ROOM, "l": margin.get("l", 10) + 10, "b": 20, "r": 25},
        "title": {
            "text": (layout.get("title") or {}).get("text") or text(name),
            "x": 0.01,
            "y": 1 - 8 / height,
            "yanchor": "top",
        },
    }
    return plain


async def _draw(figures: Sequence[Figure], browser: str) -> list[bytes | str]:
    """The picture of each of *figures*, or why there is none."""
    import kaleido

    # No MathJax, which kaleido would fetch; nothing of matbench's figures needs it.
    async with kaleido.Kaleido(path=browser, mathjax=False, timeout=TIMEOUT_S) as drawing:
        options: Any = {"format": "png", "scale": SCALE}
        return [await _drawn(figure, drawing, options) for figure in figures]


async def _drawn(figure: Figure, drawing: Any, options: Any) -> bytes | str:
    try:
        picture: bytes = await drawing.calc_fig(titled(figure.figure, figure.name), opts=options)
    except Exception as error:  # noqa: BLE001  a figure may fail in any way; the others can be drawn
        return f"{type(error).__name__}: {str(error)[:300]}"
    return picture if picture.startswith(SIGNATURE) else "the browser gave no picture: is it too large?"
