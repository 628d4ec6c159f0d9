"""Keys of encoder_bench's regression analysis: what orders a series and what doesn't matter to it."""

from matrix_benchmarking.workload import RegressionKeys

COMPARISON_KEYS = ["version"]
IGNORED_KEYS = ["urls"]
SORTING_KEYS = ["task", "model", "hw_type", "image", "batch_size", "vus"]
IGNORED_ENTRIES: dict[str, list[int]] = {}

KEYS = RegressionKeys(
    comparison_keys=COMPARISON_KEYS,
    ignored_keys=IGNORED_KEYS,
    sorting_keys=SORTING_KEYS,
    ignored_entries=IGNORED_ENTRIES,
)
