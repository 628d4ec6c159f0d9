"""Results and payloads of the tests of a tree, loaded when somebody looks at them."""

from __future__ import annotations

import dataclasses
import os
import types
from collections import OrderedDict

from ..columns import Columns
from ..errors import MatbenchError, SettingsError
from ..rows import ParsedTests
from .entries import build_payload, relative_name
from .find import Candidate
from .parsing import Context, ParsedTest, tests_of

_KEPT_TESTS, _KEPT_BYTES = 8, 4 << 20
"""Results are kept of so many tests, or up to this size (packed; as objects they take a few times that)."""


def candidate_of(tests: ParsedTests, place: int) -> Candidate:
    """How the test with this place was found."""
    entry = tests.entry(place)
    layout, is_file = tests.columns.layout[place], tests.columns.is_file[place]
    counts = not entry.from_cache_alone
    return Candidate(entry.location, layout, is_file=is_file, cache_counts=counts, part=entry.part)


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
        name = relative_name(candidate.path, self._context.root, candidate.part)
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
        target = os.path.realpath(candidate.path)
        if not os.path.exists(target):
            return f"'{candidate.path}' is not there any more, it was removed or renamed; parse it again"
        if os.path.commonpath([target, self._context.root]) != str(self._context.root):
            return f"'{candidate.path}' leads to {target}, which is outside the results directory"
        return None
