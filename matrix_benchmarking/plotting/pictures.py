"""The figures of the pages as files, drawn by kaleido in a Chromium of the machine; nothing is fetched."""

from __future__ import annotations

import asyncio
import dataclasses
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
STARTS = {"png": b"\x89PNG", "svg": b"<svg", "pdf": b"%PDF"}
"""The formats, and how each begins."""
SCALE = 2
"""Pixels of a PNG for each of the size."""
WIDTH, HEIGHT = 1000, 440
TITLE_ROOM = 70
"""What a title above the figure takes, in pixels."""
TIMEOUT_S = 90
NAMES = ", ".join(STARTS)


@dataclasses.dataclass(frozen=True, slots=True)
class Pictures:
    """How figures are drawn: by which Chromium, in which formats, at which width and height in CSS pixels."""

    browser: str
    formats: Sequence[str] = ("png",)
    size: tuple[int, int] | None = None


def find_browser() -> str:
    """The Chromium that draws; raises ConfigError where it or kaleido isn't installed."""
    if importlib.util.find_spec("kaleido") is None:
        raise ConfigError(f"`format` {NAMES} needs kaleido: pip install 'matrix-benchmarking[png]'")
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        raise ConfigError(
            f"`format` {NAMES} needs Chromium or Chrome on the PATH: apt-get install chromium-headless-shell"
        )
    return found


def draw(pages: Sequence[Page], wanted: Pictures) -> tuple[dict[str, bytes], list[str]]:
    """For each figure of *pages* its file name, relative to theirs, and the picture; a sentence on each without one."""
    figures: dict[str, tuple[Figure, str]] = {}
    for page in pages:
        stem = page.file.removeprefix("#").removesuffix(".html")
        for number, figure in enumerate(page.figures, 1):
            name = stem if stem == figure.slug else f"{stem}-{number}-{figure.slug}"
            figures |= {f"{FOLDER}/{name}.{kind}": (figure, kind) for kind in wanted.formats}
    if not figures:
        return {}, []
    try:
        drawn = asyncio.run(_draw(list(figures.values()), wanted))
    except (RuntimeError, OSError, ValueError, TimeoutError) as error:
        raise MatbenchError(f"{wanted.browser} could not draw the figures ({type(error).__name__}: {error})") from error
    outcomes = list(zip(figures.items(), drawn, strict=True))
    failures = [
        f"'{figure.name}' can't be drawn as {kind.upper()} ({why})."
        for (_, (figure, kind)), why in outcomes
        if isinstance(why, str)
    ]
    return {name: picture for (name, _), picture in outcomes if isinstance(picture, bytes)}, failures


def titled(figure: Any, name: str, size: tuple[int, int] | None = None) -> dict[str, Any]:
    """*figure* on white, with *name* above its legend; a dictionary of plain values as plotly's JSON has it."""
    import json

    import plotly.io

    plain: dict[str, Any] = json.loads(plotly.io.to_json(figure, validate=False))
    layout = plain.setdefault("layout", {})
    margin = {**(layout.get("template", {}).get("layout", {}).get("margin") or {}), **(layout.get("margin") or {})}
    width, height = layout.get("width") or WIDTH, (layout.get("height") or HEIGHT) + TITLE_ROOM
    if size is not None:
        larger = max(1, width / size[0], height / size[1])
        width, height = size[0] * larger, size[1] * larger
    layout |= {
        "width": width,
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


async def _draw(figures: Sequence[tuple[Figure, str]], wanted: Pictures) -> list[bytes | str]:
    """The picture of each of *figures* in its format, or why there is none."""
    import kaleido

    # No MathJax, which kaleido would fetch; nothing of matbench's figures needs it.
    async with kaleido.Kaleido(path=wanted.browser, mathjax=False, timeout=TIMEOUT_S) as drawing:
        return [await _drawn(figure, kind, drawing, wanted.size) for figure, kind in figures]


async def _drawn(figure: Figure, kind: str, drawing: Any, size: tuple[int, int] | None) -> bytes | str:
    try:
        plain = titled(figure.figure, figure.name, size)
        scale = (SCALE if kind == "png" else 1) * (size[0] / plain["layout"]["width"] if size else 1)
        picture: bytes = await drawing.calc_fig(plain, opts={"format": kind, "scale": scale})
    except Exception as error:  # noqa: BLE001  a figure may fail in any way; the others can be drawn
        return f"{type(error).__name__}: {str(error)[:300]}"
    return picture if picture.startswith(STARTS[kind]) else "the browser gave no picture: is it too large?"
