"""Results and payloads of entries, loaded when they are asked for."""

from __future__ import annotations

import dataclasses
import functools
import os
import types
from collections import OrderedDict
from pathlib import Path

from ..errors import MatbenchError, SettingsError
from ..matrix import Entry
from .find import Candidate
from .parsing import Context, ParsedTest, parse_test, relative_name
from .payload import build_payload

_KEPT_TESTS = 8
_KEPT_BYTES = 16 << 20
"""Results are kept up to this size (packed; as objects they take a few times that), or of so many tests."""


class Loader:
    """Loads results and payloads of the entries of one tree on demand, and keeps some of them.

    Where all results of a tree fit, its tests are not parsed again after the parse that made their entries.
    """

    def __init__(self, context: Context) -> None:
        self._context = dataclasses.replace(context, ignore_cache=False)
        self._kept: OrderedDict[Path, ParsedTest] = OrderedDict()
        self._bytes = 0

    def attach(self, entry: Entry, candidate: Candidate) -> None:
        """Give *entry* the ways to its results and payload, which raise MatbenchError where its test is gone."""
        entry.load_results = functools.partial(self._results, candidate)
        entry.load_lts = functools.partial(self._lts, entry, candidate)

    def keep(self, candidate: Candidate, parsed: ParsedTest) -> None:
        """Keep what was just parsed, where there is room for it."""
        if self._bytes + parsed.packed_bytes <= _KEPT_BYTES:
            self._add(candidate, parsed)

    def _results(self, candidate: Candidate) -> types.SimpleNamespace:
        return self._load(candidate).results

    def _lts(self, entry: Entry, candidate: Candidate) -> types.SimpleNamespace:
        payload, _ = build_payload(self._context.workload, entry, self._load(candidate).results)
        return payload

    def _load(self, candidate: Candidate) -> ParsedTest:
        self._check(candidate)
        parsed = self._kept.get(candidate.path)
        if parsed is None:
            parsed = self._parse(candidate)
            self._add(candidate, parsed)
            while self._bytes > _KEPT_BYTES and len(self._kept) > _KEPT_TESTS:
                self._bytes -= self._kept.popitem(last=False)[1].packed_bytes
        return parsed

    def _add(self, candidate: Candidate, parsed: ParsedTest) -> None:
        before = self._kept.pop(candidate.path, None)
        self._bytes += parsed.packed_bytes - (before.packed_bytes if before else 0)
        self._kept[candidate.path] = parsed

    def _parse(self, candidate: Candidate) -> ParsedTest:
        try:
            return parse_test(self._context, candidate)
        except SettingsError as error:
            raise self._error(candidate, error) from error

    def _check(self, candidate: Candidate) -> None:
        """Refuse a test that is gone, whose lenient parse would find nothing and say nothing."""
        target = os.path.realpath(candidate.path)
        if not os.path.exists(target):
            problem = (
                f"'{candidate.path}' is not there any more, it was removed or renamed after the tree was parsed; "
                "parse it again"
            )
        elif os.path.commonpath([target, self._context.root]) != str(self._context.root):
            problem = f"'{candidate.path}' leads to {target}, which is outside the results directory"
        else:
            return
        raise self._error(candidate, problem)

    def _error(self, candidate: Candidate, problem: object) -> MatbenchError:
        name = relative_name(candidate.path, self._context.root)
        return MatbenchError(f"{name}: its results can't be loaded: {problem}")
