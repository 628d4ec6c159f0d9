"""What can be told of a test only beside all others of its tree: copies, ids that are there twice, lost settings."""

from __future__ import annotations

import collections
import itertools
import uuid

from ..columns import Columns, Shared, Texts
from ..matrix import Problem
from ..rows import ParsedTests
from ..settings import SETTINGS_FILE

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
    same: dict[str, list[int]] = {}
    for place, test_uuid in enumerate(tests.test_uuid if len(counts) < len(tests) else ()):
        if test_uuid is not None and counts[test_uuid] > 1:
            same.setdefault(test_uuid, []).append(place)
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
