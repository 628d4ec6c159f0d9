"""KPI decorators describe in any order, and one KPI that can't be computed stops no other."""

from __future__ import annotations

import math
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from matrix_benchmarking import kpi
from matrix_benchmarking.errors import WorkloadError
from matrix_benchmarking.matrix import Entry, Matrix
from matrix_benchmarking.workload import BaseStore, Workload

DECORATORS: list[Callable[[Any], Any]] = [
    kpi.KPIMetadata(help="How fast", unit="B/s", name="1B_speed"),
    kpi.HigherBetter,
    kpi.IgnoredForRegression,
    kpi.FormatDivisor(1024, unit="KiB/s", format="{:.1f}"),
]


def defined(*decorators: Callable[[Any], Any], function: Any = None) -> kpi.KPIDefinition:
    def speed(lts_payload: Any) -> Any:
        return lts_payload.results.speed

    decorated = function or speed
    for decorator in decorators:
        decorated = decorator(decorated)
    (definition,) = kpi.collect([decorated]).values()
    return definition


def computed(*functions: Callable[[Any], Any], **results: Any) -> kpi.KPIValues:
    described = [kpi.HigherBetter(kpi.KPIMetadata(help="h", unit="u")(function)) for function in functions]
    return kpi.compute(kpi.collect(described), types.SimpleNamespace(results=types.SimpleNamespace(**results)))


@given(st.permutations(DECORATORS))
def test_decorators_in_any_order_give_the_same_definition(order: list[Callable[[Any], Any]]) -> None:
    definition = defined(*order)
    assert (definition.name, definition.help, definition.unit) == ("1B_speed", "How fast", "B/s")
    assert (definition.lower_better, definition.ignored_for_regression) == (False, True)
    assert definition.show(2048) == "2.0 KiB/s"


def test_that_neither_direction_is_better_is_said_and_is_no_forgotten_direction() -> None:
    definition = defined(kpi.KPIMetadata(help="h", unit=""), kpi.NeitherBetter)
    assert (definition.lower_better, definition.direction) == (None, "neither is better")


def test_nothing_is_ranked_by_a_kpi_that_can_not_be_better() -> None:
    load = kpi.NeitherBetter(kpi.KPIMetadata(help="h", unit="", name="load")(lambda lts: 1))
    cost = kpi.LowerBetter(kpi.KPIMetadata(help="h", unit="USD", name="cost")(lambda lts: 1))
    store = BaseStore(parse_once=lambda results, test_dir: None, models_kpis=kpi.collect([load, cost]))
    workload = Workload(name="toy", store=store)
    workload.check()
    assert workload.headline is workload.kpis["cost"]
    for named in ({"headline_kpi": "load"}, {"limit_kpi": "load"}):
        with pytest.raises(WorkloadError, match="ranks by 'load', of which neither direction is better"):
            Workload(name="toy", store=store, **named).check()


def test_a_decorated_function_is_still_the_function() -> None:
    def one(lts_payload: Any) -> int:
        return 1

    assert kpi.LowerBetter(kpi.KPIMetadata(help="h", unit="u")(one)) is one


def test_the_name_is_the_functions_own_unless_given() -> None:
    assert defined(kpi.KPIMetadata(help="h", unit="u"), kpi.LowerBetter).name == "speed"


def test_an_unknown_value_is_shown_as_unknown() -> None:
    assert defined(*DECORATORS).show(None) == "unknown"
    assert defined(*DECORATORS).show(1024, unit=False) == "1.0"


@pytest.mark.parametrize(
    ("decorators", "sentence"),
    [
        ([kpi.KPIMetadata(help="h", unit="u")], "needs a direction"),
        ([kpi.HigherBetter], "needs @KPIMetadata"),
        ([*DECORATORS, kpi.Format("{:q}")], "has the format"),
        ([*DECORATORS, kpi.FormatDivisor(0, unit="x")], "has a divisor of 0"),
    ],
)
def test_an_incomplete_kpi_is_found_when_it_is_collected(decorators: list[Callable[[Any], Any]], sentence: str) -> None:
    with pytest.raises(WorkloadError, match=sentence):
        defined(*decorators)


def test_two_kpis_of_one_name_are_an_error() -> None:
    def one(lts_payload: Any) -> int:
        return 1

    described = kpi.LowerBetter(kpi.KPIMetadata(help="h", unit="u")(one))
    with pytest.raises(WorkloadError, match="KPI 'one' is defined twice"):
        kpi.collect([described, described])


def test_a_module_gives_its_own_kpis_in_order_and_not_imported_ones() -> None:
    module = types.ModuleType("mine")
    for name, home in (("second", "mine"), ("first", "mine"), ("foreign", "elsewhere")):
        function = types.FunctionType((lambda lts: 1).__code__, {}, name)
        function.__module__ = home
        setattr(module, name, kpi.LowerBetter(kpi.KPIMetadata(help="h", unit="u")(function)))
    assert list(kpi.collect(module)) == ["second", "first"]


def test_a_kpi_that_cannot_be_computed_has_a_reason_and_stops_no_other() -> None:
    def absent(lts: Any) -> Any:
        return lts.results.nothing

    def divided(lts: Any) -> Any:
        return 1 / lts.results.zero

    def unknown(lts: Any) -> Any:
        raise kpi.UnknownKPI("there is no price for aws/x")

    def unmeasured(lts: Any) -> Any:
        return kpi.known(lts.results.none, "the load") + 1

    def good(lts: Any) -> Any:
        return kpi.known(numpy.float32(0.5), "the speed")

    found = computed(absent, divided, unknown, unmeasured, good, zero=0, none=None)
    assert found.values == {"good": 0.5}
    assert type(found.values["good"]) is float
    assert found.missing["divided"] == "division by zero"
    assert found.missing["unknown"] == "there is no price for aws/x"
    assert found.missing["unmeasured"] == "the load was not measured"


def test_what_python_says_of_a_missing_result_is_said_in_words() -> None:
    def absent(lts: Any) -> Any:
        return lts.results.there_is_none

    def unset(lts: Any) -> Any:
        return lts.results.speed["count"]

    def of_unset(lts: Any) -> Any:
        return lts.results.speed.count

    def arithmetic(lts: Any) -> Any:
        return lts.results.speed / 2

    def key(lts: Any) -> Any:
        return lts.results.table["count"]

    def place(lts: Any) -> Any:
        return lts.results.rows[3]

    def of_text(lts: Any) -> Any:
        return lts.results.text.count_of

    found = computed(absent, unset, of_unset, arithmetic, key, place, of_text, speed=None, table={}, rows=[], text="")
    assert {name: reason.removeprefix("not in this test's results: ") for name, reason in found.missing.items()} == {
        "absent": "there is no 'there_is_none'",
        "unset": "a value that is needed is not known",
        "of_unset": "what should have 'count' is not known",
        "arithmetic": "a value that is needed is not known",
        "key": "there is no 'count'",
        "place": "a list in it is shorter than expected",
        "of_text": "a str has no 'count_of'",
    }


@pytest.mark.parametrize("value", [None, math.nan, math.inf, -math.inf, True, "1", [1], numpy.float64("nan")])
def test_what_is_no_finite_number_is_missing(value: Any) -> None:
    found = computed(lambda lts: lts.results.value, value=value)
    assert found.values == {}
    assert len(found.missing) == 1


@given(st.integers() | st.floats(allow_nan=False, allow_infinity=False))
def test_any_finite_number_is_kept_with_its_type(value: float) -> None:
    (found,) = computed(lambda lts: lts.results.value, value=value).values.values()
    assert typed_equal(found, value)


def typed_equal(one: object, other: object) -> bool:
    return type(one) is type(other) and one == other


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (24850.4, "24850"),
        (-24850.4, "-24850"),
        (1234567.0, "1234567"),
        (9999.9, "10000"),
        (1234.6, "1235"),
        (0.00001234, "1.234e-05"),
        (1e15, "1e+15"),
        (0.0, "0"),
    ],
)
def test_a_number_without_a_format_has_no_exponent_unless_it_needs_one(value: float, shown: str) -> None:
    @kpi.LowerBetter
    @kpi.KPIMetadata(help="Bytes that are sent", unit="")
    def size(lts: Any) -> Any:
        return lts.size

    assert kpi.collect([size])["size"].show(value) == shown


def test_the_commas_of_a_format_stay_where_it_would_have_an_exponent() -> None:
    of = defined(kpi.LowerBetter, kpi.KPIMetadata(help="Time", unit="us"), kpi.Format("{:,.4g}"))
    assert [of.show(value) for value in (15_220_123.4, 7891.4, 1e16)] == ["15,220,123 us", "7,891 us", "1e+16 us"]


@pytest.mark.parametrize(
    ("form", "value", "shown"),
    [
        ("{:.1f}", 1e300, "1e+300"),
        ("{:,.0f}", -3.4e15, "-3.4e+15"),
        ("{:.2f}", 9e14, "900000000000000.00"),
        ("{:.2f}", 0.0, "0.00"),
        ("{:.2f}", math.inf, "inf"),
    ],
)
def test_what_a_format_would_show_with_endless_digits_has_an_exponent(form: str, value: float, shown: str) -> None:
    of = defined(kpi.LowerBetter, kpi.KPIMetadata(help="Time", unit=""), kpi.Format(form))
    assert of.show(value) == shown


@given(
    st.floats(1e-6, 1e14) | st.floats(-1e9, -1e-6) | st.just(0.0),
    st.sampled_from(["{:.1f}", "{:,.0f}", kpi.DEFAULT_FORMAT]),
    st.booleans(),
)
def test_a_bound_is_never_shown_tighter_than_it_is(value: float, form: str, is_upper: bool) -> None:
    direction = kpi.LowerBetter if is_upper else kpi.HigherBetter
    of = defined(direction, kpi.KPIMetadata(help="Waiting", unit="us"), kpi.FormatDivisor(1000, unit="ms", format=form))
    shown = float(of.show_bound(value).removesuffix(" ms").replace(",", ""))
    nearest = float(of.show(value, unit=False).replace(",", ""))
    exact, digit = value / 1000, 1.0 if form == "{:,.0f}" else 0.1 if form == "{:.1f}" else max(1e-12, abs(value) / 1e6)
    assert shown >= exact if is_upper else shown <= exact
    assert shown == nearest or math.isclose(abs(shown - nearest), digit, rel_tol=9.1)


@pytest.mark.parametrize("form", ["{:.0%}", "{:.1f}"])
def test_a_bound_without_a_plain_number_is_shown_as_it_is(form: str) -> None:
    of = defined(kpi.LowerBetter, kpi.KPIMetadata(help="h", unit="s"), kpi.Format(form))
    assert of.show_bound(math.inf) == of.show(math.inf)
    assert of.show_bound(0.514) == ("51 % s" if form == "{:.0%}" else "0.6 s")


avg_latency = kpi.field_kpi("latency.mean_ms", help="Mean latency", unit="ms", better="lower", format="{:,.1f}")


class TestAKPIThatIsAField:
    def computed(self, definition, **results):
        return kpi.compute({"it": definition}, types.SimpleNamespace(results=types.SimpleNamespace(**results)))

    def test_it_is_called_as_the_variable_that_holds_it(self):
        definition = kpi.collect([avg_latency])["avg_latency"]
        assert (definition.unit, definition.lower_better, definition.show(12.34)) == ("ms", True, "12.3 ms")

    def test_a_module_has_its_own_and_not_those_that_it_imports(self):
        module = types.ModuleType(__name__)
        module.renamed, other = avg_latency, types.ModuleType("elsewhere")
        other.avg_latency = avg_latency
        assert list(kpi.collect(module)) == ["avg_latency"]
        assert kpi.collect(other) == {}

    @pytest.mark.parametrize("latency", [{"mean_ms": 3}, types.SimpleNamespace(mean_ms=3)])
    def test_a_field_of_a_field_may_be_a_key(self, latency):
        assert self.computed(kpi.collect([avg_latency])["avg_latency"], latency=latency).values == {"it": 3}

    @pytest.mark.parametrize("latency", [None, {"mean_ms": None}])
    def test_what_is_none_is_unknown_with_its_reason(self, latency):
        given = kpi.field_kpi("latency.mean_ms", help="h", better="neither", name="a", unknown=lambda results: "no log")
        told = self.computed(kpi.collect([given])["a"], latency=latency)
        assert told == kpi.KPIValues({}, {"it": "no log"})
        unsaid = self.computed(kpi.collect([avg_latency])["avg_latency"], latency={"mean_ms": None})
        assert unsaid.missing == {"it": "mean ms was not measured"}

    def test_a_misspelt_direction_is_refused(self):
        with pytest.raises(WorkloadError, match="is better 'less': say lower, higher or neither"):
            kpi.field_kpi("a", help="h", better="less")


def test_a_kpi_of_one_value_is_none_of_true() -> None:
    for wanted, other in ((1, True), (True, 1), (False, 0), (True, 1.0)):
        definition = defined(*DECORATORS, kpi.AppliesTo(cache=[wanted, "x"]))
        assert definition.applies({"cache": wanted})
        assert not definition.applies({"cache": other})
        runs = Matrix(Entry({"cache": value}, 0, Path("/r"), str(value), 0) for value in (wanted, other))
        assert [run.settings["cache"] for run in runs.entries.with_settings(definition.applies_to)] == [wanted]
    assert defined(*DECORATORS, kpi.AppliesTo(batch=1)).applies({"batch": 1.0})
