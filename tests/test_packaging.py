"""The wheel: every package is in it, nothing is called ``projects``, and it works away from the checkout."""

from __future__ import annotations

import ast
import configparser
import importlib.util
import os
import shutil
import subprocess
import sys
import zipfile
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from pathlib import Path

import pytest
from download_support.web import directory_server
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from wheels import built_wheel, pip

REPOSITORY = Path(__file__).resolve().parent.parent
LOAD = """
from matrix_benchmarking import workload
loaded = workload.load("encoder_bench")
print(loaded.source)
print(*map(len, loaded.pages()))
"""

PLAIN = """
import os, sys


class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in BLOCKED:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


BLOCKED = set(sys.argv.pop(1).split(","))
sys.meta_path.insert(0, Blocked())
from matrix_benchmarking import cli
from matrix_benchmarking.commands import leaves

for name in leaves():
    print(name)
for line in sys.stdin.read().splitlines():
    if status := cli.main(line.split()):
        sys.exit(f"{line}: {status}")
"""
"""Without the modules that its first argument names; then the commands on standard input."""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory that holds what the wheel installs."""
    target = tmp_path_factory.mktemp("installed")
    pip(["install", "--no-deps", "--no-index", "--target", str(target), str(wheel)])
    return target


def run_installed(installed: Path, arguments: list[str], directory: Path) -> subprocess.CompletedProcess[str]:
    """Run Python with *installed* before all else, in another directory than the checkout."""
    environment = os.environ | {"PYTHONPATH": str(installed), "XDG_CACHE_HOME": str(directory / ".cache")}
    return subprocess.run([sys.executable, *arguments], cwd=directory, env=environment, capture_output=True, text=True)


def packages() -> set[str]:
    """The packages of the repository, by the names under which they are installed."""
    found = set()
    for top, name in (("matrix_benchmarking", "matrix_benchmarking"), ("projects", "matbench_projects")):
        for file in (REPOSITORY / top).rglob("*.py"):
            found.add(".".join((name, *file.parent.relative_to(REPOSITORY / top).parts)))
    return found


def test_every_directory_with_code_is_a_package_that_setup_cfg_lists() -> None:
    config = configparser.ConfigParser()
    config.read(REPOSITORY / "setup.cfg")
    assert set(config["options"]["packages"].split()) == packages()


def test_the_wheel_has_all_code_and_data_and_no_package_called_projects(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    expected = {
        file.relative_to(REPOSITORY).as_posix().replace("projects/", "matbench_projects/", 1)
        for top in ("matrix_benchmarking", "projects")
        for file in (REPOSITORY / top).rglob("*")
        if file.is_file() and file.suffix in {".py", ".yaml", ".css", ".js", ".typed"}
    }
    template = REPOSITORY / "matrix_benchmarking" / "scaffold" / "template"
    committed = (file for file in template.rglob("*") if file.is_file() and "__pycache__" not in file.parts)
    expected |= {file.relative_to(REPOSITORY).as_posix() for file in committed}
    assert expected <= names
    assert not [name for name in names if name.startswith(("projects/", "tests/"))]


def test_the_installed_workload_loads_by_its_short_name(installed: Path, tmp_path: Path) -> None:
    done = run_installed(installed, ["-c", LOAD], tmp_path)
    assert done.returncode == 0, done.stderr
    source, counts = done.stdout.splitlines()
    assert Path(source) == installed / "matbench_projects" / "encoder_bench"
    assert all(int(count) > 0 for count in counts.split())


@pytest.mark.parametrize("workload", ["encoder_bench", "projects.encoder_bench.visualizations"])
def test_the_installed_command_parses_the_sample(
    installed: Path, tmp_path: Path, repository: Path, workload: str
) -> None:
    shutil.copytree(repository / "data/samples/encoder_bench/cpu-1/onnx-int8", tmp_path / "results")
    arguments = ["-m", "matrix_benchmarking", "parse", f"--workload={workload}", "--results-dirname=results"]
    done = run_installed(installed, arguments, tmp_path)
    assert done.returncode == 0, done.stderr
    assert "onnx-int8" in done.stdout


def plain_distributions() -> set[str]:
    """The names of the packages that come with matbench where no extra is asked for."""
    found, waiting = set[str](), {"matrix-benchmarking"}
    while waiting:
        found.add(name := waiting.pop())
        try:
            needed = [Requirement(line) for line in requires(name) or ()]
        except PackageNotFoundError:  # for another Python, or another system
            continue
        asked = (one for one in needed if one.marker is None or one.marker.evaluate({"extra": ""}))
        waiting |= {canonicalize_name(one.name) for one in asked} - found
    return found


def test_without_any_extra_each_command_is_there_and_what_the_demo_does_works(repository: Path, tmp_path: Path) -> None:
    plain = plain_distributions()
    others = {
        module
        for module, distributions in packages_distributions().items()
        if not plain.intersection(map(canonicalize_name, distributions))
    }
    assert {"psutil", "httpx", "psycopg", "pyarrow", "fsspec", "kaleido", "pytest"} <= others
    sample = repository / "data/samples/encoder_bench/cpu-1/onnx-int8"
    results = f"--results-dirname={sample} --workload=encoder_bench"
    (tmp_path / "echo.yaml").write_text("expe: {a: {x: 1}}\nscript_tpl: {command: 'echo {x}'}\n")
    lines = [
        f"parse {results} --jobs=1",
        f"upload_lts {results} --history=sqlite:///kept.db",
        f"visualize {results} --history=sqlite:///kept.db --generate --report-dest=report",
        "analyze_lts --workload=encoder_bench --history=sqlite:///kept.db --report-dest=regression --exit-zero",
        "benchmark echo.yaml --results-dirname=echoed --run",
    ]
    with directory_server(sample) as web:
        done = subprocess.run(
            [sys.executable, "-c", PLAIN, ",".join(sorted(others))],
            input="\n".join([*lines, f"download --url={web.url} --mode=all --results-dirname=fetched"]),
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(repository), "XDG_CACHE_HOME": str(tmp_path / ".cache")},
            capture_output=True,
            text=True,
        )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "report" / "index.html").is_file()


@pytest.mark.parametrize("script", sorted((REPOSITORY / "benchmarks").rglob("*.py")), ids=lambda path: path.name)
def test_what_a_benchmark_takes_of_the_code_is_there(script: Path) -> None:
    for node in ast.walk(ast.parse(script.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(("matrix_benchmarking", "projects")):
            module = importlib.import_module(str(node.module))
            for name in (each.name for each in node.names):
                assert hasattr(module, name) or importlib.util.find_spec(f"{node.module}.{name}"), name
