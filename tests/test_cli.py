"""The command line as a person meets it: help, spelling, errors, exit statuses, speed, documentation."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import types
from pathlib import Path

import click
import pytest
from builders import write_test

from matrix_benchmarking import __version__, cli, errors
from matrix_benchmarking.commands import COMMANDS, leaves, load_command, parse

Capture = pytest.CaptureFixture[str]
GROUPS = ("history", "alarms")
WORDS = [list(parts[::2]) if (parts := name.partition("_"))[0] in GROUPS else [name] for name in leaves()]
HEAVY = ["pandas", "numpy", "scipy", "plotly", "dash", "opensearchpy", "psycopg", "pyarrow", "jsonschema"]


@pytest.fixture(autouse=True)
def no_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [name for name in os.environ if name.startswith("MATBENCH_")]:
        if not name.startswith("MATBENCH_TEST_"):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="session")
def cli_tables(repository: Path) -> types.ModuleType:
    """docs/cli_tables.py."""
    spec = importlib.util.spec_from_file_location("cli_tables", repository / "docs" / "cli_tables.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def matbench(repository: Path, *arguments: str, code: str = "") -> subprocess.CompletedProcess[str]:
    """A process of its own, so that what it imports and how it ends can be seen."""
    program = code or "import sys; from matrix_benchmarking.cli import main; sys.exit(main())"
    return subprocess.run(
        [sys.executable, "-c", program, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(repository)},
    )


def test_help_lists_every_command_with_its_line(capsys: Capture) -> None:
    assert cli.main(["--help"]) == 0
    words = capsys.readouterr().out.split()
    for name, help in COMMANDS.items():
        assert name in words
        assert set(help.split()) <= set(words)


def test_without_a_command_the_help_is_shown_and_the_status_is_2(capsys: Capture) -> None:
    assert cli.main([]) == 2
    assert "Commands:" in capsys.readouterr().err


def test_version(capsys: Capture) -> None:
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out == f"matbench, version {__version__}\n"


@pytest.mark.parametrize("words", [*WORDS, ["generate-lts-schema"]])
def test_each_command_has_help_even_with_a_broken_configuration(words: list[str], capsys: Capture) -> None:
    Path("config.yaml").write_text("matbench: [")
    assert cli.main([*words, "--help"]) == 0
    assert "--config FILE" in capsys.readouterr().out


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_module_holds_the_command_of_its_name(name: str) -> None:
    assert load_command(name).name == name


def test_an_unknown_command_names_the_nearest(capsys: Capture) -> None:
    assert cli.main(["prase"]) == 2
    assert capsys.readouterr().err == ("matbench: no command 'prase': did you mean 'parse'? (see 'matbench --help')\n")


def test_an_unknown_option_names_the_nearest(capsys: Capture) -> None:
    assert cli.main(["parse", "--output-matirx=x"]) == 2
    said = capsys.readouterr().err
    assert "'--output-matirx'" in said
    assert "'--output-matrix'" in said
    assert said.count("\n") == 1


def test_an_option_before_the_command_is_told_its_place(capsys: Capture) -> None:
    assert cli.main(["--config", "config.yaml", "parse"]) == 2
    said = "no such option '--config' before the command: options come after it (see 'matbench --help')"
    assert capsys.readouterr().err == f"matbench: {said}\n"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["parse"], "no workload given: use --workload NAME, MATBENCH_WORKLOAD or matbench.workload"),
        (["parse", "--jobs=0"], "invalid value for '--jobs': 0 is not in the range x>=1"),
        (["parse", "--pretty=perhaps"], "invalid value for '--pretty'"),
        (["parse", "--config=nowhere.yaml"], "cannot read nowhere.yaml: No such file or directory"),
        (["parse", "--preset=ci"], "no preset 'ci'"),
        (["generate_lts_schema", "--workload=nowhere.py"], "workload file 'nowhere.py' not found"),
        (["parse", "surplus"], "got unexpected extra argument (surplus)"),
    ],
)
def test_bad_input_is_one_sentence_and_status_2(arguments: list[str], sentence: str, capsys: Capture) -> None:
    assert cli.main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("matbench: ")
    assert sentence in captured.err
    assert captured.err.count("\n") == 1
    assert captured.out == ""


def test_an_unknown_workload_names_the_nearest(
    repository: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(repository)
    assert cli.main(["parse", "--results-dirname=x", "--workload=projects.encoder_bnch.visualizations"]) == 2
    assert "did you mean 'projects.encoder_bench.visualizations'?" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["--debug", "parse"], ["parse", "--debug"]])
def test_debug_shows_the_stack_trace_wherever_it_stands(arguments: list[str], capsys: Capture) -> None:
    Path("config.yaml").write_text("matbench: [")
    assert cli.main(arguments) == 2
    assert "Traceback" in capsys.readouterr().err


def test_the_environment_shows_the_stack_trace_too(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.setenv("MATBENCH_DEBUG", "true")
    assert cli.main(["parse"]) == 2
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "status", "sentence"),
    [
        (KeyboardInterrupt(), 130, "interrupted"),
        (PermissionError(13, "Permission denied", "/x"), 2, "/x: Permission denied"),
        (OSError(28, "No space left on device"), 2, "input or output failed: No space left on device"),
        (click.Abort(), 130, "interrupted"),
    ],
)
def test_whatever_a_command_raises_becomes_a_sentence(
    error: BaseException, status: int, sentence: str, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    def raising(*arguments: object, **options: object) -> None:
        raise error

    monkeypatch.setattr(parse.command, "callback", raising)
    monkeypatch.setattr(cli, "silence_stdout", lambda: None)
    assert cli.main(["parse"]) == status
    assert capsys.readouterr().err.strip() == f"matbench: {sentence}"


def test_a_fault_of_ours_and_one_of_a_workload_are_told_apart(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(parse.command, "callback", lambda **options: errors.did_you_mean(3, []))  # type: ignore[arg-type]
    assert cli.main(["parse"]) == 2
    assert re.match("matbench: internal error: .*run with --debug", capsys.readouterr().err)
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    for name in ("find(self, listing)", "read_settings(self, test, root)", "read_exit_code(self, test)"):
        Path("odd.py").write_text(
            "from matrix_benchmarking.store import BaseStore, NativeLayout\n"
            "from matrix_benchmarking.workload import Workload\n"
            f"class Odd(NativeLayout):\n    def {name}:\n        return {{}}['boo']\n"
            "store = BaseStore(parse_once=lambda results, test_dir: None, layouts=(Odd(),))\n"
            "workload = Workload(name='odd', store=store)\n"
        )
        write_test(tmp_path / "tree" / "a", {"x": 1})
        assert cli.main(["parse", "--workload=odd.py", "--results-dirname=tree"]) == 2
        said = "matbench: code of a workload stopped in odd.py, line 5: KeyError: 'boo' (run with --debug"
        assert capsys.readouterr().err.startswith(said)


def test_a_reader_that_stops_reading_ends_it_quietly(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    def raising(*arguments: object, **options: object) -> None:
        raise BrokenPipeError(32, "Broken pipe")

    monkeypatch.setattr(parse.command, "callback", raising)
    monkeypatch.setattr(cli, "silence_stdout", lambda: None)
    assert cli.main(["parse"]) == 141
    assert capsys.readouterr().err == ""


def test_help_imports_nothing_heavy(repository: Path) -> None:
    code = (
        "import os, sys; from matrix_benchmarking.cli import main\n"
        "for words in sys.argv[1:]:\n"
        "    if os.fork() == 0:\n"
        "        main([*words.split(), '--help'])\n"
        f"        heavy = {HEAVY} if words else [*{HEAVY}, 'pydantic', 'yaml']\n"
        "        print('HEAVY', words, [name for name in heavy if name in sys.modules], flush=True)\n"
        "        os._exit(0)\n"
        "    os.wait()\n"
    )
    asked = ["", *GROUPS, *(" ".join(words) for words in WORDS)]
    said = matbench(repository, *asked, code=code).stdout.splitlines()
    assert [line for line in said if line.startswith("HEAVY ")] == [f"HEAVY {words} []" for words in asked]


def test_the_module_runs_as_a_program(repository: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "matrix_benchmarking", "prase"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(repository)},
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("matbench: no command 'prase'")


def test_the_option_tables_of_the_documentation_are_those_of_the_commands(
    repository: Path, cli_tables: types.ModuleType
) -> None:
    page = (repository / "docs" / "cli.md").read_text(encoding="utf-8")
    assert cli_tables.documented(page) == {"matbench", *leaves()}
    assert cli_tables.rendered(page) == page, "run: python docs/cli_tables.py"
