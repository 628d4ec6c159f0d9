"""Directory listings of web servers: the HTML or JSON text in, the names in that directory out.

A listing is only believed about its own directory: links to anywhere else are passed over.
"""

from __future__ import annotations

import dataclasses
import email.utils
import html
import json
import re
import urllib.parse
from collections.abc import Iterator
from typing import Any

from ..errors import DownloadError
from .source import Directory, File, join, unsafe

# The bound on what stands before href keeps this linear for any text.
_LINK = re.compile(r"<a\s[^<>]{0,400}?\bhref\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s>]+))", re.IGNORECASE)
_DEFAULT_PORTS = {"http": 80, "https": 443}


def parse_html(text: str, url: str, directory: str) -> Directory:
    """What the links of an index page at *url* say about *directory*: nginx, Apache, Python's http.server.

    Sort links (``?C=N``), the parent directory, other hosts and deeper paths are passed over.
    """
    found: dict[str, bool] = {}
    for link in _LINK.finditer(text):
        child = _child(html.unescape(link[1] or link[2] or link[3] or ""), url)
        if child is not None:
            found[child[0]] = found.get(child[0], False) or child[1]
    return _directory(directory, ((File(name), is_directory) for name, is_directory in found.items()))


def parse_json(text: str, directory: str) -> Directory:
    """What nginx's ``autoindex_format json`` says about *directory*.

    Raises:
        DownloadError: it is not of that format.
    """
    try:
        rows = json.loads(text)
    except (ValueError, RecursionError):
        rows = None
    if not isinstance(rows, list) or not all(
        isinstance(row, dict) and isinstance(row.get("name"), str) for row in rows
    ):
        raise DownloadError("its JSON is not a directory listing")
    return _directory(directory, ((_described(row), row.get("type") == "directory") for row in rows))


def _described(row: dict[str, Any]) -> File:
    size, mtime = row.get("size"), row.get("mtime")
    known = isinstance(size, int) and not isinstance(size, bool) and size >= 0
    return File(row["name"], size if known else None, mtime_ns=http_time_ns(mtime))


def http_time_ns(text: object) -> int | None:
    """An HTTP date in nanoseconds since 1970; None where there is none."""
    if not isinstance(text, str):
        return None
    try:
        return int(email.utils.parsedate_to_datetime(text).timestamp()) * 10**9
    except (ValueError, TypeError, OverflowError):
        return None


def _child(link: str, url: str) -> tuple[str, bool] | None:
    """Name of what *link* leads to, if that is in the directory at *url*, and whether it is a directory."""
    try:
        target, base = urllib.parse.urlsplit(urllib.parse.urljoin(url, link.strip())), urllib.parse.urlsplit(url)
        here = origin(target) == origin(base)
    except ValueError:
        return None
    if not here or target.query or not target.path.startswith(base.path):
        return None
    rest = target.path[len(base.path) :]
    segment, slash, beyond = rest.partition("/")
    if not segment or beyond:
        return None
    return urllib.parse.unquote(segment, errors="surrogateescape"), bool(slash)


def origin(url: urllib.parse.SplitResult) -> tuple[str, str | None, int | None]:
    """Scheme, host and port, by which two URLs are on the same server."""
    return url.scheme, url.hostname, url.port or _DEFAULT_PORTS.get(url.scheme)


def _directory(directory: str, rows: Iterator[tuple[File, bool]]) -> Directory:
    content = Directory()
    for file, is_directory in rows:
        reason = "its name has a slash" if "/" in file.name else unsafe(file.name)
        named = dataclasses.replace(file, name=join(directory, file.name))
        content.add(named, is_directory=is_directory, reason=reason)
    return content
