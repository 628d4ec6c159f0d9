"""A page in a browser, with what happened while it was open."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any


class Visit:
    """Opens *path*; *complaints* are what its console, its dialogs and its failed requests say."""

    def __init__(self, browser: Any, path: Path, **options: Any) -> None:
        self.context = browser.new_context(**options)
        self.page = self.context.new_page()
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.complaints.append(f"{message.type}: {message.text}"))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", self._on_dialog)
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("requestfailed", lambda request: self.complaints.append(f"failed: {request.url}"))
        self.open(path)

    def open(self, path: Path) -> None:
        """Go on to another page."""
        self.page.goto(path.as_uri())
        self.page.wait_for_load_state("load")

    def until(self, expression: str, argument: object = None, seconds: float = 30.0) -> None:
        """Wait until *expression* is true; the page's policy forbids what Playwright's own waiting does in it."""
        deadline = time.monotonic() + seconds
        while not self.page.evaluate(expression, argument):
            assert time.monotonic() < deadline, f"{expression} did not become true"
            self.page.wait_for_timeout(50)

    def _on_dialog(self, dialog: Any) -> None:
        self.complaints.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def __enter__(self) -> Visit:
        return self

    def __exit__(self, *_: object) -> None:
        self.context.close()


def walk(browser: Any, paths: Iterable[Path], **options: Any) -> Iterator[tuple[Path, Visit]]:
    """Each of the pages in turn, in one window: a window of its own costs as much as a page."""
    first, *others = paths
    with Visit(browser, first, **options) as visit:
        yield first, visit
        for path in others:
            visit.open(path)
            yield path, visit
