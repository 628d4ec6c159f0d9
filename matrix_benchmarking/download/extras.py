"""The libraries of the ``remote`` extra: imported where they are used, and what to do where they are missing."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from ..errors import DownloadError


@contextlib.contextmanager
def needed(library: str, address: str) -> Iterator[None]:
    """Turn the failing import of *library*, which *address* needs, into a sentence that says how to get it."""
    try:
        yield
    except ImportError as error:
        missing = error.name or library
        raise DownloadError(f"{address} needs {missing}: pip install 'matrix-benchmarking[remote]'") from error
