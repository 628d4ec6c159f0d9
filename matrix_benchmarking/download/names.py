"""Names of remote files: which may become files of the destination, since a tree may come from a stranger."""

from __future__ import annotations

OWN_DIRECTORY = ".matbench"
"""Directory at the root of a results tree in which matbench keeps books; never fetched."""

MAX_SEGMENT_BYTES, MAX_NAME_BYTES, MAX_DEPTH = 255, 3000, 50


def unsafe(name: str) -> str | None:
    """Why the relative *name*, of segments joined by ``/``, may not become a file; None where it may."""
    segments = name.split("/")
    if ".." in segments or name.startswith("/"):
        return "its name leads out of the destination"
    if "" in segments or "." in segments:
        return "its name has an empty part"
    if "\\" in name:
        return "its name has a backslash"
    try:
        lengths = [len(segment.encode("utf-8")) for segment in segments]
    except UnicodeEncodeError:
        return "its name is not UTF-8"
    if any(not char.isprintable() for char in name):
        return "its name has control characters"
    if max(lengths) > MAX_SEGMENT_BYTES or sum(lengths) + len(lengths) > MAX_NAME_BYTES:
        return "its name is too long"
    return f"it is more than {MAX_DEPTH} directories deep" if len(segments) > MAX_DEPTH else None


def join(directory: str, name: str) -> str:
    """*name* in *directory*, which is empty for the root."""
    return f"{directory}/{name}" if directory else name


def shown(name: str) -> str:
    """*name* for a sentence, cut where it is very long."""
    return repr(name if len(name) <= 120 else f"{name[:117]}…")
