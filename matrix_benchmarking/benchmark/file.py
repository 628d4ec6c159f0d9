"""The benchmark file as a whole: which experiments, settings and options; and its templates filled in.

``{name}`` in a text stands for a setting, ``{{`` and ``}}`` for braces. A text that is nothing but ``{name}`` becomes
the setting itself, so that a number stays a number.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import pydantic
from pydantic import Field

from .. import yaml_file
from ..config import Section
from ..errors import ConfigError, did_you_mean
from ..filters import Scalar, exact
from ..validation import Kind, Mismatch, dotted, mismatches
from ..yaml_file import YamlFile
from . import schema

_DURATION = r"^\s*(\d+(?:\.\d+)?)\s*(s|m|h)\s*$"
_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0}
PATTERNS = {_DURATION: "a duration such as 90s, 30m or 2h", **schema.PATTERNS}

_PART = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")
M = TypeVar("M", bound=pydantic.BaseModel)

Duration = Annotated[float, Field(gt=0)] | Annotated[str, Field(pattern=_DURATION)]
Values = Scalar | Annotated[list[Scalar], Field(min_length=1)]


class Additional(Section):
    """Settings of one more point, or of a few: joined to the common ones, not to the experiment's grid."""

    model_config = pydantic.ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Values]

    repeat: Annotated[int, Field(ge=1)] | None = None


class Experiment(Section):
    """The settings of one experiment, each with its value or its values; all combinations are run.

    Attributes:
        repeat: how often each point is run.
        extra: additional points.
    """

    model_config = pydantic.ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Values | schema.Search]

    repeat: Annotated[int, Field(ge=1)] = 1
    extra: list[Additional] = Field(default_factory=list)

    @property
    def settings(self) -> Mapping[str, Any]:
        return self.__pydantic_extra__ or {}


class BenchmarkFile(Section):
    """A benchmark file.

    Attributes:
        common_settings: settings of all points; a list of values multiplies every experiment.
        expe: the experiments by name.
        derived: values for templates that follow from a setting and are no settings themselves:
            ``{hw_type: {cpu-1: {cores: "0"}}}`` lets ``{cores}`` stand where ``hw_type`` is ``cpu-1``.
        target, load, answers: what is measured, how, and whether its answers are right.
        script_tpl: an arbitrary command for each point, instead of a load.
        path_tpl: the test directory of a point, below the results directory.
        results_dirname: where the test directories are made.
        expe_to_run: names of the experiments that are run; all where left out.
        filters: only these points.
        stop_on_error: stop after the first point that fails.
        order: ``interleaved`` runs all points once, then all again, so that a slow hour spoils no point alone;
            ``grouped`` starts each target once. Paid targets are grouped where this is left out.
        max_usd: never spend more.
        max_duration: start no point after this time, as 90s, 30m or 2h.
        generate: write the points to this file instead of printing the plan.
        workload: the workload that reads the results; a .py file may be beside the benchmark file.
    """

    common_settings: dict[str, Values] = Field(default_factory=dict)
    expe: Annotated[dict[Annotated[str, Field(min_length=1)], Experiment], Field(min_length=1)]
    derived: dict[str, dict[str, dict[str, Scalar]]] = Field(default_factory=dict)
    target: schema.Target | None = None
    load: schema.Load | None = None
    answers: schema.Answers | None = None
    script_tpl: schema.Script | schema.Words | None = None
    path_tpl: str | None = None
    results_dirname: str | None = None
    expe_to_run: schema.Words | None = None
    filters: str | None = None
    stop_on_error: bool = False
    order: Literal["interleaved", "grouped"] | None = None
    max_usd: Annotated[float, Field(gt=0)] | None = None
    max_duration: Duration | None = None
    generate: str | None = None
    workload: str | None = None


def read(path: Path) -> BenchmarkFile:
    """Read and validate the benchmark file *path*.

    Raises:
        ConfigError: all that is wrong with it, a line each, with the file's line numbers.
    """
    file = yaml_file.read(path)
    if "run" in file.content:
        line = file.line(("run",))
        raise ConfigError(f"{path}:{line}: run is not for the file: a benchmark is run with --run only")
    try:
        content = BenchmarkFile.model_validate(file.content)
    except pydantic.ValidationError as error:
        problems = [_sentence(each, file) for each in mismatches(error, file.content, PATTERNS)]
        raise ConfigError("\n".join(problems)) from error
    beside = path.parent / (content.workload or "")
    if beside.suffix == ".py" and beside.is_file():
        content = content.model_copy(update={"workload": str(beside)})
    return content


def with_settings(file: BenchmarkFile, given: Iterable[tuple[str, str]]) -> BenchmarkFile:
    """*file* with other values of common settings, each of the type that its value in the file has.

    So a version stays text, whatever it looks like: 1.10 is not 1.1.

    Args:
        given: names and values, as text.

    Raises:
        ConfigError: a name that is no common setting, or that an experiment sets itself; a value of another type.
    """
    changed = dict(file.common_settings)
    for name, text in given:
        if name not in changed:
            hint = did_you_mean(name, changed)
            raise ConfigError(f"the benchmark file has no '{name}' in common_settings: {hint}")
        own = [each for each, experiment in file.expe.items() if name in experiment.settings]
        if own:
            raise ConfigError(f"expe.{own[0]} sets {name} itself: use `filters`={name}={text} to run a part of it")
        changed[name] = _like(file.common_settings[name], text, name)
    return file.model_copy(update={"common_settings": changed})


def _like(value: Values, text: str, name: str) -> Scalar:
    """*text* as a value of the type of *value*, or of the first one of a list."""
    sample = value[0] if isinstance(value, list) else value
    if sample is None or isinstance(sample, str):
        return text
    kind = type(sample)
    try:
        if kind is bool:
            return {"true": True, "false": False}[text.lower()]
        number: Scalar = kind(text)
    except (ValueError, KeyError) as error:
        wanted = {bool: "true or false", int: "a whole number", float: "a number"}[kind]
        raise ConfigError(f"{name}={text}: the benchmark file has {wanted} there") from error
    return number


def json_schema() -> dict[str, Any]:
    """The JSON Schema of benchmark files, for editors."""
    content = BenchmarkFile.model_json_schema(by_alias=True)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "matbench benchmark file", **content}


def seconds(duration: float | str) -> float:
    """A duration such as ``90s``, ``30m``, ``2h``, or a number of seconds.

    Raises:
        ConfigError: it is neither.
    """
    text = str(duration)
    match = re.match(_DURATION, text)
    try:
        value = float(match[1]) * _SECONDS[match[2]] if match else float(text)
    except ValueError:
        value = -1.0
    if not 0 < value < float("inf"):
        raise ConfigError(f"'{text}' is not a duration such as 90s, 30m or 2h")
    return value


def _sentence(problem: Mismatch, file: YamlFile) -> str:
    where = f"{file.path}:{file.line(problem.path)}: "
    if problem.kind is Kind.UNKNOWN:
        hint = did_you_mean(str(problem.path[-1]), _siblings(problem.path))
        return f"{where}{problem.field} is not a known key: {hint}"
    return f"{where}{dotted(problem.path)}: {problem.reason}"


def _siblings(path: tuple[str | int, ...]) -> list[str]:
    """The keys that may stand where *path* does."""
    known: Mapping[str, type[pydantic.BaseModel]] = {
        "": BenchmarkFile,
        "target": schema.Target,
        "target.process": schema.ProcessTarget,
        "target.url": schema.UrlTarget,
        "target.hf_endpoint": schema.HFEndpointTarget,
        "load": schema.Load,
        "answers": schema.Answers,
        "answers.reference": schema.Reference,
        "script_tpl": schema.Script,
    }
    parent = ".".join(str(part) for part in path[:-1])
    model = known.get(parent)
    if model is None:
        return ["start", "max", "p95_ms", "max_measurements"] if path[-2:-1] == ("search",) else ["search"]
    return [field.alias or name for name, field in model.model_fields.items()]


def named_in(value: Any) -> set[str]:
    """The settings that *value* (text, or a list or mapping of it) names."""
    if isinstance(value, str):
        return {match[1] for match in _PART.finditer(value) if match[1] is not None}
    if isinstance(value, Mapping):
        return set().union(*(named_in(item) for item in value.values()))
    if isinstance(value, (list, tuple)):
        return set().union(*(named_in(item) for item in value))
    return set()


def fill(value: Any, settings: Mapping[str, Any], keep: Collection[str] = ()) -> Any:
    """*value* with *settings* put in; names in *keep* are left for later.

    Raises:
        ConfigError: a name that is no setting, or a single brace.
    """
    if isinstance(value, str):
        whole = _PART.fullmatch(value)
        if whole and whole[1] is not None and whole[1] not in keep:
            return _setting(whole[1], settings, value)
        return _PART.sub(lambda match: _replacement(match, settings, keep, value), value)
    if isinstance(value, Mapping):
        return {key: fill(item, settings, keep) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        # In a command every word is text.
        filled = [fill(item, settings, keep) for item in value]
        words = all(isinstance(item, str) for item in value)
        return [exact(item) for item in filled] if words else filled
    return value


def fill_model(model: M, settings: Mapping[str, Any], where: str, keep: Collection[str] = ()) -> M:
    """*model* with *settings* put in, validated again; *where* names it in errors.

    Raises:
        ConfigError: a setting that is not there, or is of the wrong kind.
    """
    content = fill(model.model_dump(by_alias=True, exclude_unset=True), settings, keep)
    defaults = {
        name: field.default
        for name, field in type(model).model_fields.items()
        if isinstance(field.default, str) and field.default.startswith("{") and name not in model.model_fields_set
    }
    try:
        content |= fill(defaults, settings, keep)
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from error
    try:
        return type(model).model_validate(content)
    except pydantic.ValidationError as error:
        sentences = [f"{where}.{dotted(each.path)}: {each.reason}" for each in mismatches(error, content, PATTERNS)]
        raise ConfigError("\n".join(sentences)) from error


def _replacement(match: re.Match[str], settings: Mapping[str, Any], keep: Collection[str], text: str) -> str:
    if match[0] in ("{{", "}}"):
        return match[0][0]
    if match[1] is None:
        raise ConfigError(f"'{text}' has a single '{match[0]}': write '{match[0] * 2}' for a brace")
    return match[0] if match[1] in keep else exact(_setting(match[1], settings, text))


def _setting(name: str, settings: Mapping[str, Any], text: str) -> Any:
    if name not in settings:
        hint = did_you_mean(name, settings) if re.fullmatch(r"\w+", name) else "write {{ and }} for braces"
        raise ConfigError(f"'{text}' names a setting '{name}' that the point doesn't have: {hint}")
    return settings[name]
