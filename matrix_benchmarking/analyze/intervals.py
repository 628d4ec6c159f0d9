"""How sure a mean of repeats is, and whether two means differ by more than chance: pure mathematics.

Benchmark values spread in proportion to their size, so positive values are compared as ratios: the
interval is symmetric on the logarithmic scale, and the standard error of log(mean) is taken as
(standard deviation / mean) / √runs, the delta method (Oehlert 1992, The American Statistician 46(1),
27–29). Values of which some are zero or negative are compared as differences, on the plain scale.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import math
from collections.abc import Iterable, Sequence

CONFIDENCE = 0.95
_LARGEST_LOGARITHM = 700.0


class Scale(enum.Enum):
    """Whether values are compared by their ratio or by their difference."""

    RATIO = "ratio"
    DIFFERENCE = "difference"


class Method(enum.Enum):
    """How two samples were compared."""

    WELCH = "Welch's t-test"
    POOLED = "t-test with the pooled spread"
    NONE = "nothing was repeated"


@dataclasses.dataclass(frozen=True, slots=True)
class Sample:
    """The repeats of one point: how many, their mean, and their standard deviation (None for one run)."""

    runs: int
    mean: float
    deviation: float | None


@dataclasses.dataclass(frozen=True, slots=True)
class Spread:
    """What repeats differ by, pooled over the points that have some.

    Attributes:
        deviation: standard deviation of one run, as a fraction of the mean on the ratio scale, else in
            the KPI's unit.
        degrees: degrees of freedom behind it.
        points: number of points with repeats behind it.
    """

    deviation: float
    degrees: int
    points: int


@dataclasses.dataclass(frozen=True, slots=True)
class Interval:
    """A confidence interval of a mean; ``pooled`` if its width comes from other points' repeats."""

    low: float
    high: float
    pooled: bool = False
    confidence: float = CONFIDENCE


@dataclasses.dataclass(frozen=True, slots=True)
class Comparison:
    """A sample against a reference.

    Attributes:
        difference: sample / reference − 1 on the ratio scale, else sample − reference.
        scale: which of the two.
        p_value: two-sided; None where nothing was repeated.
        apart: True if the two differ by more than chance explains; None if that can't be known.
        method: how it was found out.
    """

    difference: float
    scale: Scale
    p_value: float | None
    apart: bool | None
    method: Method


def summarise(values: Sequence[float]) -> Sample:
    """Mean and standard deviation (n − 1) of at least one value."""
    runs = len(values)
    try:
        mean = math.fsum(values) / runs
    except OverflowError:  # of the sum; the mean is no larger than the largest value
        largest = max(map(abs, values))
        mean = largest * (math.fsum([value / largest for value in values]) / runs)
    if runs == 1:
        return Sample(1, mean, None)
    return Sample(runs, mean, math.hypot(*[value - mean for value in values]) / math.sqrt(runs - 1))


def scale_of(values: Iterable[float]) -> Scale:
    """The ratio scale if all values are positive."""
    return Scale.RATIO if all(value > 0 for value in values) else Scale.DIFFERENCE


def pooled(samples: Iterable[Sample], scale: Scale) -> Spread | None:
    """The samples' common standard deviation: √(Σ (nᵢ − 1) sᵢ² / Σ (nᵢ − 1)); None without repeats."""
    repeated = [sample for sample in samples if sample.deviation is not None]
    degrees = sum(sample.runs - 1 for sample in repeated)
    if not degrees:
        return None
    weighted = (math.sqrt(sample.runs - 1) * _deviation(sample, scale) for sample in repeated)
    return Spread(math.hypot(*weighted) / math.sqrt(degrees), degrees, len(repeated))


def interval(sample: Sample, scale: Scale, spread: Spread | None = None) -> Interval | None:
    """Student's t interval of the mean, from the sample's own repeats.

    A single run takes the width from *spread*; without that its interval is unknown (None).
    """
    if sample.deviation is not None:
        deviation, degrees = _deviation(sample, scale), sample.runs - 1
    elif spread is not None:
        deviation, degrees = spread.deviation, spread.degrees
    else:
        return None
    half_width = _quantile(degrees) * deviation / math.sqrt(sample.runs)
    is_pooled = sample.deviation is None
    if scale is Scale.RATIO:
        return Interval(sample.mean * math.exp(-half_width), sample.mean * math.exp(half_width), is_pooled)
    return Interval(sample.mean - half_width, sample.mean + half_width, is_pooled)


@functools.lru_cache(maxsize=1024)
def _quantile(degrees: int) -> float:
    """Half the width of Student's t interval, in standard errors."""
    return _t_quantile(degrees, 0.5 + CONFIDENCE / 2)


def compare(sample: Sample, reference: Sample, scale: Scale, spread: Spread | None = None) -> Comparison:
    """Can *sample* and *reference* be told apart?

    Two repeated samples: Welch's t-test (Welch 1947, Biometrika 34, 28–35) with Satterthwaite's
    degrees of freedom. If one of them is a single run: Student's t-test with the pooled *spread*.
    The confidence is that of one comparison; it isn't corrected for making many.
    """
    difference = _difference(sample, reference, scale)
    method, error, degrees = _error(sample, reference, scale, spread)
    if method is Method.NONE:
        return Comparison(difference, scale, None, None, method)
    p_value = _two_sided(_distance(sample, reference, scale), error, degrees)
    return Comparison(difference, scale, p_value, p_value < 1 - CONFIDENCE, method)


def difference_interval(
    sample: Sample, reference: Sample, scale: Scale, spread: Spread | None = None
) -> Interval | None:
    """The interval of what :func:`compare` gives as the difference; None where nothing was repeated."""
    method, error, degrees = _error(sample, reference, scale, spread)
    if method is Method.NONE:
        return None
    half_width = error and _t_quantile(degrees, 0.5 + CONFIDENCE / 2) * error
    distance, is_pooled = _distance(sample, reference, scale), method is Method.POOLED
    if scale is Scale.RATIO:
        low, high = (math.expm1(min(end, _LARGEST_LOGARITHM)) for end in (distance - half_width, distance + half_width))
        return Interval(low, high, is_pooled)
    return Interval(distance - half_width, distance + half_width, is_pooled)


def _error(sample: Sample, reference: Sample, scale: Scale, spread: Spread | None) -> tuple[Method, float, float]:
    """How two samples can be compared, the standard error of their difference, and its degrees of freedom."""
    if sample.deviation is not None and reference.deviation is not None:
        return Method.WELCH, *_welch(sample, reference, scale)
    if spread is not None:
        error = spread.deviation * math.sqrt(1 / sample.runs + 1 / reference.runs)
        return Method.POOLED, error, float(spread.degrees)
    return Method.NONE, 0.0, 0.0


def _welch(sample: Sample, reference: Sample, scale: Scale) -> tuple[float, float]:
    """Standard error of the difference, and its degrees of freedom."""
    first = _deviation(sample, scale) / math.sqrt(sample.runs)
    second = _deviation(reference, scale) / math.sqrt(reference.runs)
    error = math.hypot(first, second)
    if error == 0:
        return 0.0, math.inf
    share = (first / error) ** 2  # of the variance
    degrees = 1 / (share**2 / (sample.runs - 1) + (1 - share) ** 2 / (reference.runs - 1))
    return error, degrees


def _two_sided(distance: float, error: float, degrees: float) -> float:
    if error == 0:
        return 1.0 if distance == 0 else 0.0
    return 2 * _t_distribution(degrees, -abs(distance) / error)


def _t_quantile(degrees: float, probability: float) -> float:
    """The value below which Student's t distribution has this *probability*."""
    from scipy import special  # a third of a second, which pages without a comparison don't need

    return float(special.stdtrit(degrees, probability))


def _t_distribution(degrees: float, value: float) -> float:
    """The probability of values below *value* in Student's t distribution."""
    from scipy import special

    return float(special.stdtr(degrees, value))


def _deviation(sample: Sample, scale: Scale) -> float:
    if sample.deviation is None:
        raise ValueError("a single run has no deviation")
    return sample.deviation / sample.mean if scale is Scale.RATIO else sample.deviation


def _distance(sample: Sample, reference: Sample, scale: Scale) -> float:
    if scale is Scale.RATIO:
        return math.log(sample.mean) - math.log(reference.mean)
    return sample.mean - reference.mean


def _difference(sample: Sample, reference: Sample, scale: Scale) -> float:
    if scale is Scale.RATIO:
        return sample.mean / reference.mean - 1
    return sample.mean - reference.mean
