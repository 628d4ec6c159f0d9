"""One HTML page: header, navigation, body and footer around what a report gives, and links to what lies beside it."""

from __future__ import annotations

import base64
import dataclasses
import datetime as dt
import functools
import hashlib
import importlib.resources
import json
import re
import urllib.parse
from collections.abc import Sequence
from pathlib import Path

from ..files import atomic_write
from ..version import __version__
from . import template
from .static_html import Figure, escape, script_json, section_link

INDEX_FILE, PLOTLY_FILE = "index.html", "plotly.min.js"
BESIDE = "<!-- beside -->"
"""Between two of these a document links to what lies beside it."""
CHECK_TITLE = "Check"
"""The page that lists what was found odd about the runs."""
MOST_BESIDE = 5
_TITLE = re.compile(r"<title>(.*?)</title>", re.DOTALL)
_PLACE = re.compile(rf"{BESIDE}.*?{BESIDE}", re.DOTALL)


@dataclasses.dataclass(frozen=True, slots=True)
class Provenance:
    workload: str
    data: str
    written: dt.datetime
    check: str = ""  # what is odd about them
    is_odd: bool = False  # whether that may change an answer


@dataclasses.dataclass(frozen=True, slots=True)
class Page:
    file: str
    title: str
    description: str  # what it shows
    body: str  # HTML, in which all data are escaped
    figures: Sequence[Figure] = ()
    summary: str = ""  # what the data says, for the page's card
    failures: Sequence[str] = ()  # sentences on its parts that could not be made


def prefix(file: str) -> str:
    """What stands in front of the ids of the page *file*, two hyphens at its end, which no slug has; for a section."""
    return f"{file.removeprefix('#')}--" if file.startswith("#") else ""


@functools.cache
def style() -> str:
    """The style of all pages."""
    return asset("page.css") + template.dark_style()


def asset(name: str) -> str:
    return importlib.resources.files(__package__).joinpath("assets", name).read_text(encoding="utf-8")


def render(page: Page, pages: Sequence[Page], provenance: Provenance) -> str:
    plotly = f'<script src="{PLOTLY_FILE}"></script>\n' if page.figures else ""
    sources = " 'self' file:" if page.figures else ""
    header = f"<header>\n{_navigation(page, pages)}\n{_heading(page, provenance, pages)}\n</header>"
    content = f'{header}\n<main id="main">\n{_no_script(bool(page.figures))}{page.body}\n</main>'
    return _document(page.title, content, plotly, sources, provenance)


def render_single(pages: Sequence[Page], provenance: Provenance, plotly: str) -> str:
    """All *pages* in one document with *plotly*, the script; their ``file`` is ``#`` and the id of their section."""
    script = plotly.replace("</script", "<\\/script") if any(page.figures for page in pages) else ""
    sections = "\n".join(
        f'<section class="page" id="{escape(page.file.removeprefix("#"))}">\n'
        f"{_heading(page, provenance, pages, level=1 if page is pages[0] else 2)}\n{page.body}\n</section>"
        for page in pages
    )
    header = f"<header>\n{_navigation(None, pages)}\n</header>\n" if len(pages) > 1 else ""
    content = f'{header}<main id="main">\n{_no_script(bool(script))}{sections}\n</main>'
    inlined = f"<script>{script}</script>\n" if script else ""
    sources = f" '{_digest(script)}'" if script else ""
    return _document(pages[0].title, content, inlined, sources, provenance)


def _document(title: str, content: str, plotly: str, sources: str, provenance: Provenance) -> str:
    """The document around *content*: *plotly* is an element, *sources* what else may run beside the page's script."""
    script = asset("tables.js") + asset("page.js")
    config = f'<script type="application/json" id="figure-config">{script_json(json.dumps(template.CONFIG))}</script>\n'
    written = provenance.written.astimezone(dt.UTC).strftime("%Y-%m-%d %H:%M UTC")
    policy = (
        f"default-src 'none'; script-src '{_digest(script)}'{sources}; style-src 'unsafe-inline'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{escape(title)} – {escape(provenance.workload)} – matbench</title>
<link rel="icon" href="data:,">
<style>
{style()}</style>
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
{content}
<footer>
<p>{escape(provenance.data)} Written {written} by matbench {escape(__version__)},
workload {escape(provenance.workload)}.</p>
</footer>
{config if plotly else ""}{plotly}<script>{script}</script>
</body>
</html>
"""


def _heading(page: Page, provenance: Provenance, pages: Sequence[Page], level: int = 1) -> str:
    description = f'\n<p class="description">{escape(page.description)}</p>' if page.description else ""
    said = f"{escape(provenance.data)}{_check(provenance, pages)}"
    data = f'\n<p class="provenance">{said}</p>' if level == 1 else ""
    name = "h1" if level == 1 else "h2"
    link = section_link(page.file.removeprefix("#"), page.title) if level > 1 else ""
    beside = f"{BESIDE}{BESIDE}" if level == 1 else ""
    return f"<{name}>{escape(page.title)}{link}</{name}>{description}{data}{beside}"


def _check(provenance: Provenance, pages: Sequence[Page]) -> str:
    text = escape(provenance.check)
    link = next((page.file for page in pages if page.title == CHECK_TITLE), None)
    linked = text if link is None else f'<a href="{escape(link)}">{text}</a>'
    said = f"Check: {linked}."
    if provenance.is_odd:
        said = f'<span class="warning">{said}</span>'
    return f" {said}" if text else ""


def _no_script(has_figures: bool) -> str:
    return "<noscript><p>The figures need JavaScript; the tables don't.</p></noscript>" if has_figures else ""


def _navigation(page: Page | None, pages: Sequence[Page]) -> str:
    links = []
    for other in pages:
        current = ' aria-current="page"' if page is not None and other.file == page.file else ""
        links.append(f'<a href="{escape(other.file)}"{current}>{escape(other.title)}</a>')
    return f'<nav aria-label="Pages">{"".join(links)}</nav>'


def _digest(script: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}"


def link_beside(directory: Path) -> None:
    """Link the pages of the site in *directory* with the analyses in its folders; pages that aren't ours stay."""
    from ..analyze.report import ci  # of pages that are written alone: it declares models, .1 s

    index = _read(directory / INDEX_FILE)
    analyses = [
        (folder, said)
        for folder in sorted(path.parent for path in directory.glob(f"*/{ci.JSON}"))
        if (said := _said(folder / ci.JSON)) and BESIDE in _read(folder / INDEX_FILE)
    ][:MOST_BESIDE]
    if not analyses or BESIDE not in index:
        return
    title = _TITLE.search(index)
    for folder, _ in analyses:
        _fill(folder / INDEX_FILE, [(f"../{INDEX_FILE}", title.group(1) if title else "all reports")])
    for page in directory.glob("*.html"):
        _fill(page, [(f"{urllib.parse.quote(folder.name)}/{INDEX_FILE}", escape(said)) for folder, said in analyses])


def _said(path: Path) -> str:
    from ..analyze.report.json_report import FORMAT  # as above

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
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeError):
        return ""
