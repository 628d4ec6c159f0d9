"""One row of the table that says how right the answers are."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping


@dataclasses.dataclass(frozen=True, slots=True)
class Row:
    """A figure that was measured beside what it has to be.

    Attributes:
        question: best, limit, pair, history or search.
        case: what was simulated.
        figure: what came of it.
        before: the same figure before one judge answered all questions, where it is known.
        to_reach: what the figure has to be; empty for what is only printed beside.
        reached: is it? None where there is nothing to reach.
        peers: what others make of the same draws, or of some of them, by their names.
    """

    question: str
    case: str
    figure: str
    before: str = ""
    to_reach: str = ""
    reached: bool | None = None
    peers: Mapping[str, str] = dataclasses.field(default_factory=dict)
