"""Dash components as static HTML, the same view that an application would show; and the documents around it.

All text and all attribute values are escaped; only known tags and attributes pass; an address must be
relative, a fragment, ``file:`` or ``http(s):``.
"""

from __future__ import annotations

import base64
import datetime as dt
import functools
import hashlib
import html
import importlib.resources
import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from ..errors import WorkloadError
from ..version import __version__
from . import template
from .tables import Part, Table, failure, problem_box

PLOTLY_FILE = "plotly.min.js"
BESIDE = "<!-- beside -->"
"""Between two of these a document links to what lies beside it."""
CHECK_TITLE = "Check"
"""The page that lists what was found odd about the runs."""

LONGEST = 80
ONLY_APPLICATION = (
    "Here the application has a {}, which a page can't have: matbench visualize without --generate opens it."
)
_HOLDERS = ("Tabs", "Tab", "Loading", "Markdown", "Form", "Fieldset", "Label")
"""Elements of which a page shows what they hold."""


def slug(text: str, fallback: str) -> str:
    """*text* in lower-case ASCII letters, digits and single hyphens; *fallback* where nothing is left of it."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]+", "-", plain.lower()).strip("-")[:LONGEST].strip("-") or fallback


class Slugs:
    """Gives each slug once: the second of a name ends with ``-2``."""

    def __init__(self, *taken: str) -> None:
        self._taken = set(taken)

    def add(self, text: str, fallback: str) -> str:
        plain = slug(text, fallback)
        found, number = plain, 2
        while found in self._taken:
            found, number = f"{plain}-{number}", number + 1
        self._taken.add(found)
        return found


TAGS = {
    *("a", "abbr", "b", "bdi", "br", "cite", "code", "del", "em", "i", "img", "ins", "kbd", "mark", "q", "s"),
    *("samp", "small", "span", "strong", "sub", "sup", "time", "u", "var", "wbr"),
    *("address", "article", "aside", "blockquote", "details", "div", "figcaption", "figure", "footer"),
    *("header", "hr", "main", "nav", "p", "pre", "section", "summary"),
    *("h1", "h2", "h3", "h4", "h5", "h6", "dd", "dl", "dt", "li", "ol", "ul"),
    *("caption", "col", "colgroup", "table", "tbody", "td", "tfoot", "th", "thead", "tr"),
}
_SECTIONS = {"h2", "h3"}
"""Headings that an address can lead to."""
_VOID = {"br", "col", "hr", "img", "wbr"}
ATTRIBUTES = {
    *("id", "title", "role", "tabIndex", "colSpan", "rowSpan", "scope", "dateTime", "lang", "dir", "alt", "open"),
    *("hidden", "start"),
}
_ADDRESSES = ("href", "src")
_SAFE_SCHEMES = {"http", "https", "file"}
_UNITLESS = {"opacity", "fontweight", "lineheight", "zindex", "flex", "flexgrow", "order"}
_SCHEME = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*):")
_STYLE_VALUE = re.compile(r"[-#%.,() \w]*")
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")


class Figure(msgspec.Struct, frozen=True):
    name: str
    slug: str
    figure: Any


class StaticHTML:
    """Renders components one after the other, numbers their figures, and gives each section's heading an address.

    Above the first heading stands the page's *title*.
    """

    def __init__(self, prefix: str = "", title: str = "") -> None:
        self.figures: list[Figure] = []
        self.failures: list[str] = []  # sentences on the parts that failed
        self._prefix = prefix  # of all ids, where several pages become one document
        self._heading = title  # the last one, by which a figure without a title is called
        self._ids = Slugs("main")
        self._names = Slugs()

    def render(self, node: object) -> str:
        """*node* (a Dash component, text, a number, None, or a list of these) as HTML."""
        if node is None or isinstance(node, bool):
            return ""
        if isinstance(node, (str, int, float)):
            return escape(str(node))
        if isinstance(node, (list, tuple)):
            return "".join(self.render(item) for item in node)
        if isinstance(node, Table):
            return self.render(node.as_html())
        if isinstance(node, Part):
            return self._part(node)
        if not hasattr(node, "to_plotly_json"):
            raise WorkloadError(f"a {type(node).__name__} can't be shown on a page")
        description = node.to_plotly_json()
        return self._component(description["namespace"], description["type"], description["props"])

    def _part(self, part: Part) -> str:
        figures = len(self.figures)
        try:
            return self.render(part.make())
        except Exception as error:  # noqa: BLE001  a plot may fail in any way; the rest of the page must stay
            del self.figures[figures:]
            self.failures.append(failure(f"'{part.name}'", error))
            return self.render(problem_box(self.failures[-1]))

    def _component(self, namespace: str, kind: str, properties: Mapping[str, Any]) -> str:
        if namespace == "dash_core_components" and kind == "Graph":
            return self._graph(properties)
        if namespace == "dash_core_components" and kind == "Link":
            kind = "a"
        tag = kind.lower()
        is_known = tag in TAGS or "data-copy" in properties
        if not is_known or namespace not in ("dash_html_components", "dash_core_components"):
            if kind not in _HOLDERS:
                return f'<span class="note">{escape(ONLY_APPLICATION.format(kind))}</span>'
            label = f"<strong>{escape(str(properties['label']))}</strong>" if properties.get("label") else ""
            return f"<div>{label}{self.render(properties.get('children'))}</div>"
        if tag in _SECTIONS:
            return self._section_heading(tag, properties)
        opening = f"<{tag}{attributes(properties)}>"
        if tag in _VOID:
            return opening
        return f"{opening}{self.render(properties.get('children'))}</{tag}>"

    def _section_heading(self, tag: str, properties: Mapping[str, Any]) -> str:
        content = self.render(properties.get("children"))
        self._heading = html.unescape(re.sub(r"<[^>]*>", "", content)).strip()
        identity = properties.get("id")
        if not isinstance(identity, str):
            plain = re.sub(
                r"^figure\b", "about figure", self._heading, flags=re.IGNORECASE
            )  # those have ids of their own
            identity = f"{self._prefix}{self._ids.add(plain, 'section')}"
        link = section_link(identity, self._heading)
        return f"<{tag}{attributes({**properties, 'id': identity})}>{content}{link}</{tag}>"

    def _graph(self, properties: Mapping[str, Any]) -> str:
        figure = properties.get("figure") or {"data": [], "layout": {}}
        number = len(self.figures) + 1
        identity = f"{self._prefix}figure-{number}"
        text = figure_json(figure)
        layout = json.loads(text).get("layout", {})
        height = layout.get("height") or 440
        name = str((layout.get("title") or {}).get("text") or self._heading or f"Figure {number}")
        self.figures.append(Figure(name, self._names.add(name, "figure"), figure))
        return (
            '<div class="figure-scroll" tabindex="0" role="group"'
            f' aria-label="{escape(name)}" data-name="{self.figures[-1].slug}">'
            f'<div class="figure" id="{identity}" style="height:{float(height):g}px"></div></div>'
            f'<script type="application/json" data-figure="{identity}">{script_json(text)}</script>'
        )


def figure_json(figure: object) -> str:
    """*figure* as plotly's JSON; what is no number is null, and one of more than 64 bits a WorkloadError."""
    import plotly.io

    try:
        text: str = plotly.io.to_json(figure, validate=False, engine="orjson")
    except (TypeError, ValueError, OverflowError) as error:
        raise WorkloadError(f"its data can't be written as JSON: {str(error)[:300]}") from error
    return text


def plotly_script() -> str:
    from plotly.offline import get_plotlyjs

    text: str = get_plotlyjs()
    return text


def section_link(identity: str, heading: str) -> str:
    """A link behind a *heading* to itself, so that its address can be copied."""
    label = escape(f"Link to the section {heading}")
    return f' <a class="anchor" href="#{escape(identity)}" aria-label="{label}">#</a>'


def escape(text: str) -> str:
    """*text* for an element or a quoted attribute; control characters become U+FFFD."""
    return html.escape(_CONTROL.sub("�", text), quote=True)


def script_json(text: str) -> str:
    """JSON that can stand inside a ``<script>``: nothing in it can end the element."""
    text = text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    return text.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def safe_address(address: str) -> str | None:
    """*address* if it is relative, a fragment, or of a scheme that runs nothing; else None."""
    # Browsers drop white space and control characters from a scheme, so java\nscript: is one.
    bare = re.sub(r"[\x00-\x20\x7f-\xa0\u2028\u2029\ufeff]", "", address)
    scheme = _SCHEME.match(bare)
    if scheme is not None and scheme.group(1).lower() not in _SAFE_SCHEMES:
        return None
    if ":" in re.split(r"[/?#]", bare, maxsplit=1)[0] and scheme is None:
        return None
    return address


def attributes(properties: Mapping[str, object]) -> str:
    # Dash gives wildcard properties in an order that changes by run.
    return "".join(_attribute(name, properties[name]) for name in sorted(properties))


def _attribute(name: str, value: object) -> str:
    if value is None or value is False:
        return ""
    attribute = "class" if name == "className" else name.lower() if name in ATTRIBUTES else None
    if name in _ADDRESSES:
        attribute, value = name, safe_address(str(value))
    elif name == "style" and isinstance(value, Mapping):
        attribute, value = name, _style(value)
    elif re.fullmatch(r"(?:data|aria)-[a-z0-9-]+", name):
        attribute = name
    if attribute is None or value is None:
        return ""
    if attribute == "id" and not isinstance(value, str):
        return ""  # a pattern-matching id of an application
    return f" {attribute}" if value is True else f' {attribute}="{escape(str(value))}"'


def _style(style: Mapping[str, object]) -> str:
    """CSS of a Dash ``style``; values that could hold more than one plain value are dropped."""
    parts = []
    for name, value in style.items():
        text = f"{value}px" if isinstance(value, (int, float)) and name.lower() not in _UNITLESS else str(value)
        if re.fullmatch(r"[a-zA-Z]+", name) and _STYLE_VALUE.fullmatch(text) and "url" not in text.lower():
            css_name = re.sub(r"[A-Z]", lambda match: "-" + match.group().lower(), name)
            parts.append(f"{css_name}:{text}")
    return ";".join(parts)


class Provenance(msgspec.Struct, frozen=True):
    workload: str
    data: str
    written: dt.datetime
    check: str = ""  # what is odd about them
    is_odd: bool = False  # whether that may change an answer


class Page(msgspec.Struct, frozen=True):
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
