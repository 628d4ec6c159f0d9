"""Draws pictures for :mod:`.pictures`, as a process of its own: kaleido may wait without end for a browser that died.

The orders are a file with a JSON list; each answer is a line of JSON at the standard output.
"""

from __future__ import annotations

import asyncio
import base64
import json
import sys
from pathlib import Path
from typing import Any


async def draw(orders: list[dict[str, Any]], browser: str, timeout_s: float) -> None:
    """Answers each of *orders*, a figure as plotly's JSON with kaleido's options: a picture, or why there is none."""
    import kaleido

    # No MathJax, which kaleido would fetch; nothing of matbench's figures needs it.
    async with kaleido.Kaleido(path=browser, mathjax=False, timeout=timeout_s) as drawing:
        for order in orders:
            try:
                picture = await drawing.calc_fig(order["figure"], opts=order["options"])
                answer = {"picture": base64.b64encode(picture).decode()}
            except Exception as error:  # noqa: BLE001  a figure may fail in any way; the others can be drawn
                answer = {"failure": f"{type(error).__name__}: {str(error)[:300]}"}
            print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    file, browser, timeout_s = sys.argv[1:]
    try:
        asyncio.run(draw(json.loads(Path(file).read_text(encoding="utf-8")), browser, float(timeout_s)))
    except (RuntimeError, OSError, ValueError, TimeoutError) as error:
        print(json.dumps({"end": f"{type(error).__name__}: {error}"}), flush=True)
