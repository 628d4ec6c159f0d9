"""What a workload's definition says wrongly is a sentence when it loads, or where it is shown; nothing is guessed."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
import toy_runs

from matrix_benchmarking import kpi
from matrix_benchmarking.analyze.study import Study
from matrix_benchmarking.errors import ConfigError, WorkloadError
from matrix_benchmarking.matrix import Matrix
from matrix_benchmarking.plotting import Plot, View
from matrix_benchmarking.plotting.catalogue import catalogue_of
from matrix_benchmarking.workload import Gate, MinimumEffect, RegressionKeys

PLOT = type("Drawing", (Plot,), {"name": "a plot"})


@pytest.mark.parametrize(
    ("name", "given", "said"),
    [
        ("variant_keys", "index", "'variant_keys' of workload 'toy' is a list, such as ['index']; given is 'index'"),
        ("gates", Gate(kpi="speed", minimum=1), "'gates' of workload 'toy' is a list, such as [Gate("),
        ("plots", PLOT, "'plots' of workload 'toy' is a list, such as [Drawing]; given is Drawing"),
        ("regression", RegressionKeys(comparison_keys="version"), "'comparison_keys' of workload 'toy' is a list"),
    ],
)
def test_one_thing_in_the_place_of_a_list_is_said(name: str, given: Any, said: str) -> None:
    with pytest.raises(WorkloadError) as wrong:
        dataclasses.replace(toy_runs.workload(), name="toy", **{name: given}).check()
    assert said in str(wrong.value)


def test_a_minimum_effect_in_percent_is_said() -> None:
    with pytest.raises(ConfigError, match=r"is a fraction of the old level: 5 is 500 %"):
        MinimumEffect(5)


@pytest.mark.parametrize("given", ["5 %", True, -0.1, float("nan"), None])
def test_a_minimum_effect_that_is_no_amount_is_said(given: Any) -> None:
    with pytest.raises(ConfigError, match="a minimum effect is a number from 0 on, not "):
        MinimumEffect(given)
    with pytest.raises(ConfigError, match="a minimum effect is a number from 0 on, not "):
        MinimumEffect(0.0, given)


def test_a_number_in_the_place_of_a_minimum_effect_is_said() -> None:
    effects: Any = {"cost": 0.2}
    keys = RegressionKeys(comparison_keys=["version"], minimum_effects=effects)
    with pytest.raises(WorkloadError, match=r"'cost' in .* is a MinimumEffect, such as MinimumEffect\(0\.2\)"):
        dataclasses.replace(toy_runs.workload(), regression=keys).check()


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ({"minimum": "100"}, "a limit of 'speed' is a number, not '100'"),
        ({"maximum": float("nan")}, "a limit of 'speed' is a number, not nan"),
        ({"minimum": 300, "maximum": 100}, "no value of 'speed' is from 300 to 100"),
    ],
)
def test_a_limit_that_can_not_be_kept_is_said(limits: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        Gate(kpi="speed", **limits)
    assert Gate(kpi="speed", minimum=1, maximum=1.0).refuses(2.0)


@pytest.mark.parametrize(
    ("error", "said"),
    [(AssertionError("no rows"), "AssertionError: no rows"), (RuntimeError("off"), "RuntimeError: off")],
)
def test_a_kpi_that_stops_in_any_way_is_unknown_in_its_run_alone(error: Exception, said: str) -> None:
    def stops(lts_payload: object) -> float:
        raise error

    described = kpi.KPIMetadata(help="It stops.", unit="s")(kpi.LowerBetter(stops))
    found = kpi.compute(kpi.collect([described]), object())
    assert found.missing == {"stops": f"its function stopped: {said}"}


def test_a_plot_that_gives_no_figure_with_a_text_is_told_what_is_wanted() -> None:
    alone = type("Drawing", (Plot,), {"name": "a plot", "draw": lambda self, view: None})
    drawing = dataclasses.replace(toy_runs.workload(), plots=[alone])
    page = catalogue_of(Study(Matrix([]), drawing))
    with pytest.raises(WorkloadError, match="what is drawn is a figure and a text; given is a NoneType"):
        page.plot("a plot").part(View(*page.arguments({}), page.plot("a plot"))).make()
