"""What can go wrong with a history, as sentences for people."""

from __future__ import annotations

from ..errors import MatbenchError


class HistoryError(MatbenchError):
    """A history that can't be opened, read or written."""


class UnavailableError(HistoryError):
    """The history's server is away, refuses us or gave up in the middle: what it didn't acknowledge can be sent later.

    Attributes:
        acknowledged: how many of the records, in their order, are dealt with.
        not_kept: the ids of those among them that were refused, or are in conflict.
    """

    def __init__(self, sentence: str, acknowledged: int = 0) -> None:
        super().__init__(sentence)
        self.acknowledged = acknowledged
        self.not_kept: list[str] = []
