"""Leases: a file for each paid endpoint, written before it is created and removed once it is certainly gone.

Whatever ends the benchmark, ``matbench benchmark --cleanup`` finds here what still costs money. A lease never holds
the token, only the name of the environment variable that does.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import pydantic

from ...errors import MatbenchError, os_reason
from ...files import atomic_write, read_regular
from ..run_directory import OWN_DIRECTORY

LEASES = f"{OWN_DIRECTORY}/leases"
VERSION = 1


class Lease(pydantic.BaseModel):
    """A paid endpoint that is ours to tear down.

    Attributes:
        name, namespace: which endpoint, and who pays.
        finally_: what is to happen to it.
        token_env: the environment variable with the token.
        created: seconds since the epoch.
        usd_per_hour: its price, where known.
    """

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)

    version: Literal[1] = 1
    kind: Literal["hf_endpoint"] = "hf_endpoint"
    name: str
    namespace: str
    repository: str
    finally_: Literal["delete", "pause"]
    token_env: str
    created: float
    usd_per_hour: float | None = None

    def cost(self) -> str:
        """How long it ran until now and what that cost, in words."""
        hours = max(0.0, time.time() - self.created) / 3600
        usd = "" if self.usd_per_hour is None else f", about {hours * self.usd_per_hour:.2f} USD"
        return f"{hours * 60:.0f} min{usd}"


@dataclasses.dataclass(frozen=True, slots=True)
class LeaseFile:
    """A lease and where it is kept."""

    lease: Lease
    path: Path

    def remove(self) -> None:
        """The endpoint is gone. May be called twice."""
        self.path.unlink(missing_ok=True)


def write_lease(results: Path, lease: Lease) -> LeaseFile:
    """Keep *lease* in the results directory, durably."""
    path = results / LEASES / f"{lease.namespace}__{lease.name}.json"
    with atomic_write(path) as stream:
        stream.write(lease.model_dump_json(indent=2).encode())
    return LeaseFile(lease, path)


def read_leases(results: Path) -> list[LeaseFile]:
    """The leases of a results directory.

    Raises:
        MatbenchError: one can't be read; it names the file, since somebody may be paying.
    """
    return [LeaseFile(_read(path), path) for path in sorted((results / LEASES).glob("*.json"))]


def describe(files: Sequence[LeaseFile]) -> str:
    """The names of the endpoints, for a sentence."""
    return ", ".join(f"{file.lease.namespace}/{file.lease.name}" for file in files)


def _read(path: Path) -> Lease:
    hint = "look at https://endpoints.huggingface.co what is running, then remove the file"
    content: Any = None
    try:
        content = json.loads(read_regular(path))
        return Lease.model_validate(content)
    except OSError as error:
        raise MatbenchError(f"the lease {path} can't be read: {os_reason(error).lower()}; {hint}") from error
    except (ValueError, RecursionError) as error:  # a validation error is a ValueError
        with contextlib.suppress(AttributeError):
            if content is not None and content.get("version") != VERSION:
                version = content.get("version")
                raise MatbenchError(
                    f"the lease {path} has version {version!r}, this matbench reads {VERSION}; {hint}"
                ) from error
        raise MatbenchError(f"the lease {path} is broken; {hint}") from error
