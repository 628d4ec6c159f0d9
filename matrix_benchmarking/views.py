"""Views that are kept: a file of their own, which the configuration names and the application may write."""

from __future__ import annotations

import threading
from pathlib import Path

import pydantic
import yaml

from . import yaml_file
from .config import BLOCK, View
from .errors import ConfigError
from .files import atomic_write
from .validation import dotted, mismatches

_KEEPING = threading.Lock()
MOST_VIEWS, LONGEST_NAME = 200, 80


def keep(path: Path, name: str, block: str) -> str:
    """Keep the only view of *block*, as a page shows it, under *name* in the file *path*; gives a sentence.

    Raises:
        ConfigError: the name is none, is there already, or the block is no view.
    """
    if not name or len(name) > LONGEST_NAME or not name.isprintable():
        raise ConfigError(f"a view needs a name of at most {LONGEST_NAME} characters")
    try:
        ((_, view),) = yaml_file.load_yaml(block)[BLOCK]["views"].items()
    except (yaml.YAMLError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise ConfigError("this is no view that could be kept") from error
    try:
        View.model_validate(view)
    except pydantic.ValidationError as error:
        raise ConfigError("\n".join(f"{dotted(one.path)}: {one.reason}" for one in mismatches(error, view))) from error
    with _KEEPING:
        content = yaml_file.read(path).content if path.exists() else {}
        views = content.setdefault(BLOCK, {}).setdefault("views", {})
        if name in views or len(views) >= MOST_VIEWS:
            raise ConfigError(
                f"there is a view '{name}' already" if name in views else f"{path} has {MOST_VIEWS} views"
            )
        views[name] = view
        with atomic_write(path) as stream:
            stream.write(yaml.safe_dump(content, allow_unicode=True, sort_keys=False).encode())
    return f"Kept as '{name}' in {path}; it is a page now."
