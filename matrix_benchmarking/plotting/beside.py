"""A site, and the analyses in folders of it: each has a link to the other, whichever was written first."""

from __future__ import annotations

import json
import re
import urllib.parse
from pathlib import Path

from ..analyze.report import files
from ..analyze.report.json_report import FORMAT
from ..files import atomic_write
from .index import INDEX_FILE
from .page import BESIDE
from .static_html import escape

MOST = 5
_TITLE = re.compile(r"<title>(.*?)</title>", re.DOTALL)
_PLACE = re.compile(rf"{BESIDE}.*?{BESIDE}", re.DOTALL)


def link(directory: Path) -> None:
    """Link the pages of the site in *directory* with the analyses in its folders, where there are both.

    Only pages that matbench wrote have a place for it; others stay as they are.

    Raises:
        MatbenchError: a page can't be written.
    """
    index = _read(directory / INDEX_FILE)
    analyses = [
        (folder, said)
        for folder in sorted(path.parent for path in directory.glob(f"*/{files.JSON}"))
        if (said := _said(folder / files.JSON)) and BESIDE in _read(folder / INDEX_FILE)
    ][:MOST]
    if not analyses or BESIDE not in index:
        return
    title = _TITLE.search(index)
    for folder, _ in analyses:
        _fill(folder / INDEX_FILE, [(f"../{INDEX_FILE}", title.group(1) if title else "all reports")])
    for page in directory.glob("*.html"):
        _fill(page, [(f"{urllib.parse.quote(folder.name)}/{INDEX_FILE}", escape(said)) for folder, said in analyses])


def _said(path: Path) -> str:
    """What the analysis in the JSON report *path* says, and of which data; empty if it is none."""
    try:
        document = json.loads(_read(path) or "null")
        is_ours = isinstance(document, dict) and document.get("format") == FORMAT
        return f"{document['data']}: {document['verdict'][0]}" if is_ours else ""
    except (ValueError, KeyError, IndexError, TypeError, RecursionError):
        return ""


def _fill(path: Path, links: list[tuple[str, str]]) -> None:
    text = _read(path)
    listed = " ".join(f'<a href="{address}">{said}</a>' for address, said in links)
    place = f'{BESIDE}<p class="provenance">Beside this: {listed}</p>{BESIDE}'
    filled = _PLACE.sub(lambda _: place, text)
    if filled != text:
        with atomic_write(path, durable=False) as stream:
            stream.write(filled.encode("utf-8", "replace"))


def _read(path: Path) -> str:
    """The text of a file; empty where there is none that can be read."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeError):
        return ""
