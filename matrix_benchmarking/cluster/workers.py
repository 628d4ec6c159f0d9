"""Whether workers are fit for the work: each is asked for its versions, its clock and what it sees of a directory.

Those that see the same tree, and have the same code, are an executor for its parse.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import functools
import os
import pkgutil
import secrets
import socket
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import msgspec

from ..errors import ClusterError, MatbenchError, os_reason
from ..files import atomic_write
from ..named_cluster import NamedCluster
from ..version import __version__
from .connection import ANSWER_S, Cluster, another_dask, connected

if TYPE_CHECKING:
    from distributed import Client

P = ParamSpec("P")
T = TypeVar("T")

FURTHEST_CLOCK_S = 2.0
"""By how much clocks may differ: blocks and the load's window go by them."""
LOOK_S = 60.0
"""How long a worker may take to look; one that is busy with somebody else's work takes longer."""
WORK_S = 180.0
"""How long it may take to load the workload and to look for the programs that measure."""
HOST_VARIABLES = ("MATBENCH_HOST", "SLURMD_NODENAME")
_VERSION = (pkgutil.resolve_name, "matrix_benchmarking.version:__version__")
_DASK = (pkgutil.resolve_name, "distributed:__version__")
"""Asked in words of Python alone: one that can't import what it is asked by ends."""


class Host(msgspec.Struct, frozen=True):
    """A worker that is fit, and its machine: *kernel* is one start of it, *resources* are Dask's."""

    address: str
    name: str
    kernel: str
    resources: Mapping[str, float]

    def has(self, wanted: Mapping[str, float]) -> bool:
        return all(self.resources.get(name, 0.0) >= count for name, count in wanted.items())


class Question(msgspec.Struct, frozen=True):
    """What a worker is asked to look at.

    Attributes:
        token: a file that was just written, and its content; the worker writes beside it what it read.
        sights: files with their sizes in bytes and times of change in ns, where nothing can be written.
    """

    token: tuple[str, str] | None = None
    sights: Sequence[tuple[str, int, int]] = ()


class Look(msgspec.Struct, frozen=True):
    """What a worker says of itself; *missing* is why the directory isn't the same there, None where it is."""

    host: str
    kernel: str
    missing: str | None


def host_name() -> str:
    """What this machine is called: points on hosts of one name are not measured at the same time."""
    return next((name for each in HOST_VARIABLES if (name := os.environ.get(each))), socket.gethostname())


def look(question: Question) -> Look:
    """Runs on a worker."""
    kernel = Path("/proc/sys/kernel/random/boot_id")
    started = kernel.read_text().strip() if kernel.exists() else socket.gethostname()
    return Look(host_name(), started, _missing(question))


def _missing(question: Question) -> str | None:
    try:
        if question.token is not None:
            path, content = Path(question.token[0]), question.token[1]
            if path.read_text() != content:
                return f"{path.parent} is another directory there"
            Path(f"{path}.{host_name()}").write_text(content)
        for name, size, mtime_ns in question.sights:
            status = os.stat(name)
            if (status.st_size, status.st_mtime_ns) != (size, mtime_ns):
                return f"{name} is another file there"
    except FileNotFoundError as error:
        return f"{error.filename} is not there"
    except OSError as error:
        return f"{error.filename}: {os_reason(error)}"
    return None


@contextlib.contextmanager
def token_in(directory: Path) -> Iterator[Question]:
    """A question about a fresh file in *directory*, which goes again with all that workers wrote beside it."""
    path, content = directory / f"shared-{secrets.token_hex(8)}", secrets.token_hex(16)
    try:
        with atomic_write(path) as stream:
            stream.write(content.encode())
        yield Question(token=(str(path), content))
    finally:
        for each in directory.glob(f"{path.name}*"):
            with contextlib.suppress(OSError):
                each.unlink()


def check(
    cluster: Cluster, question: Question, addresses: Iterable[str], work: Callable[[], Any], what: str
) -> tuple[list[tuple[Host, Any]], list[str]]:
    """The workers at *addresses* that are fit, each with what it answers to *work*, and a sentence on each that isn't.

    Args:
        work: what a worker is to do as the last proof; its MatbenchError is the sentence.
        what: this in a word, for the sentence on what else it raises.

    Raises:
        ClusterError: the scheduler, through which all goes, has no matbench, or another one.
    """
    fit, refused = _looked(cluster, question, addresses)
    asked = [(host, cluster.ask(host.address, work)) for host in fit]
    able = []
    for host, future in asked:
        try:
            able.append((host, future.result(timeout=WORK_S)))
        except MatbenchError as error:
            refused.append(str(error))
        except Exception as error:  # noqa: BLE001 - of Dask, or of a worker that ended meanwhile
            refused.append(f"{host.name} can't {what}: {type(error).__name__}: {error}")
    return able, list(dict.fromkeys(refused))


def _looked(cluster: Cluster, question: Question, addresses: Iterable[str]) -> tuple[list[Host], list[str]]:
    """The workers at *addresses* that are alike and see the same, and a sentence on each that doesn't."""
    client, known = cluster.client, cluster.workers()
    there = [address for address in addresses if address in known]
    if not there:
        return [], []
    if said := _another_matbench(f"the scheduler {cluster.address}", _asked(cluster)):
        raise ClusterError(said)
    unlike = _unlike(client, there)
    refused = list(unlike.values())
    asked = {address: cluster.ask(address, look, question, priority=100) for address in there if address not in unlike}
    fit: list[Host] = []
    deadline = time.monotonic() + LOOK_S
    for address, future in asked.items():
        try:
            found = future.result(timeout=max(0.1, deadline - time.monotonic()))
            before = time.time()  # after the first answer, which waited for the worker's imports
            theirs = cluster.ask(address, time.time, priority=100).result(ANSWER_S)
            apart_s = max(0.0, theirs - time.time()) or min(0.0, theirs - before)  # of question and answer
        except TimeoutError:
            refused.append(
                f"{_named(client, address)} doesn't answer in {LOOK_S:.0f} s: it may be busy with other work"
            )
            continue
        except Exception as error:  # noqa: BLE001 - whatever importing there raises
            refused.append(f"{_named(client, address)} can't be asked: {type(error).__name__}: {error}")
            continue
        if (problem := _problem(found, apart_s, question)) is not None:
            refused.append(problem)
        else:
            fit.append(Host(address, found.host, found.kernel, known[address].get("resources", {})))
    return fit, refused


def _asked(cluster: Cluster) -> Any:
    """Which version of matbench the scheduler has, or why it can't be told."""
    try:
        return cluster.client.run_on_scheduler(*_VERSION)
    except OSError as error:
        raise cluster.gone() from error
    except Exception as error:  # noqa: BLE001 - whatever importing there raises
        return error


def _unlike(client: Client, addresses: Sequence[str]) -> dict[str, str]:
    """By address, a sentence on each worker that has another matbench or Dask than this machine."""
    import distributed

    matbench, dask = (client.run(*words, workers=addresses, on_error="return") for words in (_VERSION, _DASK))
    found = {}
    for each in addresses:
        if (matbench[each], dask[each]) != (__version__, distributed.__version__):
            who = _named(client, each)
            found[each] = _another_matbench(who, matbench[each]) or another_dask(who, dask[each])
    return found


def _named(client: Client, address: str) -> str:
    """The worker at *address*, with what its host is called, if it says so."""
    for words in (*((os.getenv, name) for name in HOST_VARIABLES), (socket.gethostname,)):
        if isinstance(said := client.run(*words, workers=[address], on_error="return")[address], str) and said:
            return f"the worker on {said} ({address})"
    return f"the worker {address}"


def _another_matbench(who: str, found: Any) -> str | None:
    install = f"pip install 'matrix-benchmarking[cluster,benchmark]=={__version__}' there"
    if isinstance(found, ImportError):
        return f"{who} has no matbench: {install}"
    if isinstance(found, BaseException):
        return f"{who} can't be asked: {type(found).__name__}: {found}"
    return None if found == __version__ else f"{who} has matbench {found}, and this machine {__version__}: {install}"


def _problem(found: Look, apart_s: float, question: Question) -> str | None:
    if found.missing is not None:
        return (
            f"the directory is not shared with {found.host}: {found.missing}; mount it there at the same place, or "
            "have results sent here: cluster: {results: return}"
        )
    if question.token is not None and not Path(f"{question.token[0]}.{found.host}").exists():
        return f"what {found.host} writes to {Path(question.token[0]).parent} is not seen here: it is not shared"
    if abs(apart_s) > FURTHEST_CLOCK_S:
        where = "ahead of" if apart_s > 0 else "behind"
        return (
            f"the clock of {found.host} is {abs(apart_s):.0f} s {where} this machine's, and the times of runs would "
            "contradict each other: let both follow one clock (NTP)"
        )
    return None


class ClusterExecutor(concurrent.futures.Executor):
    """Calls by Dask, whose errors are sentences."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._dask = cluster.client.get_executor(pure=False)

    def submit(self, function: Callable[P, T], /, *args: P.args, **named: P.kwargs) -> concurrent.futures.Future[T]:
        asked = concurrent.futures.Future[T]()
        asked.set_running_or_notify_cancel()  # closing the connection ends what nobody waits for
        try:
            self._dask.submit(function, *args, **named).add_done_callback(functools.partial(self._hand_on, asked))
        except OSError as error:
            raise self._cluster.gone() from error
        return asked

    def _hand_on(self, asked: concurrent.futures.Future[T], done: concurrent.futures.Future[T]) -> None:
        try:
            asked.set_result(done.result())
        except MatbenchError as error:
            asked.set_exception(error)
        except (concurrent.futures.CancelledError, OSError):
            asked.set_exception(self._cluster.gone())
        except Exception as error:  # noqa: BLE001 - of Dask, or of a worker that ended
            said = f"{type(error).__name__}: {error}"
            asked.set_exception(ClusterError(f"a worker of {self._cluster.named} could not go on: {said}"))


@contextlib.contextmanager
def executor(
    named: NamedCluster, root: Path, files: Sequence[Path], first: Callable[[], Any], say: Callable[[str], None]
) -> Iterator[concurrent.futures.Executor]:
    """An executor of *named*, of whose workers each sees *files* below *root* as they are here, and can do *first*.

    *say* hears what is waited for, and whom this makes one trust.

    Raises:
        MatbenchError: a worker isn't fit; nothing was begun.
    """
    seen = [
        (str(file), status.st_size, status.st_mtime_ns) for file in files if file.is_file() for status in [file.stat()]
    ]
    with connected(named, Path(tempfile.gettempdir()) / "matbench-workers", say) as cluster:
        cluster.wait(say)
        _, refused = check(cluster, Question(sights=seen), cluster.workers(), first, "parse")
        if refused:
            raise ClusterError("\n".join(refused))
        yield ClusterExecutor(cluster)
