"""The parse of a whole tree into a matrix, in this process or through an executor."""

from __future__ import annotations

import collections
import concurrent.futures
import contextlib
import functools
import multiprocessing
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import ParamSpec, TypeVar

from .. import bucket, workload_code
from .. import workload as workloads
from ..bucket import BucketPath
from ..columns import Columns
from ..download_record import brought_alone
from ..errors import MatbenchError, OutputError, SettingsError, WorkloadError
from ..filters import Scalar
from ..matrix import DID_NOT_FINISH, Entry, Matrix, Problem
from ..named_cluster import NamedCluster
from ..settings import SETTINGS_FILE, check_settings
from ..workload import Workload
from . import cache, tree_index
from .entries import relative_name
from .find import Candidate, Found, NativeLayout, check_root, find_tests, hidden_with_tests, layouts_of
from .in_bucket import BucketTree, Objects
from .parsing import Context, NotRecognised, tests_of
from .tree_index import (
    Loader,
    Note,
    candidate_of,
    make_ids_unique,
    mark_shared_measurements,
    mark_without_settings,
    summarise,
)

PROCESSES_PAY_FROM = 200
"""Number of tests from which starting worker processes costs less than it saves."""
SEEN = 20
"""So many tests are looked at to see whether a worker has the same tree."""
_PACKED = (".tar.gz", ".tgz", ".tar", ".zip")
_CHUNK = 100
_CHUNKS_PER_PROCESS = 4

P = ParamSpec("P")
Given = TypeVar("Given")
T = TypeVar("T")
Progress = Callable[[int, int], None]
Say = Callable[[str], None]


def parse_tree(
    workload: Workload,
    root: str | os.PathLike[str],
    *,
    jobs: int | None = None,
    cluster: NamedCluster | None = None,
    options: Mapping[str, object] | None = None,
    progress: Progress | None = None,
    say: Say = lambda sentence: None,
) -> Matrix:
    """Parse all tests below *root*, and write the index of the tree; without caches by MATBENCH_STORE_IGNORE_CACHE.

    Args:
        jobs: number of processes; None takes as many as pay for this number of tests.
        cluster: parse on these machines instead; their workers import the workload by name, and see the tree.
        options: what the run gives to the parsers, as ``test_dir.options``.
        say: hears sentences on the cluster: what is waited for, and whom it makes one trust.

    Raises:
        MatbenchError: *root* is no readable directory, or there is no test in it.
    """
    resolved = check_root(root)
    tree, found = _find(resolved, workload)
    code = workload_code.source_digest(workload.source)
    context = Context(workload, resolved, code, dict(options or {}), cache.is_ignored(), tree)
    if workload.spec is None:  # by which a worker would import it
        cluster, jobs = None, 1
    loader = Loader(context)
    parts: list[Columns] = []
    notes: list[Note] = []
    with _executor(context, cluster, jobs, found.tests, say) as chosen:
        for columns, its_notes in _settle(context, _parse_all(context, found.tests, chosen, progress, loader), loader):
            parts.append(columns)
            notes.extend(its_notes)
    if found.unfinished:
        with context.at_hand(found.unfinished) as (here, unfinished):
            parts.append(_columns(here, [(_unfinished(here, each), None) for each in unfinished]))
    found.tests.clear()  # of a big tree they are large, as are the parts
    if tree is not None:
        tree.let_go()
    tests = Columns.joined(parts)
    parts.clear()
    if not len(tests):
        raise _nothing_found(workload, root, resolved, [*found.notes, *summarise(notes)])
    mark_without_settings(tests)
    notes.extend(make_ids_unique(loader.tests(tests)))
    mark_shared_measurements(tests)
    sentences = [*found.notes, *summarise(notes)]
    sentences += tree_index.save(context, tree_index.Contents(tests, sentences))
    return tree_index.matrix_of(loader.tests(tests), sentences)


def _find(root: Path, workload: Workload) -> tuple[BucketTree | None, Found]:
    tree = BucketTree(root) if isinstance(root, BucketPath) else None
    return tree, find_tests(root, workload) if tree is None else tree.find(workload)


def clean(workload: Workload, root: str | os.PathLike[str]) -> int:
    """Remove the caches of all tests below *root*, unfinished ones too, and the tree's index; how many tests had one.

    Caches without artifacts stay, and those of runs that lost their settings: they could not be made again.
    """
    resolved = check_root(root)
    cache.remove(tree_index.places(resolved, workload))
    tree, found = _find(resolved, workload)
    candidates = [test for test in (*found.tests, *found.unfinished) if test.layout is not None]
    again = [test for test in candidates if tree is not None or not cache.stands_alone(test, workload)]
    return sum(cache.remove(cache.places(test, workload)) for test in again)


def _nothing_found(
    workload: Workload, root: str | os.PathLike[str], resolved: Path, notes: Sequence[str]
) -> MatbenchError:
    with contextlib.suppress(OutputError):
        cache.remove(tree_index.places(resolved, workload))
    wanted = " or ".join(layout.looks_for for layout in layouts_of(workload))
    beside = (suffix for suffix in _PACKED if Path(f"{resolved}{suffix}").is_file())
    packed = [f"'{root}{suffix}' beside it is not unpacked" for suffix in beside]
    hidden = None if isinstance(resolved, BucketPath) else hidden_with_tests(resolved, workload)
    if hidden is not None:
        packed.append(f"hidden directories are passed over: --results-dirname={Path(root) / hidden.name} reads one")
    lines = "".join(f"\n  {note}" for note in (*packed, *notes[:5]))
    return MatbenchError(f"no test found in '{root}': workload '{workload.name}' looks for {wanted}{lines}")


def _executor(
    context: Context, cluster: NamedCluster | None, jobs: int | None, tests: Sequence[Candidate], say: Say
) -> contextlib.AbstractContextManager[concurrent.futures.Executor | None]:
    if cluster is not None:
        from ..cluster.workers import executor  # Dask is of an extra, and takes a second

        seen = tests[:SEEN] if context.tree is None else []
        files = [Path(f"{test.where}/{SETTINGS_FILE}") if not test.is_file else test.path for test in seen]
        first = functools.partial(_parse_in_worker, *_for_worker(context), ([], {}))
        return executor(cluster, context.root, files, first, say)
    if jobs is None:
        jobs = len(os.sched_getaffinity(0)) if len(tests) >= PROCESSES_PAY_FROM else 1
    return processes(jobs) if jobs > 1 else contextlib.nullcontext()


Outcome = tuple[Columns, list[Note]]
"""Some tests, and what was noticed of them."""
Chunk = tuple[Sequence[Candidate], Objects]
"""Some tests that are to be parsed, and of a tree in a bucket what there is of them."""


def _parse_all(
    context: Context,
    candidates: Sequence[Candidate],
    executor: concurrent.futures.Executor | None,
    progress: Progress | None,
    loader: Loader,
) -> Iterator[Outcome]:
    """The outcomes of the candidates, in their order, some at a time; a file may hold several tests, or none."""
    cores, total = len(os.sched_getaffinity(0)), len(candidates)
    size = _CHUNK if executor is None else max(1, min(_CHUNK, total // (cores * _CHUNKS_PER_PROCESS)))
    shares = [candidates[start : start + size] for start in range(0, total, size)]
    chunks = ((each, context.objects_of(each)) for each in shares)
    done = 0

    def report(count: int) -> None:
        nonlocal done
        done += count
        if progress is not None:
            progress(done, total)

    outcomes: Iterable[Outcome] = (_parse_chunk(context, chunk, loader, report) for chunk in chunks)
    try:
        if executor is not None:
            outcomes = in_order(executor, functools.partial(_parse_in_worker, *_for_worker(context)), chunks)
        for share, some in zip(shares, outcomes, strict=True):
            if executor is not None:
                report(len(share))
            yield some
    except concurrent.futures.BrokenExecutor as error:
        raise MatbenchError(
            "a worker process was ended from outside (out of memory?); try again with `jobs` 1"
        ) from error


Arguments = tuple[Path, bytes, Mapping[str, object], bool]


def _for_worker(context: Context) -> tuple[str, Arguments]:
    spec = context.workload.spec or context.workload.name
    return spec, (context.root, context.code, dict(context.options), context.ignore_cache)


def _parse_in_worker(spec: str, arguments: Arguments, chunk: Chunk) -> Outcome:
    workload, code = _workload(spec)
    if code != arguments[1]:
        from ..cluster.workers import host_name

        raise WorkloadError(
            f"{host_name()} has another version of the workload '{spec}': the source that its worker imported has the "
            f"digest {code.hex()[:12]}, and that of the starter {arguments[1].hex()[:12]}: bring both to the same "
            "state, and start the worker anew"
        )
    root = arguments[0]
    tree = _tree(root) if isinstance(root, BucketPath) else None
    if isinstance(root, BucketPath) and not chunk[0]:
        from ..cluster.workers import host_name

        bucket.require(root, host_name())
    return _parse_chunk(Context(workload, *arguments, tree), chunk)


@functools.lru_cache(maxsize=4)
def _tree(root: BucketPath) -> BucketTree:
    """The tree at *root*, to which a worker connects once."""
    return BucketTree(root)


@functools.lru_cache(maxsize=4)
def _workload(spec: str) -> tuple[Workload, bytes]:
    """The workload, and the digest of its source as it was imported: a worker may live for days."""
    workload = workloads.load(spec)
    return workload, workload_code.source_digest(workload.source)


def _parse_chunk(
    context: Context,
    chunk: Chunk,
    loader: Loader | None = None,
    report: Callable[[int], None] = lambda count: None,
) -> Outcome:
    tests: list[Test] = []
    notes: list[Note] = []
    with context.at_hand(*chunk) as (here, candidates):
        for candidate in candidates:
            found, its_notes = _parse_candidate(here, candidate, loader)
            tests += found
            notes += its_notes
            report(1)
        notes += [(name, "went away while the tree was read") for name in (here.near.gone if here.near else ())]
        return _columns(here, tests), notes


Test = tuple[Entry, Candidate | None]
"""An entry, and how it was found; None where that leads to nothing."""


def _columns(context: Context, tests: Sequence[Test]) -> Columns:
    found = ((None, False) if one is None else (one.layout, one.is_file) for _, one in tests)
    return Columns.of([entry for entry, _ in tests], found, context.root)


def _parse_candidate(context: Context, candidate: Candidate, loader: Loader | None) -> tuple[list[Test], list[Note]]:
    tests: list[Test] = []
    notes: list[Note] = []
    try:
        for each, parsed in tests_of(context, candidate):
            if isinstance(parsed, SettingsError):
                tests.append((_without_results(context, each, Problem(str(parsed))), None))
                continue
            if loader is not None:
                loader.keep(context.found(each), parsed)
            tests.append((parsed.entry, each))
            notes += [(relative_name(each.where, context.root), note) for note in parsed.notes]
    except NotRecognised as error:
        notes.append((relative_name(candidate.where, context.root), f"left out, {error}"))
    except SettingsError as error:
        tests.append((_without_results(context, candidate, Problem(str(error))), None))
    return tests, notes


def _settle(context: Context, outcomes: Iterable[Outcome], loader: Loader) -> Iterator[Outcome]:
    """*outcomes*, in which a test that only its cache still knows was brought so, or is parsed without the cache."""
    brought: set[str] | None = None
    for columns, notes in outcomes:
        if not any(columns.from_cache_alone.distinct):
            yield columns, notes
            continue
        if brought is None:
            brought = brought_alone(context.root, context.workload.store.cache_filename)
        known = loader.tests(columns)
        tests: list[Test] = []
        for place in range(len(known)):
            entry, candidate = known.entry(place), candidate_of(known, place)
            if entry.from_cache_alone and entry.location.relative_to(context.root).as_posix() not in brought:
                again, its_notes = _parse_candidate(context, candidate, loader)
                notes = [*(note for note in notes if note[0] != entry.name), *its_notes]
                tests += again
            else:
                entry.from_cache_alone = False
                tests.append((entry, candidate))
        yield _columns(context, tests), notes


def _unfinished(context: Context, candidate: Candidate) -> Entry:
    """The entry of a test that has none of its own settings, which has those above it, or no exit code."""
    layout = context.layout(candidate) if candidate.lost is None else NativeLayout()
    try:
        settings, repeat = check_settings(layout.read_settings(candidate.path, context.root))
    except SettingsError as error:
        return _without_results(context, candidate, Problem(candidate.lost or str(error)))
    reason = candidate.lost or f"{DID_NOT_FINISH}: there is no exit code"
    return _without_results(context, candidate, Problem(reason), settings, repeat)


def _without_results(
    context: Context, candidate: Candidate, problem: Problem, settings: Mapping[str, Scalar] = {}, repeat: int = 0
) -> Entry:
    """An entry that stands for a test that has no place in the matrix."""
    return Entry(
        settings=settings,
        repeat=repeat,
        location=candidate.path,
        name=relative_name(candidate.where, context.root, candidate.part),
        part=candidate.part,
        exit_code=None,
        finished=False,
        problems=(problem,),
    )


AHEAD = 128
"""So many calls wait or run at a time: what is given to all calls of a big tree would take much memory."""


def in_order(
    executor: concurrent.futures.Executor, function: Callable[[Given], T], given: Iterable[Given]
) -> Iterator[T]:
    """As ``executor.map``, which takes in all that is *given* before the first call."""
    called = collections.deque[concurrent.futures.Future[T]]()
    try:
        for each in given:
            called.append(executor.submit(function, each))
            if len(called) == AHEAD:
                yield called.popleft().result()
        while called:
            yield called.popleft().result()
    finally:
        for future in called:
            future.cancel()


def processes(jobs: int) -> concurrent.futures.Executor:
    """So many processes of this machine, which end when this one does.

    Forked, which is fast, from a process without threads; else spawned.
    """
    threads = "/proc/self/task"  # of Linux; elsewhere a fork may not be safe
    is_alone = os.path.isdir(threads) and len(os.listdir(threads)) == 1
    context = multiprocessing.get_context("fork" if is_alone else "spawn")
    return _Workers(jobs, mp_context=context, initializer=_end_with_the_parent)


class _Workers(concurrent.futures.ProcessPoolExecutor):
    """Processes that don't run the script of who called: it may have no ``if __name__ == "__main__"``.

    What they are given is of importable modules, and a workload is loaded by its name or file.
    """

    def submit(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> concurrent.futures.Future[T]:
        script = sys.modules["__main__"]
        hidden: dict[str, object] = {
            name: vars(script)[name] for name in ("__file__", "__spec__") if name in vars(script)
        }
        vars(script).update(dict.fromkeys(hidden))  # what a started process would learn of it
        try:
            return super().submit(function, *args, **kwargs)
        finally:
            vars(script).update(hidden)


def _end_with_the_parent() -> None:
    """In a worker: end it when the process that started it is gone, however that ended."""
    parent = multiprocessing.parent_process()

    def wait_and_exit() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=wait_and_exit, daemon=True).start()
