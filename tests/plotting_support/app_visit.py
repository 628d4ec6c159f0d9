"""A page of the application in a browser, with what happened while it was open."""

from __future__ import annotations

import csv
import json
import time
import urllib.parse
from pathlib import Path
from typing import Any

READY = "#content h1, #content .problem"
DRAWN = """
    [...document.querySelectorAll('#content .dash-graph')].every(graph => graph.querySelector('.modebar-btn'))
    && [...document.querySelectorAll('#content .grid-box')].every(grid => grid.querySelector('.ag-row'))"""

VIEWPORT = {"width": 1300, "height": 1000}


class AppVisit:
    """A page of the application, with what happened while it was open.

    It is opened in *tab*, which is blank again afterwards: a tab that is new has to read, and compile, the
    libraries first, which takes as long as most tests.
    """

    def __init__(
        self, tab: Any, address: str, color_scheme: str = "light", viewport: dict[str, int] | None = None
    ) -> None:
        self.address = address
        self.page = tab
        self.complaints: list[str] = []
        self._listeners = {
            "console": self._heard,
            "pageerror": lambda error: self.complaints.append(str(error)),
            "dialog": lambda dialog: (self.complaints.append(f"dialog {dialog.message}"), dialog.dismiss()),
            "request": self._asked,
            "response": self._answered,
        }
        tab.emulate_media(color_scheme=color_scheme, media="screen")
        tab.set_viewport_size(viewport or VIEWPORT)
        for event, listener in self._listeners.items():
            tab.on(event, listener)

    def _heard(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(f"{message.type}: {message.text}")

    def _asked(self, request: Any) -> None:
        if not request.url.startswith((self.address, "blob:", "data:")):
            self.complaints.append(f"asked {request.url}")

    def _answered(self, response: Any) -> None:
        if response.status >= 400:
            self.complaints.append(f"{response.status} {response.url}")

    def open(self, query: str = "") -> AppVisit:
        self.page.goto(f"{self.address}/{query}")
        self.ready()
        return self

    def follow(self, link: str) -> None:
        """Click on the tab that leads to *link*, which may be in a menu that is closed."""
        tab = f"[...document.querySelectorAll('#tabs a')].find(tab => tab.getAttribute('href') === {json.dumps(link)})"
        self.page.evaluate(f"{tab}.click()")
        self.until(f"{tab}?.getAttribute('aria-current') === 'page'")
        self.ready()

    def ready(self) -> None:
        """Wait until the page is there and nothing is being updated."""
        self.page.wait_for_selector(READY)
        self.until("!document.querySelector('[data-dash-is-loading=true]')")

    def until(self, expression: str, argument: Any = None, seconds: float = 60) -> None:
        """Wait until the JavaScript *expression* holds; not in the page's own world, where its policy forbids to."""
        end = time.monotonic() + seconds
        while not self.page.evaluate(expression, argument):
            assert time.monotonic() < end, f"{expression} {argument or ''}: {self.text('body')[:2000]}"
            time.sleep(0.06)

    def see_all(self) -> None:
        """Scroll through the page, so that all its parts are made, its figures and grids drawn."""
        made = "place => !document.querySelectorAll('#content .part')[place].querySelector(':scope > .waiting')"
        seen = "place => document.querySelectorAll('#content .part')[place].scrollIntoView({block: 'nearest'})"
        for place in range(self.page.locator("#content .part").count()):
            self.page.evaluate(seen, place)  # Playwright's own wants one that no update takes away meanwhile
            if self.page.locator("#content .part").nth(place).is_visible():
                self.until(made, place)
        self.until(DRAWN)

    def query(self) -> str:
        return urllib.parse.unquote(urllib.parse.urlsplit(self.page.url).query)

    def text(self, selector: str) -> str:
        text: str = self.page.inner_text(selector)
        return text

    def wait_text(self, selector: str, text: str) -> None:
        self.until(
            "([selector, text]) => !!document.querySelector(selector)?.innerText.includes(text)", [selector, text]
        )

    def __enter__(self) -> AppVisit:
        return self

    def __exit__(self, *_: object) -> None:
        for event, listener in self._listeners.items():
            self.page.remove_listener(event, listener)
        self.page.unroute_all()
        self.page.goto("about:blank")


def exported(visit: AppVisit, box: Any, path: Path) -> list[dict[str, str]]:
    """The rows of the table in *box*, from its export as CSV to a file of *path*'s name."""
    with visit.page.expect_download() as download:
        box.get_by_role("button", name="Export as CSV").click()
    assert download.value.suggested_filename == path.name, download.value.suggested_filename
    download.value.save_as(path)
    return list(csv.DictReader(path.read_text(encoding="utf-8-sig").splitlines()))
