"""An executor whose workers are those of a cluster, once they see the same tree and have the same code."""

from __future__ import annotations

import concurrent.futures
import contextlib
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from ..errors import ClusterError, MatbenchError
from ..named_cluster import NamedCluster
from .connection import Cluster, connected
from .workers import Question, check


class ClusterExecutor(concurrent.futures.Executor):
    """Calls by Dask, whose errors are sentences."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._dask = cluster.client.get_executor(pure=False)

    def map(self, fn: Callable[..., Any], *iterables: Iterable[Any], **named: Any) -> Iterator[Any]:
        try:
            yield from self._dask.map(fn, *map(list, iterables), **named)
        except MatbenchError:
            raise
        except (concurrent.futures.CancelledError, OSError) as error:
            raise self._cluster.gone() from error
        except Exception as error:
            raise ClusterError(
                f"a worker of {self._cluster.named} could not go on: {type(error).__name__}: {error}"
            ) from error


@contextlib.contextmanager
def executor(
    named: NamedCluster, root: Path, files: Sequence[Path], first: Callable[[], Any]
) -> Iterator[concurrent.futures.Executor]:
    """An executor of *named*, of whose workers each sees *files* below *root* as they are here, and can do *first*.

    Raises:
        MatbenchError: a worker isn't fit; nothing was begun.
    """
    seen = [
        (str(file), status.st_size, status.st_mtime_ns) for file in files if file.is_file() for status in [file.stat()]
    ]
    with connected(named, Path(tempfile.gettempdir()) / "matbench-workers") as cluster:
        cluster.wait(lambda sentence: None)
        _, refused = check(cluster, Question(sights=seen), cluster.workers(), first, "parse")
        if refused:
            raise ClusterError("\n".join(refused))
        yield ClusterExecutor(cluster)
