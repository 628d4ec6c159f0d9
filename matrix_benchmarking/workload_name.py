"""Finding a workload by its name: a short one that an installed package registers, a module's or a file's."""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
import sys
import types
from pathlib import Path

from . import workload_file
from .errors import MatbenchError, WorkloadError, did_you_mean

ENTRY_POINT_GROUP = "matrix_benchmarking.workloads"
CHECKOUT_PACKAGE, INSTALLED_PACKAGE = "projects", "matbench_projects"


def module_called(name: str) -> types.ModuleType:
    """The module of a workload, by its short name, itself or its file.

    Raises:
        WorkloadError: there is none, or it can't be imported.
    """
    if name.endswith(".py"):
        return workload_file.load(Path(name))
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
    place = Path(name)  # perhaps the directory of a workload that is a file, or that without its ending
    near = (place / "workload.py", place.with_name(f"{place.name}.py"), Path(*name.split(".")).with_suffix(".py"))
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
    return path.parent if module.__package__ and not module.__name__.startswith(workload_file.PREFIX) else path
