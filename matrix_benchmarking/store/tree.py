"""The parse of a whole tree into a matrix, in this process or through an executor."""

from __future__ import annotations

import collections
import concurrent.futures
import contextlib
import dataclasses
import functools
import multiprocessing
import os
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from .. import workload as workloads
from ..download_record import brought_alone
from ..errors import MatbenchError, OutputError, SettingsError
from ..filters import Scalar
from ..matrix import DID_NOT_FINISH, Entry, Matrix, Problem
from ..settings import SETTINGS_FILE, check_settings
from ..workload import Workload
from . import cache, tree_index
from .entries import relative_name
from .find import Candidate, NativeLayout, check_root, find_tests, layouts_of
from .parsing import Context, Loader, NotRecognised, tests_of

PROCESSES_PAY_FROM = 200
"""Number of tests from which starting worker processes costs less than it saves."""
NAMED = 20
"""How many tests of which the same was noticed are named."""
_PACKED = (".tar.gz", ".tgz", ".tar", ".zip")
_CHUNK = 100
_CHUNKS_PER_PROCESS = 4

Progress = Callable[[int, int], None]


def parse_tree(
    workload: Workload,
    root: str | os.PathLike[str],
    *,
    jobs: int | None = None,
    executor: concurrent.futures.Executor | None = None,
    ignore_cache: bool = False,
    options: Mapping[str, object] | None = None,
    progress: Progress | None = None,
) -> Matrix:
    """Parse all tests below *root*, and write the index of the tree.

    Args:
        jobs: number of processes; None takes as many as pay for this number of tests.
        executor: parse through this executor instead; its workers import the workload by name.
        ignore_cache: parse the artifacts even if there are caches (also by MATBENCH_STORE_IGNORE_CACHE).
        options: what the run gives to the parsers, as ``test_dir.options``.

    Raises:
        MatbenchError: *root* is no readable directory, or there is no test in it.
    """
    resolved = check_root(root)
    found = find_tests(resolved, workload)
    ignores = ignore_cache or cache.is_ignored()
    context = Context(workload, resolved, cache.source_digest(workload), dict(options or {}), ignores)
    if workload.spec is None:
        executor, jobs = None, 1
    loader = Loader(context)
    tests: list[tuple[Entry, Candidate]] = []
    unfinished: list[Entry] = []
    notes: list[Note] = []
    with _executor(executor, jobs, len(found.tests)) as chosen:
        outcomes = _parse_all(context, found.tests, chosen, progress, loader)
        for candidate, entry, test_notes in _settle(context, outcomes, loader):
            notes.extend(test_notes)
            if entry is not None and entry.finished:
                loader.attach(entry, candidate)
                tests.append((entry, candidate))
            elif entry is not None:
                unfinished.append(entry)
    unfinished.extend(_unfinished(context, candidate) for candidate in found.unfinished)
    if not tests and not unfinished:
        raise _nothing_found(workload, root, resolved, [*found.notes, *_summarise(notes)])
    entries = [entry for entry, _ in tests]
    _mark_without_settings(entries)
    notes.extend(_make_ids_unique(entries))
    _mark_shared_measurements(entries)
    sentences = [*found.notes, *_summarise(notes)]
    sentences += tree_index.save(context, tree_index.Contents(tests, unfinished, sentences))
    return Matrix(entries, unfinished=unfinished, notes=sentences)


def clean(workload: Workload, root: str | os.PathLike[str]) -> int:
    """Remove the caches of all tests below *root*, unfinished ones too, and the tree's index; how many tests had one.

    Caches without artifacts stay, and those of runs that lost their settings: they could not be made again.
    """
    resolved = check_root(root)
    cache.remove(tree_index.places(resolved, workload))
    found = find_tests(resolved, workload)
    candidates = [test for test in (*found.tests, *found.unfinished) if test.layout is not None]
    again = [test for test in candidates if not cache.stands_alone(test, workload)]
    return sum(cache.remove(cache.places(test, workload)) for test in again)


def _nothing_found(
    workload: Workload, root: str | os.PathLike[str], resolved: Path, notes: Sequence[str]
) -> MatbenchError:
    with contextlib.suppress(OutputError):
        cache.remove(tree_index.places(resolved, workload))
    wanted = " or ".join(layout.looks_for for layout in layouts_of(workload))
    beside = (suffix for suffix in _PACKED if Path(f"{resolved}{suffix}").is_file())
    packed = [f"'{root}{suffix}' beside it is not unpacked" for suffix in beside]
    lines = "".join(f"\n  {note}" for note in (*packed, *notes[:5]))
    return MatbenchError(f"no test found in '{root}': workload '{workload.name}' looks for {wanted}{lines}")


def _executor(
    given: concurrent.futures.Executor | None, jobs: int | None, tests: int
) -> contextlib.AbstractContextManager[concurrent.futures.Executor | None]:
    if jobs is None:
        jobs = len(os.sched_getaffinity(0)) if tests >= PROCESSES_PAY_FROM else 1
    if given is not None or jobs <= 1:
        return contextlib.nullcontext(given)
    return concurrent.futures.ProcessPoolExecutor(jobs, mp_context=_process_context(), initializer=_end_with_the_parent)


def _end_with_the_parent() -> None:
    """In a worker: end it when the process that started it is gone, however that ended."""
    parent = multiprocessing.parent_process()

    def wait_and_exit() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=wait_and_exit, daemon=True).start()


def _process_context() -> multiprocessing.context.BaseContext:
    """How workers are started: forked, which is fast, from a process without threads; else spawned."""
    try:
        threads = len(os.listdir("/proc/self/task"))
    except OSError:
        threads = 0
    return multiprocessing.get_context("fork" if threads == 1 else "spawn")


Note = tuple[str, str]
Outcome = tuple[Candidate, Entry | None, list[Note]]
"""A test, its entry (None for a file that holds none), and what was noticed."""


def _parse_all(
    context: Context,
    candidates: Sequence[Candidate],
    executor: concurrent.futures.Executor | None,
    progress: Progress | None,
    loader: Loader,
) -> Iterator[Outcome]:
    """The outcomes of the candidates, in their order; of a file that holds several tests there are as many."""
    processes, total = len(os.sched_getaffinity(0)), len(candidates)
    size = 1 if executor is None else max(1, min(_CHUNK, total // (processes * _CHUNKS_PER_PROCESS)))
    chunks = [candidates[start : start + size] for start in range(0, total, size)]
    outcomes: Iterable[list[Outcome]] = (_parse_chunk(context, chunk, loader) for chunk in chunks)
    done = 0
    try:
        if executor is not None:
            spec = context.workload.spec or context.workload.name
            arguments = (context.root, context.code, dict(context.options), context.ignore_cache)
            outcomes = executor.map(functools.partial(_parse_in_worker, spec, arguments), chunks)
        for chunk, some in zip(chunks, outcomes, strict=True):
            done += len(chunk)
            if progress is not None:
                progress(done, total)
            yield from some
    except concurrent.futures.BrokenExecutor as error:
        raise MatbenchError(
            "a worker process was ended from outside (out of memory?); try again with `jobs` 1"
        ) from error


def _parse_in_worker(
    spec: str, arguments: tuple[Path, bytes, Mapping[str, object], bool], chunk: Sequence[Candidate]
) -> list[Outcome]:
    return _parse_chunk(Context(_workload(spec), *arguments), chunk)


@functools.lru_cache(maxsize=4)
def _workload(spec: str) -> Workload:
    return workloads.load(spec)


def _parse_chunk(context: Context, chunk: Sequence[Candidate], loader: Loader | None = None) -> list[Outcome]:
    outcomes: list[Outcome] = []
    for candidate in chunk:
        try:
            for each, parsed in tests_of(context, candidate):
                if isinstance(parsed, SettingsError):
                    outcomes.append(_unreadable(context, each, parsed))
                    continue
                if loader is not None:
                    loader.keep(each, parsed)
                outcomes.append((each, parsed.entry, [(parsed.entry.name, note) for note in parsed.notes]))
        except NotRecognised as error:
            outcomes.append((candidate, None, [(relative_name(candidate.path, context.root), f"left out, {error}")]))
        except SettingsError as error:
            outcomes.append(_unreadable(context, candidate, error))
    return outcomes


def _unreadable(context: Context, candidate: Candidate, error: SettingsError) -> Outcome:
    return candidate, _without_results(context, candidate, Problem(str(error))), []


def _settle(context: Context, outcomes: Iterable[Outcome], loader: Loader) -> Iterator[Outcome]:
    """*outcomes*, in which a test that only its cache still knows was brought so, or is parsed without the cache."""
    brought: set[str] | None = None
    for outcome in outcomes:
        candidate, entry, _ = outcome
        if entry is None or not entry.from_cache_alone:
            yield outcome
            continue
        if brought is None:
            brought = brought_alone(context.root, context.workload.store.cache_filename)
        if candidate.path.relative_to(context.root).as_posix() in brought:
            entry.from_cache_alone = False
            yield outcome
        else:
            yield from _parse_chunk(context, [dataclasses.replace(candidate, cache_counts=False)], loader)


def _mark_without_settings(entries: Sequence[Entry]) -> None:
    """Name a test that has no settings at all as a problem where others have some: where it stands is not known."""
    without = [entry for entry in entries if not entry.settings]
    if len(without) < len(entries):
        reason = "gives no settings, and no file above it does; the other tests have some"
        for entry in without:
            entry.problems = (*entry.problems, Problem(reason, SETTINGS_FILE))


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
        name=relative_name(candidate.path, context.root, candidate.part),
        part=candidate.part,
        exit_code=None,
        finished=False,
        problems=(problem,),
    )


def _make_ids_unique(entries: Sequence[Entry]) -> list[Note]:
    """Tell identical copies apart by their place; two tests that carry the same id stay, and are noted."""
    by_id: dict[str | None, list[Entry]] = {}
    for entry in entries:
        by_id.setdefault(entry.test_uuid, []).append(entry)
    notes = []
    for test_uuid, same in by_id.items():
        if len(same) == 1:
            continue
        for entry in same:
            if not entry.has_own_uuid:
                entry.test_uuid = str(uuid.uuid5(uuid.UUID(test_uuid), entry.name))
        own = [entry.name for entry in same if entry.has_own_uuid]
        if len(own) > 1:
            notes.append((own[0], f"has the same .uuid as {', '.join(own[1:4])}: a history keeps only one of them"))
    return notes


def _mark_shared_measurements(entries: Sequence[Entry]) -> None:
    """Mark the measurements that several tests of the tree have: they read the same files, or are copies."""
    counts = collections.Counter(entry.measurement for entry in entries)
    for entry in entries:
        if entry.measurement is not None and counts[entry.measurement] > 1:
            entry.measurement += "*"


def _summarise(notes: Sequence[Note]) -> list[str]:
    """One sentence for what was noticed at several tests; the first NAMED of them are named."""
    tests: dict[str, list[str]] = {}
    for name, text in notes:
        tests.setdefault(text, []).append(name)
    return [f"{_listed(names)}: {text}" for text, names in tests.items()]


def _listed(names: Sequence[str]) -> str:
    """The *names*; of more than NAMED the directories, with how many are in each."""
    if len(names) > NAMED:
        counts = collections.Counter(name.rpartition("/")[0] for name in names)
        named = {name.rpartition("/")[0]: name for name in names}
        names = [named[place] if n == 1 else f"{n} in {place or 'the directory'}" for place, n in counts.items()]
    more = f" and {len(names) - NAMED} more places" if len(names) > NAMED else ""
    return f"{', '.join(names[:NAMED])}{more}"
