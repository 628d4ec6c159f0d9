"""A YAML file that a person writes, read so that an error can name its line."""

from __future__ import annotations

import dataclasses
import functools
from pathlib import Path
from typing import Any

import yaml

from .errors import ConfigError, os_reason

_TIMESTAMP = "tag:yaml.org,2002:timestamp"


@functools.cache
def yaml_loader() -> type[Any]:
    """PyYAML's safe C loader, which leaves dates as the text that they are in the file."""
    base: type[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    resolvers = {
        first: [(tag, pattern) for tag, pattern in candidates if tag != _TIMESTAMP]
        for first, candidates in base.yaml_implicit_resolvers.items()
    }
    return type("Loader", (base,), {"yaml_implicit_resolvers": resolvers})


@dataclasses.dataclass(frozen=True, slots=True)
class YamlFile:
    """The content of a file, which is a mapping, and where its keys stand."""

    path: Path
    content: dict[Any, Any]
    node: yaml.Node | None

    def line(self, keys: tuple[str | int, ...]) -> int:
        """Line (from 1) of the deepest of *keys*, each inside the one before, that is in the file."""
        here, line = self.node, 1
        for key in keys:
            if not isinstance(here, yaml.MappingNode):
                break
            for name, value in here.value:
                if name.value == key:
                    here, line = value, name.start_mark.line + 1
                    break
            else:
                break
        return line


def read(path: Path) -> YamlFile:
    """Read *path*; an empty file is an empty mapping.

    Raises:
        ConfigError: it can't be read, is broken, holds a key twice, or is no mapping.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {os_reason(error)}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is not UTF-8 text: {error.reason} at byte {error.start}") from error
    node, content = _load(path, text)
    if content is None:
        content = {}
    if not isinstance(content, dict):
        line = node.start_mark.line + 1 if node else 1
        raise ConfigError(f"{path}:{line}: expected a mapping (key: value), not a {type(content).__name__}")
    _refuse_repeated_keys(path, node, set())
    return YamlFile(path, content, node)


def _load(path: Path, text: str) -> tuple[yaml.Node | None, Any]:
    try:
        loader = yaml_loader()(text)
        try:
            node = loader.get_single_node()
            return node, loader.construct_document(node) if node is not None else None
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        raise ConfigError(f"{path}:{line}: broken YAML: {error.problem or error.context}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: broken YAML: {error}") from error


def _refuse_repeated_keys(path: Path, node: yaml.Node | None, seen: set[int]) -> None:
    if node is None or id(node) in seen:
        return
    seen.add(id(node))
    if isinstance(node, yaml.SequenceNode):
        for item in node.value:
            _refuse_repeated_keys(path, item, seen)
    if isinstance(node, yaml.MappingNode):
        lines: dict[str, int] = {}
        for key, value in node.value:
            line = key.start_mark.line + 1
            if isinstance(key, yaml.ScalarNode) and key.value != "<<":
                if key.value in lines:
                    raise ConfigError(
                        f"{path}:{line}: '{key.value}' is here twice, the first in line {lines[key.value]}"
                    )
                lines[key.value] = line
            _refuse_repeated_keys(path, value, seen)
