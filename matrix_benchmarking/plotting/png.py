"""The figures of the pages as PNG files, drawn by kaleido in a Chromium of the machine; nothing is fetched."""

from __future__ import annotations

import asyncio
import importlib.util
import shutil
from collections.abc import Sequence
from typing import Any

from ..errors import ConfigError, MatbenchError
from .page import Page

BROWSERS = (
    *("chromium-headless-shell", "chromium", "chromium-browser"),
    *("google-chrome", "google-chrome-stable", "chrome", "microsoft-edge"),
)
FOLDER = "figures"
SCALE = 2
WIDTH, HEIGHT = 1000, 440
TITLE_ROOM = 70
"""What a title above the figure takes, in pixels."""
TIMEOUT_S = 90


def find_browser() -> str:
    """The Chromium that draws.

    Raises:
        ConfigError: kaleido or Chromium isn't installed; it says what to install.
    """
    if importlib.util.find_spec("kaleido") is None:
        raise ConfigError("--format png needs kaleido: pip install 'matrix-benchmarking[png]'")
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        raise ConfigError("--format png needs Chromium or Chrome on the PATH: apt-get install chromium-headless-shell")
    return found


def draw(pages: Sequence[Page], browser: str) -> dict[str, bytes]:
    """For each figure of *pages* its file name, relative to theirs, and the picture.

    Args:
        browser: path of a Chromium, as :func:`find_browser` gives it.

    Raises:
        MatbenchError: the browser doesn't start or doesn't draw.
    """
    names, specifications = [], []
    for page in pages:
        stem = page.file.removeprefix("#").removesuffix(".html")
        for number, figure in enumerate(page.figures, 1):
            names.append(f"{FOLDER}/{stem}-{number}-{figure.slug}.png")
            specifications.append(titled(figure.figure, figure.name))
    if not names:
        return {}
    try:
        pictures = asyncio.run(_draw(specifications, browser))
    except (RuntimeError, OSError, ValueError, TimeoutError) as error:
        raise MatbenchError(f"{browser} could not draw the figures as PNG ({type(error).__name__}: {error})") from error
    return dict(zip(names, pictures, strict=True))


def titled(figure: Any, name: str) -> dict[str, Any]:
    """*figure* on white, with *name* above its legend; a dictionary of plain values as plotly's JSON has it."""
    import json

    import plotly.io

    from .template import text

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


async def _draw(specifications: Sequence[dict[str, Any]], browser: str) -> list[bytes]:
    import kaleido

    # No MathJax, which kaleido would fetch; nothing of matbench's figures needs it.
    async with kaleido.Kaleido(path=browser, mathjax=False, timeout=TIMEOUT_S) as drawing:
        options: Any = {"format": "png", "scale": SCALE}
        return [await drawing.calc_fig(specification, opts=options) for specification in specifications]
