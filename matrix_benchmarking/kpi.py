"""Key performance indicators: decorators that describe a function, and the functions' evaluation.

A KPI is a function of one LTS payload that returns a number. The decorators attach what they say to the function
and do nothing else, so their order does not matter::

    @HigherBetter
    @KPIMetadata(help="Inputs answered per second", unit="inputs/s")
    def throughput(lts_payload):
        return lts_payload.results.throughput

One that is merely a field of the results is a line: ``throughput = field_kpi("throughput", better="higher", …)``.
"""

from __future__ import annotations

import dataclasses
import math
import re
import sys
import types
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any, Literal, TypeVar

from .errors import LONGEST_REASON, WorkloadError, explained, shortened

KPIFunction = Callable[[Any], Any]
F = TypeVar("F", bound=KPIFunction)
T = TypeVar("T")

_ATTRIBUTE = "__matbench_kpi__"


class UnknownKPI(Exception):
    """Raised by a KPI function to say why its value can't be known: the text becomes the reason."""


def known(value: T | None, what: str) -> T:
    """*value*, for a KPI function that can't go on without it.

    Raises:
        UnknownKPI: it is None; the reason is that *what* was not measured.
    """
    if value is None:
        raise UnknownKPI(f"{what} was not measured")
    return value


DEFAULT_FORMAT = "{:.4g}"
LARGEST_PLAIN = 1e15
"""From here on a number without a format of its own is written with an exponent."""


def is_one_of(setting: object, values: Iterable[object]) -> bool:
    """Whether a *setting* is one of these; ``True`` is none of 1 and 1.0, which are one number."""
    return any(setting == value and isinstance(setting, bool) is isinstance(value, bool) for value in values)


@dataclasses.dataclass(frozen=True, slots=True)
class KPIDefinition:
    """One complete KPI of a workload: its description and the function that computes it.

    Attributes:
        lower_better: direction; None where neither is better: the KPI is shown, and not judged.
        format: how the value is shown, as a format string.
        divisor: the shown value is the value divided by this number.
        display_unit: unit of the shown value.
        applies_to: settings with the values that a test has to have; elsewhere it has no meaning, and isn't unknown.
    """

    name: str
    help: str
    unit: str
    lower_better: bool | None
    ignored_for_regression: bool
    format: str
    divisor: float
    display_unit: str
    function: KPIFunction
    applies_to: tuple[tuple[str, tuple[Any, ...]], ...] = ()

    def applies(self, settings: Mapping[str, Any]) -> bool:
        """Whether it has a meaning for a test with these *settings*."""
        return all(is_one_of(settings.get(name), values) for name, values in self.applies_to)

    @property
    def title(self) -> str:
        """Its name with the unit in which it is shown: ``throughput (1/s)``."""
        unit = f"({self.display_unit})" if self.display_unit else ""
        return self.name if self.name.endswith(unit) else f"{self.name} {unit}"  # as a column of a table may

    @property
    def direction(self) -> str:
        """``lower is better``, ``higher is better`` or ``neither is better``."""
        return {True: "lower", False: "higher", None: "neither"}[self.lower_better] + " is better"

    def show(self, value: float | None, *, unit: bool = True) -> str:
        """*value* with the digits and the unit that the KPI asks for; ``unknown`` for None.

        What has more digits than anybody reads has an exponent.
        """
        if value is None:
            return "unknown"
        shown = value / self.divisor
        text = self.format.format(shown).replace("%", " %").replace("  %", " %")
        if self.format.endswith("g}") and "e" in text and 1.0 <= abs(shown) < LARGEST_PLAIN:
            text = f"{shown:,.0f}" if "," in self.format else f"{shown:.0f}"  # 24850 rather than 2.485e+04
        if LARGEST_PLAIN <= abs(shown) < math.inf and re.fullmatch(r"\{:,?\.\d+f\}", self.format):
            text = f"{shown:.4g}"
        return f"{text} {self.display_unit}".rstrip() if unit else text

    def show_bound(self, value: float) -> str:
        """A bound as :meth:`show` has it, not rounded to what is tighter: up where lower is better, else down."""
        try:
            text = Decimal(self.show(value, unit=False).replace(",", ""))
            step = Decimal(1).scaleb(int(text.as_tuple().exponent))
        except (InvalidOperation, ValueError, TypeError):  # a format with words, or no finite number
            return self.show(value)
        exact = Decimal(repr(value / self.divisor))
        is_tighter = text < exact if self.lower_better else text > exact
        wider = text + step if self.lower_better else text - step
        return self.show(float(wider) * self.divisor if is_tighter else value)


@dataclasses.dataclass(frozen=True, slots=True)
class KPIValues:
    """The KPIs of one payload: values by name, and for each KPI without a value the reason."""

    values: dict[str, float]
    missing: dict[str, str]


def _describe(function: F, **said: Any) -> F:
    setattr(function, _ATTRIBUTE, {**getattr(function, _ATTRIBUTE, {}), **said})
    return function


def KPIMetadata(*, help: str, unit: str, name: str | None = None) -> Callable[[F], F]:
    """Make a function a KPI. *name* allows names that Python doesn't, such as ``1B_cost``."""
    return lambda function: _describe(function, help=help, unit=unit, name=name or function.__name__)


def HigherBetter(function: F) -> F:
    """A higher value is better."""
    return _describe(function, lower_better=False)


def LowerBetter(function: F) -> F:
    """A lower value is better."""
    return _describe(function, lower_better=True)


def NeitherBetter(function: F) -> F:
    """Neither direction is better, as of the load of a machine: the value is shown and not judged."""
    return _describe(function, lower_better=None)


def IgnoredForRegression(function: F) -> F:
    """Leave this KPI out of the regression analysis."""
    return _describe(function, ignored_for_regression=True)


def AppliesTo(**settings: Any) -> Callable[[F], F]:
    """The KPI is of tests with these *settings* alone, each a value or a list of values: elsewhere it isn't unknown."""
    return lambda function: _describe(function, applies_to=_values(settings))


def _values(settings: Mapping[str, Any]) -> tuple[tuple[str, tuple[Any, ...]], ...]:
    return tuple((name, tuple(each) if isinstance(each, (list, tuple)) else (each,)) for name, each in settings.items())


def Format(format: str) -> Callable[[F], F]:
    """Show the value with this format string, such as ``"{:.2f}"``."""
    return lambda function: _describe(function, format=format)


def FormatDivisor(divisor: float, *, unit: str, format: str = "{:.2f}") -> Callable[[F], F]:
    """Show the value divided by *divisor*, in another *unit* (1024, "GB"). The value itself stays."""
    return lambda function: _describe(function, divisor=divisor, display_unit=unit, format=format)


def field_kpi(
    field: str,
    *,
    help: str,
    better: Literal["lower", "higher", "neither"],
    unit: str = "",
    name: str | None = None,
    format: str = DEFAULT_FORMAT,
    divisor: float = 1.0,
    display_unit: str | None = None,
    ignored_for_regression: bool = False,
    applies_to: Mapping[str, Any] | None = None,
    unknown: str | Callable[[Any], str] | None = None,
) -> KPIFunction:
    """A KPI that is a field of ``lts_payload.results``: ``p95_latency = field_kpi("p95_latency_ms", help=…, …)``.

    Args:
        field: its name; ``measured.p95_ms`` is a field, or a key, of another.
        name: the KPI's name; that of the variable which holds it unless given.
        divisor, display_unit: as of :func:`FormatDivisor`.
        applies_to: as of :func:`AppliesTo`.
        unknown: why the value isn't known where it is None; a text, or a function of the results.
    """
    path = field.split(".")

    def value(lts_payload: Any) -> Any:
        found = lts_payload.results
        for part in path:
            found = found[part] if isinstance(found, Mapping) else getattr(found, part)
            if found is None:
                why = unknown(lts_payload.results) if callable(unknown) else unknown
                raise UnknownKPI(why or f"{part.replace('_', ' ')} was not measured")
        if isinstance(found, str):
            raise UnknownKPI(f"{part.replace('_', ' ')} is {shortened(repr(found), 30)}, which is no number")
        return found

    value.__name__, value.__module__ = path[-1], sys._getframe(1).f_globals.get("__name__", "")  # as a namedtuple's
    said: dict[str, Any] = {"help": help, "unit": unit, "name": name, "format": format, "divisor": divisor}
    said |= {"display_unit": unit if display_unit is None else display_unit, "field": field}
    said |= {"applies_to": _values(applies_to or {})}
    directions = {"lower": True, "higher": False, "neither": None}
    if better not in directions:
        raise WorkloadError(f"the KPI of the field '{field}' is better '{better}': say lower, higher or neither")
    return _describe(value, **said, lower_better=directions[better], ignored_for_regression=ignored_for_regression)


def collect(source: types.ModuleType | Iterable[KPIFunction] | None = None) -> dict[str, KPIDefinition]:
    """The KPIs of a module (the calling one unless given) or some functions, by name, in the order of their definition.

    Raises:
        WorkloadError: a KPI without a direction or a help text, or two KPIs of one name.
    """
    if source is None:
        source = sys.modules[sys._getframe(1).f_globals["__name__"]]
    functions: Iterable[Any] = vars(source).values() if isinstance(source, types.ModuleType) else source
    if isinstance(source, types.ModuleType):
        described = (each for each in functions if callable(each) and hasattr(each, _ATTRIBUTE))
        functions = [each for each in described if each.__module__ == source.__name__]
    definitions: dict[str, KPIDefinition] = {}
    for function in functions:
        definition = _definition(function)
        if definition.name in definitions:
            raise WorkloadError(f"KPI '{definition.name}' is defined twice")
        definitions[definition.name] = definition
    return definitions


def _definition(function: KPIFunction) -> KPIDefinition:
    where = f"KPI function '{function.__name__}' of {function.__module__}"
    said: dict[str, Any] = dict(getattr(function, _ATTRIBUTE, {}))
    if said.pop("field", None) and said["name"] is None:
        there = vars(sys.modules[function.__module__]) if function.__module__ in sys.modules else {}
        said["name"] = next((name for name, value in there.items() if value is function), function.__name__)
    if "help" not in said:
        raise WorkloadError(f"{where} needs @KPIMetadata(help=…, unit=…)")
    if "lower_better" not in said:
        raise WorkloadError(f"{where} needs a direction: @HigherBetter, @LowerBetter or @NeitherBetter")
    defaults = {"ignored_for_regression": False, "format": DEFAULT_FORMAT, "divisor": 1.0, "display_unit": said["unit"]}
    definition = KPIDefinition(function=function, **{**defaults, **said})
    try:
        definition.format.format(1.0)
    except (ValueError, KeyError, IndexError) as error:
        raise WorkloadError(f"{where} has the format {definition.format!r}: {error}") from error
    if not math.isfinite(definition.divisor) or definition.divisor == 0:
        raise WorkloadError(f"{where} has a divisor of {definition.divisor}")
    return definition


NOT_IN_RESULTS = "not in this test's results"


def compute(definitions: Mapping[str, KPIDefinition], lts_payload: Any) -> KPIValues:
    """Evaluate every KPI on *lts_payload*. A KPI that can't be computed never stops the others."""
    computed = KPIValues({}, {})
    for name, definition in definitions.items():
        if definition.applies_to and not definition.applies(lts_payload.metadata.settings):
            continue
        try:
            value = _number(definition.function(lts_payload))
        except UnknownKPI as unknown:
            computed.missing[name] = shortened(str(unknown), LONGEST_REASON)
        except ZeroDivisionError:
            computed.missing[name] = "division by zero"
        except (AttributeError, KeyError, TypeError, ValueError, IndexError, ArithmeticError, SystemExit) as error:
            computed.missing[name] = f"{NOT_IN_RESULTS}: {explained(error)}"
        except Exception as error:  # noqa: BLE001  whatever the function of one KPI does, the others are known
            computed.missing[name] = f"its function stopped: {explained(error)}"
        else:
            computed.values[name] = value
    return computed


def _number(value: Any) -> float:
    if type(value) is float and math.isfinite(value):  # nearly always
        return value
    if value is None:
        raise UnknownKPI("not known for this test")
    if hasattr(value, "item"):  # a numpy scalar
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise UnknownKPI(f"the KPI function returned a {type(value).__name__}, not a number")
    if not math.isfinite(value):
        raise UnknownKPI(f"not a finite number ({value})")
    return value
