"""One HTML page: header, navigation, body and footer around what a report gives.

A page loads nothing but the plotly file beside it; its content security policy says so to the browser,
and lets no script run but the page's own.
"""

from __future__ import annotations

import base64
import dataclasses
import functools
import hashlib
import importlib.resources
from collections.abc import Sequence

from .static_html import escape

PLOTLY_FILE = "plotly.min.js"


@dataclasses.dataclass(frozen=True, slots=True)
class Provenance:
    """What a page says about where its numbers come from, in plain sentences."""

    workload: str
    data: str
    generated: str
    version: str


@dataclasses.dataclass(frozen=True, slots=True)
class Page:
    """A page before it is written.

    Attributes:
        file: its file name.
        title: its heading.
        description: what it shows, in a sentence.
        body: HTML, all data in it escaped.
        has_figures: whether it needs plotly.
        summary: what the data says, for the page's card.
    """

    file: str
    title: str
    description: str
    body: str
    has_figures: bool = False
    summary: str = ""


@functools.cache
def asset(name: str) -> str:
    """A file of the package's ``assets``."""
    return importlib.resources.files(__package__).joinpath("assets", name).read_text(encoding="utf-8")


def render(page: Page, pages: Sequence[Page], provenance: Provenance) -> str:
    """The whole document, as text."""
    script = asset("page.js")
    plotly = f'<script src="{PLOTLY_FILE}"></script>\n' if page.has_figures else ""
    description = f'<p class="description">{escape(page.description)}</p>' if page.description else ""
    no_script = "<noscript><p>The figures need JavaScript; the tables don't.</p></noscript>" if plotly else ""
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{_policy(script, bool(plotly))}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{escape(page.title)} – {escape(provenance.workload)} – matbench</title>
<link rel="icon" href="data:,">
<style>
{asset("page.css")}</style>
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<header>
{_navigation(page, pages)}
<h1>{escape(page.title)}</h1>
{description}
<p class="provenance">{escape(provenance.data)}</p>
</header>
<main id="main">
{no_script}{page.body}
</main>
<footer>
<p>{escape(provenance.data)} Written {escape(provenance.generated)} by matbench {escape(provenance.version)},
workload {escape(provenance.workload)}.</p>
</footer>
{plotly}<script>{script}</script>
</body>
</html>
"""


def _navigation(page: Page, pages: Sequence[Page]) -> str:
    links = []
    for other in pages:
        current = ' aria-current="page"' if other.file == page.file else ""
        links.append(f'<a href="{escape(other.file)}"{current}>{escape(other.title)}</a>')
    return f'<nav aria-label="Pages">{"".join(links)}</nav>'


def _policy(script: str, with_plotly: bool) -> str:
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    sources = f"'sha256-{digest}'" + (" 'self' file:" if with_plotly else "")
    return (
        f"default-src 'none'; script-src {sources}; style-src 'unsafe-inline'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )
