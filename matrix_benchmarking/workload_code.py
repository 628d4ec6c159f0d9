"""The code of a workload: found by a short name of an installed package, a module's or a file's; and its digest."""

from __future__ import annotations

import ast
import functools
import hashlib
import importlib
import importlib.machinery
import importlib.metadata
import importlib.util
import itertools
import os
import sys
import sysconfig
import types
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from .errors import MatbenchError, WorkloadError, did_you_mean, os_reason, place
from .files import read_regular

ENTRY_POINT_GROUP = "matrix_benchmarking.workloads"
CHECKOUT_PACKAGE, INSTALLED_PACKAGE = "projects", "matbench_projects"
_INSTALLED = {Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
_PREFIX = "matbench_workload_"
"""With what the name of a file's module begins."""
_ENGINE = Path(__file__).resolve().parent


def module_called(name: str) -> types.ModuleType:
    """The module of a workload, by its short name, itself or its file.

    Raises:
        WorkloadError: there is none, or it can't be imported.
    """
    if name.endswith(".py"):
        return _load_file(Path(name))
    if name.startswith("."):
        raise not_found(name)
    target = _entry_points().get(name, name)
    candidates = [target]
    if target.startswith(f"{CHECKOUT_PACKAGE}."):
        if Path(CHECKOUT_PACKAGE).is_dir() and "" not in sys.path:
            sys.path.insert(0, "")
        candidates.append(target.replace(CHECKOUT_PACKAGE, INSTALLED_PACKAGE, 1))
    for candidate in candidates:
        try:
            return importlib.import_module(candidate)
        except ModuleNotFoundError as error:
            if error.name is None or not (candidate == error.name or candidate.startswith(f"{error.name}.")):
                raise WorkloadError(f"workload '{name}' needs {error.name}, which is not installed") from error
        except MatbenchError:
            raise
        except (ImportError, SyntaxError, TypeError, ValueError, AttributeError, NameError) as error:
            raise WorkloadError(f"workload '{name}' can't be imported: {type(error).__name__}: {error}") from error
    raise not_found(name)


def known_names() -> list[str]:
    """Short names of the installed workloads, and modules of those in this checkout."""
    found = sorted(Path(CHECKOUT_PACKAGE).glob("*/visualizations/__init__.py"))
    return [*_entry_points(), *(".".join(file.parent.parts) for file in found)]


def _entry_points() -> dict[str, str]:
    return _entry_points_on(tuple(sys.path))


@functools.lru_cache(maxsize=1)  # what is installed is looked through file by file
def _entry_points_on(path: tuple[str, ...]) -> dict[str, str]:
    return {point.name: point.value for point in importlib.metadata.entry_points(group=ENTRY_POINT_GROUP)}


def not_found(name: str) -> WorkloadError:
    there = Path(name)  # perhaps the directory of a workload that is a file, or that without its ending
    near = (there / "workload.py", there.with_name(f"{there.name}.py"), Path(*name.split(".")).with_suffix(".py"))
    file = next((path for path in near if path.is_file()), None)
    meant = f"did you mean the file '{file}'?" if file else did_you_mean(name, known_names())
    return WorkloadError(f"workload '{name}' not found: {meant}")


def source_of(module: types.ModuleType) -> Path | None:
    """The directory or file that holds the workload's code: ``projects/<workload>`` as a whole."""
    if module.__file__ is None:
        return None
    path = Path(module.__file__).resolve()
    if path.name == "__init__.py":
        return path.parent.parent if path.parent.name == "visualizations" else path.parent
    return path.parent if module.__package__ and not module.__name__.startswith(_PREFIX) else path


class _FromSource(importlib.machinery.SourceFileLoader):
    """Neither reads bytecode, which an edit within the same second leaves stale, nor writes any beside the file."""

    def get_code(self, fullname: str) -> types.CodeType:
        path = self.get_filename(fullname)
        return self.source_to_code(read_regular(path), path)


def _is_below(path: Path, root: Path) -> bool:
    """Whether *path* is *root* or below it, and not where packages are installed, as in an environment beside it."""
    return path.is_relative_to(root) and not any(path.is_relative_to(place) for place in (*_INSTALLED, _ENGINE))


def _load_file(path: Path) -> types.ModuleType:
    """The module that the file *path* is. Raises WorkloadError: it can't be read, or its code fails."""
    try:
        source = read_regular(path)
    except OSError as error:
        raise WorkloadError(_unreadable(path, error)) from error
    except ValueError as error:  # a name with a NUL
        raise WorkloadError(f"workload file '{path}' not found") from error
    if not source.strip() or b"\0" in source:
        raise WorkloadError(f"workload file '{path}' is {'not a text' if source.strip() else 'empty'}")
    name = f"{_PREFIX}{path.stem}"
    loader = _FromSource(name, str(path.resolve()))
    spec = importlib.util.spec_from_file_location(
        name, loader.path, loader=loader, submodule_search_locations=[str(Path(loader.path).parent)]
    )  # as a package, so that `from .pages import …` finds what lies beside it
    assert spec is not None
    for known in [each for each in list(sys.modules) if each.startswith(f"{name}.")]:
        del sys.modules[known]  # of another file of this name, or as it was before
    importlib.invalidate_caches()
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    writes = sys.dont_write_bytecode
    try:
        sys.dont_write_bytecode = True  # nor that of what it imports from beside it
        loader.exec_module(module)
    except MatbenchError:
        raise
    except Exception as error:
        where = "" if isinstance(error, SyntaxError) else place(error)
        raise WorkloadError(f"workload '{path}' can't be loaded: {type(error).__name__}: {error}{where}") from error
    finally:
        sys.dont_write_bytecode = writes
    return module


def _unreadable(path: Path, error: OSError) -> str:
    if isinstance(error, FileNotFoundError) and path.is_symlink():
        return f"workload file '{path}' is a link to '{os.readlink(path)}', which doesn't exist"
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return f"workload file '{path}' not found"
    return f"workload file '{path}' can't be read: {os_reason(error)}"


def source_digest(source: Path | None) -> bytes:
    """Digest of all Python files of a workload's *source*, and of what reads for it: one that changed is another."""
    files = [] if source is None else sources(source) if source.is_file() else sorted(source.rglob("*.py"))
    return _digest(files, _reading_digest())


@functools.cache
def _reading_digest() -> bytes:
    """That of the engine's own readers, parsers and models: of one version there may be many commits."""
    return _digest(sorted([*_ENGINE.glob("*.py"), *_ENGINE.glob("store/*.py")]))


def _digest(files: Iterable[Path], start: bytes = b"") -> bytes:
    state = hashlib.blake2b(start, digest_size=16)
    for path in files:
        state.update(os.fsencode(path.name))
        state.update(hashlib.blake2b(path.read_bytes()).digest())
    return state.digest()


def sources(path: Path) -> list[Path]:
    """The file *path*, and the modules that it imports from beside or below it, and these in turn: wherever in their
    code, and by whatever directories below are in ``sys.path``. What ``importlib`` imports is not known.

    Not those of a file that lies where packages are installed: beside it is everything.
    """
    root = path.parent
    bases = [root, *(base for base in map(Path, sys.path) if base.is_absolute() and _is_below(base.resolve(), root))]
    found, left = {path}, [path]
    while left:
        new = {module for module in _imported(left.pop(), bases) if module not in found and _is_below(module, root)}
        found |= new
        left.extend(new)
    return sorted(found)


def _imported(path: Path, roots: Sequence[Path]) -> Iterator[Path]:
    """The files of what the file *path* imports, if they lie below one of *roots*."""
    try:
        code = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return
    for node in ast.walk(code):
        names: list[str] = []
        bases = roots
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            bases = [path.parents[min(node.level, len(path.parents)) - 1]] if node.level else roots
            names = [".".join(filter(None, [node.module, alias.name])) for alias in node.names]
        for name, base in itertools.product(names, bases):
            yield from _files(base, name.split("."))


def _files(base: Path, parts: list[str]) -> Iterator[Path]:
    """Those of a module and of the packages that it is in."""
    for part in parts:
        base /= part
        yield from filter(Path.is_file, (base.with_name(f"{part}.py"), base / "__init__.py"))
