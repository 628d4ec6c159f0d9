"""A target that is already running somewhere: nothing to start, nothing to stop."""

from __future__ import annotations

import os
import urllib.parse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from .. import schema
from .base import Endpoint, TargetError

TIMEOUT_S = 10.0


class UrlTarget:
    """A server at a URL.

    Args:
        spec: the file's description, its settings filled in.
    """

    paid = False

    def __init__(self, spec: schema.UrlTarget) -> None:
        self._spec = spec

    def start(self, log: Path, keep_on: Callable[[], None]) -> Endpoint:
        url = _checked(self._spec.url)
        headers = bearer(self._spec.api_key_env)
        keep_on()
        _reach(url, headers)
        return Endpoint(url=url, headers=headers, description={"kind": "url"})

    def check(self) -> None:
        """Whether it still answers shows in the load."""

    def process_ids(self) -> Sequence[int]:
        return ()

    def stop(self) -> None:
        """It was running before, and goes on."""


def bearer(variable: str | None) -> dict[str, str]:
    """The header with the key that the environment *variable* holds; none where no variable is named.

    Raises:
        TargetError: it is not set.
    """
    if variable is None:
        return {}
    key = os.environ.get(variable, "").strip()
    if not key:
        raise TargetError(f"the environment variable {variable}, which should hold the server's key, is not set")
    return {"Authorization": f"Bearer {key}"}


def _checked(url: str) -> str:
    try:
        parts = urllib.parse.urlsplit(url)
        has_credentials, host = "@" in parts.netloc, parts.hostname
    except ValueError as error:
        raise TargetError(f"the target's url is no URL: {error}") from error
    if has_credentials:
        raise TargetError("the target's url holds credentials: put the key in an environment variable, api_key_env")
    if parts.scheme not in ("http", "https") or not host:
        raise TargetError(f"the target's url '{url}' is not of the form http://host:port")
    return url.rstrip("/")


def _reach(url: str, headers: dict[str, str]) -> None:
    """Make sure that something speaks HTTP there; any status will do."""
    import httpx

    reason: Any
    try:
        httpx.get(url, headers=headers, timeout=TIMEOUT_S, trust_env=False)
    except httpx.TimeoutException:
        reason = f"no answer within {TIMEOUT_S:.0f} s"
    except httpx.HTTPError as error:
        reason = str(error) or type(error).__name__
    else:
        return
    raise TargetError(f"{url} can't be reached: {reason}")
