"""What a visualisation module of TOPSAIL imports, so that it runs as it is but for its imports: see :func:`workload`.

Its globals (``common.Matrix``, ``table_stats.TableStats``) stand for the run that is under way in this thread. No other
module of the engine imports this one.
"""

from __future__ import annotations

import contextlib
import contextvars
import dataclasses
import importlib
import inspect
import logging
import sys
import threading
import types
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pydantic

from . import kpi, matrix, models
from . import store as engine_store
from .errors import SettingsError, WorkloadError, explained
from .filters import Scalar
from .store import NativeLayout, TestDirectory
from .store import documents as helpers_store_parsers
from .workload import RegressionKeys, Results, Workload

if TYPE_CHECKING:
    from .plotting import Plot, Report

__all__ = ["common", "helpers_store", "helpers_store_parsers", "matbench_models", "report", "store", "store_simple"]
__all__ += ["table_stats", "workload"]


@dataclasses.dataclass
class _Module:
    """One visualisation module: what it registered while it was imported, and the matrix that it is drawing."""

    name: str
    rewrite: Callable[[dict[str, Any]], dict[str, Any] | None] | None = None
    parse: Callable[..., None] | None = None
    stats: dict[str, Any] = dataclasses.field(default_factory=dict)
    matrix: matrix.Matrix = dataclasses.field(default_factory=lambda: matrix.Matrix([]))
    settings: dict[str, set[Any]] = dataclasses.field(default_factory=lambda: defaultdict(set))
    registering: threading.Lock = dataclasses.field(default_factory=threading.Lock)


_UNDER_WAY: contextvars.ContextVar[_Module] = contextvars.ContextVar("the module of TOPSAIL that is under way")


def _under_way() -> _Module:
    try:
        return _UNDER_WAY.get()
    except LookupError:
        raise WorkloadError(
            "this is for a run of a module that topsail.workload() made, and none is under way"
        ) from None


@contextlib.contextmanager
def _of(module: _Module) -> Iterator[None]:
    token = _UNDER_WAY.set(module)
    try:
        yield
    finally:
        _UNDER_WAY.reset(token)


class _Entry:
    """An entry with its settings as a namespace, and results that are loaded once."""

    is_lts = is_gathered = False

    def __init__(self, entry: matrix.Entry) -> None:
        self._entry = entry
        self.settings = types.SimpleNamespace(**entry.settings)
        self.import_settings = dict(entry.settings)
        self.stats: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._entry, name)
        if name == "results":
            value.lts = self._entry.lts
            self.results = value
        return value

    def __deepcopy__(self, memo: object) -> _Entry:
        return self

    def get_settings(self) -> dict[str, Scalar]:
        return vars(self.settings)


class _OfTheRun(type):
    """Class attributes that are those of the run under way."""

    @property
    def settings(cls) -> dict[str, set[Any]]:
        return _under_way().settings

    @property
    def processed_map(cls) -> dict[str, _Entry]:
        return {entry.name: _Entry(entry) for entry in _under_way().matrix}

    @property
    def stats_by_name(cls) -> dict[str, Any]:
        return _under_way().stats

    @property
    def all_stats(cls) -> list[Any]:
        return [*_under_way().stats.values()]


class _Matrix(metaclass=_OfTheRun):
    """``common.Matrix``."""

    @staticmethod
    def all_records(settings: dict[str, Any], setting_lists: Any, **_: bool) -> Iterator[_Entry]:
        return (_Entry(entry) for entry in _under_way().matrix.all_records(_plain(settings), setting_lists))

    @staticmethod
    def count_records(settings: dict[str, Any], setting_lists: Any, **_: bool) -> int:
        return _under_way().matrix.count_records(_plain(settings), setting_lists)

    @staticmethod
    def get_record(settings: dict[str, Any]) -> _Entry | None:
        return next(_Matrix.all_records(settings, ()), None)


def _plain(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if name != "stats"}


class _TableStats(metaclass=_OfTheRun):
    """``table_stats.TableStats``: where plots and reports, which are instances with a ``do_plot``, register."""

    @classmethod
    def _register_stat(cls, stat: Any) -> None:
        if _under_way().stats.setdefault(stat.name, stat) is not stat:
            raise WorkloadError(f"two plots or reports of {_under_way().name} are called '{stat.name}'")


class _Cfg(dict[str, Any]):
    """What was chosen of the controls, in which TOPSAIL's reports change ``d``."""

    @property
    def d(self) -> _Cfg:
        return self


def _set_config(changes: Mapping[str, Any], args: Sequence[Any]) -> list[Any]:
    return [*args[:-1], _Cfg({**args[-1], **changes})]


def _plot(name: str, args: Sequence[Any]) -> tuple[Any, Any]:
    stat = _under_way().stats.get(name)
    return stat.do_plot(*args) if stat else (None, f"There is no plot '{name}'.")


def _plot_and_text(name: str, args: Sequence[Any]) -> list[Any]:
    from dash import dcc, html

    figure, text = _plot(name, args)
    return [*([dcc.Graph(figure=figure)] if figure else []), *([html.Div(text)] if text else [])]


class _BaseStore:
    """``helpers_store.BaseStore``: what the module says of its artifacts, payload and KPIs."""

    def __init__(
        self,
        *,
        cache_filename: str,
        important_files: Sequence[str],
        artifact_dirnames: types.SimpleNamespace,
        artifact_paths: types.SimpleNamespace,
        parse_always: Callable[..., None],
        parse_once: Callable[..., None],
        extra_mandatory_files: Sequence[str] = (),
        lts_payload_model: type[pydantic.BaseModel] | None = None,
        generate_lts_payload: Callable[..., Any] | None = None,
        models_kpis: Mapping[str, Any] | None = None,
        get_kpi_labels: Callable[[Any], Any] | None = None,
    ) -> None:
        self.once, self.always, self.artifact_paths = parse_once, parse_always, artifact_paths
        self._lock = threading.Lock()  # artifact_paths is the module's global
        self.as_ours = engine_store.BaseStore(
            parse_once=self.parse_once,
            parse_always=self.parse_always,
            # TOPSAIL's cache is a pickle, which is never read, nor written over.
            cache_filename=f".{cache_filename.removesuffix('.pickle')}.matbench",
            important_files=[*important_files, *extra_mandatory_files],
            artifact_dirnames=artifact_dirnames,
            models_kpis=kpi.collect((models_kpis or {}).values()),
            lts_payload_model=lts_payload_model,
            generate_lts_payload=generate_lts_payload,
            get_kpi_labels=None if get_kpi_labels is None else lambda payload: _labels(get_kpi_labels(payload)),
        )

    register_important_file = staticmethod(engine_store.register_important_file)

    def is_important_file(self, path: Path) -> bool:
        return any(path.match(pattern) for pattern in self.as_ours.important_files)

    def is_mandatory_file(self, path: Path) -> bool:
        return path.name in ("settings", "settings.yaml", "exit_code", "config.yaml", "skip")

    def is_cache_file(self, path: Path) -> bool:
        return path.name == self.as_ours.cache_filename

    def build_lts_payloads(self) -> Iterator[Any]:
        return (entry.lts for entry in _under_way().matrix)

    def parse_directory(self, *_: Any) -> None:
        raise WorkloadError("the engine calls the parsers itself")

    def parse_once(self, results: Results, test_dir: TestDirectory) -> None:
        with self._lock:
            self._resolve(test_dir)
            self.once(results, test_dir)

    def parse_always(self, results: Results, test_dir: TestDirectory, settings: Mapping[str, Scalar]) -> None:
        with self._lock:
            self._resolve(test_dir)
            self.always(results, test_dir, dict(settings))

    def _resolve(self, test_dir: TestDirectory) -> None:
        for name in vars(self.as_ours.artifact_dirnames):
            found = getattr(test_dir.artifact_paths, name)
            setattr(self.artifact_paths, name, None if found is None else Path(found.relative))


def _labels(said: Any) -> dict[str, Any]:
    """What a module says of its labels, without what every KPI says of itself."""
    said = said if isinstance(said, Mapping) else vars(said)
    return {name: value for name, value in said.items() if name not in ("@timestamp", "timestamp", "test_uuid")}


def _parsed_by(parse: Callable[..., None]) -> Callable[..., None]:
    """``parse_always`` of a module that registered a parser of its own, which is called each time."""

    def parse_always(results: Results, test_dir: TestDirectory, settings: Mapping[str, Scalar]) -> None:
        def add_to_matrix(found: Results, extra_settings: Mapping[str, Any] | None = None) -> None:
            if extra_settings or vars(results):
                raise WorkloadError("a directory gives one test; for several, use FoundTest(path, part=…)")
            vars(results).update(vars(found))

        given = (add_to_matrix, test_dir, dict(settings), 0)
        parse(*given[: len(inspect.signature(parse).parameters)])

    return parse_always


@dataclasses.dataclass(frozen=True)
class _Rewriting(NativeLayout):
    """matbench's own layout, with settings that the module rewrites."""

    rewrite: Callable[[dict[str, Any]], dict[str, Any] | None]

    def read_settings(self, test: Path, root: Path) -> dict[str, Any]:
        read = super().read_settings(test, root)
        try:
            rewritten = self.rewrite(dict(read))
        except Exception as error:
            raise SettingsError(f"the workload's rewrite_settings stopped: {explained(error)}") from error
        if not rewritten:
            raise SettingsError("the workload's rewrite_settings leaves this test out")
        return rewritten


def _kpi_metadata(*, help: str, unit: str, **_: object) -> Callable[[Any], Any]:
    """``KPIMetadata``: the module's ``KPIs`` get the function."""

    def register(function: Any) -> Any:
        known = vars(sys.modules[function.__module__]).setdefault("KPIs", {})
        if function.__name__ in known:
            raise WorkloadError(f"KPI '{function.__name__}' is defined twice in {function.__module__}")
        known[function.__name__] = kpi.KPIMetadata(help=help, unit=unit)(function)
        return function

    return register


def _kpis_model(name: str, module: str, kpis: Mapping[str, Any], kpi_model: type[pydantic.BaseModel]) -> Any:
    """``getKPIsModel`` of a model that has the labels beside the KPI's own fields; here they are below ``labels``."""
    own = models.KPI.model_fields
    fields: dict[str, Any] = {
        label: (field.annotation, field) for label, field in kpi_model.model_fields.items() if label not in own
    }
    labels = pydantic.create_model("Settings", __base__=models.ExclusiveModel, __module__=module, **fields)
    return models.getKPIsModel(name, module, kpi.collect(kpis.values()), labels)


common = types.SimpleNamespace(Matrix=_Matrix, MatrixEntry=_Entry)
table_stats = types.SimpleNamespace(TableStats=_TableStats)
store = types.SimpleNamespace(
    register_custom_rewrite_settings=lambda rewrite: setattr(_under_way(), "rewrite", rewrite),
    register_lts_schema=lambda model: None,
)
store_simple = types.SimpleNamespace(register_custom_parse_results=lambda parse: setattr(_under_way(), "parse", parse))
helpers_store = types.SimpleNamespace(BaseStore=_BaseStore)
report = types.SimpleNamespace(
    Plot_and_Text=_plot_and_text, set_config=_set_config, Plot=lambda name, args: _plot(name, args)[0]
)
matbench_models = types.SimpleNamespace(
    **{name: getattr(models, name) for name in ("ExclusiveModel", "Metadata", "KPI", "SemVer")},
    **{name: getattr(kpi, name) for name in ("HigherBetter", "LowerBetter", "NeitherBetter", "IgnoredForRegression")},
    Format=kpi.Format,
    FormatDivisor=kpi.FormatDivisor,
    KPIMetadata=_kpi_metadata,
    getKPIsModel=_kpis_model,
)


def workload(package: str, name: str | None = None, **more: Any) -> Workload:
    """The workload that the visualisation module *package* is: its ``store``, ``plotting`` and ``analyze``.

    Args:
        package: ``__name__`` of the package, in whose ``__init__.py`` this is called.
        name: the workload's short name; the last part of the package's unless given.
        more: what else :class:`Workload` takes.

    Raises:
        WorkloadError: its store registers no parser.
    """
    module = _Module(package)
    with _of(module):
        found = importlib.import_module(f"{package}.store")
    own = getattr(found, "local_store", None)
    own = getattr(module.parse, "__self__", own)
    layouts = [_Rewriting(module.rewrite)] if module.rewrite else []
    if isinstance(own, _BaseStore):
        base = dataclasses.replace(own.as_ours, layouts=layouts)
    elif module.parse is not None:
        always = _parsed_by(module.parse)
        base = engine_store.BaseStore(parse_once=lambda *_: None, parse_always=always, layouts=layouts)
    else:
        raise WorkloadError(f"{package}.store registers no parser: store_simple.register_custom_parse_results(…)")
    keys = _regression_keys(package)
    return Workload(
        name=name or package.rpartition(".")[2],
        store=base,
        plots=lambda: _pages(module)[0],
        reports=lambda: _pages(module)[1],
        regression=keys,
        **more,
    )


def _regression_keys(package: str) -> RegressionKeys:
    try:
        said = vars(importlib.import_module(f"{package}.analyze"))
    except ModuleNotFoundError as error:
        if error.name != f"{package}.analyze":
            raise
        return RegressionKeys()
    names = ("comparison_keys", "ignored_keys", "sorting_keys", "ignored_entries")
    return RegressionKeys(**{name: said[name.upper()] for name in names if name.upper() in said})


def _pages(module: _Module) -> tuple[list[type[Plot]], list[type[Report]]]:
    """The classes of what the module's ``plotting.register()`` registered."""
    from .plotting import Plot, Report

    with module.registering, _of(module):
        if not module.stats:
            try:
                importlib.import_module(f"{module.name}.plotting").register()
            except ModuleNotFoundError as error:
                if error.name != f"{module.name}.plotting":
                    raise
                logging.getLogger(__name__).info("%s has no plots", module.name)
    made: dict[bool, list[Any]] = {True: [], False: []}
    for name, stat in module.stats.items():
        is_report = getattr(stat, "is_report", False)
        kind = Report if is_report else Plot
        made[is_report].append(type(type(stat).__name__, (kind,), {"name": name, "do_plot": _drawing(module, stat)}))
    return made[False], made[True]


def _drawing(module: _Module, stat: Any) -> Callable[..., Any]:
    def do_plot(
        self: Plot | Report, ordered_vars: list[str], settings: Any, setting_lists: Any, variables: Any, cfg: Any
    ) -> Any:
        copies = [list(ordered_vars), dict(settings), [list(pairs) for pairs in setting_lists], dict(variables)]
        with _of(dataclasses.replace(module, matrix=self.matrix, settings=defaultdict(set))):
            figure, text = stat.do_plot(*copies, _Cfg(cfg))
        if getattr(stat, "is_report", False):
            return text
        return figure or None, text

    return do_plot
