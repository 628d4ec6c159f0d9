"""What is left of a benchmark that is gone is found and ended; nobody else's process is."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from benchmark_support.apart import ELSEWHERE, identity_apart
from benchmark_support.stubborn import FORKING, eventually, living

from matrix_benchmarking.benchmark import processes
from matrix_benchmarking.benchmark.processes import MARK

BENCHMARK = f"""
import pathlib, sys, time
{ELSEWHERE}
from matrix_benchmarking.benchmark.processes import GuardedProcess
marks = pathlib.Path(sys.argv[2])
GuardedProcess([sys.executable, "-c", sys.argv[1], str(marks)], directory=marks, output=marks.parent / "log")
time.sleep(600)
"""


@pytest.fixture(autouse=True)
def apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "_identity", identity_apart)


@pytest.fixture
def marks(tmp_path: Path) -> Path:
    (tmp_path / "marks").mkdir()
    return tmp_path / "marks"


@pytest.fixture
def benchmark(marks: Path, repository: Path) -> Iterator[psutil.Popen]:
    """A process that started a command with a worker in a session of its own; its guard was killed."""
    process = psutil.Popen([sys.executable, "-c", BENCHMARK, FORKING, str(marks)], cwd=repository)
    assert eventually(lambda: len(list(marks.iterdir())) == 2)
    (guard,) = process.children()
    guard.kill()
    assert eventually(lambda: len(living(marks)) == 1)
    yield process
    if process.poll() is None:
        process.kill()
    process.wait()
    for pid in living(marks):
        os.kill(pid, signal.SIGKILL)


def test_what_lives_on_after_its_guard_and_its_benchmark_were_killed_is_named_and_ended(
    benchmark: psutil.Popen, marks: Path
) -> None:
    benchmark.kill()
    benchmark.wait()
    (worker,) = living(marks)
    (sentence,) = [each for each in processes.end_leftovers() if f"process {benchmark.pid}," in each]
    program = Path(sys.executable).name
    assert sentence == f"of process {benchmark.pid}, which is gone: {worker} ({program}); ended"
    assert living(marks) == []


def test_a_benchmark_that_was_killed_and_not_yet_buried_is_gone(benchmark: psutil.Popen, marks: Path) -> None:
    benchmark.kill()
    assert eventually(lambda: psutil.Process(benchmark.pid).status() == psutil.STATUS_ZOMBIE)
    processes.end_leftovers()
    assert living(marks) == []


def test_what_belongs_to_a_benchmark_that_lives_is_left_alone(benchmark: psutil.Popen, marks: Path) -> None:
    before = living(marks)
    assert not [each for each in processes.end_leftovers() if f"process {benchmark.pid}," in each]
    assert living(marks) == before


@pytest.mark.parametrize(
    ("mark", "is_ended"),
    [
        ("{user}-{pid}-1-{namespace}:1", True),
        ("{user}-{pid}-{start}-{namespace}:1", False),
        ("1{user}-{pid}-1-{namespace}:1", False),
        ("{user}-{pid}-1-1{namespace}:1", False),
        ("", False),
        ("{user}-{pid}", False),
    ],
    ids=["another has its id by now", "it lives", "another user's", "in another container", "empty", "no mark"],
)
def test_only_what_is_certainly_of_one_that_is_gone_is_ended(mark: str, is_ended: bool) -> None:
    own = processes.new_mark()[MARK].partition(":")[0]
    user, pid, start, namespace = own.split("-")
    text = mark.format(user=user, pid=pid, start=start, namespace=namespace)
    process = subprocess.Popen(["sleep", "60"], env={**os.environ, MARK: text})
    try:
        processes.end_leftovers()
        assert (process.poll() == -signal.SIGTERM) is is_ended, process.poll()
    finally:
        process.kill()
        process.wait()


def test_what_belongs_to_a_benchmark_that_is_hidden_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    hidden = subprocess.Popen(["sleep", "60"])
    identity = processes._identity
    mark = f"{identity(hidden.pid)}:1"

    def unless_hidden(pid: int) -> str:
        if pid == hidden.pid:
            raise FileNotFoundError(f"/proc/{pid}/stat")
        return identity(pid)

    monkeypatch.setattr(processes, "_identity", unless_hidden)
    process = subprocess.Popen(["sleep", "60"], env={**os.environ, MARK: mark})
    try:
        processes.end_leftovers()
        assert process.poll() is None
    finally:
        for each in (hidden, process):
            each.kill()
            each.wait()


def test_a_process_does_not_end_itself_nor_those_that_started_it(repository: Path) -> None:
    own = processes.new_mark()[MARK].partition(":")[0]
    user, pid, _, namespace = own.split("-")
    program = f"{ELSEWHERE}print(processes.end_leftovers())"
    command = ["sh", "-c", '"$@"; echo alive', "sh", sys.executable, "-c", program]
    environment = {**os.environ, MARK: f"{user}-{pid}-1-{namespace}:1", "PYTHONPATH": str(repository)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "alive"
