"""The port of a target: something that is started, answers requests at a URL, and is stopped."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from ...errors import MatbenchError


class TargetError(MatbenchError):
    """A target that could not be started, is not ours, died or can't be stopped; the sentence says which."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """A target that answers.

    Attributes:
        url: where, without a trailing slash.
        headers: sent with each request, such as ``Authorization``; never recorded.
        description: what is recorded of it in ``server.json``: kind, command, versions …; no secrets.
    """

    url: str
    headers: Mapping[str, str] = dataclasses.field(default_factory=dict)
    description: Mapping[str, Any] = dataclasses.field(default_factory=dict)


class Target(Protocol):
    """What is benchmarked. :meth:`stop` may be called at any time, also after a failed start, and twice.

    Attributes:
        paid: True where somebody is charged as long as it runs.
    """

    paid: bool

    def start(self, log: Path, keep_on: Callable[[], None]) -> Endpoint:
        """Start it and wait until it answers.

        Args:
            log: file for what the target prints, or what happened to it.
            keep_on: called at least once a second while waiting; raises to give up.

        Raises:
            TargetError: it could not be started, is not ready in time, or its address is somebody else's.
        """

    def check(self) -> None:
        """Raise TargetError if it has died."""

    def process_ids(self) -> Sequence[int]:
        """Its living processes on this machine, for the monitor; empty where it runs elsewhere."""

    def stop(self) -> None:
        """End it, and all that it started.

        Raises:
            TargetError: something of it is left; the sentence says what to do.
        """
