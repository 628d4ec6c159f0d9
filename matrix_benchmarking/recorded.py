"""What is recorded of a run in its test directory, beside settings and artifacts.

``environment.json``: where it took place, with which versions, and how to repeat it; ``block.json``: with which other
runs it was measured together. Both are read leniently: they may come from a stranger, or be absent.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from .errors import os_reason
from .files import read_regular

ENVIRONMENT_FILE, BLOCK_FILE = "environment.json", "block.json"
VERSION = 1
"""Of the block's record."""
LONGEST_CAMPAIGN, LARGEST_ROUND = 200, 2**31
_LONGEST_ENVIRONMENT, _LONGEST_BLOCK = 1 << 20, 1 << 12
_HIGHEST = 8
"""How many directories above a file its test directory is looked for."""


class Environment(msgspec.Struct, frozen=True):
    """What was recorded of a run's circumstances; what wasn't is None or empty.

    Attributes:
        command: the command line that repeats this one run.
        cpu_model, cores, kernel: of the machine that put the load on, and served where the server was local.
        gpus: models of its GPUs.
        versions: by component, such as ``k6``, ``matbench`` or ``GPU driver``.
        power_limits: of its GPUs, in W, where they are told.
    """

    command: str | None = None
    cpu_model: str | None = None
    kernel: str | None = None
    gpus: tuple[str, ...] = ()
    versions: Mapping[str, str] = msgspec.field(default_factory=dict)
    power_limits: tuple[float, ...] = ()
    cores: int | None = None

    @property
    def host(self) -> str | None:
        """What tells machines apart, as far as it is recorded: names of machines are not. None without any."""
        cores = None if self.cores is None else f"{self.cores} cores"
        return ", ".join(filter(None, (self.cpu_model, cores, *self.gpus, self.kernel))) or None


def read_environment(location: Path) -> Environment:
    """The environment of the test directory *location*, leniently: it may come from a stranger, or be absent.

    Of a file, which a tool left in a test directory, the nearest one above it.
    """
    try:
        content = json.loads(read_regular(f"{location}/{ENVIRONMENT_FILE}", _LONGEST_ENVIRONMENT))
    except NotADirectoryError:
        above = itertools.islice(location.parents, _HIGHEST)
        run = next((each for each in above if (each / ENVIRONMENT_FILE).is_file()), None)
        return Environment() if run is None else read_environment(run)
    except (OSError, ValueError, RecursionError):
        return Environment()
    return parse_environment(content)


def parse_environment(content: Any) -> Environment:
    """The environment in the decoded file; parts of another form than expected are left out."""
    if not isinstance(content, dict):
        return Environment()
    listed, versions = content.get("gpus"), content.get("versions")
    gpus = [gpu for gpu in listed if isinstance(gpu, dict)] if isinstance(listed, list) else []
    named = dict(versions) if isinstance(versions, dict) else {}
    named |= {"GPU driver": driver} if (driver := next((_text(gpu.get("driver")) for gpu in gpus), None)) else {}
    return Environment(
        command=_text(content.get("command")),
        cpu_model=_text(content.get("cpu_model")),
        cores=cores if type(cores := content.get("cores")) is int and cores > 0 else None,
        kernel=_text(content.get("kernel")),
        gpus=tuple(model for gpu in gpus if isinstance(model := gpu.get("model"), str)),
        versions={name: str(version) for name, version in named.items() if isinstance(version, (str, int, float))},
        power_limits=tuple(watts for gpu in gpus if isinstance(watts := gpu.get("power_limit_watts"), float)),
    )


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


class RecordedBlock(msgspec.Struct, frozen=True):
    """What a benchmark recorded of the block of a run; None where it recorded nothing.

    Attributes:
        campaign: id of the start of a benchmark, on one host; one that goes on with an interrupted one is another.
        round: which pass over the points of an interleaved campaign, from 1; None where it wasn't interleaved.
        host: the machine, as far as it was recorded: see :attr:`.Environment.host`.
    """

    campaign: str | None = None
    round: int | None = None
    host: str | None = None


def read_block(location: Path) -> tuple[RecordedBlock, str | None]:
    """The block of the test directory *location*, and what is wrong with its record; a run may be without one."""
    block, wrong = _read_block(location)
    return msgspec.structs.replace(block, host=read_environment(location).host), wrong


def _read_block(location: Path) -> tuple[RecordedBlock, str | None]:
    try:
        content = json.loads(read_regular(f"{location}/{BLOCK_FILE}", _LONGEST_BLOCK))
    except (FileNotFoundError, NotADirectoryError):  # a run may be one file
        return RecordedBlock(), None
    except OSError as error:
        return RecordedBlock(), f"can't be read: {os_reason(error)}"
    except (ValueError, RecursionError):
        return RecordedBlock(), "is no record of a campaign and a round"
    if not isinstance(content, dict) or content.get("version") != VERSION:
        return RecordedBlock(), f"is no record of a campaign and a round in version {VERSION}"
    block = parse_block(content)
    if block.campaign is None:
        return block, "names no campaign"
    wrong = block.round is None and content.get("round") is not None
    return block, "its round is no positive number" if wrong else None


def parse_block(fields: dict[str, Any]) -> RecordedBlock:
    """The block that a decoded file, or the metadata of a payload, tells of; nothing where it is of another form."""
    campaign, number = fields.get("campaign"), fields.get("round")
    if not isinstance(campaign, str) or not 0 < len(campaign) <= LONGEST_CAMPAIGN:
        return RecordedBlock()
    is_round = type(number) is int and 0 < number <= LARGEST_ROUND
    return RecordedBlock(campaign, number if is_round else None)
