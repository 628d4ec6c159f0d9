"""``block.json`` of a test directory: which other runs a run was measured together with."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

from .errors import os_reason
from .files import read_regular

BLOCK_FILE = "block.json"
VERSION = 1
LONGEST_CAMPAIGN = 200
LARGEST_ROUND = 2**31
_LONGEST_BYTES = 1 << 12


@dataclasses.dataclass(frozen=True, slots=True)
class RecordedBlock:
    """What a benchmark recorded of the block of a run; None where it recorded nothing.

    Attributes:
        campaign: id of the start of a benchmark, on one host; one that goes on with an interrupted one is another.
        round: which pass over the points of an interleaved campaign, from 1; None where it wasn't interleaved.
    """

    campaign: str | None = None
    round: int | None = None


def read_block(location: Path) -> tuple[RecordedBlock, str | None]:
    """The block of the test directory *location*, and what is wrong with its record; a run may be without one."""
    try:
        content = json.loads(read_regular(f"{location}/{BLOCK_FILE}", _LONGEST_BYTES))
    except (FileNotFoundError, NotADirectoryError):  # a run may be one file
        return RecordedBlock(), None
    except OSError as error:
        return RecordedBlock(), f"can't be read: {os_reason(error)}"
    except (ValueError, RecursionError):
        return RecordedBlock(), "is no record of a campaign and a round"
    if not isinstance(content, dict) or content.get("version") != VERSION:
        return RecordedBlock(), f"is no record of a campaign and a round in version {VERSION}"
    block = parse(content)
    if block.campaign is None:
        return block, "names no campaign"
    wrong = block.round is None and content.get("round") is not None
    return block, "its round is no positive number" if wrong else None


def parse(fields: dict[str, Any]) -> RecordedBlock:
    """The block that a decoded file, or the metadata of a payload, tells of; nothing where it is of another form."""
    campaign, number = fields.get("campaign"), fields.get("round")
    if not isinstance(campaign, str) or not 0 < len(campaign) <= LONGEST_CAMPAIGN:
        return RecordedBlock()
    is_round = type(number) is int and 0 < number <= LARGEST_ROUND
    return RecordedBlock(campaign, number if is_round else None)
