"""What a point is measured with, as digests by name, by which a later plan knows that a run was measured otherwise.

Digests, since an environment may hold secrets. What has its default has none, so that later versions may add fields.
"""

from __future__ import annotations

import collections
import contextlib
import functools
import hashlib
import json
import os
import re
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..config import Section
from .environment import without_path
from .targets import cores

CONTENT = "content of "
LARGEST_BYTES = 256 << 20
"""Of a larger file the size alone is looked at."""

# What says nothing of how a point is measured: when to give up, what to look at, whose key, what it costs.
_ASIDE_OF_TARGET = {
    "usd_per_hour": True,
    "url": {"api_key_env"},
    "process": {"port", "host", "ready", "ready_timeout_s", "stop_timeout_s", "versions"},
    "hf_endpoint": {"token_env", "ready_timeout_s", "scale_to_zero_timeout", "finally_"},
    "existing_hf_endpoint": {"token_env", "ready_timeout_s"},
}


def of_section(section: Section, prefix: str, place: Path | None, since_ns: float) -> dict[str, str]:
    """Digests of a *section*'s values, its settings filled in, and of the files below *place* that these name, but for
    those that have changed since *since_ns*."""
    aside: Any = _ASIDE_OF_TARGET if prefix == "target" else getattr(section, "aside", set())
    content = section.model_dump(mode="json", by_alias=True, exclude_defaults=True, exclude=aside)
    found, contents = dict[str, str](), collections.defaultdict[str, set[str]](set)  # several may be called alike
    for name, value in _leaves(content, prefix):
        found[name.replace(".url.url", ".url")] = _digest(_text(name, value))
        for word in _words(value) if not name.endswith("directory") else ():
            path = word if place is None else os.path.join(place, word)
            may_be_directory = word == value and ".env" not in name  # an environment's are mostly caches
            if os.path.isabs(path) and (known := _content(path, may_be_directory, since_ns)):
                contents[f"{CONTENT}{without_path(word)}"].add(known)
    return found | {name: " ".join(sorted(digests)) for name, digests in contents.items()}


def differing(then: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """The names of what was measured with something else; of a file that is in one alone nothing can be told."""
    both = then.keys() & now.keys()
    names = (name for name in then.keys() | now.keys() if name in both or not name.startswith(CONTENT))
    return sorted(name for name in names if then.get(name) != now.get(name))


def _leaves(value: Any, name: str) -> Iterator[tuple[str, Any]]:
    if not isinstance(value, Mapping):
        yield name, value
        return
    for key, item in value.items():
        yield from _leaves(item, f"{name}.{key}".lstrip("."))


def _text(name: str, value: Any) -> str:
    """*value* as a text that is the same for what means the same: a command as a line or in words, in another place."""
    if name.endswith("cpus"):
        value = cores(value)
    is_words = isinstance(value, list) and all(isinstance(word, str) for word in value)
    text = " ".join(value) if is_words else value if isinstance(value, str) else json.dumps(value)
    return without_path(" ".join(filter(None, re.split(r"[\s'\"]+", text))))


def _words(value: Any) -> Iterator[str]:
    """What may be the names of files in *value*."""
    if isinstance(value, str | list):
        for word in value if isinstance(value, list) else {value, *value.split()}:
            yield from filter(None, {part.strip("'\"();|&<>") for part in (str(word), str(word).rpartition("=")[2])})


def _content(path: str, may_be_directory: bool, since_ns: float) -> str | None:
    """A digest of the file, or of the directory's names and sizes; None for neither."""
    with contextlib.suppress(OSError, ValueError):  # a word that can't be a file's name
        status = os.stat(path)
        is_one = stat.S_ISREG(status.st_mode) or (may_be_directory and stat.S_ISDIR(status.st_mode))
        if is_one and status.st_ctime_ns < since_ns and not path.startswith(("/proc/", "/sys/")):
            return _read(path, status.st_size, status.st_mtime_ns)
    return None


@functools.lru_cache(4096)
def _read(path: str, size: int, mtime_ns: int) -> str:
    if os.path.isdir(path):
        files = sorted(each for each in Path(path).rglob("*") if each.is_file())
        return _digest("\n".join(f"{each.relative_to(path)} {each.stat().st_size}" for each in files))
    return f"{size} bytes" if size > LARGEST_BYTES else _digest(Path(path).read_bytes())


def _digest(content: str | bytes) -> str:
    content = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
    return hashlib.blake2b(content, digest_size=5).hexdigest()
