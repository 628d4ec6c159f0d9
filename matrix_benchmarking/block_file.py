"""``block.json`` of a test directory: which other runs a run was measured together with."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

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


def read_block(location: Path) -> RecordedBlock:
    """The block of the test directory *location*, leniently: it may come from a stranger, or be absent."""
    try:
        content = json.loads(read_regular(location / BLOCK_FILE, _LONGEST_BYTES))
    except (OSError, ValueError, RecursionError):
        return RecordedBlock()
    return parse(content) if isinstance(content, dict) and content.get("version") == VERSION else RecordedBlock()


def parse(fields: dict[str, Any]) -> RecordedBlock:
    """The block that a decoded file, or the metadata of a payload, tells of; nothing where it is of another form."""
    campaign, number = fields.get("campaign"), fields.get("round")
    if not isinstance(campaign, str) or not 0 < len(campaign) <= LONGEST_CAMPAIGN:
        return RecordedBlock()
    is_round = type(number) is int and 0 < number <= LARGEST_ROUND
    return RecordedBlock(campaign, number if is_round else None)
