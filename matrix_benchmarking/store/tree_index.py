"""The tests of a tree together: their results on demand, what only all of them can tell, and the index of the tree.

That is one file with what the last complete parse found, but for results and payloads: the columns of the tests as they
are. All types are checked while it is read: it may come from a stranger.
"""

from __future__ import annotations

import collections
import dataclasses
import itertools
import operator
import os
import re
import sys
import types
import uuid
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from .. import workload_code
from ..bucket import BucketPath
from ..columns import Columns, Shared, Texts
from ..errors import MatbenchError, SettingsError
from ..files import INDEX_PREFIX, read_regular
from ..grouped import grouped
from ..matrix import Matrix, Problem
from ..rows import ParsedTests, Rows
from ..settings import SETTINGS_FILE
from ..workload import Workload
from . import cache, codec
from .cache import Envelope
from .codec import BrokenCache
from .entries import build_payload, relative_name
from .find import Candidate, check_root, layouts_of
from .fingerprint import digest
from .in_bucket import BucketTree
from .parsing import Context, ParsedTest, tests_of

ENVELOPE = Envelope(b"matbench-index", 11, "matbench index")
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,99}")


class Contents(msgspec.Struct):
    """What an index holds of a tree: its tests, unfinished ones among them, and notes."""

    tests: Columns
    notes: list[str]


def read_index(
    workload: Workload, root: str | os.PathLike[str], *, options: Mapping[str, object] | None = None
) -> Matrix | None:
    """The tree at *root* as its last complete parse left it, from its index, without a look at its tests.

    None if there is no index that can be used: it is damaged, of another version of the engine, of another workload or
    source, or of other parser *options*; or if MATBENCH_STORE_IGNORE_CACHE says so.

    Raises:
        MatbenchError: *root* is no readable directory.
    """
    resolved = check_root(root)
    if cache.is_ignored():
        return None
    tree = BucketTree(resolved) if isinstance(resolved, BucketPath) else None
    code = workload_code.source_digest(workload.source)
    context = Context(workload, resolved, code, dict(options or {}), tree=tree)
    try:
        latest = _latest(context)
        if latest is None:
            return None
        contents = latest[1]
        contents.tests.check(len(layouts_of(workload)))
    except (codec.CodecError, ValueError, KeyError, TypeError):
        return None
    return matrix_of(Loader(context).tests(contents.tests), contents.notes)


def matrix_of(tests: ParsedTests, notes: Sequence[str]) -> Matrix:
    """*tests* with their *notes*, the unfinished ones apart."""
    rows = Rows(tests)
    is_finished = list(tests.columns.finished)
    unfinished = rows.where(map(operator.not_, is_finished))
    return Matrix(rows.where(is_finished) if len(unfinished) else rows, unfinished=unfinished, notes=notes)


def save(context: Context, contents: Contents) -> list[str]:
    """Write the index of a parsed tree, unless it is there already; sentences on what was wrong with that."""
    root, notes = context.root, []
    try:
        content = ENVELOPE.seal(_stamp(context), contents)
        latest = _latest(context)
        if latest is not None and latest[0].startswith(content[0]):  # in which there is a digest of the rest
            return []
    except BrokenCache as broken:
        notes.append(f"the index of the tree is ignored: {broken}")
    except codec.CodecError as error:
        return [f"no index of the tree is kept: the tests hold {error}"]
    *beside, user = places(root, context.workload)
    paths = [*beside, user] if _may_be_beside(contents, root) else [user]
    return [*notes, *cache.write_first(paths, content, "index of the tree")]


def _may_be_beside(contents: Contents, root: Path) -> bool:
    """False for a flat tree and one that is itself a test: files in them belong to tests."""
    tests = contents.tests
    return (
        not any(tests.is_file.distinct)
        and b"" not in tests.path.raws()
        and not any(
            os.path.isfile(root / os.fsdecode(path))
            for path, finished in zip(tests.path.raws(), tests.finished, strict=True)
            if not finished
        )
    )


def places(root: Path, workload: Workload) -> list[str]:
    """Where the index of the tree at *root* may be: beside its tests, if that is no bucket, and in the user's cache."""
    name = workload.name
    if not _PLAIN_NAME.fullmatch(name):
        name = digest(name.encode("utf-8", "surrogatepass")).hex()
    beside = [] if isinstance(root, BucketPath) else [f"{root}/{INDEX_PREFIX}{name}"]
    return [*beside, cache.in_user_directory(root, workload, "index")]


def _latest(context: Context) -> tuple[bytes, Contents] | None:
    """The newer of the files in the two places, and what it holds; None if none is of this parse's format and stamp."""
    kept, stamp = list[tuple[int, bytes, Contents]](), _stamp(context)
    for path in places(context.root, context.workload):
        try:
            content, time_ns = read_regular(path), os.stat(path).st_mtime_ns
        except OSError:
            continue
        if (contents := ENVELOPE.open(content, stamp, Contents)) is not None:
            kept.append((time_ns, content, contents))
    return max(kept, key=lambda one: one[0])[1:] if kept else None


def _stamp(context: Context) -> cache.Stamp:
    return context.workload.name, context.code, digest(codec.pack(_in_order(context.options))), sys.byteorder


def _in_order(value: object) -> object:
    """*value* with its mappings as sorted pairs: the order of prices is no difference."""
    if not isinstance(value, Mapping):
        return value
    return {"mapping": sorted((codec.pack(name), codec.pack(_in_order(item))) for name, item in value.items())}


_KEPT_TESTS, _KEPT_BYTES = 8, 4 << 20
"""Results are kept of so many tests, or up to this size (packed; as objects they take a few times that)."""


def candidate_of(tests: ParsedTests, place: int) -> Candidate:
    """How the test with this place was found."""
    entry = tests.entry(place)
    layout, is_file = tests.columns.layout[place], tests.columns.is_file[place]
    counts = not entry.from_cache_alone
    return Candidate(str(entry.location), layout, is_file=is_file, cache_counts=counts, part=entry.part)


class Loader:
    """Loads results and payloads of the entries of one tree on demand, and keeps some of them."""

    def __init__(self, context: Context) -> None:
        self._context = dataclasses.replace(context, ignore_cache=False)
        self._kept: OrderedDict[Candidate, ParsedTest] = OrderedDict()
        self._bytes = 0

    def tests(self, columns: Columns) -> ParsedTests:
        """The tests of the tree, whose results and payloads load from here; a MatbenchError where one is gone."""
        tests = ParsedTests(
            columns,
            self._context.root,
            lambda place: self._results(candidate_of(tests, place)),
            lambda entry: build_payload(self._context.workload, entry, entry.results)[0],
        )
        return tests

    def keep(self, candidate: Candidate, parsed: ParsedTest) -> None:
        """Keep what was just parsed, where there is room for it."""
        if self._bytes + parsed.packed_bytes <= _KEPT_BYTES:
            self._add(candidate, parsed)

    def _add(self, candidate: Candidate, parsed: ParsedTest) -> None:
        before = self._kept.pop(candidate, None)
        self._bytes += parsed.packed_bytes - (before.packed_bytes if before else 0)
        self._kept[candidate] = parsed

    def _results(self, candidate: Candidate) -> types.SimpleNamespace:
        problem = self._gone(candidate)
        if problem is None:
            try:
                return (self._kept.get(candidate) or self._parse(candidate)).results
            except SettingsError as error:
                problem = str(error)
        name = relative_name(candidate.where, self._context.root, candidate.part)
        raise MatbenchError(f"{name}: its results can't be loaded: {problem}")

    def _parse(self, candidate: Candidate) -> ParsedTest:
        """*candidate* again; of a file with several tests those that follow are kept too, as far as there is room."""
        with self._context.at_hand([candidate]) as (context, (here,)):
            tests = iter(tests_of(context, here))
            found, wanted = next(tests)
            if isinstance(wanted, SettingsError):
                raise wanted
            if found != here:
                raise SettingsError("the file doesn't hold it any more; parse the tree again")
            self._add(candidate, wanted)
            room = _KEPT_BYTES - wanted.packed_bytes
            for each, parsed in tests:
                if isinstance(parsed, SettingsError) or (room := room - parsed.packed_bytes) < 0:
                    break
                self._add(context.found(each), parsed)
        while self._bytes > _KEPT_BYTES and len(self._kept) > _KEPT_TESTS:
            self._bytes -= self._kept.popitem(last=False)[1].packed_bytes
        return wanted

    def _gone(self, candidate: Candidate) -> str | None:
        """What is wrong with a test that is gone, whose lenient parse would find nothing and say nothing."""
        if self._context.tree is not None:
            return None
        target = os.path.realpath(candidate.where)
        if not os.path.exists(target):
            return f"'{candidate.where}' is not there any more, it was removed or renamed; parse it again"
        if os.path.commonpath([target, self._context.root]) != str(self._context.root):
            return f"'{candidate.where}' leads to {target}, which is outside the results directory"
        return None


Note = tuple[str, str]
"""The name of a test, and what was noticed there."""


def mark_without_settings(tests: Columns) -> None:
    """Name a test that has no settings at all as a problem where others have some: where it stands is not known."""
    named = [bool(names) or not finished for names, finished in zip(tests.names, tests.finished, strict=True)]
    if not all(named) and any(itertools.compress(tests.names, tests.finished)):
        reason = "gives no settings, and no file above it does; the other tests have some"
        problem = Problem(reason, SETTINGS_FILE)
        pairs = zip(tests.problems, named, strict=True)
        tests.problems = Shared.of([known if has else (*known, problem) for known, has in pairs])


def make_ids_unique(known: ParsedTests) -> list[Note]:
    """Tell identical copies apart by their place; two tests that carry the same id stay, and are noted."""
    tests, notes = known.columns, []
    counts = collections.Counter(tests.test_uuid)
    numbered = enumerate(tests.test_uuid if len(counts) < len(tests) else ())
    same = grouped((test_uuid, place) for place, test_uuid in numbered if test_uuid and counts[test_uuid] > 1)
    ids = list(tests.test_uuid) if same else []
    for test_uuid, places in same.items():
        own = [known.name(place) for place in places if tests.has_own_uuid[place]]
        for place in places:
            if not tests.has_own_uuid[place]:
                ids[place] = str(uuid.uuid5(uuid.UUID(test_uuid), known.name(place)))
        if len(own) > 1:
            notes.append((own[0], f"has the same .uuid as {', '.join(own[1:4])}: a history keeps only one of them"))
    if same:
        tests.test_uuid = Texts.of(ids)
    return notes


def mark_shared_measurements(tests: Columns) -> None:
    """Mark the measurements that several tests of the tree have: they read the same files, or are copies."""
    counts = collections.Counter(tests.measurement)
    if len(counts) < len(tests):
        marked = (one if one is None or counts[one] == 1 else f"{one}*" for one in tests.measurement)
        tests.measurement = Texts.of(marked)


NAMED = 20
"""How many tests of which the same was noticed are named."""


def summarise(notes: Sequence[Note]) -> list[str]:
    """One sentence for what was noticed at several tests; the first NAMED of them are named."""
    return [f"{_listed(names)}: {text}" for text, names in grouped((text, name) for name, text in notes).items()]


def _listed(names: Sequence[str]) -> str:
    """The *names*; of more than NAMED the directories, with how many are in each."""
    if len(names) > NAMED:
        counts = collections.Counter(name.rpartition("/")[0] for name in names)
        named = {name.rpartition("/")[0]: name for name in names}
        names = [named[place] if n == 1 else f"{n} in {place or 'the directory'}" for place, n in counts.items()]
    more = f" and {len(names) - NAMED} more places" if len(names) > NAMED else ""
    return f"{', '.join(names[:NAMED])}{more}"
