"""What is looked for on every page in a browser: what leads away from it, and what keeps people out."""

from __future__ import annotations

from typing import Any

TOOLBAR = {"Zoom", "Pan", "Zoom in", "Zoom out", "Autoscale", "Reset axes"}
"""The buttons that a figure may have; another, of a newer plotly, has to be looked at before it is one of them."""
_PLACES = """elements => elements.flatMap(element =>
    ["href", "src", "srcset", "action", "formaction", "data", "poster", "ping"]
        .filter(name => element.hasAttribute && element.hasAttribute(name))
        .map(name => new URL(element.getAttribute(name), document.baseURI).href))"""
_BUTTONS = "buttons => buttons.map(button => button.dataset.title)"
# A page's dark colours are all that differs from its light ones.
_RULES = {"light": None, "dark": ["color-contrast", "link-in-text-block"]}
# A row of a table, or a part of any figure, whose elements are those of an earlier one, wherever they are: their
# classes, styles, attributes, and which of them are empty. And what is in a cell that is as in another such row's.
_WITHOUT_PARTS_ALIKE = """() => {
    const look = element => [element.tagName, !element.textContent.trim(), ...[...element.attributes].map(attribute =>
        ["class", "style", "role", "scope"].includes(attribute.name)
            ? attribute.value.replace(/(transform|top|left|width): [^;]*/g, "") : attribute.name)].join();
    const looks = (part, ...around) => [...around, part, ...part.querySelectorAll("*")].map(look).join(";");
    const drawn = new Set(), filled = new Set();
    for (const whole of document.querySelectorAll("tbody, svg g, .modebar, .grid-box [role=rowgroup]")) {
        const seen = whole.matches("g, .modebar") ? drawn : new Set();
        for (const part of [...whole.children])
            seen.has(looks(part)) ? part.remove() : seen.add(looks(part));
    }
    for (const cell of document.querySelectorAll("tbody td, [role=gridcell]")) {
        const all = looks(cell, cell.parentElement);
        filled.has(all) ? cell.replaceChildren() : filled.add(all);
    }
}"""


def leads_nowhere_else(page: Any, own: str) -> int:
    """Assert that nothing on the open *page* leads away from the address *own*, and its figures have known buttons.

    Returns:
        The number of these buttons.
    """
    places = page.locator("*").evaluate_all(_PLACES)
    assert [place for place in places if not place.startswith((own, "data:", "blob:"))] == []
    titles = page.locator(".modebar-btn").evaluate_all(_BUTTONS)
    assert set(titles) <= TOOLBAR
    return len(titles)


def barriers(page: Any) -> list[tuple[str, str, str]]:
    """Those on the open *page*, in both colour schemes: scheme, axe's rule, and the first element.

    The page loses each table's rows and figure's parts that differ from an earlier one by text or place only: most of
    what axe looks at.
    """
    from axe_playwright_python.base import AXE_SCRIPT

    page.evaluate(_WITHOUT_PARTS_ALIKE)
    page.evaluate(AXE_SCRIPT)
    found = []
    for scheme, rules in _RULES.items():
        page.emulate_media(color_scheme=scheme)
        options = {"resultTypes": ["violations"], **({"runOnly": rules} if rules else {})}
        violations = page.evaluate("async options => (await axe.run(options)).violations", options)
        found += [(scheme, one["id"], one["nodes"][0]["html"][:200]) for one in violations]
    return found
