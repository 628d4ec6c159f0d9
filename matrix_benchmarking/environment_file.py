"""``environment.json`` of a test directory: where a run took place, with which versions, and how to repeat it."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .files import read_regular

ENVIRONMENT_FILE = "environment.json"
_LONGEST_BYTES = 1 << 20


@dataclasses.dataclass(frozen=True, slots=True)
class Environment:
    """What was recorded of a run's circumstances; what wasn't is None or empty.

    Attributes:
        command: the command line that repeats this one run.
        cpu_model, kernel: of the machine that put the load on, and served where the server was local.
        gpus: models of its GPUs.
        versions: by component, such as ``k6`` or ``matbench``.
    """

    command: str | None = None
    cpu_model: str | None = None
    kernel: str | None = None
    gpus: tuple[str, ...] = ()
    versions: Mapping[str, str] = dataclasses.field(default_factory=dict)

    @property
    def host(self) -> str | None:
        """What tells machines apart, as far as it is recorded: names of machines are not. None without any."""
        return ", ".join(filter(None, (self.cpu_model, *self.gpus, self.kernel))) or None


def read_environment(location: Path) -> Environment:
    """The environment of the test directory *location*, leniently: it may come from a stranger, or be absent."""
    try:
        content = json.loads(read_regular(location / ENVIRONMENT_FILE, _LONGEST_BYTES))
    except (OSError, ValueError, RecursionError):
        return Environment()
    return parse(content)


def parse(content: Any) -> Environment:
    """The environment in the decoded file; parts of another form than expected are left out."""
    if not isinstance(content, dict):
        return Environment()
    gpus, versions = content.get("gpus"), content.get("versions")
    models = [gpu.get("model") for gpu in gpus if isinstance(gpu, dict)] if isinstance(gpus, list) else []
    named = versions.items() if isinstance(versions, dict) else ()
    return Environment(
        command=_text(content.get("command")),
        cpu_model=_text(content.get("cpu_model")),
        kernel=_text(content.get("kernel")),
        gpus=tuple(model for model in models if isinstance(model, str)),
        versions={name: str(version) for name, version in named if isinstance(version, (str, int, float))},
    )


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
