"""Order of file names: numbers inside a name by their size, so that ``9__run`` comes before ``10__run``."""

from __future__ import annotations

import functools
import re

_NUMBERS = re.compile(r"([0-9]+)")


@functools.lru_cache(maxsize=65536)
def natural(name: str) -> tuple[tuple[int, int, str], ...]:
    """A sorting key for *name*; names that differ at all have different keys."""
    parts = [
        (0, int(part), part) if part.isascii() and part.isdigit() else (1, 0, part)
        for part in _NUMBERS.split(name)
        if part
    ]
    return tuple(parts)
