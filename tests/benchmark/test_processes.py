"""Guarded processes: they end with us, whoever kills whom."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from benchmark_support.stubborn import STUBBORN, eventually, living

from matrix_benchmarking.benchmark.processes import GuardedProcess, ProcessError, environment, which


def start(tmp_path: Path, *command: str, **options: object) -> GuardedProcess:
    return GuardedProcess(command, directory=tmp_path, output=tmp_path / "log", **options)  # type: ignore[arg-type]


def test_the_exit_status_and_the_output_are_those_of_the_command(tmp_path):
    process = start(tmp_path, "sh", "-c", "echo said; echo wrong >&2; exit 7", errors=tmp_path / "errors")
    assert process.wait(10) == 7
    assert (tmp_path / "log").read_text() == "said\n"
    assert (tmp_path / "errors").read_text() == "wrong\n"


def test_a_command_that_is_killed_has_the_status_of_a_shell(tmp_path):
    process = start(tmp_path, "sh", "-c", "kill -KILL $$")
    assert process.wait(10) == 128 + signal.SIGKILL


def test_a_command_that_runs_longer_than_it_may_is_none(tmp_path):
    process = start(tmp_path, "sleep", "60")
    assert process.wait(0.2) is None
    assert process.stop()
    assert process.stop()


def test_a_clean_end_is_offered_first(tmp_path):
    script = "trap 'echo interrupted; exit 5' INT; echo ready; while :; do sleep 0.05; done"
    process = start(tmp_path, "bash", "-c", script)
    assert eventually(lambda: (tmp_path / "log").read_text() == "ready\n")
    process.stop()
    assert (process.poll(), (tmp_path / "log").read_text()) == (5, "ready\ninterrupted\n")


def test_what_ignores_every_request_and_hides_in_another_session_is_killed(tmp_path):
    marks = tmp_path / "marks"
    marks.mkdir()
    process = start(tmp_path, sys.executable, "-c", STUBBORN, str(marks), grace_s=0.2)
    assert eventually(lambda: len(list(marks.iterdir())) == 2)
    assert len(process.process_ids()) == 2
    assert process.stop()
    assert living(marks) == []


def test_workers_end_when_their_main_process_dies(tmp_path):
    marks = tmp_path / "marks"
    marks.mkdir()
    process = start(tmp_path, sys.executable, "-c", STUBBORN, str(marks), grace_s=0.2)
    assert eventually(lambda: len(list(marks.iterdir())) == 2)
    os.kill(process.process_ids()[0], signal.SIGKILL)
    assert process.wait(15) == 128 + signal.SIGKILL
    assert living(marks) == []


def test_workers_whose_guard_was_killed_are_ended_with_the_command(tmp_path):
    marks = tmp_path / "marks"
    marks.mkdir()
    process = start(tmp_path, sys.executable, "-c", STUBBORN, str(marks))
    assert eventually(lambda: len(list(marks.iterdir())) == 2)
    os.kill(psutil.Process(process.process_ids()[0]).ppid(), signal.SIGKILL)
    assert process.wait(30) == 128 + signal.SIGKILL
    assert living(marks) == []


def test_nothing_is_left_when_we_are_killed(tmp_path, repository):
    marks = tmp_path / "marks"
    marks.mkdir()
    program = (
        "import sys, time, pathlib; from matrix_benchmarking.benchmark.processes import GuardedProcess\n"
        "GuardedProcess([sys.executable, '-c', sys.argv[1], sys.argv[2]], directory=pathlib.Path('/'), "
        "output=pathlib.Path(sys.argv[2]).parent / 'log', grace_s=0.2); time.sleep(600)"
    )
    command = [sys.executable, "-c", program, STUBBORN, str(marks)]
    benchmark = subprocess.Popen(command, cwd=repository, start_new_session=True)
    assert eventually(lambda: len(list(marks.iterdir())) == 2)
    assert len(living(marks)) == 2
    os.killpg(benchmark.pid, signal.SIGKILL)
    benchmark.wait()
    assert eventually(lambda: living(marks) == [])


def test_an_interrupt_from_the_keyboard_reaches_only_the_benchmark(tmp_path):
    process = start(tmp_path, "sleep", "60")
    assert eventually(process.process_ids)
    (sleeper,) = process.process_ids()
    assert os.getsid(sleeper) != os.getsid(0)
    assert os.getpgid(sleeper) != os.getpgid(0)
    process.stop()


def test_a_command_gets_its_cores_and_its_environment(tmp_path):
    show = "import os; print(os.environ['COLOUR'], sorted(os.sched_getaffinity(0)))"
    core = min(os.sched_getaffinity(0))
    process = start(tmp_path, sys.executable, "-c", show, cpus=[core], extra_environment={"COLOUR": "blue"})
    assert process.wait(10) == 0
    assert (tmp_path / "log").read_text() == f"blue [{core}]\n"


@pytest.mark.parametrize(
    ("command", "options", "sentence"),
    [
        (["no-such-program"], {}, "there is no program 'no-such-program'"),
        (["./no-such-program"], {}, "does not exist"),
        (["true"], {"cpus": [4096]}, "core 4096 is not one that may be used here"),
    ],
)
def test_what_cannot_be_started_is_a_sentence(tmp_path, command, options, sentence):
    with pytest.raises(ProcessError, match=sentence):
        start(tmp_path, *command, **options)


def test_a_directory_that_is_not_there_is_a_sentence(tmp_path):
    with pytest.raises(ProcessError, match="does not exist"):
        start(tmp_path / "absent", "true")


def test_programs_of_this_virtual_environment_come_first():
    assert which("python") == str(Path(sys.executable).parent / "python")
    assert environment()["PATH"].split(os.pathsep)[0] == str(Path(sys.executable).parent)
