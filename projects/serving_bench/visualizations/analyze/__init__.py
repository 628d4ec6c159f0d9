"""Keys of serving_bench's regression analysis: what orders a series and what doesn't matter to it."""

from matrix_benchmarking.workload import MinimumEffect, RegressionKeys

COMPARISON_KEYS = ["version"]
SORTING_KEYS = ["model", "hw_type", "experiment", "server"]
# Shares are small numbers: a percent of one is less than its noise.
MINIMUM_EFFECTS = {
    "serving_efficiency": MinimumEffect(relative=0.01, absolute=0.005),
    "share_of_maximum": MinimumEffect(relative=0.01, absolute=0.001),
}

KEYS = RegressionKeys(comparison_keys=COMPARISON_KEYS, sorting_keys=SORTING_KEYS, minimum_effects=MINIMUM_EFFECTS)
