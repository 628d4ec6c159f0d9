"""The ``matbench:`` block of config.yaml: every key, validated, with presets applied.

:func:`load` gives a :class:`Config`. Options of commands that have no key of their own are in one
section a command, which :func:`with_options` adds, so that they are listed only once. Views may be kept in a file of
their own with such a block, by :func:`keep_view`.
Precedence above the file (flag, environment) is the command line's part.
"""

from __future__ import annotations

import copy
import difflib
import functools
import os
import threading
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import pydantic
import yaml
from pydantic import Field

from . import yaml_file
from .errors import ConfigError, did_you_mean
from .files import atomic_write
from .named_cluster import PATTERNS as CLUSTER_PATTERNS
from .named_cluster import Named
from .validation import Mismatch, dotted, keys_in, mismatches
from .validation import Section as Section
from .yaml_file import YamlFile

DEFAULT_FILE, BLOCK = Path("config.yaml"), "matbench"
MOST_VIEWS, LONGEST_NAME = 200, 80
_KEEPING_VIEWS = threading.Lock()

Model = type[pydantic.BaseModel]

DownloadMode = Literal["cache_only", "prefer_cache", "important", "all"]

PRICE_NAME = "^(?:[^/]+/)?[^/].*$"
PATTERNS = {PRICE_NAME: "a name of the form vendor/hw_type or hw_type", **CLUSTER_PATTERNS}


class Download(Section):
    """Where ``matbench download`` gets results from."""

    mode: DownloadMode = "prefer_cache"
    url: str | None = None
    url_file: str | None = None
    save_to_artifacts: bool = False


class Horreum(Section):
    """Upload to a Horreum server."""

    test_name: str | None = None


class Export(Section):
    """Upload to OpenSearch, unattended."""

    enabled: bool = False
    enabled_on_replot: bool = False
    fail_test_on_fail: bool = True


class RegressionAnalyses(Section):
    """Regression analysis, unattended."""

    enabled: bool = False
    enabled_on_replot: bool = False
    fail_test_on_regression: bool = False


class OpenSearch(Section):
    """Indices of OpenSearch, and which server."""

    export: Export = Export()
    instance: str | None = None
    index: str | None = None
    index_prefix: str = ""
    prom_index_suffix: str = "-prom"
    kpi_labels: Literal["nested", "flat"] = "nested"
    rollover: Literal["none", "monthly"] = "none"
    keep_months: Annotated[int, Field(ge=1)] | None = None
    regression_analyses: RegressionAnalyses = RegressionAnalyses()

    @pydantic.model_validator(mode="after")
    def _has_months(self) -> OpenSearch:
        if self.keep_months is not None and self.rollover != "monthly":
            raise ConfigError("matbench.lts.opensearch.keep_months needs matbench.lts.opensearch.rollover: monthly")
        return self


class LTS(Section):
    """Long-term storage."""

    generate: bool = True
    keep_going: bool = False
    horreum: Horreum = Horreum()
    opensearch: OpenSearch = OpenSearch()
    regression_analyses: RegressionAnalyses = RegressionAnalyses()

    @property
    def analyses(self) -> RegressionAnalyses:
        """Those of TOPSAIL's place where anything is said there, else those below ``opensearch``."""
        own = self.regression_analyses
        return own if own.model_fields_set else self.opensearch.regression_analyses

    @pydantic.model_validator(mode="after")
    def _said_once(self) -> LTS:
        both = self.regression_analyses, self.opensearch.regression_analyses
        if all(one.model_fields_set for one in both) and both[0] != both[1]:
            raise ConfigError(
                "matbench.lts.regression_analyses and matbench.lts.opensearch.regression_analyses differ: keep one"
            )
        return self


class MinimumEffect(Section):
    """What a change has to reach before it is reported: a fraction of the old level, an amount in the KPI's unit."""

    relative: Annotated[float, Field(ge=0)] | None = None
    absolute: Annotated[float, Field(ge=0)] | None = None


class View(Section):
    """A page that shows a KPI over a setting: what *Explore* has chosen, kept under a name."""

    x: str | None = None
    y: str | None = None
    colour: str | None = None
    panels: str | None = None
    repeats: Literal["intervals", "dots"] | None = None
    logarithmic: Literal["none", "x", "y", "x and y"] | None = None
    filters: str | None = None
    workload: str | None = None


class Config(Section):
    """The whole ``matbench:`` block.

    Attributes:
        preset: the preset that is applied.
        workload: name, module or file of the workload.
        prom_workload: TOPSAIL's second workload, for Prometheus metrics; it has no effect, which is said.
        config_file: which reports are written, such as ``data/plots.yaml``.
        test_directory: the results directory.
        history: location of the history, such as ``sqlite:///matbench.db``.
        presets: by name, values for dotted keys of this block.
        order: which version came after which: a file of versions, or git: and a checkout's directory.
        minimum_effects: by KPI, the change below which nothing is reported: relative (0.01 is 1 %), or both kinds.
        prices: by ``vendor/hw_type`` or, for any vendor, by ``hw_type``, USD per hour.
        settings_from: settings that names of directories and files say: ``results/{hw_type}/{engine}-{version}``.
        workload_options: what the parsers of a workload are told, by name; others' are left alone.
        views: by name, pages of a KPI over a setting, as *Explore* shows the block for.
        views_file: a file with such a block of its own, in which the application may keep more of them.
        cluster: machines that measure and parse: a Dask scheduler's address, or how workers are started.
        debug: show the stack trace of an error.
    """

    option_keys: ClassVar[Mapping[str, str]] = {}

    preset: str | None = None
    workload: str | None = None
    prom_workload: str | None = None
    config_file: str | None = None
    download: Download = Download()
    test_directory: str | None = None
    lts: LTS = LTS()
    history: str | None = None
    order: str | None = None
    presets: dict[str, dict[str, Any]] = Field(default_factory=dict)
    minimum_effects: dict[str, Annotated[float, Field(ge=0)] | MinimumEffect] = Field(default_factory=dict)
    prices: dict[Annotated[str, Field(pattern=PRICE_NAME)], Annotated[float, Field(ge=0)]] = Field(default_factory=dict)
    settings_from: str | None = None
    workload_options: dict[str, bool | int | float | str] = Field(default_factory=dict)
    views: dict[str, View] = Field(default_factory=dict)
    views_file: str | None = None
    cluster: Named | None = None
    debug: bool | None = None

    @property
    def all_views(self) -> dict[str, dict[str, str]]:
        """The views here and, before them, those of the file that is named, which may not be there yet."""
        views = dict(self.views)
        if self.views_file is not None and Path(self.views_file).exists():
            views = {**load(self.views_file).views, **views}
        return {name: view.model_dump(exclude_none=True) for name, view in views.items()}

    def get(self, key: str) -> Any:
        """The value of a dotted *key*, such as ``parse.pretty``."""
        return functools.reduce(getattr, key.split("."), self)


def load(
    path: str | os.PathLike[str] | None = None, *, preset: str | None = None, model: type[Config] = Config
) -> Config:
    """Read the block from *path*, apply the preset and validate.

    Args:
        path: the file; None takes ``config.yaml`` of the current directory if it is there.
        preset: the preset to apply, instead of the one that the file names.
        model: the keys that there are; see :func:`with_options`.

    Raises:
        ConfigError: the file can't be read or has no block, a key or a preset is not known, a value
            has the wrong type. Everything that is wrong with the keys is named at once.
    """
    file = _find(None if path is None else Path(path))
    block = file.content.get(BLOCK) if file else None
    config = _validate(model, block if block is not None else {}, file)
    with_presets = {
        name: _validate(model, _with_preset(model, block, name, overrides, file), file, name)
        for name, overrides in config.presets.items()
    }
    chosen = preset if preset is not None else config.preset
    if chosen is None:
        return config
    if chosen not in with_presets:
        where = f"{BLOCK}.presets of {file.path}" if file else "no configuration file was found, and so"
        raise ConfigError(f"no preset '{chosen}': {did_you_mean(chosen, with_presets)} ({where})")
    return with_presets[chosen]


def with_options(sections: Mapping[str, Mapping[str, Any]], keys: Mapping[str, str]) -> type[Config]:
    """:class:`Config` with a section for each command; one that it has already gets the options, too.

    Args:
        sections: for each command's section the options in it, and the types of their values.
        keys: for each option that has a key of its own, that key (``results_dirname``: ``test_directory``).
    """
    fields: dict[str, Any] = {}
    for name, content in sections.items():
        values: dict[str, Any] = {option: (kind | None, None) for option, kind in content.items()}
        known = Config.model_fields.get(name)
        base: type[Section] = Section if known is None else known.annotation  # type: ignore[assignment]
        section = pydantic.create_model(f"Section_{name}", __base__=base, **values)
        fields[name] = (section, section())
    model = pydantic.create_model("Config", __base__=Config, **fields)
    model.option_keys = keys
    return model


def _find(path: Path | None) -> YamlFile | None:
    """The file to use; one that is found by default and has no block is somebody else's."""
    if path is None and not DEFAULT_FILE.is_file():
        return None
    file = yaml_file.read(path or DEFAULT_FILE)
    if BLOCK in file.content:
        return file
    if path is not None:
        raise ConfigError(f"{path} has no '{BLOCK}:' block")
    return None


def _validate(model: type[Config], block: Any, file: YamlFile | None, preset: str | None = None) -> Config:
    try:
        return model.model_validate(block)
    except pydantic.ValidationError as error:
        problems = [_sentence(model, problem, file, preset) for problem in mismatches(error, block, PATTERNS)]
        raise ConfigError("\n".join(problems)) from error


def _sentence(model: type[Config], problem: Mismatch, file: YamlFile | None, preset: str | None) -> str:
    where = _place(file, (BLOCK, *problem.path))
    if preset is not None:
        where = f"{_place(file, (BLOCK, 'presets', preset))}preset '{preset}': "
    key = dotted((BLOCK, *problem.path))
    if problem.is_unknown:
        return f"{where}{key} is not a known key: {_meant(model, problem.field)}"
    return f"{where}{key}: {problem.reason}"


def _place(file: YamlFile | None, path: tuple[str | int, ...]) -> str:
    return f"{file.path}:{file.line(path)}: " if file else ""


def _with_preset(
    model: type[Config], block: Any, preset: str, overrides: Mapping[str, Any], file: YamlFile | None
) -> dict[str, Any]:
    """*block* with the values of a preset."""
    changed: dict[str, Any] = copy.deepcopy(block)
    for written, value in overrides.items():
        where = f"{_place(file, (BLOCK, 'presets', preset, written))}preset '{preset}': '{written}'"
        key = written.removeprefix(f"{BLOCK}.")
        path = _resolve(model, key)
        if path is None:
            raise ConfigError(f"{where} is not a key that can be set: {_meant(model, key)}")
        if path[0] in ("preset", "presets"):
            raise ConfigError(f"{where} chooses a preset, which a preset can't")
        _set_value(changed, path, value)
    return changed


def keys(model: Model) -> Iterator[str]:
    """All dotted keys of *model*, sections left out, mappings of free names included."""
    for name, field in model.model_fields.items():
        below = _section(field.annotation)
        if below is None:
            yield name
        else:
            yield from (f"{name}.{key}" for key in keys(below))


def _resolve(model: Model, key: str) -> tuple[str, ...] | None:
    """The path of a dotted *key*, None for an unknown one.

    In a mapping of free names the rest is one name: ``prices.aws/g5.xlarge``.
    """
    name, _, rest = key.partition(".")
    field = model.model_fields.get(name)
    if field is None:
        return None
    if not rest:
        return (name,)
    below = _section(field.annotation)
    if below is not None:
        path = _resolve(below, rest)
        return None if path is None else (name, *path)
    return (name, rest) if str(field.annotation).startswith("dict[") else None


def _set_value(block: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    """Set *value* in *block*, whose missing sections are made; a mapping is merged into a mapping."""
    *parents, name = path
    here = block
    for parent in parents:
        if not isinstance(here.get(parent), dict):
            here[parent] = {}
        here = here[parent]
    both = isinstance(value, dict) and isinstance(here.get(name), dict)
    here[name] = {**here[name], **value} if both else value


def _meant(model: type[Config], unknown: str) -> str:
    """The end of a sentence about an *unknown* key: the one that is meant, else all there are beside it.

    An option's name stands for its key, then a sibling is tried, the same name elsewhere, anything close.
    """
    parent, _, name = unknown.rpartition(".")
    first, *names = parent.split(".")
    field = model.model_fields.get(first)
    if field is not None and _section(field.annotation) is None and (below := keys_in(field.annotation, names)):
        return did_you_mean(name, below)  # of a mapping by name, such as views.NAME, or a section that may be missing
    leaves = list(keys(model))
    known = {".".join(key.split(".")[:depth]) for key in leaves for depth in range(1, key.count(".") + 2)}
    siblings = [key for key in sorted(known) if key.rpartition(".")[0] == parent]
    guesses = [
        [model.option_keys[name]] if name in model.option_keys else [],
        _close(unknown, siblings, 0.8),
        [key for key in sorted(known) if key.rpartition(".")[2] == name],
        _close(unknown, leaves, 0.6),
    ]
    for guess in guesses:
        if guess:
            return f"did you mean '{BLOCK}.{guess[0]}'?"
    return "there are " + ", ".join(f"{BLOCK}.{key}" for key in siblings or sorted(known))


def _close(name: str, candidates: Iterable[str], cutoff: float) -> list[str]:
    """The candidate that resembles *name*, by its last part if they share the others."""
    last = {key.rpartition(".")[2]: key for key in candidates}
    near = difflib.get_close_matches(name.rpartition(".")[2], last, n=1, cutoff=cutoff)
    return [last[each] for each in near]


def _section(annotation: Any) -> Model | None:
    is_model = isinstance(annotation, type) and issubclass(annotation, pydantic.BaseModel)
    return annotation if is_model else None


def keep_view(path: Path, name: str, block: str) -> str:
    """Keep the only view of *block*, as a page shows it, under *name* in the file *path*; gives a sentence.

    Raises:
        ConfigError: the name is none, is there already, or the block is no view.
    """
    if not name or len(name) > LONGEST_NAME or not name.isprintable():
        raise ConfigError(f"a view needs a name of at most {LONGEST_NAME} characters")
    try:
        ((_, view),) = yaml_file.load_yaml(block)[BLOCK]["views"].items()
    except (yaml.YAMLError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise ConfigError("this is no view that could be kept") from error
    try:
        View.model_validate(view)
    except pydantic.ValidationError as error:
        raise ConfigError("\n".join(f"{dotted(one.path)}: {one.reason}" for one in mismatches(error, view))) from error
    with _KEEPING_VIEWS:
        content = yaml_file.read(path).content if path.exists() else {}
        views = content.setdefault(BLOCK, {}).setdefault("views", {})
        if name in views or len(views) >= MOST_VIEWS:
            raise ConfigError(
                f"there is a view '{name}' already" if name in views else f"{path} has {MOST_VIEWS} views"
            )
        views[name] = view
        with atomic_write(path) as stream:
            stream.write(yaml.safe_dump(content, allow_unicode=True, sort_keys=False).encode())
    return f"Kept as '{name}' in {path}; it is a page now."
