"""Keys of training_bench's regression analysis: what orders a series and what doesn't matter to it."""

from matrix_benchmarking.workload import MinimumEffect, RegressionKeys

COMPARISON_KEYS = ["version"]
IGNORED_KEYS = ["urls"]
SORTING_KEYS = ["name", "model", "dataset", "hw_type", "strategy", "io_speed"]
IGNORED_ENTRIES: dict[str, list[int]] = {}
# Shares can be near zero, where a relative change means nothing: two points of a hundred are worth a look.
MINIMUM_EFFECTS = {
    "gpu_load": MinimumEffect(relative=0.0, absolute=0.02),
    "data_wait": MinimumEffect(relative=0.0, absolute=0.02),
    "peak_memory": MinimumEffect(relative=0.02, absolute=0.01),
}

KEYS = RegressionKeys(
    comparison_keys=COMPARISON_KEYS,
    ignored_keys=IGNORED_KEYS,
    sorting_keys=SORTING_KEYS,
    ignored_entries=IGNORED_ENTRIES,
    minimum_effects=MINIMUM_EFFECTS,
)
