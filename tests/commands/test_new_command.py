"""``matbench new``: what it writes works as it is, what it prints can be typed, and nothing is ever overwritten."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from matrix_benchmarking import scaffold
from matrix_benchmarking.cli import main

Capture = pytest.CaptureFixture[str]
WITHOUT_PYTEST = (
    "python -c \"import runpy, sys; sys.modules['pytest'] = None; sys.argv = sys.argv[1:]; "
    "runpy.run_path(sys.argv[0], run_name='__main__')\""
)
"""Python as a plain installation has it."""


def typed(command: str, directory: Path, *programs: Path) -> subprocess.CompletedProcess[str]:
    """*command* as a person types it in *directory*; the folders *programs* are at the head of PATH."""
    path = os.pathsep.join([*map(str, programs), str(Path(sys.executable).parent), os.environ["PATH"]])
    cache = str(directory / ".cache")
    quick = {"PYTHONDONTWRITEBYTECODE": "1", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    environment = {**os.environ, "PATH": path, "XDG_CACHE_HOME": cache, **quick}
    return subprocess.run(command, shell=True, cwd=directory, env=environment, capture_output=True, text=True)


def files(directory: Path) -> set[str]:
    return {path.relative_to(directory).as_posix() for path in directory.rglob("*") if path.is_file()}


def test_each_printed_command_works_and_so_does_the_test_that_was_written(
    directory: Path, forked_matbench: Path, capsys: Capture
) -> None:
    assert main(["new", "hash_bench"]) == 0
    said = capsys.readouterr()
    assert said.err == "made hash_bench (31 files); README.md says what they are. Next:\n"
    commands = said.out.splitlines()
    assert [command.split()[1] for command in commands] == ["benchmark", "parse", "visualize"]
    outputs = []
    (test,) = re.findall("`(python .*)`", Path("hash_bench/README.md").read_text())
    plain = f"{WITHOUT_PYTEST} {test.removeprefix('python ')}"
    for command in [*commands, plain, "python -m pytest -q -p no:cacheprovider hash_bench"]:
        done = typed(command, directory, forked_matbench)
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        outputs.append(done.stdout + done.stderr)
    assert "12 points measured" in outputs[0]
    assert "Highest throughput" in outputs[1]
    assert "report/index.html" in outputs[2]
    assert re.search(r"Ran 3 tests in .*\n\nOK\n$", outputs[3])
    assert "3 passed" in outputs[4]


def test_the_commands_of_its_readme_keep_a_history_and_judge_it(directory: Path, forked_matbench: Path) -> None:
    main(["new", "hash_bench"])
    readme = Path("hash_bench/README.md").read_text()
    commands = [line.strip() for line in readme.splitlines() if line.startswith("    ")]
    assert len(commands) == 4
    assert len(readme.splitlines()) <= 20
    few = "--filters=block_bytes=1024,repeat=0"
    assert typed(f"{commands[0]} {few}", directory, forked_matbench).returncode == 0
    for command in commands[1:]:
        done = typed(command, directory, forked_matbench)
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"


def test_the_workload_has_at_most_60_lines(directory: Path) -> None:
    main(["new", "hash_bench"])
    assert len(Path("hash_bench/workload.py").read_text().splitlines()) <= 60


def test_the_name_of_the_template_is_nowhere_left(directory: Path) -> None:
    main(["new", "hash_bench"])
    texts = [path.read_text() for path in Path("hash_bench").rglob("*") if path.is_file()]
    assert not [text for text in texts if scaffold.TEMPLATE_NAME in text]


def test_another_place_is_in_the_printed_commands_quoted_for_the_shell(directory: Path, capsys: Capture) -> None:
    assert main(["new", "hash_bench", "--dest=my benchmarks/here"]) == 0
    first, second, _ = capsys.readouterr().out.splitlines()
    assert first == "matbench benchmark 'my benchmarks/here/hash_bench/benchmark.yaml' --run"
    done = typed(f"{first} --filters=repeat=0,block_bytes=1024 && {second}", directory)
    assert done.returncode == 0, done.stderr


def test_a_dry_run_lists_the_files_and_writes_nothing(directory: Path, capsys: Capture) -> None:
    before = files(directory)
    assert main(["new", "hash_bench", "--dry-run"]) == 0
    listed = capsys.readouterr().out.splitlines()
    assert files(directory) == before
    assert main(["new", "hash_bench"]) == 0
    assert files(directory) - before == set(listed)


@pytest.mark.parametrize(
    ("name", "suggested"),
    [
        ("Hash-Bench", "hash_bench"),
        ("hashBench", "hash_bench"),
        ("9lives", "lives"),
        ("_x", "x"),
        ("../evil", "evil"),
        ("class", "class_bench"),
        ("ヘ", "new_bench"),
        ("a" * 41, "a" * 40),
        ("hash bench\n", "hash_bench"),
    ],
)
def test_a_name_that_is_none_is_refused_with_a_suggestion_that_works(
    directory: Path, name: str, suggested: str, capsys: Capture
) -> None:
    before = files(directory)
    assert main(["new", name]) == 2
    assert f"how about '{suggested}'?" in capsys.readouterr().err
    assert files(directory) == before
    scaffold.check_name(suggested)


def test_the_name_of_a_workload_that_there_is_would_mix_two_histories(directory: Path, capsys: Capture) -> None:
    assert main(["new", "encoder_bench"]) == 2
    assert capsys.readouterr().err == "matbench: there is a workload 'encoder_bench' already: choose another name\n"


@pytest.mark.parametrize("option", [[], ["--dry-run"]])
@pytest.mark.parametrize("existing", ["directory", "file", "dangling link"])
def test_what_exists_is_never_touched(directory: Path, existing: str, option: list[str], capsys: Capture) -> None:
    place = directory / "hash_bench"
    if existing == "directory":
        place.mkdir()
    elif existing == "file":
        place.write_text("mine")
    else:
        place.symlink_to("nowhere")
    before = sorted(os.listdir(directory))
    assert main(["new", "hash_bench", *option]) == 2
    assert "hash_bench is there already" in capsys.readouterr().err
    assert sorted(os.listdir(directory)) == before
    assert existing != "file" or place.read_text() == "mine"
    assert existing != "directory" or not os.listdir(place)


def test_a_place_that_is_a_file_is_a_sentence(directory: Path, capsys: Capture) -> None:
    assert main(["new", "hash_bench", "--dest=tiny.py"]) == 2
    assert capsys.readouterr().err == "matbench: cannot write tiny.py/hash_bench: tiny.py is not a directory\n"


def test_a_failure_halfway_leaves_nothing(directory: Path, capsys: Capture) -> None:
    # The paths of the sample get longer than the system allows, those of the other files don't.
    deep = directory
    while len(str(deep)) < 4096 - 260:
        deep /= "d" * 200
    deep /= "e" * (4096 - 55 - len(str(deep)))
    assert main(["new", "hash_bench", f"--dest={deep}"]) == 2
    said = capsys.readouterr().err
    assert said.endswith("hash_bench: File name too long\n")
    assert os.listdir(deep) == []


@pytest.fixture
def checkout(directory: Path, repository: Path) -> Path:
    """What a checkout has beside the engine, as far as a new workload touches it."""
    for name in ("projects/__init__.py", "setup.cfg"):
        (directory / name).parent.mkdir(exist_ok=True)
        shutil.copy(repository / name, directory / name)
    return directory


def test_in_a_checkout_code_sample_and_test_go_to_their_places_and_work(
    checkout: Path, forked_matbench: Path, capsys: Capture
) -> None:
    before = files(checkout)
    assert main(["new", "hash_bench", "--in-checkout"]) == 0
    said = capsys.readouterr()
    assert "add matbench_projects.hash_bench and matbench_projects.hash_bench.visualizations to setup.cfg" in said.err
    written = files(checkout) - before
    assert {path for path in written if not path.startswith("data/samples/hash_bench/")} == {
        "projects/hash_bench/README.md",
        "projects/hash_bench/__init__.py",
        "projects/hash_bench/benchmark.yaml",
        "projects/hash_bench/measure.py",
        "projects/hash_bench/visualizations/__init__.py",
        "tests/projects/hash_bench/test_hash_bench.py",
    }
    for command in [*said.out.splitlines(), "python -m pytest -q -p no:cacheprovider tests/projects/hash_bench"]:
        done = typed(command, checkout, forked_matbench)
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"


def test_in_a_checkout_every_path_that_the_files_mention_is_the_one_there(checkout: Path) -> None:
    template = "".join(path.read_text() for path in scaffold.TEMPLATE.glob("*") if path.is_file())
    assert [path for path in scaffold.IN_CHECKOUT if path not in template] == []
    main(["new", "hash_bench", "--in-checkout"])
    readme = Path("projects/hash_bench/README.md").read_text()
    assert "workload.py" not in readme
    assert "-m pytest tests/projects/hash_bench" in readme


def test_in_a_checkout_nothing_is_written_if_one_of_the_places_is_taken(checkout: Path, capsys: Capture) -> None:
    Path("data/samples/hash_bench").mkdir(parents=True)
    before = files(checkout)
    assert main(["new", "hash_bench", "--in-checkout"]) == 2
    assert "data/samples/hash_bench is there already" in capsys.readouterr().err
    assert files(checkout) == before


def test_where_there_is_no_checkout_it_says_so(directory: Path, capsys: Capture) -> None:
    assert main(["new", "hash_bench", "--in-checkout"]) == 2
    assert "this is no checkout of matbench" in capsys.readouterr().err
    assert main(["new", "hash_bench", "--in-checkout", "--dest=x"]) == 2
    assert "leave out --dest" in capsys.readouterr().err
