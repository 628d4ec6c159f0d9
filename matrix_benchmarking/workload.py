"""What a workload is.

A workload is one :class:`Workload` value: how its tests are found and parsed (:class:`BaseStore`),
its KPIs and LTS models, its plots and reports, and the keys of its regression analysis.
"""

from __future__ import annotations

import collections
import dataclasses
import itertools
import math
import numbers
import types
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from .errors import ConfigError, MatbenchError, WorkloadError, did_you_mean
from .filters import Scalar
from .kpi import KPIDefinition
from .validation import model_of
from .workload_code import module_called, not_found, source_of

if TYPE_CHECKING:
    import pydantic

Results = types.SimpleNamespace
LARGEST_EFFECT = 2.0
"""A minimum effect beyond is meant as a percentage; infinite, it judges nothing."""


@dataclasses.dataclass(frozen=True, slots=True)
class Listing:
    """The content of one directory of a results tree, as a :class:`Layout` sees it."""

    path: Path
    files: frozenset[str]
    directories: frozenset[str]


@dataclasses.dataclass(frozen=True, slots=True)
class FoundTest:
    """A test that a layout recognised: a directory or, in a flat tree, a file.

    ``finished`` is False for a test whose own layout says that it did not come to its end. ``part`` tells the tests of
    one file apart: ``read_settings`` gets it as a third argument, and the parsers as ``test_dir.part``.
    """

    path: Path
    finished: bool = True
    part: str | None = None


class Layout(Protocol):
    """How the tests of a tree are recognised and their settings read.

    ``native`` trees are written by matbench; a workload adds layouts for trees that were not. Where these hold other
    files, a layout has an attribute ``important_files`` too: its tests are asked for those instead of the store's.

    Attributes:
        looks_for: what a test looks like, for the sentence that says that none was found.
    """

    looks_for: str

    def find(self, listing: Listing) -> Sequence[FoundTest]:
        """The tests that *listing* shows: the directory itself, or files in it."""

    def read_settings(self, test: Path, root: Path) -> dict[str, Any]:
        """The test's settings, ``repeat`` among them. Raises SettingsError: they can't be read."""

    def settings_files(self, test: Path, root: Path) -> Sequence[str | Path]:
        """The files below *root* that :meth:`read_settings` reads, there or not."""

    def read_exit_code(self, test: Path) -> int | None:
        """The test's exit code; None where the tree doesn't record one."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class BaseStore:
    """How a workload's artifacts become results, and results become an LTS payload.

    Attributes:
        parse_once: ``(results, test_dir)``: fills *results* from the artifacts; its outcome is cached.
        parse_always: ``(results, test_dir, import_settings)``: run each time, after the cache.
        cache_filename: name of the cache file in a test directory.
        important_files: relative paths and globs of the files that the parsers read; one that is missing
            is reported.
        optional_files: the same for files that a test may do without.
        artifact_dirnames: for each artifact directory a glob, such as ``K6_RUN_DIR="*__k6__run"``.
        layouts: how tests are recognised; empty means matbench's own layout.
        models_kpis: the KPIs, as :func:`matrix_benchmarking.kpi.collect` gives them.
        lts_payload_model: Pydantic model of the whole payload; a lenient default where left out.
        generate_lts_payload: ``(results, import_settings)`` to a namespace with ``metadata`` and
            ``results``.
        get_kpi_labels: ``(lts_payload)`` to the KPIs' labels; all settings where left out.
    """

    parse_once: Callable[[Results, Any], None]
    parse_always: Callable[[Results, Any, Mapping[str, Scalar]], None] | None = None
    cache_filename: str = ".matbench_cache"
    important_files: Sequence[str] = ()
    optional_files: Sequence[str] = ()
    artifact_dirnames: types.SimpleNamespace = dataclasses.field(default_factory=types.SimpleNamespace)
    layouts: Sequence[Layout] = ()
    models_kpis: Mapping[str, KPIDefinition] = dataclasses.field(default_factory=dict)
    lts_payload_model: type[Any] | None = None
    generate_lts_payload: Callable[[Results, Mapping[str, Scalar]], Any] | None = None
    get_kpi_labels: Callable[[Any], Any] | None = None


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Gate:
    """A limit on a KPI: a run beyond it stays visible and can't be the best."""

    kpi: str
    minimum: float | None = None
    maximum: float | None = None

    def __post_init__(self) -> None:
        """Raise ConfigError for what is no number, and for limits that nothing keeps."""
        limits = [one for one in (self.minimum, self.maximum) if one is not None]
        for one in limits:
            if isinstance(one, bool) or not isinstance(one, numbers.Real) or math.isnan(one):
                raise ConfigError(f"a limit of '{self.kpi}' is a number, not {one!r}")
        if limits != sorted(limits):
            raise ConfigError(f"no value of '{self.kpi}' is from {limits[0]} to {limits[1]}")

    def refuses(self, value: float | None) -> bool:
        """True if a known *value* is beyond the limit. An unknown value passes."""
        if value is None:
            return False
        too_low = self.minimum is not None and value < self.minimum
        return too_low or (self.maximum is not None and value > self.maximum)


@dataclasses.dataclass(frozen=True, slots=True)
class MinimumEffect:
    """What a change of a KPI has to reach before it is reported; it has to reach both.

    Attributes:
        relative: as a fraction of the old level.
        absolute: in the KPI's unit, for KPIs that can be zero, such as an error rate.
    """

    relative: float = 0.01
    absolute: float = 0.0

    def __post_init__(self) -> None:
        """Raise ConfigError for what is no amount, and for a fraction that is meant as a percentage."""
        for value in (self.relative, self.absolute):
            if isinstance(value, bool) or not isinstance(value, numbers.Real) or not value >= 0:
                raise ConfigError(f"a minimum effect is a number from 0 on, not {value!r}")
        if LARGEST_EFFECT < self.relative < math.inf:
            share = f"{self.relative:g} is {100 * self.relative:g} %"
            raise ConfigError(f"a minimum effect's relative part is a fraction of the old level: {share}")


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class RegressionKeys:
    """Which labels order a series, which are ignored, how reports are sorted, and which changes are too small to count.

    ``minimum_effects`` are by KPI; the configuration's come before them. ``version_order`` is for versions whose order
    is neither in their numbers nor in their dates: all of them, the oldest first, or a function that puts those that it
    gets in this order. It is about the first comparison key that has several values. ``product_keys`` name what the
    versions are of, such as the engine: each product has a newest version of its own.
    """

    comparison_keys: Sequence[str] = ()
    ignored_keys: Sequence[str] = ()
    sorting_keys: Sequence[str] = ()
    product_keys: Sequence[str] = ()
    ignored_entries: Mapping[str, Sequence[Scalar]] = dataclasses.field(default_factory=dict)
    minimum_effects: Mapping[str, MinimumEffect] = dataclasses.field(default_factory=dict)
    version_order: Callable[[Sequence[Any]], Sequence[Any]] | Sequence[Any] | None = None


Pages = Sequence[type[Any]] | Callable[[], Sequence[type[Any]]]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Workload:
    """One kind of benchmark.

    Attributes:
        name: the short name.
        store: parsers, KPIs and LTS models.
        headline_kpi: the KPI by which the best configuration is chosen; the first that has a
            better direction where left out.
        headline_fallbacks: KPIs of which the first that a run has takes the place of a headline that no run has, such
            as a cost without a price.
        limit_kpi: a KPI that people limit before they choose, such as the 95th percentile of the latency; the report on
            the best configuration says what is best under which limit.
        variant_keys: settings that name a variant; the report on the best configuration has one line
            for each combination of their values. Left out, there is one line a point.
        group_keys: settings within which configurations are comparable, such as the task: there is one
            best configuration for each combination of their values.
        gates: limits that a best configuration has to keep.
        warnings: ``(lts_payload)`` to sentences on what makes this test's numbers doubtful.
        implausible: ``(lts_payload)`` to sentences on values that can't be, by the rules of :mod:`.plausible`.
        differences: ``(entries)`` to sentences on why runs that are compared may not be alike, by settings and KPIs.
        exchange: ``(lts_payload)`` to documents in a format that other tools read, by names that end the file's.
        price: from settings to USD per hour of the hardware that they name, None where it is unknown; for what a
            benchmark's plan will cost.
        shorter_hardware: what people call hardware of a longer name, whose price is meant too: see :mod:`.prices`.
        options: what a command may say by ``--workload-option``, each with its default; parsers find it in
            ``test_dir.options``, plots in ``study.given.options``.
        load_drivers: by name, functions that import and give what puts a load on this workload's targets; the first is
            the one of a benchmark file whose ``load`` names none.
        reports: the report classes, or a function that imports and gives them. Each lists its own plots.
        plots: those that no report lists, in the same form.
        regression: keys of the regression analysis.
        spec: the name under which :func:`load` found it; None for a value made in process.
        source: the workload's package directory or file, whose digest keeps caches honest; with what a file imports.
    """

    name: str
    store: BaseStore
    headline_kpi: str | None = None
    headline_fallbacks: Sequence[str] = ()
    limit_kpi: str | None = None
    variant_keys: Sequence[str] = ()
    group_keys: Sequence[str] = ()
    gates: Sequence[Gate] = ()
    warnings: Callable[[Any], Sequence[str]] | None = None
    implausible: Callable[[Any], Sequence[str]] | None = None
    differences: Callable[[Sequence[Any]], Sequence[str]] | None = None
    exchange: Callable[[Any], Mapping[str, Mapping[str, Any]]] | None = None
    price: Callable[[Mapping[str, Scalar]], float | None] | None = None
    shorter_hardware: Callable[[str], str | None] | None = None
    options: Mapping[str, Scalar] = dataclasses.field(default_factory=dict)
    load_drivers: Mapping[str, Callable[[], type[Any]]] = dataclasses.field(default_factory=dict)
    plots: Pages = ()
    reports: Pages = ()
    regression: RegressionKeys = RegressionKeys()
    spec: str | None = None
    source: Path | None = None

    @property
    def kpis(self) -> Mapping[str, KPIDefinition]:
        return self.store.models_kpis

    @property
    def headline(self) -> KPIDefinition | None:
        """The KPI by which the best configuration is chosen; None for a workload without a KPI that can be better."""
        if self.headline_kpi is not None:
            return self.kpis[self.headline_kpi]
        return next((kpi for kpi in self.kpis.values() if kpi.lower_better is not None), None)

    def ranked_by(self, name: str) -> Workload:
        """The same with another headline KPI.

        Raises:
            ConfigError: there is no KPI of that name.
            WorkloadError: neither direction of it is better.
        """
        if name not in self.kpis:
            raise ConfigError(f"`headline`: no KPI '{name}': {did_you_mean(name, self.kpis)}")
        other = dataclasses.replace(self, headline_kpi=name, headline_fallbacks=())
        other.check()
        return other

    def ignoring(self, names: Sequence[str]) -> Workload:
        """The same, whose series the labels *names* don't tell apart."""
        keys = self.regression
        ignored = list(dict.fromkeys([*keys.ignored_keys, *names]))
        return dataclasses.replace(self, regression=dataclasses.replace(keys, ignored_keys=ignored))

    def headline_known_of(self, known: Collection[str]) -> Workload:
        """The same, ranked by the first of the headline and its fallbacks that is among the *known* KPIs."""
        if self.headline_kpi is None or not self.headline_fallbacks:
            return self
        found = (each for each in (self.headline_kpi, *self.headline_fallbacks) if each in known)
        return dataclasses.replace(self, headline_kpi=next(found, self.headline_kpi))

    def headline_at(self, settings: Mapping[str, Any]) -> KPIDefinition | None:
        """The KPI by which runs with these *settings* are ranked: where the headline doesn't apply, the first that does
        and can be better.
        """
        headline = self.headline
        if headline is None or headline.applies(settings):
            return headline
        return next((kpi for kpi in self.kpis.values() if kpi.lower_better is not None and kpi.applies(settings)), None)

    def headlines(self, runs: Iterable[Mapping[str, Any]]) -> list[KPIDefinition]:
        """The KPIs that rank runs with these settings (:meth:`headline_at`), that of most of them first."""
        if self.headline is not None and not self.headline.applies_to:
            return [self.headline for _ in itertools.islice(runs, 1)]
        found = [each for settings in runs if (each := self.headline_at(settings)) is not None]
        names = [name for name, _ in collections.Counter(each.name for each in found).most_common()]
        return [self.kpis[name] for name in names]

    @property
    def limited(self) -> KPIDefinition | None:
        """The KPI that people limit; None for a workload without one."""
        return self.kpis[self.limit_kpi] if self.limit_kpi is not None else None

    @property
    def labels_model(self) -> type[pydantic.BaseModel] | None:
        """The model of its KPIs' labels, by that of its payloads; None where any setting is one."""
        kpis = model_of(self.store.lts_payload_model, "kpis")
        kpi = next((model_of(kpis, name) for name in getattr(kpis, "model_fields", ())), None)
        return model_of(kpi, "labels")

    @property
    def label_names(self) -> frozenset[str]:
        """The labels that the model of its payloads defines; empty where any setting is one."""
        return frozenset(getattr(self.labels_model, "model_fields", ()))

    def pages(self) -> tuple[list[type[Any]], list[type[Any]]]:
        """The classes of its plots and of its reports; whose plots are among them.

        Raises:
            WorkloadError: they can't be imported, or one names a KPI or a plot that doesn't exist.
        """
        try:
            plots, reports = ([*(given() if callable(given) else given)] for given in (self.plots, self.reports))
        except MatbenchError:
            raise
        except Exception as error:
            said = f"{type(error).__name__}: {error}"
            raise WorkloadError(f"the pages of workload '{self.name}' can't be imported: {said}") from error
        listed = [plot for report in reports for plot in getattr(report, "plots", ())]
        plots += [plot for plot in listed if not isinstance(plot, str) and plot not in plots]
        plots = [plot for place, plot in enumerate(plots) if plot not in plots[:place]]
        for page in (*plots, *reports):
            for name in getattr(page, "kpis", ()):
                self._check_kpi(name, f"'{getattr(page, 'name', page)}' of ")
        return plots, reports

    def _check_kpi(self, name: str | None, what: str = "") -> None:
        if name is not None and name not in self.kpis:
            known = did_you_mean(name, self.kpis)
            raise WorkloadError(f"{what}workload '{self.name}' refers to a KPI '{name}': {known}")

    def check(self) -> None:
        """Raise WorkloadError where the definition refers to a KPI or a setting that doesn't exist, or ranks by a KPI
        that can't be better.

        Pages that a function imports are checked when it does, before any result is read for them.
        """
        self._check_lists()
        named = [self.headline_kpi, *self.headline_fallbacks, self.limit_kpi, *(gate.kpi for gate in self.gates)]
        for name in (*named, *self.regression.minimum_effects):
            self._check_kpi(name)
        for name, effect in self.regression.minimum_effects.items():
            if not isinstance(effect, MinimumEffect):
                said = f"of '{name}' in workload '{self.name}' is a MinimumEffect, such as MinimumEffect({effect!r})"
                raise WorkloadError(f"the minimum effect {said}")
        for kpi in (self.headline, self.limited):
            if kpi is not None and kpi.lower_better is None:
                raise WorkloadError(
                    f"workload '{self.name}' ranks by '{kpi.name}', of which neither direction is better"
                )
        self._check_keys()
        if not (callable(self.plots) or callable(self.reports)):
            self.pages()

    @property
    def _keys(self) -> dict[str, Sequence[str]]:
        """The lists of settings, by their names."""
        of_regression = ("comparison_keys", "ignored_keys", "sorting_keys", "product_keys")
        known = {"group_keys": self.group_keys, "variant_keys": self.variant_keys}
        return known | {name: getattr(self.regression, name) for name in of_regression}

    def _check_lists(self) -> None:
        """That what is listed are lists: a text would be taken letter by letter."""
        pages: dict[str, Any] = {"plots": self.plots, "reports": self.reports}
        given = {name: made for name, made in pages.items() if isinstance(made, type) or not callable(made)}
        given |= {"headline_fallbacks": self.headline_fallbacks, "gates": self.gates, **self._keys}
        for name, value in given.items():
            if isinstance(value, str) or not isinstance(value, Iterable):
                said = getattr(value, "__name__", repr(value))
                raise WorkloadError(f"'{name}' of workload '{self.name}' is a list, such as [{said}]; given is {said}")

    def _check_keys(self) -> None:
        """That the keys are settings, where the KPIs' labels say which there are."""
        labels = self.label_names
        for what, names in {**self._keys, "ignored_entries": self.regression.ignored_entries}.items():
            for name in names if labels else ():
                if name not in labels:
                    known = did_you_mean(name, labels)
                    raise WorkloadError(f"{what} of workload '{self.name}': no label of its KPIs is '{name}': {known}")


def load(name: str) -> Workload:
    """Find a workload by short name, by module (``projects.encoder_bench.visualizations``) or by file.

    Raises:
        WorkloadError: there is no such workload, or it can't be imported.
    """
    module = module_called(name)
    workload = getattr(module, "workload", None)
    if not isinstance(workload, Workload):
        if module.__file__ is None:  # a directory without an __init__.py
            raise not_found(name)
        raise WorkloadError(f"{name} has no Workload in a variable called 'workload'")
    workload.check()
    return dataclasses.replace(workload, spec=name, source=source_of(module))
