"""A new workload: the files of ``template/``, itself a working one, under another name; all are written, or none.

A checkout has its own places for code, samples and tests, so there the paths that the files mention are others, too.
"""

from __future__ import annotations

import contextlib
import dataclasses
import keyword
import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from ..errors import ConfigError, OutputError, os_reason
from ..workload_code import CHECKOUT_PACKAGE, known_names

TEMPLATE = Path(__file__).with_name("template")
TEMPLATE_NAME = "my_bench"
LONGEST_NAME = 40

MEASURED = "sample/"
"""Runs that were measured: copied as they are."""

IN_CHECKOUT = {
    "my_bench/benchmark.yaml": "projects/my_bench/benchmark.yaml",
    "my_bench/workload.py": "projects.my_bench.visualizations",
    "my_bench/test_workload.py": "-m pytest tests/projects/my_bench",
    "workload: workload.py": "workload: projects.my_bench.visualizations",
    'str(HERE / "workload.py")': '"projects.my_bench.visualizations"',
    'HERE / "sample"': 'HERE.parents[2] / "data/samples/my_bench"',
    "`workload.py`": "`visualizations/__init__.py`",
    "`test_workload.py`": "`tests/projects/my_bench/test_my_bench.py`",
    "`sample/`": "`data/samples/my_bench/`",
}
"""What the files say of their places, and what it is in a checkout."""


@dataclasses.dataclass(frozen=True, slots=True)
class Scaffold:
    """A workload that is to be written.

    Attributes:
        roots: the directories that are made; none of them may exist.
        files: contents by path; each lies in one of the roots.
        workload: what ``--workload`` takes.
        benchmark_file: the benchmark file that measures it.
        results: where this file's runs go.
    """

    roots: tuple[Path, ...]
    files: Mapping[Path, bytes]
    workload: str
    benchmark_file: Path
    results: Path


def standalone(name: str, directory: Path) -> Scaffold:
    """The workload *name* as a directory of its own in *directory*."""
    root = directory / name
    return Scaffold(
        roots=(root,),
        files={root / path: content for path, content in _template(name, {}).items()},
        workload=str(root / "workload.py"),
        benchmark_file=root / "benchmark.yaml",
        results=Path("results", name),
    )


def in_checkout(name: str, checkout: Path) -> Scaffold:
    """The workload *name* as a package of *checkout*, its sample and its test in their places there.

    Raises:
        ConfigError: *checkout* is none of matbench.
    """
    if not (checkout / CHECKOUT_PACKAGE / "__init__.py").is_file() or not (checkout / "setup.cfg").is_file():
        raise ConfigError(
            "this is no checkout of matbench (setup.cfg, projects/): go to one, or leave `in_checkout` out"
        )
    package = checkout / CHECKOUT_PACKAGE / name
    sample, tests = checkout / "data" / "samples" / name, checkout / "tests" / "projects" / name
    moved = {"workload.py": package / "visualizations/__init__.py", "test_workload.py": tests / f"test_{name}.py"}
    files = {package / "__init__.py": f'"""{name}: a workload."""\n'.encode()}
    for path, content in _template(name, IN_CHECKOUT).items():
        if path == ".gitignore":  # the checkout has one
            continue
        is_sample = path.startswith(MEASURED)
        files[sample / path.removeprefix(MEASURED) if is_sample else moved.get(path, package / path)] = content
    return Scaffold(
        roots=(package, sample, tests),
        files=files,
        workload=f"{CHECKOUT_PACKAGE}.{name}.visualizations",
        benchmark_file=package / "benchmark.yaml",
        results=Path("results", name),
    )


def check_name(name: str) -> None:
    """Raise ConfigError unless *name* can be the name of a new workload."""
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or keyword.iskeyword(name) or len(name) > LONGEST_NAME:
        wanted = f"at most {LONGEST_NAME} lower-case letters, digits and underscores, a letter first, no keyword"
        raise ConfigError(f"'{name}' can't be the name of a workload ({wanted}): how about '{_suggested(name)}'?")
    if name in {known.removeprefix(f"{CHECKOUT_PACKAGE}.").removesuffix(".visualizations") for known in known_names()}:
        raise ConfigError(f"there is a workload '{name}' already: choose another name")


def check_free(scaffold: Scaffold) -> None:
    """Raise ConfigError where something is in the way: nothing is ever overwritten."""
    for root in scaffold.roots:
        if os.path.lexists(root):
            raise ConfigError(f"{root} is there already: choose another name, or another directory")


def write(scaffold: Scaffold) -> None:
    """Write the files, all of them or none.

    Raises:
        ConfigError: one of the directories exists.
        OutputError: they can't be written. What was written is removed again.
    """
    check_free(scaffold)
    made: list[Path] = []
    try:
        for root in scaffold.roots:
            root.parent.mkdir(parents=True, exist_ok=True)
            root.mkdir()
            made.append(root)
        for path, content in scaffold.files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    except BaseException as error:
        left = [str(each) for each in made if not _removed(each)]
        if not isinstance(error, OSError):
            raise
        is_in_the_way = isinstance(error, (FileExistsError, NotADirectoryError))
        reason = f"{error.filename} is not a directory" if is_in_the_way else os_reason(error)
        more = f"; {', '.join(left)} could not be removed again" if left else ""
        raise OutputError(f"cannot write {', '.join(map(str, scaffold.roots))}: {reason}{more}") from error


def _suggested(name: str) -> str:
    """The nearest name that is one."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
    plain = re.sub(r"[^a-z0-9]+", "_", words).strip("_").lstrip("0123456789_")[:LONGEST_NAME].rstrip("_")
    return f"{plain or 'new'}_bench" if keyword.iskeyword(plain) or not plain else plain


def _template(name: str, replaced: Mapping[str, str]) -> dict[str, bytes]:
    """The template's files by relative path, called *name*, with other paths in them where *replaced* says so."""
    found = {}
    for file in sorted(path for path in TEMPLATE.rglob("*") if path.is_file()):
        path = PurePosixPath(file.relative_to(TEMPLATE)).as_posix()
        if "__pycache__" in path or file.name.startswith("."):  # left by who ran the template itself
            continue
        content = file.read_bytes()
        if not path.startswith(MEASURED):
            content = _renamed(content.decode(), name, replaced).encode()
        found[".gitignore" if path == "gitignore" else path] = content
    return found


def _renamed(text: str, name: str, replaced: Mapping[str, str]) -> str:
    if replaced:
        longest_first = sorted(replaced, key=len, reverse=True)
        text = re.sub("|".join(map(re.escape, longest_first)), lambda match: replaced[match[0]], text)
    return text.replace(TEMPLATE_NAME, name)


def _removed(directory: Path) -> bool:
    with contextlib.suppress(OSError):
        shutil.rmtree(directory)
    return not directory.exists()
