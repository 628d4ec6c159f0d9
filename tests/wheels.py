"""The wheel of this checkout, built without a network, and what else an installation of it takes."""

from __future__ import annotations

import shutil
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy
from requirements import missing

REPOSITORY = Path(__file__).resolve().parent.parent
BUILT_FROM = ("matrix_benchmarking", "projects", "setup.cfg", "pyproject.toml", "README.md", "LICENSE")
SETUPTOOLS = (70, 1)
"""The first version that builds wheels by itself."""
OURS = ("matrix_benchmarking", "__editable__", "pip", "setuptools")


def built_wheel(directory: Path) -> Path:
    """The wheel, in *directory*."""
    try:
        found = tuple(int(part) for part in version("setuptools").split(".")[:2])
    except PackageNotFoundError:
        found = (0, 0)
    if found < SETUPTOOLS:
        missing("setuptools 70.1 or newer; run `make test`, which installs it")
    for name in BUILT_FROM:
        source, copy = REPOSITORY / name, directory / "source" / name
        copy.parent.mkdir(exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, copy, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
        else:
            shutil.copy(source, copy)
    pip(["wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(directory), str(directory / "source")])
    (built,) = directory.glob("*.whl")
    return built


def pip(arguments: list[str]) -> None:
    command = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def dependencies(directory: Path) -> Path:
    """*directory*, in which all that this environment has is, but for matbench itself."""
    directory.mkdir()
    for each in Path(numpy.__file__).parents[1].iterdir():
        if not each.name.startswith(OURS):
            (directory / each.name).symlink_to(each)
    return directory
