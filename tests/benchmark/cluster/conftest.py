"""A directory for each test of a benchmark on several machines, and a real scheduler."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from benchmark_support.machines import Machines


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in [name for name in os.environ if name.startswith("MATBENCH_") and "TEST" not in name]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def machines(place: Path) -> Iterator[Machines]:
    with Machines(place / "logs") as found:
        found.scheduler()
        yield found
