"""Leases of what costs money: each a file that is written before it is created, and removed once it is certainly gone.

Whatever ends the benchmark, ``matbench benchmark --cleanup`` finds there what still costs money; where results go to a
bucket the lease is there, too, so that any machine finds it. It never holds the token, only the name of the environment
variable that does.
"""

from __future__ import annotations

import json
import tempfile
import time
from pathlib import Path
from typing import Any, Literal

import pydantic

from .. import bucket
from ..bucket import BucketPath
from ..errors import MatbenchError, os_reason
from ..files import read_regular
from .run_directory import OWN_DIRECTORY, write_text

DIRECTORY = f"{OWN_DIRECTORY}/leases"
VERSION = 1
WEB_ADDRESS = "https://endpoints.huggingface.co"


class Lease(pydantic.BaseModel):
    """A paid endpoint that is ours to tear down: who pays, since when (seconds since the epoch), where this is kept.

    One that was at rest when it was found is only ours to lay to rest again; one that ran isn't at all: ``leave``.
    """

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)

    version: Literal[1] = 1
    kind: Literal["hf_endpoint"] = "hf_endpoint"
    name: str
    namespace: str
    repository: str
    finally_: Literal["delete", "pause", "scale_to_zero", "leave"]
    token_env: str
    created: float
    usd_per_hour: float | None = None
    path: Path = pydantic.Field(exclude=True)
    bucket: Any = pydantic.Field(default=None, exclude=True)  # a BucketPath; None where results are a directory's

    def cost(self) -> str:
        """How long it ran until now and what that cost, in words."""
        hours = max(0.0, time.time() - self.created) / 3600
        usd = "" if self.usd_per_hour is None else f", about {hours * self.usd_per_hour:.2f} USD"
        return f"{hours * 60:.0f} min{usd}"

    @property
    def object(self) -> str:
        """The address of it in the bucket."""
        return f"{self.bucket}/{DIRECTORY}/{self.path.name}"


def keep(lease: Lease) -> None:
    """Before the endpoint is created. Raises OutputError: it can't be written."""
    write_text(lease.path, lease.model_dump_json(indent=2))
    if lease.bucket is not None:
        bucket.put(lease.path, lease.object)
        lease.path.unlink()  # what another machine tears down is known nowhere then


def forget(lease: Lease) -> None:
    """Once the endpoint is certainly gone. Raises OutputError: the bucket can't be reached; it stays everywhere."""
    if lease.bucket is not None:
        bucket.remove(lease.object)
    lease.path.unlink(missing_ok=True)


def read_leases(results: Path, of: BucketPath | None = None) -> list[Lease]:
    """The leases of a results directory, and those of a bucket.

    Raises:
        MatbenchError: it names one that can't be read, since somebody may be paying; or the bucket can't be read.
    """
    here = {path.name: path for path in sorted((results / DIRECTORY).glob("*.json"))}
    if of is None:
        return [_read(path, path) for path in here.values()]
    with tempfile.TemporaryDirectory() as directory, bucket.opened(of, MatbenchError) as files:
        names = [name for name in bucket.listed(files, of / DIRECTORY)[0].names if "/" not in name]
        bucket.fetch(files, of / DIRECTORY, {name: Path(directory, name) for name in names})
        there = [_read(Path(directory, name), results / DIRECTORY / name, of) for name in names]
    return [*there, *(_read(path, path) for name, path in here.items() if name not in names)]


def _read(file: Path, path: Path, of: BucketPath | None = None) -> Lease:
    """The lease in *file*, which is kept at *path*, or in the bucket *of*."""
    called = path if of is None else of / DIRECTORY / path.name
    hint = f"look at {WEB_ADDRESS} what is running, then remove the file"
    try:
        content: Any = json.loads(read_regular(file))
        version = content.get("version")
        if version != VERSION:
            raise MatbenchError(f"the lease {called} has version {version!r}, this matbench reads {VERSION}; {hint}")
        return Lease.model_validate({**content, "path": path, "bucket": of})
    except OSError as error:
        raise MatbenchError(f"the lease {called} can't be read: {os_reason(error).lower()}; {hint}") from error
    except (ValueError, AttributeError, RecursionError) as error:  # a validation error is a ValueError
        raise MatbenchError(f"the lease {called} is broken; {hint}") from error
