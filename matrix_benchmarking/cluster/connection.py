"""From what a person named to a connection: a scheduler is asked for its version first, or workers are started."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse
from collections.abc import Awaitable, Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import ClusterError, MatbenchError, needing
from ..named_cluster import NamedCluster, Slurm

if TYPE_CHECKING:
    from distributed import Client, Future, Security
    from distributed.deploy.cluster import Cluster as DaskCluster

ANSWER_S = 10.0
"""How long a scheduler may take to answer."""
ASIDE_S = 30.0
"""How long a worker may take to answer beside its task."""
POLL_S, CLOSE_S = 0.5, 2.0
TOGETHER_S = 20.0
"""How long the first worker waits for those that were started with it."""
_OPEN = (
    "whoever reaches the scheduler's port on this machine, or a worker's, can run code as you: Dask's configuration "
    "names no certificates (distributed.comm.tls), and by ssh none are made"
)
T = TypeVar("T")
_NO_PAGES: Mapping[str, Any] = {"dashboard": False, "dashboard_address": "127.0.0.1:0"}


class Unreachable(ClusterError):
    """A worker that is gone, or silent."""


@dataclasses.dataclass(slots=True)
class Cluster:
    """A connection to the workers of *named*; where they are ours, *started* is what started them."""

    named: NamedCluster
    client: Client
    started: DaskCluster | None
    address: str

    @property
    def answers(self) -> bool:
        """False while Dask tries to reach the scheduler again. ClusterError: it has given up."""
        if self.client.status in ("closing", "closed"):
            raise self.gone()
        return bool(self.client.status == "running")

    def workers(self) -> dict[str, dict[str, Any]]:
        """What the scheduler knows of each worker, by its address. ClusterError: it is gone."""
        try:
            found: dict[str, dict[str, Any]] = self.client.scheduler_info(n_workers=-1)["workers"]
        except (OSError, RuntimeError, ValueError, LookupError, TypeError, AttributeError) as error:
            raise self.gone() from error
        return found

    def ask(self, address: str, function: Callable[..., Any], *arguments: Any, **how: Any) -> Future[Any]:
        """Have the worker at *address* call *function*."""
        return self.client.submit(function, *arguments, workers=[address], pure=False, retries=0, **how)

    def ask_aside(self, address: str, function: Callable[..., Awaitable[T]], *arguments: Any) -> T:
        """What *function* gives on the worker at *address*, beside the task that it is at.

        Raises:
            ClusterError: it can't be done there, or (Unreachable) the worker doesn't answer.
        """
        try:
            found: dict[str, T] = self.client.run(function, *arguments, workers=[address], callback_timeout=ASIDE_S)
            return found[address]
        except MatbenchError as error:  # raised there
            raise ClusterError(str(error)) from error
        except Exception as error:  # whatever is raised on the way; the timeout is that of Client.sync
            raise Unreachable("its worker doesn't answer any more") from error

    def gone(self) -> ClusterError:
        return ClusterError(f"the scheduler {self.address} is gone")

    def wait(self, say: Callable[[str], None], keep_on: Callable[[], None] = lambda: None) -> None:
        """Return once a worker is there, and those that start at the same time; *say* hears what is waited for.

        Raises:
            ClusterError: none came in time.
        """
        began, told = time.monotonic(), None
        while not (there := len(self.workers())):
            keep_on()
            waited_s = time.monotonic() - began
            reason = self._why_none()
            if waited_s > self.named.start_timeout_s:
                raise ClusterError(
                    f"no worker came within {self.named.start_timeout_s:.0f} s from {self.named}{reason}: see why, or "
                    "give it longer: cluster: {start_timeout_s: …}"
                )
            if waited_s > 5 and reason != told:
                say(f"waiting for a worker from {self.named}{reason}")
                told = reason
            time.sleep(POLL_S)
        # The others of one start come within seconds, and are worth the wait: rounds are dealt to hosts.
        latest = time.monotonic() + TOGETHER_S
        while there < (self.named.wanted or 0) and time.monotonic() < latest:
            time.sleep(POLL_S)
            there = len(self.workers())

    def renew(self) -> None:
        """Have lost workers replaced, where we started them."""
        if self.started is not None and self.named.wanted is not None and self.named.ssh is None:
            with contextlib.suppress(Exception):  # whoever refused it may take it the next time
                _have_started(self.started, self.named.wanted)

    def _why_none(self) -> str:
        """What Slurm says of our jobs, for the end of a sentence."""
        jobs = [getattr(each, "job_id", None) for each in getattr(self.started, "workers", {}).values()]
        ids = ",".join(str(each) for each in jobs if each)
        if self.named.slurm is None or not ids:
            return ""
        command = ["squeue", "--noheader", f"--jobs={ids}", "--format=%i %T (%r)"]
        with contextlib.suppress(OSError, subprocess.SubprocessError):
            said = subprocess.run(command, capture_output=True, text=True, timeout=ANSWER_S, check=True).stdout
            found = ", ".join(said.strip().splitlines())
            return f"; its jobs: {found}" if found else "; it has no job of ours"
        return ""


@contextlib.contextmanager
def connected(named: NamedCluster, logs: Path, say: Callable[[str], None]) -> Iterator[Cluster]:
    """A connection to *named*; workers that are started for it write to *logs*, and end with it.

    *say* hears whom this makes one trust.

    Raises:
        ClusterError: the scheduler can't be reached or is of another version, or the workers can't be started.
        ConfigError: the packages of the extra ``cluster`` are missing.
    """
    with needing("--cluster", "cluster"):
        import dask

        if "logging" not in dask.config.config:
            dask.config.set({"logging.distributed": "critical"})  # our own sentences say what is wrong
        import distributed
    with contextlib.ExitStack() as stack:
        started = None
        if named.local is not None:  # Dask leaves its locks where it works
            of_dask = tempfile.TemporaryDirectory(prefix="matbench-dask-", ignore_cleanup_errors=True)
            stack.enter_context(dask.config.set({"temporary-directory": stack.enter_context(of_dask)}))
        if named.ssh is not None and not distributed.Security().tls_scheduler_cert:
            say(_OPEN)
        if named.scheduler is None:
            started = _start(named, logs)
            stack.callback(_quietly, started.close)
        else:
            _check_scheduler(named.scheduler)
        try:
            client = distributed.Client(started or named.scheduler, timeout=ANSWER_S, set_as_default=False)
        except Exception as error:  # whatever a peer of another protocol makes of it
            raise ClusterError(f"the scheduler {named} can't be used: {_said(error)}") from error
        stack.callback(_quietly, lambda: client.close(timeout=CLOSE_S))
        yield Cluster(named, client, started, str(client.scheduler_info()["address"]))


def _check_scheduler(address: str) -> None:
    """Raise ClusterError where no scheduler of our version answers at *address*."""
    import asyncio

    import distributed

    security = distributed.Security()
    if address.startswith("tls:") and not security.tls_client_cert:
        raise ClusterError(
            f"{address} wants certificates: name them in Dask's configuration (distributed.comm.tls), as ca-file, "
            "client.cert and client.key"
        )

    async def ask() -> Any:
        async with distributed.rpc(
            address, timeout=ANSWER_S, connection_args=security.get_connection_args("client")
        ) as peer:
            return await peer.versions()

    try:
        where = urllib.parse.urlsplit(address)
        if where.scheme != "ucx":  # Dask would try a refused connection again, all the time
            socket.create_connection((str(where.hostname), where.port or 0), ANSWER_S).close()
        found = asyncio.run(asyncio.wait_for(ask(), ANSWER_S + 2))
        theirs = found["packages"]["distributed"]
    except (OSError, TimeoutError) as error:
        of_tls = "is the certificate's authority the one in Dask's configuration?"
        hint = of_tls if address.startswith("tls:") else "is it up?"
        said = "no answer in time" if isinstance(error, TimeoutError) and not str(error) else _said(error)
        raise ClusterError(f"no Dask scheduler answers at {address} ({said}): {hint}") from error
    except Exception as error:  # what answers is something else
        raise ClusterError(
            f"what answers at {address} is no Dask scheduler that this one can talk to: {_said(error)}"
        ) from error
    if theirs != distributed.__version__:
        raise ClusterError(another_dask(f"the scheduler {address}", theirs))


def another_dask(who: str, theirs: object) -> str:
    import distributed

    ours = distributed.__version__
    return f"{who} has distributed {theirs}, and this machine {ours}: install the same on all of them"


def _start(named: NamedCluster, logs: Path) -> DaskCluster:
    try:
        if named.slurm is not None:
            return _slurm(named.slurm, logs)
        return _by_ssh(named.ssh, named.start_timeout_s) if named.ssh is not None else _local(named.local or 1)
    except Exception as error:  # of three libraries
        said = _said(error)
        hint = f": is there {sys.executable}, with Dask?" if said.startswith("Worker failed") else ""
        raise ClusterError(f"the workers on {named} can't be started: {said}{hint}") from error


def _local(workers: int) -> DaskCluster:
    from distributed import LocalCluster

    return LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        memory_limit=None,
        dashboard_address=_NO_PAGES["dashboard_address"],
        scheduler_kwargs={"dashboard": False},
        host="tls://127.0.0.1",
        protocol="tls://",
        security=_security(),
    )


def _slurm(wanted: Slurm, logs: Path) -> DaskCluster:
    from dask_jobqueue import SLURMCluster

    with needing("the cluster's slurm", "cluster"):
        logs.mkdir(parents=True, exist_ok=True)
    given = [f"{name}={count:g}" for name, count in wanted.resources.items()]
    cluster: DaskCluster = SLURMCluster(
        queue=wanted.queue,
        account=wanted.account,
        cores=wanted.cores,
        processes=1,
        memory=wanted.memory,
        walltime=wanted.walltime,
        interface=wanted.interface,
        python=sys.executable,
        log_directory=str(logs),
        job_script_prologue=[f"cd {os.getcwd()}", *wanted.setup],
        job_extra_directives=[*([f"--gres={wanted.gres}"] if wanted.gres else []), *wanted.directives],
        worker_extra_args=["--nthreads", "1", *(["--resources", ",".join(given)] if given else [])],
        scheduler_options=_NO_PAGES,
        security=_security(),
        shared_temp_directory=str(logs),
    )
    try:
        _have_started(cluster, wanted.workers)
    except Exception:
        _quietly(cluster.close)
        raise
    return cluster


def _have_started(cluster: Any, workers: int) -> None:
    """Start what is missing of so many *workers*; unlike ``cluster.scale``, it raises what goes wrong."""
    while len(cluster.worker_spec) < workers:
        cluster.worker_spec.update(cluster.new_worker_spec())

    async def start() -> None:
        await cluster

    cluster.sync(start)


def _by_ssh(hosts: list[str], patience_s: float) -> DaskCluster:
    import dask
    from distributed import Scheduler, Security, SpecCluster
    from distributed.deploy.ssh import Worker

    # A worker inherits the configuration, and is known to have started by what it logs.
    dask.config.set({"logging.distributed": "info"})
    # Certificates made for this start would be seen in the command line by which a worker is started.
    encrypted = {"protocol": "tls://", "security": Security()} if Security().tls_scheduler_cert else {}
    # A worker that comes up after its starter has given up would look for the scheduler for ever.
    kwargs = {"nthreads": 1, "memory_limit": 0, "death_timeout": patience_s}
    options = {"connect_options": {}, "kwargs": kwargs}
    workers = {host: {"cls": Worker, "options": {"address": host, **options}} for host in hosts}
    scheduler = {"cls": Scheduler, "options": {**_NO_PAGES, **encrypted}}
    return SpecCluster(workers, scheduler, name="matbench", security=encrypted.get("security"))


def _security() -> Security:
    """Dask's TLS: by the certificates that its configuration names, else by some that are made for this start."""
    from distributed import Security

    return Security() if Security().tls_scheduler_cert else Security.temporary()


def _quietly(close: Callable[[], Any]) -> None:
    """Close what may be gone already."""
    with contextlib.suppress(Exception):
        close()


def _said(error: BaseException) -> str:
    """The first line of *error*, or of what the command that failed wrote to standard error."""
    text = str(error).partition("\nstderr:\n")[2] or str(error)
    return text.strip().partition("\n")[0] or type(error).__name__
