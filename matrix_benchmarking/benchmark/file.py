"""The benchmark file as a whole: which experiments, settings and options, and who measures."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import pydantic
from pydantic import Field

from .. import workload, workload_code, yaml_file
from ..config import Section
from ..errors import ConfigError, WorkloadError, did_you_mean
from ..filters import Scalar
from ..named_cluster import PATTERNS as CLUSTER_PATTERNS
from ..named_cluster import Named
from ..validation import Mismatch, dotted, keys_in, mismatches
from ..yaml_file import YamlFile
from . import schema
from .command_driver import CommandDriver
from .load_driver import LoadDriver

_DURATION = r"^\s*(\d+(?:\.\d+)?)\s*(s|m|h)\s*$"
_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0}
PATTERNS = {_DURATION: "a duration such as 90s, 30m or 2h", **CLUSTER_PATTERNS, **schema.PATTERNS}

Duration = Annotated[float, Field(gt=0)] | Annotated[str, Field(pattern=_DURATION)]
Values = Scalar | Annotated[list[Scalar], Field(min_length=1)]


class Additional(Section):
    """Settings of one more point, or of a few: joined to the common ones, not to the experiment's grid."""

    model_config = pydantic.ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Values]

    repeat: Annotated[int, Field(ge=1)] | None = None

    @property
    def settings(self) -> Mapping[str, Any]:
        return self.__pydantic_extra__ or {}


class Experiment(Additional):
    """The settings of one experiment, each with its value or its values; all combinations are run.

    Attributes:
        repeat: how often each point is run.
        extra: additional points.
    """

    __pydantic_extra__: dict[str, Values | schema.Search]  # type: ignore[assignment]

    repeat: Annotated[int, Field(ge=1)] = 1
    extra: list[Additional] = Field(default_factory=list)


class BenchmarkFile(Section):
    """A benchmark file.

    Attributes:
        common_settings: settings of all points; a list of values multiplies every experiment.
        expe: the experiments by name.
        derived: values for templates that follow from a setting and are no settings themselves:
            ``{hw_type: {cpu-1: {cores: "0"}}}`` lets ``{cores}`` stand where ``hw_type`` is ``cpu-1``.
        target, load: what is measured, and how, in the words of the workload's load driver, or as any command.
        script_tpl: an arbitrary command for each point, instead of a load.
        requires: what a point needs of its host on a cluster, as {gpu: l4} or {gpu: 2}.
        cluster: the machines that measure, as --cluster has them.
        unused_settings: settings that vary and may reach neither the target nor what measures.
        path_tpl: the test directory of a point, below the results directory.
        results_dirname: where the test directories are made.
        expe_to_run: names of the experiments that are run; all where left out.
        filters: only these points.
        stop_on_error: stop after the first point that fails.
        order: ``interleaved`` runs all points once, then all again, backwards, and so on, so that a slow hour spoils no
            point alone; ``grouped`` starts each target once. Paid targets are grouped where this is left out.
        max_usd: never spend more.
        max_duration: start no point after this time, as 90s, 30m or 2h.
        generate: write the points to this file instead of printing the plan.
        workload: the workload that reads the results; a .py file may be beside the benchmark file.
    """

    driver: ClassVar[type[LoadDriver]] = CommandDriver

    common_settings: dict[str, Values] = Field(default_factory=dict)
    expe: Annotated[dict[Annotated[str, Field(min_length=1)], Experiment], Field(min_length=1)]
    derived: dict[str, dict[str, dict[str, Scalar]]] = Field(default_factory=dict)
    target: schema.Target | None = None
    load: schema.LoadSection | None = None
    script_tpl: schema.Script | schema.Words | None = None
    requires: dict[str, Scalar] = Field(default_factory=dict)
    cluster: Named | None = None
    unused_settings: list[str] = Field(default_factory=list)
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

    @property
    def names(self) -> list[str]:
        """The settings that it has, but for those of further points alone."""
        varied = (name for expe in self.expe.values() for name in expe.settings)
        return [*dict.fromkeys([*self.common_settings, *varied])]


def read(path: Path) -> BenchmarkFile:
    """Read the benchmark file *path*; ConfigError says all that is wrong with it, with line numbers."""
    file = yaml_file.read(path)
    if "run" in file.content:
        line = file.line(("run",))
        raise ConfigError(f"{path}:{line}: run is not for the file: a benchmark is run with --run only")
    beside = path.parent / str(file.content.get("workload") or "")
    named = str(beside) if beside.suffix == ".py" and beside.is_file() else file.content.get("workload")
    model = model_of(_driver(file, named))
    try:
        content = model.model_validate(file.content)
    except pydantic.ValidationError as error:
        problems = [_sentence(each, file, model) for each in mismatches(error, file.content, PATTERNS)]
        raise ConfigError("\n".join(problems)) from error
    return content.model_copy(update={"workload": named})


def model_of(*drivers: type[LoadDriver]) -> type[BenchmarkFile]:
    """The model of the files whose points the first of *drivers* measures, with the sections of them all."""
    models: dict[str, Any] = {}
    for driver in drivers:
        for name, section in driver.sections.items():
            models[name] = models[name] | section if name in models else section
    fields: dict[str, Any] = {name: (model | None, None) for name, model in models.items()}
    made = pydantic.create_model("BenchmarkFile", __base__=BenchmarkFile, __doc__=BenchmarkFile.__doc__, **fields)
    made.driver = drivers[0]
    return made


def _driver(file: YamlFile, named: Any) -> type[LoadDriver]:
    """Who measures the points of *file*: any command, or the driver that the load or the workload *named* names."""
    load = file.content.get("load")
    load = load if isinstance(load, Mapping) else {}
    wanted = load.get("driver")
    engines = BenchmarkFile.model_fields.keys() - ("load",)
    if wanted == "command" or (wanted is None and ("command" in load or file.content.keys() <= engines)):
        return CommandDriver
    own: Mapping[str, Callable[[], type[LoadDriver]]] = {}
    for name in [named, *workload_code.known_names()]:
        if isinstance(name, str) and not own:
            # Whoever shows the plan says why a workload can't be loaded.
            with contextlib.suppress(WorkloadError):
                own = workload.load(name).load_drivers
    if wanted is None:
        return next(iter(own.values()))() if own else CommandDriver
    if wanted not in own:
        hint = did_you_mean(str(wanted), ["command", *own])
        where = f"{file.path}:{file.line(('load', 'driver'))}"
        raise ConfigError(f"{where}: load.driver: there is no load driver '{wanted}': {hint}")
    return own[wanted]()


def with_settings(file: BenchmarkFile, given: Iterable[tuple[str, str]]) -> BenchmarkFile:
    """*file* with the *given* values of settings, several of one name as a list, in the place of those that it has.

    Each has the type of the file's value: so a version stays text, whatever it looks like: 1.10 is not 1.1.
    """
    texts: dict[str, list[str]] = {}
    for name, text in given:
        texts.setdefault(name, []).append(text)
    common, experiments = dict(file.common_settings), dict(file.expe)
    for name, several in texts.items():
        if name not in file.names:
            raise ConfigError(f"the benchmark file has no setting '{name}': {did_you_mean(name, file.names)}")
        if name in common:
            common[name] = _alike(common[name], several, name)
        for key, one in experiments.items():
            if name in one.settings:
                value = one.settings[name]
                if isinstance(value, schema.Search):
                    raise ConfigError(f"expe.{key} searches for {name}: change its range in the file")
                experiments[key] = one.model_copy(update={name: _alike(value, several, name)})
    return file.model_copy(update={"common_settings": common, "expe": experiments})


def _alike(value: Values, texts: Sequence[str], name: str) -> Values:
    found = [_like(value, text, name) for text in texts]
    return found[0] if len(found) == 1 else found


def _like(value: Values, text: str, name: str) -> Scalar:
    """*text* as a value of the type of *value*, or of the first one of a list."""
    sample = value[0] if isinstance(value, list) else value
    try:
        if isinstance(sample, bool):
            return {"true": True, "false": False}[text.lower()]
        return text if sample is None else type(sample)(text)
    except (ValueError, KeyError) as error:
        wanted = {bool: "true or false", int: "a whole number", float: "a number"}[type(sample)]
        raise ConfigError(f"{name}={text}: the benchmark file has {wanted} there") from error


def json_schema(*own: type[LoadDriver]) -> dict[str, Any]:
    """The JSON Schema of benchmark files, for editors, with the load drivers of all known workloads and one's *own*."""
    drivers: list[type[LoadDriver]] = [CommandDriver, *own]
    for name in workload_code.known_names():
        with contextlib.suppress(WorkloadError):
            drivers += [each() for each in workload.load(name).load_drivers.values()]
    content = model_of(*dict.fromkeys(drivers)).model_json_schema(by_alias=True)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "matbench benchmark file", **content}


def seconds(duration: float | str) -> float:
    """A duration such as ``90s``, ``30m``, ``2h``, or a number of seconds; ConfigError if it is neither."""
    match = re.match(_DURATION, str(duration))
    try:
        value = float(match[1]) * _SECONDS[match[2]] if match else float(duration)
    except ValueError:
        value = -1.0
    if not 0 < value < float("inf"):
        raise ConfigError(f"'{duration}' is not a duration such as 90s, 30m or 2h")
    return value


def _sentence(problem: Mismatch, file: YamlFile, model: type[BenchmarkFile]) -> str:
    where = f"{file.path}:{file.line(problem.path)}: "
    if problem.is_unknown:
        *above, key = problem.path
        keys = keys_in(model, above)
        if above[:1] == ["expe"]:  # where all other names are those of settings
            keys = keys_in(schema.SearchRange if above[-1] == "search" else schema.Search, ())
        return f"{where}{problem.field} is not a known key: {did_you_mean(str(key), keys)}"
    return f"{where}{dotted(problem.path)}: {problem.reason}"
