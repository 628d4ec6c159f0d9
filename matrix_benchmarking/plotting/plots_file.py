"""Which reports to write: the ``visualize:`` list of ``data/plots.yaml``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pydantic

from .. import yaml_file
from ..errors import ConfigError, did_you_mean
from ..validation import mismatches

DEFAULT_FILE = Path("data/plots.yaml")
EVERYTHING = ""  # stands for all that the file lists


class _Selection(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid", strict=True, defer_build=True)

    id: str
    workload: str | None = None
    generate: list[str]


class _PlotsFile(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid", strict=True, defer_build=True)

    visualize: list[_Selection]


def read(path: Path, workload: str, ids: Sequence[str] = ()) -> list[str]:
    """The names to generate, each once, in order: of the selections *ids*, or of all that are for *workload*."""
    selections = _parse(path)
    by_id: dict[str, _Selection] = {}
    for selection in selections:
        if selection.id in by_id:
            raise ConfigError(f"{path}: the id '{selection.id}' is under visualize twice")
        by_id[selection.id] = selection
    for wanted in ids:
        if wanted not in by_id:
            raise ConfigError(f"{path} has no id '{wanted}' under visualize: {did_you_mean(wanted, by_id)}")
    chosen = [by_id[wanted] for wanted in ids] or [each for each in selections if each.workload in (None, workload)]
    return list(dict.fromkeys(name for selection in chosen for name in selection.generate))


def _parse(path: Path) -> list[_Selection]:
    file = yaml_file.read(path)
    try:
        return _PlotsFile.model_validate(file.content).visualize
    except pydantic.ValidationError as error:
        problems = [
            f"{path}:{file.line(problem.path)}: {problem.field} {problem.reason}"
            for problem in mismatches(error, file.content)
        ]
        raise ConfigError("\n".join(problems)) from error


def found(named: Path | None, source: Path | None) -> Path | None:
    """The file that is *named*, looked up in ``data/`` too: here, and where the workload's *source* is."""
    if named is None or named.is_absolute() or named.exists():
        return named
    beside = [] if source is None else [source / "data" / named, *source.glob(f"visualizations/**/data/{named}")]
    return next((path for path in (Path("data") / named, *beside) if path.is_file()), named)


def names(generate: Sequence[str], ids: Sequence[str], plots_file: Path | None, workload: str) -> list[str]:
    """The names of what to write: those in *generate*, and those that the plots file lists under *ids*, or at all.

    Raises:
        ConfigError: there is no file that could list *ids*.
    """
    named = [part for name in generate if name != EVERYTHING for part in name.removeprefix("stats=").split("&stats=")]
    if named and not ids:
        return named
    if ids and plots_file is None and not DEFAULT_FILE.is_file():
        raise ConfigError(
            f"--generate-id {ids[0]}: there is no {DEFAULT_FILE} here that could list it; name the file with "
            "--plots-file, or a report with --generate"
        )
    if plots_file is None and (ids or DEFAULT_FILE.is_file()):
        plots_file = DEFAULT_FILE
    listed = [] if plots_file is None else read(plots_file, workload, ids)
    return list(dict.fromkeys([*named, *listed]))
