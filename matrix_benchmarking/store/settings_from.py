"""Settings that the names of directories and files say, by a pattern: ``results/{hw_type}/{engine}-{version}``."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePath

from ..errors import ConfigError
from ..filters import Scalar
from ..settings import read_key_values

PATTERN = "settings_from"
"""The name of the option that holds the pattern, beside those of the workload."""

_PLACE = re.compile(r"\{(\w*)\}")


@functools.cache
def steps(pattern: str) -> Sequence[re.Pattern[str]]:
    """What each directory of *pattern* looks like, with a group for each setting; ``{}`` stands for any text.

    Raises:
        ConfigError: it names no setting, one twice, or has braces that don't name one.
    """
    names = [name for name in _PLACE.findall(pattern) if name]
    wrong = None
    if not names:
        wrong = "names no setting: write {NAME} where one stands, as in results/{hw_type}/{engine}-{version}"
    elif len(set(names)) < len(names):
        wrong = f"names {max(names, key=names.count)} twice"
    elif "{" in _PLACE.sub("", pattern) or "}" in _PLACE.sub("", pattern) or any(name[0].isdigit() for name in names):
        wrong = "has braces that hold no name"
    if wrong:
        raise ConfigError(f"--settings-from '{pattern}' {wrong}")
    return [re.compile(_expression(step)) for step in pattern.split("/") if step not in ("", ".")]


def _expression(step: str) -> str:
    pieces = _PLACE.split(step)
    texts, names = map(re.escape, pieces[::2]), pieces[1::2]
    groups = [f"(?P<{name}>.+?)" if name else ".+?" for name in names] + [""]
    return "".join(text + group for text, group in zip(texts, groups, strict=True))


def settings_from(pattern: str, root: Path, test: Path, *, is_file: bool) -> dict[str, Scalar] | None:
    """The settings in the path of *test* below the results directory *root*; None if it doesn't match.

    The pattern may begin at any directory, the first that fits counts, and at the root's own name where none does; a
    file goes without its suffix, or else with it. Values have the types of ``key=value`` lines.
    """
    *above, last = [root.name, *test.relative_to(root).parts]
    ways = [PurePath(last).stem, last] if is_file else [last]
    return next((found for way in ways for found in matches(pattern, [*above, way])), None)


def matches(pattern: str, names: Sequence[str]) -> Iterator[dict[str, Scalar]]:
    """The settings wherever the pattern fits some of *names*, the first of which is looked at last."""
    expressions = steps(pattern)
    for start in (*range(1, len(names) - len(expressions) + 1), 0):
        fits = [each.fullmatch(name) for each, name in zip(expressions, names[start:], strict=False)]
        if len(fits) == len(expressions) and all(fits):
            found = {name: text for match in fits if match is not None for name, text in match.groupdict().items()}
            yield {name: _value(name, text) for name, text in found.items()}


def _value(name: str, text: str) -> Scalar:
    """*text* with the type of its ``key=value`` line; a version, and a number that would lose a digit, stay texts."""
    value = read_key_values(f"value={text}")["value"]
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return text if is_number and (name.endswith("version") or str(value) != text) else value
