"""YAML that a person writes, read so that an error can name its line, and so that no text can end the process."""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import Any

import msgspec
import yaml

from .errors import ConfigError, os_reason

_LONG, _DEEPEST, _MOST_MERGED = 4096, 200, 10_000
# Of YAML 1.1 without its octal numbers and those to the base of 60: 010 is no 8, nor 22:04 a 1324.
_NUMBERS = {
    "tag:yaml.org,2002:int": re.compile(r"[-+]?(?:0b[01_]+|0x[0-9a-fA-F_]+|0|[1-9][0-9_]*)$"),
    "tag:yaml.org,2002:float": re.compile(
        r"(?:[-+]?[0-9][0-9_]*\.[0-9_]*(?:[eE][-+][0-9]+)?|\.[0-9][0-9_]*(?:[eE][-+][0-9]+)?"
        r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$"
    ),
}
_TIMESTAMP, _MERGE = "tag:yaml.org,2002:timestamp", "tag:yaml.org,2002:merge"


class BrokenYaml(ValueError):
    """A text that is no YAML document that can be read.

    Attributes:
        reason: what is wrong.
        line: where, from 1; None where that is not known.
    """

    def __init__(self, reason: str, line: int | None = None) -> None:
        super().__init__(f"not valid YAML{'' if line is None else f' in line {line}'}: {reason}")
        self.reason, self.line = reason, line


class RepeatedKey(yaml.MarkedYAMLError):
    """A key that is in one mapping twice, of which YAML would take the last."""


@functools.cache
def yaml_loader() -> type[Any]:
    """PyYAML's safe C loader, which leaves dates, times and 010 as the text that they are, and refuses a key twice."""
    base: type[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    resolvers = {
        first: [(tag, _NUMBERS.get(tag, pattern)) for tag, pattern in candidates if tag != _TIMESTAMP]
        for first, candidates in base.yaml_implicit_resolvers.items()
    }

    def construct_mapping(loader: Any, node: yaml.Node, deep: bool = False) -> Any:
        _refuse_repeated_keys(node)
        return base.construct_mapping(loader, node, deep=deep)

    def flatten_mapping(loader: Any, node: yaml.MappingNode) -> None:
        merges = any(is_merge(key) for key, _ in node.value)
        base.flatten_mapping(loader, node)
        if merges and len(node.value) > _MOST_MERGED:
            raise yaml.MarkedYAMLError(problem="merges (<<) make it too large", problem_mark=node.start_mark)

    members = {"construct_mapping": construct_mapping, "flatten_mapping": flatten_mapping}
    return type("Loader", (base,), {"yaml_implicit_resolvers": resolvers, **members})


def is_merge(key: yaml.Node) -> bool:
    """True for the key ``<<`` without quotes, which merges other mappings into its own."""
    return key.tag == _MERGE


def _refuse_repeated_keys(node: yaml.Node) -> None:
    """Raise RepeatedKey, as PyYAML's constructors are called: before merged mappings are filled in."""
    if not isinstance(node, yaml.MappingNode):
        return
    lines: dict[str, int] = {}
    for key, _ in node.value:
        if isinstance(key, yaml.ScalarNode) and not is_merge(key):
            if key.value in lines:
                reason = f"'{key.value}' is here twice, the first in line {lines[key.value]}"
                raise RepeatedKey(problem=reason, problem_mark=key.start_mark)
            lines[key.value] = key.start_mark.line + 1


class YamlFile(msgspec.Struct, frozen=True):
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
    try:
        node, content = _load(text, yaml_loader())
    except BrokenYaml as error:
        where = path if error.line is None else f"{path}:{error.line}"
        what = "" if isinstance(error.__cause__, RepeatedKey) else "broken YAML: "
        raise ConfigError(f"{where}: {what}{error.reason}") from error
    if content is None:
        content = {}
    if not isinstance(content, dict):
        line = node.start_mark.line + 1 if node else 1
        raise ConfigError(f"{path}:{line}: expected a mapping (key: value), not a {type(content).__name__}")
    return YamlFile(path, content, node)


def load_yaml(text: str | bytes, loader: type[Any] | None = None) -> Any:
    """The YAML document in *text*, read safely.

    Raises:
        BrokenYaml: a ValueError that is a sentence on what is wrong; a key that is in one mapping twice, too.
    """
    return _load(text, loader or yaml_loader())[1]


def _load(text: str | bytes, loader_type: type[Any]) -> tuple[yaml.Node | None, Any]:
    if len(text) > _LONG:
        _check_nesting(text)
    try:
        loader = loader_type(text)
        try:
            node = loader.get_single_node()
            return node, loader.construct_document(node) if node is not None else None
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise BrokenYaml(error.problem or error.context or "broken", mark.line + 1 if mark else None) from error
    except BrokenYaml:
        raise
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise BrokenYaml((str(error).splitlines() or [type(error).__name__])[0][:200]) from error
    except (KeyError, IndexError, AttributeError, TypeError) as error:  # of PyYAML's constructors
        raise BrokenYaml("a value is not of the kind that its tag names") from error


def _check_nesting(text: str | bytes) -> None:
    """Refuse a document that would overflow the stack of libyaml's recursive composer."""
    depth = 0
    try:
        for event in yaml.parse(text, yaml_loader()):
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
                if depth > _DEEPEST:
                    raise BrokenYaml(
                        f"nested more than {_DEEPEST} deep", event.start_mark.line + 1 if event.start_mark else None
                    )
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
    except yaml.YAMLError:
        return  # loading says what is wrong
