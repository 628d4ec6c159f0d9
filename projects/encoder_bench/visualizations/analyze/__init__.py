"""Keys of encoder_bench's regression analysis: what orders a series and what doesn't matter to it."""

from matrix_benchmarking.workload import MinimumEffect, RegressionKeys

COMPARISON_KEYS = ["version"]
IGNORED_KEYS = ["urls"]
SORTING_KEYS = ["task", "model", "hw_type", "image", "batch_size", "vus"]
IGNORED_ENTRIES: dict[str, list[int]] = {}
# A tenth of a percent of failed requests, and a cosine that differs in the third digit, are worth a look.
MINIMUM_EFFECTS = {
    "error_rate": MinimumEffect(relative=0.01, absolute=0.001),
    "accuracy": MinimumEffect(relative=0.0, absolute=0.005),
    "fidelity": MinimumEffect(relative=0.0, absolute=0.001),
}

KEYS = RegressionKeys(
    comparison_keys=COMPARISON_KEYS,
    ignored_keys=IGNORED_KEYS,
    sorting_keys=SORTING_KEYS,
    ignored_entries=IGNORED_ENTRIES,
    minimum_effects=MINIMUM_EFFECTS,
)
