"""Where the test directory of a point is: ``path_tpl`` filled in, safe as a path, and different for each point."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath

from ..errors import ConfigError
from ..filters import Scalar, exact
from . import templates
from .expand import Point

LONGEST_NAME = 120


def default_template(points: Sequence[Mapping[str, Scalar]], searched: Iterable[str] = ()) -> str:
    """``{experiment}``, then the settings that vary, then the repeat."""
    values: dict[str, set[tuple[type, Scalar]]] = {}
    for settings in points:
        for name, value in settings.items():
            values.setdefault(name, set()).add((type(value), value))
    everywhere = [name for name in values if all(name in settings for settings in points)]
    varying = [name for name in everywhere if len(values[name]) > 1]
    varying += [name for name in searched if name not in varying]
    steps = [f"{_escaped(name)}_{{{name}}}" for name in varying if "{" not in name and "}" not in name]
    return "/".join(["{experiment}", *steps[:-1], "__".join([*steps[-1:], "repeat_{repeat}"])])


def directory(template: str, point: Point) -> PurePosixPath:
    """The test directory of *point*, relative to the results directory.

    Raises:
        ConfigError: the template names a setting that the point doesn't have, or leads out of the directory.
    """
    names = {name: _safe(value) for name, value in point.all_settings.items()}
    path = PurePosixPath(templates.fill(template, {"experiment": _safe(point.experiment), **names}))
    if path.is_absolute() or ".." in path.parts or not path.parts or any(part.startswith(".") for part in path.parts):
        raise ConfigError(f"path_tpl '{template}' gives '{path}', which is no directory inside the results directory")
    return PurePosixPath(*(_short(part) for part in path.parts))


def check_distinct(template: str, points: Iterable[Point]) -> None:
    """Raise ConfigError where two points would share a directory. All are of one depth: values hold no slashes."""
    seen: dict[PurePosixPath, Point] = {}
    for point in points:
        path = directory(template, point)
        other = seen.setdefault(path, point)
        if other is not point:
            names = [*point.all_settings, *(name for name in other.all_settings if name not in point.all_settings)]
            differing = [n for n in names if point.all_settings.get(n) != other.all_settings.get(n)]
            hint = ", ".join(f"{{{name}}}" for name in differing) or "{experiment}"
            raise ConfigError(f"path_tpl '{template}' gives two points the directory '{path}': add {hint} to it")


def _safe(value: Scalar) -> str:
    """*value* as part of a file name; one that loses more than a separator gets a digest, so that it stays itself."""
    text = exact(value)
    plain = re.sub(r"[/:\s]", "-", text)
    safe = re.sub(r"[^\w.+,=@-]+", "-", plain).strip("-.")
    return safe if safe == plain else f"{safe}-{_digest(text)}".lstrip("-")


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]


def _short(name: str) -> str:
    if len(name.encode()) <= LONGEST_NAME:
        return name
    return f"{name.encode()[: LONGEST_NAME - 9].decode(errors='ignore')}-{_digest(name)}"


def _escaped(name: str) -> str:
    return re.sub(r"[^\w.+,=@-]+", "-", name)
