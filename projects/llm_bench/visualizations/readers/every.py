"""All readers, in the order in which the documentation lists them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from matrix_benchmarking.store import ArtifactPath, Part

from . import Field, aiperf, guidellm, inference_perf, inferencex, llmd, mlperf, sglang, vllm


class ToolReader(Protocol):
    """A reader that says which measures its tool's files hold.

    Attributes:
        TOOL: the value of the setting ``tool``.
        FORMAT: what it reads, for the table in the documentation.
        FIELDS: the measures that stand in the file, and where.
        DERIVED: the measures that are worked out of others.
    """

    TOOL: str
    FORMAT: str
    FIELDS: Mapping[str, Field]
    DERIVED: Sequence[str]

    def recognises(self, head: bytes, name: str) -> bool: ...

    def read(self, file: ArtifactPath) -> Iterator[Part]: ...


READERS: Sequence[ToolReader] = [vllm, sglang, guidellm, aiperf, inference_perf, llmd, inferencex, mlperf]
