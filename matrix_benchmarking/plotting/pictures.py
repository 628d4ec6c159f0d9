"""The figures of the pages as files, drawn by kaleido in a Chromium of the machine; nothing is fetched.

As a program it draws in a process of its own, since kaleido may wait without end for a browser that died: the orders
are a file with a JSON list, each answer is a line of JSON at the standard output.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import importlib.util
import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from ..errors import ConfigError, MatbenchError
from .static_html import Figure, Page
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
FIGURE_S = 60.0
"""What a figure may take before the next one is drawn."""
TIMEOUT_S = 90.0
"""How long a browser may be silent before another one is started in its place."""
CLOSING_S = 10.0
"""What a browser may take to end when all is drawn; kaleido may wait for that for ever."""
BROWSERS_STARTED = 2
"""At most, where one falls silent."""
NAMES = ", ".join(STARTS)


class Pictures(msgspec.Struct, frozen=True):
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
    """For each figure of *pages* its file name, relative to theirs, and the picture; a sentence on each without one.

    Raises:
        MatbenchError: the browser draws nothing at all.
    """
    pictures: dict[str, bytes] = {}
    failures: list[str] = []
    orders: list[tuple[str, str, str, dict[str, Any]]] = []
    for page in pages:
        stem = page.file.removeprefix("#").removesuffix(".html")
        for number, figure in enumerate(page.figures, 1):
            name = stem if stem == figure.slug else f"{stem}-{number}-{figure.slug}"
            for kind in wanted.formats:
                try:
                    order = _order(figure, kind, wanted.size)
                except (AttributeError, LookupError, TypeError, ValueError, OverflowError) as error:  # an odd figure
                    failures.append(_failed(figure.name, kind, f"{type(error).__name__}: {str(error)[:300]}"))
                else:
                    orders.append((f"{FOLDER}/{name}.{kind}", figure.name, kind, order))
    answered = 0
    for _ in range(BROWSERS_STARTED):
        for answer in _answers(orders[answered:], wanted):
            file, name, kind, _ = orders[answered]
            answered += 1
            picture = base64.b64decode(answer.get("picture", ""))
            if picture.startswith(STARTS[kind]):
                pictures[file] = picture
            else:
                why = answer.get("failure", "the browser gave no picture: is it too large?")
                failures.append(_failed(name, kind, why))
    silent = f"it gave no answer in {TIMEOUT_S:g} s"
    if orders and not answered:
        raise MatbenchError(f"{wanted.browser} could not draw the figures ({silent})")
    failures += [_failed(name, kind, f"{wanted.browser}: {silent}") for _, name, kind, _ in orders[answered:]]
    return pictures, failures


def titled(figure: Any, name: str, size: tuple[int, int] | None = None) -> dict[str, Any]:
    """*figure* on white, with *name* above its legend; a dictionary of plain values as plotly's JSON has it."""
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


def _order(figure: Figure, kind: str, size: tuple[int, int] | None) -> dict[str, Any]:
    """What is drawn, as :func:`_draw_orders` takes it."""
    plain = titled(figure.figure, figure.name, size)
    scale = (SCALE if kind == "png" else 1) * (size[0] / plain["layout"]["width"] if size else 1)
    return {"figure": plain, "options": {"format": kind, "scale": scale}}


def _failed(name: str, kind: str, why: str) -> str:
    return f"'{name}' can't be drawn as {kind.upper()} ({why})."


def _answers(orders: Sequence[tuple[str, str, str, dict[str, Any]]], wanted: Pictures) -> Iterator[dict[str, str]]:
    """An answer to each of *orders*; it ends where the browser gives none for TIMEOUT_S.

    Raises:
        MatbenchError: the browser doesn't start.
    """
    if not orders:
        return
    # The browser's own files go with the directory, however it ends.
    with tempfile.TemporaryDirectory(prefix="matbench-pictures-", ignore_cleanup_errors=True) as directory:
        file = Path(directory) / "orders.json"
        file.write_text(json.dumps([order for *_, order in orders]), encoding="utf-8")
        command = [sys.executable, "-m", "matrix_benchmarking.plotting.pictures", str(file), wanted.browser]
        environment = {**os.environ, "TMPDIR": directory}
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=environment) as drawer:
            for line in itertools.islice(_lines(drawer), len(orders)):
                answer = json.loads(line)
                if "end" in answer:
                    raise MatbenchError(f"{wanted.browser} could not draw the figures ({answer['end']})")
                yield answer
            with contextlib.suppress(subprocess.TimeoutExpired):
                drawer.wait(CLOSING_S)
            drawer.kill()


def _lines(process: subprocess.Popen[bytes]) -> Iterator[bytes]:
    """What *process* prints, line by line; it is ended where it prints nothing for TIMEOUT_S."""
    assert process.stdout is not None
    while True:
        silence = threading.Timer(TIMEOUT_S, process.kill)
        silence.start()
        try:
            line = process.stdout.readline()
        finally:
            silence.cancel()
        if not line:
            return
        yield line


async def _draw_orders(orders: list[dict[str, Any]], browser: str) -> None:
    """Answers each of *orders*, a figure as plotly's JSON with kaleido's options: a picture, or why there is none."""
    import kaleido

    # No MathJax, which kaleido would fetch; nothing of matbench's figures needs it.
    async with kaleido.Kaleido(path=browser, mathjax=False, timeout=FIGURE_S) as drawing:
        for order in orders:
            try:
                picture = await drawing.calc_fig(order["figure"], opts=order["options"])
                answer = {"picture": base64.b64encode(picture).decode()}
            except Exception as error:  # noqa: BLE001  a figure may fail in any way; the others can be drawn
                answer = {"failure": f"{type(error).__name__}: {str(error)[:300]}"}
            print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    file, browser = sys.argv[1:]
    try:
        asyncio.run(_draw_orders(json.loads(Path(file).read_text(encoding="utf-8")), browser))
    except (RuntimeError, OSError, ValueError, TimeoutError) as error:
        print(json.dumps({"end": f"{type(error).__name__}: {error}"}), flush=True)
