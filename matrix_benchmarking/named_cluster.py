"""The machines that a person named for a benchmark or a parse: a Dask scheduler, or how its workers are started."""

from __future__ import annotations

import json
import re
from typing import Annotated, Any, Literal

import pydantic
from pydantic import Field

from .errors import ConfigError
from .validation import Section, dotted, mismatches
from .yaml_file import BrokenYaml, load_yaml

ADDRESS = r"^(tcp|tls|ucx|ws|wss)://[^\s/]+:\d+$"
PATTERNS = {ADDRESS: "the address of a Dask scheduler, such as tcp://host:8786"}

Count = Annotated[int, Field(ge=1)]


class Slurm(Section):
    """Workers that Slurm starts, one a job.

    Attributes:
        queue, account: the partition, and who pays.
        cores, memory: of a job, as 4 and 16GB.
        gres: what else it has, as gpu:l4:1; points that require {gpu: l4} run there.
        walltime: how long a job may run, as 02:00:00; where it ends, another takes its place.
        workers: how many jobs.
        setup: lines of shell before the worker, as module load cuda.
        directives: further #SBATCH options, as --exclusive.
        interface: the network interface by which workers reach this machine, as ib0.
    """

    queue: str | None = None
    account: str | None = None
    cores: Count = 1
    memory: str = "4GB"
    gres: str | None = None
    walltime: str = "01:00:00"
    workers: Count = 1
    setup: list[str] = Field(default_factory=list)
    directives: list[str] = Field(default_factory=list)
    interface: str | None = None

    @property
    def resources(self) -> dict[str, float]:
        """What a worker has, in Dask's words: gpu:l4:1 is one gpu, and one gpu:l4."""
        found: dict[str, float] = {}
        for each in filter(None, (self.gres or "").split(",")):
            *names, count = each.split(":") if re.search(r":\d+$", each) else [*each.split(":"), "1"]
            found |= {":".join(names[:length]): float(count) for length in range(1, len(names) + 1)}
        return found


class NamedCluster(Section):
    """Machines for a benchmark or a parse: exactly one of scheduler, slurm, ssh and local.

    Attributes:
        scheduler: the address of a Dask scheduler that runs.
        slurm: have Slurm start the workers.
        ssh: hosts on which workers are started by ssh.
        local: a number of workers on this machine.
        results: how finished runs come into the results directory: all machines ``share`` it, or the runs ``return``,
            whole, to the machine that started them.
        points_per_host: how many points are measured on one host at a time.
        start_timeout_s: how long to wait for the first worker, or for another when all are gone.
    """

    scheduler: Annotated[str, Field(pattern=ADDRESS)] | None = None
    slurm: Slurm | None = None
    ssh: Annotated[list[str], Field(min_length=1)] | None = None
    local: Count | None = None
    results: Literal["share", "return"] = "share"
    points_per_host: Count = 1
    start_timeout_s: Annotated[float, Field(gt=0)] = 600.0

    @pydantic.model_validator(mode="after")
    def _exactly_one(self) -> NamedCluster:
        if sum(each is not None for each in (self.scheduler, self.slurm, self.ssh, self.local)) != 1:
            raise ValueError("exactly one of scheduler, slurm, ssh and local")
        return self

    @property
    def wanted(self) -> int | None:
        """How many workers are started for it; None where they run already."""
        if self.slurm is not None:
            return self.slurm.workers
        return len(self.ssh) if self.ssh is not None else self.local

    @property
    def text(self) -> str:
        """As it is written on the command line."""
        given = self.model_dump(exclude_unset=True)
        return str(self.scheduler) if [*given] == ["scheduler"] else json.dumps(given)

    def __str__(self) -> str:
        if self.slurm is not None:
            return f"Slurm{f', queue {self.slurm.queue}' if self.slurm.queue else ''}"
        if self.ssh is not None:
            return f"ssh to {', '.join(self.ssh)}"
        return self.scheduler or "this machine"


def _from_text(value: Any) -> Any:
    return {"scheduler": value} if isinstance(value, str) else value


Named = Annotated[NamedCluster, pydantic.BeforeValidator(_from_text)]
"""An address alone stands for its scheduler."""


def read(text: str) -> NamedCluster:
    """The cluster that *text* names, an address or a mapping, as ``{local: 3}``; ConfigError for another."""
    try:
        content = load_yaml(text) if text.lstrip().startswith("{") else text.strip()
    except BrokenYaml as error:
        raise ConfigError(f"--cluster '{text}' is broken YAML: {error.reason}; such as {{local: 3}}") from error
    try:
        return pydantic.TypeAdapter(Named).validate_python(content)
    except pydantic.ValidationError as error:
        wrong = mismatches(error, content if isinstance(content, dict) else {"scheduler": content}, PATTERNS)
        said = "; ".join(f"{dotted(each.path)}: {each.reason}" if each.path else each.reason for each in wrong)
        raise ConfigError(f"--cluster '{text}': {said}") from error
